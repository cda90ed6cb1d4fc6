/* A step with operations, for tests of this room and those above it. */
#include "run/sample_run.h"

#include <string.h>

#include "base/test.h"

#define MOST 8

static uint32_t type_of(struct trace *trace, const struct sample_tensor *tensor)
{
    const struct run_op_type like = {
        .dtype = DTYPE_FLOAT32, .rank = 2, .device = trace_device(trace, "cpu")};
    int64_t sizes[] = {tensor->rows, tensor->columns};
    int64_t strides[] = {tensor->stride ? tensor->stride : tensor->columns, 1};

    return trace_op_type(trace, &like, sizes, strides);
}

static uint32_t put(struct trace *trace, struct trace_op_given *given,
                    const struct sample_tensor *tensors, uint32_t n, uint32_t *values)
{
    struct trace_op_tensor list[MOST];
    uint32_t ignored[MOST];

    CHECK(n <= MOST);
    for (uint32_t i = 0; i < n; i++)
        list[i] = (struct trace_op_tensor){.type = type_of(trace, &tensors[i]),
                                           .storage = tensors[i].storage,
                                           .offset = tensors[i].offset,
                                           .arg = tensors[i].arg,
                                           .item = OP_NO_ITEM,
                                           .kind = tensors[i].kind,
                                           .flags = tensors[i].flags};
    given->tensors = list;
    given->n_tensors = n;
    return trace_op(trace, given, values ? values : ignored);
}

uint32_t sample_op(struct trace *trace, uint32_t kind,
                   const struct sample_tensor *tensors, uint32_t n, uint32_t *values)
{
    struct trace_op_given given = {.kind = kind,
                                   .call = RUN_NONE,
                                   .place = NO_PLACE,
                                   .cause = RUN_NONE,
                                   .gradient = RUN_NONE,
                                   .flops = OP_NO_FLOPS};

    return put(trace, &given, tensors, n, values);
}

/* The varying data of the operations of sample_ops(). */
struct step {
    const char *line;
    uint32_t thread, cause, gradient, kind;
    enum op_phase phase;
    uint64_t ns;
    int64_t flops;
    uint32_t attributes;
};

static uint32_t add(struct trace *trace, struct step step,
                    const struct sample_tensor *tensors, uint32_t n)
{
    static const struct step zero;
    struct trace_op_given given = {.kind = step.kind,
                                   .attributes = step.attributes,
                                   .phase = (uint8_t)step.phase,
                                   .flags = OP_GRAD_MODE,
                                   .place = NO_PLACE,
                                   .cause = step.cause,
                                   .gradient = step.gradient,
                                   .ns = step.ns,
                                   .flops = step.flops};

    (void)zero;
    given.line = trace_string(trace, step.line, strlen(step.line));
    given.call = trace_open_call(trace, 0, &given.serial, &given.place);
    given.start_ns = 1000 + 100 * (uint64_t)trace_op_next(trace);
    return put(trace, &given, tensors, n, NULL);
}

static uint32_t alpha(struct trace *trace, int64_t number)
{
    struct values *values = trace_values(trace);
    uint32_t items[2] = {value_str(values, STR("alpha")), value_int(values, number)};

    return value_make(values, VALUE_DICT, STR(""), items, 2);
}

/* The memory of the step. */
struct memory {
    uint32_t x, weight, bias, y, r, loss, grad, weight_grad;
};

static struct memory storages(struct trace *trace)
{
    uint16_t cpu = trace_device(trace, "cpu");
    struct memory m;

