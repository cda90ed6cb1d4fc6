/* Finds where errors begin: at a result beyond the tolerance whose inputs agree.
 * Statistics may agree where elements do not (a norm hides most errors), so inputs that
 * were computed from a result beyond the tolerance count as different. */
#include <math.h>

#include "base/base.h"
#include "study/diverge/divergence_in.h"

/* An error begins where the result's distance is several times that of the inputs,
 * which are well within the tolerance; or where it is very much larger. */
#define GROWTH         10
#define MUCH_GROWTH    100
#define MOST_PRODUCERS 64

struct beginnings {
    struct diverging *d;
    /* By left call. */
    bool *differs[2]; /* contains a result (a gradient) beyond the tolerance */
    bool *unmatched;  /* contains unmatched calls, on either side */
    bool *calls;      /* it calls others */
    /* By left operation and by left value of a module: it is, or was computed from, a
     * result beyond the tolerance. */
    bool *op_tainted, *value_tainted;
    bool *value_known; /* by left value: its producer is known */
};

/* ---- inside calls ---- */

static void find_unmatched(struct beginnings *b, bool *right)
{
    const struct divergence *divergence = b->d->divergence;
    const struct run *run = b->d->run[0], *other = b->d->run[1];

    /* Children come after their parent. */
    for (uint32_t i = other->n_calls; i-- > 0;) {
        uint32_t parent = other->calls[i].parent;

        if (parent != RUN_NONE)
            right[parent] |= right[i] || divergence->call_match[1][i] == RUN_NONE;
    }
    for (uint32_t i = run->n_calls; i-- > 0;) {
        uint32_t parent = run->calls[i].parent, match = divergence->call_match[0][i];

        b->unmatched[i] |= match != RUN_NONE && right[match];
        if (parent == RUN_NONE)
            continue;
        b->calls[parent] = true;
        b->unmatched[parent] |= b->unmatched[i] || match == RUN_NONE;
    }
}

/* Marks the calls around a result that is beyond the tolerance. */
static void mark_around(struct beginnings *b, const struct divergence_result *result)
{
    const struct run *run = b->d->run[0];
    bool *differs = b->differs[result->phase != OP_FORWARD];
    uint32_t call;

    if (result->what == DIVERGENCE_PARAMETER || result->what == DIVERGENCE_INPUT)
        return;
    if (result->what == DIVERGENCE_OP)
        call = run->ops->ops[result->at[0]].call;
    else
        call = run->calls[result->at[0]].parent;
    for (; call != RUN_NONE && !differs[call]; call = run->calls[call].parent)
        differs[call] = true;
}

static bool differs_inside(const struct beginnings *b,
                           const struct divergence_result *result)
{
    if (result->what != DIVERGENCE_CALL && result->what != DIVERGENCE_GRADIENT)
        return false;
    return b->differs[result->phase != OP_FORWARD][result->at[0]];
}

/* ---- what comes from where ---- */

static bool op_value_tainted(const struct beginnings *b, uint32_t value)
{
    uint32_t ops[MOST_PRODUCERS];
    uint32_t n = op_producers(b->d->run[0]->ops, value, ops, MOST_PRODUCERS);

    for (uint32_t i = 0; i < n && i < MOST_PRODUCERS; i++)
        if (b->op_tainted[ops[i]])
            return true;
    return false;
}

static bool is_tainted(const struct beginnings *b, struct divergence_value value)
{
    const struct run *run = b->d->run[0];
    uint32_t op_value = value.of_op ? value.at : run->values[value.at].op_value;

    if (run->ops && op_value != RUN_NONE && op_value_tainted(b, op_value))
        return true;
    return !value.of_op && b->value_tainted[value.at];
}

/* Operations are in the order in which they ran: one pass. */
static void taint_ops(struct beginnings *b)
{
    const struct divergence *divergence = b->d->divergence;
    const struct run *run = b->d->run[0];

    for (uint32_t i = 0; i < divergence->n_results; i++)
        if (divergence->results[i].beyond &&
            divergence->results[i].what == DIVERGENCE_OP)
            b->op_tainted[divergence->results[i].at[0]] = true;
    for (uint32_t i = 0; i < run->ops->n_ops; i++) {
        const struct run_op *op = &run->ops->ops[i];
        const struct run_op_io *io;

        for (uint32_t at = 0; !b->op_tainted[i] && (io = op_next(run, op, OP_IN, &at));)
            b->op_tainted[i] = op_value_tainted(b, io->value);
    }
}

/* A value made by a module's own code, not by a submodule: it may depend on anything
 * that the module has read. */
