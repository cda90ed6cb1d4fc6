/* Detects ranks whose parameters drift apart. Each rank logs a checksum of its
 * parameters in each step. Under data parallelism the checksums are equal; with model
 * parallelism they never are. So the alarm is raised if they differ after having been
 * equal. It names the first parameter whose points differ. */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "history/ranks_in.h"

struct rank_sums {
    struct history_scalar_sample *at;
    uint32_t n;
};

static int read_sums(struct history *history, struct arena *arena, struct rank_sums *to,
                     struct err *err)
{
    struct history_wanted wanted = {0};
    struct str *names;
    uint32_t n;

    *to = (struct rank_sums){0};
    if (history_read_names(history, arena, &names, &n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        wanted.series = i;
        if (str_is(names[i], HISTORY_CHECKSUM))
            return history_read_scalars(history, &wanted, arena, &to->at, &to->n, err);
    }
    return 0;
}

/* Do both cover the same steps? Rows that were merged differently cannot be
 * compared. */
static bool of_same_steps(const struct history_step *a, const struct history_step *b)
{
    return a->first == b->first && a->last == b->last && a->merged == b->merged;
}

static bool are_equal(const struct history_number *a, const struct history_number *b)
{
    return a->n == b->n && a->min == b->min && a->max == b->max;
}

/* The first row of `a` that differs in `b` after an equal one; or NULL.
 * *ret_equal: the last step at which they were equal. */
static const struct history_step *
first_drift(const struct rank_sums *a, const struct rank_sums *b, uint64_t *ret_equal)
{
    bool once = false;

    for (uint32_t i = 0, k = 0; i < a->n && k < b->n;) {
        const struct history_scalar_sample *x = &a->at[i], *y = &b->at[k];

        if (of_same_steps(&x->step, &y->step)) {
            if (are_equal(&x->scalar.number, &y->scalar.number)) {
                once = true;
                *ret_equal = x->step.last;
            } else if (once) {
                return &x->step;
            }
        }
        if (x->step.last <= y->step.last)
            i++;
        if (y->step.last <= x->step.last)
            k++;
    }
    return NULL;
}

/* ---- which parameter ---- */

static bool points_differ(const struct history_point *a, const struct history_point *b)
{
    const struct stats *x = &a->stats, *y = &b->stats;

    return x->min != y->min || x->max != y->max || x->zeros != y->zeros ||
           x->mean != y->mean || !str_eq(a->histogram, b->histogram);
}

static bool is_param(const struct history_series *series)
{
    return series->kind == HISTORY_PARAM && series->phase == HISTORY_TRAIN;
}

/* The points of one step of a file, by series; NULL: none. */
struct params_of_step {
    struct history_series *series;
    struct history_point **points;
    uint32_t n;
};

static int read_step(struct history *history, uint64_t number, struct arena *arena,
                     struct params_of_step *to, struct err *err)
{
    const struct history_range range = {.from = number, .to = number};
    struct history_point *points;
    struct history_step *steps;
    uint32_t n_steps, n = 0;

    if (history_read_series(history, arena, &to->series, &to->n, err) < 0 ||
        history_read_steps(history, &range, arena, &steps, &n_steps, err) < 0)
        return -1;
    to->points = arena_array(arena, (size_t)to->n + 1, sizeof *to->points);
    if (!to->points)
        return arena_err(arena, "the series", err);
    memset(to->points, 0, ((size_t)to->n + 1) * sizeof *to->points);
    for (uint32_t i = 0; i < n_steps && n == 0; i++) /* scalars may have a row */
        if (steps[i].points > 0 &&
            history_read_step_points(history, &steps[i], true, arena, &points, &n,
                                     err) < 0)
            return -1;
    for (uint32_t i = 0; i < n; i++)
        if (points[i].series < to->n)
            to->points[points[i].series] = &points[i];
    return 0;
}

/* The series of the parameters by name. */
static int map_params(const struct params_of_step *of, struct arena *arena,
                      struct name_map *map, uint32_t **ret_numbers, struct err *err)
{
    uint32_t *numbers = arena_array(arena, (size_t)of->n + 1, sizeof *numbers), at;

    name_map_init(map, arena);
    if (!numbers)
        return arena_err(arena, "the series", err);
    for (uint32_t i = 0; i < of->n; i++) {
        if (!is_param(&of->series[i]))
            continue;
        if (name_map_add(map, of->series[i].name, &at) < 0)
            return arena_err(arena, "the series", err);
        numbers[at] = i;
    }
    *ret_numbers = numbers;
    return 0;
}

/* Fills place, name and statistics of the first parameter that differs. */
static int name_param(struct history *a, struct history *b, uint64_t number,
                      struct arena *arena, struct history_alarm *to, struct err *err)
{
    struct params_of_step left, right;
    struct name_map map;
    uint32_t at, *numbers = NULL;

    if (read_step(a, number, arena, &left, err) < 0 ||
        read_step(b, number, arena, &right, err) < 0 ||
        map_params(&right, arena, &map, &numbers, err) < 0)
        return -1;
    for (uint32_t i = 0; i < left.n; i++) {
        const struct history_point *x = left.points[i], *y;

        if (!x || !is_param(&left.series[i]) ||
            !name_map_find(&map, left.series[i].name, &at))
            continue;
        y = right.points[numbers[at]];
        if (!y || !points_differ(x, y))
            continue;
        to->place = left.series[i].place;
        to->name = left.series[i].name;
        to->stats = y->stats;
        break;
    }
    return 0;
}

/* ---- the alarm ---- */

static int add_alarm(struct history_ranks *ranks, uint32_t other,
                     const struct history_step *step, uint64_t equal,
                     struct arena *arena, struct rank_alarms *alarms, struct err *err)
{
    struct history_alarm alarm = {.step = step->first,
                                  .wall_ns = step->wall_ns,
                                  .place = HISTORY_NONE,
                                  .severity = SEVERITY_ALARM,
                                  .kind = STR(HISTORY_DRIFT),
                                  .rank = (uint32_t)ranks->numbers[other]};

    stats_init(&alarm.stats, DTYPE_FLOAT32);
    if (step->first > 0 && name_param(ranks->files[0], ranks->files[other], step->first,
                                      arena, &alarm, err) < 0)
        return -1;
    alarm.text = str_of(
        arena_printf(arena,
                     "the parameters of rank %" PRIu64 " and rank %" PRIu64
                     " drifted apart: they differ, and were equal at step %" PRIu64,
                     ranks->numbers[0], ranks->numbers[other], equal));
    if (!alarm.text.at ||
        arena_room(arena, &alarms->at, alarms->n, &alarms->room, sizeof alarm) < 0)
        return arena_err(arena, "the alarms", err);
    alarms->at[alarms->n++] = alarm;
    return 0;
}

int history_ranks_drift(struct history_ranks *ranks, struct arena *arena,
                        struct rank_alarms *alarms, struct err *err)
{
    struct rank_sums first, other;

    if (ranks->n < 2)
        return 0;
    if (read_sums(ranks->files[0], arena, &first, err) < 0)
        return -1;
    for (uint32_t rank = 1; first.n > 0 && rank < ranks->n; rank++) {
        const struct history_step *step;
        uint64_t equal = 0;

        if (read_sums(ranks->files[rank], arena, &other, err) < 0)
            return -1;
        step = first_drift(&first, &other, &equal);
        if (step && add_alarm(ranks, rank, step, equal, arena, alarms, err) < 0)
            return -1;
    }
    return 0;
}
