/* Reduces the number of rows for many operations. Autograd detaches the tensors that it
 * saves: such a row is dropped if nothing reads it. A chain of views becomes one row,
 * at the position of its last view: views compute nothing, so this moves nothing past
 * work. The middle of a long sequence of operations becomes one row. */
#include "facts/flow_in.h"

struct flow_folding {
    struct flow *flow;
    struct arena *arena;
    uint32_t *maker;  /* by row: the only row that it reads from; NO_FLOW: none,
                         several, or other inputs too */
    uint32_t *users;  /* by row: number of rows that use it */
    uint32_t *before; /* by row: the view of its chain before it, or NO_FLOW */
    bool *joined;     /* by row: it is part of the chain of a row below, or dropped */
    uint32_t *new_row;
    struct flow_row *rows;
    struct flow_edge *from;
    uint32_t *ops;
    uint32_t n, n_from, n_ops;
    uint32_t *newest; /* by new row: the last user that an edge was made for */
};

/* Is it an operation of a kind with this flag? */
static bool is_kind(const struct flow *flow, uint32_t row, enum op_kind_flag flag)
{
    const struct run_ops *ops = flow->run->ops;
    const struct flow_row *r = &flow->rows[row];

    return r->kind == FLOW_OP &&
           ops->kinds[ops->ops[flow->ops[r->ops]].kind].flags & flag;
}

/* Find the only maker of each row, and count the users of each. */
static void count_uses(struct flow_folding *f)
{
    const struct flow *flow = f->flow;
    uint32_t *newest = f->new_row; /* not needed yet */

    for (uint32_t r = 0; r < flow->n; r++)
        f->maker[r] = f->before[r] = newest[r] = NO_FLOW;
    for (uint32_t r = 0; r < flow->n; r++) {
        const struct flow_row *row = &flow->rows[r];
        bool other = false;

        for (uint32_t i = row->from; i < row->from + row->n_from; i++) {
            uint32_t maker = flow->from[i].row;

            other |= maker == NO_FLOW || (i > row->from && maker != f->maker[r]);
            f->maker[r] = maker;
            if (maker == NO_FLOW || newest[maker] == r)
                continue;
            newest[maker] = r;
            f->users[maker]++;
        }
        if (other)
            f->maker[r] = NO_FLOW;
    }
}

static void drop_detached(struct flow_folding *f)
{
    for (uint32_t r = 0; r < f->flow->n; r++) {
        if (f->users[r] > 0 || !is_kind(f->flow, r, OP_DETACHES))
            continue;
        f->joined[r] = true;
        if (f->maker[r] != NO_FLOW)
            f->users[f->maker[r]]--;
    }
}

static void find_chains(struct flow_folding *f)
{
    for (uint32_t r = 0; r < f->flow->n; r++) {
        uint32_t maker = f->maker[r];

        if (f->joined[r] || maker == NO_FLOW || f->users[maker] != 1 ||
            !is_kind(f->flow, r, OP_VIEW) || !is_kind(f->flow, maker, OP_VIEW))
            continue;
        f->before[r] = maker;
        f->joined[maker] = true;
    }
}

/* --- The new rows */

/* The operations of a row: of a chain, from its first view on. Returns the first row. */
static uint32_t put_ops(struct flow_folding *f, uint32_t row, struct flow_row *to)
{
    uint32_t n = 0, first = row;

    for (uint32_t r = row; r != NO_FLOW; r = f->before[r]) {
        first = r;
        n++;
    }
    to->n_ops += n;
    f->n_ops += n;
    for (uint32_t r = row, at = f->n_ops; r != NO_FLOW; r = f->before[r]) {
        f->ops[--at] = f->flow->ops[f->flow->rows[r].ops];
        f->new_row[r] = f->n - 1;
    }
    return first;
}

/* The edges of the old row `row`, with new rows. Within a shortened sequence each maker
 * counts once. */
