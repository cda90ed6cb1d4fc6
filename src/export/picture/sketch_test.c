#include "export/picture/sketch_in.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/base.h"

struct sketch *sketch_new(void)
{
    struct sketch *sketch = calloc(1, sizeof *sketch);

    assert(sketch);
    arena_init(&sketch->arena, 0);
    sketch->diagram.boxes = sketch->boxes;
    sketch->diagram.nets = sketch->nets;
    sketch->diagram.ends = sketch->ends;
    sketch->diagram.words = sketch->words;
    sketch->diagram.plan.boxes = sketch->plan_boxes;
    sketch->diagram.plan.nets = sketch->plan_nets;
    sketch->diagram.plan.ends = sketch->plan_ends;
    sketch->diagram.path = sketch->path;
    sketch->diagram.wanted = (struct graph_wanted)GRAPH_WANTED;
    sketch->path[0] = STR("Net");
    sketch->diagram.n_path = 1;
    sketch->diagram.facts = STR("made by hand");
    sketch->plan_boxes[0].parent = PLAN_NONE;
    sketch->plan_boxes[0].flags = PLAN_OPEN;
    sketch->n_boxes = 1;
    sketch->plan_boxes[0].end = 1;
    return sketch;
}

void sketch_free(struct sketch *sketch)
{
    arena_release(&sketch->arena);
    free(sketch);
}

uint32_t sketch_box(struct sketch *sketch, uint32_t parent, enum diagram_kind kind,
                    const char *name, enum family family, const char *words)
{
    uint32_t i = sketch->n_boxes++;
    struct diagram_box *box = &sketch->boxes[i];
    struct str rest = str_of(words), word;

    assert(i < SKETCH_BOXES);
    sketch->plan_boxes[i].parent = parent;
    sketch->plan_boxes[i].end = i + 1;
    for (uint32_t at = parent; at != PLAN_NONE; at = sketch->plan_boxes[at].parent) {
        sketch->plan_boxes[at].end = i + 1;
        sketch->plan_boxes[at].flags |= PLAN_OPEN;
    }
    *box = (struct diagram_box){.kind = (uint8_t)kind,
                                .family = (uint8_t)family,
                                .name = str_of(name),
                                .words = sketch->n_words,
                                .number = 1,
                                .n_calls = 1,
                                .n_same = 1,
                                .n_ops = kind == DIAGRAM_OP};
    box->id = parent == 0
                  ? box->name
                  : str_of(arena_printf(&sketch->arena, "%.*s.%s",
                                        STR_ARG(sketch->boxes[parent].id), name));
    while (rest.len > 0 && str_split(&rest, ',', &word)) {
        sketch->words[sketch->n_words++] = str_trim(word);
        box->n_words++;
    }
    return i;
}

void sketch_close(struct sketch *sketch, uint32_t group)
{
    sketch->plan_boxes[group].flags &= (uint8_t)~PLAN_OPEN;
}

static bool is_inside(const struct sketch *sketch, uint32_t box, uint32_t group)
{
    return box >= group && box < sketch->plan_boxes[group].end;
}

static uint32_t new_net(struct sketch *sketch, uint32_t group, uint32_t source,
                        const struct diagram_net *what)
{
    uint32_t n = sketch->n_nets++;

    assert(n < SKETCH_ENDS);
    sketch->plan_nets[n] = (struct plan_net){
        .group = group, .source = source, .inner = PLAN_NONE, .outer = PLAN_NONE};
    sketch->nets[n] = *what;
    return n;
}

static uint32_t new_end(struct sketch *sketch, uint32_t net, uint32_t target)
{
    uint32_t e = sketch->n_ends++;

    assert(e < SKETCH_ENDS);
    sketch->plan_ends[e] = (struct plan_end){
        .net = net, .target = target, .inner = PLAN_NONE, .outer = PLAN_NONE};
    sketch->ends[e].share = NAN;
    return e;
}

/* The ends of a net at the boxes of its group that hold targets; inside groups another
 * net continues the value. */
