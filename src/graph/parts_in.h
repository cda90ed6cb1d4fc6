/* parts_in.h - what the files of graph/ share: a network as *parts* and links, the form
 * between a front end and the diagram.
 *
 * A front end (from_run.c: recordings; from_program.c: the code in files) enters parts
 * in execution order, outer ones first, each with a complete box; and a link for each
 * value that one leaf part reads from another. It does not deal with nets, repeats or
 * open groups. The other files work on parts only:
 *
 *   parts.c          entering parts, links, values, words
 *   from.c           groups, operations, inputs and outputs of a graph of operations
 *   from_box.c       texts of the boxes of calls and tensors
 *   from_op.c        texts of the boxes of operations
 *   from_about.c     the title
 *   from_run*.c      recordings: choice of pass, boxes, costs
 *   from_program*.c  programs of files: calls, branches, loops
 *   from_nothing.c   why a file has no graph
 *   tree.c           parts become a tree: single children merge
 *   alike*.c         long levels are grouped by the names of their boxes: alike_in.h
 *   chains.c         chains of views fold
 *   repeats.c        equal siblings in sequence fold
 *   focus.c          keeps a neighbourhood, or the paths between two places
 *   nets.c           links become nets and ends
 *   net_words.c      labels of nets and ends
 *   gradients.c      splits gradients among the lines they flow back along
 *   opening.c        which groups are open at first
 *   merge*.c         merges two networks: merge_in.h
 *   changes.c        counts the changes inside groups; the title of a diff
 *   diagram.c        combines all of it; names and texts of a diagram
 *   arrange.c        layout of a graph that is no network */
#ifndef GRAPH_PARTS_IN_H
#define GRAPH_PARTS_IN_H

#include "base/map.h"
#include "graph/graph.h"

#define PART_NONE UINT32_MAX
#define PART_ROOT 0u

struct graph_part {
    struct diagram_box box;
    uint32_t parent; /* an earlier part; of the root: PART_NONE */
    uint64_t same;   /* equal for equal parts: class and arguments; 0 if the words of
                        the box suffice */
    struct str key;  /* of an operation: its own name in the file, or that of its first
                        result; may be empty */
    bool frame;      /* the call that is drawn, if it has a frame: it never merges */
    bool dropped;    /* removed from the diagram */
    uint32_t into;   /* if dropped: the part that takes over its links; else
                        PART_NONE */

    /* By tree_link(): the parts directly inside, in order. */
    uint32_t first, last, next, n_inside;
};

/* A tensor that goes from one part to another. */
struct part_value {
    struct str shape, dtype;
    uint64_t bytes;
    bool not_finite;
    bool detached;     /* its source passes no gradients on */
    uint32_t recorded; /* as in an edge of study/op_graph.h; RUN_NONE */
};

struct part_link {
    uint32_t source, target; /* leaf parts */
    uint32_t value;
    uint8_t change; /* enum diagram_change */
};

struct parts {
    struct arena *arena;   /* of the diagram: texts, words */
    struct arena *scratch; /* for everything else */
    struct graph_part *at;
    uint32_t n, room;
    struct part_link *links; /* links to the same target are in the order of reading */
    uint32_t n_links, links_room;
    struct part_value *values;
    uint32_t n_values, values_room;
    struct str *words;
    uint32_t n_words, words_room;

    /* By tree_number(): boxes in pre-order. */
    uint32_t n_boxes;
    uint32_t *part_of;  /* by box */
    uint32_t *box_of;   /* by part; PART_NONE if dropped */
    uint32_t *end, *up; /* by box: one past the last inside it; the box around it */
};

/* ---- entering (parts.c) ---- */

void parts_init(struct parts *parts, struct arena *arena, struct arena *scratch);
/* Adds a part with a default box. PART_NONE: the arena is spent. Pointers to parts are
 * valid until the next one is added. */
uint32_t parts_add(struct parts *parts, enum diagram_kind kind, uint32_t parent);
int parts_link(struct parts *parts, uint32_t source, uint32_t target, uint32_t value);
uint32_t parts_value(struct parts *parts, struct part_value value);
/* Copies a text to the diagram's arena, escaped and cut to a maximum length. Empty if
 * the arena is spent. */
