/* The first pass of a model, or of each part that is called separately, as a GraphDef.
 * Field numbers are those of graph.proto, node_def.proto and attr_value.proto. */
#include "history/sinks/events_in.h"

#include <stdlib.h>

#include "history/sinks/proto_in.h"

enum { GRAPH_NODE = 1, GRAPH_VERSIONS = 4, VERSIONS_PRODUCER = 1 };
enum { NODE_NAME = 1, NODE_OP, NODE_INPUT, NODE_ATTR = 5 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, ATTR_LIST = 1, LIST_SHAPE = 7 };
enum { SHAPE_DIM = 2, DIM_SIZE = 1 };

/* Nodes have numbers: call c is c + 1, input k of the model is n_calls + 1 + k. */
#define NO_NODE 0u

struct graph_filling {
    const struct run *run;
    struct buf *to;
    uint32_t *by_value;   /* the node that made it */
    uint32_t *by_storage; /* the newest node that returned something in it */
    uint32_t *read_by;    /* by node: the newest node that has it as an input */
    uint32_t *open;       /* calls that have not ended, the outermost first */
    uint8_t *inside;      /* by call: it belongs to a first pass */
    uint8_t *outer;       /* by call: there are calls inside it */
    uint32_t n_open, newest, n_storages;
};

void events_shape(struct buf *to, unsigned field, const int64_t *sizes, uint32_t n)
{
    size_t shape = proto_begin(to, field);

    for (uint32_t i = 0; i < n; i++) {
        size_t dim = proto_begin(to, SHAPE_DIM);

        proto_u64(to, DIM_SIZE, (uint64_t)sizes[i]);
        proto_end(to, dim);
    }
    proto_end(to, shape);
}

/* ---- names ---- */

static void call_name(const struct graph_filling *f, uint32_t number, struct buf *to)
{
    const struct run_call *call = &f->run->calls[number];
    size_t at = to->len;

    place_path(f->run->model, call->place, to);
    for (size_t i = at; i < to->len; i++)
        if (to->at[i] == '.')
            to->at[i] = '/';
    if (f->outer[number])
        buf_text(to, to->len > at ? "/(result)" : "(result)");
    else if (to->len == at)
        buf_text(to, "(root)");
    if (call->number > 0)
        buf_printf(to, "/call_%u", call->number);
}

static void node_name(const struct graph_filling *f, uint32_t node, struct buf *to)
{
    const struct run *run = f->run;
    const struct run_io *io;
    size_t at;

    if (node <= run->n_calls) {
        call_name(f, node - 1, to);
        return;
    }
    io = &run->ios[node - run->n_calls - 1];
    buf_text(to, "inputs/");
    at = to->len;
    place_path(run->model, run->calls[io->call].place, to);
    if (to->len > at)
        buf_char(to, '/');
    buf_str(to, run_string(run, io->path));
}

/* ---- a node ---- */

static size_t begin_node(struct graph_filling *f, uint32_t node, struct str op)
{
    size_t at = proto_begin(f->to, GRAPH_NODE);
    struct buf name = BUF_INIT;

    node_name(f, node, &name);
    proto_str(f->to, NODE_NAME, buf_span(&name));
    proto_str(f->to, NODE_OP, op);
    buf_release(&name);
    return at;
}

static void add_input(struct graph_filling *f, uint32_t from, const char *before)
{
    struct buf name = BUF_INIT;

    buf_text(&name, before);
    node_name(f, from, &name);
    proto_str(f->to, NODE_INPUT, buf_span(&name));
    buf_release(&name);
}

static uint32_t maker(const struct graph_filling *f, uint32_t value)
{
    const struct run_value *found = &f->run->values[value];

    if (f->by_value[value] != NO_NODE)
        return f->by_value[value];
    if (found->flags & RUN_NEW_STORAGE || found->storage >= f->n_storages)
        return NO_NODE;
    return f->by_storage[found->storage];
}

/* Adds the source nodes of this call's ios of one kind, each once. Control edges come
 * last, as TensorBoard expects. */
static void add_inputs(struct graph_filling *f, uint32_t number, enum run_io_kind kind)
{
    const struct run_call *call = &f->run->calls[number];
    bool unseen = false;

    for (uint32_t k = call->ios; k < call->ios + call->n_ios; k++) {
        const struct run_io *io = &f->run->ios[k];
        uint32_t from;

        if (io->kind != kind || io->value >= f->run->n_values)
            continue;
        from = maker(f, io->value);
        unseen = unseen || from == NO_NODE;
        if (from == NO_NODE || from == number + 1 || f->read_by[from] == number + 1)
            continue;
        f->read_by[from] = number + 1;
        add_input(f, from, "");
    }
    if (unseen && f->newest != NO_NODE && f->read_by[f->newest] != number + 1)
        add_input(f, f->newest, "^");
}

/* An attribute that TensorBoard shows at edges: the shapes of the results. */
static void add_shapes(struct graph_filling *f, uint32_t ios, uint32_t n,
                       enum run_io_kind kind)
{
    size_t entry = proto_begin(f->to, NODE_ATTR), value, list;

