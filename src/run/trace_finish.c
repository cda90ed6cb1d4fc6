/* Makes a run from a trace: inserts the newest light calls among the others, sorts ios
 * by call, and adds gaps for modules that were not called. The trace is not changed, so
 * a snapshot can be made while recording continues. */
#include "run/trace_ops_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "run/run_in.h"

struct finish {
    const struct trace *trace;
    struct run *run;
    struct arena scratch;
    const struct light **order; /* lights with a newest call, by serial */
    uint32_t n_order;
    uint32_t *call_at;   /* by call of the trace: its number in the run */
    uint32_t *newest_at; /* by index in `order`: likewise */
    uint64_t *serials;   /* of the run's calls, ascending */
};

/* ---- plain copies ---- */

static int copy_strings(struct finish *f)
{
    const struct intern *from = &f->trace->strings;

    for (uint32_t i = 1; i < from->n; i++)
        if (intern_add(&f->run->strings, intern_str(from, i)) != i)
            return -1;
    return 0;
}

void *trace_copy(struct run *run, const void *from, size_t n, size_t item)
{
    void *to = arena_array(&run->arena, n + 1, item);

    if (to && n)
        memcpy(to, from, n * item);
    return to;
}

/* Strings have the same ids in both, so plain values are copied unchanged. */
static int copy_plain(struct finish *f)
{
    const struct values *from = &f->trace->plain;
    struct values *to = &f->run->plain;

    to->at = trace_copy(f->run, from->at, from->n, sizeof *to->at);
    to->items = trace_copy(f->run, from->items, from->n_items, sizeof *to->items);
    if (!to->at || !to->items)
        return -1;
    to->n = to->room = from->n;
    to->n_items = to->items_room = from->n_items;
    return 0;
}

static int copy_tables(struct finish *f)
{
    const struct trace *trace = f->trace;
    struct run *run = f->run;
    struct str name = arena_str(&run->arena, str_of(trace->model->path));

    run->name = name.at;
    run->devices =
        trace_copy(run, trace->devices, trace->n_devices, sizeof *run->devices);
    run->facts = trace_copy(run, trace->facts, trace->n_facts, sizeof *run->facts);
    run->params = trace_copy(run, trace->params, trace->n_params, sizeof *run->params);
    run->kept = trace_copy(run, trace->kept, trace->n_kept, sizeof *run->kept);
    if (!run->name || !run->devices || !run->facts || !run->params || !run->kept)
        return -1;
    run->n_devices = trace->n_devices;
    run->n_facts = trace->n_facts;
    run->n_params = trace->n_params;
    run->n_kept = trace->n_kept;
    run->own_ns = trace->own_ns;
    return 0;
}

/* Copies values and their statistics; those of merged calls follow (see add_merged). */
static int copy_values(struct finish *f)
{
    const struct trace *trace = f->trace;
    struct run *run = f->run;
    size_t more = 0;

    for (uint32_t i = 0; i < trace->n_lights; i++)
        more += trace->lights[i].n_ios;
    run->values = trace_copy(run, trace->values, trace->n_values, sizeof *run->values);
    run->stats =
        arena_array(&run->arena, trace->n_values + more + 1, sizeof *run->stats);
    if (!run->values || !run->stats)
        return -1;
    run->n_values = trace->n_values;
    for (uint32_t i = 0; i < run->n_values; i++) {
        struct run_value *value = &run->values[i];

        value->flags &= (uint8_t)~VALUE_SEEN;
        if (value->spread.len > 0)
            value->spread = arena_str(&run->arena, value->spread);
        if (value->norms)
            value->norms = run_norms_copy(&run->arena, value->norms);
        if (value->stats == RUN_NONE)
            continue;
        run->stats[run->n_stats] = trace->stats[i];
        value->stats = run->n_stats++;
    }
    return 0;
}

/* ---- calls ---- */

static int compare_lights(const void *a, const void *b)
{
    const struct light *const *x = a, *const *y = b;

    return (*x)->newest.serial < (*y)->newest.serial
               ? -1
               : (*x)->newest.serial > (*y)->newest.serial;
}

