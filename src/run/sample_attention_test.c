#include "run/sample_attention.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "model/build.h"
#include "run/trace_ops.h"

#define LINEAR "torch.nn.modules.linear.Linear"
#define NORM   "torch.nn.modules.normalization.LayerNorm"

/* Objects, in the order of the model. */
enum { NET, BLOCK, LN_1, ATTN, Q, K, V, PROJ, LN_2, MLP, UP, GELU, DOWN, HEAD };

struct attention {
    struct trace *trace;
    uint64_t clock;
    uint32_t hidden, heads, wide, words; /* types: 1×8×64, 1×4×8×16, 1×8×256, 1×8×100 */
};

/* ---- the model ---- */

static uint32_t module(struct build *build, uint32_t parent, const char *name,
                       const char *class_name, int64_t in, int64_t out)
{
    struct values *values = build_values(build);
    uint32_t node =
        parent == NO_PLACE ? 0 : build_node(build, parent, PLACE_MODULE, str_of(name));
    struct object *object = build_object(build, node);
    uint32_t items[4];

    object->class_id = build_class(build, str_of(class_name));
    if (in > 0 && out > 0) {
        items[0] = value_str(values, STR("in_features"));
        items[1] = value_int(values, in);
        items[2] = value_str(values, STR("out_features"));
        items[3] = value_int(values, out);
        object->args = value_make(values, VALUE_DICT, STR(""), items, 4);
    }
    return node;
}

static const struct model *make_model(void)
{
    const struct model *model;
    struct build build;
    uint32_t block, attn, mlp;

    CHECK(build_init(&build, "attention", 0, NULL, NULL) == 0);
    build_set_kind(&build, 0, PLACE_MODULE);
    module(&build, NO_PLACE, "", "net.Model", 0, 0);
    block = module(&build, 0, "block", "net.Block", 0, 0);
    module(&build, block, "ln_1", NORM, 0, 0);
    attn = module(&build, block, "attn", "net.Attention", 0, 0);
    module(&build, attn, "q", LINEAR, 64, 64);
    module(&build, attn, "k", LINEAR, 64, 64);
    module(&build, attn, "v", LINEAR, 64, 64);
    module(&build, attn, "proj", LINEAR, 64, 64);
    module(&build, block, "ln_2", NORM, 0, 0);
    mlp = module(&build, block, "mlp", "torch.nn.modules.container.Sequential", 0, 0);
    module(&build, mlp, "0", LINEAR, 64, 256);
    module(&build, mlp, "1", "torch.nn.modules.activation.GELU", 0, 0);
    module(&build, mlp, "2", LINEAR, 256, 64);
    module(&build, 0, "head", LINEAR, 64, 100);
    model = build_finish(&build, NULL);
    build_release(&build);
    CHECK(model);
    return model;
}

/* ---- the pass ---- */

/* A value: its storage, seen as a type. */
struct attention_value {
    uint32_t storage, type;
};

static uint32_t make_type(struct attention *a, int rank, const int64_t *sizes)
{
    const struct run_op_type like = {.dtype = DTYPE_FLOAT32, .rank = (uint8_t)rank};

    return trace_op_type(a->trace, &like, sizes, NULL);
}

static uint32_t new_storage(struct attention *a)
{
    return trace_op_storage(a->trace, 2048, 0, RUN_NONE, OP_STORAGE_OTHER);
}

/* An operation of up to three values. A view's result has the storage of the first. */
static struct attention_value op(struct attention *a, const char *name, uint32_t type,
                                 uint32_t n, const struct attention_value *in)
{
    bool view = strcmp(name, "aten::view") == 0;
    struct trace_op_tensor list[4];
    struct trace_op_given given = {.cause = RUN_NONE,
                                   .gradient = RUN_NONE,
                                   .ns = view ? 10 : 1000,
                                   .flops = OP_NO_FLOPS,
                                   .tensors = list,
                                   .n_tensors = (uint16_t)(n + 1)};
    struct attention_value out = {view ? in[0].storage : new_storage(a), type};
    uint32_t values[4];

    for (uint32_t i = 0; i <= n; i++)
        list[i] =
            (struct trace_op_tensor){.type = i < n ? in[i].type : type,
                                     .storage = i < n ? in[i].storage : out.storage,
                                     .arg = (uint16_t)(i < n ? i : 0),
                                     .item = OP_NO_ITEM,
                                     .kind = i < n ? OP_IN : OP_OUT};
    given.kind = trace_op_kind(a->trace, name, "", NULL, 0, view ? OP_VIEW : 0);
    given.call = trace_open_call(a->trace, 0, &given.serial, &given.place);
    given.start_ns = a->clock += 1000;
    CHECK(trace_op(a->trace, &given, values) != RUN_NONE);
    return out;
}

