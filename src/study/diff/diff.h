/* diff.h - how two models differ: facts, from which commands, JSON, the terminal and
 * the page say the same.
 *
 * The tour of these files:
 *   diff.h        what is known of two models; diff_make()
 *   diff_align.c  which prefixes to take off; what has the same name
 *   diff_match.c  what was moved or renamed: by content, by module, then by shape
 *   diff_moved.c  blocks that moved within their list
 *   diff_join.c   what was fused or split
 *   diff_values.c the values of what was matched
 *   diff_tree.c   one tree of both, with sums        diff_parts.c  what happened where
 *   diff_facts.c  plain values, classes, metadata    diff_rules.c  names as rules
 *   diff_code.c   the code that files hold
 *   rename.h      renamed keys as a few rules
 *
 * "Left" is what came first, "right" what it became. Nothing here writes text. */
#ifndef STUDY_DIFF_DIFF_H
#define STUDY_DIFF_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/work.h"
#include "measure/compare.h"
#include "model/model.h"
#include "study/diff/rename.h"

#define DIFF_NONE UINT32_MAX

enum diff_state {
    DIFF_SAME,     /* equal in shape, dtype and every value */
    DIFF_CLOSE,    /* not equal, but within the tolerance asked for */
    DIFF_CHANGED,  /* some value differs */
    DIFF_RETYPED,  /* another dtype; its values were compared as well */
    DIFF_RESHAPED, /* another shape (a transposed one too) */
    DIFF_LEFT,     /* only in the left one */
    DIFF_RIGHT,    /* only in the right one */
    DIFF_JOINED,   /* part of a tensor of the other side, or made of several */
    DIFF_UNREAD,   /* shapes and dtypes agree; values were not or could not be compared;
                      `why` says why, NULL: nobody asked (--structure) */
    DIFF_STATE_COUNT
};

enum diff_flag {
    DIFF_RENAMED = 1,    /* its name differs, once prefixes are taken off */
    DIFF_BY_CONTENT = 2, /* so found, because the values are equal */
    DIFF_TRANSPOSED = 4,
    DIFF_UNTIED = 8,  /* tied to another tensor on the left, by itself on the right */
    DIFF_TIED = 16,   /* the other way round */
    DIFF_BUFFER = 32, /* a buffer (of the left one, if it is there) */
    DIFF_ALIAS = 256, /* another name of a tensor that has a pair: the left one reaches
                         it through a shared module */
    DIFF_INTEGER = 128, /* its values are integers, perhaps a counter */
    DIFF_OTHER = 64, /* neither parameter nor buffer: optimizer state, plain tensors */
};

/* One tensor and what became of it. */
struct diff_pair {
    uint32_t left, right; /* places, or NO_PLACE */
    uint8_t state;        /* enum diff_state */
    uint16_t flags;       /* enum diff_flag */
    uint32_t join;        /* DIFF_JOINED: index in joins; else DIFF_NONE */
    const char *why;      /* of DIFF_UNREAD */
    struct compared by;   /* if values were compared */
};

/* Several tensors on one side that are one on the other: along dimension `dim`. */
struct diff_join {
    bool fused;           /* the one is on the right; else it was split */
    uint32_t one;         /* its place, on its side */
    const uint32_t *many; /* n places on the other side, in order */
    uint32_t n;
    uint8_t dim; /* 0 or 1 */
};

/* What else differs: plain values; arguments, classes and code of modules; metadata. */
enum diff_fact_kind {
    DIFF_VALUE,
    DIFF_ARGS,
    DIFF_CLASS,
    DIFF_METADATA,
    DIFF_CODE,
    DIFF_FACT_KINDS
};
struct diff_other {
    enum diff_fact_kind kind;
    uint32_t left, right; /* places or NO_PLACE; DIFF_METADATA: indices in metadata or
                             DIFF_NONE */
    struct str code[2]; /* DIFF_CODE: the first line that differs, left and right; both
                           empty: only what it calls differs */
};

struct diff_sums {
    uint32_t tensors;                  /* pairs at and below */
    uint32_t states[DIFF_STATE_COUNT]; /* of each state */
    uint32_t renamed;
    uint32_t buffers,
        buffers_differ; /* pairs of buffers; those neither same nor close */
    uint32_t params, params_differ;
    uint32_t unrelated; /* parameters whose values have nothing to do with each other */
    struct compared params_by; /* merged over the parameters that changed */
    struct compared rest_by;   /* over all else that changed and holds no counters */
    double max_abs;            /* over all that changed, buffers too */
    uint32_t max_pair;         /* the pair that has it, or DIFF_NONE */
    uint32_t others[DIFF_FACT_KINDS]; /* other facts of each kind, at and below */
};

