/* torchoscope check: the alarms in the history of a training run, as findings. */
#include <string.h>

#include "cli/check_in.h"
#include "facts/notes.h"
#include "facts/training.h"

#define MOST_TRAINING_ALARMS 1000u

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

/* Copies what was found so far, and adds the alarms behind it. */
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
    if (training_has_bad_loss(training)) /* also without an alarm in the file */
        all[ask->n_found++] = (struct finding){.code = FINDING_TRAINING,
                                               .severity = SEVERITY_ALARM,
                                               .place = FINDING_NOWHERE,
                                               .text = loss_sentence(training, arena)};
    for (uint32_t i = 0; i < ask->n_found; i++)
        if (!all[i].text)
            return arena_err(arena, "the check", err);
    ask->found = all;
    ask->training = true;
    for (int phase = 0; phase < HISTORY_PHASES; phase++)
        ask->steps += training->phases[phase].steps;
    return 0;
}

/* A history that cannot be read is a finding: it is not known to be healthy. */
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
