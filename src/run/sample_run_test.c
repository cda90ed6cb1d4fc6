/* The model and runs shared by tests. */
#include "run/sample_run.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "model/build.h"

static uint32_t module(struct build *build, uint32_t parent, const char *name,
                       const char *class_name)
{
    uint32_t node = build_node(build, parent, PLACE_MODULE, str_of(name));

    CHECK(build_object(build, node));
    build_object(build, node)->class_id = build_class(build, str_of(class_name));
    build_object(build, node)->training = 1;
    return node;
}

static void parameter(struct build *build, uint32_t parent, const char *name,
                      uint32_t storage, const int64_t *shape, int rank)
{
    struct tensor tensor = {.dtype = DTYPE_FLOAT32,
                            .role = ROLE_PARAMETER,
                            .flags = TENSOR_GRAD_KNOWN | TENSOR_GRAD,
                            .storage = storage,
                            .class_id = NO_CLASS};
    uint32_t node = build_node(build, parent, PLACE_TENSOR, str_of(name));

    tensor.device = build_device(build, STR("cpu"));
    CHECK(build_tensor(build, node, &tensor, shape, NULL, rank) != NO_OBJECT);
}

static void arguments(struct build *build, uint32_t node)
{
    struct values *values = build_values(build);
    uint32_t pair[2] = {value_int(values, 3), value_int(values, -3)};
    uint32_t items[8];

    items[0] = value_str(values, STR("size"));
    items[1] = value_make(values, VALUE_TUPLE, STR(""), pair, 2);
    items[2] = value_str(values, STR("eps"));
    items[3] = value_real(values, 1e-5);
    items[4] = value_str(values, STR("bias"));
    items[5] = value_bool(values, true);
    items[6] = value_str(values, STR("odd"));
    items[7] = value_make(values, VALUE_CUT, STR("too deep"), NULL, 7);
    build_object(build, node)->args = value_make(values, VALUE_DICT, STR(""), items, 8);
}

static uint32_t storage(struct build *build, uint64_t bytes)
{
    struct storage s = {.bytes = bytes, .dtype = DTYPE_FLOAT32};

    return build_storage(build, &s);
}

static const struct model *finish(struct build *build)
{
    const struct model *model = build_finish(build, NULL);

    CHECK(model);
    build_release(build);
    return model;
}

const struct model *sample_model(void)
{
    static const int64_t weight[] = {2, 3}, bias[] = {2};
    struct build build;
    uint32_t node, list, block, again, shared;

    CHECK(build_init(&build, "Net", 0, NULL, NULL) == 0);
    build.model->format = "live module";
    build_set_kind(&build, 0, PLACE_MODULE);
    build_object(&build, 0)->class_id = build_class(&build, STR("net.Net"));
    shared = storage(&build, 24);
    node = module(&build, 0, "a", "torch.nn.modules.linear.Linear");
    arguments(&build, node);
    parameter(&build, node, "weight", shared, weight, 2);
    parameter(&build, node, "bias", storage(&build, 8), bias, 1);
    list = module(&build, 0, "list", "torch.nn.modules.container.ModuleList");
    block = module(&build, list, "0", "net.Block");
    module(&build, block, "act", "torch.nn.modules.activation.ReLU");
    again = build_node(&build, list, PLACE_MODULE, STR("1"));
    CHECK(build_same(&build, again, block) == 0);
    node = module(&build, 0, "tail", "torch.nn.modules.linear.Linear");
    parameter(&build, node, "weight", shared, weight, 2);
    node = build_node(&build, 0, PLACE_VALUE, STR("note"));
    build_set_object(&build, node, value_str(build_values(&build), STR("text")));
    build.model->classes[0].source = build_string(&build, STR("class Net:\n    pass"));
    build.model->classes[0].file = build_string(&build, STR("net.py"));
    build.model->classes[0].line = 12;
    build.model->classes[0].bases = value_make(
        build_values(&build), VALUE_LIST, STR(""),
        &(uint32_t){value_str(build_values(&build), STR("torch.nn.Module"))}, 1);
    build_fact(&build, "modules", value_int(build_values(&build), 6));
    build_metadata(&build, STR("key"), value_str(build_values(&build), STR("x")));
    build_finding(&build, FINDING_TRAILING, SEVERITY_NOTE, block, "a note about it");
    return finish(&build);
}

const struct model *sample_chain(uint32_t n)
{
    struct build build;
    char name[24];

    CHECK(build_init(&build, "chain", 0, NULL, NULL) == 0);
    build_set_kind(&build, 0, PLACE_MODULE);
    CHECK(build_object(&build, 0));
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "m%u", i);
        module(&build, 0, name, "net.M");
    }
    return finish(&build);
}

