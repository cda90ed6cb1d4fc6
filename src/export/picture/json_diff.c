/* The differences of two networks: the document `graph_diff` of docs/json.md. It has
 * all boxes and lines, including those that a picture folds. */
#include "base/json_write.h"
#include "export/picture/picture_in.h"

struct json_diff {
    struct json *json;
    const struct diagram *diagram;
    uint32_t *stack; /* nets that continue a line */
};

static void put_change(struct json *json, uint8_t change)
{
    if (change == DIAGRAM_SAME)
        json_null(json, "change");
    else
        json_text(json, "change", diagram_change_name((enum diagram_change)change));
}

static void put_node(const struct json_diff *of, uint32_t i)
{
    const struct diagram_box *box = &of->diagram->boxes[i];
    uint32_t up = of->diagram->plan.boxes[i].parent;

    json_object(of->json, NULL);
    json_str(of->json, "id", box->id);
    json_text(of->json, "kind", diagram_kind_name((enum diagram_kind)box->kind));
    json_str(of->json, "name", box->name);
    if (up == 0)
        json_null(of->json, "inside");
    else
        json_str(of->json, "inside", of->diagram->boxes[up].id);
    json_array(of->json, "words");
    for (uint32_t k = 0; k < box->n_words; k++)
        json_str(of->json, NULL, of->diagram->words[box->words + k]);
    json_array_end(of->json);
    put_change(of->json, box->change);
    json_object_end(of->json);
}

static void put_edge(const struct json_diff *of, uint32_t source, uint32_t end)
{
    json_object(of->json, NULL);
    json_str(of->json, "source", of->diagram->boxes[source].id);
    json_str(of->json, "target",
             of->diagram->boxes[of->diagram->plan.ends[end].target].id);
    put_change(of->json, of->diagram->ends[end].change);
    json_object_end(of->json);
}

/* All lines from one box: a net continues in those of the groups that it enters or
 * leaves. */
static void put_edges_of(const struct json_diff *of, uint32_t net)
{
    const struct plan *plan = &of->diagram->plan;
    uint32_t source = plan->nets[net].source, n = 0;

    of->stack[n++] = net;
    while (n > 0) {
        const struct plan_net *at = &plan->nets[of->stack[--n]];

        for (uint32_t e = at->ends; e < at->ends + at->n_ends; e++) {
            uint32_t inner = plan->ends[e].inner, outer = plan->ends[e].outer;

            if (inner != PLAN_NONE)
                of->stack[n++] = inner;
            else if (outer != PLAN_NONE)
                of->stack[n++] = outer;
            else
                put_edge(of, source, e);
        }
    }
}

static void put_counts(const struct json_diff *of)
{
    const struct diagram *diagram = of->diagram;

    json_text(of->json, "level", graph_level_name(diagram->wanted.level));
    json_str(of->json, "old", diagram->old_name);
    json_str(of->json, "new", diagram->new_name);
    for (uint32_t c = DIAGRAM_ADDED; c < DIAGRAM_CHANGES; c++) {
        json_u64(of->json, diagram_change_name((enum diagram_change)c),
                 diagram->n_changes[c]);
    }
    json_u64(of->json, "equal", diagram->n_changes[DIAGRAM_SAME]);
    json_u64(of->json, "lines_added", diagram->lines_added);
    json_u64(of->json, "lines_removed", diagram->lines_removed);
}

static void put_document(const struct json_diff *of)
{
    const struct plan *plan = &of->diagram->plan;
    struct json *json = of->json;

    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", "graph_diff");
    put_counts(of);
    json_array(json, "nodes");
    for (uint32_t i = 1; i < plan->n_boxes; i++)
        put_node(of, i);
    json_array_end(json);
    json_array(json, "edges");
    for (uint32_t i = 0; i < plan->n_nets; i++)
        if (plan->boxes[plan->nets[i].source].end == plan->nets[i].source + 1)
            put_edges_of(of, i);
    json_array_end(json);
    json_object_end(json);
}

int picture_json_diff(struct out *out, const struct diagram *diagram, struct err *err)
{
    struct json json;
    struct json_diff of = {&json, diagram, NULL};
    struct arena arena;
    int status = 0;

    arena_init(&arena, 0);
    of.stack = arena_array(&arena, (size_t)diagram->plan.n_nets + 1, sizeof *of.stack);
    if (of.stack) {
        json_init_text(&json, out);
        put_document(&of);
        out_text(out, "\n");
    } else {
        status = arena_err(&arena, "the graph", err);
    }
    arena_release(&arena);
    return status;
}
