/* diff.h - how two models differ, as data: commands, JSON and the terminal show it.
 *
 *   diff.h         the result; diff_make()
 *   diff_align.c   which prefixes to remove; which names are equal
 *   diff_match.c   what was moved or renamed: by content, by module, then by shape
 *   diff_moved.c   blocks that moved within their list
 *   diff_join.c    tensors that were fused or split
 *   diff_gguf.c    a model and its GGUF; gguf_names.h has the names
 *   diff_values.c  the values of matched tensors
 *   diff_tree.c    one tree of both models, with sums
 *   diff_parts.c   what happened to which part
 *   diff_facts.c   plain values, classes, metadata
 *   diff_code.c    code stored in the files
 *   diff_rules.c   renamed keys as rules (rename.h finds them)
 *   rename.h       rules that turn some names into others
 *
 * "Left" is the old model, "right" the new one. Nothing here writes text. */
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
    DIFF_CLOSE,    /* not equal, but within the tolerance */
    DIFF_CHANGED,  /* some value differs */
    DIFF_RETYPED,  /* another dtype; values were compared too */
    DIFF_RESHAPED, /* another shape, or transposed */
    DIFF_LEFT,     /* only in the left model */
    DIFF_RIGHT,    /* only in the right model */
    DIFF_JOINED,   /* part of a tensor of the other side, or fused from several */
    DIFF_UNREAD,   /* same shape and dtype; values not compared: see `why`; NULL: not
                      asked for (--structure) */
    DIFF_STATE_COUNT
};

enum diff_flag {
    DIFF_RENAMED = 1,    /* names differ after removing prefixes */
    DIFF_BY_CONTENT = 2, /* matched because the values are equal */
    DIFF_TRANSPOSED = 4,
    DIFF_UNTIED = 8,  /* tied to another tensor on the left only */
    DIFF_TIED = 16,   /* tied to another tensor on the right only */
    DIFF_BUFFER = 32, /* a buffer, on the left if it exists there */
    DIFF_OTHER = 64,  /* neither parameter nor buffer: optimizer state, plain tensor */
    DIFF_INTEGER = 128, /* integers, possibly a counter */
    DIFF_ALIAS = 256,   /* another name, through a shared module, of a paired tensor */
    DIFF_BESIDE = 512,  /* only on one side because the conversion to GGUF adds it or
                           leaves it out */
};

/* A tensor on both sides, or on one. */
struct diff_pair {
    uint32_t left, right;     /* places, or NO_PLACE */
    uint8_t state;            /* enum diff_state */
    uint16_t flags;           /* enum diff_flag */
    uint32_t join;            /* DIFF_JOINED: index in joins; else DIFF_NONE */
    const char *why;          /* DIFF_UNREAD */
    struct compare_edit edit; /* done to one side before comparing */
    struct compared by;       /* if values were compared; DIFF_JOINED: of a stack */
};

/* Several tensors on one side that are one on the other, along dimension `dim`. */
struct diff_join {
    bool fused;           /* the whole is on the right; else it was split */
    bool stacked;         /* along a new dimension 0: experts in a GGUF */
    uint32_t one;         /* place of the whole, on its side */
    const uint32_t *many; /* n places on the other side, in order */
    uint32_t n;
    uint8_t dim; /* 0 or 1 */
};

/* Other differences. */
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
    struct str code[2]; /* DIFF_CODE: the first different line on each side; both empty:
                           only code that it calls differs */
};

struct diff_sums {
    uint32_t tensors;                  /* pairs at and below */
    uint32_t states[DIFF_STATE_COUNT]; /* pairs by state */
    uint32_t renamed;
    uint32_t buffers, buffers_differ; /* differ: neither same nor close nor unread */
    uint32_t params, params_differ;
    uint32_t unrelated;               /* parameters with unrelated values */
    struct compared params_by;        /* merged over the parameters that changed */
    struct compared rest_by;          /* over other changed tensors, without counters */
    double max_abs;                   /* over all changed tensors */
    uint32_t max_pair;                /* the pair with max_abs, or DIFF_NONE */
    uint32_t others[DIFF_FACT_KINDS]; /* other differences by kind, at and below */
};

/* One tree of both models, in pre-order like places: the first child of node n is n + 1,
 * its next sibling `end`. Renamed tensors are where the right model has them. */
struct diff_node {
    uint32_t parent, end;
    struct str name;
    uint32_t left, right; /* places, or NO_PLACE */
    uint32_t pair;        /* of a tensor; else DIFF_NONE */
    struct diff_sums sums;
};

