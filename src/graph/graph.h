/* graph.h - a network as boxes and lines, for one question: which level (modules,
 * operations), which part of the model, how deep. The answer is a *diagram*: a tree of
 * boxes with their texts, and the nets between them in the form that layout/ arranges.
 * It is the only source of all pictures: SVG, PDF, PNG, HTML, DOT, Mermaid, terminal.
 *
 * Boxes are calls of modules, operations, chains of views, inputs and outputs; in a
 * file that was not run also branches and loops. The boxes inside a module's call are
 * its group. Other groups: equal siblings in sequence (a repeat: "2 × Bottleneck"),
 * chains of views ("4 views"), and in long levels boxes whose names begin alike
 * ("conv2_block1", a module's box without a place). A diagram holds everything below
 * its root, and says which groups are open at first.
 *
 *   graph.h      diagrams and questions
 *   shorten.c    drops the content of closed groups from a diagram
 *   arrange.h    layout of any nested graph
 *   parts_in.h   how a diagram is made: a front end enters parts, the rest shapes them
 *
 * Rules (look.md sections 4 to 6): every call is a box of its own; parameters and their
 * own views belong to the operation that reads them; a module that runs exactly one
 * operation is drawn as that operation's box, under the module's name; a group with a
 * single child merges with it ("head.0"); repeats fold only if class, arguments, shapes
 * and wiring are equal. A repeat of three or more blocks holds the first block and a
 * nested repeat with the others. A container whose only child is a repeat is drawn as
 * that repeat, under the container's name and place. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "layout/layout.h"
#include "run/run.h"
#include "session/session.h"
#include "study/family.h"

enum graph_level { GRAPH_MODULES, GRAPH_OPS };

/* The metric shown in a box's corner and by its heat. */
enum diagram_metric {
    DIAGRAM_PARAMS,
    DIAGRAM_TIME,     /* ns, inclusive, forward */
    DIAGRAM_MEMORY,   /* bytes allocated inside it */
    DIAGRAM_FLOPS,    /* of operations with a known formula */
    DIAGRAM_GRADIENT, /* norm of the gradients of its parameters */
    DIAGRAM_METRICS
};
#define DIAGRAM_FAMILY DIAGRAM_METRICS /* a colouring: by family; values are params */

#define GRAPH_BOXES 40 /* default limit of boxes shown at first */
#define GRAPH_AUTO  UINT32_MAX

struct graph_wanted {
    enum graph_level level;
    uint32_t root;       /* a place in the model; 0: the whole model */
    uint32_t depth;      /* groups are open down to this depth; GRAPH_AUTO: until
                            `boxes` boxes show; a picture closes some if it is too
                            large */
    uint32_t boxes;      /* with GRAPH_AUTO: the limit; 0: GRAPH_BOXES */
    uint32_t focus;      /* a place: show only it and its neighbours; NO_PLACE:
                            everything */
    uint32_t neighbours; /* distance in lines; 0 counts as 1 */
    uint32_t to;         /* a place: show only paths from `focus` to it; NO_PLACE */
    uint32_t pass; /* index of the pass in the recording; GRAPH_AUTO: newest complete */
    uint32_t call; /* draw this call of the recording, from 1; overrides root and pass;
                      0: the newest call of the root in that pass */
    bool all;      /* do not fold repeats, chains of views and similar names */
};
#define GRAPH_WANTED                                                                   \
    {                                                                                  \
        .depth = GRAPH_AUTO, .focus = NO_PLACE, .to = NO_PLACE, .pass = GRAPH_AUTO     \
    }

