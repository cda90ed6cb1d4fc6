#include "read/pt2/pt2_in.h"

#include "base/base.h"
#include "base/buf.h"

#define DOTS_MOST 1000 /* limit for the parts of a name */

static int spent(const struct pt2 *pt2, struct err *err)
{
    return arena_err(build_spent(pt2->build) && pt2->build->scratch.spent
                         ? &pt2->build->scratch
                         : &pt2->build->model->arena,
                     pt2->input->path, err);
}

static bool is_deep(struct str name)
{
    size_t dots = 0;

    for (size_t i = 0; name.len > DOTS_MOST && i < name.len; i++)
        dots += name.at[i] == '.';
    return dots > DOTS_MOST;
}

/* The module with this full name, added if it is new; NO_PLACE: too deep, or spent. */
static uint32_t module_node(struct pt2 *pt2, struct str path)
{
    uint32_t parent;
    struct str last;

    if (path.len == 0)
        return pt2->root;
    if (is_deep(path))
        return NO_PLACE;
    parent = build_dotted(pt2->build, pt2->root, path, &last);
    if (parent == NO_PLACE)
        return NO_PLACE;
    return build_child(pt2->build, parent, PLACE_MODULE, last);
}

/* ---- names of modules ---- */

/* The part before the number of a further call: "fc" of "fc@1". */
static struct str without_call(struct str path)
{
    ptrdiff_t at = str_find_last_char(path, '@');

    return at < 0 ? path : str_head(path, (size_t)at);
}

static bool skip(struct str *rest, struct str head)
{
    if (!str_starts(*rest, head))
        return false;
    *rest = str_from(*rest, head.len);
    return true;
}

/* The name of a module as old files have it: "L['self'].a.b",
 * "getattr(L['self'].a, '0')", "L['self'].a[0]". */
static struct str plain_path(struct pt2 *pt2, struct str path)
{
    struct buf text = BUF_INIT;
    struct str copy;

    if (str_find_char(path, '[') < 0 && str_find_char(path, '(') < 0)
        return without_call(path);
    while (path.len > 0) {
        if (skip(&path, STR("getattr(")) || skip(&path, STR("L['self']")))
            continue;
        if (skip(&path, STR(", '")) || skip(&path, STR("['")) || skip(&path, STR("[")))
            buf_char(&text, '.');
        else if (!skip(&path, STR("')")) && !skip(&path, STR("']")) &&
                 !skip(&path, STR("]"))) {
            buf_char(&text, path.at[0]);
            path = str_from(path, 1);
        }
    }
    copy = buf_span(&text);
    while (copy.len > 0 && copy.at[0] == '.')
        copy = str_from(copy, 1);
    copy = arena_str(&pt2->build->scratch, without_call(copy));
    buf_release(&text);
    return copy;
}

/* "<class 'torch.nn.modules.conv.Conv2d'>" and the name itself. */
static struct str plain_class(struct str type)
{
    if (skip(&type, STR("<class '")) && str_ends(type, STR("'>")))
        type = str_head(type, type.len - 2);
    return type;
}

/* ---- stacks ---- */

/* The next of "key,path,type", ignoring commas in brackets. */
static struct str next_field(struct str *rest)
{
    struct str all = *rest;
    int open = 0;

    for (size_t i = 0; i < all.len; i++) {
        char c = all.at[i];

        open += c == '[' || c == '(';
        open -= c == ']' || c == ')';
        if (c == ',' && open == 0) {
            *rest = str_from(all, i + 1);
            return str_head(all, i);
        }
    }
    *rest = str_from(all, all.len);
    return all;
}

static void set_class(struct pt2 *pt2, uint32_t node, struct str type)
{
    struct object *object;

    type = plain_class(type);
    if (type.len == 0 || node == NO_PLACE)
        return;
    object = build_object(pt2->build, node);
    if (object && object->class_id == NO_CLASS) {
        uint32_t id = build_class(pt2->build, type);

        object->class_id = id;
    }
}

static int add_frame(struct pt2 *pt2, struct str text, struct err *err)
{
    struct pt2_frame frame = {.key = next_field(&text)};
    struct build *build = pt2->build;

    frame.path = plain_path(pt2, next_field(&text));
    frame.node = module_node(pt2, frame.path);
    set_class(pt2, frame.node, text);
    if (build_spent(build) || arena_room(&build->scratch, &pt2->frames, pt2->n_frames,
                                         &pt2->frames_room, sizeof *pt2->frames) < 0)
        return spent(pt2, err);
    pt2->frames[pt2->n_frames++] = frame;
    return 0;
}

static struct str stack_text(const struct pt2 *pt2, uint32_t node)
{
    uint32_t metadata = json_doc_get(&pt2->doc, node, "metadata");

