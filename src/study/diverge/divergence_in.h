/* divergence_in.h - shared by the files of divergence.h while two runs are compared. */
#ifndef STUDY_DIVERGE_DIVERGENCE_IN_H
#define STUDY_DIVERGE_DIVERGENCE_IN_H

#include "base/map.h"
#include "study/diverge/divergence.h"

struct diverging {
    struct divergence *divergence;
    const struct run *run[2];
    const struct diff *diff;
    struct arena *arena; /* holds the result */
    struct arena scratch;
    struct work *work;
    uint32_t *place_match[2]; /* by place: the module of the other side, or NO_PLACE */
    bool *renamed;            /* by left place: matched by another name */
    /* Cache of compared elements, by pair of values. */
    struct map known;
    struct divergence_amount *amounts;
    uint32_t n_amounts, amounts_room;
};

/* Fill place_match and call_match; value_match and op_match. -1: an arena is spent. */
int diverging_calls(struct diverging *d);
int diverging_ops(struct diverging *d);
/* List the results to compare. */
int diverging_list(struct diverging *d);
/* Decide for each result beyond the tolerance whether an error begins there. */
int diverging_begins(struct diverging *d);
/* Sum up by place. */
int diverging_sums(struct diverging *d);

/* Do two operations have the same name, ignoring in-place variants? */
bool diverging_same_name(const struct divergence *divergence, uint32_t left,
                         uint32_t right);

/* An array of n items RUN_NONE; NULL: the arena is spent. */
uint32_t *diverging_none(struct arena *arena, size_t n);

/* The difference of two values. Cached in `d`, unless it is NULL. */
struct divergence_amount diverging_compare(struct diverging *d,
                                           const struct divergence *divergence,
                                           struct divergence_value left,
                                           struct divergence_value right);
/* The same from statistics alone. */
struct divergence_amount diverging_statistics(const struct stats *a,
                                              const struct stats *b);
/* The tolerance `asked` for, or else that of the coarsest dtype so far (0: none), at
 * least as large as the rounding of statistics if they are compared. */
double diverging_limit(double asked, double coarse, enum divergence_how how);
/* Does the value have elements or statistics? */
bool diverging_measured(const struct divergence *divergence, int side,
                        struct divergence_value value);

/* The inputs of a result, not compared yet; at most DIVERGING_INPUTS. Composed names
 * are in `arena`. */
#define DIVERGING_INPUTS 64
uint32_t diverging_inputs(const struct divergence *divergence,
                          const struct divergence_result *result,
                          struct divergence_input *to, struct arena *arena);

#endif
