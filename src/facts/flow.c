#include "facts/flow_in.h"

#include "base/map.h"

/* Who gave out a value in a storage, if that is certain for all that lies in it. */
struct holder {
    uint32_t row; /* NO_FLOW: several did */
    uint32_t value;
};

/* Who gave out what, as far as the walk through time has come. */
struct flow_walk {
    struct flow *flow;
    const struct run *run;
    struct arena *arena;
    struct map values;      /* value -> the row that gave it out last */
    struct map storages;    /* storage -> its holder */
    struct holder *holders; /* in an arena of its own, as the maps are */
    uint32_t n_holders, holders_room;
    struct map unknown; /* values of which no row is known -> the call before that had
                           them, or RUN_NONE */
    uint32_t *row_of;   /* by call, from the first inside on: the row it belongs to */
    uint32_t n_inside;  /* how many calls from there on are looked at */
};

static struct flow_row *add_row(struct flow_walk *walk, enum flow_kind kind,
                                uint32_t call)
{
    struct flow *flow = walk->flow;

    if (arena_room(walk->arena, &flow->rows, flow->n, &flow->rows_room,
                   sizeof *flow->rows) < 0)
        return NULL;
    flow->rows[flow->n] = (struct flow_row){
        .kind = (uint8_t)kind, .call = call, .io = RUN_NONE, .from = flow->n_from};
    return &flow->rows[flow->n++];
}

/* An io of this kind with a tensor. An argument that is the same object as one before
 * it says nothing new; a result that is one of the arguments may hold another value. */
static bool counts(const struct run_io *io, enum run_io_kind kind)
{
    return io->kind == kind && io->value != RUN_NONE &&
           !(kind == RUN_IN && io->flags & RUN_IO_SAME);
}

/* --- Who gives out */

/* Did the call of this row overwrite, in place, something in the storage of `value`
 * that is as large? Then all who look there later see what it made. */
static bool overwrote(const struct flow_walk *walk, uint32_t row, uint32_t value)
{
    const struct run *run = walk->run;
    const struct run_call *c = &run->calls[walk->flow->rows[row].call];

    if (walk->flow->rows[row].kind != FLOW_CALL)
        return false;
    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
        const struct run_io *io = &run->ios[i];

        if (io->kind == RUN_IN && io->flags & RUN_IO_REPLACED &&
            io->value != RUN_NONE &&
            run->values[io->value].storage == run->values[value].storage &&
            run->values[io->value].bytes == run->values[value].bytes)
            return true;
    }
    return false;
}

/* A storage is held by the one row that gave out something in it, or by the one that
 * overwrote it. Where a second row gave out another view of it, nobody can tell from
 * which of the two a third view was made. A parameter's storage joins nobody: all who
 * use it only read it. */
static int hold(struct flow_walk *walk, uint32_t value, uint32_t row)
{
    const struct run_value *v = &walk->run->values[value];
    struct holder *holder;
    uint32_t at;

    if (v->storage == RUN_NONE || v->flags & RUN_PARAMETER)
        return 0;
    if (map_find(&walk->storages, v->storage, &at)) {
        holder = &walk->holders[at];
        if ((holder->value != value || holder->row == NO_FLOW) &&
            !overwrote(walk, row, value))
            row = NO_FLOW;
        *holder = (struct holder){row, value};
        return 0;
    }
    if (arena_room(walk->values.arena, &walk->holders, walk->n_holders,
                   &walk->holders_room, sizeof *walk->holders) < 0)
        return -1;
    walk->holders[walk->n_holders] = (struct holder){row, value};
    return map_put(&walk->storages, v->storage, walk->n_holders++);
}

static int give(struct flow_walk *walk, uint32_t value, uint32_t row)
{
    return map_put(&walk->values, value, row) < 0 ? -1 : hold(walk, value, row);
}

/* The row that holds a storage for certain, or NO_FLOW. */
static uint32_t holder_of(const struct flow_walk *walk, uint32_t storage)
{
    uint32_t at;

    if (storage == RUN_NONE || !map_find(&walk->storages, storage, &at))
        return NO_FLOW;
    return walk->holders[at].row;
}

/* What comes out of a call belongs to its row. Of one further inside only what was not
 * known before: a value that it merely passed on did not come from there. */
static int give_results(struct flow_walk *walk, uint32_t call, uint32_t row,
                        bool direct)
{
    const struct run_call *c = &walk->run->calls[call];
    uint32_t before;

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
        const struct run_io *io = &walk->run->ios[i];

        if (!counts(io, RUN_OUT) ||
            (!direct && map_find(&walk->values, io->value, &before)))
            continue;
        if (give(walk, io->value, row) < 0)
            return -1;
    }
    return 0;
}

/* --- Who takes in */

/* Two calls on two threads may overlap: what one gives out at its end did not go into
 * the other at its beginning. */
static bool is_over(const struct flow_walk *walk, uint32_t row, uint32_t user)
{
    const struct flow_row *maker = &walk->flow->rows[row];

    if (maker->kind != FLOW_CALL || walk->flow->rows[user].kind != FLOW_CALL)
        return true;
    return walk->run->calls[maker->call].end_ns <=
           walk->run->calls[walk->flow->rows[user].call].start_ns;
}

