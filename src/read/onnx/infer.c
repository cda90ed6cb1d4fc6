#include "read/onnx/infer_in.h"

#include <string.h>

#include "base/base.h"

/* THE TABLE of rules: operation types, separated by spaces. */
static const struct {
    const char *names;
    void (*rule)(struct infer *f);
} rules[] = {
    {" Relu LeakyRelu Elu Selu Celu ThresholdedRelu Sigmoid HardSigmoid HardSwish Tanh "
     "Softplus Softsign Softmax LogSoftmax Hardmax Gelu FastGelu QuickGelu Mish Swish "
     "Erf Exp Log Sqrt Reciprocal Abs Neg Ceil Floor Round Sign Sin Cos Tan Asin Acos "
     "Atan Sinh Cosh Asinh Acosh Atanh Clip Identity Not BitwiseNot Shrink LRN "
     "LpNormalization MeanVarianceNormalization InstanceNormalization "
     "GroupNormalization RMSNormalization SimplifiedLayerNormalization CumSum CumProd "
     "Trilu ReverseSequence ScatterND ScatterElements Scatter PRelu BiasGelu "
     "EyeLike RandomNormalLike RandomUniformLike RotaryEmbedding Scale ImageScaler "
     "ParametricSoftplus ScaledTanh Affine ",
     infer_like_first},
    {" LayerNormalization BatchNormalization SkipLayerNormalization "
     "SkipSimplifiedLayerNormalization ",
     infer_like_norm},
    {" IsNaN IsInf ", infer_boolean},
    {" Add Sub Mul Div Pow Mod Max Min Sum Mean BitShift BitwiseAnd BitwiseOr "
     "BitwiseXor ",
     infer_elementwise},
    {" Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor ", infer_comparison},
    {" Where ", infer_where},
    {" Cast CastLike Bernoulli ", infer_cast},
    {" Dropout ", infer_dropout},
    {" MatMul MatMulInteger QLinearMatMul ", infer_matmul},
    {" Gemm ", infer_gemm},
    {" QuantizeLinear ", infer_quantize},
    {" DequantizeLinear ", infer_dequantize},
    {" DynamicQuantizeLinear ", infer_dynamic_quantize},
    {" LSTM GRU RNN ", infer_recurrent},
    {" ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 "
     "ReduceLogSum ReduceLogSumExp ReduceSumSquare ",
     infer_reduce},
    {" ArgMax ArgMin ", infer_arg},
    {" Conv ConvInteger QLinearConv FusedConv ", infer_conv},
    {" ConvTranspose ", infer_conv_transpose},
    {" MaxPool AveragePool LpPool ", infer_pool},
    {" GlobalAveragePool GlobalMaxPool GlobalLpPool ", infer_global_pool},
    {" Resize Upsample ", infer_resize},
    {" DepthToSpace SpaceToDepth ", infer_depth_space},
    {" Reshape ", infer_reshape},
    {" Flatten ", infer_flatten},
    {" Transpose ", infer_transpose},
    {" Concat ", infer_concat},
    {" Split ", infer_split},
    {" Slice ", infer_slice},
    {" Squeeze ", infer_squeeze},
    {" Unsqueeze ", infer_unsqueeze},
    {" Gather ", infer_gather},
    {" GatherND ", infer_gather_nd},
    {" GatherElements ", infer_gather_elements},
    {" Expand ", infer_expand},
    {" Tile ", infer_tile},
    {" Pad ", infer_pad},
    {" TopK ", infer_topk},
    {" OneHot ", infer_one_hot},
    {" Shape ", infer_shape},
    {" Size ", infer_size},
    {" Constant ", infer_constant},
    {" ConstantOfShape ", infer_constant_of_shape},
    {" Range ", infer_range},
    {" RandomNormal RandomUniform ", infer_random},
    {" NonZero ", infer_non_zero},
};