struct str parts_text(struct parts *parts, struct str text);
struct str parts_printf(struct parts *parts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends a word to a box; moves the box's words to the end of the list if needed. */
int parts_word(struct parts *parts, uint32_t part, struct str word);
struct str parts_words_at(const struct parts *parts, uint32_t part, uint32_t word);
/* The links between leaf boxes, by target box, in the order of reading. In scratch;
 * NULL: spent. */
struct box_link {
    uint32_t source, target, value;
    uint8_t change; /* enum diagram_change */
};
struct box_link *parts_box_links(const struct parts *parts, uint32_t *ret_n);

/* ---- front ends ---- */

/* Facts about the whole diagram, from the front end. */
struct parts_about {
    uint32_t place;   /* the drawn place */
    struct str *path; /* its names, from the model down */
    uint32_t n_path;
    struct str facts, note;
    uint64_t total[DIAGRAM_METRICS];
    uint32_t flops_ops, flops_of;
};
/* The parts of one call of a recording. */
int parts_from_run(struct parts *parts, struct parts_about *about,
                   const struct session *session, const struct graph_wanted *wanted,
                   struct err *err);

/* The parts of one call in a file's program. */
int parts_from_program(struct parts *parts, struct parts_about *about,
                       const struct session *session, const struct graph_wanted *wanted,
                       struct err *err);
/* Always fails: explains why a file without a program has no graph, and how to get
 * one. */
int parts_from_nothing(const struct session *session, struct err *err);

/* ---- two networks ---- */

/* Merges both networks and marks each part's change. The result has the form that a
 * front end produces. The input parts are linked (tree_link()) and otherwise
 * unchanged. */
int parts_merge(struct parts *parts, struct parts *old, struct parts *new);
/* After numbering the boxes: marks groups with changes inside, and counts changes. */
int changes_apply(struct parts *parts, struct diagram *diagram);
/* The facts and the note of a diff. */
void changes_about(struct parts *parts, struct diagram *diagram,
                   const struct parts_about *old, const struct parts_about *new);

/* ---- shaping ---- */

/* Lists of the parts inside each part, from their parents. */
void tree_link(struct parts *parts);
void tree_append(struct parts *parts, uint32_t group, uint32_t part);
void tree_empty(struct parts *parts, uint32_t group);
/* A module with one operation becomes a leaf; a module with one module inside merges
 * with it. */
int tree_merge(struct parts *parts);
/* Adds the content of one container as a word. */
int tree_say_content(struct parts *parts, uint32_t group);
/* The class of a part; of a group by names the word that its name begins with. */
struct str tree_class(const struct parts *parts, uint32_t part);
/* Adds the metrics, operations and alarms of a box to those of a group. */
void tree_add_box(struct diagram_box *group, const struct diagram_box *box);
/* Boxes of long levels become groups by their names. Needs numbered boxes. */
int tree_alike(struct parts *parts);
/* Chains of views become groups. */
int tree_chains(struct parts *parts);
/* Adds the content of closed containers as a word: "4 × Bottleneck". */
int tree_contents(struct parts *parts);
/* Numbers the boxes. */
int tree_number(struct parts *parts);
/* By box: the number of boxes that repeats_fold() would leave directly inside it. In
 * scratch; NULL: spent. */
uint32_t *repeats_count(struct parts *parts);
/* Equal siblings in sequence become groups. Needs numbered boxes and renumbers them. */
int repeats_fold(struct parts *parts);
/* Drops everything outside the wanted neighbourhood or path. */
int focus_apply(struct parts *parts, const struct session *session,
                const struct graph_wanted *wanted, struct err *err);

/* ---- the diagram ---- */

/* Makes boxes from numbered parts. */
int diagram_boxes(struct diagram *diagram, const struct parts *parts);
/* Makes nets and ends from links. */
int nets_make(struct diagram *diagram, const struct parts *parts);
/* Fills in the gradient norms of nets and ends, from a recording with backward. */
int gradients_fill(struct diagram *diagram, struct arena *scratch, struct err *err);
/* Opens groups and counts the boxes shown; `frame` is the box of the drawn call, or
 * PLAN_NONE. */
int opening_choose(struct diagram *diagram, struct arena *scratch, uint32_t frame);
/* The same for a diff: opens groups with changes inside, then added or removed ones. */
int opening_changes(struct diagram *diagram, struct arena *scratch);

#endif
