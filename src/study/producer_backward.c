/* Backward visits calls in roughly the reverse order of forward. So the first
 * non-finite gradient belongs to the last call to begin among those whose results have
 * finite gradients but whose inputs or parameters do not. */
#include "study/producer.h"

struct backward_search {
    const struct run *run;
    uint32_t *bad_params; /* by tensor: a gradient that is not finite, or RUN_NONE */
    uint32_t *bad_inner;  /* by call: the last call inside it whose results have a
                             non-finite gradient, or RUN_NONE */
    bool *found;          /* by call: it, or one inside it, is a producer */
};

/* The first non-finite gradient of this kind, or RUN_NONE. Sets whether one is known. */
static uint32_t bad_gradient(const struct run *run, const struct run_call *call,
                             enum run_io_kind kind, bool *ret_known)
{
    uint32_t bad = RUN_NONE;

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        uint32_t value = run->ios[i].value;

        if (run->ios[i].kind != kind || value == RUN_NONE ||
            run->values[value].stats == RUN_NONE)
            continue;
        *ret_known = true;
        if (bad == RUN_NONE && !producer_finite(run, value))
            bad = value;
    }
    return bad;
}

/* A parameter of the called module itself whose gradient is not finite, or RUN_NONE. */
static uint32_t bad_param(const struct backward_search *b, const struct run_call *call)
{
    const struct model *model = b->run->model;
    uint32_t place = model->objects[call->object].place;

    if (place >= model->n_places)
        return RUN_NONE;
    for (uint32_t p = place + 1; p < model->end[place]; p = model->end[p])
        if (model->kind[p] == PLACE_TENSOR && model->object[p] < model->n_tensors &&
            b->bad_params[model->object[p]] != RUN_NONE)
            return model->object[p];
    return RUN_NONE;
}

static int prepare(struct backward_search *b, struct arena *arena)
{
    const struct run *run = b->run;
    uint32_t n_tensors = run->model->n_tensors, i;

    b->bad_params = arena_array(arena, (size_t)n_tensors + 1, sizeof *b->bad_params);
    b->bad_inner = arena_array(arena, (size_t)run->n_calls + 1, sizeof *b->bad_inner);
    b->found = arena_array(arena, (size_t)run->n_calls + 1, sizeof *b->found);
    if (!b->bad_params || !b->bad_inner || !b->found)
        return -1;
    for (i = 0; i < n_tensors; i++)
        b->bad_params[i] = RUN_NONE;
    for (i = 0; i < run->n_calls; i++)
        b->bad_inner[i] = RUN_NONE;
    for (i = 0; i < run->n_params; i++)
        if (run->params[i].gradient && !producer_finite(run, run->params[i].value))
            b->bad_params[run->params[i].tensor] = run->params[i].value;
    return 0;
}

/* The first non-finite gradient that the backward of a call made, if the gradients that
 * reached it are finite. */
static struct producer_backward look_at(const struct backward_search *b, uint32_t c)
{
    const struct run_call *call = &b->run->calls[c];
    struct producer_backward found = {.kind = PRODUCER_CALL,
                                      .call = c,
                                      .inner = RUN_NONE,
                                      .value = RUN_NONE,
                                      .tensor = RUN_NONE};
    bool known = false;

    found.value = bad_gradient(b->run, call, RUN_GRAD_IN, &known);
    if (found.value != RUN_NONE)
        return found;
    found.tensor = bad_param(b, call);
    if (found.tensor != RUN_NONE) {
        found.value = b->bad_params[found.tensor];
        return found;
    }
    found.kind = PRODUCER_NOWHERE;
    return found;
}

/* One call, after all inside it. Returns true if it is a producer. */
static bool visit(struct backward_search *b, uint32_t c, struct producer_backward *to)
{
    const struct run_call *call = &b->run->calls[c];
    bool known = false, unused = false;
    uint32_t reached = bad_gradient(b->run, call, RUN_GRAD_OUT, &known);

    if (reached != RUN_NONE) {
        if (call->parent != RUN_NONE && b->bad_inner[call->parent] == RUN_NONE)
            b->bad_inner[call->parent] = c;
        return false;
    }
    if (b->found[c])
        return false;
    *to = look_at(b, c);
    if (b->bad_inner[c] != RUN_NONE) {
        to->kind = PRODUCER_OWN_CODE;
        to->call = c;
        to->inner = b->bad_inner[c];
        to->value =
            bad_gradient(b->run, &b->run->calls[to->inner], RUN_GRAD_OUT, &unused);
        return true;
    }
    return known && to->kind == PRODUCER_CALL;
}

/* The call whose start is compared: a container begins before the calls inside it. */
static uint32_t moment(const struct producer_backward *found)
{
    return found->kind == PRODUCER_OWN_CODE ? found->inner : found->call;
}

/* Without recorded gradients inside the model: the last parameter with a non-finite
 * one. */
static void last_param(const struct backward_search *b, struct producer_backward *to)
{
    for (uint32_t t = b->run->model->n_tensors; t-- > 0;)
        if (b->bad_params[t] != RUN_NONE) {
            to->kind = PRODUCER_CALL;
            to->tensor = t;
            to->value = b->bad_params[t];
            return;
        }
}

int producer_backward(const struct run *run, struct arena *arena,
                      struct producer_backward *ret_found)
{
    struct producer_backward best = {.kind = PRODUCER_NOWHERE,
                                     .call = RUN_NONE,
                                     .inner = RUN_NONE,
                                     .value = RUN_NONE,
                                     .tensor = RUN_NONE};
    struct backward_search b = {.run = run};
    bool known = false;

    if (prepare(&b, arena) < 0)
        return -1;
    for (uint32_t c = run->n_calls; c-- > 0;) {
        struct producer_backward found;
        uint32_t parent = run->calls[c].parent;

        if (run->calls[c].flags & RUN_RECOMPUTED)
            continue;
        if (visit(&b, c, &found)) {
            b.found[c] = true;
            if (best.kind == PRODUCER_NOWHERE || moment(&found) > moment(&best))
                best = found;
        }
        if (parent != RUN_NONE)
            b.found[parent] |= b.found[c];
    }
    for (uint32_t c = 0; c < run->n_calls && best.kind == PRODUCER_NOWHERE; c++) {
        uint32_t value = run->calls[c].parent == RUN_NONE
                             ? bad_gradient(run, &run->calls[c], RUN_GRAD_OUT, &known)
                             : RUN_NONE;

        if (value != RUN_NONE) {
            best.kind = PRODUCER_LOSS;
            best.call = c;
            best.value = value;
        }
    }
    if (best.kind == PRODUCER_NOWHERE)
        last_param(&b, &best);
    *ret_found = best;
    return 0;
}
