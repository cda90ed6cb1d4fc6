/* Norms from calls: the gradients of their arguments (through the call only) and of
 * their results. */
#include "study/grad_paths_in.h"

#include <math.h>

/* Calls nested deeper than this are not followed. */
#define DEEPEST 256

const struct grad_call *grad_find_call(const struct grad_paths *paths, uint32_t value,
                                       uint32_t call)
{
    uint32_t at;

    return map_find(&paths->by_call, (uint64_t)value << 32 | call, &at)
               ? &paths->calls[at]
               : NULL;
}

/* Finds or makes the entry of a value and a call; NULL: out of memory. */
static struct grad_call *entry(struct grad_paths *paths, uint32_t value, uint32_t call)
{
    uint64_t key = (uint64_t)value << 32 | call;
    uint32_t at;

    if (map_find(&paths->by_call, key, &at))
        return &paths->calls[at];
    if (arena_room(paths->by_call.arena, &paths->calls, paths->n_calls,
                   &paths->calls_room, sizeof *paths->calls) < 0 ||
        map_put(&paths->by_call, key, paths->n_calls) < 0)
        return NULL;
    paths->calls[paths->n_calls] = (struct grad_call){
        .value = value, .call = call, .use = RUN_NONE, .in = NAN, .out = NAN};
    return &paths->calls[paths->n_calls++];
}

/* Enters the calls around each use. */
static int enter_uses(struct grad_paths *paths)
{
    const struct run *run = paths->run;

    for (uint32_t i = 0; i < paths->first[paths->n_values]; i++) {
        const struct grad_use *use = &paths->uses[i];
        uint32_t call = run->ops->ops[use->op].call;
        int depth = 0;

        for (; call < run->n_calls && depth < DEEPEST; depth++) {
            struct grad_call *of = entry(paths, use->value, call);

            if (!of)
                return -1;
            of->n_uses++;
            of->use = i;
            call = run->calls[call].parent;
        }
        if (call < run->n_calls)
            paths->hidden[use->value] = true;
    }
    return 0;
}

/* The value index of an io, as in `paths`, or RUN_NONE. */
static uint32_t value_of(const struct grad_paths *paths, const struct run_io *io)
{
    uint32_t value = io->value;

    if (value < paths->run->n_values && paths->run->ops)
        value = paths->run->values[value].op_value;
    return value < paths->n_values ? value : RUN_NONE;
}

static double norm_of(const struct run *run, uint32_t value)
{
    if (value >= run->n_values || run->values[value].flags & RUN_SAMPLED)
        return NAN;
    return grad_norm(run, run->values[value].stats);
}

/* The ios of all calls by call and path. */
static int map_ios(struct grad_paths *paths, struct map *ins, struct map *outs)
{
    const struct run *run = paths->run;

    for (uint32_t i = 0; i < run->n_ios; i++) {
        const struct run_io *io = &run->ios[i];
        uint64_t key = (uint64_t)io->call << 32 | io->path;
        struct grad_call *of;

        if (value_of(paths, io) == RUN_NONE || io->kind > RUN_OUT)
            continue;
        if (map_put(io->kind == RUN_IN ? ins : outs, key, i) < 0)
            return -1;
        if (io->kind == RUN_IN)
            continue;
        of = entry(paths, value_of(paths, io), io->call);
        if (!of)
            return -1;
        of->returned = true;
    }
    return 0;
}

static int enter_gradients(struct grad_paths *paths, const struct map *ins,
                           const struct map *outs)
{
    const struct run *run = paths->run;

    for (uint32_t i = 0; i < run->n_ios; i++) {
        const struct run_io *io = &run->ios[i];
        bool in = io->kind == RUN_GRAD_IN;
        struct grad_call *of;
        uint32_t at;

        if (!in && io->kind != RUN_GRAD_OUT)
            continue;
        paths->any = true;
        if (!map_find(in ? ins : outs, (uint64_t)io->call << 32 | io->path, &at))
            continue;
        of = entry(paths, value_of(paths, &run->ios[at]), io->call);
        if (!of)
            return -1;
        *(in ? &of->in : &of->out) = norm_of(run, io->value);
        (*(in ? &of->n_in : &of->n_out))++;
    }
    return 0;
}

static bool is_inside(const struct run *run, uint32_t op, uint32_t call)
{
    uint32_t at = run->ops->ops[op].call;

    for (int depth = 0; at < run->n_calls && at > call && depth < DEEPEST; depth++)
        at = run->calls[at].parent;
    return at == call;
}

/* The gradient of a result comes from its uses outside of the call that made it. */
static void know_result(struct grad_paths *paths, const struct grad_call *of)
{
    uint32_t outside = grad_count_uses(paths, of->value) - of->n_uses;

    if (of->n_uses == 0)
        paths->total[of->value] = of->out;
    if (outside != 1)
        return;
    for (uint32_t i = paths->first[of->value]; i < paths->first[of->value + 1]; i++)
        if (!is_inside(paths->run, paths->uses[i].op, of->call))
            paths->uses[i].l2 = of->out;
}

/* The gradient of an argument comes from its uses inside of the call. */
static void know_argument(struct grad_paths *paths, const struct grad_call *of)
{
    if (of->n_uses == 1)
        paths->uses[of->use].l2 = of->in;
    if (of->n_uses == grad_count_uses(paths, of->value) && of->n_uses > 0)
        paths->total[of->value] = of->in;
}

/* Sets the norms of uses and values from calls. Several gradients come from several
 * backwards: none of them is the whole. */
static void know(struct grad_paths *paths)
{
    const struct run_ops *ops = paths->run->ops;

    for (uint32_t i = 0; i < paths->n_calls; i++) {
        const struct grad_call *of = &paths->calls[i];
        uint32_t producer = ops->values[of->value].producer;
        bool made = producer != RUN_NONE && is_inside(paths->run, producer, of->call);

        if (paths->hidden[of->value])
            continue;
        if (of->n_out == 1 && made && !isnan(of->out))
            know_result(paths, of);
        if (of->n_in == 1 && !made && !of->returned && !isnan(of->in))
            know_argument(paths, of);
    }
}

int grad_from_calls(struct grad_paths *paths, struct arena *scratch)
{
    struct map ins, outs;

    map_init(&ins, scratch);
    map_init(&outs, scratch);
    if (paths->run->ops && enter_uses(paths) < 0)
        return -1;
    if (map_ios(paths, &ins, &outs) < 0 || enter_gradients(paths, &ins, &outs) < 0)
        return -1;
    if (paths->run->ops)
        know(paths);
    return 0;
}
