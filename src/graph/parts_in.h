/* parts_in.h - what the files of graph/ share: a network as *parts* and links, the form
 * between a front end and the diagram.
 *
 * A front end (from_run.c: recordings; from_program.c: the code in files) enters parts
 * in the order in which they ran, outer ones first, each with a box that says
 * everything about it; and a link for each value that one part without parts inside
 * reads of another. It knows nothing of nets, repeats or what is open. The rest works
 * on parts only:
 *
 *   parts.c          entering parts, links, values, words
 *   from.c           groups, operations, inputs and outputs of a graph of operations
 *   from_box.c       what boxes of calls and tensors say
 *   from_op.c        what boxes of operations say
 *   from_about.c     the title
 *   from_run*.c      recordings: which pass, what is known of it, what it cost
 *   from_program*.c  programs of files: calls, branches, loops
 *   from_nothing.c   why a file has no graph
 *   tree.c           parts become a tree: single children merge
 *   chains.c         chains of views fold
 *   repeats.c        equal siblings in sequence fold
 *   focus.c          only a neighbourhood, or what lies between two places
 *   nets.c           links become nets and ends
 *   net_words.c      what nets and ends say
 *   gradients.c      which part of a gradient comes back along each line
 *   opening.c        which groups are open at first
 *   merge*.c         two networks become one: merge_in.h
 *   changes.c        which groups have changes inside, how many; the title of a diff
 *   diagram.c        all of it, and the names and texts of a diagram
 *   arrange.c        places of a graph that is no network */
#ifndef GRAPH_PARTS_IN_H
#define GRAPH_PARTS_IN_H

#include "base/map.h"
#include "graph/graph.h"

#define PART_NONE UINT32_MAX
#define PART_ROOT 0u

struct graph_part {
    struct diagram_box box;
    uint32_t parent; /* an earlier part; of the root: PART_NONE */
    uint64_t same;   /* equal parts have equal numbers: class and arguments; 0 if the
                        words of the box say it all */
    bool frame;      /* the call that is drawn, if it has a frame: it never merges */
    bool dropped;    /* not part of the diagram any more */
    uint32_t into;   /* dropped, and its links belong to this part; else PART_NONE */

    /* By tree_link(): the parts directly inside, in order. */
    uint32_t first, last, next, n_inside;
};

/* A tensor that goes from one part to another. */
struct part_value {
    struct str shape, dtype;
    uint64_t bytes;
    bool not_finite;
    bool detached;     /* its source does not pass gradients on */
    uint32_t recorded; /* as in an edge of study/op_graph.h; RUN_NONE */
};

struct part_link {
    uint32_t source, target; /* parts without parts inside */
    uint32_t value;
    uint8_t change; /* enum diagram_change */
};

struct parts {
    struct arena *arena;   /* of the diagram: texts, words */
    struct arena *scratch; /* of all else */
    struct graph_part *at;
    uint32_t n, room;
    struct part_link *links; /* of one target in the order in which it reads them */
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
/* A new part, and PART_NONE if the arena is spent. The box begins with what all have in
 * common; the pointer is valid until the next part is entered. */
uint32_t parts_add(struct parts *parts, enum diagram_kind kind, uint32_t parent);
int parts_link(struct parts *parts, uint32_t source, uint32_t target, uint32_t value);
uint32_t parts_value(struct parts *parts, struct part_value value);
/* A copy of a text in the diagram's arena, without what may not be shown raw; very long
 * ones are cut. Empty if the arena is spent. */
struct str parts_text(struct parts *parts, struct str text);
struct str parts_printf(struct parts *parts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends a word to a box. The words of the box move to the end if they must. */
int parts_word(struct parts *parts, uint32_t part, struct str word);
struct str parts_words_at(const struct parts *parts, uint32_t part, uint32_t word);
/* The links by the box of their target, in the order in which they are read; both boxes
 * are without boxes inside. In scratch; NULL: spent. */
struct box_link {
    uint32_t source, target, value;
    uint8_t change; /* enum diagram_change */
};
struct box_link *parts_box_links(const struct parts *parts, uint32_t *ret_n);

/* ---- front ends ---- */

/* What a front end knows about the whole. */
struct parts_about {
    uint32_t place;   /* what is drawn */
    struct str *path; /* its names, from the model's on */
    uint32_t n_path;
    struct str facts, note;
    uint64_t total[DIAGRAM_METRICS];
    uint32_t flops_ops, flops_of;
};
/* The parts of one call of a recording. */
int parts_from_run(struct parts *parts, struct parts_about *about,
                   const struct session *session, const struct graph_wanted *wanted,
                   struct err *err);

/* The parts of one call in the program of a file, which has calls. */
int parts_from_program(struct parts *parts, struct parts_about *about,
                       const struct session *session, const struct graph_wanted *wanted,
                       struct err *err);
/* Fails: says why a file without a program has no graph, and how to get one. */
int parts_from_nothing(const struct session *session, struct err *err);

/* ---- two networks ---- */

/* The parts of both, each with its change. The result is in the form that a front end
 * makes; the parts of the two networks are linked (tree_link()) and otherwise stay. */
int parts_merge(struct parts *parts, struct parts *old, struct parts *new);
/* Once the boxes are numbered: marks groups with changes inside, and counts. */
int changes_apply(struct parts *parts, struct diagram *diagram);
/* The facts and the note of a diff. */
void changes_about(struct parts *parts, struct diagram *diagram,
                   const struct parts_about *old, const struct parts_about *new);

/* ---- shaping ---- */

/* Lists of the parts inside each part, from their parents. */
void tree_link(struct parts *parts);
void tree_append(struct parts *parts, uint32_t group, uint32_t part);
void tree_empty(struct parts *parts, uint32_t group);
/* A module with one operation becomes a part without parts inside; a module with one
 * module inside merges with it. */
int tree_merge(struct parts *parts);
/* Chains of views become groups. */
int tree_chains(struct parts *parts);
/* Says in words what closed containers hold: "4 × Bottleneck". */
int tree_contents(struct parts *parts);
/* Numbers the boxes. */
int tree_number(struct parts *parts);
/* Equal siblings in sequence become groups; the boxes must be numbered, and are numbered
 * again. */
int repeats_fold(struct parts *parts);
/* Drops what a question about a neighbourhood or a path does not ask for. */
int focus_apply(struct parts *parts, const struct session *session,
                const struct graph_wanted *wanted, struct err *err);

/* ---- the diagram ---- */

/* Boxes from parts, once they are numbered. */
int diagram_boxes(struct diagram *diagram, const struct parts *parts);
/* Nets and ends from links. */
int nets_make(struct diagram *diagram, const struct parts *parts);
/* Norms of gradients of nets and ends, from a recording with backward. */
int gradients_fill(struct diagram *diagram, struct arena *scratch, struct err *err);
/* Opens groups and counts what is shown; `frame` is the box of the call that is drawn, or
 * PLAN_NONE. */
int opening_choose(struct diagram *diagram, struct arena *scratch, uint32_t frame);
/* The same for a diff: opens groups with changes inside, then what is new or gone. */
int opening_changes(struct diagram *diagram, struct arena *scratch);

#endif