static bool seen_tainted(const struct beginnings *b, uint32_t call)
{
    const struct run *run = b->d->run[0];

    for (; call != RUN_NONE; call = run->calls[call].parent) {
        const struct run_call *c = &run->calls[call];

        if (b->differs[0][call])
            return true;
        for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
            if (run->ios[i].kind == RUN_IN && run->ios[i].value != RUN_NONE &&
                is_tainted(b, (struct divergence_value){false, run->ios[i].value}))
                return true;
    }
    return false;
}

static bool input_tainted(const struct beginnings *b,
                          const struct divergence_result *result,
                          struct divergence_value value)
{
    const struct run *run = b->d->run[0];

    if (is_tainted(b, value))
        return true;
    if (value.of_op || result->what != DIVERGENCE_CALL || b->value_known[value.at] ||
        (run->ops && run->values[value.at].op_value != RUN_NONE))
        return false;
    return seen_tainted(b, run->calls[result->at[0]].parent);
}

/* ---- results ---- */

static bool begins_with(double inputs, double distance, double tolerance)
{
    return inputs <= tolerance && inputs * GROWTH <= distance &&
           (inputs * GROWTH <= tolerance || inputs * MUCH_GROWTH <= distance);
}

/* For a result beyond the tolerance. */
static void judge(struct beginnings *b, struct divergence_result *result,
                  const struct divergence_input *inputs, uint32_t n)
{
    const struct divergence *divergence = b->d->divergence;
    bool module = result->what == DIVERGENCE_CALL, compared = n > 0;

    for (uint32_t i = 0; i < n; i++) {
        double *most = inputs[i].parameter ? &result->parameters : &result->inputs;
        double distance =
            diverging_compare(b->d, divergence, inputs[i].value[0], inputs[i].value[1])
                .distance;

        compared = compared && (!isnan(distance) || inputs[i].parameter);
        if (!isnan(distance) && !(distance <= *most))
            *most = distance;
    }
    result->differs = differs_inside(b, result);
    result->inside = module && b->unmatched[result->at[0]];
    result->calls = module && b->calls[result->at[0]];
    result->begins =
        compared && !result->differs &&
        begins_with(result->inputs, result->by.distance, result->tolerance);
}

static void look_at(struct beginnings *b, uint32_t index, struct arena *names)
{
    struct divergence *divergence = b->d->divergence;
    struct divergence_result *result = &divergence->results[index];
    struct divergence_input inputs[DIVERGING_INPUTS];
    uint32_t n = diverging_inputs(divergence, result, inputs, names);
    bool tainted = false, forward = result->phase == OP_FORWARD;

    for (uint32_t i = 0; i < n && !tainted; i++)
        tainted = input_tainted(b, result, inputs[i].value[0]);
    if (result->beyond) {
        judge(b, result, inputs, n);
        /* Gradients after the first difference depend on it in many ways. */
        if (index != divergence->first && (tainted || !forward))
            result->begins = false;
        mark_around(b, result);
    }
    if (!result->value[0].of_op) {
        b->value_known[result->value[0].at] = true;
        b->value_tainted[result->value[0].at] |=
            result->beyond || tainted || differs_inside(b, result);
    }
}

static bool prepare(struct beginnings *b)
{
    const struct run *run = b->d->run[0];
    struct arena *scratch = &b->d->scratch;
    bool *right = arena_array(scratch, (size_t)b->d->run[1]->n_calls + 1, 1);
    size_t n = (size_t)run->n_calls + 1;

    b->differs[0] = arena_array(scratch, n, 1);
    b->differs[1] = arena_array(scratch, n, 1);
    b->unmatched = arena_array(scratch, n, 1);
    b->calls = arena_array(scratch, n, 1);
    b->value_tainted = arena_array(scratch, (size_t)run->n_values + 1, 1);
    b->value_known = arena_array(scratch, (size_t)run->n_values + 1, 1);
    b->op_tainted = arena_array(scratch, run->ops ? (size_t)run->ops->n_ops + 1 : 1, 1);
    if (!right || !b->differs[0] || !b->differs[1] || !b->unmatched || !b->calls ||
        !b->value_tainted || !b->value_known || !b->op_tainted)
        return false;
    find_unmatched(b, right);
    return true;
}

int diverging_begins(struct diverging *d)
{
    struct divergence *divergence = d->divergence;
    struct beginnings b = {.d = d};

    if (divergence->first == RUN_NONE)
        return 0;
    if (!prepare(&b))
        return -1;
    if (d->run[0]->ops)
        taint_ops(&b);
    for (uint32_t i = 0; i < divergence->n_results; i++) {
        struct arena names;

        arena_init(&names, GIB);
        look_at(&b, i, &names);
        arena_release(&names);
        divergence->begins += divergence->results[i].begins;
    }
    return 0;
}
