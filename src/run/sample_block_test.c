/* A network with a residual block and its operations. */
#include "run/sample_block.h"

#include <stdarg.h>
#include <string.h>

#include "base/test.h"
#include "model/build.h"

#define MOST 8

/* --- The model */

static uint32_t module(struct build *build, uint32_t parent, const char *name,
                       const char *class_name)
{
    uint32_t node = build_node(build, parent, PLACE_MODULE, str_of(name));

    build_object(build, node)->class_id = build_class(build, str_of(class_name));
    return node;
}

static void weight(struct build *build, uint32_t parent, const int64_t *shape, int rank)
{
    struct tensor tensor = {
        .dtype = DTYPE_FLOAT32, .role = ROLE_PARAMETER, .class_id = NO_CLASS};
    struct storage storage = {.dtype = DTYPE_FLOAT32, .bytes = 4};

    for (int i = 0; i < rank; i++)
        storage.bytes *= (uint64_t)shape[i];
    tensor.storage = build_storage(build, &storage);
    tensor.device = build_device(build, STR("cpu"));
    CHECK(build_tensor(build, build_node(build, parent, PLACE_TENSOR, STR("weight")),
                       &tensor, shape, NULL, rank) != NO_OBJECT);
}

static void source(struct build *build, uint32_t class_id, uint32_t line,
                   const char *text)
{
    build->model->classes[class_id].source = build_string(build, str_of(text));
    build->model->classes[class_id].file = build_string(build, STR("net.py"));
    build->model->classes[class_id].line = line;
}

#define CONV "torch.nn.modules.conv.Conv2d"

static const struct model *make_model(void)
{
    static const int64_t stem[] = {8, 3, 3, 3}, conv[] = {8, 8, 3, 3}, head[] = {10, 8};
    struct build build;
    uint32_t block;

    CHECK(build_init(&build, "Net", 0, NULL, NULL) == 0);
    build.model->format = "live module";
    build_set_kind(&build, 0, PLACE_MODULE);
    build_object(&build, 0)->class_id = build_class(&build, STR("net.Net"));
    weight(&build, module(&build, 0, "stem", CONV), stem, 4);
    block = module(&build, 0, "block", "net.Block");
    weight(&build, module(&build, block, "conv1", CONV), conv, 4);
    module(&build, block, "relu", "torch.nn.modules.activation.ReLU");
    weight(&build, module(&build, block, "conv2", CONV), conv, 4);
    module(&build, block, "drop", "torch.nn.modules.dropout.Dropout");
    weight(&build, module(&build, 0, "head", "torch.nn.modules.linear.Linear"), head,
           2);
    source(&build, build_class(&build, STR("net.Block")), 1,
           "class Block(nn.Module):\n"
           "    def forward(self, x):\n"
           "        identity = x\n"
           "        out = self.relu(self.conv1(x))\n"
           "        out = self.conv2(out)\n"
           "        out = self.drop(out)\n"
           "        out += identity\n"
           "        return self.relu(out)\n");
    source(&build, build_class(&build, STR("net.Net")), 10,
           "class Net(nn.Module):\n"
           "    def forward(self, x):\n"
           "        x = self.block(self.stem(x))\n"
           "        a, b = x.split(4, 1)\n"
           "        x = torch.cat([b, a], 1)\n"
           "        x = x.mean((2, 3))\n"
           "        x = x.view(2, 2, 4).transpose(1, 2).reshape(2, 8)\n"
           "        return self.head(x) * 2\n");
    return build_finish(&build, NULL);
}

/* --- The pass */

struct scene {
    struct trace *trace;
    uint64_t clock;
    uint32_t value; /* of the newest result */
    uint8_t phase;
    uint32_t place;      /* of operations outside of calls */
    uint32_t weights[4]; /* storages of parameters, plus 1; 0: not used yet */
    uint64_t ns;         /* of the next operation */
    int64_t flops;
    const char *line;
};

/* A tensor: its storage and type. */
struct cell {
    uint32_t storage, type;
    uint64_t offset;
    uint8_t rank;
    int64_t sizes[4];
};

static struct cell cell(struct scene *s, uint32_t storage, int rank, ...)
{
    const struct run_op_type like = {.dtype = DTYPE_FLOAT32, .rank = (uint8_t)rank};
    struct cell c = {.storage = storage, .rank = (uint8_t)rank};
    va_list list;

    va_start(list, rank);
    for (int i = 0; i < rank; i++)
        c.sizes[i] = va_arg(list, int);
    va_end(list);
    c.type = trace_op_type(s->trace, &like, c.sizes, NULL);
    if (storage == RUN_NONE) {
        uint64_t bytes = 4;

        for (int i = 0; i < rank; i++)
            bytes *= (uint64_t)c.sizes[i];
        c.storage = trace_op_storage(s->trace, bytes, 0, RUN_NONE, OP_STORAGE_OTHER);
    }
    return c;
}

