/* Light calls: merged at once; only the newest is kept in full. */
#include "run/trace_in.h"

#include <string.h>

#define MOST_IOS    512u /* merged, per object and place */
#define MOST_SHAPES 16u  /* of one io */
#define MOST_WAITS  65536u

/* The index in trace->lights for an object at a place, added if new; RUN_NONE: spent.
 * The list is short: few objects have several places. */
static uint32_t make_light(struct trace *trace, const struct run_call *call)
{
    uint32_t object = call->object;
    struct light light = {.place = call->place,
                          .recomputed = call->flags & RUN_RECOMPUTED,
                          .slots = RUN_NONE};

    for (uint32_t at = trace->objects[object].light; at;
         at = trace->lights[at - 1].next)
        if (trace->lights[at - 1].place == light.place &&
            trace->lights[at - 1].recomputed == light.recomputed)
            return at - 1;
    if (arena_room(&trace->arena, &trace->lights, trace->n_lights, &trace->lights_room,
                   sizeof *trace->lights) < 0)
        return RUN_NONE;
    light.merged = (struct run_merged){
        .object = object, .newest = RUN_NONE, .least_ns = UINT64_MAX};
    light.newest.serial = NO_SERIAL;
    light.next = trace->objects[object].light;
    trace->lights[trace->n_lights++] = light;
    trace->objects[object].light = trace->n_lights;
    return trace->n_lights - 1;
}

/* A free slot, reused or new; RUN_NONE: spent. */
static uint32_t free_slot(struct trace *trace, uint32_t index)
{
    struct light *light = &trace->lights[index];
    uint32_t slot = light->slots;

    for (; slot != RUN_NONE; slot = trace->slots[slot].next)
        if (!trace->slots[slot].open)
            return slot;
    if (trace->n_slots >= TRACE_LIGHT - 1 ||
        arena_room(&trace->arena, &trace->slots, trace->n_slots, &trace->slots_room,
                   sizeof *trace->slots) < 0)
        return RUN_NONE;
    slot = trace->n_slots++;
    trace->slots[slot] = (struct light_slot){
        .object = light->merged.object, .light = index, .next = light->slots};
    light->slots = slot;
    return slot;
}

uint32_t light_begin(struct trace *trace, const struct run_call *call,
                     uint64_t parent_serial, struct repeated repeats)
{
    struct light_slot *slot;
    uint32_t light = make_light(trace, call);
    uint32_t id = light == RUN_NONE ? RUN_NONE : free_slot(trace, light);

    if (id == RUN_NONE)
        return RUN_NONE;
    slot = &trace->slots[id];
    slot->open = true;
    slot->now.call = *call;
    slot->now.call.flags |= RUN_LIGHT;
    slot->now.serial = trace->serial;
    slot->now.parent_serial = parent_serial;
    slot->now.repeats = repeats;
    slot->now.n_ios = 0;
    return TRACE_LIGHT | id;
}

struct light_slot *light_slot(struct trace *trace, uint32_t call)
{
    uint32_t slot = call & ~TRACE_LIGHT;

    return slot < trace->n_slots ? &trace->slots[slot] : NULL;
}

/* The light call with this number and serial, if it is open or the newest of its light;
 * NULL: it was merged. */
static struct light_call *call_of(struct trace *trace, uint32_t call, uint64_t serial)
{
    struct light_slot *slot = light_slot(trace, call);
    struct light *light;

    if (!slot)
        return NULL;
    if (slot->open && (serial == NO_SERIAL || slot->now.serial == serial))
        return &slot->now;
    light = &trace->lights[slot->light];
    return serial != NO_SERIAL && light->newest.serial == serial ? &light->newest
                                                                 : NULL;
}

struct run_call *light_record(struct trace *trace, uint32_t call, uint64_t serial)
{
    struct light_call *found = call_of(trace, call, serial);

    return found ? &found->call : NULL;
}

struct repeated light_repeats(struct trace *trace, uint32_t call, uint64_t serial)
{
    struct light_call *found = call_of(trace, call, serial);

    return found ? found->repeats : (struct repeated){.call = RUN_NONE};
}

void light_end(struct trace *trace, uint32_t call, bool nested)
{
    struct light_slot *slot = light_slot(trace, call);
    struct light *light = &trace->lights[slot->light];
    struct run_merged *merged = &light->merged;
    uint64_t inclusive = run_inclusive(&slot->now.call);
    struct light_call before = light->newest;

    merged->calls++;
    merged->inclusive_ns += nested ? 0 : inclusive;
    merged->exclusive_ns += run_exclusive(&slot->now.call);
    if (inclusive < merged->least_ns)
        merged->least_ns = inclusive;
    if (inclusive > merged->most_ns)
        merged->most_ns = inclusive;
    merged->out_bytes += slot->now.call.out_bytes;
    merged->new_bytes += slot->now.call.new_bytes;
    slot->open = false;
    /* Swap it with the newest so far, whose memory the next call reuses. The newest
     * call is the one that ended last: see run_is_newer(). */
    light->newest = slot->now;
    slot->now = before;
    slot->now.n_ios = 0;
}