static int add_edge(struct flow_walk *walk, uint32_t i, uint32_t user)
{
    struct flow *flow = walk->flow;
    uint32_t value = walk->run->ios[i].value, row;
    const struct run_value *v = &walk->run->values[value];
    uint32_t holder = holder_of(walk, v->storage);
    struct flow_edge edge = {.io = i, .row = NO_FLOW, .call = RUN_NONE};

    if (map_find(&walk->values, value, &row) && is_over(walk, row, user)) {
        edge.row = row;
    } else if (v->flags & RUN_PARAMETER) {
        edge.source = FROM_PARAMETER;
    } else if (holder != NO_FLOW && is_over(walk, holder, user)) {
        edge.row = holder;
        edge.source = FROM_STORAGE;
    } else {
        edge.source = FROM_OPERATION;
        if (map_put(&walk->unknown, value, RUN_NONE) < 0)
            return -1;
    }
    if (arena_room(walk->arena, &flow->from, flow->n_from, &flow->from_room,
                   sizeof *flow->from) < 0)
        return -1;
    flow->from[flow->n_from++] = edge;
    flow->rows[user].n_from++;
    return 0;
}

/* Its arguments; of the last row the results of the module. */
static int take(struct flow_walk *walk, uint32_t user, enum run_io_kind kind)
{
    const struct run_call *c = &walk->run->calls[walk->flow->rows[user].call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (counts(&walk->run->ios[i], kind) && add_edge(walk, i, user) < 0)
            return -1;
    return 0;
}

/* --- The rows */

static int add_inputs(struct flow_walk *walk)
{
    const struct run_call *c = &walk->run->calls[walk->flow->call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
        const struct run_io *io = &walk->run->ios[i];
        struct flow_row *row;
        uint32_t before;

        if (!counts(io, RUN_IN) || map_find(&walk->values, io->value, &before))
            continue;
        row = add_row(walk, FLOW_INPUT, walk->flow->call);
        if (!row || give(walk, io->value, walk->flow->n - 1) < 0)
            return -1;
        row->io = i;
    }
    return 0;
}

/* The row that a call inside the module belongs to; NO_FLOW: it is not inside. A call
 * directly inside it begins one. -1 in *ret_failed: no memory. */
static uint32_t row_of(struct flow_walk *walk, uint32_t call, bool *ret_failed)
{
    const struct flow *flow = walk->flow;
    uint32_t parent = walk->run->calls[call].parent;

    if (parent == flow->call) {
        *ret_failed = !add_row(walk, FLOW_CALL, call);
        return flow->n - 1;
    }
    if (parent == RUN_NONE || parent <= flow->call || parent >= call)
        return NO_FLOW;
    return walk->row_of[parent - flow->call - 1];
}

/* Calls are in the order in which they began, so whatever a call takes in was given out
 * by those before it. What it gives out is entered at once: only those inside it come
 * before its end, and they take nothing that counts. */
static int add_calls(struct flow_walk *walk)
{
    const struct flow *flow = walk->flow;
    bool failed = false;

    for (uint32_t k = 0; k < walk->n_inside; k++) {
        uint32_t call = flow->call + 1 + k, row = row_of(walk, call, &failed);
        bool direct = walk->run->calls[call].parent == flow->call;

        walk->row_of[k] = row;
        if (failed)
            return -1;
        if (row == NO_FLOW)
            continue;
        if ((direct && take(walk, row, RUN_IN) < 0) ||
            give_results(walk, call, row, direct) < 0)
            return -1;
    }
    return 0;
}

static uint32_t count_inside(const struct run *run, uint32_t call)
{
    uint32_t end = call + 1;

    while (end < run->n_calls && run->calls[end].start_ns <= run->calls[call].end_ns)
        end++;
    return end - call - 1;
}

/* --- What is outside */

/* What no row gave out may have come out of a call before: the newest such call. */
static int look_before(struct flow_walk *walk)
{
    const struct run *run = walk->run;
    struct flow *flow = walk->flow;
    uint32_t call;

    for (call = 0; walk->unknown.n > 0 && call < flow->call; call++) {
        const struct run_call *c = &run->calls[call];

        if (c->end_ns > run->calls[flow->call].start_ns)
            continue; /* around it: what comes out of it comes later */
        for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
            uint32_t before;

            if (counts(&run->ios[i], RUN_OUT) &&
                map_find(&walk->unknown, run->ios[i].value, &before) &&
                map_put(&walk->unknown, run->ios[i].value, call) < 0)
                return -1;
        }
    }
    for (uint32_t i = 0; i < flow->n_from; i++) {
        struct flow_edge *edge = &flow->from[i];

        if (edge->source != FROM_OPERATION ||
            !map_find(&walk->unknown, run->ios[edge->io].value, &call) ||
            call == RUN_NONE)
            continue;
        edge->source = FROM_OUTSIDE;
        edge->call = call;
    }
    return 0;
}

