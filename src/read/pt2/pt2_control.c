/* Operations with graphs inside: cond becomes branches; while_loop, map and scan become
 * loops. An operation that only wraps a graph is replaced by the operations of the
 * graph. */
#include "base/base.h"
#include "base/buf.h"
#include "read/pt2/pt2_program_in.h"

#define GRAPHS_MOST 8

/* The arguments of such an operation. */
struct control {
    struct pt2_making *m;
    struct pt2_scope *scope; /* around it */
    uint32_t node;
    struct str name;              /* "cond" */
    uint32_t graphs[GRAPHS_MOST]; /* nodes of the graphs */
    uint32_t n_graphs;
    struct pt2_values before; /* values of arguments before the first graph */
    struct pt2_values after;  /* and after it: the operands of the graphs */
    uint32_t lists[4];        /* ends of the lists after the graph, in `after` */
    uint32_t n_lists;
    struct pt2_names results;
};

static void read_arguments(struct control *c)
{
    const struct json_doc *doc = c->m->doc;
    uint32_t inputs = json_doc_get(doc, c->node, "inputs");

    for (uint32_t i = json_doc_first(doc, inputs); i && !c->m->stop;
         i = json_doc_next(doc, i)) {
        uint32_t argument = json_doc_get(doc, i, "arg");
        struct str kind;
        uint32_t value = pt2_union(doc, argument, &kind);

        if (str_is(kind, "as_graph")) {
            if (c->n_graphs < GRAPHS_MOST)
                c->graphs[c->n_graphs++] = json_doc_get(doc, value, "graph");
        } else if (c->n_graphs == 0) {
            pt2_flatten(c->m, c->scope, argument, &c->before);
        } else {
            pt2_flatten(c->m, c->scope, argument, &c->after);
            if (json_doc_kind(doc, value) == JSON_ARRAY &&
                c->n_lists < COUNT_OF(c->lists))
                c->lists[c->n_lists++] = c->after.n;
        }
    }
    pt2_output_names(c->m, json_doc_get(doc, c->node, "outputs"), &c->results);
}

/* ---- running a graph ---- */

/* The names of a graph's inputs. */
static void input_names(struct control *c, uint32_t graph, struct pt2_names *to)
{
    pt2_output_names(c->m, json_doc_get(c->m->doc, graph, "inputs"), to);
}

/* Run a graph on these values; appends its results to `results`. */
static void run_graph(struct control *c, uint32_t graph, const struct pt2_values *on,
                      struct pt2_values *results)
{
    struct pt2_making *m = c->m;
    struct pt2_scope scope;
    struct pt2_names names = {0};
    uint32_t outputs = json_doc_get(m->doc, graph, "outputs");

    input_names(c, graph, &names);
    if (pt2_scope_init(m, &scope, graph) < 0)
        return;
    for (uint32_t i = 0; i < names.n && !m->stop; i++)
        if (i < on->n && on->at[i] != PROGRAM_NONE && names.at[i].len > 0)
            pt2_bind(m, &scope, names.at[i], on->at[i]);
    pt2_nodes(m, &scope);
    for (uint32_t i = json_doc_first(m->doc, outputs); i && !m->stop;
         i = json_doc_next(m->doc, i))
        pt2_flatten(m, &scope, i, results);
}

/* ---- regions ---- */

struct inside {
    uint32_t region, base, n_open;
};

static uint32_t begin_region(struct pt2_making *m, enum program_region_kind kind,
                             uint32_t condition, uint32_t node, struct inside *ret_was)
{
    struct program_region region = {.kind = (uint8_t)kind,
                                    .taken = -1,
                                    .parent = m->region,
                                    .call = m->open[m->n_open - 1].call,
                                    .condition = condition,
                                    .ops = m->program->n_ops};
    uint32_t id;

    *ret_was =
        (struct inside){.region = m->region, .base = m->base, .n_open = m->n_open};
    pt2_line(m, node, &region.file, &region.line);
    id = build_program_region(m->build, &region);
    if (id == PROGRAM_NONE) {
        m->stop = true;
        return PROGRAM_NONE;
    }
    m->region = id;
    m->base = m->n_open;
    return id;
}

static void end_region(struct pt2_making *m, uint32_t id, const struct inside *was)
{
    if (id == PROGRAM_NONE)
        return;
    pt2_leave(m, was->n_open);
    m->program->regions[id].end = m->program->n_ops;
    m->region = was->region;
    m->base = was->base;
}

