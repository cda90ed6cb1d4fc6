/* Properties of tensors that follow from the nodes that read them: the module, the role
 * (a statistic, a scale), and the scale and zero point of integers. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/made_in.h"

/* THE TABLE of operations whose inputs have a known role. One letter per input, in
 * order: '-' unknown, 'm' a mean or variance, 's' a scale or zero point, 'i' an integer
 * tensor whose scale is elsewhere, 'q' one followed by its scale and zero point. */
static const struct {
    const char *op_type, *inputs;
} uses[] = {
    {"BatchNormalization", "---mm"},
    {"QuantizeLinear", "-ss"},
    {"DequantizeLinear", "qss"},
    {"QLinearConv", "qssqssss-"},
    {"QLinearMatMul", "qssqssss"},
    {"ConvInteger", "-iss"},
    {"MatMulInteger", "-iss"},
    {"MatMulIntegerToFloat", "-issss-"},
    {"DynamicQuantizeMatMul", "-qss-"},
    {"DynamicQuantizeLSTM", "-ii-----ssss"},
    {"QAttention", "-i-ss-ss-"},
    {"MatMulNBits", "-qss--"},
    {"GatherBlockQuantized", "i-ss"},
    {"QLinearAdd", "qssqssss"},
    {"QLinearMul", "qssqssss"},
    {"QGemm", "qssqss-ss"},
    {"QLinearSigmoid", "qssss"},
    {"QLinearLeakyRelu", "qssss"},
    {"QLinearGlobalAveragePool", "qssss"},
};

static const char *uses_of(struct str op_type)
{
    for (size_t i = 0; i < COUNT_OF(uses); i++)
        if (str_is(op_type, uses[i].op_type))
            return uses[i].inputs;
    return "";
}

/* Records the module of a node that reads the tensor; the root if they differ. */
static void note_scope(struct onnx_tensor *t, uint32_t scope, uint32_t root)
{
    if (scope == NO_PLACE)
        scope = root;
    if (t->scope == NO_PLACE)
        t->scope = scope;
    else if (t->scope != scope)
        t->scope = root;
}

static void use_inputs(struct onnx_making *m, const struct onnx_node *node)
{
    const char *use = uses_of(onnx_text(m->p, node->op_type));

    for
        ONNX_EACH(i, m->p, names, node->inputs)
        {
            uint32_t name = m->p->names[i].name;
            uint32_t at = name ? onnx_initialiser(m, node->graph, name) : ONNX_NONE;

            if (at != ONNX_NONE) {
                struct onnx_tensor *t = &m->p->tensors[at];

                note_scope(t, node->scope, m->root);
                t->use |= *use == 'm'                  ? ONNX_STATISTIC
                          : *use == 's'                ? ONNX_SCALE
                          : *use == 'q' || *use == 'i' ? ONNX_QUANTISED
                                                       : 0;
            }
            if (*use)
                use++;
        }
}

void onnx_use_tensors(struct onnx_making *m)
{
    for (uint32_t i = 0; i < m->p->n_nodes; i++)
        use_inputs(m, &m->p->nodes[i]);
}

/* ---- scales ---- */

/* The scale or zero point as a plain number, else as the tensor. */
static uint32_t value_of(struct onnx_making *m, uint32_t tensor)
{
    uint32_t value = onnx_tensor_value(m, tensor);

    if (value == VALUE_ID_NONE && m->p->tensors[tensor].tensor != NO_OBJECT)
        value = value_tensor(build_values(m->build), m->p->tensors[tensor].tensor);
    return value;
}

/* Sets the scale and zero point of a tensor; the first node that reads it wins. */
static void set_scale(struct onnx_making *m, uint32_t tensor, uint32_t scale,
                      uint32_t zero, uint32_t axis)
{
    struct values *values = build_values(m->build);
    uint32_t id = m->p->tensors[tensor].tensor, items[6], n = 0;
    struct tensor *made;

    if (id == NO_OBJECT || scale == ONNX_NONE)
        return;
    made = &m->build->model->tensors[id];
    if (made->extra != VALUE_ID_NONE)
        return;
    items[n++] = value_str(values, STR("scale"));
    items[n++] = value_of(m, scale);
    if (zero != ONNX_NONE) {
        items[n++] = value_str(values, STR("zero_point"));
        items[n++] = value_of(m, zero);
    }
    if (axis != VALUE_ID_NONE && m->p->tensors[scale].rank > 0) {
        items[n++] = value_str(values, STR("axis"));
        items[n++] = axis;
    }
    id = value_make(values, VALUE_DICT, STR(""), items, n);
    if (id != VALUE_ID_FAILED)
        made->extra = id;
}

static uint32_t find(const struct onnx_making *m, uint32_t graph, uint32_t name)
{
    return name ? onnx_initialiser(m, graph, name) : ONNX_NONE;
}

/* A node with integer tensors, each followed by its scale and zero point. */
static void scale_inputs(struct onnx_making *m, const struct onnx_node *node)
{
    const char *use = uses_of(onnx_text(m->p, node->op_type));
    const struct onnx_attr *axis = onnx_attr_find(m->p, node, "axis");
    uint32_t axis_id = axis && axis->type == ONNX_INT ? axis->value : VALUE_ID_NONE;

    for (uint32_t i = 0; use[i]; i++) {
        uint32_t tensor;

        if (use[i] != 'q')
            continue;
        tensor = find(m, node->graph, onnx_input(m->p, node, i));
        if (tensor != ONNX_NONE)
            set_scale(m, tensor, find(m, node->graph, onnx_input(m->p, node, i + 1)),
                      find(m, node->graph, onnx_input(m->p, node, i + 2)), axis_id);
    }
}

void onnx_quantisation(struct onnx_making *m)
{
    struct onnx_parsed *p = m->p;

    for (uint32_t i = 0; i < p->n_nodes; i++)
        if (strchr(uses_of(onnx_text(p, p->nodes[i].op_type)), 'q'))
            scale_inputs(m, &p->nodes[i]);
    for (uint32_t g = 0; g < p->n_graphs; g++)
        for
            ONNX_EACH(i, p, quants, p->graphs[g].quants)
            {
                uint32_t tensor = find(m, g, p->quants[i].tensor);

                if (tensor != ONNX_NONE)
                    set_scale(m, tensor, find(m, g, p->quants[i].scale),
                              find(m, g, p->quants[i].zero_point), VALUE_ID_NONE);
            }
}