static bool has_name(const char *names, struct str name)
{
    size_t length = strlen(names);

    for (size_t at = 0; at + name.len + 1 < length; at++)
        if (names[at] == ' ' && memcmp(names + at + 1, name.at, name.len) == 0 &&
            names[at + 1 + name.len] == ' ')
            return true;
    return false;
}

/* Caches the rule of each operation type: a file has few types and many nodes. */
static uint32_t find_rule(struct onnx_making *m, uint32_t op_type)
{
    struct str name = onnx_text(m->p, op_type);
    uint32_t i;

    if (map_find(&m->by_rule, op_type, &i))
        return i;
    for (i = 0; i < COUNT_OF(rules); i++)
        if (name.len > 0 && has_name(rules[i].names, name))
            break;
    map_put(&m->by_rule, op_type, i);
    return i;
}

void onnx_infer(struct infer *f)
{
    uint32_t rule;

    for (uint32_t i = 0; i < f->n_out; i++)
        f->out[i] = (struct onnx_known){.rank = -1};
    if (!onnx_is_standard(onnx_text(f->m->p, f->node->domain)) &&
        !str_is(onnx_text(f->m->p, f->node->domain), "com.microsoft"))
        return;
    rule = find_rule(f->m, f->node->op_type);
    if (rule >= COUNT_OF(rules) || f->n_out == 0)
        return;
    rules[rule].rule(f);
    infer_follow(f);
}

/* ---- attributes ---- */

const struct onnx_attr *onnx_attr_resolve(const struct onnx_parsed *p,
                                          const struct onnx_scope *scope,
                                          const struct onnx_attr *attr)
{
    while (attr && attr->ref) {
        const struct onnx_attr *outer = NULL;

        if (!scope)
            return NULL;
        outer = onnx_attr_find(p, scope->caller, onnx_text(p, attr->ref).at);
        for
            ONNX_EACH(i, p, attrs, scope->function->defaults)
        if (!outer && p->attrs[i].name == attr->ref)
            outer = &p->attrs[i];
        attr = outer;
        scope = scope->outer;
    }
    return attr;
}

const struct onnx_attr *onnx_attr_in(const struct onnx_parsed *p,
                                     const struct onnx_scope *scope,
                                     const struct onnx_node *node, const char *name)
{
    return onnx_attr_resolve(p, scope, onnx_attr_find(p, node, name));
}

static const struct onnx_attr *find(const struct infer *f, const char *name)
{
    return onnx_attr_in(f->m->p, f->scope, f->node, name);
}

int64_t infer_int(const struct infer *f, const char *name, int64_t preset)
{
    const struct onnx_attr *attr = find(f, name);
    const struct value *value;

    if (!attr || attr->type != ONNX_INT)
        return preset;
    value = value_at(&f->m->build->model->values, attr->value);
    return value->kind == VALUE_INT ? value->integer : preset;
}

bool infer_ints(const struct infer *f, const char *name, int64_t *to, uint32_t *ret_n)
{
    const struct values *values = &f->m->build->model->values;
    const struct onnx_attr *attr = find(f, name);
    const struct value *list;

    if (!attr || attr->type != ONNX_INTS)
        return false;
    list = value_at(values, attr->value);
    if (list->kind != VALUE_LIST || list->n > INFER_NUMBERS)
        return false;
    for (uint32_t i = 0; i < list->n; i++)
        to[i] = value_at(values, value_items(values, attr->value)[i])->integer;
    *ret_n = list->n;
    return true;
}

bool infer_text(const struct infer *f, const char *name, struct str *ret_text)
{
    const struct onnx_attr *attr = find(f, name);

    if (!attr || attr->type != ONNX_STRING)
        return false;
    *ret_text = value_text(&f->m->build->model->values, attr->value);
    return true;
}

const struct onnx_known *infer_input(const struct infer *f, uint32_t i)
{
    static const struct onnx_known nothing = {.rank = -1};

    return i < f->n_in ? &f->in[i] : &nothing;
}

