#include "facts/objects/attribute_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "rows/value_text.h"
#include "text/text.h"

#define TREE_MEMORY (256 * MIB)
#define SHORT_TEXT  40  /* lists up to this many bytes are shown on one line */
#define LONG_TEXT   200 /* longer values are cut */

/* ---- open nodes ---- */

static uint64_t path_hash(const struct attribute_node *node)
{
    return node->parent ? hash_mix(path_hash(node->parent), str_hash(node->name)) : 1;
}

static void remember(struct attribute_tree *tree, const struct attribute_node *node,
                     bool open)
{
    uint64_t hash = path_hash(node);
    uint64_t *grown;

    for (uint32_t i = 0; i < tree->n_opened; i++)
        if (tree->opened[i] == hash) {
            if (!open)
                tree->opened[i] = tree->opened[--tree->n_opened];
            return;
        }
    /* Reading a property runs user code, so only the user does it, each time. */
    if (!open || node->flags & ATTRIBUTE_PROPERTY)
        return;
    if (tree->n_opened == tree->opened_room) {
        uint32_t room = tree->opened_room ? 2 * tree->opened_room : 16;

        grown = realloc(tree->opened, room * sizeof *grown);
        if (!grown)
            return;
        tree->opened = grown;
        tree->opened_room = room;
    }
    tree->opened[tree->n_opened++] = hash;
}

static bool was_open(const struct attribute_tree *tree,
                     const struct attribute_node *node)
{
    uint64_t hash = path_hash(node);

    for (uint32_t i = 0; i < tree->n_opened; i++)
        if (tree->opened[i] == hash)
            return true;
    return false;
}

/* ---- nodes ---- */

static struct attribute_node *new_node(struct attribute_tree *tree,
                                       struct attribute_node *parent,
                                       struct attribute_node ***tail)
{
    struct attribute_node *node = arena_alloc(&tree->arena, sizeof *node);

    if (!node)
        return NULL;
    *node = (struct attribute_node){.parent = parent,
                                    .handle = NO_ATTRIBUTE,
                                    .value = NO_VALUE,
                                    .place = NO_PLACE,
                                    .most = ATTRIBUTES_STEP};
    if (tail) {
        **tail = node;
        *tail = &node->next;
    }
    return node;
}

static struct str keep(struct attribute_tree *tree, struct buf *text)
{
    struct str kept = arena_str(&tree->arena, buf_span(text));

    buf_release(text);
    return kept;
}

static struct str escaped(struct attribute_tree *tree, struct str raw)
{
    struct buf text = BUF_INIT;

    escape_terminal(&text, raw);
    return keep(tree, &text);
}

/* ---- values of a file ---- */

static bool is_paired(enum value_kind kind)
{
    return kind == VALUE_DICT || kind == VALUE_OBJECT;
}

static bool has_items(const struct value *value)
{
    switch ((enum value_kind)value->kind) {
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_SET:
    case VALUE_DICT:
    case VALUE_OBJECT:
    case VALUE_CALL:
        return value->n > 0;
    default:
        return false;
    }
}

/* "dict with 8 keys", "list with 1 item"; short ones are written out. */
static void value_summary(struct buf *to, const struct model *model, uint32_t id,
                          bool *ret_folds)
{
    static const char *const names[] = {
        [VALUE_LIST] = "list", [VALUE_TUPLE] = "tuple", [VALUE_SET] = "set"};
    const struct value *value = value_at(&model->values, id);
    size_t begin = to->len;

    *ret_folds = false;
    value_show(to, model, id, LONG_TEXT);
    if (!has_items(value) || to->len - begin <= SHORT_TEXT)
        return;
    *ret_folds = true;
    to->len = begin;
    if (value->kind == VALUE_DICT) {
        buf_text(to, "dict with ");
        text_plural(to, value->n / 2, "key", "keys");
    } else if (value->kind == VALUE_OBJECT || value->kind == VALUE_CALL) {
        escape_terminal(to, value_text(&model->values, id));
        buf_text(to, value->kind == VALUE_OBJECT ? " object" : "(…)");
    } else {
        buf_printf(to, "%s with ", names[value->kind]);
        text_plural(to, value->n, "item", "items");
    }
}