/* Does the call have a value of `results` among its ios of this kind? */
static bool has_any(const struct run *run, uint32_t call, enum run_io_kind kind,
                    const struct map *results)
{
    const struct run_call *c = &run->calls[call];
    uint32_t unused;

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (counts(&run->ios[i], kind) && map_find(results, run->ios[i].value, &unused))
            return true;
    return false;
}

/* The first call after it that takes a result of it in, before the call around it ends;
 * else it may be that one's result. */
static int find_next(struct flow_walk *walk)
{
    const struct run *run = walk->run;
    struct flow *flow = walk->flow;
    const struct run_call *c = &run->calls[flow->call];
    uint64_t until = c->parent != RUN_NONE ? run->calls[c->parent].end_ns : UINT64_MAX;
    struct map results;

    map_init(&results, walk->arena);
    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (counts(&run->ios[i], RUN_OUT) &&
            map_put(&results, run->ios[i].value, 0) < 0)
            return -1;
    for (uint32_t k = flow->call + 1; results.n > 0 && k < run->n_calls; k++) {
        if (run->calls[k].start_ns > until)
            break;
        if (run->calls[k].start_ns < c->end_ns || !has_any(run, k, RUN_IN, &results))
            continue;
        flow->next_kind = NEXT_CALL;
        flow->next = k;
        return 0;
    }
    if (c->parent == RUN_NONE) {
        flow->next_kind = NEXT_CALLER;
    } else if (has_any(run, c->parent, RUN_OUT, &results)) {
        flow->next_kind = NEXT_RESULT;
        flow->next = c->parent;
    }
    return 0;
}

/* --- All of it */

/* Who uses what a row gives out: the edges, the other way round, each pair once. */
static int turn_edges(struct flow *flow, struct arena *arena)
{
    uint32_t *newest = arena_array(arena, flow->n + 1, sizeof *newest), at = 0;

    if (!newest)
        return -1;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t r = 0; r < flow->n; r++)
            newest[r] = NO_FLOW;
        for (uint32_t r = 0; r < flow->n; r++) {
            for (uint32_t i = 0; i < flow->rows[r].n_from; i++) {
                uint32_t maker = flow->from[flow->rows[r].from + i].row;

                if (maker == NO_FLOW || newest[maker] == r)
                    continue;
                newest[maker] = r;
                if (fill)
                    flow->to[flow->rows[maker].to + flow->rows[maker].n_to] = r;
                flow->rows[maker].n_to++;
            }
        }
        for (uint32_t r = 0; !fill && r < flow->n; r++) {
            flow->rows[r].to = at;
            at += flow->rows[r].n_to;
            flow->rows[r].n_to = 0;
        }
        if (!fill && !(flow->to = arena_array(arena, at + 1, sizeof *flow->to)))
            return -1;
    }
    flow->n_to = at;
    return 0;
}

/* Calls inside that were merged with others have no row; the time of all calls inside
 * is known. */
static uint64_t missing_ns(const struct flow *flow)
{
    uint64_t sum = 0, all = flow->run->calls[flow->call].children_ns;

    for (uint32_t r = 0; r < flow->n; r++)
        if (flow->rows[r].kind == FLOW_CALL)
            sum += run_inclusive(&flow->run->calls[flow->rows[r].call]);
    return all > sum ? all - sum : 0;
}

static int walk_all(struct flow_walk *walk)
{
    struct flow *flow = walk->flow;

    if (add_inputs(walk) < 0 || add_calls(walk) < 0 ||
        !add_row(walk, FLOW_RESULT, flow->call) || take(walk, flow->n - 1, RUN_OUT) < 0)
        return -1;
    if (look_before(walk) < 0 || find_next(walk) < 0)
        return -1;
    return turn_edges(flow, walk->arena);
}

int flow_make(struct flow *ret_flow, const struct run *run, uint32_t call,
              struct arena *arena, struct err *err)
{
    struct flow_walk walk = {.run = run, .arena = arena, .flow = ret_flow};
    struct arena scratch;
    int failed;

    *ret_flow = (struct flow){.run = run, .call = call, .next = RUN_NONE};
    arena_init(&scratch, 0);
    map_init(&walk.values, &scratch);
    map_init(&walk.storages, &scratch);
    map_init(&walk.unknown, &scratch);
    walk.n_inside = count_inside(run, call);
    walk.row_of = arena_array(&scratch, walk.n_inside + 1, sizeof *walk.row_of);
    failed = !walk.row_of || walk_all(&walk) < 0;
    arena_release(&scratch);
    if (failed)
        return arena_err(arena, "the flow", err);
    ret_flow->missing_ns = missing_ns(ret_flow);
    return flow_lay(ret_flow, arena, err);
}

uint32_t flow_block(const struct run *run, uint32_t call, uint32_t *ret_inner)
{
    uint32_t end = call + 1 + count_inside(run, call);

    *ret_inner = RUN_NONE;
    for (uint32_t k = call + 1; k < end; k++)
        if (run->calls[k].parent == call)
            return call;
    if (run->calls[call].parent == RUN_NONE)
        return call;
    *ret_inner = call;
    return run->calls[call].parent;
}