static void ends_inside(struct sketch *sketch, uint32_t net, const uint32_t *to,
                        uint32_t n, const struct diagram_net *what)
{
    uint32_t group = sketch->plan_nets[net].group;
    uint32_t source = sketch->plan_nets[net].source;

    for (uint32_t c = group + 1; c < sketch->plan_boxes[group].end;
         c = sketch->plan_boxes[c].end) {
        uint32_t e, inner;
        bool wanted = false;

        for (uint32_t i = 0; i < n; i++)
            wanted |= is_inside(sketch, to[i], c);
        if (!wanted || c == source)
            continue;
        e = new_end(sketch, net, c);
        if (sketch->plan_boxes[c].end == c + 1)
            continue;
        inner = new_net(sketch, c, c, what);
        sketch->plan_nets[inner].outer = e;
        sketch->plan_ends[e].inner = inner;
        ends_inside(sketch, inner, to, n, what);
    }
}

void sketch_value(struct sketch *sketch, uint32_t from, const uint32_t *to, uint32_t n,
                  const struct diagram_net *what)
{
    uint32_t group = sketch->plan_boxes[from].parent, source = from,
             leaving = PLAN_NONE;

    for (;;) {
        uint32_t net = new_net(sketch, group, source, what);
        bool outside = false;

        sketch->plan_nets[net].inner = leaving;
        if (leaving != PLAN_NONE)
            sketch->plan_ends[leaving].outer = net;
        ends_inside(sketch, net, to, n, what);
        for (uint32_t i = 0; i < n; i++)
            outside |= !is_inside(sketch, to[i], group);
        if (!outside)
            return;
        leaving = new_end(sketch, net, group);
        source = group;
        group = sketch->plan_boxes[group].parent;
    }
}

/* Nets sorted by group, and the ends by net. */
struct diagram *sketch_end(struct sketch *sketch)
{
    static struct plan_net nets[SKETCH_ENDS];
    static struct diagram_net whats[SKETCH_ENDS];
    static struct plan_end ends[SKETCH_ENDS];
    static struct diagram_end end_whats[SKETCH_ENDS];
    uint32_t new_net_of[SKETCH_ENDS], new_end_of[SKETCH_ENDS], n = 0, m = 0;
    struct plan *plan = &sketch->diagram.plan;

    for (uint32_t g = 0; g < sketch->n_boxes; g++)
        for (uint32_t i = 0; i < sketch->n_nets; i++) {
            if (sketch->plan_nets[i].group != g)
                continue;
            new_net_of[i] = n;
            nets[n] = sketch->plan_nets[i];
            nets[n].ends = m;
            whats[n] = sketch->nets[i];
            for (uint32_t e = 0; e < sketch->n_ends; e++)
                if (sketch->plan_ends[e].net == i) {
                    new_end_of[e] = m;
                    ends[m] = sketch->plan_ends[e];
                    end_whats[m++] = sketch->ends[e];
                }
            nets[n].n_ends = m - nets[n].ends;
            n++;
        }
    for (uint32_t i = 0; i < n; i++) {
        sketch->plan_nets[i] = nets[i];
        sketch->nets[i] = whats[i];
        if (nets[i].inner != PLAN_NONE)
            sketch->plan_nets[i].inner = new_end_of[nets[i].inner];
        if (nets[i].outer != PLAN_NONE)
            sketch->plan_nets[i].outer = new_end_of[nets[i].outer];
    }
    for (uint32_t e = 0; e < m; e++) {
        sketch->plan_ends[e] = ends[e];
        sketch->plan_ends[e].net = new_net_of[ends[e].net];
        sketch->ends[e] = end_whats[e];
        if (ends[e].inner != PLAN_NONE)
            sketch->plan_ends[e].inner = new_net_of[ends[e].inner];
        if (ends[e].outer != PLAN_NONE)
            sketch->plan_ends[e].outer = new_net_of[ends[e].outer];
    }
    plan->n_boxes = sketch->n_boxes;
    plan->n_nets = n;
    plan->n_ends = m;
    sketch->diagram.n_words = sketch->n_words;
    sketch->diagram.n_shown = 12;
    return &sketch->diagram;
}

static void give(struct sketch *sketch, uint32_t box, double params, double time)
{
    sketch->boxes[box].metric[DIAGRAM_PARAMS] = params;
    sketch->boxes[box].metric[DIAGRAM_TIME] = time;
}

static void link_one(struct sketch *sketch, uint32_t from, uint32_t to,
                     const struct diagram_net *what)
{
    sketch_value(sketch, from, &to, 1, what);
}

