/* The flow of a call with recorded operations. An operation directly in the call has a
 * row; one in a nested call belongs to the row of that call. Each value names the
 * operations that made it, so every edge is known. */
#include "facts/flow_in.h"

#define MOST_MAKERS 32 /* of one value that was written in parts */

struct flow_ops_walk {
    struct flow_walk *walk;
    const struct run *run;
    const struct run_ops *ops;
    struct flow *flow;
    struct map given;   /* value of operations -> the argument of the module, or the
                           row of the call that returned it last */
    struct map again;   /* value of operations -> the row of the last operation that
                           returned it after an earlier one had made it: a view of the
                           same weight in each pass */
    struct map aliases; /* storage and write -> the argument of the module in it */
    uint32_t *row_of;   /* by operation; NO_FLOW: not inside */
    uint32_t *inside;   /* the operations of calls inside, by row */
    uint32_t *begin;    /* by row: the first of them; one more for the end */
    uint32_t *newest;   /* by row: the last user that an edge was made for */
};

bool flow_op_counts(const struct run *run, const struct run_op *op, uint32_t call)
{
    enum op_phase phase =
        run->calls[call].flags & RUN_RECOMPUTED ? OP_RECOMPUTE : OP_FORWARD;

    return op->phase == phase && op->call != RUN_NONE;
}

static bool is_direct(const struct flow_ops_walk *w, uint32_t op)
{
    return w->ops->ops[op].call == w->flow->call &&
           flow_op_counts(w->run, &w->ops->ops[op], w->flow->call);
}

/* --- Rows */

static int add_op(struct flow_ops_walk *w, uint32_t op)
{
    struct flow *flow = w->flow;
    struct flow_row *row = flow_add_row(w->walk, FLOW_OP, flow->call);

    if (!row)
        return -1;
    row->ops = flow->n_ops;
    row->n_ops = 1;
    flow->ops[flow->n_ops++] = op;
    w->row_of[op] = flow->n - 1;
    return 0;
}

/* Calls and operations are in the order of their start; merge them. */
static int add_rows(struct flow_ops_walk *w)
{
    struct flow_walk *walk = w->walk;
    uint32_t op = 0;
    bool failed = false;

    for (uint32_t k = 0; k <= walk->n_inside; k++) {
        uint32_t call = w->flow->call + 1 + k;
        uint64_t until = k < walk->n_inside ? w->run->calls[call].start_ns : UINT64_MAX;

        for (; op < w->ops->n_ops && w->ops->ops[op].start_ns < until; op++)
            if (is_direct(w, op) && add_op(w, op) < 0)
                return -1;
        if (k == walk->n_inside)
            break;
        walk->row_of[k] = flow_call_row(walk, call, &failed);
        if (failed)
            return -1;
    }
    return flow_add_row(walk, FLOW_RESULT, w->flow->call) ? 0 : -1;
}

/* The row of the call inside the module that an operation belongs to, or NO_FLOW. */
static uint32_t inner_row(const struct flow_ops_walk *w, const struct run_op *op)
{
    uint32_t first = w->flow->call + 1;

    if (op->call == RUN_NONE || op->call < first ||
        op->call - first >= w->walk->n_inside ||
        !flow_op_counts(w->run, op, w->flow->call))
        return NO_FLOW;
    return w->walk->row_of[op->call - first];
}

/* List the operations of calls inside by row: count, then fill. */
static int group_ops(struct flow_ops_walk *w)
{
    uint32_t n = w->flow->n, sum = 0;

    w->begin = arena_array(w->walk->scratch, n + 1, sizeof *w->begin);
    w->newest = arena_array(w->walk->scratch, n + 1, sizeof *w->newest);
    if (!w->begin || !w->newest)
        return -1;
    for (uint32_t i = 0; i < w->ops->n_ops; i++) {
        uint32_t row = inner_row(w, &w->ops->ops[i]);

        if (row == NO_FLOW)
            continue;
        w->row_of[i] = row;
        w->begin[row]++;
        sum++;
    }
    w->inside = arena_array(w->walk->scratch, sum + 1, sizeof *w->inside);
    if (!w->inside)
        return -1;
    w->begin[n] = sum;
    for (uint32_t r = n; r > 0; r--)
        w->begin[r - 1] = w->begin[r] - w->begin[r - 1];
    for (uint32_t r = 0; r <= n; r++)
        w->newest[r] = w->begin[r];
    for (uint32_t i = 0; i < w->ops->n_ops; i++)
        if (w->row_of[i] != NO_FLOW && w->flow->rows[w->row_of[i]].kind == FLOW_CALL)
            w->inside[w->newest[w->row_of[i]]++] = i;
    for (uint32_t r = 0; r <= n; r++)
        w->newest[r] = NO_FLOW;
    return 0;
}

