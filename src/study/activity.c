/* Sums up calls by place in a few scans: sums; the calls that raised or produced the
 * first non-finite value; the flags of the places above. */
#include "study/activity.h"

#include <string.h>

#include "study/producer.h"

struct work_on {
    struct activities *all;
    const struct run *run;
    const struct model *model;
    struct arena *scratch;
    bool *nested; /* by call: it is inside another call of the same place */
    bool *inside; /* by object: some recorded call of it is inside another call */
};

uint32_t activity_value(const struct run *run, uint32_t call, enum run_io_kind kind)
{
    const struct run_call *c;

    if (call >= run->n_calls)
        return RUN_NONE;
    c = &run->calls[call];
    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (run->ios[i].kind == kind && run->ios[i].value != RUN_NONE)
            return run->ios[i].value;
    return RUN_NONE;
}

/* ---- recursive calls ---- */

/* Walk the tree of calls, counting the open calls of each place. */
static int find_nested(struct work_on *on)
{
    const struct run *run = on->run;
    size_t n = (size_t)run->n_calls + 1;
    uint32_t *first = arena_array(on->scratch, n, sizeof *first);
    uint32_t *next = arena_array(on->scratch, n, sizeof *next);
    uint32_t *open = arena_array(on->scratch, (size_t)on->all->n + 1, sizeof *open);
    uint32_t roots = RUN_NONE, c, up;

    on->nested = arena_array(on->scratch, n, sizeof *on->nested);
    if (!first || !next || !open || !on->nested)
        return -1;
    memset(first, 0xff, n * sizeof *first);
    for (c = run->n_calls; c-- > 0;) {
        uint32_t *list =
            run->calls[c].parent == RUN_NONE ? &roots : &first[run->calls[c].parent];

        next[c] = *list;
        *list = c;
    }
    for (c = roots; c != RUN_NONE;) {
        on->nested[c] = open[run->calls[c].place]++ > 0;
        if (first[c] != RUN_NONE) {
            c = first[c];
            continue;
        }
        /* A leaf: close it and all calls that end with it. */
        for (up = c; up != RUN_NONE; up = run->calls[up].parent) {
            open[run->calls[up].place]--;
            c = next[up];
            if (c != RUN_NONE)
                break;
        }
    }
    return 0;
}

/* ---- sums ---- */

static uint32_t first_place(const struct model *model, uint32_t object)
{
    uint32_t place = model->objects[object].place;

    return place < model->n_places ? place : NO_PLACE;
}

static void add_results(struct activity *at, const struct run *run,
                        const struct run_call *call)
{
    uint32_t last = RUN_NONE;

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        const struct run_io *io = &run->ios[i];
        const struct stats *stats;

        /* A result that is also an argument (in place) counts. */
        if (io->kind != RUN_OUT || io->value == last || producer_finite(run, io->value))
            continue;
        last = io->value;
        stats = &run->stats[run->values[last].stats];
        at->nan += stats->nan;
        at->inf += stats->pos_inf + stats->neg_inf;
    }
}

/* Add a call; the times of a RUN_LIGHT call are in run_merged. */
static void add_call(struct work_on *on, uint32_t c)
{
    struct activities *all = on->all;
    const struct run_call *call = &on->run->calls[c];
    struct activity *at = &all->at[call->place];

    if (at->newest == RUN_NONE || run_is_newer(on->run, c, at->newest)) {
        at->newest = c;
        at->out_bytes = call->out_bytes;
    }
    if (call->flags & RUN_LIGHT)
        return;
    if (call->flags & RUN_RECOMPUTED) {
        at->recomputed++;
        return;
    }
    at->calls++;
    at->total_ns += on->nested[c] ? 0 : run_inclusive(call);
    at->self_ns += run_exclusive(call);
    at->backward_ns += on->nested[c] ? 0 : call->backward_ns;
    at->device_ns += on->nested[c] ? 0 : call->device_ns;
    add_results(at, on->run, call);
    if (call->parent == RUN_NONE) {
        all->backward_ns += call->backward_ns;
        all->device_ns += call->device_ns;
    } else {
        on->inside[call->object] = true;
    }
}