static const struct diagram_net shape64 = {.label = {"1×64×56×56", 13},
                                           .dtype = {"float32", 7},
                                           .n_tensors = 1,
                                           .bytes = 802816};
static const struct diagram_net shape256 = {.label = {"1×256×56×56", 14},
                                            .dtype = {"float32", 7},
                                            .n_tensors = 1,
                                            .bytes = 3211264};
static const struct diagram_net changed256 = {.label = {"1×256×56×56", 14},
                                              .dtype = {"float32", 7},
                                              .changed = true,
                                              .n_tensors = 1,
                                              .bytes = 3211264};

/* conv1 bn1 relu conv2 bn2 relu conv3 bn3 in `boxes`; the block is `block`. */
static void add_trunk(struct sketch *sketch, uint32_t block, uint32_t boxes[8])
{
    static const struct {
        const char *name, *words;
        enum family family;
        double params, time;
    } rows[8] = {{"conv1", "Conv2d,1×1,64→64", FAMILY_CONV, 4096, 710e3},
                 {"bn1", "BatchNorm2d,64", FAMILY_NORM, 128, 50e3},
                 {"relu", "ReLU", FAMILY_ACTIVATION, 0, 20e3},
                 {"conv2", "Conv2d,3×3,64→64,pad 1", FAMILY_CONV, 36864, 2460e3},
                 {"bn2", "BatchNorm2d,64", FAMILY_NORM, 128, 40e3},
                 {"relu", "ReLU", FAMILY_ACTIVATION, 0, 20e3},
                 {"conv3", "Conv2d,1×1,64→256", FAMILY_CONV, 16384, 920e3},
                 {"bn3", "BatchNorm2d,256", FAMILY_NORM, 512, 60e3}};

    for (int i = 0; i < 8; i++) {
        boxes[i] = sketch_box(sketch, block, DIAGRAM_MODULE, rows[i].name,
                              rows[i].family, rows[i].words);
        give(sketch, boxes[i], rows[i].params, rows[i].time);
        if (i == 2 || i == 5) {
            sketch->boxes[boxes[i]].number = i == 2 ? 1 : 2;
            sketch->boxes[boxes[i]].n_calls = 3;
        }
    }
}

struct sketch *sketch_block(void)
{
    struct sketch *s = sketch_new();
    uint32_t b[8], in, block, down, ds0, ds1, add, relu, out;

    s->path[0] = STR("ResNet-50");
    s->path[1] = STR("layer1");
    s->path[2] = STR("0");
    s->diagram.n_path = 3;
    s->diagram.facts = STR("Bottleneck · 75.0K parameters · 11 module calls and 1 "
                           "operation · forward, batch 1");
    in = sketch_box(s, 0, DIAGRAM_INPUT, "x", FAMILY_NONE, "1×64×56×56,float32");
    block = sketch_box(s, 0, DIAGRAM_MODULE, "layer1.0", FAMILY_NONE, "Bottleneck");
    add_trunk(s, block, b);
    down =
        sketch_box(s, block, DIAGRAM_MODULE, "downsample", FAMILY_NONE, "Sequential");
    ds0 = sketch_box(s, down, DIAGRAM_MODULE, "0", FAMILY_CONV, "Conv2d,1×1,64→256");
    ds1 = sketch_box(s, down, DIAGRAM_MODULE, "1", FAMILY_NORM, "BatchNorm2d,256");
    add = sketch_box(s, block, DIAGRAM_OP, "+", FAMILY_ELEMENTWISE, "");
    s->boxes[add].flags = DIAGRAM_SIGN;
    relu = sketch_box(s, block, DIAGRAM_MODULE, "relu", FAMILY_ACTIVATION, "ReLU");
    s->boxes[relu].number = s->boxes[relu].n_calls = 3;
    out =
        sketch_box(s, 0, DIAGRAM_OUTPUT, "output", FAMILY_NONE, "1×256×56×56,float32");
    give(s, block, 75008, 4220e3);
    give(s, down, 16896, 940e3);
    give(s, ds0, 16384, 900e3);
    give(s, ds1, 512, 40e3);
    give(s, relu, 0, 30e3);
    give(s, add, NAN, 30e3);
    s->diagram.total[DIAGRAM_TIME] = 57550000;
    s->diagram.total[DIAGRAM_PARAMS] = 75008;
    sketch_value(s, in, (uint32_t[]){b[0], ds0}, 2, &shape64);
    for (int i = 0; i < 6; i++)
        link_one(s, b[i], b[i + 1], &shape64);
    link_one(s, b[6], b[7], &changed256);
    link_one(s, b[7], add, &shape256);
    link_one(s, ds0, ds1, &changed256);
    link_one(s, ds1, add, &shape256);
    link_one(s, add, relu, &shape256);
    link_one(s, relu, out, &shape256);
    sketch_end(s);
    return s;
}

