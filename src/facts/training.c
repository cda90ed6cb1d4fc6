#include "facts/training.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "facts/check_text.h"
#include "facts/notes.h"
#include "history/ranks.h"
#include "text/number.h"

#define MOST_TRAINING_ALARMS 1000u

/* In the words of `check`: "healthy in 1,000 logged steps" of training, or "no step was
 * logged, only 2 of evaluation". */
static void healthy_text(struct buf *to, uint64_t steps, uint64_t evals)
{
    if (steps > 0) {
        buf_text(to, "healthy in ");
        text_plural(to, steps, "logged step", "logged steps");
        return;
    }
    buf_text(to, "no step was logged, only ");
    text_commas(to, evals);
    buf_text(to, " of evaluation");
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

/* The step before the first alarm of this severity or worse; false: the first step has
 * it. */
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
    uint64_t steps = training->phases[HISTORY_TRAIN].steps,
             evals = training->phases[HISTORY_EVAL].steps;
    struct buf text = BUF_INIT;

    if (worst) {
        judge_alarm(session, worst, &text, &to);
        to.name = arena_str(arena, worst->name).at;
    } else if (training_has_bad_loss(training)) {
        training_loss_text(&text, training);
        to.role = COLOUR_ALARM;
        to.step = training->loss_step;
        to.has_step = true;
    } else if (steps + evals > 0) {
        healthy_text(&text, steps, evals);
        to.role = steps > 0 ? COLOUR_GOOD : COLOUR_DIM;
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

/* ---- findings of `check` ---- */

static const char *sentence(const struct session *session,
                            const struct history_alarm *alarm, struct arena *arena)
{
    struct buf text = BUF_INIT;
    const char *kept;

    training_alarm_text(&text, alarm, history_ranks_of(session->history) != NULL);
    kept = arena_str(arena, buf_span(&text)).at;
    buf_release(&text);
    return kept;
}

static struct finding finding_of(const struct session *session,
                                 const struct history_alarm *alarm, struct arena *arena)
{
    const struct model *model = session->model;

    return (struct finding){.code = FINDING_TRAINING,
                            .severity = (enum severity)alarm->severity,
                            .place = alarm->place < model->n_places ? alarm->place
                                                                    : FINDING_NOWHERE,
                            .named = true,
                            .text = sentence(session, alarm, arena)};
}

static const char *loss_sentence(const struct history_summary *training,
                                 struct arena *arena)
{
    struct buf text = BUF_INIT;
    const char *kept;

    training_loss_text(&text, training);
    kept = arena_str(arena, buf_span(&text)).at;
    buf_release(&text);
    return kept;
}

/* Copies the findings so far, and appends the alarms. */
static int append(const struct session *session, const struct history_alarm *alarms,
                  uint32_t n, struct arena *arena, struct check_ask *ask,
                  struct err *err)
{
    const struct history_summary *training = session->training;
    struct finding *all = arena_array(arena, (size_t)ask->n_found + n + 2, sizeof *all);

    if (!all)
        return arena_err(arena, "the check", err);
    if (ask->n_found > 0)
        memcpy(all, ask->found, ask->n_found * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        all[ask->n_found++] = finding_of(session, &alarms[i], arena);
    if (training_has_bad_loss(training))
        all[ask->n_found++] = (struct finding){.code = FINDING_TRAINING,
                                               .severity = SEVERITY_ALARM,
                                               .place = FINDING_NOWHERE,
                                               .text = loss_sentence(training, arena)};
    for (uint32_t i = 0; i < ask->n_found; i++)
        if (!all[i].text)
            return arena_err(arena, "the check", err);
    ask->found = all;
    ask->training = true;
    ask->steps = training->phases[HISTORY_TRAIN].steps;
    ask->evals = training->phases[HISTORY_EVAL].steps;
    return 0;
}

/* An unreadable history is a finding: the run is not known to be healthy. */
static int append_unreadable(const struct session *session, struct arena *arena,
                             struct check_ask *ask, struct err *err)
{
    struct finding *all = arena_array(arena, (size_t)ask->n_found + 1, sizeof *all);

    if (!all)
        return arena_err(arena, "the check", err);
    if (ask->n_found > 0)
        memcpy(all, ask->found, ask->n_found * sizeof *all);
    all[ask->n_found] = (struct finding){
        .code = FINDING_DAMAGED,
        .severity = SEVERITY_WARNING,
        .place = FINDING_NOWHERE,
        .text = arena_printf(arena,
                             "the history of the training run cannot be read: "
                             "%s",
                             session->history_why)};
    if (!all[ask->n_found++].text)
        return arena_err(arena, "the check", err);
    ask->found = all;
    return 0;
}

int check_training(const struct session *session, struct arena *arena,
                   struct check_ask *ask, struct err *err)
{
    struct history_alarm *alarms;
    uint32_t n;

    if (session->history_why)
        return append_unreadable(session, arena, ask, err);
    if (!session->history)
        return 0;
    if (history_read_alarms(session->history, 0, MOST_TRAINING_ALARMS, arena, &alarms,
                            &n, err) < 0)
        return -1;
    return append(session, alarms, n, arena, ask, err);
}