    proto_str(f->to, ENTRY_KEY, STR("_output_shapes"));
    value = proto_begin(f->to, ENTRY_VALUE);
    list = proto_begin(f->to, ATTR_LIST);
    for (uint32_t k = ios; k < ios + n; k++) {
        const struct run_io *io = &f->run->ios[k];
        const struct run_value *found;

        if (io->kind != kind || io->value >= f->run->n_values)
            continue;
        found = &f->run->values[io->value];
        events_shape(f->to, LIST_SHAPE, f->run->dims + found->shape, found->rank);
    }
    proto_end(f->to, list);
    proto_end(f->to, value);
    proto_end(f->to, entry);
}

static void made(struct graph_filling *f, uint32_t value, uint32_t node)
{
    uint32_t storage = f->run->values[value].storage;

    f->by_value[value] = node;
    if (storage < f->n_storages)
        f->by_storage[storage] = node;
}

/* A node for this call. Its inputs are the arguments; of "(result)" what it returns. */
static void add_call(struct graph_filling *f, uint32_t number)
{
    const struct run_call *call = &f->run->calls[number];
    struct str class = class_short(place_class(f->run->model, call->place));
    size_t node = begin_node(f, number + 1, class);

    add_inputs(f, number, f->outer[number] ? RUN_OUT : RUN_IN);
    add_shapes(f, call->ios, call->n_ios, RUN_OUT);
    proto_end(f->to, node);
    for (uint32_t k = call->ios; k < call->ios + call->n_ios; k++)
        if (f->run->ios[k].kind == RUN_OUT && f->run->ios[k].value < f->run->n_values)
            made(f, f->run->ios[k].value, number + 1);
    f->newest = number + 1;
}

/* Arguments of a pass that no node made. */
static void add_pass_inputs(struct graph_filling *f, const struct run_call *call)
{
    const struct run *run = f->run;

    for (uint32_t k = call->ios; k < call->ios + call->n_ios; k++) {
        uint32_t number = run->n_calls + 1 + k;
        size_t node;

        if (run->ios[k].kind != RUN_IN || run->ios[k].value >= run->n_values ||
            maker(f, run->ios[k].value) != NO_NODE)
            continue;
        node = begin_node(f, number, STR("Placeholder"));
        add_shapes(f, k, 1, RUN_IN);
        proto_end(f->to, node);
        made(f, run->ios[k].value, number);
        f->newest = number;
    }
}

/* ---- the pass ---- */

/* Calls with others inside get a node if unrecorded operations made their result. */
static void end_call(struct graph_filling *f)
{
    uint32_t number = f->open[--f->n_open];
    const struct run_call *call = &f->run->calls[number];
    bool unseen = call->parent == RUN_NONE;

    if (!f->outer[number])
        return;
    for (uint32_t k = call->ios; k < call->ios + call->n_ios; k++)
        if (f->run->ios[k].kind == RUN_OUT && f->run->ios[k].value < f->run->n_values &&
            maker(f, f->run->ios[k].value) == NO_NODE)
            unseen = true;
    if (unseen)
        add_call(f, number);
}

/* Calls are in starting order: a call ends before the next call that is not inside it
 * begins. */
static void add_calls(struct graph_filling *f)
{
    const struct run *run = f->run;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        if (!f->inside[i])
            continue;
        while (f->n_open > 0 && f->open[f->n_open - 1] != run->calls[i].parent)
            end_call(f);
        if (run->calls[i].parent == RUN_NONE)
            add_pass_inputs(f, &run->calls[i]);
        f->open[f->n_open++] = i;
        if (!f->outer[i])
            add_call(f, i);
    }
    while (f->n_open > 0)
        end_call(f);
}

/* Which calls belong to a first pass; false: there is none. */
static bool find_passes(struct graph_filling *f)
{
    const struct run *run = f->run;
    bool some = false;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        uint32_t parent = run->calls[i].parent;

        if (run->calls[i].flags & RUN_RECOMPUTED)
            continue;
        f->inside[i] = parent < i ? f->inside[parent] : run->calls[i].number == 0;
        if (f->inside[i] && parent < i)
            f->outer[parent] = 1;
        some = some || f->inside[i];
    }
    return some;
}

static uint32_t count_storages(const struct run *run)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < run->n_values; i++)
        if (run->values[i].storage != RUN_NONE && run->values[i].storage >= n)
            n = run->values[i].storage + 1;
    return n;
}

int events_graph(const struct run *run, struct buf *to)
{
    size_t calls = (size_t)run->n_calls + 1, nodes = calls + run->n_ios + 1, at;
    uint32_t n_storages = count_storages(run);
    struct graph_filling f = {
        .run = run,
        .to = to,
        .n_storages = n_storages,
        .by_value = calloc((size_t)run->n_values + 1, sizeof *f.by_value),
        .by_storage = calloc((size_t)n_storages + 1, sizeof *f.by_storage),
        .read_by = calloc(nodes, sizeof *f.read_by),
        .open = calloc(calls, sizeof *f.open),
        .inside = calloc(calls, 1),
        .outer = calloc(calls, 1),
    };
    int status =
        f.by_value && f.by_storage && f.read_by && f.open && f.inside && f.outer ? 0
                                                                                 : -1;

    if (status == 0 && find_passes(&f)) {
        add_calls(&f);
        at = proto_begin(to, GRAPH_VERSIONS);
        proto_u64(to, VERSIONS_PRODUCER, 22);
        proto_end(to, at);
    }
    free(f.by_value);
    free(f.by_storage);
    free(f.read_by);
    free(f.open);
    free(f.inside);
    free(f.outer);
    return to->bad ? -1 : status;
}
