/* Lists: series, names, segments, steps, alarms, notes. */
#include <string.h>

#include "base/base.h"
#include "history/reader_in.h"

/* ---- rows with texts ---- */

/* A growing array of rows in the arena. */
struct list {
    void *at;
    size_t item;
    uint32_t n, room;
    bool dense; /* ids must count from 0 without gaps: rows after a gap are skipped */
};

static bool keep_text(struct arena *arena, struct str *text)
{
    *text = arena_str(arena, *text);
    return text->at != NULL;
}

/* Copies the texts of a row to the arena. */
static bool keep_texts(struct history_scan *scan, void *row)
{
    struct history_alarm *alarm = row;
    struct history_series *series = row;

    switch (scan->table) {
    case HISTORY_TABLE_SERIES:
        return keep_text(scan->arena, &series->name) &&
               keep_text(scan->arena, &series->path);
    case HISTORY_TABLE_NAME:
        return keep_text(scan->arena, &((struct history_name_row *)row)->name);
    case HISTORY_TABLE_SEGMENT:
        return keep_text(scan->arena, &((struct history_segment *)row)->text);
    case HISTORY_TABLE_NOTE:
        return keep_text(scan->arena, &((struct history_note *)row)->text);
    case HISTORY_TABLE_ALARM:
        return keep_text(scan->arena, &alarm->kind) &&
               keep_text(scan->arena, &alarm->name) &&
               keep_text(scan->arena, &alarm->line) &&
               keep_text(scan->arena, &alarm->text);
    default:
        return true;
    }
}

static bool take_listed(struct history_scan *scan, int64_t id, void *row)
{
    struct list *list = scan->user;

    if (list->dense && id != list->n) {
        scan->history->damaged++;
        return true;
    }
    if (!keep_texts(scan, row) ||
        arena_room(scan->arena, &list->at, list->n, &list->room, list->item) < 0)
        return false;
    memcpy((char *)list->at + list->n++ * list->item, row, list->item);
    return true;
}

static int read_list(struct history *history, enum history_table table,
                     const char *where, uint32_t from, uint32_t most,
                     struct arena *arena, struct list *list, struct err *err)
{
    struct history_scan scan = {history, table, arena, list, err};
    sqlite3_stmt *stmt;

    if (history_begin(history, err) < 0)
        return -1;
    stmt = history_prepare_select(history->db, table, where, err);
    if (stmt) {
        sqlite3_bind_int64(stmt, 1, from);
        sqlite3_bind_int64(stmt, 2, most);
    }
    return history_end(history, history_scan(&scan, stmt, take_listed));
}

int history_read_series(struct history *history, struct arena *arena,
                        struct history_series **ret_series, uint32_t *ret_n,
                        struct err *err)
{
    struct list list = {.item = sizeof **ret_series, .dense = true};

    if (history->ranks)
        return history_ranks_series(history->ranks, arena, ret_series, ret_n, err);
    if (read_list(history, HISTORY_TABLE_SERIES, "ORDER BY id", 0, 0, arena, &list,
                  err) < 0)
        return -1;
    *ret_series = list.at;
    *ret_n = list.n;
    return 0;
}

int history_read_names(struct history *history, struct arena *arena,
                       struct str **ret_names, uint32_t *ret_n, struct err *err)
{
    struct list list = {.item = sizeof(struct history_name_row), .dense = true};

    if (history->ranks)
        return history_ranks_names(history->ranks, arena, ret_names, ret_n, err);
    if (read_list(history, HISTORY_TABLE_NAME, "ORDER BY id", 0, 0, arena, &list, err) <
        0)
        return -1;
    *ret_names = list.at;
    *ret_n = list.n;
    return 0;
}

int history_read_segments(struct history *history, struct arena *arena,
                          struct history_segment **ret_segments, uint32_t *ret_n,
                          struct err *err)
{
    struct list list = {.item = sizeof **ret_segments, .dense = true};

    if (history->ranks)
        return history_read_segments(history_ranks_at(history->ranks, 0), arena,
                                     ret_segments, ret_n, err);
    if (read_list(history, HISTORY_TABLE_SEGMENT, "ORDER BY id", 0, 0, arena, &list,
                  err) < 0)
        return -1;
    *ret_segments = list.at;
    *ret_n = list.n;
    return 0;
}

#define FROM_MOST "WHERE id >= ?1 ORDER BY id LIMIT ?2"

int history_read_alarms(struct history *history, uint32_t from, uint32_t most,
                        struct arena *arena, struct history_alarm **ret_alarms,
                        uint32_t *ret_n, struct err *err)
{
    struct list list = {.item = sizeof **ret_alarms};

    if (history->ranks)
        return history_ranks_alarms(history->ranks, from, most, arena, ret_alarms,
                                    ret_n, err);
    if (read_list(history, HISTORY_TABLE_ALARM, FROM_MOST, from, most, arena, &list,
                  err) < 0)
        return -1;
    *ret_alarms = list.at;
    *ret_n = list.n;
    return 0;
}

int history_read_notes(struct history *history, uint32_t from, uint32_t most,
                       struct arena *arena, struct history_note **ret_notes,
                       uint32_t *ret_n, struct err *err)
{
    struct list list = {.item = sizeof **ret_notes};

    if (history->ranks)
        return history_ranks_notes(history->ranks, from, most, arena, ret_notes, ret_n,
                                   err);
    if (read_list(history, HISTORY_TABLE_NOTE, FROM_MOST, from, most, arena, &list,
                  err) < 0)
        return -1;
    *ret_notes = list.at;
    *ret_n = list.n;
    return 0;
}