/* A file of version 1 has no count of passes, but there each pass is a step, and the
 * newest calls are kept. A count from a file is limited by its number of calls. */
static void count_passes(struct work_on *on)
{
    const struct run *run = on->run;
    uint64_t calls = run->n_calls, passes = run->passes;
    uint32_t i;

    for (i = 0; i < run->n_calls && run->passes == 0; i++)
        if (!(run->calls[i].flags & RUN_RECOMPUTED) && run->calls[i].step >= passes)
            passes = (uint64_t)run->calls[i].step + 1;
    for (i = 0; i < run->n_merged; i++)
        calls += run->merged[i].calls;
    if (passes > calls)
        passes = calls;
    on->all->passes = passes < UINT32_MAX ? (uint32_t)passes : UINT32_MAX;
}

/* Add backward and device times of merged root calls. If the module was also called
 * inside others, only the newest call is known to be a root. */
static void add_roots(struct work_on *on, const struct run_merged *merged,
                      const struct run_call *newest)
{
    bool all_of_them = !on->inside[merged->object];

    if (newest->parent != RUN_NONE)
        return;
    on->all->backward_ns += all_of_them ? merged->backward_ns : newest->backward_ns;
    on->all->device_ns += all_of_them ? merged->device_ns : newest->device_ns;
}

static void add_merged(struct work_on *on, const struct run_merged *merged)
{
    const struct run *run = on->run;
    struct activities *all = on->all;
    const struct run_call *newest =
        merged->newest < run->n_calls ? &run->calls[merged->newest] : NULL;
    uint32_t place = newest ? newest->place : first_place(on->model, merged->object);
    struct activity *at;

    if (place == NO_PLACE)
        return;
    at = &all->at[place];
    if (newest && newest->flags & RUN_RECOMPUTED) {
        at->recomputed += merged->calls;
        return;
    }
    at->calls += merged->calls;
    at->total_ns += merged->inclusive_ns;
    at->self_ns += merged->exclusive_ns;
    at->backward_ns += merged->backward_ns;
    at->device_ns += merged->device_ns;
    if (newest)
        add_roots(on, merged, newest);
    for (uint32_t i = merged->ios; i < merged->ios + merged->n_ios; i++) {
        const struct run_merged_io *io = &run->merged_ios[i];

        if (io->kind != RUN_OUT || io->stats == RUN_NONE)
            continue;
        at->nan += run->stats[io->stats].nan;
        at->inf += run->stats[io->stats].pos_inf + run->stats[io->stats].neg_inf;
    }
}

/* ---- shapes that vary ---- */

static bool call_varies(const struct run *run, uint32_t newest, uint32_t call,
                        enum run_io_kind kind)
{
    uint32_t a = activity_value(run, newest, kind), b = activity_value(run, call, kind);

    return a != RUN_NONE && b != RUN_NONE && a != b && !run_same_shape(run, a, b);
}

/* The first merged io of a kind is the first tensor; its shapes are distinct. */
static bool merged_varies(const struct run *run, const struct run_merged *merged,
                          enum run_io_kind kind)
{
    for (uint32_t i = merged->ios; i < merged->ios + merged->n_ios; i++)
        if (run->merged_ios[i].kind == kind)
            return run->merged_ios[i].n_shapes > 1;
    return false;
}

static void find_varying(struct work_on *on)
{
    const struct run *run = on->run;
    uint32_t i;

    for (i = 0; i < run->n_calls; i++) {
        struct activity *at = &on->all->at[run->calls[i].place];

        if (run->calls[i].flags & RUN_RECOMPUTED)
            continue;
        if (call_varies(run, at->newest, i, RUN_IN))
            at->flags |= ACTIVITY_IN_VARIES;
        if (call_varies(run, at->newest, i, RUN_OUT))
            at->flags |= ACTIVITY_OUT_VARIES;
    }
    for (i = 0; i < run->n_merged; i++) {
        const struct run_merged *merged = &run->merged[i];
        struct activity *at;

        if (merged->newest >= run->n_calls)
            continue;
        at = &on->all->at[run->calls[merged->newest].place];
        if (merged_varies(run, merged, RUN_IN))
            at->flags |= ACTIVITY_IN_VARIES;
        if (merged_varies(run, merged, RUN_OUT))
            at->flags |= ACTIVITY_OUT_VARIES;
    }
}