    m.x = trace_op_storage(trace, 24, cpu, RUN_NONE, OP_STORAGE_OTHER);
    m.weight = trace_op_storage(trace, 24, cpu, 0, OP_STORAGE_PARAMETER);
    m.bias = trace_op_storage(trace, 8, cpu, 1, OP_STORAGE_PARAMETER);
    m.y = trace_op_storage(trace, 16, cpu, RUN_NONE, OP_STORAGE_OTHER);
    m.r = trace_op_storage(trace, 16, cpu, RUN_NONE, OP_STORAGE_OTHER);
    m.loss = trace_op_storage(trace, 4, cpu, RUN_NONE, OP_STORAGE_OTHER);
    m.grad = trace_op_storage(trace, 16, cpu, RUN_NONE, OP_STORAGE_OTHER);
    m.weight_grad = trace_op_storage(trace, 24, cpu, 0, OP_STORAGE_GRADIENT);
    return m;
}

#define IN(s, a, r, c, f)                                                              \
    {                                                                                  \
        .storage = (s), .kind = OP_IN, .arg = (a), .rows = (r), .columns = (c),        \
        .flags = (f)                                                                   \
    }
#define OUT(s, r, c)                                                                   \
    {                                                                                  \
        .storage = (s), .kind = OP_OUT, .rows = (r), .columns = (c)                    \
    }
#define WRITTEN(s, r, c)                                                               \
    {                                                                                  \
        .storage = (s), .kind = OP_WRITTEN, .rows = (r), .columns = (c)                \
    }
#define GRAD    OP_VALUE_GRAD
#define NONE    OP_VALUE_NO_GRAD
#define N(list) (uint32_t)(sizeof(list) / sizeof *(list))

static uint32_t kind(struct trace *trace, const char *name, const char *overload,
                     uint8_t flags, uint32_t n, const char *const *args)
{
    return trace_op_kind(trace, name, overload, args, n, flags);
}

static void forward(struct trace *trace, const struct memory *m)
{
    static const char *const self[] = {"self"}, *const add_args[] = {"self", "other",
                                                                     "alpha"};
    static const char *const addmm[] = {"self", "mat1", "mat2", "beta", "alpha"};
    const struct sample_tensor t[] = {
        IN(m->weight, 0, 2, 3, GRAD),
        {.storage = m->weight, .kind = OP_OUT, .rows = 3, .columns = 2, .stride = 1}};
    const struct sample_tensor linear[] = {IN(m->bias, 0, 1, 2, GRAD),
                                           IN(m->x, 1, 2, 3, NONE),
                                           {.storage = m->weight,
                                            .kind = OP_IN,
                                            .arg = 2,
                                            .rows = 3,
                                            .columns = 2,
                                            .stride = 1,
                                            .flags = GRAD},
                                           OUT(m->y, 2, 2)};
    const struct sample_tensor relu[] = {IN(m->y, 0, 2, 2, GRAD), OUT(m->r, 2, 2)};
    const struct sample_tensor residual[] = {IN(m->r, 0, 2, 2, GRAD),
                                             IN(m->y, 1, 2, 2, GRAD), OUT(m->r, 2, 2),
                                             WRITTEN(m->r, 2, 2)};
    const struct sample_tensor detach[] = {IN(m->r, 0, 2, 2, GRAD), OUT(m->r, 2, 2)};
    const struct step at = {.cause = RUN_NONE, .gradient = RUN_NONE};
    uint32_t net, a, block, act;
    struct step s = at;

    net = trace_begin(trace, 0, SAMPLE_NET, RUN_TRAINING | RUN_GRAD_MODE, 0, 900);
    a = trace_begin(trace, 0, SAMPLE_A, RUN_TRAINING | RUN_GRAD_MODE, 0, 950);
    s.line = "net.py:5", s.ns = 5, s.flops = OP_NO_FLOPS;
    s.kind = kind(trace, "aten::t", "", OP_VIEW, 1, self);
    add(trace, s, t, N(t));
    s.kind = kind(trace, "aten::addmm", "", 0, 5, addmm);
    s.ns = 40, s.flops = 24, s.attributes = alpha(trace, 1);
    add(trace, s, linear, N(linear));
    trace_end(trace, 0, a, 0, 1150);
    block = trace_begin(trace, 0, SAMPLE_BLOCK, RUN_TRAINING | RUN_GRAD_MODE, 0, 1160);
    act = trace_begin(trace, 0, SAMPLE_ACT, RUN_TRAINING | RUN_GRAD_MODE, 0, 1170);
    s = at, s.line = "net.py:9", s.ns = 20, s.flops = OP_NO_FLOPS;
    s.kind = kind(trace, "aten::relu", "", 0, 1, self);
    add(trace, s, relu, N(relu));
    trace_end(trace, 0, act, 0, 1250);
    trace_end(trace, 0, block, 0, 1260);
    s.line = "net.py:12", s.ns = 15, s.attributes = alpha(trace, 1);
    s.kind = kind(trace, "aten::add_", "Tensor", OP_WRITES, 3, add_args);
    add(trace, s, residual, N(residual));
    s.line = "net.py:13", s.ns = 2, s.attributes = VALUE_ID_NONE;
    s.kind = kind(trace, "aten::detach", "", OP_VIEW | OP_DETACHES, 1, self);
    add(trace, s, detach, N(detach));
    trace_end(trace, 0, net, 0, 1480);
}

