/* build_in.h - the nodes of an unfinished model, for build*.c only.
 *
 *   build.c         strings, objects, classes, storages, findings, the pickle log
 *   build_nodes.c   the tree: adding nodes, finding them by name
 *   build_finish.c  freezing
 *   build_guess.c   layers of a state_dict, guessed from names and shapes
 *   build_program.c what the file computes
 *   build_order.c   numbered siblings in the order of their numbers
 *   build_tensor.c  tensors: checks, shapes, ties */
#ifndef MODEL_BUILD_IN_H
#define MODEL_BUILD_IN_H

#include "model/build.h"

/* Nodes are columns of the same length. `parent`, `name` and `object` are already those
 * of the model; its `end` holds the last child of a node until build_finish(). The
 * other columns are in the build's own arena. The children of a node form a ring, in
 * the order of adding: the last one links to the first. */
struct build_node {
    uint8_t kind, flags;
    uint8_t listed;    /* enum listed */
    bool in_table : 1; /* it is in build->by_name */
    bool dotted : 1;   /* its children come from dotted names */
};

/* Which function added the node by name: none, build_child(), build_leaf(). */
enum listed { LISTED_NOT, LISTED_CHILD, LISTED_LEAF };

/* The object of a place, made if it has none; NULL: out of memory. */
struct object *build_object_at(struct model *model, uint32_t place);

/* Guess layers, roles and wrappers of a model whose places are numbered. If memory runs
 * out, the model keeps the guesses made so far. */
void build_guess_layers(struct model *model);

/* Nodes of the program become places. */
void build_program_places(struct build *build, const uint32_t *place_of, uint32_t n);

/* Sorts numbered siblings below dotted names; see build_order.c. */
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
