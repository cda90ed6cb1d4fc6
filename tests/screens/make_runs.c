/* Recordings for the golden screens, made without PyTorch and always the same:
 *
 *     make_runs FOLDER
 *
 * A table says what a model is made of and what its modules did. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "model/build.h"
#include "run/run_file.h"
#include "run/sample_attention.h"
#include "run/sample_block.h"
#include "run/trace.h"

#include "make_training.h"

enum { CALLED_NOT = 1, FUSED = 2, RAISES = 4, CONTAINER = 8 };

struct layer {
    int depth;
    const char *name, *class_name;
    const char *args;     /* "in_features=4 kernel_size=3x3" */
    const char *weight;   /* "64x3x7x7", or NULL */
    const char *in, *out; /* of a call */
    unsigned self_us, backward_us;
    unsigned calls; /* 0: one */
    unsigned nan;   /* in its result; NaN is passed on to what follows */
    unsigned flags;
};

#define LINEAR "torch.nn.modules.linear.Linear"
#define RELU   "torch.nn.modules.activation.ReLU"

/* clang-format off */
#define BLOCK(name)                                                                    \
    {2, name, "net.Block", "", NULL, "1x256", "1x256", 40, 130, .calls = 1},           \
    {3, "fc", LINEAR, "in_features=256 out_features=256", "256x256", "1x256", "1x256", \
     310, 620, .calls = 1},                                                            \
    {3, "act", RELU, "inplace=True", NULL, "1x256", "1x256", 15, 20, .calls = 1}
/* clang-format on */

static const struct layer net[] = {
    {0, "", "net.Net", "", NULL, "1x3x224x224", "1x10", 200, 51000, .calls = 1},
    {1, "conv1", "torch.nn.modules.conv.Conv2d",
     "in_channels=3 out_channels=64 kernel_size=7x7 stride=2x2 padding=3x3", "64x3x7x7",
     "1x3x224x224", "1x64x112x112", 1800, 4100, .calls = 1},
    {1, "relu", RELU, "inplace=True", NULL, "1x64x112x112", "1x64x112x112", 148, 300,
     .calls = 3},
    {1, "maxpool", "torch.nn.modules.pooling.MaxPool2d",
     "kernel_size=3 stride=2 padding=1", NULL, "1x64x112x112", "1x64x56x56", 8190, 5100,
     .calls = 1},
    {1, "layer1", "torch.nn.modules.container.Sequential", "", NULL, "1x64x56x56",
     "1x256x56x56", 40, 38000, .calls = 1},
    {2, "0", "torch.nn.modules.conv.Conv2d",
     "in_channels=64 out_channels=256 kernel_size=3x3 stride=1x1 padding=1x1",
     "256x64x3x3", "1x64x56x56", "1x256x56x56", 11520, 23480, .calls = 1},
    {2, "1", "torch.nn.modules.batchnorm.BatchNorm2d", "num_features=256", "256",
     "1x256x56x56", "1x256x56x56", 1440, 2900, .calls = 1},
    {1, "blocks", "torch.nn.modules.container.ModuleList", "", NULL, NULL, NULL, 0, 0,
     .flags = CONTAINER},
    BLOCK("0"),
    BLOCK("1"),
    BLOCK("2"),
    BLOCK("3"),
    BLOCK("4"),
    BLOCK("5"),
    BLOCK("6"),
    BLOCK("7"),
    {1, "encoder", "torch.nn.modules.transformer.TransformerEncoderLayer", "", NULL,
     "1x256", "1x256", 2300, 0, .flags = FUSED},
    {2, "linear1", LINEAR, "in_features=256 out_features=512", "512x256", NULL, NULL, 0,
     0, .flags = CALLED_NOT},
    {1, "spare", LINEAR, "in_features=256 out_features=2", "2x256", NULL, NULL, 0, 0,
     .flags = CALLED_NOT},
    {1, "fc", LINEAR, "in_features=256 out_features=10", "10x256", "1x256", "1x10", 601,
     900, .calls = 1},
};

static const struct layer nan_net[] = {
    {0, "", "net.Loss", "", NULL, "8x4", "8x1", 53, 0, .calls = 1},
    {1, "a", LINEAR, "in_features=4 out_features=4", "4x4", "8x4", "8x4", 129, 0,
     .calls = 1},
    {1, "log", "net.Log", "", NULL, "8x4", "8x4", 140, 0, .nan = 5},
    {1, "b", LINEAR, "in_features=4 out_features=1", "1x4", "8x4", "8x1", 51, 0,
     .calls = 1},
};

static const struct layer raising_net[] = {
    {0, "", "net.Net", "", NULL, "1x512", NULL, 61, 0, .flags = RAISES},
    {1, "body", LINEAR, "in_features=512 out_features=512", "512x512", "1x512", "1x512",
     115, 0, .calls = 1},
    {1, "head", "torch.nn.modules.container.Sequential", "", NULL, "1x512", NULL, 20, 0,
     .flags = RAISES},
    {2, "fc", LINEAR, "in_features=2048 out_features=10", "10x2048", "1x512", NULL, 90,
     0, .flags = RAISES},
    {2, "softmax", "torch.nn.modules.activation.Softmax", "dim=1", NULL, NULL, NULL, 0,
     0, .flags = CALLED_NOT},
};