bool infer_numbers(const struct infer *f, const char *name, uint32_t i, int64_t *to,
                   uint32_t *ret_n, bool *ret_given)
{
    const struct onnx_known *in = infer_input(f, i);

    *ret_n = 0;
    *ret_given = find(f, name) != NULL;
    if (*ret_given)
        return infer_ints(f, name, to, ret_n);
    *ret_given = in->rank >= 0 || in->dtype != DTYPE_UNKNOWN || in->numbers;
    if (!in->numbers)
        return false;
    for (uint32_t k = 0; k < in->n_numbers; k++) {
        to[k] = in->numbers[k];
        if (to[k] == INFER_UNKNOWN)
            return false;
    }
    *ret_n = in->n_numbers;
    return true;
}

/* ---- results ---- */

static const int64_t *copy(struct infer *f, const int64_t *numbers, size_t n)
{
    int64_t *to = arena_array(f->m->p->arena, n + 1, sizeof *to);

    if (!to) {
        f->spent = true;
        return NULL;
    }
    if (n > 0)
        memcpy(to, numbers, n * sizeof *to);
    return to;
}

void infer_dtype(struct infer *f, uint32_t i, uint8_t dtype)
{
    if (i < f->n_out)
        f->out[i].dtype = dtype;
}

void infer_set(struct infer *f, uint32_t i, uint8_t dtype, const int64_t *dims,
               int32_t rank)
{
    if (i >= f->n_out)
        return;
    f->out[i].dtype = dtype;
    if (rank < 0 || rank > ONNX_RANK)
        return;
    for (int32_t k = 0; k < rank; k++)
        if (dims[k] < ONNX_ANY)
            return; /* not a size */
    f->out[i].dims = copy(f, dims, (size_t)rank);
    f->out[i].rank = f->out[i].dims ? rank : -1;
}

void infer_same(struct infer *f, uint32_t i, const struct onnx_known *as, uint8_t dtype)
{
    if (i >= f->n_out)
        return;
    f->out[i] = (struct onnx_known){.rank = as->rank, .dtype = dtype, .dims = as->dims};
}

void infer_set_numbers(struct infer *f, uint32_t i, const int64_t *numbers, uint32_t n)
{
    if (i >= f->n_out || n > INFER_NUMBERS)
        return;
    f->out[i].numbers = copy(f, numbers, n);
    f->out[i].n_numbers = n;
}

bool infer_axis(int64_t axis, int32_t rank, int32_t *ret_axis)
{
    if (axis < -(int64_t)rank || axis >= rank)
        return false;
    *ret_axis = (int32_t)(axis < 0 ? axis + rank : axis);
    return true;
}

int64_t infer_times(int64_t a, int64_t b)
{
    int64_t product;

    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product))
        return ONNX_ANY;
    return product;
}

int64_t infer_plus(int64_t a, int64_t b)
{
    int64_t sum;

    if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum))
        return ONNX_ANY;
    return sum;
}

/* The broadcast of two sizes: a size of 1 is repeated; an unknown size may be 1. */
static bool join(int64_t a, int64_t b, int64_t *ret_size)
{
    if (a == ONNX_ANY || b == ONNX_ANY) {
        int64_t known = a == ONNX_ANY ? b : a;

        *ret_size = known > 1 ? known : ONNX_ANY;
        return true;
    }
    *ret_size = a == 1 ? b : a;
    return a == b || a == 1 || b == 1;
}

bool infer_broadcast(const struct onnx_known *a, const struct onnx_known *b,
                     int64_t *to, int32_t *ret_rank)
{
    int32_t rank = a->rank > b->rank ? a->rank : b->rank;

    if (a->rank < 0 || b->rank < 0)
        return false;
    for (int32_t i = 0; i < rank; i++) {
        int32_t at_a = i - (rank - a->rank), at_b = i - (rank - b->rank);

        if (!join(at_a < 0 ? 1 : a->dims[at_a], at_b < 0 ? 1 : b->dims[at_b], &to[i]))
            return false;
    }
    *ret_rank = rank;
    return true;
}