static struct cell parameter(struct scene *s, uint32_t tensor, uint8_t rank, int a,
                             int b, int c)
{
    uint32_t storage;

    if (!s->weights[tensor])
        s->weights[tensor] =
            trace_op_storage(s->trace, 4, 0, tensor, OP_STORAGE_PARAMETER) + 1;
    storage = s->weights[tensor] - 1;
    return rank == 4 ? cell(s, storage, 4, a, b, c, c) : cell(s, storage, 2, a, b);
}

/* An operation reads n cells and makes or writes one. */
static uint32_t op(struct scene *s, const char *name, uint8_t flags, uint32_t n,
                   const struct cell *cells, const struct cell *out, uint8_t kind)
{
    static const char *const args[] = {"input", "weight", "bias"};
    struct trace_op_tensor list[MOST];
    struct trace_op_given given = {.phase = s->phase,
                                   .cause = RUN_NONE,
                                   .gradient = RUN_NONE,
                                   .ns = s->ns,
                                   .flops = s->flops,
                                   .tensors = list,
                                   .n_tensors = n + 1};
    uint32_t values[MOST];

    for (uint32_t i = 0; i <= n; i++) {
        const struct cell *c = i < n ? &cells[i] : out;

        list[i] = (struct trace_op_tensor){.type = c->type,
                                           .storage = c->storage,
                                           .offset = c->offset,
                                           .arg = (uint16_t)(i < n ? i : 0),
                                           .item = OP_NO_ITEM,
                                           .kind = i < n ? OP_IN : kind};
    }
    given.kind = trace_op_kind(s->trace, name, "", args, 3, flags);
    given.line = trace_string(s->trace, s->line, strlen(s->line));
    given.call = trace_open_call(s->trace, 0, &given.serial, &given.place);
    if (given.call == RUN_NONE)
        given.place = s->place;
    given.start_ns = s->clock += 1000;
    s->clock += s->ns;
    CHECK(trace_op(s->trace, &given, values) != RUN_NONE);
    s->flops = OP_NO_FLOPS;
    s->value = values[n];
    return values[n];
}

static uint32_t begin(struct scene *s, uint32_t object, const char *line)
{
    uint32_t at = line ? trace_string(s->trace, line, strlen(line)) : 0;

    return trace_begin(s->trace, 0, object, 0, at, s->clock += 1000);
}

static void end(struct scene *s, uint32_t call)
{
    trace_end(s->trace, 0, call, 0, s->clock += 1000);
}

/* An argument or result of a call: the current value of the cell. */
static void io(struct scene *s, uint32_t call, enum run_io_kind kind, const char *path,
               const struct cell *c)
{
    uint32_t op_value = trace_op_value(s->trace, c->type, c->storage, c->offset);
    struct run_value v = {.dtype = DTYPE_FLOAT32,
                          .rank = c->rank,
                          .storage = c->storage,
                          .op_value = op_value,
                          .numel = 1,
                          .bytes = 4};
    static uint32_t known[64]; /* value of operations -> value of calls, plus 1 */

    for (int i = 0; i < c->rank; i++)
        v.numel *= (uint64_t)c->sizes[i], v.bytes *= (uint64_t)c->sizes[i];
    v.device = trace_device(s->trace, "cpu");
    if (!call && kind == RUN_IN)
        memset(known, 0, sizeof known);
    CHECK(op_value < 64);
    if (!known[op_value])
        known[op_value] = trace_value(s->trace, &v, c->sizes, NULL, NULL) + 1;
    trace_io(s->trace, call, kind, trace_string(s->trace, path, strlen(path)),
             known[op_value] - 1, 0);
}

/* A module with one operation. */
static struct cell unit(struct scene *s, uint32_t object, const char *line,
                        const char *name, struct cell x, struct cell w)
{
    struct cell in[] = {x, w}, out = cell(s, RUN_NONE, 4, 2, 8, 8, 8);
    uint32_t call = begin(s, object, line);

    io(s, call, RUN_IN, "input", &x);
    s->line = line;
    op(s, name, 0, w.rank ? 2 : 1, in, &out, OP_OUT);
    io(s, call, RUN_OUT, "", &out);
    end(s, call);
    return out;
}

static void add_nan(struct scene *s)
{
    struct stats stats;

    stats_init(&stats, false);
    stats.count = 1024;
    stats.nan = 3;
    trace_op_stats(s->trace, s->value, &stats);
}

static struct cell block(struct scene *s, struct cell x,
                         struct sample_block_wanted wanted)
{
    const struct cell none = {.rank = 0};
    uint32_t call = begin(s, BLOCK_BLOCK, "net.py:12"), drop;
    struct cell out;

