/* attribute_tree_in.h - what an object holds, as a tree that is read level by level:
 * from the live object behind a place, or from the values that a file has of it. */
#ifndef EXPLORER_ATTRIBUTE_TREE_IN_H
#define EXPLORER_ATTRIBUTE_TREE_IN_H

#include "base/arena.h"
#include "rows/show.h"

#define ATTRIBUTES_STEP 50u /* of a long list, so many are shown at once */
#define NO_VALUE        UINT32_MAX

struct attribute_node {
    struct attribute_node *parent, *first, *next;
    struct str name, text; /* escaped; a name of "" stands before nothing */
    uint32_t handle;       /* of a live attribute; or NO_ATTRIBUTE */
    uint32_t value;        /* of a file's; or NO_VALUE */
    uint32_t place;        /* where it stands in the tree; or NO_PLACE */
    uint32_t most;         /* of what is below it that are shown */
    uint8_t flags;         /* enum attribute_flag */
    bool folds;            /* something is below it */
    bool open, loaded;
};

struct attribute_tree {
    struct arena arena;
    const struct model *model;
    uint32_t place; /* whose it is */
    struct attribute_node *root;
    uint64_t *opened; /* hashes of the paths that are open, for whatever is shown */
    uint32_t n_opened, opened_room;
};

/* Begin with the root of a place, open. What was unfolded before is unfolded again,
 * where it has the same name; but nothing runs the user's code by itself. */
int attribute_tree_begin(struct attribute_tree *tree, const struct show *show,
                         uint32_t place, struct err *err);
void attribute_tree_release(struct attribute_tree *tree);

/* Read what is below a node, and open it. */
int attribute_open(struct attribute_tree *tree, struct attribute_node *node,
                   struct err *err);
void attribute_close(struct attribute_tree *tree, struct attribute_node *node);

#endif