/* One tree of both, in pre-order as places are: the first child of node n is n + 1, its
 * next sibling end. What was renamed stands where the right one has it. */
struct diff_node {
    uint32_t parent, end;
    struct str name;
    uint32_t left, right; /* places, or NO_PLACE */
    uint32_t pair;        /* of a tensor, else DIFF_NONE */
    struct diff_sums sums;
};

/* What happened to a part of the model, for the sentence: the nodes are chosen so that
 * together they hold all tensors, and as few as say it all (layer1 and not its blocks,
 * if all of them fared alike). */
enum diff_fate {
    FATE_SAME,      /* all equal (in shape and dtype, if values were not asked for) */
    FATE_BUFFERS,   /* parameters are equal, some buffers differ */
    FATE_TRAINED,   /* parameters differ, shapes and dtypes do not */
    FATE_RETYPED,   /* another dtype, by rounding only */
    FATE_REPLACED,  /* other shapes */
    FATE_ADDED,     /* only on the right */
    FATE_REMOVED,   /* only on the left */
    FATE_RENAMED,   /* equal or trained, some under other names */
    FATE_JOINED,    /* some fused or split, the rest equal or renamed */
    FATE_MIXED,     /* several of these, or not known: some could not be read */
    FATE_UNRELATED, /* as FATE_TRAINED, but the values have nothing to do with each
                       other: see compared_unrelated() */
};
struct diff_part {
    uint32_t node;
    enum diff_fate fate;
};

/* Why the left one's keys do not load where the right one's are expected. */
struct diff_load {
    uint32_t missing, unexpected; /* keys of the right one, of the left one alone */
    uint32_t reshaped;
    uint32_t packed; /* one side is quantised, or packed with others into one value:
                        another name does not make one of the other */
};

struct diff {
    const struct model *left, *right;
    struct str left_prefix, right_prefix; /* taken off: "module."; "" */
    bool values;                          /* were values asked for? */
    bool complete;                        /* false: stopped on the way */
    struct diff_pair *pairs;              /* in the right one's order; what is only on
                                             the left where its neighbours are */
    uint32_t n_pairs;
    struct diff_join *joins;
    uint32_t n_joins;
    struct diff_other *others;
    uint32_t n_others;
    struct diff_node *nodes; /* the root is 0 */
    uint32_t n_nodes;
    struct diff_part *parts;
    uint32_t n_parts;
    struct rename_rules rules; /* turn left names into right ones, prefixes included; no
                                  rules: nothing was renamed. Names are full ones, but
                                  below the state_dict if both have one */
    struct diff_sums total;    /* the root's */
    bool
        loads; /* rules and joins alone give all keys of the right one, in its shapes */
    struct diff_load load; /* if not: why */
};

struct diff_wanted {
    bool values;
    struct tolerance tolerance;
};

/* Compare. All that it holds is in the arena. A cancelled call fails with ERR_CANCELLED
 * and leaves a diff that can be shown: complete is false, what was not reached is
 * DIFF_UNREAD. `work` counts bytes. */
int diff_make(struct diff *diff, const struct model *left, const struct model *right,
              const struct diff_wanted *wanted, struct arena *arena, struct work *work,
              struct err *err);

/* Has this tensor values that have nothing to do with those of the other side? It is
 * large enough to tell. */
bool diff_unrelated(const struct diff_pair *pair);

/* Are they the same: every tensor same or close, and nothing else differs? */
bool diff_equal(const struct diff *diff);

const char *diff_state_name(enum diff_state state);   /* "same", "only_left", ... */
const char *diff_fate_name(enum diff_fate fate);      /* "trained", ... */
const char *diff_fact_name(enum diff_fact_kind kind); /* "value", "code", ... */
/* How far what changed at and below is apart: its parameters, or if none of them
 * changed, the rest without counters. NULL: nothing of these changed. */
const struct compared *diff_apart(const struct diff_sums *sums);
/* All facts of all kinds in these sums. */
uint32_t diff_count_others(const struct diff_sums *sums);

/* The name of a place of the left (or right) model as it is compared: without prefix.
 */
void diff_name(const struct diff *diff, bool right, uint32_t place, struct buf *to);

#endif
