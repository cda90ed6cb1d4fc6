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

/* Per place: what is at and below it. Stores sums up to every eighth place, eight bytes
 * per place. The arena holds them; the model is borrowed. */
struct counts_mark;
struct place_counts {
    const struct model *model;
    const struct counts_mark *marks;
};
int counts_places(const struct model *model, struct arena *arena,
                  struct place_counts *ret_counts, struct err *err);
/* Unique parameters whose first place is there. */
uint64_t counts_params(const struct place_counts *counts, uint32_t place);
/* Bytes of all tensors whose first place is there, of any role: place 0 has `bytes` plus
 * `other_bytes`. */
uint64_t counts_bytes(const struct place_counts *counts, uint32_t place);
/* Places of tensors. */
uint32_t counts_tensors(const struct place_counts *counts, uint32_t place);

/* Is this the place at which its tensor is counted? */
bool counts_here(const struct model *model, uint32_t place);

/* The elements of a tensor: those of its shape; for sparse and nested tensors those of
 * their stored values; 0 if it is invalid. */
uint64_t counts_elements(const struct model *model, uint32_t place);

#endif
