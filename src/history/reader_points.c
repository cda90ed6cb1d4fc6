/* The points of a series: one look-up per step, because points are clustered by step. A
 * look-up takes 3 to 4 pages, most of them cached; an index by series would more than
 * double the writer's work. */
#include <string.h>

#include "history/reader_in.h"

#define PARTS_MOST 256u

/* The query and its steps. */
struct series_question {
    struct history *history;
    const struct history_wanted *wanted;
    struct arena *arena;
    sqlite3_stmt *stmt;
    struct history_step *steps;
    uint32_t n_steps, n_groups;
    const uint32_t *begins;   /* of groups that the caller chose (n_groups + 1) */
    struct buf parts, merged; /* histograms to merge in one call; of their sum */
    size_t lens[PARTS_MOST];
    uint32_t n_parts;
};

static int choose_groups(struct series_question *question, struct err *err)
{
    const struct history_wanted *wanted = question->wanted;
    uint32_t *begins =
        arena_array(question->arena, (size_t)wanted->n_first + 1, sizeof *begins);
    uint32_t at = 0;

    if (!begins)
        return arena_err(question->arena, question->history->path, err);
    for (uint32_t group = 0; group < wanted->n_first; group++) {
        while (group > 0 && at < question->n_steps &&
               question->steps[at].first < wanted->first[group])
            at++;
        begins[group] = at;
    }
    begins[wanted->n_first] = question->n_steps;
    question->begins = begins;
    question->n_groups = wanted->n_first;
    return 0;
}

static int question_init(struct series_question *question, enum history_table table,
                         struct err *err)
{
    const struct history_wanted *wanted = question->wanted;

    if (history_scan_steps(question->history, &wanted->range, question->arena,
                           &question->steps, &question->n_steps, err) < 0)
        return -1;
    question->n_groups = question->n_steps;
    if (wanted->most > 0 && wanted->most < question->n_steps)
        question->n_groups = wanted->most;
    if (wanted->first && choose_groups(question, err) < 0)
        return -1;
    question->stmt =
        history_prepare_select(question->history->db, table, "WHERE id = ?1", err);
    return question->stmt ? 0 : -1;
}

static void question_release(struct series_question *question)
{
    sqlite3_finalize(question->stmt);
    buf_release(&question->parts);
    buf_release(&question->merged);
}

/* The first step of a group; all groups have about as many, unless they were chosen. */
static uint32_t group_begin(const struct series_question *question, uint32_t group)
{
    if (question->begins)
        return question->begins[group];
    return (uint32_t)((uint64_t)group * question->n_steps / question->n_groups);
}

/* Finds the row of a series in a step. 1: found, 0: not found, -1: failed. The
 * statement stays on the row. */
static int look_up(struct series_question *question, const struct history_step *step,
                   enum history_table table, void *ret_row, struct err *err)
{
    struct history *history = question->history;
    int64_t id;
    int status;

    sqlite3_reset(question->stmt);
    sqlite3_bind_int64(question->stmt, 1,
                       history_point_id(step->block, question->wanted->series));
    status = sqlite3_step(question->stmt);
    history->rows++;
    if (status == SQLITE_DONE)
        return 0;
    if (status == SQLITE_ROW && history_get(question->stmt, table, &id, ret_row))
        return 1;
    history->damaged++;
    if (status == SQLITE_ROW || (status & 0xff) == SQLITE_CORRUPT)
        return 0;
    return history_sql_err(history->db, history->path, err);
}

/* ---- points ---- */

/* Merges the collected histograms into one, in `parts`. */
static void merge_parts(struct series_question *question)
{
    struct buf *merged = &question->merged;
    struct str parts[PARTS_MOST];
    size_t at = 0;

    if (question->n_parts < 2)
        return;
    for (uint32_t i = 0; i < question->n_parts; i++) {
        parts[i] = str_span(question->parts.at + at, question->lens[i]);
        at += question->lens[i];
    }
    buf_clear(merged);
    if (question->parts.bad ||
        question->history->codec->merge(parts, question->n_parts, merged) < 0)
        buf_clear(merged);
    buf_clear(&question->parts);
    buf_str(&question->parts, buf_span(merged));
    question->lens[0] = merged->len;
    question->n_parts = merged->len > 0;
}

/* Collects a histogram for merging. */
static void add_part(struct series_question *question, struct str histogram)
{
    if (histogram.len == 0)
        return;
    if (question->n_parts == PARTS_MOST)
        merge_parts(question);
    buf_str(&question->parts, histogram);
    question->lens[question->n_parts++] = histogram.len;
}

static void clear_parts(struct series_question *question)
{
    buf_clear(&question->parts);
    question->n_parts = 0;
}

/* Adds a point to a sample, which gets its histogram later. */
static void add_point(struct series_question *question, struct history_sample *sample,
                      struct history_point *point)
{
    if (question->wanted->histograms)
        add_part(question, point->histogram);
    point->histogram = STR("");
    if (sample->point.merged == 0)
        sample->point = *point;
    else
        history_point_merge(&sample->point, point, question->history->codec,
                            &question->merged);
}

