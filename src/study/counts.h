/* counts.h - parameters, bytes and tensors, in total and below every place.
 * Parameters are counted in three ways:
 *   stored   every name of every parameter
 *   unique   tied parameters once: this is `params`
 *   logical  unique, with packed elements expanded to their values
 * A tied tensor is counted at its first place. Only ROLE_PARAMETER counts as a
 * parameter. */
#ifndef STUDY_COUNTS_H
#define STUDY_COUNTS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"

struct counts {
    uint64_t stored, params, logical; /* elements of parameters */
    uint64_t trainable, frozen; /* unique; neither if the file does not record it */
    uint64_t buffers;           /* unique elements of buffers */
    uint64_t bytes;             /* unique parameters and buffers */
    uint64_t other_bytes;       /* optimizer state and plain tensors, unique */
    uint64_t others;            /* their elements */
    uint32_t tensors;           /* places of tensors (not parts of tensors) */
    uint32_t param_tensors, buffer_tensors; /* unique */
    uint32_t
        grad_known;   /* unique parameters whose requires_grad is known; 0: `trainable`
                            and `frozen` are meaningless */
    uint32_t modules; /* places of modules; a state_dict counts as a module */
};

/* The totals of a model. */
void counts_total(const struct model *model, struct counts *ret_counts);

/* Sums over each place and all places below it. Stores prefix sums at every eighth
 * place, which takes eight bytes per place, in the arena; borrows the model. */
struct counts_mark;
struct place_counts {
    const struct model *model;
    const struct counts_mark *marks;
};
int counts_places(const struct model *model, struct arena *arena,
                  struct place_counts *ret_counts, struct err *err);
/* Unique parameters whose first place is at or below `place`. */
uint64_t counts_params(const struct place_counts *counts, uint32_t place);
/* Bytes of all tensors, of any role, whose first place is at or below `place`: place 0
 * has `bytes` plus `other_bytes`. */
uint64_t counts_bytes(const struct place_counts *counts, uint32_t place);
/* The number of places of tensors at or below `place`. */
uint32_t counts_tensors(const struct place_counts *counts, uint32_t place);

/* Is this the place at which its tensor is counted? */
bool counts_here(const struct model *model, uint32_t place);

/* The number of elements of a tensor: by its shape; for sparse and nested tensors, of
 * their stored values; 0 if it is invalid. */
uint64_t counts_elements(const struct model *model, uint32_t place);

#endif
