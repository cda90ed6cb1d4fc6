/* NaN and infinities in backward, in the optimizer, in an operation. */
#include <math.h>
#include <string.h>

#include "judge/judge_in.h"
#include "text/number.h"

static void report_loss_backward(struct judge *judge, const struct judge_step *step,
                                 const struct producer_backward *found)
{
    const struct run *run = step->run;
    const struct stats *stats = judge_stats(run, found->value);

    judge_say(judge, "first %s in the backward of the loss: ", judge_kind(stats));
    judge_share(judge, stats);
    judge_add(judge, " gradients of the model's outputs; the outputs are finite");
    judge_magnitude(judge, run, &run->calls[found->call], RUN_OUT);
    judge_followed(judge, run);
    judge_give(judge, step->number, SEVERITY_ALARM, "nan", NO_PLACE, STR("loss"), stats,
               STR(""));
}

/* " 2 of 8 gradients of its inputs", "... of its weight" */
static void add_what(struct judge *judge, const struct run *run,
                     const struct producer_backward *found)
{
    const struct model *model = run->model;

    judge_share(judge, judge_stats(run, found->value));
    if (found->kind == PRODUCER_OWN_CODE) {
        struct str name =
            judge_place_name(judge, model, run->calls[found->inner].place);

        judge_add(judge, " gradients of the outputs of %.*s", (int)name.len, name.at);
    } else if (found->tensor != RUN_NONE) {
        uint32_t place = judge_place_of(model, found->tensor);
        struct str name = judge_place_name(judge, model, place);

        judge_add(judge, " gradients of %.*s", (int)name.len, name.at);
    } else {
        judge_add(judge, " gradients of its inputs");
    }
}

static void report_backward(struct judge *judge, const struct judge_step *step,
                            const struct producer_backward *found)
{
    const struct run *run = step->run;
    const struct stats *stats = judge_stats(run, found->value);
    const struct run_call *call =
        found->call == RUN_NONE ? NULL : &run->calls[found->call];
    uint32_t place = call ? call->place : judge_place_of(run->model, found->tensor);
    struct str class_name = judge_class(run->model, place);

    judge_say(judge, "first %s in the backward", judge_kind(stats));
    if (call)
        judge_add(judge, " of %.*s", (int)class_name.len, class_name.at);
    judge_add(judge, ": ");
    add_what(judge, run, found);
    if (call) {
        judge_add(judge, "; gradients of its outputs finite");
        judge_magnitude(judge, run, call, RUN_GRAD_OUT);
    }
    judge_followed(judge, run);
    judge_give(judge, step->number, SEVERITY_ALARM, "nan", place,
               judge_place_name(judge, run->model, place), stats,
               run_string(run, call ? call->line : 0));
}

bool judge_backward(struct judge *judge, const struct judge_step *step)
{
    struct producer_backward found;
    struct arena scratch;
    int status;

    if (step->skipped)
        return false;
    arena_init(&scratch, 0);
    status = producer_backward(step->run, &scratch, &found);
    arena_release(&scratch);
    if (status < 0 || found.kind == PRODUCER_NOWHERE)
        return false;
    if (found.kind == PRODUCER_LOSS)
        report_loss_backward(judge, step, &found);
    else
        report_backward(judge, step, &found);
    return true;
}

/* ---- the optimizer */

static bool update_is_bad(const struct history_update *update)
{
    const struct stats *stats = &update->stats;

    return stats->nan + stats->pos_inf + stats->neg_inf > 0;
}

/* The newest gradient of a parameter, or NULL. */
static const struct stats *gradient_of(const struct run *run, uint32_t tensor)
{
    for (uint32_t i = run->n_params; i-- > 0;)
        if (run->params[i].tensor == tensor && run->params[i].gradient)
            return judge_stats(run, run->params[i].value);
    return NULL;
}

bool judge_optimizer(struct judge *judge, const struct judge_step *step)
{
    const struct history_update *first = NULL;
    const struct stats *gradient;
    uint32_t bad = 0, place;

    for (uint32_t i = 0; i < step->n_updates; i++)
        if (update_is_bad(&step->updates[i])) {
            first = first ? first : &step->updates[i];
            bad++;
        }
    if (!first)
        return false;
    gradient = gradient_of(step->run, first->tensor);
    place = judge_place_of(step->run->model, first->tensor);
    judge_say(judge, "first %s in the optimizer: ", judge_kind(&first->stats));
    judge_share(judge, &first->stats);
    judge_add(judge, " updates");
    if (gradient && stats_measured(gradient)) {
        judge_add(judge, "; gradient finite (to ");
        text_real(&judge->text, fmax(fabs(gradient->min), fabs(gradient->max)));
        judge_add(judge, ")");
    }
    if (!isnan(step->lr)) {
        judge_add(judge, ", lr ");
        text_real(&judge->text, step->lr);
    }
    if (bad > 1) {
        judge_add(judge, "; also ");
        text_plural(&judge->text, bad - 1, "other parameter", "other parameters");
    }
    judge_give(judge, step->number, SEVERITY_ALARM, "nan", place,
               judge_place_name(judge, step->run->model, place), &first->stats,
               STR(""));
    return true;
}

/* ---- parameters that were not finite when the step began */