struct sketch *sketch_everything(void)
{
    struct sketch *s = sketch_new();
    struct diagram_net several = {.label = STR("3 tensors"),
                                  .more = STR("32×100×512, 2 × 2×32×512"),
                                  .n_tensors = 3,
                                  .bytes = 20 << 20};
    struct diagram_net bad = {
        .label = STR("32×10"), .n_tensors = 1, .changed = true, .not_finite = true};
    uint32_t in, embed, stack, inside, lstm, view, mul, norm, region, unused, out;

    in = sketch_box(s, 0, DIAGRAM_INPUT, "input_ids", FAMILY_NONE, "32×100,int64");
    embed =
        sketch_box(s, 0, DIAGRAM_MODULE, "embed_the_positions_of_all_the_context",
                   FAMILY_EMBEDDING,
                   "Embedding,131072×4096,padding 0,max norm 1,scaled by frequency");
    stack = sketch_box(s, 0, DIAGRAM_REPEAT, "0…11", FAMILY_NONE, "12 × Block");
    inside = sketch_box(s, stack, DIAGRAM_MODULE, "0", FAMILY_OTHER, "Block");
    sketch_close(s, stack);
    s->boxes[stack].n_same = 12;
    lstm = sketch_box(s, 0, DIAGRAM_MODULE, "lstm", FAMILY_LINEAR, "LSTM,256→512");
    view = sketch_box(s, 0, DIAGRAM_VIEW, "4 views", FAMILY_VIEW, "12×128×64");
    mul = sketch_box(s, 0, DIAGRAM_OP, "×", FAMILY_ELEMENTWISE, "");
    s->boxes[mul].flags = DIAGRAM_SIGN;
    norm = sketch_box(s, 0, DIAGRAM_OP, "native_layer_norm", FAMILY_NORM, "512");
    s->boxes[norm].flags = DIAGRAM_MADE;
    s->boxes[norm].change = DIAGRAM_ADDED;
    region = sketch_box(s, 0, DIAGRAM_MODULE, "block", FAMILY_NONE,
                        "fused, inside a compiled region");
    s->boxes[region].flags = DIAGRAM_REGION | DIAGRAM_CARRIES;
    s->boxes[region].change = DIAGRAM_CHANGED;
    unused =
        sketch_box(s, 0, DIAGRAM_MODULE, "aux_head", FAMILY_NONE, "AuxHead,not called");
    s->boxes[unused].flags = DIAGRAM_NOT_CALLED;
    s->boxes[unused].change = DIAGRAM_REMOVED;
    out = sketch_box(s, 0, DIAGRAM_OUTPUT, "output", FAMILY_NONE, "32×10,float32");
    give(s, embed, 536.9e6, 1e6);
    give(s, stack, 85.1e6, 40e6);
    give(s, inside, 7.1e6, 3e6);
    give(s, lstm, 3.7e6, 9e6);
    give(s, unused, 2.4e6, NAN);
    s->diagram.total[DIAGRAM_TIME] = 60000000;
    link_one(s, in, embed, &shape64);
    sketch_value(s, embed, (uint32_t[]){inside, mul, region}, 3, &shape256);
    link_one(s, inside, lstm, &changed256);
    link_one(s, lstm, view, &several);
    link_one(s, view, mul, &shape64);
    link_one(s, mul, norm, &shape64);
    link_one(s, norm, region, &bad);
    link_one(s, region, out, &bad);
    sketch_end(s);
    for (uint32_t e = 0; e < s->n_ends; e++)
        if (s->plan_ends[e].target == mul)
            s->ends[e].share =
                s->nets[s->plan_ends[e].net].bytes > 1000000 ? 0.82 : 0.18;
    s->ends[s->plan_nets[0].ends].detached = true;
    return s;
}
