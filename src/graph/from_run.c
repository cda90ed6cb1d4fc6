/* The parts of a recording: the calls of one pass and their operations. */
#include "graph/from_in.h"

static unsigned op_flags(const struct from *from, uint32_t op)
{
    const struct run_ops *ops = from->run->ops;

    return ops ? ops->kinds[ops->ops[op].kind].flags : 0;
}

static uint32_t group_of(const struct from *from, const struct op_graph_node *node)
{
    (void)from;
    return node->call;
}

static uint32_t group_around(const struct from *from, uint32_t call)
{
    return from->run->calls[call].parent;
}

static struct str io_path(struct from *from, const struct op_graph_node *node)
{
    return run_string(from->run, from->run->ios[node->io].path);
}

/* Scalars are constants. */
static bool matters(const struct from *from, const struct op_graph_node *node)
{
    const struct run_ops *ops = from->run->ops;

    return ops && node->value < ops->n_values &&
           ops->types[ops->values[node->value].type].numel > 1;
}

static const struct from_kind of_run = {
    .op_flags = op_flags,
    .group_of = group_of,
    .group_around = group_around,
    .io_path = io_path,
    .outside_name = from_run_outside,
    .matters = matters,
    .look = from_run_look,
    .group_box = from_run_group_box,
    .node_box = from_run_node_box,
};

static int make_graph(struct from *from, struct err *err)
{
    struct op_graph_wanted wanted = {
        .level = from->wanted->level == GRAPH_OPS ? OP_GRAPH_OPS : OP_GRAPH_MODULES,
        .phases = 1u << OP_FORWARD,
        .within = from->call + 1};

    return op_graph_make(&from->graph, from->run, wanted, from->parts->scratch, err);
}

int parts_from_run(struct parts *parts, struct parts_about *about,
                   const struct session *session, const struct graph_wanted *wanted,
                   struct err *err)
{
    struct from from = {.as = &of_run,
                        .parts = parts,
                        .about = about,
                        .session = session,
                        .wanted = wanted,
                        .n_ops = session->run->ops ? session->run->ops->n_ops : 0,
                        .n_groups = session->run->n_calls,
                        .run = session->run,
                        .model = session->model};

    map_init(&from.shapes, parts->scratch);
    if (show_init(&from.show, session, parts->scratch, err) < 0 ||
        from_run_choose(&from, err) < 0 || make_graph(&from, err) < 0)
        return -1;
    if (from_enter(&from, err) < 0)
        return -1;
    if (from_run_costs(&from) < 0 || from_run_about(&from) < 0)
        return from_spent(&from, err);
    return 0;
}
