/* The points of a series: one look-up per step, as points are clustered by step. That is
 * 3 to 4 pages, most of them cached; an index by series would cost the writer more than
 * it writes. */
#include <string.h>

#include "history/reader_in.h"

/* What is wanted, and its steps. */
struct series_question {
    struct history *history;
    const struct history_wanted *wanted;
    struct arena *arena;
    sqlite3_stmt *stmt;
    struct history_step *steps;
    uint32_t n_steps, n_groups;
    struct buf scratch[2]; /* merged histograms, in turn */
};

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
    question->stmt =
        history_prepare_select(question->history->db, table, "WHERE id = ?1", err);
    return question->stmt ? 0 : -1;
}

static void question_release(struct series_question *question)
{
    sqlite3_finalize(question->stmt);
    buf_release(&question->scratch[0]);
    buf_release(&question->scratch[1]);
}

/* The first step of a group; all groups have about as many. */
static uint32_t group_begin(const struct series_question *question, uint32_t group)
{
    return (uint32_t)((uint64_t)group * question->n_steps / question->n_groups);
}

/* The row of a series in a step. 1: found, 0: not, -1: failed. The statement stays on
 * the row. */
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

/* Adds a point to a sample, whose histogram is in scratch[turn]. */
static void add_point(struct series_question *question, struct history_sample *sample,
                      const struct history_point *point, int *turn)
{
    struct buf *to = &question->scratch[*turn ^ 1];

    if (sample->point.merged == 0) {
        buf_clear(to);
        buf_str(to, point->histogram);
        sample->point = *point;
        sample->point.histogram = buf_span(to);
    } else {
        history_point_merge(&sample->point, point, question->history->codec, to);
        /* The bytes of a single one belong to the statement. */
        if (sample->point.histogram.at == point->histogram.at)
            buf_str(to, point->histogram);
        else if (to->len == 0)
            return; /* unchanged, or none */
        sample->point.histogram = buf_span(to);
    }
    *turn ^= 1;
}

/* How many steps of a group to read. */
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
    int turn = 0;

    *sample = (struct history_sample){0};
    for (uint32_t i = 0; i < reads; i++) {
        uint32_t at = first + (uint32_t)((uint64_t)i * n / reads);
        const struct history_step *step = &question->steps[at];
        int found = look_up(question, step, HISTORY_TABLE_POINT, &point, err);

        if (found < 0)
            return -1;
        if (!found)
            continue;
        if (!question->wanted->histograms)
            point.histogram = STR("");
        if (sample->step.merged == 0)
            sample->step = *step;
        else
            history_step_merge(&sample->step, step);
        add_point(question, sample, &point, &turn);
    }
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

/* ---- all points of a step ---- */

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

struct moment_scan {
    struct history_moment *moment;
    uint32_t points_room, scalars_room;
};

static bool take_point(struct history_scan *scan, int64_t id, void *row)
{
    struct moment_scan *to = scan->user;
    struct history_moment *moment = to->moment;

    (void)id;
    if (arena_room(scan->arena, &moment->points, moment->n_points, &to->points_room,
                   sizeof *moment->points) < 0)
        return false;
    moment->points[moment->n_points] = *(struct history_point *)row;
    moment->points[moment->n_points++].histogram = STR("");
    return true;
}

static bool take_scalar(struct history_scan *scan, int64_t id, void *row)
{
    struct moment_scan *to = scan->user;
    struct history_moment *moment = to->moment;

    (void)id;
    if (arena_room(scan->arena, &moment->scalars, moment->n_scalars, &to->scalars_room,
                   sizeof *moment->scalars) < 0)
        return false;
    moment->scalars[moment->n_scalars++] = *(struct history_scalar *)row;
    return true;
}

/* All rows of a table that belong to a row of steps. */
static int scan_block(struct history_scan *scan, const struct history_step *step,
                      take_history_row *take)
{
    sqlite3_stmt *stmt =
        history_prepare_select(scan->history->db, scan->table,
                               "WHERE id BETWEEN ?1 AND ?2 ORDER BY id", scan->err);

    if (stmt) {
        sqlite3_bind_int64(stmt, 1, history_point_id(step->block, 0));
        sqlite3_bind_int64(stmt, 2,
                           history_point_id(step->block, HISTORY_SERIES_MOST - 1));
    }
    return history_scan(scan, stmt, take);
}

/* Rows without points have the number of the step that their scalars belong to. */
static int read_moment_scalars(struct history_scan *scan,
                               const struct history_step *steps, uint32_t n,
                               uint64_t number)
{
    uint64_t newest = 0;

    for (uint32_t i = 0; i < n; i++)
        if (steps[i].first <= number && steps[i].first > newest)
            newest = steps[i].first;
    for (uint32_t i = 0; i < n; i++)
        if (steps[i].first == newest && newest <= number &&
            scan_block(scan, &steps[i], take_scalar) < 0)
            return -1;
    return 0;
}

static int read_moment(struct history *history, uint64_t number, uint8_t phase,
                       struct arena *arena, struct history_moment *moment,
                       struct err *err)
{
    const struct history_range range = {.phase = phase};
    struct moment_scan to = {.moment = moment};
    struct history_scan scan = {history, HISTORY_TABLE_POINT, arena, &to, err};
    const struct history_step *step;
    struct history_step *steps;
    uint32_t n;

    if (history_scan_steps(history, &range, arena, &steps, &n, err) < 0)
        return -1;
    scan.table = HISTORY_TABLE_SCALAR;
    if (read_moment_scalars(&scan, steps, n, number) < 0)
        return -1;
    step = find_moment(steps, n, number);
    if (!step)
        return 0;
    moment->step = *step;
    scan.table = HISTORY_TABLE_POINT;
    return scan_block(&scan, step, take_point);
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
    status = read_moment(history, number, phase, arena, &moment, err);
    if (status == 0)
        *ret_moment = moment;
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
