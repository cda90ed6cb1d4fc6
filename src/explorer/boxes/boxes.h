/* boxes.h - a diagram (graph/graph.h) as boxes and lines in cells of a terminal.
 *
 *               x 1×64×56×56
 *              ╭──────┴──────╮
 *   ┌──────────▼──────────┐  │
 *   │ conv1  Conv2d 1×1   │  │
 *   │ bn1    BatchNorm2d  │  │
 *   └──────────┬──────────┘  │
 *              │ 1×64×56×56  │
 *             (+)◀───────────╯
 *
 * A chain of modules and operations that feed only one another is one box, with a row
 * for each. Views, inputs and outputs have no frame; sums and products are signs.
 *
 *   take.c    the initially shown part of a diagram, as nodes and links: small even for
 *             large models
 *   fold.c    which groups are closed to save space; chains become boxes
 *   nets.c    links become the nets of a plan, which layout/ arranges
 *   fit.c     texts and sizes in cells; the level of detail depends on the width
 *   paint.c   frames, lines and texts in a grid of cells
 *   print.c   the grid as lines of text, with one node selected
 *   walk.c    moving between nodes by keys and by the mouse */
#ifndef EXPLORER_BOXES_BOXES_H
#define EXPLORER_BOXES_BOXES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "graph/graph.h"
#include "layout/layout.h"
#include "text/lines.h"

#define BOXES_NONE UINT32_MAX
#define BOXES_MOST 400 /* limit of nodes in a drawing */

/* A module, an operation, views, an input or an output. */
struct boxes_node {
    uint32_t parent, end;    /* pre-order; node 0 is the root, which has no frame */
    uint8_t kind;            /* enum diagram_kind */
    uint16_t flags;          /* enum diagram_flag */
    bool open;               /* a group that may be drawn as a frame */
    bool inside;             /* a group, open or not */
    uint32_t place, call;    /* the target of Enter; NO_PLACE, RUN_NONE: none; a call of
                                a recording */
    struct str name;         /* escaped, like all texts here */
    struct str calls;        /* "2/3": the second of three calls; or empty */
    uint32_t words, n_words; /* in graph->words */
    struct str id;           /* "layer1.0.conv2" */
    struct str line;         /* "net.py:41"; or empty */
    struct str facts;        /* "36.9K params, 1.52ms"; or empty */
};

struct boxes_word {
    const char *before; /* ", " or " " */
    struct str text;
};

/* A value made by one node and read by others. */
struct boxes_value {
    uint32_t source;
    struct str label; /* its shape */
    bool changed;     /* the source changed the shape */
    bool not_finite;
    uint32_t n_tensors;
};

struct boxes_link {
    uint32_t value, target;
};

struct boxes_graph {
    struct boxes_node *nodes;
    struct boxes_value *values; /* in the order of their sources */
    struct boxes_link *links;   /* by value */
    struct boxes_word *words;
    uint32_t n_nodes, n_values, n_links, n_words;
    struct str note; /* what the drawing cannot show; or empty */
};

/* Takes the initially shown part of a diagram, without the frame around everything.
 * Fails with ERR_LIMIT and a message if that is more than BOXES_MOST boxes. Borrows
 * nothing. */
int boxes_take(struct boxes_graph *ret_graph, const struct diagram *diagram,
               struct arena *arena, struct err *err);

/* A box of the drawing: box i of its plan. */
struct boxes_box {
    uint32_t group;        /* the node whose name is in its border, or BOXES_NONE */
    uint32_t rows, n_rows; /* in drawing->rows: its nodes. Of a frame: none */
    bool frame;            /* an open group */
    bool bare;             /* without a border: text alone */
    struct str title;      /* in the border; or empty */
    struct str full_title; /* the same with the class, if that fits */
    uint32_t name_cells;   /* names of its rows are padded to this */
};

struct boxes_cell;
struct boxes_text;

struct boxes_drawing {
    const struct boxes_graph *graph; /* borrowed */
    struct plan plan;
    struct boxes_box *boxes;
    uint32_t *rows;     /* nodes */
    uint32_t *box_of;   /* by node: the box that shows it; BOXES_NONE: it is inside a
                           closed group */
    uint32_t *value_of; /* by net */
    struct str *labels; /* by net; or empty */
    uint32_t width, height;
    struct boxes_cell *cells; /* row by row */
    struct boxes_text *texts; /* by row, then by column */
    uint32_t *texts_at;       /* by row, and one more: the first text */
};

struct boxes_wanted {
    uint32_t width; /* available width; boxes show less detail to fit */
    uint32_t most;  /* limit of boxes: groups are opened while there are fewer */
};

/* Arranges the graph, which must outlive the drawing. Fails with ERR_LIMIT if the drawing
 * would be too large. */
int boxes_draw(struct boxes_drawing *ret_drawing, const struct boxes_graph *graph,
               const struct boxes_wanted *wanted, struct arena *arena, struct err *err);

/* All rows of the drawing, `width` cells of each from column `left` on. The selected
 * node has double lines; BOXES_NONE: no selection. */
void boxes_lines(struct lines *to, const struct boxes_drawing *drawing,
                 uint32_t selected, uint32_t left, uint32_t width, bool ascii);
/* The selected node in words, uncut: at most `most` lines. */
void boxes_about(struct lines *to, const struct boxes_drawing *drawing,
                 uint32_t selected, uint32_t width, uint32_t most);

/* --- The selected node */

enum boxes_way { BOXES_UP, BOXES_DOWN, BOXES_LEFT, BOXES_RIGHT };

/* The node where keys start: the first that is not an input. */
uint32_t boxes_first(const struct boxes_drawing *drawing);
uint32_t boxes_last(const struct boxes_drawing *drawing);
/* Up and down follow lines, to the inputs and readers of a node; left and right go to
 * the nearest box beside it. BOXES_NONE: none. */
uint32_t boxes_step(const struct boxes_drawing *drawing, uint32_t node,
                    enum boxes_way way);
/* The node at a cell, or BOXES_NONE. */
uint32_t boxes_at(const struct boxes_drawing *drawing, uint32_t column, uint32_t row);
/* The drawn node of a call or around it; else that of a place; else BOXES_NONE. */
uint32_t boxes_find(const struct boxes_drawing *drawing, uint32_t call, uint32_t place);

/* The position of a node: its row, and the box around it. */
struct boxes_spot {
    uint32_t row;
    uint32_t left, top, right, bottom; /* of the box, the last two excluded */
};
struct boxes_spot boxes_where(const struct boxes_drawing *drawing, uint32_t node);

#endif
