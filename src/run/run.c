#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/run_in.h"

void run_free(struct run *run)
{
    struct arena arena, kept;

    if (!run)
        return;
    model_free(run->model);
    run_source_close(run->source);
    arena = run->arena; /* the run itself is in its arena */
    kept = run->kept_arena;
    arena_release(&kept);
    arena_release(&arena);
}

struct run *run_new(size_t limit)
{
    struct arena arena;
    struct run *run;

    arena_init(&arena, limit);
    run = arena_alloc(&arena, sizeof *run);
    if (!run)
        return NULL;
    run->arena = arena;
    arena_init(&run->kept_arena, 0);
    run->name = "";
    if (intern_init(&run->strings, &run->arena) < 0 ||
        values_init(&run->plain, &run->arena, &run->strings) < 0) {
        run_free(run);
        return NULL;
    }
    return run;
}

struct str run_string(const struct run *run, uint32_t id)
{
    return intern_str(&run->strings, id);
}

uint64_t run_inclusive(const struct run_call *call)
{
    uint64_t span = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;

    return span > call->own_ns ? span - call->own_ns : 0;
}

uint64_t run_exclusive(const struct run_call *call)
{
    uint64_t inclusive = run_inclusive(call);

    return inclusive > call->children_ns ? inclusive - call->children_ns : 0;
}

/* ---- the calls of an object ---- */

/* by_object[o] is the first call of object o, next_call[c] the next call of the same
 * object. Filled from the end, so that each call is prepended to the later ones. */
int run_seal(struct run *run)
{
    uint32_t n_objects = run->model->n_objects, i;

    run->next_call =
        arena_array(&run->arena, (size_t)run->n_calls + 1, sizeof *run->next_call);
    if (!run->next_call)
        return -1;
    run->by_object =
        arena_array(&run->arena, (size_t)n_objects + 1, sizeof *run->by_object);
    if (!run->by_object)
        return -1;
    for (i = 0; i < n_objects; i++)
        run->by_object[i] = RUN_NONE;
    for (i = run->n_calls; i-- > 0;) {
        uint32_t object = run->calls[i].object;

        run->next_call[i] = object < n_objects ? run->by_object[object] : RUN_NONE;
        if (object < n_objects && !(run->calls[i].flags & RUN_RECOMPUTED))
            run->by_object[object] = i;
    }
    return 0;
}

bool run_same_shape(const struct run *run, uint32_t a, uint32_t b)
{
    const struct run_value *x = &run->values[a], *y = &run->values[b];

    return x->rank == y->rank && memcmp(run->dims + x->shape, run->dims + y->shape,
                                        x->rank * sizeof *run->dims) == 0;
}

const struct run_norms *run_norms_copy(struct arena *arena,
                                       const struct run_norms *norms)
{
    struct run_norms *copy = arena_array(arena, 1, sizeof *copy);

    if (!copy)
        return NULL;
    *copy = *norms;
    copy->spread = arena_str(arena, norms->spread);
    return copy;
}

uint32_t run_first_call(const struct run *run, uint32_t object)
{
    return object < run->model->n_objects ? run->by_object[object] : RUN_NONE;
}

uint32_t run_next_call(const struct run *run, uint32_t call)
{
    return call < run->n_calls ? run->next_call[call] : RUN_NONE;
}