static int order_lights(struct finish *f)
{
    const struct trace *trace = f->trace;

    f->order = arena_array(&f->scratch, (size_t)trace->n_lights + 1, sizeof *f->order);
    f->newest_at =
        arena_array(&f->scratch, (size_t)trace->n_lights + 1, sizeof *f->newest_at);
    if (!f->order || !f->newest_at)
        return -1;
    for (uint32_t i = 0; i < trace->n_lights; i++)
        if (trace->lights[i].newest.serial != NO_SERIAL)
            f->order[f->n_order++] = &trace->lights[i];
    qsort(f->order, f->n_order, sizeof *f->order, compare_lights);
    return 0;
}

/* The index of the call with this serial, or RUN_NONE: it was merged. */
static uint32_t find_serial(const struct finish *f, uint64_t serial)
{
    uint32_t low = 0, high = f->run->n_calls;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (f->serials[middle] < serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->run->n_calls && f->serials[low] == serial ? low : RUN_NONE;
}

static uint32_t call_of(const void *user, uint64_t serial)
{
    return find_serial(user, serial);
}

static void resolve_parents(struct finish *f)
{
    const struct trace *trace = f->trace;

    for (uint32_t i = 0; i < trace->n_calls; i++) {
        struct run_call *call = &f->run->calls[f->call_at[i]];

        call->parent = find_serial(f, trace->parents[i]);
    }
    for (uint32_t i = 0; i < f->n_order; i++)
        f->run->calls[f->newest_at[i]].parent =
            find_serial(f, f->order[i]->newest.parent_serial);
}

/* Merges kept and light calls, in the order of their start. */
static int merge_calls(struct finish *f)
{
    const struct trace *trace = f->trace;
    size_t n = (size_t)trace->n_calls + f->n_order;
    uint32_t kept = 0, light = 0;
    struct run *run = f->run;

    run->calls = arena_array(&run->arena, n + 1, sizeof *run->calls);
    f->serials = arena_array(&f->scratch, n + 1, sizeof *f->serials);
    f->call_at = arena_array(&f->scratch, (size_t)trace->n_calls + 1, sizeof(uint32_t));
    if (!run->calls || !f->serials || !f->call_at)
        return -1;
    while (run->n_calls < n) {
        uint32_t at = run->n_calls++;

        if (light >= f->n_order ||
            (kept < trace->n_calls &&
             trace->serials[kept] < f->order[light]->newest.serial)) {
            f->call_at[kept] = at;
            f->serials[at] = trace->serials[kept];
            run->calls[at] = trace->calls[kept++];
        } else {
            f->newest_at[light] = at;
            f->serials[at] = f->order[light]->newest.serial;
            run->calls[at] = f->order[light++]->newest.call;
        }
    }
    resolve_parents(f);
    return 0;
}

/* ---- open calls ---- */

/* Time of an open call so far. */
static uint64_t open_ns(const struct trace *trace, const struct trace_stack *stack,
                        uint32_t at)
{
    const struct trace_frame *frame = &stack->frames[at];
    const struct run_call call = {.start_ns = frame->start_ns,
                                  .end_ns = trace->latest_ns,
                                  .own_ns = stack->own_ns - frame->own_before};

    return run_inclusive(&call);
}

/* In a snapshot, open calls end now. */
static void close_open(struct finish *f)
{
    for (uint32_t s = 0; s < f->trace->n_stacks; s++) {
        const struct trace_stack *stack = &f->trace->stacks[s];

        for (uint32_t i = 0; i < stack->n; i++) {
            const struct trace_frame *frame = &stack->frames[i];
            struct run_call *call;

            if (frame->call & TRACE_LIGHT)
                continue;
            call = &f->run->calls[f->call_at[frame->call]];
            call->flags |= RUN_ABORTED;
            call->end_ns = f->trace->latest_ns;
            call->own_ns = stack->own_ns - frame->own_before;
            call->children_ns = frame->children_ns;
            if (i + 1 < stack->n)
                call->children_ns += open_ns(f->trace, stack, i + 1);
        }
    }
}

/* Merged records do not say how many of their calls were passes, so store the total
 * time of passes as a fact. */
static int add_forward(struct finish *f)
{
    const struct trace *trace = f->trace;
    struct run *run = f->run;
    uint64_t ns = trace->forward_ns;
    struct model_fact fact;

    if (f->n_order == 0)
        return 0;
    for (uint32_t s = 0; s < trace->n_stacks; s++) {
        const struct trace_stack *stack = &trace->stacks[s];

        if (stack->n > 0 && stack->frames[0].is_root &&
            !(stack->frames[0].flags & RUN_RECOMPUTED))
            ns += open_ns(trace, stack, 0);
    }
    fact.key = intern_add(&run->strings, str_of(RUN_FORWARD_FACT));
    fact.value = value_int(&run->plain, (int64_t)ns);
    if (fact.key == INTERN_NONE || fact.value == VALUE_ID_FAILED)
        return -1;
    run->facts[run->n_facts++] = fact; /* copy_tables() reserved room for it */
    return 0;
}

/* ---- ios ---- */

/* Counts the ios of each call, and computes its first one. */
static uint32_t count_ios(struct finish *f)
{
    const struct trace *trace = f->trace;
    struct run *run = f->run;
    uint32_t total = 0;

    for (uint32_t i = 0; i < trace->n_ios; i++)
        run->calls[f->call_at[trace->ios[i].call]].n_ios++;
    for (uint32_t i = 0; i < f->n_order; i++)
        run->calls[f->newest_at[i]].n_ios = f->order[i]->newest.n_ios;
    for (uint32_t i = 0; i < run->n_calls; i++) {
        run->calls[i].ios = total;
        total += run->calls[i].n_ios;
        run->calls[i].n_ios = 0;
    }
    return total;
}

static void put_io(struct run *run, uint32_t call, const struct run_io *io)
{
    struct run_io *to = &run->ios[run->calls[call].ios + run->calls[call].n_ios++];

    *to = *io;
    to->call = call;
}

/* For sorting the gradients of one call. */
struct gradient {
    uint64_t key;
    uint32_t at; /* original index */
    struct run_io io;
};

/* Sort key: by backward (earlier gradients of the same path), then by the position of
 * the argument or result. */
static uint64_t gradient_key(const struct run_io *ios, uint32_t n, uint32_t at)
{
    uint8_t about = ios[at].kind == RUN_GRAD_IN ? RUN_IN : RUN_OUT;
    uint32_t position = 0, earlier = 0;

    for (uint32_t i = 0; i < at; i++)
        earlier += ios[i].kind == ios[at].kind && ios[i].path == ios[at].path;
    for (uint32_t i = 0; i < n; i++) {
        if (ios[i].kind != about)
            continue;
        if (ios[i].path == ios[at].path)
            break;
        position++;
    }
    return (uint64_t)earlier << 32 | position;
}

static bool is_gradient(const struct run_io *io)
{
    return io->kind == RUN_GRAD_IN || io->kind == RUN_GRAD_OUT;
}

static int compare_gradients(const void *a, const void *b)
{
    const struct gradient *one = a, *other = b;

    if (one->io.kind != other->io.kind)
        return (one->io.kind > other->io.kind) - (one->io.kind < other->io.kind);
    if (one->key != other->key)
        return (one->key > other->key) - (one->key < other->key);
    return (one->at > other->at) - (one->at < other->at);
}

static void sort_call(struct run_io *ios, uint32_t total, struct gradient *sorted)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < total; i++)
        if (is_gradient(&ios[i]))
            sorted[n++] = (struct gradient){gradient_key(ios, total, i), i, ios[i]};
    if (n < 2)
        return;
    qsort(sorted, n, sizeof *sorted, compare_gradients);
    n = 0;
    for (uint32_t i = 0; i < total; i++)
        if (is_gradient(&ios[i]))
            ios[i] = sorted[n++].io;
}