/* The kind of a box; the value of data-kind in SVG. */
enum diagram_kind {
    DIAGRAM_MODULE, /* a call of a module */
    DIAGRAM_OP,
    DIAGRAM_VIEW,  /* an operation that moves no data, or a chain of them */
    DIAGRAM_INPUT, /* a tensor from outside: an argument of the root, or another
                      tensor */
    DIAGRAM_OUTPUT,
    DIAGRAM_REPEAT,   /* equal siblings in sequence */
    DIAGRAM_CONTROL,  /* in programs: an if, else or loop; a group */
    DIAGRAM_ATTACHED, /* a tensor inside a module, named by attach(); nothing reads
                         it */
    DIAGRAM_KINDS
};
/* Is it a tensor: an input, an output or an attached tensor? */
static inline bool diagram_is_tensor(unsigned kind)
{
    return kind == DIAGRAM_INPUT || kind == DIAGRAM_OUTPUT || kind == DIAGRAM_ATTACHED;
}
const char *diagram_kind_name(enum diagram_kind kind); /* "module" */
const char *diagram_metric_name(
    enum diagram_metric metric); /* "params"; DIAGRAM_FAMILY: "family" */
const char *graph_level_name(enum graph_level level); /* "modules", "ops" */

enum diagram_flag {
    DIAGRAM_SIGN = 1,    /* add or mul of two tensors: a circle; its name is + or × */
    DIAGRAM_MADE = 2,    /* the first NaN or Inf was produced here */
    DIAGRAM_CARRIES = 4, /* its results contain NaN or Inf from elsewhere */
    DIAGRAM_REGION = 8,  /* opaque: compiled, fused, scripted */
    DIAGRAM_TIED = 16,   /* its parameters are counted elsewhere: value in brackets */
    DIAGRAM_SHARED = 32, /* a later call of a module: the value is the word "shared" */
    DIAGRAM_NOT_CALLED = 64,
    DIAGRAM_RAISED = 128,
    DIAGRAM_ALIKE = 256, /* a group of boxes whose names begin or end alike; not a
                            module */
};

/* In a diff: how a box or a line of the new network differs. */
enum diagram_change {
    DIAGRAM_SAME,
    DIAGRAM_ADDED,
    DIAGRAM_REMOVED,
    DIAGRAM_CHANGED, /* in both; class, arguments or results differ, or a group has a
                        change inside */
    DIAGRAM_CHANGES
};
const char *diagram_change_name(enum diagram_change change); /* "added"; "" if same */

struct diagram_box {
    uint8_t kind;   /* enum diagram_kind */
    uint8_t family; /* enum family; FAMILY_NONE: a container */
    uint8_t change; /* enum diagram_change */
    uint16_t flags; /* enum diagram_flag */
    struct str id;  /* unique and stable: "layer1.0.relu", "layer1.0.relu#2" (its second
                       call), "op:57", "in:x", "out:0", "attached:3", "layer1.1…2";
                       removed boxes have the prefix "old:" */
    struct str name; /* within its parent: "conv1", "0", "1…2"; of an operation
                        "addmm" */
    uint32_t words,
        n_words; /* in diagram->words: "Conv2d", "3×3", "64→64", "stride 2"; the last
                    ones are dropped first */
    uint32_t number, n_calls; /* call `number` (from 1) of n_calls; 1 of 1: not shown */
    uint32_t n_same;          /* of a repeat: number of siblings; else 1 */
    uint32_t n_hidden;  /* of a closed group: number of boxes inside that were dropped
                           (diagram_shorten()) */
    uint32_t n_changes; /* of a group: number of differences inside it */
    uint32_t n_ops;     /* operations inside it, including itself */
    uint32_t place;     /* or NO_PLACE */
    uint32_t call;      /* or RUN_NONE */
    uint32_t op;        /* or RUN_NONE; of a chain: the first */
    struct str line;    /* "net.py:41"; or empty */
    double metric[DIAGRAM_METRICS]; /* NAN: unknown */
};