    io(s, call, RUN_IN, "x", &x);
    s->ns = 300000, s->flops = 147456;
    out = unit(s, BLOCK_CONV1, "net.py:4", "aten::convolution", x,
               parameter(s, 1, 4, 8, 8, 3));
    s->ns = 20000;
    out = unit(s, BLOCK_RELU, "net.py:4", "aten::relu", out, none);
    s->ns = 280000, s->flops = wanted.uncounted ? OP_NO_FLOPS : 147456;
    out =
        unit(s, BLOCK_CONV2, "net.py:5",
             wanted.uncounted ? "aten::convolution_overrideable" : "aten::convolution",
             out, parameter(s, 2, 4, 8, 8, 3));
    drop = begin(s, BLOCK_DROP, "net.py:6");
    io(s, drop, RUN_IN, "input", &out);
    io(s, drop, RUN_OUT, "", &out);
    end(s, drop);
    s->ns = 11000, s->line = "net.py:7";
    op(s, "aten::add_", OP_WRITES, 2, (struct cell[]){out, x}, &out, OP_WRITTEN);
    if (wanted.nan)
        add_nan(s);
    s->ns = 20000;
    out = unit(s, BLOCK_RELU, "net.py:8", "aten::relu", out, none);
    io(s, call, RUN_OUT, "", &out);
    end(s, call);
    return out;
}

/* split, cat, mean and three views */
static struct cell middle(struct scene *s, struct cell x)
{
    struct cell a = cell(s, x.storage, 4, 2, 4, 8, 8), b = a, y, z, v, t, u;

    b.offset = 256;
    s->ns = 4000, s->line = "net.py:13";
    op(s, "aten::slice", OP_VIEW, 1, &x, &a, OP_OUT);
    op(s, "aten::slice", OP_VIEW, 1, &x, &b, OP_OUT);
    y = cell(s, RUN_NONE, 4, 2, 8, 8, 8);
    s->ns = 15000, s->line = "net.py:14";
    op(s, "aten::cat", 0, 2, (struct cell[]){b, a}, &y, OP_OUT);
    z = cell(s, RUN_NONE, 2, 2, 8);
    s->line = "net.py:15";
    op(s, "aten::mean", 0, 1, &y, &z, OP_OUT);
    v = cell(s, z.storage, 3, 2, 2, 4);
    t = cell(s, z.storage, 3, 2, 4, 2);
    s->ns = 1000, s->line = "net.py:16";
    op(s, "aten::view", OP_VIEW, 1, &z, &v, OP_OUT);
    op(s, "aten::transpose", OP_VIEW, 1, &v, &t, OP_OUT);
    u = cell(s, z.storage, 1, 16);
    op(s, "aten::_unsafe_view", OP_VIEW, 1, &t, &u, OP_OUT);
    return u;
}

static struct cell head(struct scene *s, struct cell x)
{
    struct cell w = parameter(s, 3, 2, 10, 8, 0), t = cell(s, w.storage, 2, 8, 10);
    struct cell y = cell(s, RUN_NONE, 2, 2, 10);
    uint32_t call = begin(s, BLOCK_HEAD, "net.py:17");

    io(s, call, RUN_IN, "input", &x);
    s->line = "net.py:17", s->ns = 1500;
    op(s, "aten::t", OP_VIEW, 1, &w, &t, OP_OUT);
    s->ns = 9000, s->flops = 320;
    op(s, "aten::mm", 0, 2, (struct cell[]){x, t}, &y, OP_OUT);
    io(s, call, RUN_OUT, "", &y);
    end(s, call);
    return y;
}

static void pass(struct scene *s, struct sample_block_wanted wanted)
{
    struct cell x = cell(s, RUN_NONE, 4, 2, 3, 8, 8), out;
    uint32_t net = begin(s, BLOCK_NET, NULL);

    io(s, net, RUN_IN, "x", &x);
    s->ns = 120000, s->flops = 55296;
    out = unit(s, BLOCK_STEM, "net.py:12", "aten::convolution", x,
               parameter(s, 0, 4, 8, 3, 3));
    out = head(s, middle(s, block(s, out, wanted)));
    s->ns = 5000;
    for (uint32_t i = 0; i <= wanted.adds; i++) {
        struct cell next = cell(s, RUN_NONE, 2, 2, 10);

        op(s, i == 0 ? "aten::mul" : "aten::add", 0, 1, &out, &next, OP_OUT);
        out = next;
    }
    if (wanted.adds == 0)
        io(s, net, RUN_OUT, "", &out);
    end(s, net);
}

static void backward(struct scene *s, uint32_t place)
{
    struct cell gradient = cell(s, RUN_NONE, 4, 2, 8, 8, 8);
    struct cell out = cell(s, RUN_NONE, 4, 8, 8, 3, 3);

    s->phase = OP_BACKWARD;
    s->place = place;
    s->ns = 400000, s->flops = 294912, s->line = "net.py:4";
    op(s, "aten::convolution_backward", 0, 1, &gradient, &out, OP_OUT);
}

struct run *sample_block(struct sample_block_wanted wanted)
{
    struct scene s = {.clock = 1000, .flops = OP_NO_FLOPS, .place = NO_PLACE};
    const struct model *model = make_model();
    struct run *run;

    s.trace = trace_new(model, &(struct trace_wanted){0});
    CHECK(s.trace && trace_ops_begin(s.trace, 0));
    pass(&s, wanted);
    if (wanted.twice)
        pass(&s, wanted);
    if (wanted.backward)
        backward(&s, place_find(model, STR("block.conv1")));
    run = trace_finish(s.trace, s.clock, 0);
    CHECK(run && run->ops);
    return run;
}
