#include "history/summary.h"

#include <string.h>

#include "base/base.h"
#include "history/ranks.h"

#define SUMMARY_LIMIT (256 * MIB) /* of the lists while they are read */
#define ALARMS_MOST   65536u      /* that are counted */

uint32_t history_summary_alarms(const struct history_summary *summary)
{
    return summary->alarms[SEVERITY_WARNING] + summary->alarms[SEVERITY_ALARM];
}

uint32_t history_find_name(const struct str *names, uint32_t n, const char *name)
{
    size_t len = strlen(name);

    for (uint32_t i = 0; i < n; i++)
        if (str_is(names[i], name))
            return i;
    for (uint32_t i = 0; i < n; i++)
        if (names[i].len > len && names[i].at[len] == '/' &&
            str_is(str_head(names[i], len), name))
            return i;
    return HISTORY_NONE;
}

/* ---- steps ---- */

/* Scalars and alarms that came after their step have a separate row. */
static void add_step(struct history_summary *to, const struct history_step *step,
                     struct history_phase_sum *phase)
{
    bool again = phase->rows > 0 && step->first == phase->last;

    if (phase->rows == 0 || step->first < phase->first)
        phase->first = step->first;
    if (phase->rows == 0 || step->last > phase->last)
        phase->last = step->last;
    phase->rows += !again;
    phase->steps += step->merged - again;
    to->dropped += step->dropped;
    to->skipped += step->skipped;
}

static int sum_steps(struct history *history, struct history_summary *to,
                     struct arena *arena, struct err *err)
{
    uint64_t begin = UINT64_MAX, end = 0;

    for (uint8_t phase = 0; phase < HISTORY_PHASES; phase++) {
        const struct history_range range = {.phase = phase};
        struct history_step *steps;
        uint32_t n;

        if (history_read_steps(history, &range, arena, &steps, &n, err) < 0)
            return -1;
        for (uint32_t i = 0; i < n; i++) {
            add_step(to, &steps[i], &to->phases[phase]);
            begin = steps[i].wall_ns < begin ? steps[i].wall_ns : begin;
            end = steps[i].last_ns > end ? steps[i].last_ns : end;
        }
    }
    to->wall_ns = end > begin ? end - begin : 0;
    return 0;
}

/* ---- scalars ---- */

/* Lists names while they fit. */
static void list_names(struct history_summary *to, const struct str *names, uint32_t n)
{
    size_t used = 0;

    to->n_names = n;
    for (uint32_t i = 0; i < n; i++) {
        size_t need = names[i].len + (i > 0 ? 2 : 0);

        if (used + need >= sizeof to->names || memchr(names[i].at, '\0', names[i].len))
            break;
        if (i > 0)
            memcpy(to->names + used, ", ", 2);
        memcpy(to->names + used + (i > 0 ? 2 : 0), names[i].at, names[i].len);
        used += need;
        to->n_listed = i + 1;
    }
}

static void copy_name(char *to, size_t room, struct str name)
{
    size_t len = name.len < room ? name.len : room - 1;

    memcpy(to, name.at, len);
    to[len] = '\0';
}

/* The newest loss of training, or of evaluation if nothing else was logged. Queries
 * only the newest steps: there may be thousands of older ones. */
static int newest_loss(struct history *history, struct history_summary *to,
                       struct arena *arena, struct err *err)
{
    uint8_t phase = to->phases[HISTORY_TRAIN].rows > 0 ? HISTORY_TRAIN : HISTORY_EVAL;
    uint64_t last = to->phases[phase].last;
    const struct history_wanted wanted = {
        .series = to->loss,
        .range = {.from = last > 100 ? last - 100 : 0, .phase = phase}};
    struct history_scalar_sample *samples;
    uint32_t n;

    if (to->loss == HISTORY_NONE)
        return 0;
    if (history_read_scalars(history, &wanted, arena, &samples, &n, err) < 0)
        return -1;
    if (n == 0)
        return 0;
    to->has_loss = true;
    to->newest_loss = samples[n - 1].scalar.last;
    to->loss_step = samples[n - 1].step.last;
    return 0;
}

static int sum_scalars(struct history *history, struct history_summary *to,
                       struct arena *arena, struct err *err)
{
    struct str *names;
    uint32_t n;

    if (history_read_names(history, arena, &names, &n, err) < 0)
        return -1;
    list_names(to, names, n);
    to->loss = history_find_name(names, n, "loss");
    if (to->loss != HISTORY_NONE)
        copy_name(to->loss_name, sizeof to->loss_name, names[to->loss]);
    return newest_loss(history, to, arena, err);
}

/* ---- alarms and segments ---- */

static int sum_alarms(struct history *history, struct history_summary *to,
                      struct arena *arena, struct err *err)
{
    struct history_alarm *alarms;
    uint32_t n;

    if (history_read_alarms(history, 0, ALARMS_MOST, arena, &alarms, &n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        bool counts = alarms[i].severity > SEVERITY_NOTE;

        if (counts &&
            (history_summary_alarms(to) == 0 || alarms[i].step < to->first_alarm))
            to->first_alarm = alarms[i].step;
        to->alarms[alarms[i].severity]++;
    }
    return 0;
}

static int sum_segments(struct history *history, struct history_summary *to,
                        struct arena *arena, struct err *err)
{
    struct history_segment *segments;
    uint32_t n;

    if (history_read_segments(history, arena, &segments, &n, err) < 0)
        return -1;
    to->segments = n;
    for (uint32_t i = 0; i < n; i++) {
        to->rank = segments[i].rank;
        to->ranks = segments[i].ranks;
        to->paused_ns += segments[i].gap_ns;
        if (segments[i].gap_steps > 0)
            to->missing_steps += (uint64_t)segments[i].gap_steps;
        else
            to->repeated_steps += 0 - (uint64_t)segments[i].gap_steps;
    }
    return 0;
}

static int sum_series(struct history *history, struct history_summary *to,
                      struct arena *arena, struct err *err)
{
    struct history_series *series;
    uint32_t n;

    if (history_read_series(history, arena, &series, &n, err) < 0)
        return -1;
    to->series = n;
    return 0;
}

int history_summarise(struct history *history, struct history_summary *ret_summary,
                      struct err *err)
{
    struct history_summary sum = {.loss = HISTORY_NONE};
    struct arena arena;
    int status = -1;

    if (history_hold(history, err) < 0)
        return -1;
    arena_init(&arena, SUMMARY_LIMIT);
    if (sum_steps(history, &sum, &arena, err) == 0 &&
        sum_scalars(history, &sum, &arena, err) == 0 &&
        sum_alarms(history, &sum, &arena, err) == 0 &&
        sum_segments(history, &sum, &arena, err) == 0 &&
        sum_series(history, &sum, &arena, err) == 0) {
        sum.damaged = history_damaged(history);
        if (history_ranks_of(history))
            sum.files = history_ranks_count(history_ranks_of(history));
        *ret_summary = sum;
        status = 0;
    }
    arena_release(&arena);
    history_let_go(history);
    return status;
}
