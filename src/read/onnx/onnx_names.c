/* The tree. ONNX has no modules, but exporters store their names: torch.export in the
 * metadata of nodes, with classes; others in the names of nodes and initialisers,
 * "/layer1/layer1.0/conv1/Conv" and "layer1.0.conv1.weight". */
#include <string.h>

#include "base/base.h"
#include "read/onnx/made_in.h"

#define SCOPE_MOST 32 /* depth of modules */

static int spent(struct onnx_making *m)
{
    m->p->spent = true;
    return -1;
}

/* ---- modules ---- */

/* NULL: memory is spent. */
static struct onnx_module *module_at(struct onnx_making *m, uint32_t place)
{
    while (m->n_modules <= place) {
        if (arena_room(m->p->arena, &m->modules, m->n_modules, &m->modules_room,
                       sizeof *m->modules) < 0) {
            spent(m);
            return NULL;
        }
        m->modules[m->n_modules++] = (struct onnx_module){.above = NO_PLACE};
    }
    return &m->modules[place];
}

/* Records the parent of a module: calls nest like modules. */
static int note_above(struct onnx_making *m, uint32_t place, uint32_t above)
{
    struct onnx_module *module = module_at(m, place);

    if (!module)
        return -1;
    module->above = above;
    module = module_at(m, above);
    if (!module)
        return -1;
    module->holds = true;
    return 0;
}

uint32_t onnx_above(const struct onnx_making *m, uint32_t place)
{
    return place < m->n_modules ? m->modules[place].above : NO_PLACE;
}

uint32_t onnx_descend(struct onnx_making *m, uint32_t at, struct str name, int *depth)
{
    struct str part;

    while (str_split(&name, '.', &part)) {
        uint32_t above = at;

        if (part.len == 0)
            continue;
        if (++*depth > SCOPE_MOST)
            return NO_PLACE;
        at = build_child(m->build, at, PLACE_MODULE, part);
        if (at == NO_PLACE || note_above(m, at, above) < 0)
            return NO_PLACE;
    }
    return at;
}

/* The module of a path: "/layer1/layer1.0/conv1". A part that begins with the previous
 * part and a dot names an item of that container. */
static uint32_t scope_of_path(struct onnx_making *m, uint32_t at, struct str path)
{
    struct str part, before = STR("");
    int depth = 0;

    while (at != NO_PLACE && str_split(&path, '/', &part)) {
        struct str rest = part;

        if (part.len == 0)
            continue;
        if (before.len > 0 && str_starts(part, before) && part.len > before.len + 1 &&
            part.at[before.len] == '.')
            rest = str_from(part, before.len + 1);
        at = onnx_descend(m, at, rest, &depth);
        before = part;
    }
    return at;
}

/* Everything before the last '/'; false: there is none. */
static bool split_path(struct str name, struct str *ret_path, struct str *ret_last)
{
    ptrdiff_t slash = str_find_last_char(name, '/');

    if (slash < 0)
        return false;
    *ret_path = str_head(name, (size_t)slash);
    *ret_last = str_from(name, (size_t)slash + 1);
    return true;
}

/* ---- by the metadata of torch's exporter ---- */

static struct str item_text(const struct onnx_making *m, uint32_t list, uint32_t i)
{
    const struct values *values = &m->build->model->values;

    return value_text(values, value_items(values, list)[i]);
}

static uint32_t list_length(const struct onnx_making *m, uint32_t list)
{
    return list == VALUE_ID_NONE ? 0 : value_at(&m->build->model->values, list)->n;
}

static int set_class(struct onnx_making *m, uint32_t place, struct str name)
{
    struct object *object;
    uint32_t class_id;

    if (name.len == 0)
        return 0;
    class_id = build_class(m->build, name);
    object = class_id == NO_CLASS ? NULL : build_object(m->build, place);
    if (!object)
        return spent(m);
    if (object->class_id == NO_CLASS)
        object->class_id = class_id;
    return 0;
}

/* ['', 'layer1', 'layer1.0', 'relu']: the model, modules with their full names, then
 * the operation. */
