#include "facts/training.h"

#include <inttypes.h>
#include <math.h>

#include "facts/notes.h"
#include "text/number.h"

void training_healthy_text(struct buf *to, uint64_t steps)
{
    buf_text(to, "healthy in ");
    text_plural(to, steps, "step", "steps");
}

bool training_has_bad_loss(const struct history_summary *training)
{
    return training->has_loss && !isfinite(training->newest_loss) &&
           history_summary_alarms(training) == 0;
}

void training_loss_text(struct buf *to, const struct history_summary *training)
{
    buf_printf(to, "step %" PRIu64 ": the loss is ", training->loss_step);
    text_real(to, training->newest_loss);
}

/* The first of the most severe, if it is worse than a note. */
static const struct history_alarm *worst_of(const struct history_alarm *alarms,
                                            uint32_t n)
{
    const struct history_alarm *worst = NULL;

    for (uint32_t i = 0; i < n; i++) {
        const struct history_alarm *alarm = &alarms[i];

        if (alarm->severity > SEVERITY_NOTE &&
            (!worst || alarm->severity > worst->severity ||
             (alarm->severity == worst->severity && alarm->step < worst->step)))
            worst = alarm;
    }
    return worst;
}

/* The step before the first alarm of this severity or worse; false: it began so. */
static bool well_until(const struct history_alarm *alarms, uint32_t n,
                       enum severity severity, uint64_t *ret_step)
{
    uint64_t first = UINT64_MAX;

    for (uint32_t i = 0; i < n; i++)
        if (alarms[i].severity >= severity && alarms[i].step < first)
            first = alarms[i].step;
    *ret_step = first - 1;
    return first > 0 && first < UINT64_MAX;
}

static void add_lead(struct buf *to, const struct history_alarm *alarms, uint32_t n)
{
    uint64_t healthy, finite;
    bool was_finite = well_until(alarms, n, SEVERITY_ALARM, &finite);

    if (!well_until(alarms, n, SEVERITY_WARNING, &healthy))
        return;
    buf_printf(to, "healthy until step %" PRIu64, healthy);
    if (was_finite && finite > healthy)
        buf_printf(to, ", finite until step %" PRIu64, finite);
}

/* Takes the text and clears it; NULL: the arena is spent. */
static const char *keep(struct buf *text, struct arena *arena)
{
    const char *kept = arena_str(arena, buf_span(text)).at;

    buf_clear(text);
    return kept;
}

static void judge_alarm(const struct session *session,
                        const struct history_alarm *alarm, struct buf *text,
                        struct training_verdict *to)
{
    const struct model *model = session->model;
    uint32_t place = history_place(session->history, alarm->place);

    training_alarm_text(text, alarm, history_ranks_of(session->history) != NULL);
    to->role = alarm->severity == SEVERITY_ALARM ? COLOUR_ALARM : COLOUR_WARNING;
    to->step = alarm->step;
    to->has_step = true;
    if (place >= model->n_places)
        place = alarm->name.len > 0 ? place_find(model, alarm->name) : NO_PLACE;
    to->place = place;
}

int training_verdict(const struct session *session, const struct history_alarm *alarms,
                     uint32_t n, struct arena *arena,
                     struct training_verdict *ret_verdict, struct err *err)
{
    const struct history_summary *training = session->training;
    struct training_verdict to = {.role = COLOUR_GOOD, .place = NO_PLACE};
    const struct history_alarm *worst = worst_of(alarms, n);
    uint64_t steps =
        training->phases[HISTORY_TRAIN].steps + training->phases[HISTORY_EVAL].steps;
    struct buf text = BUF_INIT;

    if (worst) {
        judge_alarm(session, worst, &text, &to);
        to.name = arena_str(arena, worst->name).at;
    } else if (training_has_bad_loss(training)) {
        training_loss_text(&text, training);
        to.role = COLOUR_ALARM;
        to.step = training->loss_step;
        to.has_step = true;
    } else if (steps > 0) {
        training_healthy_text(&text, steps);
    }
    if (text.len > 0)
        to.text = keep(&text, arena);
    add_lead(&text, alarms, n);
    if (text.len > 0)
        to.lead = keep(&text, arena);
    buf_release(&text);
    if (arena->spent)
        return arena_err(arena, "the verdict", err);
    *ret_verdict = to;
    return 0;
}
