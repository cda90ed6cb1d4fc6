#include "rows/outline.h"

#include "session/pair.h"

static int copy_nodes(struct outline *outline, struct arena *arena, struct err *err)
{
    uint32_t n = outline->diff->n_nodes;
    uint32_t *parent = arena_array(arena, n, sizeof *parent);
    uint32_t *end = arena_array(arena, n, sizeof *end);

    if (!parent || !end)
        return arena_err(arena, "the tree of both", err);
    for (uint32_t i = 0; i < n; i++) {
        parent[i] = i == 0 ? NO_PLACE : outline->diff->nodes[i].parent;
        end[i] = outline->diff->nodes[i].end;
    }
    outline->n = n;
    outline->parent = parent;
    outline->end = end;
    return 0;
}

int outline_init(struct outline *outline, const struct show *show, struct arena *arena,
                 struct err *err)
{
    *outline = (struct outline){.show = show,
                                .diff = show->pair ? &show->pair->diff : NULL,
                                .n = show->model->n_places,
                                .parent = show->model->parent,
                                .end = show->model->end};
    return outline->diff ? copy_nodes(outline, arena, err) : 0;
}

const struct model *outline_place(const struct outline *outline, uint32_t at,
                                  uint32_t *ret_place)
{
    const struct diff *diff = outline->diff;

    *ret_place = at;
    if (!diff)
        return outline->show->model;
    *ret_place = diff->nodes[at].right;
    if (*ret_place != NO_PLACE)
        return diff->right;
    *ret_place = diff->nodes[at].left;
    return diff->left;
}

enum place_kind outline_kind(const struct outline *outline, uint32_t at)
{
    const struct model *model;
    uint32_t place;

    if (!outline->diff)
        return outline->show->model->kind[at];
    if (outline->diff->nodes[at].pair != DIFF_NONE)
        return PLACE_TENSOR;
    model = outline_place(outline, at, &place);
    return place == NO_PLACE ? PLACE_GROUP : model->kind[place];
}

struct str outline_name(const struct outline *outline, uint32_t at)
{
    if (outline->diff)
        return outline->diff->nodes[at].name;
    return place_name(outline->show->model, at);
}

bool outline_differs(const struct outline *outline, uint32_t at)
{
    const struct diff *diff = outline->diff;
    const struct divergence_sum *results;

    if (!diff)
        return false;
    results = pair_results(outline->show->pair, at);
    return diff_count_different(diff, &diff->nodes[at].sums) > 0 ||
           (results && results->beyond > 0);
}
