/* The texts of the boxes of a program. */
#include "graph/from_in.h"

#include "base/base.h"
#include "rows/args.h"
#include "run/op_table.h"
#include "study/program_use.h"

struct str from_program_line(struct from *from, uint32_t file, uint32_t line)
{
    struct buf text = BUF_INIT;
    struct str copy = STR("");

    if (program_line(&text, from->model, file, line))
        copy = parts_text(from->parts, buf_span(&text));
    buf_release(&text);
    return copy;
}

/* ---- operations ---- */

/* Operations that only pass on the content of a list or dict. */
static bool hands_on(struct str name)
{
    static const char *const names[] = {
        "aten::__getitem__", "aten::append",      "aten::extend",
        "aten::insert",      "aten::list",        "aten::pop",
        "aten::keys",        "aten::values",      "aten::items",
        "aten::get",         "aten::_set_item",   "prim::unchecked_cast",
        "prim::data",        "prim::NumToTensor", "aten::dict",
        "aten::copy",        "aten::setdefault",  "aten::update"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

/* The tensor that an operation takes as `arg`; NULL: it is not in the file. */
static const struct tensor *tensor_arg(const struct from *from,
                                       const struct program_op *op, const char *arg)
{
    const struct program *program = from->program;

    for (uint32_t i = op->io; i < op->io + op->n_in; i++) {
        const struct program_value *value = &program->values[program->ios[i].value];

        if (value->kind == PROGRAM_TENSOR && value->tensor < from->model->n_tensors &&
            str_is(model_string(from->model, program->ios[i].arg), arg))
            return &from->model->tensors[value->tensor];
    }
    return NULL;
}

static int64_t number_of(const struct op_look *look, const char *name, int64_t preset)
{
    const struct value *value;
    uint32_t id;

    if (!value_get(look->plain, look->attributes, name, &id))
        return preset;
    value = value_at(look->plain, id);
    return value->kind == VALUE_INT || value->kind == VALUE_BOOL ? value->integer
                                                                 : preset;
}

/* The weight of an ONNX operation, whose inputs are numbered. */
static const struct tensor *onnx_weight(const struct from *from,
                                        const struct program_op *op, struct str name)
{
    bool linear =
        str_is(name, "onnx::QLinearConv") || str_is(name, "onnx::QLinearMatMul");

    return tensor_arg(from, op, linear ? "3" : "1");
}

/* Are the first two dimensions of the weight inputs and outputs, in this order? */
static bool is_turned(const struct op_look *look)
{
    struct str name = look->name;

    if (str_is(name, "onnx::Gemm"))
        return number_of(look, "transB", 0) == 0;
    return str_starts(name, STR("aten::conv_transpose")) ||
           str_is(name, "onnx::ConvTranspose") ||
           (str_starts(name, STR("onnx::")) && look->family == OP_FAMILY_MATMUL) ||
           number_of(look, "transposed", 0) != 0;
}

/* In TFLite the weight of a convolution is (out, height, width, in), of one by channel
 * (1, height, width, out). */
static void look_at_tflite(struct op_look *look, const struct from *from,
                           const struct program_op *op)
{
    const struct tensor *weight = tensor_arg(from, op, "1");
    const int64_t *dims;
    bool by_channel = str_is(look->name, "tflite::DEPTHWISE_CONV_2D");

    if (!weight || (weight->rank != 2 && weight->rank != 4))
        return;
    dims = from->model->dims + weight->shape;
    look->features_in = dims[weight->rank - 1];
    look->features_out = dims[by_channel ? weight->rank - 1 : 0];
    if (weight->rank == 4) {
        look->kernel = dims + 1;
        look->kernel_rank = 2;
    }
}

/* Features and window, from the shape of the weight. */
static void look_at_weight(struct op_look *look, const struct from *from,
                           const struct program_op *op)
{
    bool onnx = str_starts(look->name, STR("onnx::")), turned = is_turned(look);
    const struct tensor *weight =
        onnx ? onnx_weight(from, op, look->name) : tensor_arg(from, op, "weight");
    int64_t groups = number_of(look, onnx ? "group" : "groups", 1);
    const int64_t *dims;

    if (!weight || weight->rank < 2 || groups < 1 || groups > INT32_MAX)
        return;
    dims = from->model->dims + weight->shape;
    if (dims[0] < 0 || dims[1] < 0 || dims[1] > INT32_MAX)
        return;
    look->features_in = turned ? dims[0] : dims[1] * groups;
    look->features_out = turned ? dims[1] * groups : dims[0];
    if (weight->rank > 2) {
        look->kernel = dims + 2;
        look->kernel_rank = weight->rank - 2u;
    }
}

struct op_look from_program_op(const struct from *from, uint32_t i)
{
    const struct program *program = from->program;
    const struct program_op *op = &program->ops[i];
    struct op_look look = OP_LOOK_NONE;

    look.name = model_string(from->model, op->name);
    look.family = op_family_of(look.name);
    if (look.family == OP_FAMILY_VIEW || hands_on(look.name))
        look.flags |= OP_VIEW;
    if (str_starts(look.name, STR("aten::empty")))
        look.flags |= OP_MAKES;
    look.plain = &from->model->values;
    look.attributes = op->attributes;
    look.n_in = op->n_in;
    for (uint32_t k = op->io; k < op->io + op->n_in && look.tensor == NO_PLACE; k++)
        if (program->values[program->ios[k].value].kind == PROGRAM_TENSOR &&
            !program->values[program->ios[k].value].number)
            look.tensor = program->values[program->ios[k].value].place;
    if (str_starts(look.name, STR("tflite::")))
        look_at_tflite(&look, from, op);
    else if (look.family == OP_FAMILY_CONV || look.family == OP_FAMILY_MATMUL)
        look_at_weight(&look, from, op);
    return look;
}

/* The name of an operation: ONNX has one for its nodes; TFLite names their results
 * after them. */
static struct str key_of(const struct from *from, const struct op_look *look,
                         const struct program_op *op)
{
    const struct program *program = from->program;

    if (!str_starts(look->name, STR("onnx::")) &&
        !str_starts(look->name, STR("tflite::")))
        return STR("");
    if (op->file > 0 && op->line == 0)
        return model_string(from->model, op->file);
    if (op->n_out == 0)
        return STR("");
    return model_string(from->model,
                        program->values[program->ios[op->io + op->n_in].value].name);
}

static int op_box(struct from *from, uint32_t part, uint32_t i)
{
    const struct program_op *op = &from->program->ops[i];
    struct op_look look = from_program_op(from, i);
    struct diagram_box *box = &from->parts->at[part].box;

    box->op = i;
    box->call = op->call;
    box->place = op->place < from->model->n_places ? op->place : NO_PLACE;
    box->line = from_program_line(from, op->file, op->line);
    from->parts->at[part].key = parts_text(from->parts, key_of(from, &look, op));
    if (op->n_out > 0)
        look.shape =
            from->as->look(from, from->program->ios[op->io + op->n_in].value).shape;
    return from_op_box(from, part, &look);
}

static int unclear_box(struct from *from, uint32_t part, uint32_t i)
{
    const struct program_region *region = &from->program->regions[i];
    struct diagram_box *box = &from->parts->at[part].box;

    box->call = region->call;
    box->family = FAMILY_OTHER;
    box->flags |= DIAGRAM_REGION;
    box->id = parts_printf(from->parts, "code:%u", i);
    box->name = STR("not understood");
    box->line = from_program_line(from, region->file, region->line);
    return parts_word(from->parts, part,
                      parts_text(from->parts, model_string(from->model, region->text)));
}

int from_program_node_box(struct from *from, uint32_t part,
                          const struct op_graph_node *node)
{
    if (node->kind == OP_GRAPH_UNCLEAR)
        return unclear_box(from, part, node->io);
    return op_box(from, part, node->op);
}

/* ---- groups ---- */

static int control_box(struct from *from, uint32_t part, uint32_t i)
{
    const struct program_region *region = &from->program->regions[i];
    struct diagram_box *box = &from->parts->at[part].box;
    struct buf text = BUF_INIT;
    int status;

    box->kind = DIAGRAM_CONTROL;
    box->family = FAMILY_NONE;
    box->call = region->call;
    box->name = str_of(program_region_name((enum program_region_kind)region->kind));
    box->id = parts_printf(from->parts, "code:%u", i);
    box->line = from_program_line(from, region->file, region->line);
    from_program_condition(&text, from, region->condition);
    if (text.len > 0 && region->kind == PROGRAM_ELSE)
        buf_text(&text, " is false");
    status = parts_word(from->parts, part, parts_text(from->parts, buf_span(&text)));
    buf_release(&text);
    return status;
}

/* A hash of class and arguments. Each traced module has a class of its own, with the
 * same name. */
static uint64_t look_of(const struct from *from, uint32_t place)
{
    const struct object *object = place_object(from->model, place);
    uint64_t name = str_hash(class_short(place_class(from->model, place)));

    return (object ? hash_mix(name, args_hash(from->model, object)) : name) | 1;
}

/* A hash of what a call does: names, constants and shapes of parameters. */
static uint64_t code_hash(const struct from *from, const struct program_call *call)
{
    const struct program *program = from->program;
    uint64_t hash = 1;

    for (uint32_t i = call->ops; i < call->end && i < program->n_ops; i++) {
        const struct program_op *op = &program->ops[i];

        hash = hash_mix(hash_mix(hash, op->name), op->attributes);
        for (uint32_t k = op->io; k < op->io + op->n_in; k++) {
            uint32_t tensor = program->values[program->ios[k].value].tensor;

            if (tensor < from->model->n_tensors)
                hash = hash_mix(hash, from->model->tensors[tensor].shape);
        }
    }
    return hash;
}

/* A traced module records no arguments. If it has only one operation, use that
 * one's. */
static int words_of_code(struct from *from, uint32_t part,
                         const struct op_graph_node *node)
{
    struct diagram_box *box = &from->parts->at[part].box;
    struct op_look look;

    if (node->n_ops != 1)
        return 0;
    look = from_program_op(from, node->op);
    if (str_starts(look.name, STR("keras::")) && from_op_is_sign(&look))
        box->flags |= DIAGRAM_SIGN;
    if (box->n_words > 1)
        return 0;
    return from_op_words(from, part, &look);
}

int from_program_group_box(struct from *from, uint32_t part, uint32_t group)
{
    const struct program *program = from->program;
    const struct program_call *call = &program->calls[group];
    struct graph_part *to;
    uint32_t node, above = 0;

    if (group >= program->n_calls)
        return control_box(from, part, group - program->n_calls);
    if (group != from->call && call->parent < program->n_calls)
        above = program->calls[call->parent].place;
    if (from_call_box(from, part, group, call->place, above) < 0)
        return -1;
    to = &from->parts->at[part];
    to->box.line = from_program_line(from, call->file, call->line);
    to->same = look_of(from, call->place);
    node = from->call_node[group];
    if (node == PROGRAM_NONE)
        return 0;
    to->same = hash_mix(to->same, code_hash(from, call)) | 1;
    return words_of_code(from, part, &from->graph.nodes[node]);
}