/* Gradients arrive in the order of backward. Sorts them like the arguments and results
 * they belong to. */
static int sort_gradients(struct finish *f)
{
    struct run *run = f->run;
    struct gradient *sorted;
    uint32_t most = 0;

    for (uint32_t i = 0; i < run->n_calls; i++)
        if (run->calls[i].n_ios > most)
            most = run->calls[i].n_ios;
    sorted = arena_array(&f->scratch, (size_t)most + 1, sizeof *sorted);
    if (!sorted)
        return -1;
    for (uint32_t i = 0; i < run->n_calls; i++)
        sort_call(run->ios + run->calls[i].ios, run->calls[i].n_ios, sorted);
    return 0;
}

static int sort_ios(struct finish *f)
{
    const struct trace *trace = f->trace;
    struct run *run = f->run;
    uint32_t total = count_ios(f);

    run->ios = arena_array(&run->arena, (size_t)total + 1, sizeof *run->ios);
    if (!run->ios)
        return -1;
    run->n_ios = total;
    for (uint32_t i = 0; i < trace->n_ios; i++)
        put_io(run, f->call_at[trace->ios[i].call], &trace->ios[i]);
    for (uint32_t i = 0; i < f->n_order; i++)
        for (uint32_t k = 0; k < f->order[i]->newest.n_ios; k++)
            put_io(run, f->newest_at[i], &f->order[i]->newest.ios[k]);
    return 0;
}

