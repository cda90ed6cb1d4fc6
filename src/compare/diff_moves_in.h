/* diff_moves_in.h - how to convert a state_dict of the left model so that the right one
 * loads it: tensors to rename, join, split, transpose, drop and copy. Names are keys of
 * the state_dict. */
#ifndef COMPARE_DIFF_MOVES_IN_H
#define COMPARE_DIFF_MOVES_IN_H

#include "rows/name_runs.h"
#include "study/diff/diff.h"

struct diff_moves {
    const struct diff *diff;
    struct arena *arena; /* borrowed */
    uint32_t roots[2];   /* of the state_dicts, left and right */
    bool whole[2];       /* the root is a state_dict: all tensors below belong to it */
    struct rename_rules rules; /* that turn left names into right ones */
    bool renames;              /* some name changes */
    struct rename_pair *names; /* tensors on both sides: (left, right) */
    uint32_t n_names;
    struct name_tuple *joins;     /* (one, many ...), in the order of diff->joins */
    struct name_tuple *transpose; /* right names */
    struct name_tuple *edits;     /* right names of tensors whose values change */
    uint32_t *edited;             /* their pairs, in the same order */
    uint32_t n_edits;
    struct name_tuple *drop; /* left names that the right side lacks */
    struct name_tuple *copy; /* (right name, another right name of the tensor) */
    uint32_t n_joins, n_transpose, n_drop, n_copy;
    struct str *missing; /* right names without a source */
    uint32_t n_missing;
    uint32_t *reshaped; /* pairs whose shapes do not fit */
    uint32_t n_reshaped;
};

/* Allocates in the arena; -1 if that is spent. */
int diff_moves_find(struct diff_moves *moves, const struct diff *diff,
                    struct arena *arena);

/* The inside of a Python string literal; `braces`: doubled, for an f-string. */
void diff_python_text(struct buf *to, struct str s, bool braces);
/* The lines that rename all of `state`, and whether they need the module re. */
void diff_python_rename(struct buf *to, const struct diff_moves *moves);
bool diff_python_needs_re(const struct diff_moves *moves);

#endif
