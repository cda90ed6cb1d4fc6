#include "graph/stack_in.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "model/build.h"
#include "run/trace_ops.h"

struct stack {
    struct trace *trace;
    struct stack_wanted wanted;
    uint64_t clock;
    uint32_t type;
    uint32_t object; /* of the next call: objects are numbered as they are called */
};

static uint32_t module(struct build *build, uint32_t parent, const char *name,
                       const char *class_name)
{
    uint32_t node = build_node(build, parent, PLACE_MODULE, str_of(name));

    build_object(build, node)->class_id = build_class(build, str_of(class_name));
    return node;
}

static const struct model *stack_model(struct stack_wanted wanted)
{
    const struct model *model;
    struct build build;
    uint32_t layers;

    CHECK(build_init(&build, "stack", 0, NULL, NULL) == 0);
    build_set_kind(&build, 0, PLACE_MODULE);
    build_object(&build, 0)->class_id = build_class(&build, STR("net.Stack"));
    layers = module(&build, 0, "layers", "torch.nn.modules.container.ModuleList");
    for (uint32_t i = 0; i < wanted.n; i++) {
        char name[16];
        uint32_t block, at;

        snprintf(name, sizeof name, "%u", i);
        block = at = module(&build, layers, name, "net.Block");
        for (uint32_t k = 0; k < wanted.nested; k++)
            at = module(&build, at, "w", "net.Wrapper");
        module(&build, at, "a", "torch.nn.modules.linear.Linear");
        module(&build, block, "b", "torch.nn.modules.activation.ReLU");
    }
    model = build_finish(&build, NULL);
    build_release(&build);
    CHECK(model);
    return model;
}

static uint32_t new_storage(struct stack *s)
{
    return trace_op_storage(s->trace, 24, 0, RUN_NONE, OP_STORAGE_OTHER);
}

/* Add an operation of one or two tensors; returns the index of its result. */
static uint32_t op(struct stack *s, const char *name, uint32_t a, uint32_t b)
{
    struct trace_op_tensor list[3];
    struct trace_op_given given = {.cause = RUN_NONE,
                                   .gradient = RUN_NONE,
                                   .ns = 10,
                                   .flops = OP_NO_FLOPS,
                                   .tensors = list};
    uint32_t storages[3] = {a, b, new_storage(s)}, values[3];

    for (uint32_t i = 0; i < 3; i++)
        if (storages[i] != RUN_NONE)
            list[given.n_tensors++] =
                (struct trace_op_tensor){.type = s->type,
                                         .storage = storages[i],
                                         .arg = (uint16_t)(i < 2 ? i : 0),
                                         .item = OP_NO_ITEM,
                                         .kind = i < 2 ? OP_IN : OP_OUT};
    given.kind = trace_op_kind(s->trace, name, "", NULL, 0, 0);
    given.call = trace_open_call(s->trace, 0, &given.serial, &given.place);
    given.start_ns = s->clock += 10;
    CHECK(trace_op(s->trace, &given, values) != RUN_NONE);
    return storages[2];
}

static void io(struct stack *s, uint32_t call, enum run_io_kind kind, const char *path,
               uint32_t storage)
{
    const int64_t sizes[] = {2, 3};
    struct run_value value = {.dtype = DTYPE_FLOAT32,
                              .rank = 2,
                              .storage = storage,
                              .op_value = trace_op_value(s->trace, s->type, storage, 0),
                              .numel = 6,
                              .bytes = 24};

    trace_io(s->trace, call, kind, trace_string(s->trace, path, strlen(path)),
             trace_value(s->trace, &value, sizes, NULL, NULL), 0);
}

static uint32_t begin(struct stack *s, uint32_t x)
{
    uint32_t call = trace_begin(s->trace, 0, s->object++, 0, 0, s->clock += 10);

    io(s, call, RUN_IN, "x", x);
    return call;
}

static void end(struct stack *s, uint32_t call, uint32_t y)
{
    io(s, call, RUN_OUT, "", y);
    trace_end(s->trace, 0, call, 0, s->clock += 10);
}

static uint32_t block(struct stack *s, uint32_t number, uint32_t x, uint32_t input)
{
    const char *name = s->wanted.other == number + 1 ? "aten::other" : "aten::first";
    uint32_t call = begin(s, x), inner, first = 0, y;

    for (uint32_t i = 0; i < s->wanted.nested; i++) {
        inner = begin(s, x);
        first = i == 0 ? inner : first;
    }
    inner = begin(s, x);
    y = op(s, name, x, RUN_NONE);
    end(s, inner, y);
    /* Wrappers end innermost first: their calls are numbered consecutively. */
    for (uint32_t i = s->wanted.nested; i-- > 0;)
        end(s, first + i, y);
    inner = begin(s, y);
    y = op(s, "aten::relu", y, RUN_NONE);
    end(s, inner, y);
    y = op(s, "aten::add", y, s->wanted.skip == number + 1 ? input : x);
    end(s, call, y);
    return y;
}

struct run *stack_run(struct stack_wanted wanted)
{
    const int64_t sizes[] = {2, 3};
    const struct run_op_type like = {.dtype = DTYPE_FLOAT32, .rank = 2};
    struct trace_wanted limits = {.keep_calls = TRACE_ALL_CALLS};
    struct stack s = {.trace = trace_new(stack_model(wanted), &limits),
                      .wanted = wanted};
    uint32_t net, x, y;
    struct run *run;

    CHECK(s.trace && trace_ops_begin(s.trace, UINT32_MAX));
    s.type = trace_op_type(s.trace, &like, sizes, NULL);
    x = new_storage(&s);
    net = begin(&s, x);
    s.object++; /* the list */
    y = op(&s, "aten::stem", x, RUN_NONE);
    for (uint32_t i = 0; i < wanted.n; i++)
        y = block(&s, i, y, x);
    end(&s, net, y);
    run = trace_finish(s.trace, s.clock, 0);
    CHECK(run);
    return run;
}