struct diagram_net {
    struct str label; /* the shape, "1×64×56×56", or "3 tensors"; empty: none */
    struct str more; /* for a second line or a tooltip: the shapes of several tensors */
    struct str dtype; /* "float32"; empty if several */
    bool changed;     /* the source changed the shape: the label is strong */
    bool not_finite;  /* it carries NaN or Inf */
    uint32_t n_tensors;
    uint64_t bytes;  /* determines the width of the line */
    double gradient; /* norm of the gradient of its only tensor; NAN: unknown */
};

struct diagram_end {
    struct str label; /* set only if it differs from the net's: one of several
                         results */
    uint8_t change;   /* enum diagram_change, never changed; same if several differ */
    uint32_t value;   /* of a recording: its only tensor, as in an edge of
                         study/op_graph.h; RUN_NONE */
    double gradient;  /* norm of the gradient that flows back from here; NAN */
    double share;  /* its share of the sum of the readers' norms, 0 to 1; NAN: unknown,
                      or the only reader */
    bool detached; /* the value is used further, but its gradient is cut off */
};

struct diagram {
    const struct session *session;
    struct graph_wanted wanted;
    struct plan plan; /* box i of the plan is boxes[i], and so on; box 0 is the root: a
                         group without a frame that holds inputs, the module's boxes and
                         outputs; its call and place are those of the drawn call. The
                         caller sets sizes */
    struct diagram_box *boxes;
    struct diagram_net *nets;
    struct diagram_end *ends;
    struct str *words;
    uint32_t n_words;
    struct str *path; /* of the root: "ResNet-50", "layer1", "0" */
    uint32_t n_path;
    struct str
        facts; /* "Bottleneck · 75.0K parameters · 11 module calls and 1 operation" */
    struct str
        note; /* what is missing: "lines show only what calls returned ..."; may be
                 empty */
    uint32_t n_shown;                /* boxes that show at first, without frames */
    uint64_t total[DIAGRAM_METRICS]; /* of the root; the params are unique ones */
    bool has[DIAGRAM_METRICS];       /* some box has this metric */
    uint32_t flops_ops, flops_of;    /* "8.2G FLOPs by 54 of 175 ops" */

    /* In a diff; `session` and `wanted` are those of the new network. */
    const struct session *old;           /* NULL: a diagram of one network */
    uint32_t n_changes[DIAGRAM_CHANGES]; /* leaf boxes and changed groups, by change */
    uint32_t lines_added, lines_removed; /* between boxes that exist in both */
    struct str old_name, new_name;       /* "net.scope", or the model's class */
};

/* Makes the diagram of a session with a recording, or with a program in its file, in
 * the arena. Other sessions (a state_dict) fail with ERR_UNSUPPORTED and a sentence
 * that says how to get a graph from the model's code. */
int diagram_make(struct diagram *ret_diagram, const struct session *session,
                 const struct graph_wanted *wanted, struct arena *arena,
                 struct err *err);

/* Makes the diagram of a diff: the boxes and lines of both networks. Boxes match by the
 * names of modules and the order of operations (merge_in.h). */
struct diagram_side {
    const struct session *session;
    struct graph_wanted wanted; /* its places belong to this session */
};
int diagram_make_diff(struct diagram *ret_diagram, const struct diagram_side *old,
                      const struct diagram_side *new, struct arena *arena,
                      struct err *err);

/* Drops the content of closed groups, innermost first, until at most `most` boxes are
 * left; the page requests the content of a group when it is opened. Keeps what is open
 * and the groups with the ids `open`; the id "*" means all. */
int diagram_shorten(struct diagram *diagram, uint32_t most, const struct str *open,
                    uint32_t n_open, struct err *err);

/* A metric as text: "25.6M", "1.52ms"; "–" if unknown; in brackets if tied, "shared"
 * for later calls. Appends nothing for a box without parameters. */
void diagram_value(struct buf *to, const struct diagram *diagram, uint32_t box,
                   enum diagram_metric metric);

/* The separator before a box's second and later words: ", " or " ". */
const char *diagram_before_word(const struct diagram *diagram, uint32_t box,
                                uint32_t word);

#endif