/* A value that may be any of several others. */
static uint32_t add_merge(struct control *c, struct str name, const uint32_t *sources,
                          uint32_t n)
{
    struct pt2_making *m = c->m;
    uint32_t kept[GRAPHS_MOST], n_kept = 0;
    uint32_t merge = pt2_value(m, c->scope, PROGRAM_MERGE, name);

    for (uint32_t i = 0; i < n && n_kept < GRAPHS_MOST; i++)
        if (sources[i] != PROGRAM_NONE)
            kept[n_kept++] = sources[i];
    if (!m->stop && build_program_sources(m->build, merge, kept, n_kept) < 0)
        m->stop = true;
    return merge;
}

static void bind_result(struct control *c, uint32_t i, uint32_t value)
{
    if (i < c->results.n && c->results.at[i].len > 0 && value != PROGRAM_NONE)
        pt2_bind(c->m, c->scope, c->results.at[i], value);
}

/* cond(predicate, true_graph, false_graph, operands) */
static void do_cond(struct control *c)
{
    struct pt2_values results[2] = {{0}, {0}};
    uint32_t predicate = c->before.n > 0 ? c->before.at[0] : PROGRAM_NONE;
    struct inside was;

    for (uint32_t side = 0; side < 2 && !c->m->stop; side++) {
        uint32_t region = begin_region(c->m, side ? PROGRAM_ELSE : PROGRAM_IF,
                                       predicate, c->node, &was);

        run_graph(c, c->graphs[side], &c->after, &results[side]);
        end_region(c->m, region, &was);
    }
    for (uint32_t i = 0; i < c->results.n && !c->m->stop; i++) {
        uint32_t sources[2] = {i < results[0].n ? results[0].at[i] : PROGRAM_NONE,
                               i < results[1].n ? results[1].at[i] : PROGRAM_NONE};

        bind_result(c, i, add_merge(c, c->results.at[i], sources, 2));
    }
}

/* The values at the start of an iteration, of which the first `n` change. */
static void begin_turn(struct control *c, uint32_t graph, uint32_t n,
                       struct pt2_values *ret_turn)
{
    struct pt2_making *m = c->m;
    struct pt2_names names = {0};
    struct pt2_scope scope;

    input_names(c, graph, &names);
    if (pt2_scope_init(m, &scope, graph) < 0)
        return;
    for (uint32_t i = 0; i < c->after.n && !m->stop; i++) {
        uint32_t value = c->after.at[i];

        if (i < n) {
            value = pt2_value(m, &scope, PROGRAM_MERGE,
                              i < names.n ? names.at[i] : STR(""));
            if (!m->stop)
                m->program->values[value].loop = true;
        }
        pt2_add(m, ret_turn, value);
    }
}

/* The inputs of a loop, and the values that an iteration passes to the next. */
static void close_turn(struct control *c, uint32_t n, const struct pt2_values *turn,
                       const struct pt2_values *made)
{
    struct pt2_making *m = c->m;

    for (uint32_t i = 0; i < n && i < turn->n && !m->stop; i++) {
        uint32_t sources[2], n_sources = 0, n_before;

        if (c->after.at[i] != PROGRAM_NONE)
            sources[n_sources++] = c->after.at[i];
        n_before = n_sources;
        if (i < made->n && made->at[i] != PROGRAM_NONE && made->at[i] != turn->at[i])
            sources[n_sources++] = made->at[i];
        if (build_program_sources(m->build, turn->at[i], sources, n_sources) < 0)
            m->stop = true;
        else
            m->program->values[turn->at[i]].n_before = n_before;
    }
}

/* while_loop(condition, body, (changing, ...), (others, ...)) */
static void do_while(struct control *c)
{
    struct pt2_making *m = c->m;
    struct pt2_values turn = {0}, condition = {0}, made = {0};
    uint32_t n = c->n_lists > 0 ? c->lists[0] : c->after.n, region;
    struct inside was;

    region = begin_region(m, PROGRAM_LOOP, PROGRAM_NONE, c->node, &was);
    begin_turn(c, c->graphs[1], n, &turn);
    run_graph(c, c->graphs[0], &turn, &condition);
    if (!m->stop && condition.n > 0)
        m->program->regions[region].condition = condition.at[0];
    run_graph(c, c->graphs[1], &turn, &made);
    end_region(m, region, &was);
    close_turn(c, n, &turn, &made);
    for (uint32_t i = 0; i < c->results.n && i < turn.n && !m->stop; i++)
        bind_result(c, i, turn.at[i]);
}

