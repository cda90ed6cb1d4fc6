/* Norms and shares for the edges of a graph. */
#include "study/grad_paths_in.h"

#include <math.h>

/* The edges of one value at a time. */
struct edge_groups {
    const struct grad_paths *paths;
    const struct op_graph *graph;
    uint32_t *head, *next;       /* by value: its last edge; by edge: the one before */
    uint32_t *slot;              /* by node: 1 + its position among the readers */
    struct grad_reader *readers; /* of one value */
    double *shares;
};

static struct grad_reader reader_of(const struct op_graph_node *node)
{
    struct grad_reader reader = {RUN_NONE, RUN_NONE};

    if (node->kind == OP_GRAPH_OP)
        reader.op = node->op;
    else if (node->kind == OP_GRAPH_CALL)
        reader.call = node->call;
    return reader;
}

static bool is_reader(struct grad_reader reader)
{
    return reader.op != RUN_NONE || reader.call != RUN_NONE;
}

/* Does a backward operation read it? Then it has no share. */
static bool is_forward(const struct run *run, struct grad_reader reader)
{
    return reader.op == RUN_NONE || run->ops->ops[reader.op].phase == OP_FORWARD;
}

static void fill_group(struct edge_groups *groups, uint32_t value,
                       struct grad_edge *edges)
{
    const struct op_graph *graph = groups->graph;
    uint32_t n = 0;

    for (uint32_t i = groups->head[value]; i != RUN_NONE; i = groups->next[i]) {
        uint32_t target = graph->edges[i].target;
        struct grad_reader reader = reader_of(&graph->nodes[target]);

        if (!is_reader(reader) || groups->slot[target] ||
            !is_forward(groups->paths->run, reader))
            continue;
        groups->readers[n] = reader;
        groups->slot[target] = ++n;
    }
    grad_paths_shares(groups->paths, value, groups->readers, n, groups->shares);
    for (uint32_t i = groups->head[value]; i != RUN_NONE; i = groups->next[i]) {
        uint32_t slot = groups->slot[graph->edges[i].target];

        if (!slot)
            continue;
        edges[i].l2 = grad_paths_l2(groups->paths, value, groups->readers[slot - 1]);
        edges[i].share = groups->shares[slot - 1];
    }
    for (uint32_t i = groups->head[value]; i != RUN_NONE; i = groups->next[i])
        groups->slot[graph->edges[i].target] = 0;
}

static int begin(struct edge_groups *groups, struct arena *arena)
{
    size_t n_edges = (size_t)groups->graph->n_edges + 1;
    size_t n_values = (size_t)groups->paths->n_values + 1;

    groups->head = arena_array(arena, n_values, sizeof *groups->head);
    groups->next = arena_array(arena, n_edges, sizeof *groups->next);
    groups->slot =
        arena_array(arena, (size_t)groups->graph->n_nodes + 1, sizeof *groups->slot);
    groups->readers = arena_array(arena, n_edges, sizeof *groups->readers);
    groups->shares = arena_array(arena, n_edges, sizeof *groups->shares);
    if (!groups->head || !groups->next || !groups->slot || !groups->readers ||
        !groups->shares)
        return -1;
    for (size_t i = 0; i < n_values; i++)
        groups->head[i] = RUN_NONE;
    return 0;
}

int grad_paths_edges(struct grad_edge **ret_edges, const struct grad_paths *paths,
                     const struct op_graph *graph, struct arena *arena, struct err *err)
{
    struct edge_groups groups = {.paths = paths, .graph = graph};
    struct grad_edge *edges =
        arena_array(arena, (size_t)graph->n_edges + 1, sizeof *edges);
    struct arena scratch;
    int status;

    arena_init(&scratch, 0);
    status = edges ? begin(&groups, &scratch) : -1;
    for (uint32_t i = 0; status == 0 && i < graph->n_edges; i++) {
        uint32_t value = graph->edges[i].value;

        edges[i] = (struct grad_edge){NAN, NAN};
        groups.next[i] = RUN_NONE;
        if (value >= paths->n_values)
            continue;
        groups.next[i] = groups.head[value];
        groups.head[value] = i;
    }
    for (uint32_t i = 0; status == 0 && i < paths->n_values; i++)
        if (groups.head[i] != RUN_NONE)
            fill_group(&groups, i, edges);
    arena_release(&scratch);
    if (status < 0)
        return arena_err(arena, "the gradients of edges", err);
    *ret_edges = edges;
    return 0;
}
