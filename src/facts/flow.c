#include "facts/flow_in.h"

/* The operations of such calls were not recorded, or not separately. */
#define UNSEEN (RUN_LIGHT | RUN_COMPILED | RUN_FUSED | RUN_SCRIPTED)

/* The row that produced the values of a storage, if that is certain. */
struct flow_holder {
    uint32_t row; /* NO_FLOW: several rows did */
    uint32_t value;
};

struct flow_row *flow_add_row(struct flow_walk *walk, enum flow_kind kind,
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

bool flow_counts(const struct run_io *io, enum run_io_kind kind)
{
    return io->kind == kind && io->value != RUN_NONE &&
           !(kind == RUN_IN && io->flags & RUN_IO_SAME);
}

/* --- Producers */

/* Did the call of this row overwrite, in place, a value of equal size in the storage of
 * `value`? Then later readers of the storage see its result. */
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

/* A storage is held by the single row that returned a value in it, or by the row that
 * overwrote it. If a second row returned another view, the origin of a third view is
 * ambiguous. The storage of a parameter has no holder: its users only read it. */
static int hold(struct flow_walk *walk, uint32_t value, uint32_t row)
{
    const struct run_value *v = &walk->run->values[value];
    struct flow_holder *holder;
    uint32_t at;

    if (v->storage == RUN_NONE || v->flags & RUN_PARAMETER)
        return 0;
    if (map_find(&walk->storages, v->storage, &at)) {
        holder = &walk->holders[at];
        if ((holder->value != value || holder->row == NO_FLOW) &&
            !overwrote(walk, row, value))
            row = NO_FLOW;
        *holder = (struct flow_holder){row, value};
        return 0;
    }
    if (arena_room(walk->scratch, &walk->holders, walk->n_holders, &walk->holders_room,
                   sizeof *walk->holders) < 0)
        return -1;
    walk->holders[walk->n_holders] = (struct flow_holder){row, value};
    return map_put(&walk->storages, v->storage, walk->n_holders++);
}

static int give(struct flow_walk *walk, uint32_t value, uint32_t row)
{
    return map_put(&walk->values, value, row) < 0 ? -1 : hold(walk, value, row);
}

/* The row known to hold a storage, or NO_FLOW. */
static uint32_t holder_of(const struct flow_walk *walk, uint32_t storage)
{
    uint32_t at;

    if (storage == RUN_NONE || !map_find(&walk->storages, storage, &at))
        return NO_FLOW;
    return walk->holders[at].row;
}

/* For a nested call, only new values: it did not produce a value that it merely passed
 * on. */
int flow_give_results(struct flow_walk *walk, uint32_t call, uint32_t row, bool direct)
{
    const struct run_call *c = &walk->run->calls[call];
    uint32_t before;

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
        const struct run_io *io = &walk->run->ios[i];

        if (!flow_counts(io, RUN_OUT) ||
            (!direct && map_find(&walk->values, io->value, &before)))
            continue;
        if (give(walk, io->value, row) < 0)
            return -1;
    }
    return 0;
}

/* --- Users */

/* Calls on two threads may overlap: a value returned at the end of one cannot be an
 * input at the start of the other. */
static bool is_over(const struct flow_walk *walk, uint32_t row, uint32_t user)
{
    const struct flow_row *maker = &walk->flow->rows[row];

    if (maker->kind != FLOW_CALL || walk->flow->rows[user].kind != FLOW_CALL)
        return true;
    return walk->run->calls[maker->call].end_ns <=
           walk->run->calls[walk->flow->rows[user].call].start_ns;
}

int flow_add_edge(struct flow_walk *walk, const struct flow_edge *edge, uint32_t user)
{
    struct flow *flow = walk->flow;

    if (arena_room(walk->arena, &flow->from, flow->n_from, &flow->from_room,
                   sizeof *flow->from) < 0)
        return -1;
    flow->from[flow->n_from++] = *edge;
    flow->rows[user].n_from++;
    return 0;
}

int flow_take_io(struct flow_walk *walk, uint32_t i, uint32_t user)
{
    uint32_t value = walk->run->ios[i].value, row;
    const struct run_value *v = &walk->run->values[value];
    uint32_t holder = holder_of(walk, v->storage);
    struct flow_edge edge = {
        .io = i, .op_io = RUN_NONE, .row = NO_FLOW, .call = RUN_NONE, .op = RUN_NONE};

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
    return flow_add_edge(walk, &edge, user);
}

