/* counts.h - how much there is, in all and below every place.
 * Three ways to count parameters:
 *   stored   every place of every parameter, as the names list them
 *   unique   tied ones once: this is `params`
 *   logical  unique, with packed elements expanded to the values they stand for
 * A tied tensor is counted where it is met first. Only ROLE_PARAMETER counts as a
 * parameter. The whole model's bytes are told by role: parameters and buffers, and
 * all else (optimizer state, plain tensors). */
#ifndef STUDY_COUNTS_H
#define STUDY_COUNTS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"

struct counts {
    uint64_t stored, params, logical; /* parameters: elements */
    uint64_t trainable, frozen; /* unique; what the file does not tell is neither */
    uint64_t buffers;           /* unique elements of buffers */
    uint64_t bytes;             /* unique parameters and buffers */
    uint64_t other_bytes;       /* optimizer state and plain tensors, unique */
    uint64_t others;            /* their elements */
    uint32_t tensors;           /* places of tensors (not parts of tensors) */
    uint32_t param_tensors, buffer_tensors; /* unique ones */
    uint32_t grad_known; /* unique parameters of which the file tells whether they are
                            trained; 0: `trainable` and `frozen` mean nothing */
    uint32_t modules;    /* places of modules; a state_dict stands for the module whose
                            state it is */
};

/* The whole model in detail. */
void counts_total(const struct model *model, struct counts *ret_counts);

/* Per place: what stands at and below it. Kept are sums up to every eighth place, from
 * which any other is a few steps away: eight bytes for a place. The arena holds them;
 * the model is borrowed. */
struct counts_mark;
struct place_counts {
    const struct model *model;
    const struct counts_mark *marks;
};
int counts_places(const struct model *model, struct arena *arena,
                  struct place_counts *ret_counts, struct err *err);
/* Unique parameters first met there. */
uint64_t counts_params(const struct place_counts *counts, uint32_t place);
/* Bytes of all tensors first met there, whatever their role: those of a place hold those
 * of its children, and those of place 0 are `bytes` and `other_bytes` together. */
uint64_t counts_bytes(const struct place_counts *counts, uint32_t place);
/* Places of tensors. */
uint32_t counts_tensors(const struct place_counts *counts, uint32_t place);

/* Is this place of a tensor the one at which it is counted? */
bool counts_here(const struct model *model, uint32_t place);

/* The elements that a tensor counts with: those of its shape; for sparse and nested
 * tensors those of their stored values; none if its description lies. */
uint64_t counts_elements(const struct model *model, uint32_t place);

#endif