/* ---- steps ---- */

/* The step number from which later segments replace the steps of each segment. */
struct replaced {
    uint64_t *from; /* by segment */
    uint32_t n;
};

static bool take_segment(struct history_scan *scan, int64_t id, void *row)
{
    const struct history_segment *segment = row;
    struct replaced *replaced = scan->user;

    if (id < replaced->n)
        replaced->from[id] = segment->first;
    return true;
}

/* Segment i is replaced from the smallest `first` of the later segments on. */
static int find_replaced(struct history *history, struct arena *arena,
                         struct replaced *replaced, struct err *err)
{
    struct history_scan scan = {history, HISTORY_TABLE_SEGMENT, arena, replaced, err};
    int64_t n = history_ask(history->db, "SELECT max(id) FROM history_segment NOT "
                                         "INDEXED") +
                1;
    uint64_t least = UINT64_MAX;

    /* A row takes at least four bytes of the file. */
    if (n < 0 || (uint64_t)n > history->size / 4)
        n = 0;
    replaced->n = (uint32_t)n;
    replaced->from = arena_array(arena, (size_t)n + 1, sizeof *replaced->from);
    if (!replaced->from)
        return arena_err(arena, history->path, err);
    memset(replaced->from, 0xff, ((size_t)n + 1) * sizeof *replaced->from);
    if (history_scan(&scan,
                     history_prepare_select(history->db, HISTORY_TABLE_SEGMENT,
                                            "ORDER BY id", err),
                     take_segment) < 0)
        return -1;
    for (uint32_t i = replaced->n; i-- > 0;) {
        uint64_t first = replaced->from[i];

        replaced->from[i] = least;
        least = first < least ? first : least;
    }
    return 0;
}

struct step_list {
    struct list list;
    struct replaced replaced;
    const struct history_range *range;
};

static bool take_step(struct history_scan *scan, int64_t id, void *row)
{
    const struct history_step *step = row;
    struct step_list *steps = scan->user;
    const struct history_range *range = steps->range;
    bool wanted = step->phase == range->phase && step->last >= range->from &&
                  (range->to == 0 || step->first <= range->to);

    if (!range->all && step->segment < steps->replaced.n &&
        step->first >= steps->replaced.from[step->segment])
        wanted = false;
    if (!wanted)
        return true;
    scan->user = &steps->list;
    wanted = take_listed(scan, id, row);
    scan->user = steps;
    return wanted;
}

static int scan_steps(struct history *history, const struct history_range *range,
                      struct arena *arena, struct history_step **ret_steps,
                      uint32_t *ret_n, struct err *err)
{
    struct step_list steps = {.list.item = sizeof **ret_steps, .range = range};
    struct history_scan scan = {history, HISTORY_TABLE_STEP, arena, &steps, err};

    if (find_replaced(history, arena, &steps.replaced, err) < 0)
        return -1;
    if (history_scan(
            &scan,
            history_prepare_select(history->db, HISTORY_TABLE_STEP, "ORDER BY id", err),
            take_step) < 0)
        return -1;
    *ret_steps = steps.list.at;
    *ret_n = steps.list.n;
    return 0;
}

/* While the history is held, repeated queries use the cached steps. */
int history_scan_steps(struct history *history, const struct history_range *range,
                       struct arena *arena, struct history_step **ret_steps,
                       uint32_t *ret_n, struct err *err)
{
    struct held_steps *kept;

    if (!history->held)
        return scan_steps(history, range, arena, ret_steps, ret_n, err);
    for (uint32_t i = 0; i < history->n_kept; i++) {
        kept = &history->kept[i];
        if (kept->range.from == range->from && kept->range.to == range->to &&
            kept->range.phase == range->phase && kept->range.all == range->all) {
            *ret_steps = kept->steps;
            *ret_n = kept->n;
            return 0;
        }
    }
    if (scan_steps(history, range, &history->kept_arena, ret_steps, ret_n, err) < 0)
        return -1;
    if (history->n_kept < COUNT_OF(history->kept))
        history->kept[history->n_kept++] =
            (struct held_steps){*range, *ret_steps, *ret_n};
    return 0;
}

int history_read_steps(struct history *history, const struct history_range *range,
                       struct arena *arena, struct history_step **ret_steps,
                       uint32_t *ret_n, struct err *err)
{
    if (history->ranks)
        return history_ranks_steps(history->ranks, range, arena, ret_steps, ret_n, err);
    if (history_begin(history, err) < 0)
        return -1;
    return history_end(
        history, history_scan_steps(history, range, arena, ret_steps, ret_n, err));
}

static bool take_newest(struct history_scan *scan, int64_t id, void *row)
{
    (void)id;
    *(struct history_step *)scan->user = *(struct history_step *)row;
    return true;
}

int history_newest(struct history *history, struct history_step *ret_step,
                   struct err *err)
{
    struct history_step newest = {0};
    struct history_scan scan = {
        .history = history, .table = HISTORY_TABLE_STEP, .user = &newest, .err = err};
    int status;

    if (history->ranks)
        return history_ranks_newest(history->ranks, ret_step, err);
    if (history_begin(history, err) < 0)
        return -1;
    status = history_scan(&scan,
                          history_prepare_select(history->db, HISTORY_TABLE_STEP,
                                                 "ORDER BY id DESC LIMIT 1", err),
                          take_newest);
    if (status == 0)
        *ret_step = newest;
    return history_end(history, status);
}
