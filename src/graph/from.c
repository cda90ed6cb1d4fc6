/* Turns a graph of operations into parts: inputs, groups and operations in the order in
 * which they ran or appear in the code, outputs; and a link for each edge. */
#include "graph/from_in.h"

#include "base/base.h"

#define DEPTH_MOST 4096

/* ---- views of parameters ---- */

enum { STATE_PLAIN, STATE_WEIGHT, STATE_WEIGHT_VIEW };

static bool is_view_op(const struct from *from, const struct op_graph_node *node)
{
    return node->kind == OP_GRAPH_OP && from->as->op_flags(from, node->op) & OP_VIEW;
}

/* Is a node only a view of parameters? Its edges are edges[at..]. */
static bool views_weights(const struct from *from, const uint8_t *state, uint32_t node,
                          uint32_t at)
{
    const struct op_graph *graph = &from->graph;
    bool some = false;

    if (!is_view_op(from, &graph->nodes[node]))
        return false;
    for (; at < graph->n_edges && graph->edges[at].target == node; at++) {
        if (state[graph->edges[at].source] == STATE_PLAIN)
            return false;
        some = true;
    }
    return some;
}

/* Find views of parameters. A view belongs to the first node that reads it, unless that
 * is an output or the like. */
static int find_weight_views(struct from *from, uint32_t *owner)
{
    const struct op_graph *graph = &from->graph;
    uint8_t *state = arena_array(from->parts->scratch, (size_t)graph->n_nodes + 1, 1);

    if (!state)
        return -1;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        owner[i] = PART_NONE;
        if (graph->nodes[i].kind == OP_GRAPH_PARAMETER)
            state[i] = STATE_WEIGHT;
    }
    for (uint32_t e = 0; e < graph->n_edges; e++) {
        uint32_t target = graph->edges[e].target;

        if (e > 0 && graph->edges[e - 1].target == target)
            continue;
        if (views_weights(from, state, target, e))
            state[target] = STATE_WEIGHT_VIEW;
    }
    for (uint32_t e = graph->n_edges; e-- > 0;) {
        uint32_t source = graph->edges[e].source, target = graph->edges[e].target;

        if (state[source] == STATE_WEIGHT_VIEW &&
            graph->nodes[target].kind != OP_GRAPH_OUTPUT)
            owner[source] = target;
    }
    /* An output keeps the view that it shows. */
    for (uint32_t e = 0; e < graph->n_edges; e++)
        if (graph->nodes[graph->edges[e].target].kind == OP_GRAPH_OUTPUT)
            owner[graph->edges[e].source] = PART_NONE;
    return 0;
}

/* ---- what nothing reads ---- */

/* Can it be dropped if no other node reads it? Tensors without content can, and views:
 * a view that changes nothing has its argument's value, so its readers are linked to
 * the argument. */
static bool is_idle(const struct from *from, const struct op_graph_node *node)
{
    unsigned flags;

    if (node->kind == OP_GRAPH_INPUT || node->kind == OP_GRAPH_OUTSIDE)
        return true;
    if (node->kind != OP_GRAPH_OP)
        return false;
    flags = from->as->op_flags(from, node->op);
    return flags & (OP_MAKES | OP_VIEW) && !(flags & OP_WRITES);
}

struct read_marks {
    const struct op_graph *graph;
    bool *read;         /* by node: a drawn node reads it, or it needs no reader */
    uint32_t *edges_at; /* by node: its first edge; one more at the end */
    uint32_t *stack, n;
};

static void mark_read(struct read_marks *r, uint32_t node)
{
    if (r->read[node])
        return;
    r->read[node] = true;
    r->stack[r->n++] = node;
}

/* Walk backwards from nodes that need no reader. In a program, edges may lead back. */
static bool *find_read(const struct from *from)
{
    struct arena *scratch = from->parts->scratch;
    struct read_marks r = {.graph = &from->graph};
    size_t n = (size_t)r.graph->n_nodes + 2;

    r.read = arena_array(scratch, n, sizeof *r.read);
    r.edges_at = arena_array(scratch, n, sizeof *r.edges_at);
    r.stack = arena_array(scratch, n, sizeof *r.stack);
    if (!r.read || !r.edges_at || !r.stack)
        return NULL;
    for (uint32_t i = 0; i < r.graph->n_edges; i++)
        r.edges_at[r.graph->edges[i].target + 1]++;
    for (uint32_t i = 0; i < r.graph->n_nodes; i++) {
        r.edges_at[i + 1] += r.edges_at[i];
        if (!is_idle(from, &r.graph->nodes[i]))
            mark_read(&r, i);
    }
    while (r.n > 0) {
        uint32_t node = r.stack[--r.n];

        for (uint32_t i = r.edges_at[node]; i < r.edges_at[node + 1]; i++)
            mark_read(&r, r.graph->edges[i].source);
    }
    return r.read;
}

/* ---- parts ---- */

#define IOS_MOST 3 /* tensors of one argument or result that get a box each */