static uint32_t scope_of_lists(struct onnx_making *m, const struct onnx_node *node)
{
    uint32_t n = list_length(m, node->scopes), at = m->root;
    bool classes = list_length(m, node->classes) == n;

    for (uint32_t i = 0; i + 1 < n; i++) {
        int depth = 0;

        at = onnx_descend(m, m->root, item_text(m, node->scopes, i), &depth);
        if (at == NO_PLACE ||
            (classes && set_class(m, at, item_text(m, node->classes, i)) < 0))
            return NO_PLACE;
    }
    return at;
}

/* Caches the last lists: adjacent nodes often have the same. */
static uint32_t scope_of(struct onnx_making *m, const struct onnx_node *node)
{
    struct str path, last;
    uint32_t at;

    if (list_length(m, node->scopes) < 2)
        return split_path(onnx_text(m->p, node->name), &path, &last)
                   ? scope_of_path(m, m->root, path)
                   : NO_PLACE;
    if (m->last_scopes == node->scopes)
        return m->last_scope;
    at = scope_of_lists(m, node);
    m->last_scopes = node->scopes;
    m->last_scope = at;
    return at;
}

/* ---- classes, guessed from operations ---- */

/* Is this the main operation of a module, not one that prepares or combines data? */
static bool is_main(struct str name)
{
    static const char others[] =
        " Identity Reshape Transpose Cast Unsqueeze Squeeze Flatten Concat Split Slice "
        "Gather Expand Tile Pad Range ConstantOfShape Where Equal Greater Less Not And "
        "Add Sub Mul Div Pow Sqrt Neg Clip QuantizeLinear DequantizeLinear ";
    size_t length = sizeof others - 1;

    for (size_t at = 0; at + name.len + 1 < length; at++)
        if (others[at] == ' ' && memcmp(others + at + 1, name.at, name.len) == 0 &&
            others[at + 1 + name.len] == ' ')
            return false;
    return true;
}

static int note_op(struct onnx_making *m, const struct onnx_node *node)
{
    struct str name = onnx_text(m->p, node->op_type);
    struct onnx_module *module;

    if (node->scope == NO_PLACE || node->scope == m->root || name.len == 0 ||
        str_is(name, "Constant") || str_is(name, "Shape"))
        return 0;
    module = module_at(m, node->scope);
    if (!module)
        return -1;
    module->any = node->op_type;
    module->n_any++;
    if (is_main(name)) {
        module->main_op = node->op_type;
        module->n_main++;
    }
    return 0;
}

/* Guesses the class of a leaf module that has one main operation. */
static int guess_classes(struct onnx_making *m)
{
    for (uint32_t i = 0; i < m->n_modules; i++) {
        const struct onnx_module *module = &m->modules[i];
        uint32_t op = module->n_main == 1                         ? module->main_op
                      : module->n_main == 0 && module->n_any == 1 ? module->any
                                                                  : 0;
        struct object *object;
        uint32_t class_id;

        if (op == 0 || module->holds || module->weight)
            continue;
        class_id = build_class(m->build, onnx_text(m->p, op));
        object = class_id == NO_CLASS ? NULL : build_object(m->build, i);
        if (!object)
            return spent(m);
        if (object->class_id != NO_CLASS)
            continue;
        object->class_id = class_id;
        object->guessed = true;
    }
    return 0;
}

/* ---- initialisers ---- */

/* The same in this graph only. */
static uint32_t find_in_graph(const struct onnx_making *m, uint32_t graph,
                              uint32_t name)
{
    uint32_t tensor;

    if (graph == 0)
        return name < m->n_by_name ? m->by_name[name] - 1 : ONNX_NONE;
    return map_find(&m->initialisers, (uint64_t)graph << 32 | name, &tensor)
               ? tensor
               : ONNX_NONE;
}

uint32_t onnx_initialiser(const struct onnx_making *m, uint32_t graph, uint32_t name)
{
    for (;;) {
        uint32_t tensor = find_in_graph(m, graph, name);
        uint32_t owner = m->p->graphs[graph].owner;

        if (tensor != ONNX_NONE || owner == ONNX_NONE)
            return tensor;
        graph = m->p->nodes[owner].graph;
    }
}

