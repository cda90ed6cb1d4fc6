/* Calls of modules. The nodes of a module are mostly adjacent. If other nodes are in
 * between, they still belong to one call unless its later nodes depend on those others:
 * the call can be drawn as one box. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/walk_in.h"

#define CALL_DEPTH 40 /* depth of modules and functions */

uint32_t walk_call_new(struct onnx_walk *w, uint32_t parent, uint32_t place,
                       uint32_t region)
{
    uint32_t depth = parent == PROGRAM_NONE ? 0 : w->call_infos[parent].depth + 1;
    struct program_call call = {.place = place,
                                .parent = parent,
                                .region = region,
                                .method = w->program->method,
                                .ops = w->program->n_ops,
                                .end = w->program->n_ops};
    uint32_t i;

    if (arena_room(w->p->arena, &w->call_infos, w->n_call_infos, &w->call_infos_room,
                   sizeof *w->call_infos) < 0)
        w->stop = true;
    i = w->stop ? PROGRAM_NONE : build_program_call(w->build, &call);
    if (i == PROGRAM_NONE) {
        w->stop = true;
        return i;
    }
    w->call_infos[w->n_call_infos++].depth = depth;
    if (parent != PROGRAM_NONE &&
        map_put(&w->calls, (uint64_t)parent << 32 | place, i) < 0)
        w->stop = true;
    return i;
}

void walk_call_grow(struct onnx_walk *w, uint32_t call)
{
    for (; call != PROGRAM_NONE; call = w->program->calls[call].parent)
        w->program->calls[call].end = w->program->n_ops;
}

static bool is_inside(const struct onnx_walk *w, uint32_t call, uint32_t outer)
{
    while (call != PROGRAM_NONE && call > outer)
        call = w->program->calls[call].parent;
    return call == outer;
}

/* May a node that reads these values belong to an earlier call? All values must come
 * from inside the call, or from before it. */
static bool fits(const struct onnx_walk *w, uint32_t call, const uint32_t *inputs,
                 uint32_t n)
{
    uint32_t begin = w->program->calls[call].ops;

    if (w->program->calls[call].end == w->program->n_ops)
        return true; /* no other operation is in between */
    for (uint32_t i = 0; i < n; i++) {
        const struct walk_value *value;

        if (inputs[i] == PROGRAM_NONE)
            continue;
        value = &w->values[inputs[i]];
        if (!value->plain && value->op > begin && !is_inside(w, value->call, call))
            return false;
    }
    return true;
}

uint32_t walk_call_of(struct onnx_walk *w, const struct onnx_frame *frame,
                      uint32_t place, const uint32_t *inputs, uint32_t n)
{
    uint32_t path[CALL_DEPTH], n_path = 0, call = frame->call;
    uint32_t base = w->program->calls[call].place;
    bool again = true;

    while (place != NO_PLACE && place != base && n_path < CALL_DEPTH) {
        path[n_path++] = place;
        place = onnx_above(w->m, place);
    }
    if (place != base || w->call_infos[call].depth + n_path > CALL_DEPTH)
        return call; /* the module is not inside the one that is running */
    while (n_path-- > 0 && !w->stop) {
        uint64_t key = (uint64_t)call << 32 | path[n_path];
        uint32_t before;

        again = again && map_find(&w->calls, key, &before) &&
                w->program->calls[before].region == frame->region &&
                fits(w, before, inputs, n);
        call = again ? before : walk_call_new(w, call, path[n_path], frame->region);
    }
    return call;
}

/* ---- inputs and outputs ---- */

struct call_io {
    uint32_t call, value;
    bool out;
};

struct ends {
    struct onnx_walk *w;
    struct call_io *ios;
    uint32_t n, room;
    uint32_t *count; /* by call: 2 numbers, of inputs and outputs */
};