/* map(body, (over, ...), (others, ...)): each iteration takes a slice of `over`.
 * scan(body, (changing, ...), (over, ...), (others, ...)) also passes values on. */
static void do_each(struct control *c, bool scan)
{
    struct pt2_making *m = c->m;
    struct pt2_values turn = {0}, made = {0};
    uint32_t hands_on = scan && c->n_lists > 0 ? c->lists[0] : 0;
    uint32_t list = scan ? 1 : 0, region;
    uint32_t n = c->n_lists > list ? c->lists[list] : c->after.n;
    struct inside was;

    region = begin_region(m, PROGRAM_LOOP, PROGRAM_NONE, c->node, &was);
    begin_turn(c, c->graphs[0], n, &turn);
    run_graph(c, c->graphs[0], &turn, &made);
    end_region(m, region, &was);
    close_turn(c, hands_on, &turn, &made);
    for (uint32_t i = hands_on; i < n && i < turn.n && !m->stop; i++) {
        if (build_program_sources(m->build, turn.at[i], &c->after.at[i],
                                  c->after.at[i] != PROGRAM_NONE) < 0)
            m->stop = true;
        else
            m->program->values[turn.at[i]].n_before =
                m->program->values[turn.at[i]].n_sources;
    }
    for (uint32_t i = 0; i < c->results.n && i < made.n && !m->stop; i++)
        bind_result(c, i,
                    i < hands_on && i < turn.n
                        ? turn.at[i]
                        : add_merge(c, c->results.at[i], &made.at[i], 1));
}

/* Operations that run their graph once, unchanged. */
static void do_inline(struct control *c)
{
    struct pt2_values made = {0};

    run_graph(c, c->graphs[0], &c->after, &made);
    for (uint32_t i = 0; i < c->results.n && i < made.n && !c->m->stop; i++)
        bind_result(c, i, made.at[i]);
}

/* ---- unknown operations ---- */

static uint32_t count_nodes(const struct control *c)
{
    uint32_t n = 0;

    for (uint32_t g = 0; g < c->n_graphs; g++) {
        uint32_t nodes = json_doc_get(c->m->doc, c->graphs[g], "nodes");

        for (uint32_t i = json_doc_first(c->m->doc, nodes); i;
             i = json_doc_next(c->m->doc, i))
            n++;
    }
    return n;
}

/* Record it as an operation; how it uses its graphs is unknown. */
static void do_unknown(struct control *c)
{
    struct pt2_making *m = c->m;
    struct buf text = BUF_INIT;
    uint32_t region, n = count_nodes(c);
    struct inside was;

    pt2_op(m, c->scope, c->node);
    if (n == 0)
        return;
    buf_printf(&text, "%.*s works with %u operations inside", STR_ARG(c->name), n);
    region = begin_region(m, PROGRAM_UNCLEAR, PROGRAM_NONE, c->node, &was);
    if (region != PROGRAM_NONE) {
        uint32_t id = build_string(m->build, buf_span(&text));

        m->program->regions[region].text = id == INTERN_NONE ? 0 : id;
    }
    end_region(m, region, &was);
    buf_release(&text);
}

static bool is_one_of(struct str name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

bool pt2_control(struct pt2_making *m, struct pt2_scope *scope, uint32_t node)
{
    static const char *const inlined[] = {
        "wrap",
        "wrap_with_set_grad_enabled",
        "wrap_with_autocast",
        "wrap_activation_checkpoint",
        "tag_activation_checkpoint",
        "invoke_subgraph",
        "hints_wrapper",
        "strict_mode",
    };
    struct str target = json_doc_text(m->doc, json_doc_get(m->doc, node, "target"));
    struct str space = STR("torch.ops.higher_order.");
    struct control c = {.m = m, .scope = scope, .node = node};

    if (!str_starts(target, space))
        return false;
    c.name = str_from(target, space.len);
    read_arguments(&c);
    if (c.n_graphs == 0 || m->stop)
        return m->stop;
    if (str_is(c.name, "cond") && c.n_graphs == 2)
        do_cond(&c);
    else if (str_is(c.name, "while_loop") && c.n_graphs == 2)
        do_while(&c);
    else if ((str_is(c.name, "map_impl") || str_is(c.name, "map")) && c.n_graphs == 1)
        do_each(&c, false);
    else if (str_is(c.name, "scan") && c.n_graphs == 1)
        do_each(&c, true);
    else if (is_one_of(c.name, inlined, COUNT_OF(inlined)) && c.n_graphs == 1)
        do_inline(&c);
    else
        do_unknown(&c);
    return true;
}
