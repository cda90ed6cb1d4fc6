/* build_in.h - the nodes of a model under way, for build*.c only.
 *
 *   build.c         strings, objects, classes, storages, findings, the pickle log
 *   build_nodes.c   the tree: new nodes, and finding by name those that are there
 *   build_finish.c  freezing
 *   build_guess.c   layers of a state_dict, guessed from names and shapes
 *   build_order.c   numbered siblings in the order of their numbers
 *   build_tensor.c  tensors: checks, shapes, ties */
#ifndef MODEL_BUILD_IN_H
#define MODEL_BUILD_IN_H

#include "model/build.h"

/* The nodes of the tree under way are columns of one length. Of these the model has
 * `parent`, `name` and `object` already, which become those of its places, and `end`,
 * which until then says what the last child of a node is; the others are in the
 * build's own memory. Children hang in a ring, in the order they came: the last of them
 * leads to the first. */
struct build_node {
    uint8_t kind, flags;
    uint8_t listed;    /* enum listed */
    bool in_table : 1; /* it stands in build->by_name */
    bool dotted : 1;   /* dotted names led to what stands below it */
};

/* Can a node be found by its name, and by whom? */
enum listed { LISTED_NOT, LISTED_CHILD, LISTED_LEAF };

/* Guess layers, roles and wrappers of a model whose places are numbered. If memory runs
 * out, the model keeps the guesses made so far. */
void build_guess_layers(struct model *model);

/* Put numbered siblings below dotted names in order; build_order.c says which. */
void build_sort_siblings(struct build *build);

/* The first child of a node, or NO_PLACE; the next sibling, or NO_PLACE. */
static inline uint32_t node_first(const struct build *build, uint32_t node)
{
    uint32_t last = build->model->end[node];

    return last == NO_PLACE ? NO_PLACE : build->next[last];
}

static inline uint32_t node_next(const struct build *build, uint32_t node)
{
    uint32_t parent = build->model->parent[node];

    return parent == NO_PLACE || build->model->end[parent] == node ? NO_PLACE
                                                                   : build->next[node];
}

#endif