static void rest(struct trace *trace, const struct memory *m)
{
    static const char *const self[] = {"self"}, *const mm[] = {"self", "mat2"};
    static const char *const add_args[] = {"self", "other", "alpha"};
    static const char *const threshold[] = {"grad_output", "self", "threshold"};
    const struct sample_tensor sum[] = {IN(m->r, 0, 2, 2, GRAD), OUT(m->loss, 1, 1)};
    const struct sample_tensor relu[] = {IN(m->loss, 0, 1, 1, NONE),
                                         IN(m->r, 1, 2, 2, NONE), OUT(m->grad, 2, 2)};
    const struct sample_tensor weight[] = {
        IN(m->grad, 0, 2, 2, NONE), IN(m->x, 1, 2, 3, NONE), OUT(m->weight_grad, 2, 3)};
    const struct sample_tensor update[] = {
        IN(m->weight, 0, 2, 3, NONE), IN(m->weight_grad, 1, 2, 3, NONE),
        OUT(m->weight, 2, 3), WRITTEN(m->weight, 2, 3)};
    struct step s = {.cause = RUN_NONE, .gradient = RUN_NONE, .flops = OP_NO_FLOPS};

    s.line = "train.py:3", s.ns = 10;
    s.kind = kind(trace, "aten::sum", "", 0, 1, self);
    add(trace, s, sum, N(sum));
    s.phase = OP_BACKWARD, s.line = "net.py:9", s.ns = 30, s.cause = 2;
    s.kind = kind(trace, "aten::threshold_backward", "", 0, 3, threshold);
    add(trace, s, relu, N(relu));
    s.line = "net.py:5", s.ns = 50, s.cause = 1, s.gradient = 0, s.flops = 24;
    s.kind = kind(trace, "aten::mm", "", 0, 2, mm);
    add(trace, s, weight, N(weight));
    trace_op_died(trace, m->grad);
    trace_op_died(trace, m->y);
    s.phase = OP_OPTIMIZER, s.line = "train.py:5", s.ns = 12, s.cause = RUN_NONE;
    s.gradient = RUN_NONE, s.flops = OP_NO_FLOPS, s.attributes = alpha(trace, 1);
    s.kind = kind(trace, "aten::add_", "Tensor", OP_WRITES, 3, add_args);
    add(trace, s, update, N(update));
    trace_stepped(trace, 0);
}

struct run *sample_ops(void)
{
    struct trace *trace = trace_new(sample_model(), &(struct trace_wanted){0});
    struct run *run;
    struct memory m;

    CHECK(trace && trace_ops_begin(trace, 0));
    m = storages(trace);
    forward(trace, &m);
    rest(trace, &m);
    run = trace_finish(trace, 3000, 0);
    CHECK(run && run->ops);
    return run;
}