/* Merged calls are sorted by object: the first of an object, or where to insert it. */
static uint32_t first_merged(const struct run *run, uint32_t object)
{
    uint32_t low = 0, high = run->n_merged;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (run->merged[middle].object < object)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_recomputed(const struct run *run, uint32_t call)
{
    return call < run->n_calls && run->calls[call].flags & RUN_RECOMPUTED;
}

static uint32_t merged_calls(const struct run *run, uint32_t object)
{
    uint32_t i = first_merged(run, object), n = 0;

    for (; i < run->n_merged && run->merged[i].object == object; i++)
        if (!is_recomputed(run, run->merged[i].newest))
            n += run->merged[i].calls;
    return n;
}

const struct run_merged *run_merged_with(const struct run *run, uint32_t newest)
{
    uint32_t object = run->calls[newest].object, i = first_merged(run, object);

    for (; i < run->n_merged && run->merged[i].object == object; i++)
        if (run->merged[i].newest == newest)
            return &run->merged[i];
    return NULL;
}

uint32_t run_count_calls(const struct run *run, uint32_t object)
{
    uint32_t n = 0, call = run_first_call(run, object);

    for (; call != RUN_NONE; call = run_next_call(run, call))
        n += !(run->calls[call].flags & RUN_LIGHT);
    return n + merged_calls(run, object);
}

uint32_t run_count_calls_at(const struct run *run, uint32_t place)
{
    uint32_t object = run->model->object[place], n = 0, call, i;

    for (call = run_first_call(run, object); call != RUN_NONE;
         call = run_next_call(run, call))
        n += run->calls[call].place == place && !(run->calls[call].flags & RUN_LIGHT);
    for (i = first_merged(run, object);
         i < run->n_merged && run->merged[i].object == object; i++) {
        uint32_t newest = run->merged[i].newest;

        if (newest < run->n_calls && run->calls[newest].place == place &&
            !is_recomputed(run, newest))
            n += run->merged[i].calls;
    }
    return n;
}

/* ---- the newest call ---- */

bool run_is_newer(const struct run *run, uint32_t a, uint32_t b)
{
    const struct run_call *x = &run->calls[a], *y = &run->calls[b];

    if (is_recomputed(run, a) != is_recomputed(run, b))
        return is_recomputed(run, b);
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns;
    /* Both ended in the same nanosecond: the outer one began earlier. */
    return x->start_ns != y->start_ns ? x->start_ns < y->start_ns : a > b;
}

struct ended {
    const struct run *run;
    uint32_t call;
};

static int compare_ended(const void *a, const void *b)
{
    const struct ended *x = a, *y = b;

    if (x->call == y->call)
        return 0;
    return run_is_newer(x->run, x->call, y->call) ? 1 : -1;
}

uint32_t *run_calls_at(const struct run *run, uint32_t place, bool everywhere,
                       struct arena *arena, uint32_t *ret_n)
{
    uint32_t object = run->model->object[place], n = 0, here = 0, call;
    struct ended *ended = arena_array(arena, (size_t)run->n_calls + 1, sizeof *ended);
    uint32_t *calls;

    if (!ended)
        return NULL;
    for (call = run_first_call(run, object); call != RUN_NONE;
         call = run_next_call(run, call)) {
        ended[n++] = (struct ended){run, call};
        here += run->calls[call].place == place;
    }
    calls = arena_array(arena, (size_t)n + 1, sizeof *calls);
    if (!calls)
        return NULL;
    qsort(ended, n, sizeof *ended, compare_ended);
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (everywhere || here == 0 || run->calls[ended[i].call].place == place)
            calls[(*ret_n)++] = ended[i].call;
    return calls;
}

/* ---- time of passes ---- */

/* Is the backward of a call part of the backward of an enclosing call? */
static bool is_in_backward(const struct run *run, const struct run_call *call)
{
    while (call->parent < run->n_calls) {
        call = &run->calls[call->parent];
        if (call->backward_ns)
            return true;
    }
    return false;
}

uint32_t run_fact_id(const struct run *run, const char *key)
{
    for (uint32_t i = 0; i < run->n_facts; i++)
        if (str_is(run_string(run, run->facts[i].key), key))
            return run->facts[i].value;
    return VALUE_ID_NONE;
}

static bool is_root(const struct run *run, uint32_t call)
{
    return call < run->n_calls && run->calls[call].parent == RUN_NONE &&
           !is_recomputed(run, call);
}

uint64_t run_forward_ns(const struct run *run)
{
    uint32_t fact = run_fact_id(run, RUN_FORWARD_FACT);
    uint64_t sum = 0;

    if (fact != VALUE_ID_NONE && value_at(&run->plain, fact)->kind == VALUE_INT &&
        value_at(&run->plain, fact)->integer >= 0)
        return (uint64_t)value_at(&run->plain, fact)->integer;
    for (uint32_t i = 0; i < run->n_calls; i++)
        if (is_root(run, i) && !(run->calls[i].flags & RUN_LIGHT))
            sum += run_inclusive(&run->calls[i]);
    /* A file without that fact: merged calls count if their newest call is a pass. */
    for (uint32_t i = 0; i < run->n_merged; i++)
        if (is_root(run, run->merged[i].newest))
            sum += run->merged[i].inclusive_ns;
    return sum;
}

uint64_t run_passes_ns(const struct run *run)
{
    uint64_t sum = run_forward_ns(run);

    for (uint32_t i = 0; i < run->n_calls; i++) {
        const struct run_call *call = &run->calls[i];

        if (!(call->flags & RUN_LIGHT) && call->backward_ns &&
            !is_in_backward(run, call))
            sum += call->backward_ns;
    }
    for (uint32_t i = 0; i < run->n_merged; i++) {
        const struct run_merged *merged = &run->merged[i];

        if (merged->newest < run->n_calls && merged->backward_ns &&
            !is_in_backward(run, &run->calls[merged->newest]))
            sum += merged->backward_ns;
    }
    return sum;
}

double run_cost_share(const struct run *run)
{
    uint32_t budget = run_fact_id(run, "budget_cost");
    uint64_t passes = run_passes_ns(run);

    if (budget != VALUE_ID_NONE && value_at(&run->plain, budget)->kind == VALUE_REAL)
        return value_at(&run->plain, budget)->real;
    return passes > 0 ? (double)(run->own_ns + run->hooks_ns) / (double)passes : NAN;
}

/* ---- names ---- */

bool run_is_gap(const struct run_gap *gap)
{
    return gap->kind != RUN_GAP_CONTAINER;
}

const char *run_gap_name(enum run_gap_kind kind)
{
    static const char *const names[RUN_GAP_COUNT] = {
        [RUN_GAP_NOT_CALLED] = "not called",
        [RUN_GAP_FUSED] = "fused",
        [RUN_GAP_COMPILED] = "compiled",
        [RUN_GAP_SCRIPTED] = "scripted",
        [RUN_GAP_DIRECT] = "called directly",
        [RUN_GAP_CONTAINER] = "container",
        [RUN_GAP_GRADIENT] = "gradient",
        [RUN_GAP_KEYWORDS] = "keywords",
        [RUN_GAP_LIMIT] = "limit",
        [RUN_GAP_ERROR] = "error",
        [RUN_GAP_OUTSIDE] = "outside",
    };

    return (unsigned)kind < RUN_GAP_COUNT ? names[kind] : "";
}

const char *run_io_name(enum run_io_kind kind)
{
    static const char *const names[] = {"in", "out", "grad_out", "grad_in"};

    return (unsigned)kind <= RUN_GRAD_IN ? names[kind] : "";
}