static void io(struct attention *a, uint32_t call, enum run_io_kind kind,
               struct attention_value value)
{
    static const int64_t hidden[] = {1, 8, 64}, heads[] = {1, 4, 8, 16};
    static const int64_t wide[] = {1, 8, 256}, words[] = {1, 8, 100};
    const int64_t *sizes = value.type == a->hidden  ? hidden
                           : value.type == a->heads ? heads
                           : value.type == a->wide  ? wide
                                                    : words;
    struct run_value of = {.dtype = DTYPE_FLOAT32,
                           .rank = value.type == a->heads ? 4 : 3,
                           .storage = value.storage,
                           .numel = 1,
                           .op_value =
                               trace_op_value(a->trace, value.type, value.storage, 0)};
    const char *path = kind == RUN_IN ? "x" : "";

    for (int i = 0; i < of.rank; i++)
        of.numel *= (uint64_t)sizes[i];
    of.bytes = 4 * of.numel;
    trace_io(a->trace, call, kind, trace_string(a->trace, path, strlen(path)),
             trace_value(a->trace, &of, sizes, NULL, NULL), 0);
}

static uint32_t begin(struct attention *a, uint32_t object, struct attention_value x)
{
    uint32_t call = trace_begin(a->trace, 0, object, 0, 0, a->clock += 100);

    io(a, call, RUN_IN, x);
    return call;
}

static struct attention_value end(struct attention *a, uint32_t call,
                                  struct attention_value y)
{
    io(a, call, RUN_OUT, y);
    trace_end(a->trace, 0, call, 0, a->clock += 100);
    return y;
}

/* A module that runs one operation. */
static struct attention_value leaf(struct attention *a, uint32_t object,
                                   const char *name, uint32_t type,
                                   struct attention_value x)
{
    uint32_t call = begin(a, object, x);

    return end(a, call, op(a, name, type, 1, &x));
}

static struct attention_value attend(struct attention *a, struct attention_value x)
{
    uint32_t call = begin(a, ATTN, x);
    struct attention_value qkv[3], y;

    for (uint32_t i = 0; i < 3; i++) {
        y = leaf(a, Q + i, "aten::addmm", a->hidden, x);
        qkv[i] = op(a, "aten::view", a->heads, 1, &y);
    }
    y = op(a, "aten::scaled_dot_product_attention", a->heads, 3, qkv);
    y = op(a, "aten::view", a->hidden, 1, &y);
    return end(a, call, leaf(a, PROJ, "aten::addmm", a->hidden, y));
}

static struct attention_value run_block(struct attention *a, struct attention_value x)
{
    uint32_t call = begin(a, BLOCK, x), inner;
    struct attention_value both[2] = {x, x}, y;

    both[1] = attend(a, leaf(a, LN_1, "aten::native_layer_norm", a->hidden, x));
    both[0] = op(a, "aten::add", a->hidden, 2, both);
    y = leaf(a, LN_2, "aten::native_layer_norm", a->hidden, both[0]);
    inner = begin(a, MLP, y);
    y = leaf(a, UP, "aten::addmm", a->wide, y);
    y = leaf(a, GELU, "aten::gelu", a->wide, y);
    y = leaf(a, DOWN, "aten::addmm", a->hidden, y);
    both[1] = end(a, inner, y);
    return end(a, call, op(a, "aten::add", a->hidden, 2, both));
}

struct run *sample_attention(void)
{
    struct trace_wanted limits = {.keep_calls = TRACE_ALL_CALLS};
    struct attention a = {.trace = trace_new(make_model(), &limits)};
    struct attention_value x;
    struct run *run;
    uint32_t net;

    CHECK(a.trace && trace_ops_begin(a.trace, UINT32_MAX));
    a.hidden = make_type(&a, 3, (const int64_t[]){1, 8, 64});
    a.heads = make_type(&a, 4, (const int64_t[]){1, 4, 8, 16});
    a.wide = make_type(&a, 3, (const int64_t[]){1, 8, 256});
    a.words = make_type(&a, 3, (const int64_t[]){1, 8, 100});
    x = (struct attention_value){new_storage(&a), a.hidden};
    net = begin(&a, NET, x);
    x = run_block(&a, x);
    end(&a, net, leaf(&a, HEAD, "aten::addmm", a.words, x));
    run = trace_finish(a.trace, a.clock, 0);
    CHECK(run);
    return run;
}