/* ---- alarms ---- */

static void mark_raised(struct work_on *on, uint32_t c)
{
    struct activities *all = on->all;
    const struct run_call *calls = on->run->calls;

    all->at[calls[c].place].flags |= ACTIVITY_RAISED;
    if (all->raising_call == RUN_NONE ||
        calls[c].end_ns >= calls[all->raising_call].end_ns) {
        all->raising_call = c;
        all->raised = calls[c].place;
    }
}

static int mark_producers(struct work_on *on)
{
    struct activities *all = on->all;
    const struct run_call *calls = on->run->calls;
    struct producers found;

    if (producers_find(on->run, NULL, on->scratch, &found) < 0)
        return -1;
    for (uint32_t c = 0; c < on->run->n_calls; c++)
        if (found.calls[c])
            all->at[calls[c].place].flags |= ACTIVITY_PRODUCER;
    all->producing_call = found.first;
    all->spoilt_call = found.spoilt;
    if (found.first != RUN_NONE)
        all->first_producer = calls[found.first].place;
    return 0;
}

/* Find the innermost calls that raised. A call comes after its parents, so a backward
 * scan has seen everything inside a call. */
static int find_alarms(struct work_on *on)
{
    const struct run *run = on->run;
    bool *inside = arena_array(on->scratch, (size_t)run->n_calls + 1, sizeof *inside);

    if (!inside)
        return -1;
    for (uint32_t c = run->n_calls; c-- > 0;) {
        const struct run_call *call = &run->calls[c];

        if (!inside[c] && (call->flags & RUN_RAISED)) {
            inside[c] = true;
            if (on->all->at[call->place].newest == c)
                mark_raised(on, c);
        }
        if (call->parent != RUN_NONE)
            inside[call->parent] |= inside[c];
    }
    return mark_producers(on);
}

/* ---- places ---- */

static bool hides(const struct run *run, uint32_t gap)
{
    enum run_gap_kind kind = gap == RUN_NONE ? RUN_GAP_COUNT : run->gaps[gap].kind;

    return kind == RUN_GAP_FUSED || kind == RUN_GAP_COMPILED ||
           kind == RUN_GAP_SCRIPTED;
}

/* Modules inside one whose inside was not recorded share its gap. */
static int spread_gaps(struct work_on *on)
{
    const struct model *model = on->model;
    struct activity *at = on->all->at;
    uint32_t *hidden = arena_array(on->scratch, (size_t)on->all->n + 1, sizeof *hidden);

    if (!hidden)
        return -1;
    for (uint32_t p = 0; p < on->all->n; p++) {
        uint32_t up = model->parent[p];

        hidden[p] = up == NO_PLACE || at[p].calls > 0 ? RUN_NONE : hidden[up];
        if (at[p].calls == 0 && hides(on->run, at[p].gap))
            hidden[p] = at[p].gap;
        if (model->kind[p] == PLACE_MODULE && hidden[p] != RUN_NONE &&
            !(at[p].flags & ACTIVITY_CONTAINER) &&
            (at[p].gap == RUN_NONE ||
             on->run->gaps[at[p].gap].kind == RUN_GAP_NOT_CALLED))
            at[p].gap = hidden[p];
    }
    return 0;
}

static void set_gap(const struct run *run, struct activity *at, uint32_t gap)
{
    bool container = gap != RUN_NONE && !run_is_gap(&run->gaps[gap]);

    at->gap = container ? RUN_NONE : gap;
    if (container)
        at->flags |= ACTIVITY_CONTAINER;
}

/* Of several gaps of an object, takes the one with the lowest kind: the reason why
 * there is no call. */