/* ---- the model ---- */

static int sizes(const char *text, int64_t *ret)
{
    int n = 0;

    for (char *end; text && *text && n < 8; text = *end == 'x' ? end + 1 : end)
        ret[n++] = strtoll(text, &end, 10);
    return n;
}

/* "True", "3", "3x3": a tuple. */
static uint32_t argument(struct values *values, const char *text)
{
    int64_t parts[8];
    uint32_t ids[8];
    int n;

    if (strcmp(text, "True") == 0)
        return value_bool(values, true);
    n = sizes(text, parts);
    for (int i = 0; i < n; i++)
        ids[i] = value_int(values, parts[i]);
    return n == 1 ? ids[0] : value_make(values, VALUE_TUPLE, STR(""), ids, (uint32_t)n);
}

/* "a=1 b=3x3" as a dict. */
static uint32_t arguments(struct values *values, const char *text)
{
    uint32_t items[32], n = 0;

    while (*text) {
        size_t key = strcspn(text, "="), all = strcspn(text, " ");
        char value[32];

        snprintf(value, sizeof value, "%.*s", (int)(all - key - 1), text + key + 1);
        items[n++] = value_str(values, str_span(text, key));
        items[n++] = argument(values, value);
        text += all + (text[all] == ' ');
    }
    return value_make(values, VALUE_DICT, STR(""), items, n);
}

static void add_weight(struct build *build, uint32_t node, const char *text)
{
    struct tensor tensor = {.dtype = DTYPE_FLOAT32,
                            .role = ROLE_PARAMETER,
                            .flags = TENSOR_GRAD_KNOWN | TENSOR_GRAD,
                            .class_id = NO_CLASS};
    struct storage storage = {.bytes = 4, .dtype = DTYPE_FLOAT32};
    int64_t shape[8];
    int rank = sizes(text, shape);

    for (int i = 0; i < rank; i++)
        storage.bytes *= (uint64_t)shape[i];
    tensor.storage = build_storage(build, &storage);
    tensor.device = build_device(build, STR("cpu"));
    build_tensor(build, build_node(build, node, PLACE_TENSOR, STR("weight")), &tensor,
                 shape, NULL, rank);
}

static const struct model *make_model(const struct layer *layers, size_t n)
{
    uint32_t above[8] = {0};
    struct build build;
    const struct model *model;

    if (build_init(&build, "model", 0, NULL, NULL) < 0)
        exit(2);
    build_set_kind(&build, 0, PLACE_MODULE);
    for (size_t i = 0; i < n; i++) {
        const struct layer *layer = &layers[i];
        uint32_t node = i == 0 ? 0
                               : build_node(&build, above[layer->depth - 1],
                                            PLACE_MODULE, str_of(layer->name));
        struct object *object = build_object(&build, node);

        object->class_id = build_class(&build, str_of(layer->class_name));
        object->args = arguments(build_values(&build), layer->args);
        object->training = 1;
        if (layer->weight)
            add_weight(&build, node, layer->weight);
        above[layer->depth] = node;
    }
    model = build_finish(&build, NULL);
    build_release(&build);
    return model;
}

/* ---- the run ---- */

struct play {
    struct trace *trace;
    const struct layer *layers;
    size_t n;
    uint64_t clock;
    bool spoilt; /* NaN was made: all that comes later has some */
};

static uint32_t make_value(struct play *p, const char *text, uint64_t nan)
{
    struct run_value value = {
        .dtype = DTYPE_FLOAT32, .flags = RUN_REQUIRES_GRAD, .numel = 1};
    struct stats stats;
    int64_t shape[8];

    value.rank = (uint8_t)sizes(text, shape);
    for (int i = 0; i < value.rank; i++)
        value.numel *= (uint64_t)shape[i];
    value.bytes = value.numel * 4;
    value.device = trace_device(p->trace, "cpu");
    stats_init(&stats, DTYPE_FLOAT32);
    stats.count = value.numel;
    stats.nan = nan;
    stats.min = -1.5;
    stats.max = 2.25;
    stats.mean = 0.125;
    stats.m2 = 0.25 * (double)(value.numel - 1);
    return trace_value(p->trace, &value, shape, NULL, &stats);
}

static void add_io(struct play *p, uint32_t call, enum run_io_kind kind,
                   const char *path, const char *shape, uint64_t nan)
{
    trace_io(p->trace, call, kind, trace_string(p->trace, path, strlen(path)),
             make_value(p, shape, nan), 0);
}

static size_t play_layer(struct play *p, size_t i);

