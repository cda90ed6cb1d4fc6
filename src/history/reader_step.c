/* All points and scalars of one row of steps, by one scan because they are clustered;
 * and of a moment: the row that a step number falls into. */
#include <assert.h>
#include <string.h>

#include "history/reader_in.h"

struct step_rows {
    void *at;
    size_t item;
    uint32_t n, room;
    bool histograms;
};

static bool take_row(struct history_scan *scan, int64_t id, void *row)
{
    struct step_rows *rows = scan->user;

    (void)id;
    if (scan->table == HISTORY_TABLE_POINT) {
        struct history_point *point = row;

        point->histogram =
            rows->histograms ? arena_str(scan->arena, point->histogram) : STR("");
        if (!point->histogram.at)
            return false;
    }
    if (arena_room(scan->arena, &rows->at, rows->n, &rows->room, rows->item) < 0)
        return false;
    memcpy((char *)rows->at + rows->n++ * rows->item, row, rows->item);
    return true;
}

/* Adds all rows of a table that belong to a row of steps. Call it inside a
 * transaction. */
static int scan_rows(struct history *history, enum history_table table,
                     const struct history_step *step, struct arena *arena,
                     struct step_rows *rows, struct err *err)
{
    struct history_scan scan = {history, table, arena, rows, err};
    sqlite3_stmt *stmt = history_prepare_select(
        history->db, table, "WHERE id BETWEEN ?1 AND ?2 ORDER BY id", err);

    if (stmt) {
        sqlite3_bind_int64(stmt, 1, history_point_id(step->block, 0));
        sqlite3_bind_int64(stmt, 2,
                           history_point_id(step->block, HISTORY_SERIES_MOST - 1));
    }
    return history_scan(&scan, stmt, take_row);
}

static int read_rows(struct history *history, enum history_table table,
                     const struct history_step *step, struct arena *arena,
                     struct step_rows *rows, struct err *err)
{
    if (history_begin(history, err) < 0)
        return -1;
    return history_end(history, scan_rows(history, table, step, arena, rows, err));
}

int history_read_step_points(struct history *history, const struct history_step *step,
                             bool histograms, struct arena *arena,
                             struct history_point **ret_points, uint32_t *ret_n,
                             struct err *err)
{
    struct step_rows rows = {.item = sizeof **ret_points, .histograms = histograms};

    assert(!history->ranks);
    if (read_rows(history, HISTORY_TABLE_POINT, step, arena, &rows, err) < 0)
        return -1;
    *ret_points = rows.at;
    *ret_n = rows.n;
    return 0;
}

int history_read_step_scalars(struct history *history, const struct history_step *step,
                              struct arena *arena, struct history_scalar **ret_scalars,
                              uint32_t *ret_n, struct err *err)
{
    struct step_rows rows = {.item = sizeof **ret_scalars};

    assert(!history->ranks);
    if (read_rows(history, HISTORY_TABLE_SCALAR, step, arena, &rows, err) < 0)
        return -1;
    *ret_scalars = rows.at;
    *ret_n = rows.n;
    return 0;
}

/* ---- a moment: the newest step that is not later than a number ---- */

/* Steps repeat their numbers if scalars were logged after them. */
static const struct history_step *find_moment(const struct history_step *steps,
                                              uint32_t n, uint64_t number)
{
    const struct history_step *found = NULL;

    for (uint32_t i = 0; i < n; i++)
        if (steps[i].points > 0 && steps[i].first <= number &&
            (!found || steps[i].first >= found->first))
            found = &steps[i];
    return found;
}

/* Rows without points have the number of the step that their scalars belong to. */
static int scan_scalars(struct history *history, const struct history_step *steps,
                        uint32_t n, uint64_t number, struct arena *arena,
                        struct step_rows *rows, struct err *err)
{
    uint64_t newest = 0;

    for (uint32_t i = 0; i < n; i++)
        if (steps[i].first <= number && steps[i].first > newest)
            newest = steps[i].first;
    for (uint32_t i = 0; i < n; i++)
        if (steps[i].first == newest && newest <= number &&
            scan_rows(history, HISTORY_TABLE_SCALAR, &steps[i], arena, rows, err) < 0)
            return -1;
    return 0;
}

static int scan_moment(struct history *history, uint64_t number, uint8_t phase,
                       struct arena *arena, struct history_moment *moment,
                       struct err *err)
{
    const struct history_range range = {.phase = phase};
    struct step_rows scalars = {.item = sizeof *moment->scalars};
    struct step_rows points = {.item = sizeof *moment->points};
    const struct history_step *step;
    struct history_step *steps;
    uint32_t n;

    if (history_scan_steps(history, &range, arena, &steps, &n, err) < 0 ||
        scan_scalars(history, steps, n, number, arena, &scalars, err) < 0)
        return -1;
    step = find_moment(steps, n, number);
    if (step && scan_rows(history, HISTORY_TABLE_POINT, step, arena, &points, err) < 0)
        return -1;
    if (step)
        moment->step = *step;
    moment->scalars = scalars.at;
    moment->n_scalars = scalars.n;
    moment->points = points.at;
    moment->n_points = points.n;
    return 0;
}

int history_read_moment(struct history *history, uint64_t number, uint8_t phase,
                        struct arena *arena, struct history_moment *ret_moment,
                        struct err *err)
{
    struct history_moment moment = {0};
    int status;

    if (history->ranks)
        return history_ranks_moment(history->ranks, number, phase, arena, ret_moment,
                                    err);
    if (history_begin(history, err) < 0)
        return -1;
    status = scan_moment(history, number, phase, arena, &moment, err);
    if (status == 0)
        *ret_moment = moment;
    return history_end(history, status);
}