static int add_end(struct ends *e, uint32_t call, uint32_t value, bool out)
{
    uint64_t key = hash_mix(hash_mix(hash_u64(call), value), out);
    uint32_t before;

    if (map_find(&e->w->call_ios, key, &before))
        return 0;
    if (map_put(&e->w->call_ios, key, 1) < 0 ||
        arena_room(e->w->p->arena, &e->ios, e->n, &e->room, sizeof *e->ios) < 0)
        return -1;
    e->ios[e->n++] = (struct call_io){call, value, out};
    e->count[2 * call + out]++;
    return 0;
}

/* A value made in call `from` and read in call `to` is an output of the calls that
 * contain only the first, and an input of those that contain only the second. */
static int cross(struct ends *e, uint32_t from, uint32_t to, uint32_t value)
{
    const struct program_call *calls = e->w->program->calls;
    const struct walk_call *infos = e->w->call_infos;

    while (from != to) {
        bool up = infos[from].depth >= infos[to].depth;
        uint32_t *side = up ? &from : &to;

        if (*side == 0 || add_end(e, *side, value, up) < 0)
            return *side == 0 ? 0 : -1;
        *side = calls[*side].parent;
    }
    return 0;
}

static int find_ends(struct ends *e)
{
    const struct program *program = e->w->program;

    for (uint32_t i = 0; i < program->n_ops; i++)
        for (uint32_t k = 0; k < program->ops[i].n_in; k++) {
            uint32_t value = program->ios[program->ops[i].io + k].value;

            if (program->values[value].kind != PROGRAM_TENSOR &&
                cross(e, e->w->values[value].call, program->ops[i].call, value) < 0)
                return -1;
        }
    /* Merged values are outputs of their branch; so are the results of the program. */
    for (uint32_t i = 0; i < program->n_values; i++)
        for (uint32_t k = 0; k < program->values[i].n_sources; k++) {
            uint32_t source = program->sources[program->values[i].sources + k];

            if (cross(e, e->w->values[source].call, e->w->values[i].call, source) < 0)
                return -1;
        }
    for (uint32_t i = 0; i < program->calls[0].n_out; i++) {
        uint32_t value =
            program->ios[program->calls[0].io + program->calls[0].n_in + i].value;

        if (cross(e, e->w->values[value].call, 0, value) < 0)
            return -1;
    }
    return 0;
}

/* Sorts the ios by call, inputs first, and adds them. */
static int set_ends(struct ends *e)
{
    const struct program *program = e->w->program;
    uint32_t n_slots = 2 * program->n_calls, sum = 0;
    struct program_io *sorted =
        arena_array(e->w->p->arena, (size_t)e->n + 1, sizeof *sorted);
    uint32_t *at = arena_array(e->w->p->arena, (size_t)n_slots + 1, sizeof *at);

    if (!sorted || !at)
        return -1;
    for (uint32_t i = 0; i < n_slots; i++) {
        at[i] = sum;
        sum += e->count[i];
    }
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t slot = 2 * e->ios[i].call + e->ios[i].out;

        sorted[at[slot]++] = (struct program_io){e->ios[i].value, 0, PROGRAM_NONE};
    }
    for (uint32_t call = 1, from = at[1]; call < program->n_calls; call++) {
        uint32_t n_in = at[2 * call] - from, n_out = at[2 * call + 1] - at[2 * call];

        for (uint32_t i = 0; i < n_in && n_in <= UINT16_MAX; i++)
            sorted[from + i].arg = walk_position(e->w, i);
        if (build_program_call_ios(e->w->build, call, sorted + from, n_in, n_out) < 0 &&
            n_in <= UINT16_MAX && n_out <= UINT16_MAX)
            return -1;
        from = at[2 * call + 1];
    }
    return 0;
}

int walk_call_ends(struct onnx_walk *w)
{
    struct ends e = {.w = w};

    e.count =
        arena_array(w->p->arena, 2 * (size_t)w->program->n_calls + 2, sizeof *e.count);
    return e.count && find_ends(&e) == 0 && set_ends(&e) == 0 ? 0 : -1;
}
