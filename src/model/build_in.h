/* build_in.h - the nodes of a model under way, for build*.c only.
 *
 *   build.c         strings, objects, classes, storages, findings, the pickle log
 *   build_nodes.c   the tree: new nodes, and finding by name those that are there
 *   build_tensor.c  tensors: checks, shapes, ties */
#ifndef MODEL_BUILD_IN_H
#define MODEL_BUILD_IN_H

#include "model/build.h"

/* A node of the tree under way. Children hang in a list, in the order they came. */
struct build_node {
    uint32_t parent, first, last, next;
    uint32_t name, object;
    uint8_t kind, flags;
    uint8_t listed; /* enum listed */
    bool in_table;  /* it stands in build->by_name */
};

/* Can a node be found by its name, and by whom? */
enum listed { LISTED_NOT, LISTED_CHILD, LISTED_LEAF };

#endif
