/* Facts about the history of a training run. */
#include <math.h>

#include "facts/facts.h"
#include "text/escape.h"
#include "text/number.h"

/* "400 steps of training, 0 to 409, kept as 120 rows" */
static void add_phase(struct facts *to, const struct history_phase_sum *phase,
                      bool training)
{
    if (phase->rows == 0)
        return;
    buf_text(&to->text, fact_is_empty(to) ? "" : "; ");
    fact_plural(to, training ? "steps" : "eval_steps", phase->steps, "step", "steps");
    buf_text(&to->text, training ? " of training, " : " of evaluation, ");
    fact_count(to, training ? "first" : "eval_first", phase->first);
    buf_text(&to->text, " to ");
    fact_count(to, training ? "last" : "eval_last", phase->last);
    if (phase->rows < phase->steps) {
        buf_text(&to->text, ", merged to ");
        fact_count(to, training ? "rows" : "eval_rows", phase->rows);
    }
}

static void add_steps(struct facts *to, const struct history_summary *sum)
{
    add_phase(to, &sum->phases[HISTORY_TRAIN], true);
    add_phase(to, &sum->phases[HISTORY_EVAL], false);
    if (fact_is_empty(to))
        buf_text(&to->text, "no step was logged");
    if (sum->wall_ns > 0) {
        buf_text(&to->text, ", in ");
        fact_time(to, "duration", sum->wall_ns);
    }
    if (sum->files > 0) {
        buf_text(&to->text, "; ");
        fact_plural(to, "files", sum->files, "rank", "ranks");
        if (sum->files < sum->ranks) {
            buf_text(&to->text, " of ");
            fact_count(to, "ranks", sum->ranks);
        }
    } else if (sum->ranks > 0) {
        buf_text(&to->text, "; rank ");
        fact_count(to, "rank", sum->rank);
        buf_text(&to->text, " of ");
        fact_count(to, "ranks", sum->ranks);
    }
    fact_end(to, "training", COLOUR_NONE);
}

static void add_loss(struct facts *to, const struct history_summary *sum)
{
    struct figure figure;

    if (!sum->has_loss)
        return;
    figure = fact_figure(to);
    figure_real(&figure, sum->newest_loss);
    fact_value(to, "value", &figure);
    buf_text(&to->text, " at step ");
    fact_count(to, "step", sum->loss_step);
    fact_end(to, "loss", isfinite(sum->newest_loss) ? COLOUR_NONE : COLOUR_ALARM);
}

/* "11 series; loss, lr/0, grad_norm" */
static void add_scalars(struct facts *to, const struct history_summary *sum)
{
    if (sum->series > 0) {
        fact_plural(to, "series", sum->series, "series of a tensor",
                    "series of tensors");
        buf_text(&to->text, sum->n_names > 0 ? "; " : "");
    }
    if (sum->n_listed > 0)
        fact_text(to, "names", str_of(sum->names));
    if (sum->n_listed < sum->n_names) {
        buf_text(&to->text, sum->n_listed > 0 ? " and " : "");
        fact_plural(to, "more", sum->n_names - sum->n_listed, "more scalar",
                    "more scalars");
    }
    fact_end_as(to, "logged", "logs", COLOUR_NONE);
}

static void add_alarms(struct facts *to, const struct history_summary *sum)
{
    uint32_t worse = history_summary_alarms(sum);

    if (worse == 0) {
        bool judged =
            sum->phases[HISTORY_TRAIN].steps + sum->phases[HISTORY_EVAL].steps;

        buf_text(&to->text, judged ? "✓ " : "");
        fact_count(to, "count", 0);
        fact_end(to, "alarms", judged ? COLOUR_GOOD : COLOUR_NONE);
        return;
    }
    buf_text(&to->text, sum->alarms[SEVERITY_ALARM] > 0 ? "✗ " : "! ");
    fact_count(to, "count", worse);
    buf_text(&to->text, ", the first at step ");
    fact_count(to, "step", sum->first_alarm);
    fact_end(to, "alarms",
             sum->alarms[SEVERITY_ALARM] > 0 ? COLOUR_ALARM : COLOUR_WARNING);
}

static void add_resumed(struct facts *to, const struct history_summary *sum)
{
    if (sum->segments < 2)
        return;
    fact_plural(to, "times", sum->segments - 1, "time", "times");
    if (sum->missing_steps > 0) {
        buf_text(&to->text, ", ");
        fact_plural(to, "missing", sum->missing_steps, "step is missing",
                    "steps are missing");
    }
    if (sum->repeated_steps > 0) {
        buf_text(&to->text, ", ");
        fact_plural(to, "repeated", sum->repeated_steps, "step was repeated",
                    "steps were repeated");
    }
    if (sum->paused_ns > 0) {
        buf_text(&to->text, ", after ");
        fact_time(to, "paused", sum->paused_ns);
    }
    fact_end(to, "resumed", COLOUR_NONE);
}

static void add_lost(struct facts *to, const struct history_summary *sum)
{
    if (sum->dropped > 0) {
        fact_plural(to, "count", sum->dropped, "step", "steps");
        buf_text(&to->text, " not logged: the disk was too slow, or full");
        fact_end(to, "dropped", COLOUR_WARNING);
    }
    if (sum->skipped > 0) {
        fact_plural(to, "count", sum->skipped, "optimizer step", "optimizer steps");
        buf_text(&to->text, " skipped by the gradient scaler");
        fact_end(to, "skipped", COLOUR_NONE);
    }
    if (sum->damaged > 0) {
        fact_plural(to, "count", sum->damaged, "row", "rows");
        buf_text(&to->text, " of the history could not be read");
        fact_end(to, "damaged", COLOUR_WARNING);
    }
}

void facts_history(struct file_facts *facts)
{
    const struct session *session = facts->show->session;
    const struct history_summary *sum = session->training;

    if (session->history_why) {
        buf_text(&facts->to->text, "the history cannot be read: ");
        escape_terminal(&facts->to->text, str_of(session->history_why));
        fact_end(facts->to, "training", COLOUR_WARNING);
    }
    if (!sum)
        return;
    add_steps(facts->to, sum);
    add_loss(facts->to, sum);
    add_scalars(facts->to, sum);
    add_alarms(facts->to, sum);
    add_resumed(facts->to, sum);
    add_lost(facts->to, sum);
}