    return json_doc_text(&pt2->doc,
                         json_doc_get(&pt2->doc, metadata, "nn_module_stack"));
}

static int add_stack(struct pt2 *pt2, uint32_t node, struct err *err)
{
    struct str text = stack_text(pt2, node), rest = text, frame;
    struct pt2_stack stack = {.first = pt2->n_frames};
    uint32_t index;
    int added;

    added = name_map_add(&pt2->stacks, text, &index);
    if (added == 0)
        return 0;
    if (added < 0 || arena_room(&pt2->build->scratch, &pt2->stack_of, index,
                                &pt2->stack_room, sizeof *pt2->stack_of) < 0)
        return spent(pt2, err);
    while (rest.len > 0 && str_split(&rest, ';', &frame))
        if (add_frame(pt2, frame, err) < 0)
            return -1;
    stack.n = pt2->n_frames - stack.first;
    pt2->stack_of[index] = stack;
    return 0;
}

struct pt2_stack pt2_stack_of(const struct pt2 *pt2, uint32_t node)
{
    uint32_t index;

    if (!name_map_find(&pt2->stacks, stack_text(pt2, node), &index))
        return (struct pt2_stack){0};
    return pt2->stack_of[index];
}

/* ---- all modules ---- */

static int walk_graph(struct pt2 *pt2, uint32_t graph, struct err *err);

/* The graphs among the arguments of a node. */
static int walk_node(struct pt2 *pt2, uint32_t node, struct err *err)
{
    const struct json_doc *doc = &pt2->doc;
    uint32_t inputs = json_doc_get(doc, node, "inputs");

    if (add_stack(pt2, node, err) < 0)
        return -1;
    for (uint32_t i = json_doc_first(doc, inputs); i; i = json_doc_next(doc, i)) {
        struct str kind;
        uint32_t value = pt2_union(doc, json_doc_get(doc, i, "arg"), &kind);

        if (str_is(kind, "as_graph") &&
            walk_graph(pt2, json_doc_get(doc, value, "graph"), err) < 0)
            return -1;
    }
    return 0;
}

static int walk_graph(struct pt2 *pt2, uint32_t graph, struct err *err)
{
    uint32_t nodes = json_doc_get(&pt2->doc, graph, "nodes");

    for (uint32_t i = json_doc_first(&pt2->doc, nodes); i;
         i = json_doc_next(&pt2->doc, i)) {
        if (!work_step(pt2->build->work, 1))
            return err_set(err, ERR_CANCELLED, "stopped");
        if (walk_node(pt2, i, err) < 0)
            return -1;
    }
    return 0;
}

int pt2_tree(struct pt2 *pt2, struct err *err)
{
    const struct json_doc *doc = &pt2->doc;
    uint32_t module = json_doc_get(doc, JSON_DOC_ROOT, "graph_module");
    uint32_t calls = json_doc_get(doc, module, "module_call_graph");

    name_map_init(&pt2->stacks, &pt2->build->scratch);
    build_set_kind(pt2->build, pt2->root, PLACE_MODULE);
    for (uint32_t i = json_doc_first(doc, calls); i; i = json_doc_next(doc, i)) {
        struct str path = json_doc_text(doc, json_doc_get(doc, i, "fqn"));

        module_node(pt2, plain_path(pt2, path));
        if (build_spent(pt2->build))
            return spent(pt2, err);
    }
    return walk_graph(pt2, pt2->graph, err);
}

/* ---- tensors ---- */

uint32_t pt2_place_find(const struct pt2 *pt2, struct str full_name)
{
    uint32_t index;

    return name_map_find(&pt2->tensors, full_name, &index) ? pt2->tensor_nodes[index]
                                                           : NO_PLACE;
}

uint32_t pt2_place(struct pt2 *pt2, struct str full_name)
{
    struct build *build = pt2->build;
    struct str last = full_name;
    uint32_t index, parent = pt2->root;
    int added = name_map_add(&pt2->tensors, full_name, &index);
    bool again;

    if (added < 0)
        return NO_PLACE;
    if (added == 0)
        return pt2->tensor_nodes[index];
    if (arena_room(&build->scratch, &pt2->tensor_nodes, index, &pt2->tensor_nodes_room,
                   sizeof *pt2->tensor_nodes) < 0)
        return NO_PLACE;
    if (!is_deep(full_name))
        parent = build_dotted(build, pt2->root, full_name, &last);
    pt2->tensor_nodes[index] =
        parent == NO_PLACE ? NO_PLACE
                           : build_leaf(build, parent, PLACE_TENSOR, last, &again);
    return pt2->tensor_nodes[index];
}