/* Add the arguments of a row; for the last row, the results of the module. */
static int take(struct flow_walk *walk, uint32_t user, enum run_io_kind kind)
{
    const struct run_call *c = &walk->run->calls[walk->flow->rows[user].call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (flow_counts(&walk->run->ios[i], kind) && flow_take_io(walk, i, user) < 0)
            return -1;
    return 0;
}

/* --- The rows */

int flow_add_inputs(struct flow_walk *walk)
{
    const struct run_call *c = &walk->run->calls[walk->flow->call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
        const struct run_io *io = &walk->run->ios[i];
        struct flow_row *row;
        uint32_t before;

        if (!flow_counts(io, RUN_IN) || map_find(&walk->values, io->value, &before))
            continue;
        row = flow_add_row(walk, FLOW_INPUT, walk->flow->call);
        if (!row || give(walk, io->value, walk->flow->n - 1) < 0)
            return -1;
        row->io = i;
    }
    return 0;
}

uint32_t flow_call_row(struct flow_walk *walk, uint32_t call, bool *ret_failed)
{
    const struct flow *flow = walk->flow;
    uint32_t parent = walk->run->calls[call].parent;

    if (parent == flow->call) {
        *ret_failed = !flow_add_row(walk, FLOW_CALL, call);
        return flow->n - 1;
    }
    if (parent == RUN_NONE || parent <= flow->call || parent >= call)
        return NO_FLOW;
    return walk->row_of[parent - flow->call - 1];
}

/* Calls are sorted by start, so earlier calls returned all inputs of a call. Results
 * are entered at the start of their call: only calls nested in it start before it ends,
 * and their inputs do not count. */
static int add_calls(struct flow_walk *walk)
{
    const struct flow *flow = walk->flow;
    bool failed = false;

    for (uint32_t k = 0; k < walk->n_inside; k++) {
        uint32_t call = flow->call + 1 + k, row = flow_call_row(walk, call, &failed);
        bool direct = walk->run->calls[call].parent == flow->call;

        walk->row_of[k] = row;
        if (failed)
            return -1;
        if (row == NO_FLOW)
            continue;
        if ((direct && take(walk, row, RUN_IN) < 0) ||
            flow_give_results(walk, call, row, direct) < 0)
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

/* --- Calls outside */

/* For values without a row, find the newest earlier call that returned them. */
static int look_before(struct flow_walk *walk)
{
    const struct run *run = walk->run;
    struct flow *flow = walk->flow;
    uint32_t call;

    for (call = 0; walk->unknown.n > 0 && call < flow->call; call++) {
        const struct run_call *c = &run->calls[call];

        if (c->end_ns > run->calls[flow->call].start_ns)
            continue; /* enclosing call: it returns later */
        for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
            uint32_t before;

            if (flow_counts(&run->ios[i], RUN_OUT) &&
                map_find(&walk->unknown, run->ios[i].value, &before) &&
                map_put(&walk->unknown, run->ios[i].value, call) < 0)
                return -1;
        }
    }
    for (uint32_t i = 0; i < flow->n_from; i++) {
        struct flow_edge *edge = &flow->from[i];

        if (edge->source != FROM_OPERATION || edge->io == RUN_NONE ||
            !map_find(&walk->unknown, run->ios[edge->io].value, &call) ||
            call == RUN_NONE)
            continue;
        edge->source = FROM_OUTSIDE;
        edge->call = call;
    }
    return 0;
}

/* Is one of `results` among the ios of this kind? */
static bool has_any(const struct run *run, uint32_t call, enum run_io_kind kind,
                    const struct map *results)
{
    const struct run_call *c = &run->calls[call];
    uint32_t unused;

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (flow_counts(&run->ios[i], kind) &&
            map_find(results, run->ios[i].value, &unused))
            return true;
    return false;
}

/* Find the first operation of the enclosing call that reads one of its results, unless
 * a call did before. */
static int find_next_op(struct flow_walk *walk)
{
    const struct run *run = walk->run;
    struct flow *flow = walk->flow;
    const struct run_call *c = &run->calls[flow->call];
    uint64_t until =
        flow->next != RUN_NONE ? run->calls[flow->next].start_ns : UINT64_MAX;
    struct map results;
    uint32_t unused;

    if (!flow->has_ops || c->parent == RUN_NONE)
        return 0;
    map_init(&results, walk->scratch);
    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (flow_counts(&run->ios[i], RUN_OUT) &&
            map_put(&results, run->values[run->ios[i].value].op_value, 0) < 0)
            return -1;
    for (uint32_t i = 0; i < run->ops->n_ops; i++) {
        const struct run_op *op = &run->ops->ops[i];
        const struct run_op_io *io;

        if (op->call != c->parent || op->start_ns < c->end_ns || op->start_ns > until ||
            !flow_op_counts(run, op, c->parent))
            continue;
        for (uint32_t at = 0; (io = op_next(run, op, OP_IN, &at));)
            if (map_find(&results, io->value, &unused)) {
                flow->next_kind = NEXT_OP;
                flow->next = c->parent;
                flow->next_op = i;
                return 0;
            }
    }
    return 0;
}

/* Find the first later call that uses one of its results, before the enclosing call
 * ends; else the result may be that of the enclosing call. */
static int find_next(struct flow_walk *walk)
{
    const struct run *run = walk->run;
    struct flow *flow = walk->flow;
    const struct run_call *c = &run->calls[flow->call];
    uint64_t until = c->parent != RUN_NONE ? run->calls[c->parent].end_ns : UINT64_MAX;
    struct map results;

    map_init(&results, walk->arena);
    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (flow_counts(&run->ios[i], RUN_OUT) &&
            map_put(&results, run->ios[i].value, 0) < 0)
            return -1;
    for (uint32_t k = flow->call + 1; results.n > 0 && k < run->n_calls; k++) {
        if (run->calls[k].start_ns > until)
            break;
        if (run->calls[k].start_ns < c->end_ns || !has_any(run, k, RUN_IN, &results))
            continue;
        flow->next_kind = NEXT_CALL;
        flow->next = k;
        break;
    }
    if (find_next_op(walk) < 0)
        return -1;
    if (flow->next_kind != NEXT_UNKNOWN)
        return 0;
    if (c->parent == RUN_NONE) {
        flow->next_kind = NEXT_CALLER;
    } else if (has_any(run, c->parent, RUN_OUT, &results)) {
        flow->next_kind = NEXT_RESULT;
        flow->next = c->parent;
    }
    return 0;
}

/* --- The whole flow */

/* The users of each row's results: the reversed edges, without duplicates. */
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

/* Merged calls inside have no row, but the total time of all calls inside is known. */
static uint64_t missing_ns(const struct flow *flow)
{
    uint64_t sum = 0, all = flow->run->calls[flow->call].children_ns;

    for (uint32_t r = 0; r < flow->n; r++)
        if (flow->rows[r].kind == FLOW_CALL)
            sum += run_inclusive(&flow->run->calls[flow->rows[r].call]);
    return all > sum ? all - sum : 0;
}

/* Does one of the recorded operations belong to this call or to one of the `inside`
 * calls that follow it? */
static bool has_ops(const struct run *run, uint32_t call, uint32_t inside)
{
    for (uint32_t i = 0; run->ops && i < run->ops->n_ops; i++)
        if (run->ops->ops[i].call >= call && run->ops->ops[i].call <= call + inside &&
            flow_op_counts(run, &run->ops->ops[i], call))
            return true;
    return false;
}

/* Is it certain that nothing was computed in this call? Operations of merged calls and
 * those beyond the limit belong to no call. */
static bool has_none(const struct run *run, uint32_t call)
{
    return run->ops && run->ops->lost == 0 && !(run->calls[call].flags & UNSEEN);
}

static int walk_all(struct flow_walk *walk)
{
    struct flow *flow = walk->flow;

    if (flow->has_ops) {
        if (flow_walk_ops(walk) < 0 || flow_fold(flow, walk->arena, walk->scratch) < 0)
            return -1;
    } else if (flow_add_inputs(walk) < 0 || add_calls(walk) < 0 ||
               !flow_add_row(walk, FLOW_RESULT, flow->call) ||
               take(walk, flow->n - 1, RUN_OUT) < 0) {
        return -1;
    }
    if (look_before(walk) < 0 || find_next(walk) < 0)
        return -1;
    return turn_edges(flow, walk->arena);
}

int flow_make(struct flow *ret_flow, const struct run *run, uint32_t call,
              struct arena *arena, struct err *err)
{
    struct arena scratch;
    struct flow_walk walk = {
        .run = run, .arena = arena, .scratch = &scratch, .flow = ret_flow};
    int failed;

    *ret_flow =
        (struct flow){.run = run, .call = call, .next = RUN_NONE, .next_op = RUN_NONE};
    arena_init(&scratch, 0);
    map_init(&walk.values, &scratch);
    map_init(&walk.storages, &scratch);
    map_init(&walk.unknown, &scratch);
    walk.n_inside = count_inside(run, call);
    ret_flow->has_ops = has_ops(run, call, walk.n_inside) || has_none(run, call);
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
    if (run->calls[call].parent == RUN_NONE || has_ops(run, call, 0))
        return call;
    *ret_inner = call;
    return run->calls[call].parent;
}