/* ---- merged calls ---- */

static int compare_merged(const void *a, const void *b)
{
    const struct run_merged *x = a, *y = b;

    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    return x->newest < y->newest ? -1 : x->newest > y->newest;
}

/* Copies sizes and strides of values, followed by the shapes of merged ios. */
static int copy_dims(struct finish *f)
{
    const struct trace *trace = f->trace;
    struct run *run = f->run;
    size_t more = 0;

    for (uint32_t i = 0; i < trace->n_lights; i++)
        for (uint32_t k = 0; k < trace->lights[i].n_ios; k++)
            for (uint32_t s = 0; s < trace->lights[i].ios[k].n_shapes; s++)
                more += (size_t)trace->lights[i].ios[k].shapes[s][0] + 1;
    run->dims = arena_array(&run->arena, trace->n_dims + more + 1, sizeof *run->dims);
    if (!run->dims || trace->n_dims + more >= RUN_NONE)
        return -1;
    if (trace->n_dims)
        memcpy(run->dims, trace->dims, trace->n_dims * sizeof *run->dims);
    run->n_dims = trace->n_dims;
    return 0;
}

static void put_merged_io(struct run *run, const struct light_io *io)
{
    struct run_merged_io *to = &run->merged_ios[run->n_merged_ios++];

    *to = (struct run_merged_io){.kind = io->kind,
                                 .path = io->path,
                                 .stats = RUN_NONE,
                                 .shapes = run->n_dims,
                                 .n_shapes = io->n_shapes};
    if (io->measured) {
        to->stats = run->n_stats;
        run->stats[run->n_stats++] = io->stats;
    }
    for (uint32_t s = 0; s < io->n_shapes; s++) {
        size_t n = (size_t)io->shapes[s][0] + 1;

        memcpy(run->dims + run->n_dims, io->shapes[s], n * sizeof *run->dims);
        run->n_dims += (uint32_t)n;
    }
}

static int add_merged(struct finish *f)
{
    const struct trace *trace = f->trace;
    struct run *run = f->run;
    size_t n_ios = 0;

    for (uint32_t i = 0; i < trace->n_lights; i++)
        n_ios += trace->lights[i].n_ios;
    run->merged =
        arena_array(&run->arena, (size_t)trace->n_lights + 1, sizeof *run->merged);
    run->merged_ios = arena_array(&run->arena, n_ios + 1, sizeof *run->merged_ios);
    if (!run->merged || !run->merged_ios)
        return -1;
    for (uint32_t i = 0; i < f->n_order; i++) {
        struct run_merged *merged = &run->merged[run->n_merged++];

        *merged = f->order[i]->merged;
        merged->newest = f->newest_at[i];
        merged->ios = i; /* temporarily the index in `order`, for sorting */
    }
    qsort(run->merged, run->n_merged, sizeof *run->merged, compare_merged);
    for (uint32_t i = 0; i < run->n_merged; i++) {
        struct run_merged *merged = &run->merged[i];
        const struct light *light = f->order[merged->ios];

        merged->ios = run->n_merged_ios;
        merged->n_ios = light->n_ios;
        for (uint32_t k = 0; k < light->n_ios; k++)
            put_merged_io(run, &light->ios[k]);
    }
    return 0;
}