bool judge_params_bad(struct judge *judge, const struct judge_step *step)
{
    const struct run *run = step->run;
    const struct stats *stats = NULL;
    uint32_t bad = 0, place = NO_PLACE;

    for (uint32_t i = 0; i < run->n_params; i++) {
        if (run->params[i].gradient || producer_finite(run, run->params[i].value))
            continue;
        if (bad++ == 0) {
            stats = judge_stats(run, run->params[i].value);
            place = judge_place_of(run->model, run->params[i].tensor);
        }
    }
    if (bad == 0)
        return false;
    judge_say(judge, "the parameter has %s: ", judge_kind(stats));
    judge_share(judge, stats);
    judge_add(judge, " values");
    if (judge->has_healthy && judge->healthy_to + 1 == step->number)
        judge_add(judge, "; all was finite in step %llu",
                  (unsigned long long)judge->healthy_to);
    else if (judge->has_healthy)
        judge_add(judge, ", made after step %llu in steps that were not logged",
                  (unsigned long long)judge->healthy_to);
    if (bad > 1) {
        judge_add(judge, "; also ");
        text_plural(&judge->text, bad - 1, "other parameter", "other parameters");
    }
    judge_followed(judge, run);
    judge_give(judge, step->number, SEVERITY_ALARM, "nan", place,
               judge_place_name(judge, run->model, place), stats, STR(""));
    return true;
}

/* ---- the operation */

static const struct stats *bad_result(const struct run *run, const struct run_op *op)
{
    for (uint32_t i = op->ios; i < op->ios + op->n_ios; i++) {
        const struct run_op_io *io = &run->ops->ios[i];
        uint32_t at = run->ops->values[io->value].stats;

        if (io->kind != OP_IN && at != RUN_NONE &&
            run->stats[at].nan + run->stats[at].pos_inf + run->stats[at].neg_inf > 0)
            return &run->stats[at];
    }
    return NULL;
}

/* "aten::log, net.py:12", as the line of an alarm. */
static struct str op_and_line(struct judge *judge, const struct run *run,
                              const struct run_op *op)
{
    struct str line = run_string(run, op->line);

    buf_clear(&judge->line);
    buf_str(&judge->line, op_name(run, op));
    if (line.len > 0) {
        buf_text(&judge->line, ", ");
        buf_str(&judge->line, line);
    }
    return buf_span(&judge->line);
}

static void give_operation(struct judge *judge, uint64_t number, const struct run *run,
                           const struct run_op *op, const struct stats *stats)
{
    struct str name = STR("loss");

    if (op->place != NO_PLACE)
        name = judge_place_name(judge, run->model, op->place);
    else if (op->phase == OP_OPTIMIZER)
        name = STR("optimizer");
    judge_give(judge, number, SEVERITY_ALARM, "nan", op->place, name, stats,
               op_and_line(judge, run, op));
    judge->sick = SICK_OPERATION;
}

/* "first NaN in aten::log, in forward: 3 of 32 values; its inputs are finite" */
static void report_operation(struct judge *judge, uint64_t number,
                             const struct run *run, const struct producer_op *found)
{
    const struct run_op *op = &run->ops->ops[found->op];
    const struct stats *stats = bad_result(run, op);
    struct str name = op_name(run, op);

    if (!stats)
        return;
    judge_say(judge, "first %s in %.*s, in %s: ", judge_kind(stats), (int)name.len,
              name.at, op_phase_name((enum op_phase)op->phase));
    judge_share(judge, stats);
    judge_add(judge, " values; its inputs %s",
              found->masked ? "hold -Inf" : "are finite");
    give_operation(judge, number, run, op, stats);
}

/* Statistics of the worst input of an operation that no operation made, or NULL. */
static const struct stats *outside_input(const struct run *run, const struct run_op *op)
{
    const struct stats *found = NULL;
    const struct run_op_io *io;

    for (uint32_t at = 0; (io = op_next(run, op, OP_IN, &at));) {
        const struct run_op_value *value = &run->ops->values[io->value];
        const struct stats *stats =
            value->stats == RUN_NONE ? NULL : &run->stats[value->stats];

        if (value->producer == RUN_NONE && stats &&
            stats->nan + stats->pos_inf + stats->neg_inf > 0 &&
            (!found || stats->nan > found->nan))
            found = stats;
    }
    return found;
}

/* "aten::mse_loss reads NaN that no operation made: 1 of 12 values; look at the data".
 * Of the arguments of the model the step is judged by its modules. */
static void report_reader(struct judge *judge, uint64_t number, const struct run *run,
                          const struct run_op *op)
{
    const struct stats *stats = outside_input(run, op);
    struct str name = op_name(run, op);

    if (!stats || op->place != NO_PLACE || op->phase != OP_FORWARD)
        return;
    judge_say(judge, "%.*s reads %s that no operation made: ", (int)name.len, name.at,
              judge_kind(stats));
    judge_share(judge, stats);
    judge_add(judge, " values; look at the data and the labels");
    give_operation(judge, number, run, op, stats);
}

uint32_t judge_operation(struct judge *judge, uint64_t number, const struct run *run,
                         const struct history_alarm **ret_alarms)
{
    struct arena scratch;
    struct producer_op found;

    judge_begin(judge);
    arena_init(&scratch, 0);
    if (judge->sick != SICK_OPERATION && !judge_has_bad_params(run) &&
        producer_op(run, &scratch, &found) == 0) {
        if (found.op != RUN_NONE)
            report_operation(judge, number, run, &found);
        else if (found.reader != RUN_NONE)
            report_reader(judge, number, run, &run->ops->ops[found.reader]);
    }
    arena_release(&scratch);
    *ret_alarms = judge->alarms;
    return judge->n;
}