static int add_value(struct attribute_tree *tree, struct attribute_node *parent,
                     struct attribute_node ***tail, struct str name, uint32_t id)
{
    struct attribute_node *node = new_node(tree, parent, tail);
    const struct value *value = value_at(&tree->model->values, id);
    struct buf text = BUF_INIT;

    if (!node)
        return -1;
    node->name = escaped(tree, name);
    node->value = id;
    value_summary(&text, tree->model, id, &node->folds);
    node->text = keep(tree, &text);
    if (value->kind == VALUE_TENSOR && value->integer >= 0 &&
        value->integer < (int64_t)tree->model->n_tensors)
        node->place = tree->model->tensors[value->integer].place;
    return node->text.at ? 0 : -1;
}

static int load_value(struct attribute_tree *tree, struct attribute_node *node,
                      struct attribute_node ***tail, uint32_t id)
{
    const struct values *values = &tree->model->values;
    const struct value *value = value_at(values, id);
    const uint32_t *items = value_items(values, id);
    uint32_t step = is_paired(value->kind) ? 2 : 1;

    for (uint32_t i = 0; has_items(value) && i + step <= value->n; i += step) {
        struct buf name = BUF_INIT;
        int status;

        if (step == 1)
            buf_printf(&name, "%u", i);
        else if (value_at(values, items[i])->kind == VALUE_STR)
            buf_str(&name, value_text(values, items[i]));
        else
            value_show(&name, tree->model, items[i], LONG_TEXT);
        status = add_value(tree, node, tail, buf_span(&name), items[i + step - 1]);
        buf_release(&name);
        if (status < 0)
            return -1;
    }
    return 0;
}

static int add_text(struct attribute_tree *tree, struct attribute_node *parent,
                    struct attribute_node ***tail, const char *name, const char *text)
{
    struct attribute_node *node = new_node(tree, parent, tail);

    if (!node)
        return -1;
    node->name = str_of(name);
    node->text = str_of(text);
    return 0;
}

/* An object from a file: its arguments, then its hidden values. */
static int load_object(struct attribute_tree *tree, const struct object *object)
{
    struct attribute_node **tail = &tree->root->first;

    if (load_value(tree, tree->root, &tail, object->args) < 0)
        return -1;
    if (object->training >= 0 && add_text(tree, tree->root, &tail, "training",
                                          object->training ? "True" : "False") < 0)
        return -1;
    if (object->hooks != VALUE_ID_NONE &&
        add_value(tree, tree->root, &tail, STR("hooks"), object->hooks) < 0)
        return -1;
    return load_value(tree, tree->root, &tail, object->hidden);
}

static int load_tensor(struct attribute_tree *tree, const struct tensor *tensor)
{
    struct attribute_node **tail = &tree->root->first;
    struct buf text = BUF_INIT;
    const char *grad = tensor->flags & TENSOR_GRAD ? "True" : "False";
    struct str kept;

    text_shape(&text, tensor_shape(tree->model, tensor), tensor->rank);
    kept = keep(tree, &text);
    if (add_text(tree, tree->root, &tail, "shape", kept.len ? kept.at : "") < 0 ||
        add_text(tree, tree->root, &tail, "dtype", dtype_name(tensor->dtype)) < 0)
        return -1;
    kept = escaped(tree, tensor_device(tree->model, tensor));
    if (kept.len > 0 && add_text(tree, tree->root, &tail, "device", kept.at) < 0)
        return -1;
    if (tensor->flags & TENSOR_GRAD_KNOWN &&
        add_text(tree, tree->root, &tail, "requires_grad", grad) < 0)
        return -1;
    return load_value(tree, tree->root, &tail, tensor->extra);
}

/* ---- live objects ---- */