/* ---- gaps ---- */

static void add_gap(struct run *run, enum run_gap_kind kind, uint32_t object,
                    const char *text)
{
    uint32_t id = intern_add(&run->strings, str_of(text));

    if (id != INTERN_NONE)
        run->gaps[run->n_gaps++] =
            (struct run_gap){.kind = kind, .object = object, .text = id};
}

static bool is_module(const struct model *model, uint32_t place)
{
    return model->kind[place] == PLACE_MODULE &&
           model->object[place] < model->n_objects;
}

static bool has_tensors(const struct model *model, uint32_t place)
{
    uint32_t child = place_first(model, place);

    for (; child != NO_PLACE; child = place_next(model, child))
        if (model->kind[child] == PLACE_TENSOR)
            return true;
    return false;
}

static bool was_called(const struct trace *trace, uint32_t object)
{
    return trace->objects[object].calls || trace->objects[object].recomputed;
}

/* The nearest enclosing module that has no gap yet (containers have one); or
 * NO_OBJECT. */
static uint32_t module_around(const struct trace *trace, const bool *said,
                              uint32_t place)
{
    const struct model *model = trace->model;

    for (place = model->parent[place]; place != NO_PLACE; place = model->parent[place])
        if (is_module(model, place) && !said[model->object[place]])
            return model->object[place];
    return NO_OBJECT;
}

/* The flags of the calls of the nearest enclosing module that was called. */
static unsigned flags_around(const struct trace *trace, uint32_t place)
{
    const struct model *model = trace->model;

    for (place = model->parent[place]; place != NO_PLACE; place = model->parent[place])
        if (is_module(model, place) && was_called(trace, model->object[place]))
            return trace->objects[model->object[place]].flags;
    return 0;
}

/* Add a gap with the reason why the module was not called, derived from the calls
 * around it. */
static void say_not_called(struct finish *f, uint32_t object, unsigned around)
{
    if (around & RUN_FUSED)
        add_gap(f->run, RUN_GAP_FUSED, object,
                "not called: a fused kernel did its work");
    else if (around & RUN_COMPILED)
        add_gap(f->run, RUN_GAP_COMPILED, object,
                "not recorded: it is inside compiled code");
    else if (around & RUN_SCRIPTED)
        add_gap(f->run, RUN_GAP_SCRIPTED, object,
                "not recorded: it is inside TorchScript");
    else if (f->trace->objects[object].direct)
        f->run->gaps[f->run->n_gaps++] =
            (struct run_gap){.kind = RUN_GAP_DIRECT,
                             .object = object,
                             .text = f->trace->objects[object].direct};
    else
        add_gap(f->run, RUN_GAP_NOT_CALLED, object, "never called");
}

static void find_not_called(struct finish *f, const bool *said)
{
    const struct trace *trace = f->trace;
    const struct model *model = trace->model;

    for (uint32_t p = 0; p < model->n_places; p++) {
        uint32_t object = model->object[p], around;

        if (!is_module(model, p) || (model->flags[p] & PLACE_AGAIN) || said[object] ||
            was_called(trace, object))
            continue;
        around = module_around(trace, said, p);
        if (around == NO_OBJECT || was_called(trace, around) || has_tensors(model, p))
            say_not_called(f, object, flags_around(trace, p));
    }
}

/* Add gaps for what was dropped at the memory limit. */
static void say_lost(struct finish *f)
{
    const struct trace *trace = f->trace;
    char text[256];

    if (trace->lost_calls || trace->lost_values || trace->lost_ios) {
        snprintf(text, sizeof text,
                 "the memory for records is spent: %" PRIu64 " calls, %" PRIu64
                 " values and %" PRIu64 " arguments or results were left out",
                 trace->lost_calls, trace->lost_values, trace->lost_ios);
        add_gap(f->run, RUN_GAP_LIMIT, NO_OBJECT, text);
    }
    if (trace->ops && trace->ops->lost) {
        snprintf(text, sizeof text,
                 "only the first %" PRIu32 " operations are kept one by one; %" PRIu64
                 " more are in the totals",
                 trace->ops->n_ops, trace->ops->lost);
        add_gap(f->run, RUN_GAP_LIMIT, NO_OBJECT, text);
    }
    if (trace->lost_kept) {
        snprintf(text, sizeof text,
                 "the memory for kept values is spent: %" PRIu64 " were not kept",
                 trace->lost_kept);
        add_gap(f->run, RUN_GAP_LIMIT, NO_OBJECT, text);
    }
    if (trace->lost_gaps) {
        snprintf(text, sizeof text, "%" PRIu64 " further gaps are not listed",
                 trace->lost_gaps);
        add_gap(f->run, RUN_GAP_LIMIT, NO_OBJECT, text);
    }
}