static void put_edges(struct flow_folding *f, uint32_t row, struct flow_row *to)
{
    const struct flow *flow = f->flow;
    const struct flow_row *old = &flow->rows[row];
    uint32_t user = f->n - 1;

    for (uint32_t i = old->from; i < old->from + old->n_from; i++) {
        struct flow_edge edge = flow->from[i];

        if (edge.row != NO_FLOW)
            edge.row = f->new_row[edge.row];
        if (to->kind == FLOW_MORE &&
            (edge.row == NO_FLOW || edge.row == user || f->newest[edge.row] == user))
            continue;
        if (edge.row != NO_FLOW)
            f->newest[edge.row] = user;
        f->from[f->n_from++] = edge;
        to->n_from++;
    }
}

/* Add an old row to the last new row. */
static void put_into(struct flow_folding *f, uint32_t row)
{
    struct flow_row *to = &f->rows[f->n - 1];
    uint32_t first = row;

    f->new_row[row] = f->n - 1;
    if (f->flow->rows[row].kind == FLOW_OP)
        first = put_ops(f, row, to);
    put_edges(f, first, to);
}

static void begin_row(struct flow_folding *f, uint32_t row, enum flow_kind kind)
{
    struct flow_row *to = &f->rows[f->n++];

    *to = f->flow->rows[row];
    to->kind = (uint8_t)kind;
    to->from = f->n_from;
    to->ops = f->n_ops;
    to->n_from = to->n_ops = 0;
}

/* The end of the sequence of operations that begins at `row`, and its number of
 * rows. */
static uint32_t sequence(const struct flow_folding *f, uint32_t row, uint32_t *ret_n)
{
    *ret_n = 0;
    for (; row < f->flow->n && f->flow->rows[row].kind == FLOW_OP; row++)
        *ret_n += !f->joined[row];
    return row;
}

static void put_sequence(struct flow_folding *f, uint32_t row, uint32_t end, uint32_t n)
{
    bool shortened = n > FLOW_OPS_FIRST + FLOW_OPS_LAST + 1;

    for (uint32_t k = 0; row < end; row++) {
        if (f->joined[row])
            continue;
        if (!shortened || k < FLOW_OPS_FIRST || k >= n - FLOW_OPS_LAST)
            begin_row(f, row, FLOW_OP);
        else if (k == FLOW_OPS_FIRST)
            begin_row(f, row, FLOW_MORE);
        put_into(f, row);
        k++;
    }
}

static void put_rows(struct flow_folding *f)
{
    for (uint32_t r = 0; r < f->flow->n; r++) {
        uint32_t n, end = sequence(f, r, &n);

        put_sequence(f, r, end, n);
        r = end;
        if (r == f->flow->n)
            break;
        begin_row(f, r, f->flow->rows[r].kind);
        put_into(f, r);
    }
}

static bool make_room(struct flow_folding *f, struct arena *scratch)
{
    const struct flow *flow = f->flow;
    size_t n = (size_t)flow->n + 1;

    f->maker = arena_array(scratch, n, sizeof *f->maker);
    f->users = arena_array(scratch, n, sizeof *f->users);
    f->before = arena_array(scratch, n, sizeof *f->before);
    f->joined = arena_array(scratch, n, sizeof *f->joined);
    f->new_row = arena_array(scratch, n, sizeof *f->new_row);
    f->newest = arena_array(scratch, n, sizeof *f->newest);
    f->rows = arena_array(f->arena, n, sizeof *f->rows);
    f->from = arena_array(f->arena, (size_t)flow->n_from + 1, sizeof *f->from);
    f->ops = arena_array(f->arena, (size_t)flow->n_ops + 1, sizeof *f->ops);
    return f->maker && f->users && f->before && f->joined && f->new_row && f->newest &&
           f->rows && f->from && f->ops;
}

int flow_fold(struct flow *flow, struct arena *arena, struct arena *scratch)
{
    struct flow_folding f = {.flow = flow, .arena = arena};

    if (!make_room(&f, scratch))
        return -1;
    count_uses(&f);
    drop_detached(&f);
    find_chains(&f);
    for (uint32_t r = 0; r < flow->n; r++)
        f.newest[r] = NO_FLOW;
    put_rows(&f);
    flow->rows = f.rows;
    flow->n = flow->rows_room = f.n;
    flow->from = f.from;
    flow->n_from = flow->from_room = f.n_from;
    flow->ops = f.ops;
    flow->n_ops = f.n_ops;
    return 0;
}