static int load_live(struct attribute_tree *tree, struct attribute_node *node,
                     const struct attribute_of *what, struct err *err)
{
    struct attribute_node **tail = &node->first;
    struct attribute *attributes;
    uint32_t n;

    if (source_attributes(tree->model->source, what, &tree->arena, &attributes, &n,
                          err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        struct attribute_node *child = new_node(tree, node, &tail);

        if (!child)
            return arena_err(&tree->arena, "the attributes", err);
        child->name = escaped(tree, attributes[i].name);
        child->text = escaped(tree, attributes[i].text);
        child->handle = attributes[i].handle;
        child->folds = child->handle != NO_ATTRIBUTE;
        child->place = attributes[i].place;
        child->flags = attributes[i].flags;
    }
    return 0;
}

/* ---- the tree ---- */

/* Reopen the paths that were open below another object. */
static void open_again(struct attribute_tree *tree, struct attribute_node *node)
{
    for (struct attribute_node *child = node->first; child; child = child->next)
        if (child->folds && was_open(tree, child) &&
            !(child->flags & (ATTRIBUTE_PROPERTY | ATTRIBUTE_REST)))
            attribute_open(tree, child, NULL);
}

static struct str root_text(struct attribute_tree *tree, const struct show *show)
{
    const struct model *model = tree->model;
    struct str name = class_short(place_class(model, tree->place));

    if (model->kind[tree->place] == PLACE_TENSOR)
        return STR("Tensor");
    if (model->kind[tree->place] == PLACE_VALUE)
        name = place_name(model, tree->place);
    if (name.len == 0)
        name = tree->place == 0 ? show->file_name : place_name(model, tree->place);
    return escaped(tree, name);
}

static int load_root(struct attribute_tree *tree, struct err *err)
{
    const struct model *model = tree->model;
    struct attribute_of what = {.place = tree->place, .attribute = NO_ATTRIBUTE};
    const struct object *object;
    struct attribute_node **tail = &tree->root->first;
    int status = 0;

    if (source_has_attributes(model->source) &&
        (model->kind[tree->place] == PLACE_MODULE ||
         model->kind[tree->place] == PLACE_GROUP))
        return load_live(tree, tree->root, &what, err);
    if (model->kind[tree->place] == PLACE_VALUE) {
        status = load_value(tree, tree->root, &tail, model->object[tree->place]);
    } else if (model->kind[tree->place] == PLACE_TENSOR) {
        status = load_tensor(tree, place_tensor(model, tree->place));
    } else {
        object = place_object(model, tree->place);
        if (object && !object->guessed)
            status = load_object(tree, object);
    }
    return status < 0 ? arena_err(&tree->arena, "the attributes", err) : 0;
}

int attribute_tree_begin(struct attribute_tree *tree, const struct show *show,
                         uint32_t place, struct err *err)
{
    if (tree->model)
        source_forget(tree->model->source);
    arena_release(&tree->arena);
    arena_init(&tree->arena, TREE_MEMORY);
    tree->model = show->model;
    tree->place = place;
    tree->root = new_node(tree, NULL, NULL);
    if (!tree->root)
        return arena_err(&tree->arena, "the attributes", err);
    tree->root->text = root_text(tree, show);
    tree->root->folds = tree->root->open = tree->root->loaded = true;
    if (load_root(tree, err) < 0)
        return -1;
    open_again(tree, tree->root);
    return 0;
}

void attribute_tree_release(struct attribute_tree *tree)
{
    if (tree->model)
        source_forget(tree->model->source);
    arena_release(&tree->arena);
    free(tree->opened);
    *tree = (struct attribute_tree){.place = NO_PLACE};
}

int attribute_open(struct attribute_tree *tree, struct attribute_node *node,
                   struct err *err)
{
    struct attribute_of what = {.place = NO_PLACE, .attribute = node->handle};
    struct attribute_node **tail = &node->first;

    if (!node->loaded) {
        if (node->handle != NO_ATTRIBUTE) {
            if (load_live(tree, node, &what, err) < 0)
                return -1;
        } else if (load_value(tree, node, &tail, node->value) < 0) {
            return arena_err(&tree->arena, "the attributes", err);
        }
        node->loaded = true;
    }
    node->open = true;
    remember(tree, node, true);
    open_again(tree, node);
    return 0;
}

void attribute_close(struct attribute_tree *tree, struct attribute_node *node)
{
    node->open = false;
    remember(tree, node, false);
}

const char *attribute_why_none(const struct model *model, uint32_t place)
{
    const struct object *object;

    if (model->kind[place] == PLACE_VALUE)
        return "a plain value: Details shows all of it";
    object = place_object(model, place);
    if (model->kind[place] == PLACE_GROUP && place_first(model, place) != NO_PLACE)
        return "its content is in the tree";
    if (!object || object->guessed || model->flags[0] & PLACE_STATE_DICT)
        return "not recorded: a state_dict has only tensors";
    return "no attributes except modules and tensors, which are in the tree";
}