/* ---- ios ---- */

static struct light_io *find_io(struct trace *trace, struct light *light,
                                const struct run_io *io)
{
    uint32_t i;

    for (uint32_t k = 0; k < light->n_ios; k++) {
        i = (light->cursor + k) % light->n_ios;
        if (light->ios[i].kind == io->kind && light->ios[i].path == io->path) {
            light->cursor = i + 1;
            return &light->ios[i];
        }
    }
    if (light->n_ios >= MOST_IOS ||
        arena_room(&trace->arena, &light->ios, light->n_ios, &light->ios_room,
                   sizeof *light->ios) < 0) {
        trace->lost_ios++;
        return NULL;
    }
    light->ios[light->n_ios] = (struct light_io){.kind = io->kind, .path = io->path};
    light->cursor = light->n_ios + 1;
    return &light->ios[light->n_ios++];
}

static void merge_stats(struct light_io *io, const struct stats *stats)
{
    struct stats more = *stats;

    if (!io->measured) {
        io->stats = more;
        io->measured = true;
        return;
    }
    /* If a path had integers in one call and reals in another, use reals. */
    if (io->stats.kind != more.kind)
        io->stats.kind = more.kind = STATS_REAL;
    stats_merge(&io->stats, &more, 0);
}

static void merge_shape(struct trace *trace, struct light_io *io, const int64_t *sizes,
                        int rank)
{
    int64_t *shape;

    for (uint32_t i = 0; i < io->n_shapes; i++)
        if (io->shapes[i][0] == rank &&
            (rank == 0 ||
             memcmp(io->shapes[i] + 1, sizes, (size_t)rank * sizeof *sizes) == 0))
            return;
    if (io->n_shapes >= MOST_SHAPES)
        return;
    shape = arena_array(&trace->arena, (size_t)rank + 1, sizeof *shape);
    if (!shape)
        return;
    shape[0] = rank;
    if (rank)
        memcpy(shape + 1, sizes, (size_t)rank * sizeof *sizes);
    io->shapes[io->n_shapes++] = shape;
}

static void add_to_call(struct trace *trace, struct light_call *call,
                        const struct run_io *io)
{
    if (call->n_ios >= MOST_IOS || arena_room(&trace->arena, &call->ios, call->n_ios,
                                              &call->ios_room, sizeof *call->ios) < 0) {
        trace->lost_ios++;
        return;
    }
    call->ios[call->n_ios++] = *io;
}

/* The value's statistics have not arrived from the device: merge them later. */
static void wait_for(struct trace *trace, uint32_t light, const struct light_io *io,
                     uint32_t value)
{
    if (trace->n_waits < MOST_WAITS &&
        arena_room(&trace->arena, &trace->waits, trace->n_waits, &trace->waits_room,
                   sizeof *trace->waits) == 0)
        trace->waits[trace->n_waits++] =
            (struct light_wait){.light = light,
                                .io = (uint32_t)(io - trace->lights[light].ios),
                                .value = value};
}

void light_io(struct trace *trace, uint32_t call, uint64_t serial,
              const struct run_io *io)
{
    struct light_slot *slot = light_slot(trace, call);
    struct light_call *record = call_of(trace, call, serial);
    struct io_bytes bytes = trace_io_bytes(trace, io);
    const struct run_value *value;
    struct light_io *merged;

    if (!slot)
        return;
    if (record) {
        add_to_call(trace, record, io);
        record->call.out_bytes += bytes.out;
        record->call.new_bytes += bytes.fresh;
    }
    merged = find_io(trace, &trace->lights[slot->light], io);
    if (!merged || io->value >= trace->n_values)
        return;
    value = &trace->values[io->value];
    merge_shape(trace, merged, trace->dims + value->shape, value->rank);
    if (value->stats != RUN_NONE)
        merge_stats(merged, &trace->stats[io->value]);
    else if (value->why == 0)
        wait_for(trace, slot->light, merged, io->value);
}

void trace_settle(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->n_waits; i++) {
        const struct light_wait *wait = &trace->waits[i];

        if (trace->values[wait->value].stats != RUN_NONE)
            merge_stats(&trace->lights[wait->light].ios[wait->io],
                        &trace->stats[wait->value]);
    }
    trace->n_waits = 0;
}