static int add_gaps(struct finish *f)
{
    const struct trace *trace = f->trace;
    uint32_t n_objects = trace->model->n_objects;
    size_t most = (size_t)trace->n_gaps + trace->model->n_places + 5;
    bool *said = arena_array(&f->scratch, (size_t)n_objects + 1, sizeof *said);
    struct run *run = f->run;

    run->gaps = arena_array(&run->arena, most, sizeof *run->gaps);
    if (!said || !run->gaps)
        return -1;
    for (uint32_t i = 0; i < trace->n_gaps; i++) {
        run->gaps[run->n_gaps++] = trace->gaps[i];
        if (trace->gaps[i].object < n_objects &&
            trace->gaps[i].kind <= RUN_GAP_CONTAINER)
            said[trace->gaps[i].object] = true;
    }
    find_not_called(f, said);
    say_lost(f);
    return 0;
}

/* ---- the run ---- */

static int fill(struct finish *f)
{
    if (copy_strings(f) < 0 || copy_plain(f) < 0 || copy_tables(f) < 0 ||
        copy_values(f) < 0 || order_lights(f) < 0 || merge_calls(f) < 0)
        return -1;
    close_open(f);
    if (add_forward(f) < 0 || sort_ios(f) < 0 || sort_gradients(f) < 0 ||
        copy_dims(f) < 0 || add_merged(f) < 0 || add_gaps(f) < 0)
        return -1;
    if (trace_ops_finish(f->trace, f->run, call_of, f) < 0)
        return -1;
    trace_number_steps(&f->trace->steps, f->run);
    return 0;
}

/* The run without its model and kept bytes, which the trace still owns. */
static struct run *make_run(const struct trace *trace)
{
    struct finish f = {.trace = trace, .run = run_new(0)};

    if (!f.run)
        return NULL;
    arena_init(&f.scratch, 0);
    if (fill(&f) < 0) {
        run_free(f.run);
        f.run = NULL;
    }
    arena_release(&f.scratch);
    return f.run;
}

struct run *trace_finish(struct trace *trace, uint64_t wall_ns, uint64_t hooks_ns)
{
    struct run *run;

    /* The end of open calls will not be seen. */
    for (uint32_t i = 0; i < trace->n_stacks; i++)
        trace_abort(trace, i, RUN_NONE, trace->latest_ns);
    run = make_run(trace);
    if (run) {
        run->wall_ns = wall_ns;
        run->hooks_ns = hooks_ns;
        run->model = trace->model;
        run->kept_arena = trace->kept_arena;
        trace->model = NULL;
        arena_init(&trace->kept_arena, 0);
        if (run_seal(run) < 0) {
            run_free(run);
            run = NULL;
        }
    }
    trace_free(trace);
    return run;
}

static int copy_kept(struct run *run)
{
    for (uint32_t i = 0; i < run->n_kept; i++) {
        void *to = arena_alloc(&run->kept_arena, run->kept[i].bytes);

        if (!to)
            return -1;
        memcpy(to, run->kept[i].at, run->kept[i].bytes);
        run->kept[i].at = to;
    }
    return 0;
}

struct run *trace_snapshot(const struct trace *trace)
{
    struct run *run = make_run(trace);

    if (!run)
        return NULL;
    run->model = model_copy(trace->model);
    if (!run->model || copy_kept(run) < 0 || run_seal(run) < 0) {
        run_free(run);
        return NULL;
    }
    return run;
}