/* The name of a tensor in its graph; for a Constant the name of its output; 0: none. */
static uint32_t name_in_graph(const struct onnx_making *m, const struct onnx_tensor *t,
                              uint32_t *ret_graph)
{
    const struct onnx_node *node;

    *ret_graph = t->owner;
    if (t->initialiser)
        return t->name;
    if (t->owner == ONNX_NONE)
        return 0;
    node = &m->p->nodes[t->owner];
    *ret_graph = node->graph;
    return node->outputs.n > 0 && str_is(onnx_text(m->p, node->op_type), "Constant")
               ? m->p->names[node->outputs.first].name
               : 0;
}

static int index_initialisers(struct onnx_making *m)
{
    m->n_by_name = m->build->model->strings.n;
    m->by_name = arena_array(m->p->arena, m->n_by_name, sizeof *m->by_name);
    if (!m->by_name)
        return spent(m);
    for (uint32_t i = 0; i < m->p->n_tensors; i++) {
        uint32_t graph, name = name_in_graph(m, &m->p->tensors[i], &graph);

        if (name == 0)
            continue;
        if (graph == 0)
            m->by_name[name] = i + 1;
        else if (map_put(&m->initialisers, (uint64_t)graph << 32 | name, i) < 0)
            return spent(m);
    }
    return 0;
}

/* "local::Scale", for the tensors of a function. */
static uint32_t group_of_function(struct onnx_making *m, uint32_t function)
{
    const struct onnx_function *f = &m->p->functions[function];
    struct buf name = BUF_INIT;
    uint32_t at;

    buf_str(&name, onnx_text(m->p, f->domain));
    buf_text(&name, "::");
    buf_str(&name, onnx_text(m->p, f->name));
    at = build_child(m->build, m->root, PLACE_MODULE, buf_span(&name));
    buf_release(&name);
    return at;
}

/* "If_0.else_branch", for the tensors of a subgraph. */
static uint32_t group_of_subgraph(struct onnx_making *m, const struct onnx_graph *g)
{
    const struct onnx_node *owner = &m->p->nodes[g->owner];
    struct str name = onnx_text(m->p, owner->name), path;
    uint32_t at = owner->scope != NO_PLACE ? owner->scope : m->root;

    split_path(name, &path, &name);
    if (name.len == 0)
        name = onnx_text(m->p, owner->op_type);
    /* Enclosing graphs have smaller indexes, so that their groups exist already. */
    if (m->p->graphs[owner->graph].group != NO_PLACE)
        at = m->p->graphs[owner->graph].group;
    at = build_child(m->build, at, PLACE_MODULE, name);
    return at == NO_PLACE
               ? at
               : build_child(m->build, at, PLACE_MODULE, onnx_text(m->p, g->attr));
}

/* Subgraphs and functions may have tensors of the same name as other graphs: those of
 * the later ones are in a module of their own. */
static uint32_t group_of(struct onnx_making *m, uint32_t graph)
{
    struct onnx_graph *g = &m->p->graphs[graph];

    if (g->owner == ONNX_NONE && g->function == ONNX_NONE)
        return m->root;
    if (g->group == NO_PLACE)
        g->group = g->function != ONNX_NONE ? group_of_function(m, g->function)
                                            : group_of_subgraph(m, g);
    return g->group;
}

/* The parent for a tensor of a graph with this name. */
static uint32_t base_of(struct onnx_making *m, uint32_t graph, uint32_t name)
{
    uint32_t owner;

    if (graph == 0)
        return m->root;
    if (find_in_graph(m, 0, name) != ONNX_NONE)
        return group_of(m, graph);
    if (!map_find(&m->taken, name, &owner)) {
        if (map_put(&m->taken, name, graph) < 0)
            return NO_PLACE;
        return m->root;
    }
    return owner == graph ? m->root : group_of(m, graph);
}

static bool same_but_dots(struct str a, struct str b)
{
    size_t i = 0, k = 0;

    for (;;) {
        while (i < a.len && a.at[i] == '.')
            i++;
        while (k < b.len && b.at[k] == '.')
            k++;
        if (i == a.len || k == b.len)
            return i == a.len && k == b.len;
        if (a.at[i++] != b.at[k++])
            return false;
    }
}

/* The module of a dotted name. If it differs from the module of the nodes that read the
 * tensor only in dots, it is that module: inlining a graph adds a prefix with dots. */
static uint32_t dotted_scope(struct onnx_making *m, uint32_t at, uint32_t scope,
                             struct str name, struct str *ret_last)
{
    ptrdiff_t dot = str_find_last_char(name, '.');
    struct buf path = BUF_INIT;
    bool same = false;

