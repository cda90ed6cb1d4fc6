/* Stacks, times and calls. */
#include "run/trace_ops_in.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define DEFAULT_LIMIT GIB
#define MOST_THREADS  65536u
#define MOST_GAPS     1000u /* plus four per object */

/* ---- beginning ---- */

static bool is_module_place(const struct model *model, uint32_t place)
{
    return model->kind[place] <= PLACE_GROUP && model->object[place] < model->n_objects;
}

/* Lists all places by object, each in pre-order. */
static int index_places(struct trace *trace)
{
    const struct model *model = trace->model;
    struct trace_object *objects = trace->objects;
    uint32_t p, o, total = 0;

    for (p = 0; p < model->n_places; p++)
        if (is_module_place(model, p))
            objects[model->object[p]].n_places++;
    for (o = 0; o < model->n_objects; o++) {
        objects[o].places = total;
        total += objects[o].n_places;
        objects[o].n_places = 0;
    }
    trace->places = arena_array(&trace->arena, (size_t)total + 1, sizeof(uint32_t));
    trace->uses = arena_array(&trace->arena, (size_t)total + 1, sizeof *trace->uses);
    if (!trace->places || !trace->uses)
        return -1;
    for (p = 0; p < total; p++)
        trace->uses[p].around = NO_SERIAL;
    for (p = 0; p < model->n_places; p++) {
        if (!is_module_place(model, p))
            continue;
        o = model->object[p];
        trace->places[objects[o].places + objects[o].n_places++] = p;
    }
    return 0;
}

static int prepare(struct trace *trace)
{
    const struct model *model = trace->model;
    struct arena *arena = &trace->arena;

    trace->objects =
        arena_array(arena, (size_t)model->n_objects + 1, sizeof *trace->objects);
    trace->by_tensor =
        arena_array(arena, (size_t)model->n_tensors + 1, sizeof *trace->by_tensor);
    map_init(&trace->gaps_by_hash, arena);
    if (!trace->objects || !trace->by_tensor || intern_init(&trace->strings, arena) < 0)
        return -1;
    if (values_init(&trace->plain, arena, &trace->strings) < 0)
        return -1;
    return index_places(trace);
}

struct trace *trace_new(const struct model *model, const struct trace_wanted *wanted)
{
    struct trace *trace = calloc(1, sizeof *trace);

    if (!trace) {
        model_free(model);
        return NULL;
    }
    arena_init(&trace->arena, wanted->limit ? wanted->limit : DEFAULT_LIMIT);
    /* For an arena a limit of 0 means unlimited; here it means that nothing is kept. */
    arena_init(&trace->kept_arena, wanted->keep_limit ? wanted->keep_limit : 1);
    trace->model = model;
    trace->keep_calls = wanted->keep_calls ? wanted->keep_calls : RUN_KEEP_CALLS;
    if (prepare(trace) < 0) {
        trace_free(trace);
        return NULL;
    }
    return trace;
}

void trace_free(struct trace *trace)
{
    if (!trace)
        return;
    model_free(trace->model);
    if (trace->ops)
        arena_release(&trace->ops->arena);
    free(trace->ops);
    arena_release(&trace->arena);
    arena_release(&trace->kept_arena);
    free(trace);
}

static bool same_places(const struct model *a, const struct model *b)
{
    size_t n = a->n_places;

    return b->n_places == n && b->n_objects == a->n_objects &&
           b->n_tensors == a->n_tensors &&
           memcmp(a->parent, b->parent, n * sizeof *a->parent) == 0 &&
           memcmp(a->kind, b->kind, n * sizeof *a->kind) == 0 &&
           memcmp(a->object, b->object, n * sizeof *a->object) == 0;
}

bool trace_renew(struct trace *trace, const struct model *model)
{
    if (!same_places(trace->model, model))
        return false;
    model_free(trace->model);
    trace->model = model;
    return true;
}

uint32_t trace_string(struct trace *trace, const char *text, size_t len)
{
    uint32_t id = intern_add(&trace->strings, str_span(text, len));

    return id == INTERN_NONE ? 0 : id;
}

uint16_t trace_device(struct trace *trace, const char *name)
{
    uint32_t id = trace_string(trace, name, strlen(name));

    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i] == id)
            return (uint16_t)i;
    if (trace->n_devices >= UINT16_MAX ||
        arena_room(&trace->arena, &trace->devices, trace->n_devices,
                   &trace->devices_room, sizeof *trace->devices) < 0)
        return 0;
    trace->devices[trace->n_devices] = id;
    return (uint16_t)trace->n_devices++;
}

