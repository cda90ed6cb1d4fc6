/* op_memory.h - the tensor memory of a run, from the lifetimes of the storages that its
 * operations used. A storage counts once, even if several tensors share it. Excludes
 * workspace that operations allocate internally and memory that the allocator caches.
 *
 * **Saved for backward* are storages that forward made and that are alive when backward
 * begins. With several backwards, `saved` describes the one that began with the
 * most. */
#ifndef STUDY_OP_MEMORY_H
#define STUDY_OP_MEMORY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/run.h"

enum memory_kind {
    MEMORY_PARAMETERS,
    MEMORY_BUFFERS,
    MEMORY_GRADIENTS,
    MEMORY_OPTIMIZER,
    MEMORY_SAVED,      /* activations saved for backward */
    MEMORY_RECOMPUTED, /* made again during backward (checkpointing) */
    MEMORY_OTHER,      /* inputs and temporaries */
    MEMORY_KINDS
};

/* "parameters", "gradients", "optimizer", "saved", ...: keys of JSON and facts */
const char *memory_kind_name(enum memory_kind kind);
/* "parameters", "optimizer state", "saved for backward", ... */
const char *memory_kind_words(enum memory_kind kind);

struct memory_phase {
    uint64_t ops, allocated; /* bytes of all storages that it allocated */
    uint64_t peak;           /* most bytes alive during it */
    uint32_t peak_op;        /* the first operation at that peak; or RUN_NONE */
};

struct memory_use {
    uint64_t *live; /* by operation: bytes alive while it ran */
    uint32_t n;     /* operations */
    uint64_t peak;
    uint32_t peak_op;               /* the first at the peak; RUN_NONE: no operation */
    uint64_t at_peak[MEMORY_KINDS]; /* adds up to `peak` */
    uint64_t most[MEMORY_KINDS];    /* peak of each kind, at any time */
    struct memory_phase phases[OP_PHASES];

    uint32_t saved_op;   /* the first operation of that backward, or RUN_NONE: there was
                             no backward */
    uint64_t saved;      /* bytes saved when it began */
    uint64_t outside;    /* of these: made outside the model (the loss) */
    uint64_t *saved_own; /* by place: made by the module itself */
    uint64_t *saved_here; /* by place: with everything below */
    bool partial;         /* some operations were not kept */
};

/* Computes the memory of a run with operations (run->ops), in the arena. Linear in
 * operations, storages and places. */
int memory_use_of(struct memory_use *ret_use, const struct run *run,
                  struct arena *arena, struct err *err);

#endif
