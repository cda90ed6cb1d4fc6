#include "run/run.h"

#include <math.h>

#include "run/run_in.h"

void run_free(struct run *run)
{
    struct arena arena, kept;

    if (!run)
        return;
    model_free(run->model);
    run_source_close(run->source);
    arena = run->arena; /* the run itself lies in its arena */
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

/* by_object[o] is the first call of object o, next_call[c] the next after c of the same
 * object. Filled from behind, so that each is put in front of those that follow it. */
static int make_index(struct run *run)
{
    uint32_t n_objects = run->model ? run->model->n_objects : 0, i;

    if (run->by_object)
        return 0;
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
        if (object < n_objects)
            run->by_object[object] = i;
    }
    return 0;
}

uint32_t run_first_call(struct run *run, uint32_t object)
{
    if (!run->model || object >= run->model->n_objects || make_index(run) < 0)
        return RUN_NONE;
    return run->by_object[object];
}

uint32_t run_next_call(struct run *run, uint32_t call)
{
    if (call >= run->n_calls || make_index(run) < 0)
        return RUN_NONE;
    return run->next_call[call];
}

/* Merged calls stand in the order of objects: the first of an object, or where it would
 * stand. */
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

static uint32_t merged_calls(const struct run *run, uint32_t object)
{
    uint32_t i = first_merged(run, object), n = 0;

    for (; i < run->n_merged && run->merged[i].object == object; i++)
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

uint32_t run_count_calls(struct run *run, uint32_t object)
{
    uint32_t n = 0, call = run_first_call(run, object);

    for (; call != RUN_NONE; call = run_next_call(run, call))
        n += !(run->calls[call].flags & RUN_LIGHT);
    return n + merged_calls(run, object);
}

/* ---- what passes took ---- */

/* Is the backward of a call part of that of a call around it? */
static bool is_in_backward(const struct run *run, const struct run_call *call)
{
    while (call->parent < run->n_calls) {
        call = &run->calls[call->parent];
        if (call->backward_ns)
            return true;
    }
    return false;
}

uint64_t run_passes_ns(const struct run *run)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        const struct run_call *call = &run->calls[i];

        if (call->flags & RUN_LIGHT)
            continue;
        /* What is recomputed is part of a backward. */
        if (call->parent == RUN_NONE && !(call->flags & RUN_RECOMPUTED))
            sum += run_inclusive(call);
        if (call->backward_ns && !is_in_backward(run, call))
            sum += call->backward_ns;
    }
    for (uint32_t i = 0; i < run->n_merged; i++) {
        const struct run_merged *merged = &run->merged[i];
        const struct run_call *newest =
            merged->newest < run->n_calls ? &run->calls[merged->newest] : NULL;

        if (!newest)
            continue;
        if (newest->parent == RUN_NONE && !(newest->flags & RUN_RECOMPUTED))
            sum += merged->inclusive_ns;
        if (merged->backward_ns && !is_in_backward(run, newest))
            sum += merged->backward_ns;
    }
    return sum;
}

uint32_t run_fact_id(const struct run *run, const char *key)
{
    for (uint32_t i = 0; i < run->n_facts; i++)
        if (str_is(run_string(run, run->facts[i].key), key))
            return run->facts[i].value;
    return VALUE_ID_NONE;
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
