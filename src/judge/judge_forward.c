/* NaN and infinities in forward, and in the loss. */
#include <math.h>

#include "judge/judge_in.h"
#include "text/number.h"

/* The first non-finite value of this kind, the worst first; RUN_NONE: none. */
static uint32_t bad_value(const struct run *run, const struct run_call *call,
                          enum run_io_kind kind)
{
    uint32_t found = RUN_NONE;

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        uint32_t value = run->ios[i].value;

        if (run->ios[i].kind != kind || producer_finite(run, value))
            continue;
        if (found == RUN_NONE ||
            (judge_stats(run, found)->nan == 0 && judge_stats(run, value)->nan > 0))
            found = value;
    }
    return found;
}

/* Finds the calls inside a call that surround its first non-finite value: the last one
 * with finite results and the first one that reads non-finite ones. */
static void find_between(const struct run *run, uint32_t outer, uint32_t *ret_before,
                         uint32_t *ret_after)
{
    *ret_before = *ret_after = RUN_NONE;
    for (uint32_t c = outer + 1; c < run->n_calls; c++) {
        const struct run_call *call = &run->calls[c];

        if (call->parent != outer || call->flags & RUN_RECOMPUTED)
            continue;
        if (bad_value(run, call, RUN_IN) != RUN_NONE) {
            *ret_after = c;
            return;
        }
        *ret_before = c;
    }
}

static void add_name(struct judge *judge, const char *word, const struct run *run,
                     uint32_t call)
{
    struct str name = judge_place_name(judge, run->model, run->calls[call].place);

    judge_add(judge, "%s%.*s", word, (int)name.len, name.at);
}

/* ", between a and b": the module's own code between the calls inside it. The source
 * line is that of the first call after it. */
static uint32_t add_between(struct judge *judge, const struct run *run, uint32_t call)
{
    uint32_t before, after, line = run->calls[call].line;

    find_between(run, call, &before, &after);
    if (before != RUN_NONE && after != RUN_NONE) {
        add_name(judge, ", between ", run, before);
        add_name(judge, " and ", run, after);
    } else if (before != RUN_NONE) {
        add_name(judge, ", after ", run, before);
    } else if (after != RUN_NONE) {
        add_name(judge, ", before ", run, after);
    }
    return after != RUN_NONE ? run->calls[after].line : line;
}

/* "; inputs finite (to 12.5)", "; inputs finite except 3 -Inf (to 12.5)" */
static void add_inputs(struct judge *judge, const struct run *run,
                       const struct run_call *call)
{
    uint32_t value = bad_value(run, call, RUN_IN);

    judge_add(judge, "; inputs finite");
    if (value != RUN_NONE) {
        judge_add(judge, " except ");
        text_commas(&judge->text, judge_stats(run, value)->neg_inf);
        judge_add(judge, " -Inf");
    }
    judge_magnitude(judge, run, call, RUN_IN);
}

/* "first Inf in BatchNorm2d: 3,392 of 32,768 outputs; inputs finite (to 1.702e+36); 62
 * NaN gradients followed" */
static void report_producer(struct judge *judge, const struct judge_step *step,
                            uint32_t call)
{
    const struct run *run = step->run;
    const struct run_call *at = &run->calls[call];
    const struct stats *stats = judge_stats(run, bad_value(run, at, RUN_OUT));
    struct str class_name = judge_class(run->model, at->place);
    uint32_t line;

    judge_say(judge, "first %s in %.*s", judge_kind(stats), (int)class_name.len,
              class_name.at);
    line = add_between(judge, run, call);
    judge_add(judge, ": ");
    judge_share(judge, stats);
    judge_add(judge, " outputs");
    add_inputs(judge, run, at);
    judge_followed(judge, run);
    judge_give(judge, step->number, SEVERITY_ALARM, "nan", at->place,
               judge_place_name(judge, run->model, at->place), stats,
               run_string(run, line));
}

/* forward's name for the argument that holds a value; "" if it has none, or just "input". */
static struct str argument_name(const struct run *run, const struct run_call *call,
                                uint32_t value)
{
    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++)
        if (run->ios[i].kind == RUN_IN && run->ios[i].value == value &&
            !str_is(run_string(run, run->ios[i].path), "input"))
            return run_string(run, run->ios[i].path);
    return STR("");
}

/* A pass whose input has NaN. */
static bool report_input(struct judge *judge, const struct judge_step *step)
{
    const struct run *run = step->run;

    for (uint32_t c = 0; c < run->n_calls; c++) {
        const struct run_call *call = &run->calls[c];
        uint32_t value =
            call->parent == RUN_NONE ? bad_value(run, call, RUN_IN) : RUN_NONE;
        const struct stats *stats = judge_stats(run, value);
        struct str name;

        if (!stats || (stats->nan == 0 && stats->pos_inf == 0))
            continue;
        name = argument_name(run, call, value);
        judge_say(judge, "its input %.*s%shas %s: ", (int)name.len, name.at,
                  name.len > 0 ? " " : "", judge_kind(stats));
        judge_share(judge, stats);
        judge_add(judge, " values");
        judge_followed(judge, run);
        judge_give(judge, step->number, SEVERITY_ALARM, "nan", call->place,
                   judge_place_name(judge, run->model, call->place), stats,
                   run_string(run, call->line));
        return true;
    }
    return false;
}

static bool outputs_are_bad(const struct run *run)
{
    for (uint32_t c = 0; c < run->n_calls; c++) {
        const struct stats *stats =
            run->calls[c].parent == RUN_NONE
                ? judge_stats(run, bad_value(run, &run->calls[c], RUN_OUT))
                : NULL;

        if (stats && !(run->calls[c].flags & RUN_RECOMPUTED))
            return true;
    }
    return false;
}

/* Only if non-finite values left the model: a mask or a NaN that was replaced inside
 * does no harm. */
bool judge_forward(struct judge *judge, const struct judge_step *step)
{
    struct producers found;
    struct arena scratch;
    bool reported = false;

    if (!outputs_are_bad(step->run))
        return false;
    arena_init(&scratch, 0);
    if (producers_find(step->run, judge->masks, &scratch, &found) == 0) {
        reported = report_input(judge, step);
        if (!reported && found.first != RUN_NONE) {
            report_producer(judge, step, found.first);
            reported = true;
        }
    }
    arena_release(&scratch);
    return reported;
}

/* The model's results are finite and the loss is not: the code of the loss produced
 * it. */
bool judge_bad_loss(struct judge *judge, const struct judge_step *step)
{
    const struct run *run = step->run;
    const struct run_call *root = NULL;

    if (!step->has_loss || isfinite(step->loss))
        return false;
    for (uint32_t c = 0; c < run->n_calls; c++)
        if (run->calls[c].parent == RUN_NONE)
            root = &run->calls[c];
    judge_say(judge, "first %s in the loss",
              isnan(step->loss) ? "NaN"
              : step->loss > 0  ? "Inf"
                                : "-Inf");
    if (root && bad_value(run, root, RUN_OUT) == RUN_NONE) {
        judge_add(judge, "; outputs of the model finite");
        judge_magnitude(judge, run, root, RUN_OUT);
    }
    judge_followed(judge, run);
    judge_give(judge, step->number, SEVERITY_ALARM, "nan", NO_PLACE, STR("loss"), NULL,
               STR(""));
    return true;
}