/* --- Producers */

static uint64_t alias_key(const struct run_op_value *value)
{
    return (uint64_t)value->storage << 32 | value->write;
}

static uint32_t op_value_of(const struct flow_ops_walk *w, uint32_t io)
{
    uint32_t value = w->run->values[w->run->ios[io].value].op_value;

    return value < w->ops->n_values ? value : RUN_NONE;
}

static int give_inputs(struct flow_ops_walk *w)
{
    for (uint32_t r = 0; r < w->flow->n && w->flow->rows[r].kind == FLOW_INPUT; r++) {
        uint32_t value = op_value_of(w, w->flow->rows[r].io);

        if (value == RUN_NONE)
            continue;
        if (map_put(&w->given, value, r) < 0)
            return -1;
        if (w->ops->values[value].storage != RUN_NONE &&
            map_put(&w->aliases, alias_key(&w->ops->values[value]), r) < 0)
            return -1;
    }
    return 0;
}

static int give_results(struct flow_ops_walk *w, uint32_t row)
{
    uint32_t call = w->flow->rows[row].call;
    const struct run_call *c = &w->run->calls[call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (flow_counts(&w->run->ios[i], RUN_OUT) && op_value_of(w, i) != RUN_NONE &&
            map_put(&w->given, op_value_of(w, i), row) < 0)
            return -1;
    return flow_give_results(w->walk, call, row, true);
}

static int give_again(struct flow_ops_walk *w, uint32_t op, uint32_t row)
{
    const struct run_op *o = &w->ops->ops[op];

    for (uint32_t i = o->ios; i < o->ios + o->n_ios; i++) {
        const struct run_op_io *io = &w->ops->ios[i];

        if (io->kind == OP_OUT && w->ops->values[io->value].producer != op &&
            map_put(&w->again, io->value, row) < 0)
            return -1;
    }
    return 0;
}

/* The origin of a value that no row made. */
static void look_outside(const struct flow_ops_walk *w, uint32_t value,
                         struct flow_edge *edge)
{
    const struct run_op_value *v = &w->ops->values[value];
    uint32_t maker, row;

    if (v->storage != RUN_NONE && map_find(&w->aliases, alias_key(v), &row)) {
        edge->row = row;
        edge->source = FROM_ROW;
    } else if (v->tensor != RUN_NONE) {
        edge->source = FROM_PARAMETER;
    } else if (op_producers(w->ops, value, &maker, 1) > 0) {
        edge->source = FROM_OUTSIDE;
        edge->op = maker;
    } else {
        edge->source = FROM_BEFORE;
    }
}

/* An edge from a row. Inner operations (`once`) add one edge for each row at most. */
static int link_row(struct flow_ops_walk *w, struct flow_edge edge, uint32_t maker,
                    uint32_t user, bool once)
{
    if (maker == user || (once && w->newest[maker] == user))
        return 0;
    w->newest[maker] = user;
    edge.row = maker < user ? maker : NO_FLOW;
    edge.source = maker < user ? FROM_ROW : FROM_ASIDE;
    return flow_add_edge(w->walk, &edge, user);
}

/* Edges from all rows that made `value`. */
static int link_value(struct flow_ops_walk *w, struct flow_edge edge, uint32_t value,
                      uint32_t user, bool once)
{
    uint32_t makers[MOST_MAKERS], row, n;
    bool found = false;

    if (map_find(&w->given, value, &row))
        return link_row(w, edge, row, user, once);
    n = op_producers(w->ops, value, makers, MOST_MAKERS);
    for (uint32_t i = 0; i < n && i < MOST_MAKERS; i++) {
        row = w->row_of[makers[i]];
        if (row == NO_FLOW)
            continue;
        found = true;
        if (link_row(w, edge, row, user, once) < 0)
            return -1;
    }
    if (found)
        return 0;
    if (map_find(&w->again, value, &row))
        return link_row(w, edge, row, user, once);
    look_outside(w, value, &edge);
    if (edge.row != NO_FLOW)
        return link_row(w, edge, edge.row, user, once);
    return once ? 0 : flow_add_edge(w->walk, &edge, user);
}

/* --- Users */

static const struct flow_edge no_edge = {.io = RUN_NONE,
                                         .op_io = RUN_NONE,
                                         .row = NO_FLOW,
                                         .call = RUN_NONE,
                                         .op = RUN_NONE};

/* The inputs of an operation, then its results. */
static int take_op(struct flow_ops_walk *w, uint32_t op, uint32_t user, bool once)
{
    const struct run_op *o = &w->ops->ops[op];

    for (uint32_t i = o->ios; i < o->ios + o->n_ios; i++) {
        struct flow_edge edge = no_edge;

        if (w->ops->ios[i].kind != OP_IN)
            continue;
        edge.op_io = i;
        if (link_value(w, edge, w->ops->ios[i].value, user, once) < 0)
            return -1;
    }
    return give_again(w, op, user);
}

/* The arguments of a call; of the last row, the results of the module. */
static int take_ios(struct flow_ops_walk *w, uint32_t user, enum run_io_kind kind)
{
    const struct run_call *c = &w->run->calls[w->flow->rows[user].call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
        struct flow_edge edge = no_edge;

        if (!flow_counts(&w->run->ios[i], kind))
            continue;
        edge.io = i;
        if ((op_value_of(w, i) == RUN_NONE
                 ? flow_take_io(w->walk, i, user)
                 : link_value(w, edge, op_value_of(w, i), user, false)) < 0)
            return -1;
    }
    return 0;
}

/* Rows in order: the results of a call count for the rows below it. Operations inside a
 * call add inputs other than its arguments. */
static int add_edges(struct flow_ops_walk *w)
{
    struct flow *flow = w->flow;

    for (uint32_t r = 0; r < flow->n; r++) {
        struct flow_row *row = &flow->rows[r];

        row->from = flow->n_from;
        if (row->kind == FLOW_OP && take_op(w, flow->ops[row->ops], r, false) < 0)
            return -1;
        if (row->kind == FLOW_RESULT && take_ios(w, r, RUN_OUT) < 0)
            return -1;
        if (row->kind != FLOW_CALL)
            continue;
        if (take_ios(w, r, RUN_IN) < 0)
            return -1;
        for (uint32_t i = w->begin[r]; i < w->begin[r + 1]; i++)
            if (take_op(w, w->inside[i], r, true) < 0)
                return -1;
        if (give_results(w, r) < 0)
            return -1;
    }
    return 0;
}

int flow_walk_ops(struct flow_walk *walk)
{
    struct flow_ops_walk w = {
        .walk = walk, .run = walk->run, .ops = walk->run->ops, .flow = walk->flow};

    map_init(&w.given, walk->scratch);
    map_init(&w.again, walk->scratch);
    map_init(&w.aliases, walk->scratch);
    w.row_of = arena_array(walk->scratch, w.ops->n_ops + 1, sizeof *w.row_of);
    w.flow->ops = arena_array(walk->arena, w.ops->n_ops + 1, sizeof *w.flow->ops);
    if (!w.row_of || !w.flow->ops)
        return -1;
    for (uint32_t i = 0; i < w.ops->n_ops; i++)
        w.row_of[i] = NO_FLOW;
    if (flow_add_inputs(walk) < 0 || add_rows(&w) < 0 || group_ops(&w) < 0 ||
        give_inputs(&w) < 0)
        return -1;
    return add_edges(&w);
}