    if (scope != NO_PLACE && scope != m->root && at == m->root) {
        build_path(m->build, scope, &path);
        same = same_but_dots(buf_span(&path), str_head(name, (size_t)dot));
        buf_release(&path);
    }
    if (!same)
        return build_dotted(m->build, at, name, ret_last);
    *ret_last = str_from(name, (size_t)dot + 1);
    return scope;
}

/* Makes the tensor at its place below `at`, the group of its graph. `scope` is the
 * module of the nodes that read it. */
static int place_tensor_at(struct onnx_making *m, uint32_t i, uint32_t at,
                           uint32_t scope, struct str name)
{
    struct str path, last = name;
    bool again;
    uint32_t node;

    if (split_path(name, &path, &last))
        at = scope_of_path(m, at, path);
    else if (str_find_char(name, '.') >= 0)
        at = dotted_scope(m, at, scope, name, &last);
    else if (at == m->root && scope != NO_PLACE)
        at = scope;
    if (at == NO_PLACE)
        at = m->root;
    if (str_is(last, "weight") && at < m->n_modules)
        m->modules[at].weight = true;
    node = build_leaf(m->build, at, PLACE_TENSOR, last, &again);
    if (node == NO_PLACE)
        return spent(m);
    if (again)
        build_finding(m->build, FINDING_DUPLICATE, SEVERITY_ALARM, node,
                      "two tensors are named %.*s; programs disagree on which one they "
                      "use",
                      STR_ARG(name))
            ->named = true;
    return onnx_tensor_make(m, i, node) < 0 ? spent(m) : 0;
}

static int place_initialisers(struct onnx_making *m)
{
    struct onnx_parsed *p = m->p;
    uint32_t at;

    for (uint32_t i = 0; i < p->n_tensors; i++) {
        const struct onnx_tensor *t = &p->tensors[i];

        if (!t->initialiser)
            continue;
        at = base_of(m, t->owner, t->name);
        if (at == NO_PLACE ||
            place_tensor_at(m, i, at, t->scope, onnx_text(p, t->name)) < 0)
            return spent(m);
        if (!work_step(m->build->work, 0))
            return 0;
    }
    return 0;
}

/* Tensors of attributes: large ones of Constant get a place, named like the output. */
static int place_attributes(struct onnx_making *m)
{
    struct onnx_parsed *p = m->p;

    for (uint32_t i = 0; i < p->n_tensors; i++) {
        struct onnx_tensor *t = &p->tensors[i];
        uint64_t count = onnx_tensor_count(p, t);
        uint32_t at, graph, name;

        if (t->initialiser || t->owner == ONNX_NONE)
            continue;
        name = name_in_graph(m, t, &graph);
        if (name == 0 || count == UINT64_MAX || count <= ONNX_SMALL) {
            if (onnx_tensor_make(m, i, NO_PLACE) < 0)
                return spent(m);
            continue;
        }
        t->name = name;
        at = base_of(m, graph, name);
        if (at == NO_PLACE ||
            place_tensor_at(m, i, at,
                            t->scope == NO_PLACE ? p->nodes[t->owner].scope : t->scope,
                            onnx_text(p, name)) < 0)
            return spent(m);
    }
    return 0;
}

/* ---- all places ---- */

static int place_nodes(struct onnx_making *m)
{
    struct onnx_parsed *p = m->p;

    for (uint32_t i = 0; i < p->n_nodes; i++) {
        p->nodes[i].scope = scope_of(m, &p->nodes[i]);
        if (build_spent(m->build) || note_op(m, &p->nodes[i]) < 0)
            return spent(m);
        if (!work_step(m->build->work, 0))
            return 0;
    }
    return 0;
}

int onnx_names(struct onnx_making *m)
{
    build_set_kind(m->build, m->root, PLACE_MODULE);
    if (index_initialisers(m) < 0 || place_nodes(m) < 0)
        return -1;
    onnx_use_tensors(m);
    if (!m->input->inner && !m->input->shard)
        input_share_scratch(m->build, m->p->n_tensors);
    build_reserve(m->build, m->p->n_tensors);
    if (place_initialisers(m) < 0)
        return -1;
    return place_attributes(m) < 0 ? -1 : guess_classes(m);
}
