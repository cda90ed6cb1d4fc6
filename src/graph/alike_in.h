/* alike_in.h - groups the boxes of a long flat level by their names.
 *
 * Many files have no nesting: all 177 layers of Keras' ResNet50 are directly inside the
 * model, and only their names show the blocks: "conv2_block1_1_conv". tree_alike()
 * makes the groups that a person would read from such names: conv2, and block1 inside
 * it.
 *
 *   alike.c          the levels: which ones are long, keys, groups as parts
 *   alike_name.c     names as tokens; keys, also of boxes whose names mean nothing
 *   alike_split.c    the division of a level into groups, and their order
 *
 * A group is a set of siblings through which no path leaves and comes back, so that it
 * can be drawn as one box. The boxes of a group have names that begin alike, or all of
 * a level have names that end alike ("normal_conv_1_0"). */
#ifndef GRAPH_ALIKE_IN_H
#define GRAPH_ALIKE_IN_H

#include "graph/parts_in.h"

#define ALIKE_LEVEL 20 /* a level with more boxes is divided */
#define ALIKE_LEAST 3  /* boxes of a group */

/* A sibling. Siblings are in execution order. */
struct alike_box {
    uint32_t part;
    struct str name; /* in full */
    struct str key;  /* what it is grouped by: its name, or that of a box nearby; empty:
                        it stays alone */
    uint32_t n_tokens; /* how many tokens of the key count */
    uint32_t group;    /* its index; a box on its own is a group too */
    bool nameless;     /* an operation, or its name is its class and a number */
    bool stays;        /* an input or output: never in a group */
};

/* A line between siblings, from an earlier to a later one. */
struct alike_line {
    uint32_t source, target;
};

struct alike_level {
    struct parts *parts;
    uint32_t n, n_lines, n_groups;
    struct alike_box *boxes;
    struct alike_line *lines; /* sorted by target */
    uint32_t lines_room;
    struct str *heads; /* by group: the common part of the names */
    uint32_t *sizes;   /* by group: number of boxes */
    uint32_t *order;   /* the groups in execution order */
    bool tail;         /* grouped by the ends of the names */
    bool has_keys;     /* of the level around it, for which more was known */
};

/* ---- names (alike_name.c) ---- */

/* The first n tokens of a name, or its last n ones. The whole name if it has fewer.
 * Tokens end at separators, and before a letter that follows a digit ("block2a"). At
 * the beginning of a name, a number belongs to the word before it ("block_1"). */
struct str alike_head(struct str name, uint32_t n, bool tail);
/* The longest common beginning (or end) of two names, in whole tokens. */
struct str alike_common(struct str a, struct str b, bool tail);
/* A name inside the group of a head: "conv2_block1" in "conv2" is "block1". Names are
 * only cut at separators: "block2a" in "block2" stays. */
struct str alike_inside(struct str name, struct str head, bool tail);
/* A name without its number: "block_12" and "block12" are "block". */
struct str alike_stem(struct str name);
/* Does a name consist of its class and a number: "conv2d_5" of Conv2D? */
bool alike_is_nameless(struct str name, struct str class_name);

/* ---- keys (alike_name.c) ---- */

/* Sets the keys of all boxes: their names; of nameless ones what the boxes around them
 * suggest. */
int alike_keys(struct alike_level *level);

/* ---- groups (alike_split.c) ---- */

/* Divides a level whose boxes have keys: fills group, n_groups, heads, sizes, order. */
int alike_split(struct alike_level *level);

#endif