/* The number of steps to read in a group. */
static uint32_t group_reads(const struct series_question *question, uint32_t group)
{
    uint32_t n = group_begin(question, group + 1) - group_begin(question, group);
    uint32_t each = question->wanted->each;

    return each > 0 && each < n ? each : n;
}

/* Merges the steps of a group that have a point. */
static int read_group(struct series_question *question, uint32_t group,
                      struct history_sample *sample, struct err *err)
{
    uint32_t first = group_begin(question, group);
    uint32_t n = group_begin(question, group + 1) - first;
    uint32_t reads = group_reads(question, group);
    struct history_point point = {0};

    *sample = (struct history_sample){0};
    clear_parts(question);
    for (uint32_t i = 0; i < reads; i++) {
        uint32_t at = first + (uint32_t)((uint64_t)i * n / reads);
        const struct history_step *step = &question->steps[at];
        int found = look_up(question, step, HISTORY_TABLE_POINT, &point, err);

        if (found < 0)
            return -1;
        if (!found)
            continue;
        if (sample->step.merged == 0)
            sample->step = *step;
        else
            history_step_merge(&sample->step, step);
        add_point(question, sample, &point);
    }
    merge_parts(question);
    if (question->n_parts > 0)
        sample->point.histogram = buf_span(&question->parts);
    sample->point.histogram = arena_str(question->arena, sample->point.histogram);
    if (!sample->point.histogram.at)
        return arena_err(question->arena, question->history->path, err);
    return 0;
}

static int read_points(struct series_question *question,
                       struct history_sample **ret_samples, uint32_t *ret_n,
                       struct err *err)
{
    struct history_sample *samples;
    uint32_t n = 0;

    samples =
        arena_array(question->arena, (size_t)question->n_groups + 1, sizeof *samples);
    if (!samples)
        return arena_err(question->arena, question->history->path, err);
    for (uint32_t i = 0; i < question->n_groups; i++) {
        if (read_group(question, i, &samples[n], err) < 0)
            return -1;
        n += samples[n].point.merged > 0;
    }
    *ret_samples = samples;
    *ret_n = n;
    return 0;
}

int history_read_points(struct history *history, const struct history_wanted *wanted,
                        struct arena *arena, struct history_sample **ret_samples,
                        uint32_t *ret_n, struct err *err)
{
    struct series_question question = {
        .history = history, .wanted = wanted, .arena = arena};
    int status;

    if (history->ranks)
        return history_ranks_points(history->ranks, wanted, arena, ret_samples, ret_n,
                                    err);
    if (wanted->series >= HISTORY_SERIES_MOST)
        return err_set(err, ERR_NOT_FOUND, "no such series");
    if (history_begin(history, err) < 0)
        return -1;
    status = question_init(&question, HISTORY_TABLE_POINT, err);
    if (status == 0)
        status = read_points(&question, ret_samples, ret_n, err);
    question_release(&question);
    return history_end(history, status);
}

/* ---- scalars ---- */

static int read_scalars(struct series_question *question,
                        struct history_scalar_sample **ret_samples, uint32_t *ret_n,
                        struct err *err)
{
    struct history_scalar_sample *samples, *to;
    struct history_scalar scalar = {0};
    uint32_t n = 0;

    samples =
        arena_array(question->arena, (size_t)question->n_groups + 1, sizeof *samples);
    if (!samples)
        return arena_err(question->arena, question->history->path, err);
    for (uint32_t group = 0; group < question->n_groups; group++) {
        uint32_t end = group_begin(question, group + 1);

        to = &samples[n];
        *to = (struct history_scalar_sample){0};
        for (uint32_t i = group_begin(question, group); i < end; i++) {
            const struct history_step *step = &question->steps[i];
            int found = look_up(question, step, HISTORY_TABLE_SCALAR, &scalar, err);

            if (found < 0)
                return -1;
            if (found && to->step.merged == 0) {
                *to = (struct history_scalar_sample){*step, scalar};
            } else if (found) {
                history_step_merge(&to->step, step);
                history_number_merge(&to->scalar.number, &scalar.number);
                to->scalar.last = scalar.last;
            }
        }
        n += to->step.merged > 0;
    }
    *ret_samples = samples;
    *ret_n = n;
    return 0;
}

int history_read_scalars(struct history *history, const struct history_wanted *wanted,
                         struct arena *arena,
                         struct history_scalar_sample **ret_samples, uint32_t *ret_n,
                         struct err *err)
{
    struct series_question question = {
        .history = history, .wanted = wanted, .arena = arena};
    int status;

    if (history->ranks)
        return history_ranks_scalars(history->ranks, wanted, arena, ret_samples, ret_n,
                                     err);
    if (wanted->series >= HISTORY_SERIES_MOST)
        return err_set(err, ERR_NOT_FOUND, "no such scalar");
    if (history_begin(history, err) < 0)
        return -1;
    status = question_init(&question, HISTORY_TABLE_SCALAR, err);
    if (status == 0)
        status = read_scalars(&question, ret_samples, ret_n, err);
    question_release(&question);
    return history_end(history, status);
}
