#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge_in.h"

#define RECOVERED 3 /* finite logged steps after which a NaN is reported again */

struct judge *judge_new(void)
{
    struct judge *judge = calloc(1, sizeof *judge);

    if (!judge)
        return NULL;
    arena_init(&judge->arena, 0);
    judge->first_loss = (double)NAN;
    return judge;
}

void judge_free(struct judge *judge)
{
    if (!judge)
        return;
    arena_release(&judge->arena);
    buf_release(&judge->text);
    buf_release(&judge->name);
    buf_release(&judge->line);
    free(judge->alarms);
    free(judge->places);
    free(judge->params);
    free(judge->masks);
    free(judge);
}

void judge_begin(struct judge *judge)
{
    judge->n = 0;
    arena_release(&judge->arena);
    arena_init(&judge->arena, 0);
}

/* Allocates the state per place and tensor: at the first step, and when the model
 * changes. */
static bool fit(struct judge *judge, const struct model *model)
{
    if (judge->places && judge->n_places == model->n_places &&
        judge->n_tensors == model->n_tensors)
        return true;
    free(judge->places);
    free(judge->params);
    free(judge->masks);
    judge->n_places = model->n_places;
    judge->n_tensors = model->n_tensors;
    judge->places = calloc((size_t)model->n_places + 1, sizeof *judge->places);
    judge->params = calloc((size_t)model->n_tensors + 1, sizeof *judge->params);
    judge->masks = calloc((size_t)model->n_places + 1, 1);
    if (judge->places && judge->params && judge->masks)
        return true;
    free(judge->places);
    judge->places = NULL;
    return false;
}

/* ---- is something not finite? */

/* NaN or +Inf in the results of a pass. */
static bool bad_outputs(const struct run *run)
{
    for (uint32_t c = 0; c < run->n_calls; c++) {
        const struct run_call *call = &run->calls[c];

        if (call->parent != RUN_NONE || call->flags & RUN_RECOMPUTED)
            continue;
        for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
            const struct stats *stats = run->ios[i].kind == RUN_OUT
                                            ? judge_stats(run, run->ios[i].value)
                                            : NULL;

            if (stats && (stats->nan > 0 || stats->pos_inf > 0))
                return true;
        }
    }
    return false;
}

/* Gradients of parameters; if the optimizer did not step, also those of calls. */
static bool bad_gradients(const struct run *run)
{
    bool known = false;

    for (uint32_t i = 0; i < run->n_params; i++) {
        if (run->params[i].gradient && !producer_finite(run, run->params[i].value))
            return true;
        known |= run->params[i].gradient;
    }
    for (uint32_t i = 0; i < run->n_ios && !known; i++)
        if ((run->ios[i].kind == RUN_GRAD_IN || run->ios[i].kind == RUN_GRAD_OUT) &&
            !producer_finite(run, run->ios[i].value))
            return true;
    return false;
}

/* Parameters when the step began. */
bool judge_has_bad_params(const struct run *run)
{
    for (uint32_t i = 0; i < run->n_params; i++)
        if (!run->params[i].gradient && !producer_finite(run, run->params[i].value))
            return true;
    return false;
}

static bool bad_updates(const struct judge_step *step)
{
    for (uint32_t i = 0; i < step->n_updates; i++) {
        const struct stats *stats = &step->updates[i].stats;

        if (stats->nan + stats->pos_inf + stats->neg_inf > 0)
            return true;
    }
    return false;
}

/* A gradient scaler is meant to skip steps with bad gradients: then only the model's
 * results count. */
static bool is_sick(const struct judge_step *step)
{
    if (bad_outputs(step->run) || judge_has_bad_params(step->run) || bad_updates(step))
        return true;
    return !step->skipped &&
           ((step->has_loss && !isfinite(step->loss)) || bad_gradients(step->run));
}

/* ---- what is the cause? */

static void blame(struct judge *judge, const struct judge_step *step)
{
    judge->finite = 0;
    /* If non-finite values were reported already, only their producer is new. With bad
     * parameters it cannot be found. */
    if (judge->sick >= SICK_MODULE ||
        (judge->sick == SICK_SEEN && judge_has_bad_params(step->run)))
        return;
    if (judge_params_bad(judge, step) || judge_forward(judge, step) ||
        judge_bad_loss(judge, step) || judge_backward(judge, step) ||
        judge_optimizer(judge, step))
        judge->sick = SICK_MODULE;
}

static void learn_masks(struct judge *judge, const struct run *run)
{
    for (uint32_t i = 0; i < run->n_ios; i++) {
        const struct stats *stats = judge_stats(run, run->ios[i].value);
        uint8_t *masks = &judge->masks[run->calls[run->ios[i].call].place];

        if (stats && stats->neg_inf > 0 && run->ios[i].kind == RUN_OUT)
            *masks |= PRODUCER_MAKES_MASKS;
        if (stats && stats->neg_inf > 0 && run->ios[i].kind == RUN_IN)
            *masks |= PRODUCER_READS_MASKS;
    }
}

static void healthy(struct judge *judge, const struct judge_step *step)
{
    if (judge->sick != SICK_NOT && ++judge->finite >= RECOVERED)
        judge->sick = SICK_NOT;
    judge->healthy_to = step->number;
    judge->has_healthy = true;
    learn_masks(judge, step->run);
    if (!step->training)
        return;
    if (!step->skipped) {
        if (step->has_loss)
            judge_losses(judge, step->number, step->loss);
        judge_gradients(judge, step);
    }
    judge_dead(judge, step);
    judge_hints(judge, step);
}

uint32_t judge_step(struct judge *judge, const struct judge_step *step,
                    const struct history_alarm **ret_alarms)
{
    judge_begin(judge);
    if (fit(judge, step->run->model)) {
        if (is_sick(step))
            blame(judge, step);
        else
            healthy(judge, step);
    }
    *ret_alarms = judge->alarms;
    return judge->n;
}

uint32_t judge_loss(struct judge *judge, uint64_t number, double loss,
                    const struct history_alarm **ret_alarms)
{
    judge_begin(judge);
    judge_losses(judge, number, loss);
    *ret_alarms = judge->alarms;
    return judge->n;
}

uint32_t judge_guard(struct judge *judge, uint64_t number, struct str what,
                     struct str text, const struct history_alarm **ret_alarms)
{
    judge_begin(judge);
    judge->finite = 0;
    if (judge->sick == SICK_NOT) {
        judge->sick = SICK_SEEN;
        judge_say(judge, "%.*s", (int)text.len, text.at);
        judge_give(judge, number, SEVERITY_ALARM, "nan", NO_PLACE, what, NULL, STR(""));
    }
    *ret_alarms = judge->alarms;
    return judge->n;
}