/* The argument or result that a tensor is part of: "past" of "past[3][0]". */
static struct str io_head(struct from *from, const struct op_graph_node *node)
{
    struct str path = node->io == RUN_NONE ? STR("") : from->as->io_path(from, node);
    size_t n = path.len > 0 && path.at[0] == '.' ? 1 : 0, begin = n;

    while (n < path.len && path.at[n] != '.' && path.at[n] != '[')
        n++;
    return str_from(str_head(path, n), begin);
}

/* Count the nodes of this kind from `at` on that belong to one argument or result. */
static uint32_t count_alike(struct from *from, const bool *read, uint32_t at)
{
    const struct op_graph *graph = &from->graph;
    struct str head = io_head(from, &graph->nodes[at]);
    uint32_t n = 0;

    for (; at < graph->n_nodes && graph->nodes[at].kind == graph->nodes[at - n].kind &&
           head.len > 0 && read[at] && str_eq(head, io_head(from, &graph->nodes[at]));
         at++)
        n++;
    return n;
}

/* A box for a tensor, or for n tensors of one argument or result. */
static int add_io_part(struct from *from, uint32_t node, uint32_t n, uint32_t number)
{
    enum diagram_kind kind = from->graph.nodes[node].kind == OP_GRAPH_OUTPUT
                                 ? DIAGRAM_OUTPUT
                                 : DIAGRAM_INPUT;
    uint32_t part = parts_add(from->parts, kind, PART_ROOT);

    if (part == PART_NONE)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        from->node_part[node + i] = part;
    if (n > 1)
        return from_ios_box(from, part, io_head(from, &from->graph.nodes[node]), n,
                            number);
    return from_io_box(from, part, node, number);
}

/* A cache that every layer appends to (past_key_values) is not drawn: its lines would
 * cross the whole picture. The note names it. */
static void leave_out(struct from *from, const struct op_graph_node *node, uint32_t n)
{
    if (from->n_left_out == 0)
        from->left_out = io_head(from, node);
    from->n_left_out += n;
}

static int add_ios_of(struct from *from, const bool *read, enum op_graph_kind kind,
                      uint32_t *number)
{
    for (uint32_t i = 0, n; i < from->graph.n_nodes; i += n) {
        const struct op_graph_node *node = &from->graph.nodes[i];

        n = 1;
        if (node->kind != kind || !read[i] ||
            (kind == OP_GRAPH_OUTSIDE && !from->as->matters(from, node)))
            continue;
        if (!from->wanted->all)
            n = count_alike(from, read, i);
        if (n <= IOS_MOST)
            n = 1;
        if (n > IOS_MOST && kind == OP_GRAPH_OUTPUT) {
            leave_out(from, node, n);
            continue;
        }
        if (add_io_part(from, i, n, (*number)++) < 0)
            return -1;
    }
    return 0;
}

/* Inputs first, then other tensors from outside. */
static int add_inputs(struct from *from, const bool *read)
{
    uint32_t number = 0;

    if (add_ios_of(from, read, OP_GRAPH_INPUT, &number) < 0)
        return -1;
    return add_ios_of(from, read, OP_GRAPH_OUTSIDE, &number);
}

static uint32_t enter_group(struct from *from, uint32_t group)
{
    uint32_t parent = PART_ROOT, part;

    if (group != from->call)
        parent = from->group_part[from->as->group_around(from, group)];
    part = parts_add(from->parts, DIAGRAM_MODULE, parent);
    if (part == PART_NONE)
        return PART_NONE;
    from->group_part[group] = part;
    from->parts->at[part].frame = group == from->call;
    return from->as->group_box(from, part, group) < 0 ? PART_NONE : part;
}

/* The part of a group; enters it and the groups around it if needed. */
static uint32_t part_of_group(struct from *from, uint32_t group)
{
    uint32_t n = 0;

    if (group >= from->n_groups || !from->inside[group])
        return PART_ROOT;
    for (uint32_t g = group; from->group_part[g] == PART_NONE;) {
        from->stack[n++] = g;
        if (g == from->call)
            break;
        g = from->as->group_around(from, g);
    }
    while (n > 0)
        if (enter_group(from, from->stack[--n]) == PART_NONE)
            return PART_NONE;
    return from->group_part[group];
}

static bool is_ran(const struct op_graph_node *node)
{
    return node->kind == OP_GRAPH_OP || node->kind == OP_GRAPH_CALL ||
           node->kind == OP_GRAPH_UNCLEAR;
}

static int add_ran(struct from *from, uint32_t node)
{
    const struct op_graph_node *of = &from->graph.nodes[node];
    uint32_t group = part_of_group(from, from->as->group_of(from, of)), part;

    if (group == PART_NONE)
        return -1;
    from->node_part[node] = group;
    if (of->kind == OP_GRAPH_CALL)
        return 0;
    part = parts_add(from->parts, DIAGRAM_OP, group);
    if (part == PART_NONE)
        return -1;
    from->node_part[node] = part;
    if (of->kind == OP_GRAPH_OP)
        from->op_part[of->op] = part;
    return from->as->node_box(from, part, of);
}

