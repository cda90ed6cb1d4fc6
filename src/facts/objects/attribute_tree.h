/* attribute_tree.h - the attributes of an object, as a tree that is loaded level by
 * level: from the live object at a place, or from the values in a file. */
#ifndef FACTS_OBJECTS_ATTRIBUTE_TREE_H
#define FACTS_OBJECTS_ATTRIBUTE_TREE_H

#include "base/arena.h"
#include "rows/show.h"

#define ATTRIBUTES_STEP 50u /* items of a long list shown at once */
#define NO_VALUE        UINT32_MAX

struct attribute_node {
    struct attribute_node *parent, *first, *next;
    struct str name, text; /* escaped; the name may be "" */
    uint32_t handle;       /* of a live attribute, or NO_ATTRIBUTE */
    uint32_t value;        /* of a value in a file, or NO_VALUE */
    uint32_t place;        /* its place in the model's tree, or NO_PLACE */
    uint32_t most;         /* how many children are shown */
    uint8_t flags;         /* enum attribute_flag */
    bool folds;            /* has children */
    bool open, loaded;
};

struct attribute_tree {
    struct arena arena;
    const struct model *model;
    uint32_t place; /* the object's place */
    struct attribute_node *root;
    uint64_t *opened; /* hashes of the open paths, for any object */
    uint32_t n_opened, opened_room;
};

/* Start with the root of a place, open. Paths that were open before are opened again,
 * but no user code runs by itself. */
int attribute_tree_begin(struct attribute_tree *tree, const struct show *show,
                         uint32_t place, struct err *err);
void attribute_tree_release(struct attribute_tree *tree);

/* Load the children of a node and open it. */
int attribute_open(struct attribute_tree *tree, struct attribute_node *node,
                   struct err *err);
void attribute_close(struct attribute_tree *tree, struct attribute_node *node);

/* Why the object at a place has no attributes to show. */
const char *attribute_why_none(const struct model *model, uint32_t place);

#endif