/* What happened to a part of the model. The parts cover all tensors with as few nodes as
 * possible (layer1 instead of its blocks, if these share a fate). */
enum diff_fate {
    FATE_SAME,      /* all equal (shape and dtype, if values were not compared) */
    FATE_BUFFERS,   /* equal parameters, some buffers differ */
    FATE_TRAINED,   /* parameters differ, shapes and dtypes do not */
    FATE_RETYPED,   /* another dtype, only rounded */
    FATE_REPLACED,  /* other shapes */
    FATE_ADDED,     /* only on the right */
    FATE_REMOVED,   /* only on the left */
    FATE_RENAMED,   /* equal or trained, some renamed */
    FATE_JOINED,    /* some fused or split, the rest equal or renamed */
    FATE_MIXED,     /* several of these, or unknown: some could not be read */
    FATE_UNRELATED, /* as FATE_TRAINED, but see compared_unrelated() */
};
struct diff_part {
    uint32_t node;
    enum diff_fate fate;
};

/* Why the left model's keys do not load into the right model. */
struct diff_load {
    uint32_t missing, unexpected; /* keys only on the right; only on the left */
    uint32_t reshaped;
    uint32_t packed; /* quantised, or packed into one value, on one side only */
};

struct diff {
    const struct model *left, *right;
    struct str left_prefix, right_prefix; /* removed from names: "module."; "" */
    bool values;                          /* values were compared */
    bool gguf, gguf_left;    /* one is a GGUF, the other is not; it is the left one */
    bool complete;           /* false: stopped before the end */
    struct diff_pair *pairs; /* in the right model's order; left-only tensors beside
                                their neighbours */
    uint32_t n_pairs;
    struct diff_join *joins;
    uint32_t n_joins;
    struct diff_other *others;
    uint32_t n_others;
    struct diff_node *nodes; /* the root is 0 */
    uint32_t n_nodes;
    struct diff_part *parts;
    uint32_t n_parts;
    struct rename_rules rules; /* left names to right names, prefixes included; empty:
                                  nothing was renamed. Full names, or relative to the
                                  state_dict if both sides have one */
    struct diff_sums total;    /* of the root */
    bool loads; /* rules and joins give all keys of the right model in its shapes */
    struct diff_load load; /* why not */
};

struct diff_wanted {
    bool values;
    struct tolerance tolerance;
    /* Two recordings (session/pair.h): do not compare results; how far they may be
     * apart, 0: by dtype (study/diverge/divergence.h). */
    bool no_results;
    double distance;
};

/* Compare two models; the diff is in the arena. A cancelled call fails with
 * ERR_CANCELLED and leaves a valid diff: `complete` is false, tensors not reached are
 * DIFF_UNREAD. `work` counts bytes. */
int diff_make(struct diff *diff, const struct model *left, const struct model *right,
              const struct diff_wanted *wanted, struct arena *arena, struct work *work,
              struct err *err);

/* Are the values of both sides unrelated (and enough to decide)? */
bool diff_unrelated(const struct diff_pair *pair);

/* The type in blocks (q4_K) that a pair has on one side only, whose numbers are those of
 * the other rounded; or DTYPE_UNKNOWN. */
enum dtype diff_quantised(const struct diff *diff, const struct diff_pair *pair);
/* The tensor in whose order pair->by counts elements, and its model. */
const struct tensor *diff_indexed(const struct diff *diff, const struct diff_pair *pair,
                                  const struct model **ret_model);
/* sqrt of the mean square of the differences; 0 if nothing differs. */
double diff_rms(const struct compared *by);

/* Is every tensor same or close, and nothing else different? */
bool diff_equal(const struct diff *diff);

const char *diff_state_name(enum diff_state state);   /* "same", "only_left", ... */
const char *diff_fate_name(enum diff_fate fate);      /* "trained", ... */
const char *diff_fact_name(enum diff_fact_kind kind); /* "value", "code", ... */
/* The difference of the changed parameters, or if none changed, of other tensors without
 * counters. NULL if none of these changed. */
const struct compared *diff_apart(const struct diff_sums *sums);
/* Other differences of all kinds. */
uint32_t diff_count_others(const struct diff_sums *sums);
/* Tensors that are neither same nor close. DIFF_UNREAD counts as different only if
 * values were to be compared. */
uint32_t diff_count_different(const struct diff *diff, const struct diff_sums *sums);
/* Did values change, and is every different tensor a buffer? */
bool diff_buffers_only(const struct diff *diff, const struct diff_sums *sums);

/* The name of a place of the left (or right) model, without the prefix. */
void diff_name(const struct diff *diff, bool right, uint32_t place, struct buf *to);

#endif