/* Assign views of parameters to the operation that reads them. */
static void give_views(struct from *from, const uint32_t *owner)
{
    for (uint32_t i = from->graph.n_nodes; i-- > 0;) {
        uint32_t part;

        if (owner[i] == PART_NONE)
            continue;
        /* Readers ran later, so their parts are known. */
        part = from->graph.nodes[owner[i]].kind == OP_GRAPH_OP
                   ? from->op_part[from->graph.nodes[owner[i]].op]
                   : from->node_part[owner[i]];
        from->op_part[from->graph.nodes[i].op] = part;
    }
}

static int add_parts(struct from *from)
{
    const struct op_graph *graph = &from->graph;
    uint32_t *owner =
        arena_array(from->parts->scratch, (size_t)graph->n_nodes + 1, sizeof *owner);

    bool *read = find_read(from);

    if (!owner || !read || find_weight_views(from, owner) < 0)
        return -1;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        from->node_part[i] = PART_NONE;
    if (parts_add(from->parts, DIAGRAM_MODULE, PART_NONE) != PART_ROOT)
        return -1;
    from->parts->at[PART_ROOT].box.call = from->call;
    if (!from->framed)
        from->group_part[from->call] = PART_ROOT;
    if (add_inputs(from, read) < 0)
        return -1;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (is_ran(&graph->nodes[i]) && owner[i] == PART_NONE && read[i] &&
            add_ran(from, i) < 0)
            return -1;
    give_views(from, owner);
    return add_ios_of(from, read, OP_GRAPH_OUTPUT, &(uint32_t){0});
}

/* ---- links ---- */

/* The sign of an addition or product is used only where two lines meet. */
static int count_lines(struct from *from)
{
    struct parts *parts = from->parts;
    uint32_t *lines = arena_array(parts->scratch, (size_t)parts->n + 1, sizeof *lines);

    if (!lines)
        return -1;
    for (uint32_t i = 0; i < parts->n_links; i++)
        lines[parts->links[i].target]++;
    for (uint32_t i = 0; i < parts->n; i++) {
        struct diagram_box *box = &parts->at[i].box;
        bool module = box->kind == DIAGRAM_MODULE && box->n_words > 0;
        struct str op = module ? parts->words[box->words] : box->name;

        if (lines[i] < 2)
            box->flags &= (uint16_t)~DIAGRAM_SIGN;
        else if (box->flags & DIAGRAM_SIGN)
            box->name = str_starts_word(op, STR("add")) ? STR("+") : STR("×");
    }
    return 0;
}

static int add_links(struct from *from)
{
    const struct op_graph *graph = &from->graph;

    for (uint32_t i = 0; i < graph->n_edges; i++) {
        uint32_t source = from->node_part[graph->edges[i].source];
        uint32_t target = from->node_part[graph->edges[i].target], value;

        if (source == PART_NONE || target == PART_NONE || source == target ||
            source == PART_ROOT || target == PART_ROOT)
            continue;
        value = from_value(from, graph->edges[i].value);
        if (value == PART_NONE || parts_link(from->parts, source, target, value) < 0)
            return -1;
    }
    return count_lines(from);
}

/* ---- all of it ---- */

static int allocate(struct from *from)
{
    struct arena *scratch = from->parts->scratch;
    size_t n_ops = from->n_ops, n_groups = from->n_groups;

    from->node_part =
        arena_array(scratch, (size_t)from->graph.n_nodes + 1, sizeof(uint32_t));
    from->op_part = arena_array(scratch, n_ops + 1, sizeof(uint32_t));
    from->group_part = arena_array(scratch, n_groups + 1, sizeof(uint32_t));
    from->stack = arena_array(scratch, n_groups + 1, sizeof(uint32_t));
    if (!from->node_part || !from->op_part || !from->group_part || !from->stack)
        return -1;
    for (size_t i = 0; i <= n_ops; i++)
        from->op_part[i] = PART_NONE;
    for (size_t i = 0; i <= n_groups; i++)
        from->group_part[i] = PART_NONE;
    map_init(&from->values, scratch);
    map_init(&from->words, scratch);
    return 0;
}

/* Python could not nest calls this deeply, but a file may claim it. */
static int check_depth(const struct from *from, struct err *err)
{
    const struct parts *parts = from->parts;
    uint32_t *depth = arena_array(parts->scratch, (size_t)parts->n + 1, sizeof *depth);

    if (!depth)
        return from_spent(from, err);
    for (uint32_t i = 1; i < parts->n; i++) {
        depth[i] = depth[parts->at[i].parent] + 1;
        if (depth[i] > DEPTH_MOST)
            return err_set(err, ERR_LIMIT,
                           "calls are nested more than %d deep: too deep to be drawn",
                           DEPTH_MOST);
    }
    return 0;
}

int from_spent(const struct from *from, struct err *err)
{
    return arena_err(from->parts->scratch->spent ? from->parts->scratch
                                                 : from->parts->arena,
                     "the graph", err);
}

int from_enter(struct from *from, struct err *err)
{
    if (allocate(from) < 0 || add_parts(from) < 0 || add_links(from) < 0)
        return from_spent(from, err);
    return check_depth(from, err);
}