/* One call with all inside it; the number of the layer that follows. */
static size_t play_call(struct play *p, size_t i, unsigned part)
{
    const struct layer *layer = &p->layers[i];
    size_t next = i + 1;
    uint32_t call, line;
    char text[32];

    snprintf(text, sizeof text, "net.py:%u", (unsigned)(i + 10));
    line = trace_string(p->trace, text, strlen(text));
    call = trace_begin(p->trace, 0, (uint32_t)i,
                       RUN_TRAINING | (layer->flags & FUSED ? RUN_FUSED : 0), line,
                       p->clock);
    /* The clock stands still in hooks but for 20 us a call, which are ours. */
    p->clock += 20000;
    trace_own(p->trace, 0, 20000);
    add_io(p, call, RUN_IN, "input", layer->in, p->spoilt ? 3 : 0);
    while (next < p->n && p->layers[next].depth > layer->depth)
        next = play_layer(p, next);
    p->clock += layer->self_us * 1000u / part;
    p->spoilt |= layer->nan > 0;
    if (layer->out)
        add_io(p, call, RUN_OUT, "", layer->out,
               layer->nan  ? layer->nan
               : p->spoilt ? 3
                           : 0);
    if (layer->flags & RAISES) {
        static const char error[] = "RuntimeError: mat1 and mat2 shapes cannot be "
                                    "multiplied (1x512 and 2048x10)";

        trace_error(p->trace, call, trace_string(p->trace, error, sizeof error - 1));
    }
    trace_end(p->trace, 0, call, layer->flags & RAISES ? RUN_RAISED : 0, p->clock);
    if (layer->backward_us) {
        uint64_t serial = trace_serial(p->trace, call);

        trace_gradient(p->trace, call, serial, RUN_GRAD_OUT,
                       trace_string(p->trace, "", 0), make_value(p, layer->out, 0), 0);
        trace_backward(p->trace, call, serial, layer->backward_us * 1000u / part, 0);
    }
    return next;
}

static size_t play_layer(struct play *p, size_t i)
{
    const struct layer *layer = &p->layers[i];
    unsigned calls = layer->calls ? layer->calls : 1;
    size_t next = i + 1;

    if (layer->flags & CALLED_NOT)
        return next;
    if (layer->flags & CONTAINER) {
        trace_gap(p->trace, RUN_GAP_CONTAINER, (uint32_t)i,
                  "it has no forward of its own");
        return next;
    }
    for (unsigned k = 0; k < calls; k++)
        next = play_call(p, i, calls);
    return next;
}

static int save_run(struct run *run, const char *folder, const char *name)
{
    struct err err = {0};
    char path[4096];
    int status;

    snprintf(path, sizeof path, "%s/%s.scope", folder, name);
    status = run_file_write(run, NULL, path, NULL, &err);
    if (status < 0)
        fprintf(stderr, "%s\n", err.text);
    run_free(run);
    return status;
}

static struct run *play_run(const struct layer *layers, size_t n)
{
    struct trace_wanted wanted = {0};
    struct play p = {.trace = trace_new(make_model(layers, n), &wanted),
                     .layers = layers,
                     .n = n,
                     .clock = 1000000};

    play_layer(&p, 0);
    trace_fact_text(p.trace, "mode", "full");
    trace_fact_text(p.trace, "torch", "2.13.0");
    trace_fact_text(p.trace, "python", "3.11.7");
    trace_fact_text(p.trace, "when", "2026-01-02T03:04:05Z");
    trace_fact(p.trace, "threads", value_int(trace_values(p.trace), 1));
    return trace_finish(p.trace, p.clock * 3, 10000);
}

static int make_run(const char *folder, const char *name, const struct layer *layers,
                    size_t n)
{
    return save_run(play_run(layers, n), folder, name);
}

/* The first network with the histories of two trainings. */
static int make_histories(const char *folder)
{
    struct run *run = play_run(net, sizeof net / sizeof *net);
    int status = make_diverged(folder, run) < 0 || make_trained(folder, run) < 0;

    run_free(run);
    return status ? -1 : 0;
}

/* The first network again, as a port that gets one layer wrong. */
static int make_port(const char *folder)
{
    struct layer layers[sizeof net / sizeof *net];

    memcpy(layers, net, sizeof net);
    for (size_t i = 0; i < sizeof net / sizeof *net; i++)
        if (layers[i].depth == 2 && strcmp(layers[i].name, "1") == 0 &&
            strstr(layers[i].class_name, "BatchNorm2d"))
            layers[i].nan = 7;
    return make_run(folder, "port", layers, sizeof net / sizeof *net);
}

/* The sample of the unit tests, which checks itself: a network with a residual block
 * whose operations were recorded. */
static int make_block(const char *folder)
{
    const struct sample_block_wanted wanted = {.uncounted = true, .backward = true};

    return save_run(sample_block(wanted), folder, "residual");
}

/* The same with a transformer block. */
static int make_attention(const char *folder)
{
    return save_run(sample_attention(), folder, "attention");
}

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list list;

    fprintf(stderr, "%s:%d: ", file, line);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    exit(2);
}

#define MAKE(folder, name, layers)                                                     \
    make_run(folder, name, layers, sizeof(layers) / sizeof *(layers))

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    return MAKE(argv[1], "net", net) < 0 || MAKE(argv[1], "nan", nan_net) < 0 ||
           MAKE(argv[1], "raised", raising_net) < 0 || make_block(argv[1]) < 0 ||
           make_attention(argv[1]) < 0 || make_port(argv[1]) < 0 ||
           make_histories(argv[1]) < 0;
}
