/* Names of tied tensors. A safetensors file stores a tied tensor once;
 * safetensors.torch.save_model() and `torchoscope convert` write its other names into
 * __metadata__: {"lm_head.weight": "wte.weight"}. */
#include "base/base.h"
#include "base/map.h"
#include "read/safetensors_in.h"

struct tie {
    struct str name, kept;
};

struct ties {
    struct build *build;
    uint32_t parent;       /* the node that names are relative to */
    struct name_map names; /* all names that occur in ties */
    uint32_t *nodes;       /* by name: the node of its tensor, or NO_PLACE */
    struct tie *list;
    uint32_t n, room;
};

/* Metadata that may be a tie. */
static int collect(struct ties *t, uint32_t first)
{
    const struct model *model = t->build->model;
    uint32_t index;

    for (uint32_t i = first; i < model->n_metadata; i++) {
        struct tie tie = {.name = model_string(model, model->metadata[i].key),
                          .kept = value_text(&model->values, model->metadata[i].value)};

        if (str_is(tie.name, "format") || tie.name.len == 0 || tie.kept.len == 0)
            continue;
        if (name_map_add(&t->names, tie.name, &index) < 0 ||
            name_map_add(&t->names, tie.kept, &index) < 0 ||
            arena_room(&t->build->scratch, &t->list, t->n, &t->room, sizeof *t->list) <
                0)
            return -1;
        t->list[t->n++] = tie;
    }
    return 0;
}

/* Find the nodes of these names. */
static int find_nodes(struct ties *t, uint32_t first_node)
{
    struct buf above = BUF_INIT, path = BUF_INIT;
    uint32_t index;
    size_t skip;

    t->nodes = arena_array(&t->build->scratch, t->names.n, sizeof *t->nodes);
    if (!t->nodes)
        return -1;
    for (uint32_t i = 0; i < t->names.n; i++)
        t->nodes[i] = NO_PLACE;
    build_path(t->build, t->parent, &above);
    skip = above.len ? above.len + 1 : 0;
    for (uint32_t node = first_node; node < t->build->n_nodes; node++) {
        if (build_tensor_at(t->build, node) == NO_OBJECT)
            continue;
        buf_clear(&path);
        build_path(t->build, node, &path);
        if (path.len >= skip &&
            name_map_find(&t->names, str_from(buf_span(&path), skip), &index))
            t->nodes[index] = node;
    }
    buf_release(&above);
    buf_release(&path);
    return 0;
}

static uint32_t node_of(const struct ties *t, struct str name)
{
    uint32_t index;

    return name_map_find(&t->names, name, &index) ? t->nodes[index] : NO_PLACE;
}

static int add(struct ties *t, const struct tie *tie)
{
    uint32_t kept = node_of(t, tie->kept), parent, node;
    struct str last;
    bool again;

    if (kept == NO_PLACE || node_of(t, tie->name) != NO_PLACE)
        return 0;
    parent = build_dotted(t->build, t->parent, tie->name, &last);
    if (parent == NO_PLACE)
        return -1;
    node = build_leaf(t->build, parent, PLACE_TENSOR, last, &again);
    if (node == NO_PLACE)
        return -1;
    build_tensor_again(t->build, node, build_tensor_at(t->build, kept));
    return 0;
}

int safetensors_ties(struct build *build, uint32_t parent, uint32_t first_node,
                     uint32_t first_metadata)
{
    struct ties t = {.build = build, .parent = parent};

    name_map_init(&t.names, &build->scratch);
    if (collect(&t, first_metadata) < 0)
        return -1;
    if (t.n > 0 && find_nodes(&t, first_node) < 0)
        return -1;
    for (uint32_t i = 0; i < t.n; i++)
        if (add(&t, &t.list[i]) < 0)
            return -1;
    return 0;
}