uint32_t sample_value(struct trace *trace, int64_t rows, int64_t columns, double mean)
{
    const int64_t shape[] = {rows, columns}, strides[] = {columns, 1};
    struct run_value value = {.dtype = DTYPE_FLOAT32,
                              .rank = 2,
                              .flags = RUN_REQUIRES_GRAD | RUN_NEW_STORAGE,
                              .storage = 7,
                              .numel = (uint64_t)(rows * columns)};
    struct stats stats;

    stats_init(&stats, DTYPE_FLOAT32);
    stats.count = (uint64_t)(rows * columns);
    stats.min = stats.max = stats.mean = mean;
    value.bytes = value.numel * 4;
    value.device = trace_device(trace, "cpu");
    return trace_value(trace, &value, shape, strides, &stats);
}

static uint64_t look(struct trace *trace, uint64_t *clock)
{
    *clock += 100;
    trace_own(trace, 0, 10);
    return *clock;
}

static void io(struct trace *trace, uint32_t call, enum run_io_kind kind,
               const char *path, uint32_t value)
{
    trace_io(trace, call, kind, trace_string(trace, path, strlen(path)), value, 0);
}

void sample_step(struct trace *trace, uint64_t *clock)
{
    uint32_t line = trace_string(trace, "net.py:12", 9);
    uint32_t x = sample_value(trace, 4, 3, 1), y = sample_value(trace, 4, 2, 2);
    uint32_t z = sample_value(trace, 4, 2, -0.0), net, a, block, act, grad;
    uint64_t serial;

    net = trace_begin(trace, 0, SAMPLE_NET, RUN_TRAINING, 0, look(trace, clock));
    io(trace, net, RUN_IN, "[0]", x);
    a = trace_begin(trace, 0, SAMPLE_A, RUN_TRAINING, line, look(trace, clock));
    io(trace, a, RUN_IN, "[0]", x);
    io(trace, a, RUN_OUT, "", y);
    serial = trace_serial(trace, a);
    trace_end(trace, 0, a, 0, look(trace, clock));
    block = trace_begin(trace, 0, SAMPLE_BLOCK, 0, line, look(trace, clock));
    act = trace_begin(trace, 0, SAMPLE_ACT, 0, 0, look(trace, clock));
    io(trace, act, RUN_IN, "[0]", y);
    io(trace, act, RUN_IN, "mask", RUN_NONE);
    io(trace, act, RUN_OUT, "", z);
    trace_end(trace, 0, act, 0, look(trace, clock));
    io(trace, block, RUN_OUT, "", z);
    trace_end(trace, 0, block, 0, look(trace, clock));
    io(trace, net, RUN_OUT, "", z);
    trace_end(trace, 0, net, 0, look(trace, clock));
    grad = sample_value(trace, 4, 2, 0.5);
    trace_gradient(trace, a, serial, RUN_GRAD_OUT, trace_string(trace, "", 0), grad, 0);
    trace_backward(trace, a, serial, 50, 0);
    trace_param(trace, 0, true, sample_value(trace, 2, 3, 0.25));
    trace_param(trace, 0, false, sample_value(trace, 2, 3, 3));
}

struct run *sample_run(uint32_t steps)
{
    struct trace_wanted wanted = {.keep_limit = 1 << 20};
    struct trace *trace = trace_new(sample_model(), &wanted);
    static const float kept[6] = {1, 2, 3, 4, 5, 6};
    struct run *run;
    uint64_t clock = 1000;
    uint32_t call;

    CHECK(trace);
    for (uint32_t i = 0; i < steps; i++)
        sample_step(trace, &clock);
    call = sample_value(trace, 2, 3, 3.5);
    trace_param(trace, 1, false, call);
    CHECK(trace_keep(trace, call, kept, sizeof kept));
    call = trace_begin(trace, 1, SAMPLE_A, 0, 0, clock);
    trace_error(trace, call, trace_string(trace, "ValueError: no", 14));
    trace_end(trace, 1, call, RUN_RAISED, clock + 5);
    trace_gap(trace, RUN_GAP_CONTAINER, SAMPLE_LIST, "defines no forward");
    trace_gap(trace, RUN_GAP_KEYWORDS, NO_OBJECT, "keywords are not shown");
    trace_fact_text(trace, "torch", "2.13.0");
    trace_fact(trace, "threads", value_int(trace_values(trace), 2));
    run = trace_finish(trace, clock, 77);
    CHECK(run);
    return run;
}
