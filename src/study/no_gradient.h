/* no_gradient.h - trainable parameters that got no gradient in a run with backward, and
 * the operation that caused it.
 *
 * The gradient of a parameter flows back along the values that were computed from it,
 * as long as each was read with requires_grad. The cause is the first operation whose
 * result was read without it, if that result leads to the loss. */
#ifndef STUDY_NO_GRADIENT_H
#define STUDY_NO_GRADIENT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/run.h"

enum no_gradient_why {
    NO_GRADIENT_DETACHED,    /* `op` is a detach() */
    NO_GRADIENT_NOT_SMOOTH,  /* `op` is not differentiable: argmax */
    NO_GRADIENT_NO_GRAD,     /* `op` ran while autograd was off */
    NO_GRADIENT_DATA,        /* `op` read a value without its gradient: .data */
    NO_GRADIENT_NOT_IN_LOSS, /* its results do not lead to the loss; `op` is the last
                                operation that read them */
    NO_GRADIENT_NOT_READ,    /* no operation of forward read it */
    NO_GRADIENT_INTACT,      /* its results reach the loss: backward() was limited to
                                other tensors, or a custom function returned None */
    NO_GRADIENT_WHYS
};

struct no_gradient {
    uint32_t tensor; /* index in model->tensors */
    uint32_t op;     /* or RUN_NONE */
    enum no_gradient_why why;
};

struct no_gradients {
    struct no_gradient *at; /* in the order of tensors */
    uint32_t n;
};

/* "detached", "not_differentiable", "no_grad", ...: keys of JSON */
const char *no_gradient_name(enum no_gradient_why why);

/* Finds them in a run with operations (run->ops); allocates in the arena. Linear in
 * operations and values. Empty without a backward, if one raised, or if some operations
 * were not kept. */
int no_gradients_of(struct no_gradients *ret_all, const struct run *run,
                    struct arena *arena, struct err *err);

#endif
