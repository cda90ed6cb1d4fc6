/* The texts of the operations of a recording. */
#include "graph/from_in.h"

#include "rows/op_words.h"

static const struct run_op_type *type_of(const struct run *run,
                                         const struct run_op_value *value)
{
    return value ? &run->ops->types[value->type] : NULL;
}

/* The first tensor that an operation reads or makes; NULL: none. */
static const struct run_op_value *
first_value(const struct run *run, const struct run_op *op, enum op_io_kind kind)
{
    uint32_t at = 0;
    const struct run_op_io *io = op_next(run, op, kind, &at);

    return io ? &run->ops->values[io->value] : NULL;
}

static int64_t dim_of(const struct run *run, const struct run_op_type *type,
                      uint32_t dim)
{
    return run->dims[type->shape + dim];
}

/* The window of a convolution, and its channels. */
static void look_at_kernel(struct op_look *look, const struct run *run,
                           const struct run_op *op)
{
    const struct run_op_type *weight = type_of(run, op_input(run, op, "weight"));
    const struct run_op_type *from = type_of(run, op_input(run, op, "input"));
    const struct run_op_type *into = type_of(run, first_value(run, op, OP_OUT));

    if (!weight || !from || !into || weight->rank < 3 || from->rank < 2 ||
        into->rank != from->rank)
        return;
    look->kernel = run->dims + weight->shape + 2;
    look->kernel_rank = weight->rank - 2u;
    look->features_in = dim_of(run, from, 1);
    look->features_out = dim_of(run, into, 1);
}

/* The last dimension before and after a matrix product. */
static void look_at_features(struct op_look *look, const struct run *run,
                             const struct run_op *op)
{
    const struct run_op_value *input = op_input(run, op, "mat1");
    const struct run_op_type *from, *into;

    from = type_of(run, input ? input : first_value(run, op, OP_IN));
    into = type_of(run, first_value(run, op, OP_OUT));
    if (!from || !into || from->rank == 0 || into->rank == 0)
        return;
    look->features_in = dim_of(run, from, from->rank - 1u);
    look->features_out = dim_of(run, into, into->rank - 1u);
}

/* Counts its inputs, and finds the parameter or buffer among them. */
static void look_at_inputs(struct op_look *look, const struct from *from,
                           const struct run_op *op)
{
    const struct run_op_io *io;

    for (uint32_t at = 0; (io = op_next(from->run, op, OP_IN, &at));) {
        uint32_t tensor = from->run->ops->values[io->value].tensor;

        look->n_in++;
        if (look->tensor == NO_PLACE && tensor < from->model->n_tensors)
            look->tensor = from->model->tensors[tensor].place;
    }
}

/* The box of a tensor named by attach(): its name, shape and type. */
static int attached_box(struct from *from, uint32_t part, uint32_t op)
{
    const struct run *run = from->run;
    struct diagram_box *box = &from->parts->at[part].box;
    const struct run_op_io *io =
        op_next(run, &run->ops->ops[op], OP_IN, &(uint32_t){0});
    struct part_value value = from->as->look(from, io ? io->value : RUN_NONE);
    uint32_t name;

    box->kind = DIAGRAM_ATTACHED;
    box->family = FAMILY_NONE;
    box->id = parts_printf(from->parts, "attached:%u", op);
    box->name = STR("tensor");
    if (value_get(&run->plain, run->ops->ops[op].attributes, "name", &name))
        box->name = parts_text(from->parts, value_text(&run->plain, name));
    if (parts_word(from->parts, part, value.shape) < 0)
        return -1;
    return parts_word(from->parts, part, value.dtype);
}

int from_run_node_box(struct from *from, uint32_t part,
                      const struct op_graph_node *node)
{
    const struct run *run = from->run;
    const struct run_op *op = &run->ops->ops[node->op];
    const struct run_op_kind *kind = &run->ops->kinds[op->kind];
    struct diagram_box *box = &from->parts->at[part].box;
    struct buf shape = BUF_INIT, shapes = BUF_INIT;
    struct op_look look = OP_LOOK_NONE;
    uint32_t at = 0;
    const struct run_op_io *out = op_next(run, op, OP_OUT, &at);
    int status;

    box->op = node->op;
    box->call = op->call < run->n_calls ? op->call : RUN_NONE;
    box->place = op->place < from->model->n_places ? op->place : NO_PLACE;
    box->line = parts_text(from->parts, run_string(run, op->line));
    if (op->flags & OP_RAISED)
        box->flags |= DIAGRAM_RAISED;
    if (str_is(op_name(run, op), OP_ATTACH))
        return attached_box(from, part, node->op);
    if (out)
        op_shape(&shape, run, out->value);
    op_shapes(&shapes, run, op);
    look.name = op_name(run, op);
    look.family = (enum op_family)kind->family;
    look.flags = kind->flags;
    look.plain = &run->plain;
    look.attributes = op->attributes;
    look.shape = buf_span(&shape);
    look.shapes = buf_span(&shapes);
    look_at_inputs(&look, from, op);
    if (kind->family == OP_FAMILY_CONV)
        look_at_kernel(&look, run, op);
    else
        look_at_features(&look, run, op);
    status = from_op_box(from, part, &look);
    buf_release(&shape);
    buf_release(&shapes);
    return status;
}
