/* The parts of a program: code in a file that was not run. */
#include "graph/from_in.h"

#include <math.h>

#include "study/program_graph.h"
#include "study/program_use.h"
#include "text/number.h"

static unsigned op_flags(const struct from *from, uint32_t op)
{
    return from_program_op(from, op).flags;
}

static uint32_t group_of(const struct from *from, const struct op_graph_node *node)
{
    if (node->kind == OP_GRAPH_OP)
        return from_program_group(from, from->program->ops[node->op].region,
                                  node->call);
    if (node->kind == OP_GRAPH_UNCLEAR)
        return from_program_group(from, from->program->regions[node->io].parent,
                                  node->call);
    return node->call;
}

static struct str io_path(struct from *from, const struct op_graph_node *node)
{
    struct buf path = BUF_INIT;
    struct str copy;

    program_io_path(&path, from->model, node->io);
    copy = arena_str(from->parts->scratch, buf_span(&path));
    buf_release(&path);
    return copy.at ? copy : STR("");
}

static struct str outside_name(struct from *from, const struct op_graph_node *node)
{
    return model_string(from->model, from->program->values[node->value].name);
}

static bool matters(const struct from *from, const struct op_graph_node *node)
{
    (void)from;
    (void)node;
    return true;
}

/* Only what the file states. */
static struct part_value look(struct from *from, uint32_t value)
{
    struct part_value known = {.recorded = RUN_NONE};
    const struct program_value *of;
    struct buf text = BUF_INIT;

    if (value >= from->program->n_values)
        return known;
    of = &from->program->values[value];
    if (of->shape != PROGRAM_NONE) {
        text_open_shape(&text, from->model->dims + of->shape, of->rank);
        known.shape = parts_text(from->parts, buf_span(&text));
    }
    if (of->dtype != DTYPE_UNKNOWN)
        known.dtype = str_of(dtype_name((enum dtype)of->dtype));
    buf_release(&text);
    return known;
}

static const struct from_kind of_program = {
    .op_flags = op_flags,
    .group_of = group_of,
    .group_around = from_program_around,
    .io_path = io_path,
    .outside_name = outside_name,
    .matters = matters,
    .look = look,
    .group_box = from_program_group_box,
    .node_box = from_program_node_box,
};

/* ---- metrics ---- */

static void count_ops(struct from *from)
{
    const struct op_graph *graph = &from->graph;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct op_graph_node *node = &graph->nodes[i];
        uint32_t part = from->node_part[i];

        if (node->kind == OP_GRAPH_OP && from->op_part[node->op] != PART_NONE)
            part = from->op_part[node->op];
        if (node->kind == OP_GRAPH_OP && part == PART_NONE)
            part = from->group_part[group_of(from, node)];
        if (part == PART_NONE)
            continue;
        if (node->kind == OP_GRAPH_OP)
            from->parts->at[part].box.n_ops++;
        else if (node->kind == OP_GRAPH_CALL)
            from->parts->at[part].box.n_ops += node->n_ops;
    }
    from_add_up(from);
}

/* The place where the tensors of this place's module are counted. */
static uint32_t first_place(const struct from *from, uint32_t place)
{
    const struct object *object = place_object(from->model, place);

    return object && object->place < from->model->n_places ? object->place : place;
}

static void count_params(struct from *from)
{
    struct parts *parts = from->parts;
    struct diagram_box root = parts->at[PART_ROOT].box;
    uint32_t place = first_place(from, from->program->calls[from->call].place);

    for (uint32_t i = 1; i < parts->n; i++)
        if (parts->at[i].box.kind == DIAGRAM_MODULE)
            from_params(from, &parts->at[i].box,
                        first_place(from, parts->at[i].box.place));
    root.flags = 0;
    from_params(from, &root, place);
    parts->at[PART_ROOT].box.metric[DIAGRAM_PARAMS] = root.metric[DIAGRAM_PARAMS];
    if (!isnan(root.metric[DIAGRAM_PARAMS]))
        from->about->total[DIAGRAM_PARAMS] = (uint64_t)root.metric[DIAGRAM_PARAMS];
}

/* ---- the title ---- */

static bool has_shapes(const struct from *from)
{
    for (uint32_t i = 0; i < from->parts->n_values; i++)
        if (from->parts->values[i].shape.len > 0)
            return true;
    return false;
}

static uint32_t count_unclear(const struct from *from)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < from->program->n_regions; i++)
        n += from->program->regions[i].kind == PROGRAM_UNCLEAR &&
             from->program->regions[i].call < from->program->n_calls &&
             from->inside[from->program->regions[i].call];
    return n;
}

static void set_note(struct from *from)
{
    uint32_t unclear = count_unclear(from);
    struct buf text = BUF_INIT;

    buf_text(&text, "From ");
    program_origin(&text, from->model);
    buf_text(&text, " in the file, which was not run: there are no times, memory or ");
    buf_text(&text, has_shapes(from) ? "FLOPs." : "FLOPs, and the file has no shapes.");
    if (from->program->cut)
        buf_text(&text, " The code is too large: the picture ends at a limit.");
    if (from->graph.cut)
        buf_text(&text, " Conditions multiply the lines: some are missing.");
    if (unclear > 0) {
        from_sentence(&text);
        text_plural(&text, unclear, "part of the code was", "parts of the code were");
        buf_text(&text, " not understood.");
    }
    from_note_left_out(&text, from);
    from->about->note = parts_text(from->parts, buf_span(&text));
    buf_release(&text);
}

/* ---- all of it ---- */

static int make_graph(struct from *from, struct err *err)
{
    struct program_graph_wanted wanted = {
        .level = from->wanted->level == GRAPH_OPS ? OP_GRAPH_OPS : OP_GRAPH_MODULES,
        .within = from->call};

    if (program_graph_make(&from->graph, from->model, wanted, from->parts->scratch,
                           err) < 0)
        return -1;
    from->call_node = arena_array(from->parts->scratch,
                                  (size_t)from->program->n_calls + 1, sizeof(uint32_t));
    if (!from->call_node)
        return from_spent(from, err);
    for (uint32_t i = 0; i < from->program->n_calls; i++)
        from->call_node[i] = PROGRAM_NONE;
    for (uint32_t i = 0; i < from->graph.n_nodes; i++)
        if (from->graph.nodes[i].kind == OP_GRAPH_CALL)
            from->call_node[from->graph.nodes[i].call] = i;
    return 0;
}

int parts_from_program(struct parts *parts, struct parts_about *about,
                       const struct session *session, const struct graph_wanted *wanted,
                       struct err *err)
{
    const struct program *program = session->model->program;
    struct graph_wanted own = *wanted;
    struct from from = {.as = &of_program,
                        .parts = parts,
                        .about = about,
                        .session = session,
                        .wanted = &own,
                        .n_ops = program->n_ops,
                        .n_groups = program->n_calls + program->n_regions,
                        .program = program,
                        .model = session->model};

    if (program->n_calls == 1) /* no modules: a single box would be useless */
        own.level = GRAPH_OPS;
    if (show_init(&from.show, session, parts->scratch, err) < 0 ||
        from_program_choose(&from, err) < 0 || make_graph(&from, err) < 0 ||
        from_enter(&from, err) < 0)
        return -1;
    count_ops(&from);
    count_params(&from);
    if (from_about(&from, program->calls[from.call].place, STR(""), STR("")) < 0)
        return from_spent(&from, err);
    set_note(&from);
    return 0;
}