static int find_gaps(struct work_on *on)
{
    const struct run *run = on->run;
    const struct model *model = on->model;
    uint32_t *of = arena_array(on->scratch, (size_t)model->n_objects + 1, sizeof *of),
             i;

    if (!of)
        return -1;
    memset(of, 0xff, model->n_objects * sizeof *of);
    for (i = 0; i < run->n_gaps; i++) {
        uint32_t object = run->gaps[i].object;

        if (object < model->n_objects &&
            (of[object] == RUN_NONE || run->gaps[i].kind < run->gaps[of[object]].kind))
            of[object] = i;
    }
    for (i = 0; i < on->all->n; i++)
        if (model->kind[i] <= PLACE_GROUP && model->object[i] < model->n_objects)
            set_gap(run, &on->all->at[i], of[model->object[i]]);
    return spread_gaps(on);
}

/* Did the last pass end with an exception? */
static bool run_raised(const struct run *run)
{
    for (uint32_t c = run->n_calls; c-- > 0;)
        if (run->calls[c].parent == RUN_NONE && !(run->calls[c].flags & RUN_RECOMPUTED))
            return run->calls[c].flags & RUN_RAISED;
    return false;
}

/* A shared module may have been called at another place. */
static bool was_called(const struct work_on *on, uint32_t place)
{
    uint32_t object = on->model->object[place];
    uint32_t first =
        object < on->model->n_objects ? first_place(on->model, object) : NO_PLACE;

    return on->all->at[place].calls > 0 ||
           (first != NO_PLACE && on->all->at[first].calls > 0);
}

static void mark_places(struct work_on *on)
{
    const struct model *model = on->model;
    struct activity *at = on->all->at;
    bool raised = run_raised(on->run);

    for (uint32_t p = on->all->n; p-- > 0;) {
        uint32_t up = model->parent[p], gap = at[p].gap;

        if (up != NO_PLACE &&
            (at[p].flags & (ACTIVITY_RAISED | ACTIVITY_PRODUCER | ACTIVITY_BELOW)))
            at[up].flags |= ACTIVITY_BELOW;
        if (raised && model->kind[p] == PLACE_MODULE && !was_called(on, p) &&
            !(at[p].flags & ACTIVITY_CONTAINER) &&
            (gap == RUN_NONE || on->run->gaps[gap].kind == RUN_GAP_NOT_CALLED))
            at[p].flags |= ACTIVITY_NOT_REACHED;
    }
}

/* ---- all of it ---- */

static int put_together(struct work_on *on)
{
    uint32_t i;

    on->inside =
        arena_array(on->scratch, (size_t)on->model->n_objects + 1, sizeof *on->inside);
    if (!on->inside || find_nested(on) < 0)
        return -1;
    count_passes(on);
    on->all->total_ns = run_forward_ns(on->run);
    for (i = 0; i < on->run->n_calls; i++)
        add_call(on, i);
    for (i = 0; i < on->run->n_merged; i++)
        add_merged(on, &on->run->merged[i]);
    find_varying(on);
    if (find_alarms(on) < 0 || find_gaps(on) < 0)
        return -1;
    mark_places(on);
    return 0;
}

int activity_of(struct activities *ret_activities, const struct run *run,
                struct arena *arena, struct err *err)
{
    struct activities all = {.n = run->model->n_places,
                             .first_producer = NO_PLACE,
                             .producing_call = RUN_NONE,
                             .spoilt_call = RUN_NONE,
                             .raised = NO_PLACE,
                             .raising_call = RUN_NONE};
    struct arena scratch;
    struct work_on on = {
        .all = &all, .run = run, .model = run->model, .scratch = &scratch};
    int result = -1;

    arena_init(&scratch, 0);
    all.at = arena_array(arena, (size_t)all.n + 1, sizeof *all.at);
    for (uint32_t p = 0; all.at && p < all.n; p++)
        all.at[p].newest = all.at[p].gap = RUN_NONE;
    if (all.at && put_together(&on) == 0) {
        *ret_activities = all;
        result = 0;
    } else {
        arena_err(all.at ? &scratch : arena, "adding up calls", err);
    }
    arena_release(&scratch);
    return result;
}