/* ---- the place of a call ---- */

/* The first place of the object in [begin, end), or NO_PLACE. */
static uint32_t place_between(const struct trace *trace, uint32_t object,
                              uint32_t begin, uint32_t end)
{
    const struct trace_object *o = &trace->objects[object];
    const uint32_t *places = trace->places + o->places;
    uint32_t low = 0, high = o->n_places;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (places[middle] < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low < o->n_places && places[low] < end ? places[low] : NO_PLACE;
}

/* Does the module at `around` call this place directly, judging by the tree? Only
 * containers, which are not called, may be between them. */
static bool is_direct(const struct model *model, uint32_t place, uint32_t around)
{
    for (place = model->parent[place]; place != around; place = model->parent[place]) {
        struct str name = class_short(place_class(model, place));

        if (place == NO_PLACE ||
            (model->kind[place] == PLACE_MODULE && !str_is(name, "ModuleList") &&
             !str_is(name, "ModuleDict")))
            return false;
    }
    return true;
}

/* Chooses among the places of an object below the parent call's place: prefers places
 * that the parent calls directly, then the least used one in this parent call, then the
 * first. So a Sequential with one ReLU at two places uses both in turn. */
static uint32_t use_place(struct trace *trace, uint32_t object, uint32_t around,
                          uint64_t serial)
{
    const struct model *model = trace->model;
    const struct trace_object *o = &trace->objects[object];
    uint32_t least = UINT32_MAX, best = NO_PLACE;
    bool direct = false;

    for (uint32_t i = o->places; i < o->places + o->n_places; i++) {
        uint32_t place = trace->places[i];
        struct place_use *use = &trace->uses[i];
        bool is = place > around && place < model->end[around] &&
                  is_direct(model, place, around);

        if (place <= around || place >= model->end[around] || (direct && !is))
            continue;
        if (use->around != serial)
            *use = (struct place_use){.around = serial};
        if ((is && !direct) || use->calls < least) {
            least = use->calls;
            best = i;
        }
        direct |= is;
    }
    if (best == NO_PLACE)
        return NO_PLACE;
    trace->uses[best].calls++;
    return trace->places[best];
}

/* The place of a call. If the object has several, it is one below the place of the
 * parent call. Repeated places of a shared module have no children: these are below its
 * first place. */
static uint32_t place_of_call(struct trace *trace, uint32_t object,
                              const struct trace_frame *frame)
{
    const struct model *model = trace->model;
    uint32_t first = model->objects[object].place, place = NO_PLACE;
    uint32_t around = frame ? frame->place : NO_PLACE;

    if (around >= model->n_places || trace->objects[object].n_places < 2)
        return first;
    if (model->flags[around] & PLACE_AGAIN)
        around = model->objects[model->object[around]].place;
    if (around < model->n_places)
        place = use_place(trace, object, around, frame->serial);
    return place == NO_PLACE ? first : place;
}

bool trace_is_inside(const struct trace *trace, uint32_t inner, uint32_t outer)
{
    const struct model *model = trace->model;
    uint32_t place;

    if (inner >= model->n_objects || outer >= model->n_objects)
        return false;
    place = model->objects[outer].place;
    return place_between(trace, inner, place + 1, model->end[place]) != NO_PLACE;
}

/* ---- calls ---- */

static struct trace_stack *stack_of(struct trace *trace, uint32_t thread)
{
    if (thread >= MOST_THREADS)
        return NULL;
    while (trace->n_stacks <= thread) {
        if (arena_room(&trace->arena, &trace->stacks, trace->n_stacks,
                       &trace->stacks_room, sizeof *trace->stacks) < 0)
            return NULL;
        trace->stacks[trace->n_stacks++] = (struct trace_stack){0};
    }
    return &trace->stacks[thread];
}

void trace_under(struct trace *trace, uint32_t thread, uint32_t other)
{
    struct trace_stack *stack = stack_of(trace, thread);
    const struct trace_stack *from =
        other < trace->n_stacks ? &trace->stacks[other] : NULL;

    if (!stack || !from || from->n == 0)
        return;
    stack->under = from->frames[from->n - 1];
    stack->is_under = true;
}

static uint32_t keep_call(struct trace *trace, const struct run_call *call,
                          uint64_t parent_serial, struct repeated repeats)
{
    uint32_t n = trace->n_calls;

    if (n >= TRACE_LIGHT - 1 ||
        arena_room(&trace->arena, &trace->calls, n, &trace->calls_room,
                   sizeof *trace->calls) < 0 ||
        arena_room(&trace->arena, &trace->serials, n, &trace->serials_room,
                   sizeof *trace->serials) < 0 ||
        arena_room(&trace->arena, &trace->parents, n, &trace->parents_room,
                   sizeof *trace->parents) < 0 ||
        arena_room(&trace->arena, &trace->repeats, n, &trace->repeats_room,
                   sizeof *trace->repeats) < 0)
        return RUN_NONE;
    trace->calls[n] = *call;
    trace->serials[n] = trace->serial;
    trace->parents[n] = parent_serial;
    trace->repeats[n] = repeats;
    return trace->n_calls++;
}

/* A call as known when it begins. A recomputation belongs to the step of its
 * backward. */
static struct run_call new_call(struct trace *trace, const struct trace_frame *around,
                                uint32_t object, uint16_t flags)
{
    struct run_call call = {.object = object, .flags = flags};

    call.number = flags & RUN_RECOMPUTED ? trace->objects[object].recomputed
                                         : trace->objects[object].calls;
    call.place = place_of_call(trace, object, around);
    if (!around && !(flags & RUN_RECOMPUTED))
        trace_root_begins(&trace->steps);
    call.step = trace->steps.now;
    return call;
}

/* The call that a recomputation repeats; only known if a single one is pending. */
static struct repeated take_pending(struct trace_object *object)
{
    struct repeated found = {.call = RUN_NONE};

    if (object->pending == 1 && !object->mixed)
        found = object->last;
    object->mixed = object->pending > 1;
    object->pending -= object->pending > 0;
    return found;
}

/* Counts a call that begins. */
static void count_call(struct trace *trace, const struct trace_stack *stack,
                       const struct trace_frame *frame)
{
    struct trace_object *object = &trace->objects[frame->object];

    if (frame->flags & RUN_RECOMPUTED) {
        object->recomputed++;
        return;
    }
    object->calls++;
    if (frame->flags & RUN_GRAD_MODE || !(stack->frames[0].flags & RUN_GRAD_MODE))
        return;
    object->pending++;
    object->last = (struct repeated){frame->call, frame->serial};
}

static void look_at_clock(struct trace *trace, uint64_t ns)
{
    if (ns > trace->latest_ns)
        trace->latest_ns = ns;
}

uint32_t trace_begin(struct trace *trace, uint32_t thread, uint32_t object,
                     uint16_t flags, uint32_t line, uint64_t start_ns)
{
    struct trace_stack *stack = stack_of(trace, thread);
    uint32_t id = RUN_NONE;
    uint64_t parent_serial;
    struct repeated repeats = {.call = RUN_NONE};
    const struct trace_frame *around;
    struct run_call call;
    struct trace_frame frame;

    if (!stack || object >= trace->model->n_objects ||
        arena_room(&trace->arena, &stack->frames, stack->n, &stack->room,
                   sizeof *stack->frames) < 0) {
        trace->lost_calls++;
        return RUN_NONE;
    }
    around = stack->n ? &stack->frames[stack->n - 1]
                      : (stack->is_under ? &stack->under : NULL);
    stack->is_under = false;
    parent_serial = around ? around->serial : NO_SERIAL;
    call = new_call(trace, around, object, flags);
    call.thread = thread;
    call.line = line;
    call.start_ns = start_ns;
    if (flags & RUN_RECOMPUTED)
        repeats = take_pending(&trace->objects[object]);
    if (call.number < trace->keep_calls)
        id = keep_call(trace, &call, parent_serial, repeats);
    /* If it cannot be kept, it may still be merged. */
    if (id == RUN_NONE)
        id = light_begin(trace, &call, parent_serial, repeats);
    if (id == RUN_NONE) {
        trace->lost_calls++;
        return RUN_NONE;
    }
    look_at_clock(trace, start_ns);
    frame = (struct trace_frame){.call = id,
                                 .object = object,
                                 .place = call.place,
                                 .flags = flags,
                                 .is_root = parent_serial == NO_SERIAL,
                                 .serial = trace->serial++,
                                 .own_before = stack->own_ns,
                                 .start_ns = start_ns};
    stack->frames[stack->n++] = frame;
    count_call(trace, stack, &frame);
    trace->n_open++;
    return id;
}

/* `serial` matters for light calls only; NO_SERIAL: the open call. */
static struct run_call *record_of(struct trace *trace, uint32_t call, uint64_t serial)
{
    if (call == RUN_NONE)
        return NULL;
    if (call & TRACE_LIGHT)
        return light_record(trace, call, serial);
    return call < trace->n_calls ? &trace->calls[call] : NULL;
}

/* Is a call of this place open? */
static bool is_open(const struct trace_stack *stack, uint32_t place)
{
    for (uint32_t i = stack->n; i > 0; i--)
        if (stack->frames[i - 1].place == place)
            return true;
    return false;
}

/* Ends the top call of a stack, and adds its time to its parent's children_ns. */
static void end_top(struct trace *trace, struct trace_stack *stack, uint16_t flags,
                    uint64_t end_ns)
{
    struct trace_frame frame = stack->frames[--stack->n];
    struct run_call *call = record_of(trace, frame.call, NO_SERIAL);

    trace->n_open--;
    look_at_clock(trace, end_ns);
    if (!call)
        return;
    call->flags |= flags;
    trace->objects[frame.object].flags |= call->flags;
    call->end_ns = end_ns > frame.start_ns ? end_ns : frame.start_ns;
    call->own_ns = stack->own_ns - frame.own_before;
    call->children_ns = frame.children_ns;
    if (stack->n)
        stack->frames[stack->n - 1].children_ns += run_inclusive(call);
    if (frame.is_root && !(frame.flags & RUN_RECOMPUTED))
        trace->forward_ns += run_inclusive(call);
    if (frame.call & TRACE_LIGHT)
        light_end(trace, frame.call, is_open(stack, frame.place));
}

void trace_end(struct trace *trace, uint32_t thread, uint32_t call, uint16_t flags,
               uint64_t end_ns)
{
    struct trace_stack *stack;
    uint32_t at;

    if (call == RUN_NONE || thread >= trace->n_stacks)
        return;
    stack = &trace->stacks[thread];
    at = stack->n;
    while (at > 0 && stack->frames[at - 1].call != call)
        at--;
    if (at == 0)
        return;
    while (stack->n > at)
        end_top(trace, stack, RUN_RAISED | RUN_ABORTED, end_ns);
    end_top(trace, stack, flags, end_ns);
    if (trace->n_open == 0)
        trace_sweep(trace);
}

void trace_abort(struct trace *trace, uint32_t thread, uint32_t call, uint64_t end_ns)
{
    struct trace_stack *stack;

    if (thread >= trace->n_stacks)
        return;
    stack = &trace->stacks[thread];
    while (stack->n && stack->frames[stack->n - 1].call != call)
        end_top(trace, stack, RUN_RAISED | RUN_ABORTED, end_ns);
    if (trace->n_open == 0)
        trace_sweep(trace);
}

void trace_own(struct trace *trace, uint32_t thread, uint64_t ns)
{
    struct trace_stack *stack = stack_of(trace, thread);

    trace->own_ns += ns;
    if (stack)
        stack->own_ns += ns;
}

uint32_t trace_object(const struct trace *trace, uint32_t call)
{
    uint32_t slot = call & ~TRACE_LIGHT;

    if (call == RUN_NONE)
        return NO_OBJECT;
    if (call & TRACE_LIGHT)
        return slot < trace->n_slots ? trace->slots[slot].object : NO_OBJECT;
    return call < trace->n_calls ? trace->calls[call].object : NO_OBJECT;
}

void trace_error(struct trace *trace, uint32_t call, uint32_t text)
{
    struct run_call *record = record_of(trace, call, NO_SERIAL);

    if (record)
        record->error = text;
}

uint64_t trace_serial(const struct trace *trace, uint32_t call)
{
    uint32_t slot = call & ~TRACE_LIGHT;

    if (call == RUN_NONE)
        return NO_SERIAL;
    if (call & TRACE_LIGHT)
        return slot < trace->n_slots ? trace->slots[slot].now.serial : NO_SERIAL;
    return call < trace->n_calls ? trace->serials[call] : NO_SERIAL;
}

uint64_t trace_own_ns(const struct trace *trace, uint32_t thread)
{
    return thread < trace->n_stacks ? trace->stacks[thread].own_ns : 0;
}

void trace_repeated(struct trace *trace, uint32_t *call, uint64_t *serial)
{
    struct repeated found = {.call = RUN_NONE};

    if (*call == RUN_NONE)
        return;
    if (*call & TRACE_LIGHT)
        found = light_repeats(trace, *call, *serial);
    else if (*call < trace->n_calls)
        found = trace->repeats[*call];
    if (found.call == RUN_NONE)
        return;
    *call = found.call;
    *serial = found.serial;
}

void trace_backward(struct trace *trace, uint32_t call, uint64_t serial, uint64_t ns,
                    uint16_t flags)
{
    struct run_call *record;
    const struct light_slot *slot;

    trace_repeated(trace, &call, &serial);
    record = record_of(trace, call, serial);
    slot = call & TRACE_LIGHT ? light_slot(trace, call) : NULL;
    if (record) {
        record->backward_ns += ns;
        record->flags |= flags;
    }
    if (slot)
        trace->lights[slot->light].merged.backward_ns += ns;
}

void trace_device_call(struct trace *trace, uint32_t call, uint64_t serial, uint64_t ns,
                       const int64_t *bytes)
{
    struct run_call *record = record_of(trace, call, serial);
    const struct light_slot *slot = call & TRACE_LIGHT ? light_slot(trace, call) : NULL;

    if (record) {
        record->device_ns = ns;
        record->device_bytes = bytes ? *bytes : 0;
        record->flags |= bytes ? RUN_DEVICE_BYTES : 0;
    }
    if (slot)
        trace->lights[slot->light].merged.device_ns += ns;
}

uint32_t trace_calls(const struct trace *trace, uint32_t object)
{
    return object < trace->model->n_objects
               ? trace->objects[object].calls + trace->objects[object].recomputed
               : 0;
}

uint32_t trace_epoch(const struct trace *trace)
{
    return trace->epoch;
}

/* ---- gaps and facts ---- */

static bool same_gap(const struct run_gap *a, const struct run_gap *b)
{
    return a->kind == b->kind && a->object == b->object && a->text == b->text;
}

void trace_gap(struct trace *trace, enum run_gap_kind kind, uint32_t object,
               const char *format, ...)
{
    struct run_gap gap = {.kind = kind, .object = object};
    char text[512];
    uint64_t hash;
    uint32_t found;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gap.text = trace_string(trace, text, strlen(text));
    hash = hash_mix(hash_mix(kind, object), gap.text);
    for (; map_find(&trace->gaps_by_hash, hash, &found); hash++)
        if (same_gap(&trace->gaps[found], &gap))
            return;
    if (trace->n_gaps >= MOST_GAPS + 4 * (uint64_t)trace->model->n_objects ||
        arena_room(&trace->arena, &trace->gaps, trace->n_gaps, &trace->gaps_room,
                   sizeof *trace->gaps) < 0 ||
        map_put(&trace->gaps_by_hash, hash, trace->n_gaps) < 0) {
        trace->lost_gaps++;
        return;
    }
    trace->gaps[trace->n_gaps++] = gap;
}

void trace_direct(struct trace *trace, uint32_t object, const char *text)
{
    if (object < trace->model->n_objects)
        trace->objects[object].direct = trace_string(trace, text, strlen(text));
}

struct values *trace_values(struct trace *trace)
{
    return &trace->plain;
}

void trace_fact(struct trace *trace, const char *key, uint32_t value)
{
    uint32_t id = trace_string(trace, key, strlen(key));

    if (id == 0 || value == VALUE_ID_FAILED)
        return;
    for (uint32_t i = 0; i < trace->n_facts; i++) {
        if (trace->facts[i].key == id) {
            trace->facts[i].value = value;
            return;
        }
    }
    if (arena_room(&trace->arena, &trace->facts, trace->n_facts, &trace->facts_room,
                   sizeof *trace->facts) == 0)
        trace->facts[trace->n_facts++] = (struct model_fact){.key = id, .value = value};
}

void trace_fact_text(struct trace *trace, const char *key, const char *text)
{
    trace_fact(trace, key, value_str(&trace->plain, str_of(text)));
}

uint32_t trace_open_call(const struct trace *trace, uint32_t thread,
                         uint64_t *ret_serial, uint32_t *ret_place)
{
    const struct trace_stack *stack =
        thread < trace->n_stacks ? &trace->stacks[thread] : NULL;
    const struct trace_frame *top;

    if (!stack || stack->n == 0)
        return RUN_NONE;
    top = &stack->frames[stack->n - 1];
    *ret_serial = top->serial;
    *ret_place = top->place;
    return top->call;
}
