/* no_gradient.h - trainable parameters that got no gradient from the backwards of a run,
 * and the operation that is the reason.
 *
 * The gradient of a parameter flows back along the values that were made from it, as
 * long as each was read as one that requires a gradient. The reason is the first
 * operation whose result was read without, if that result leads to the loss. */
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
    NO_GRADIENT_NOT_IN_LOSS, /* nothing that leads to the loss read its results; `op` is
                                the last that did */
    NO_GRADIENT_NOT_READ,    /* no operation of forward read it */
    NO_GRADIENT_INTACT,      /* its results reach the loss: backward() was limited to
                                other tensors, or a custom function gave None */
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

/* The parameters of a run with operations (run->ops); in the arena. Linear in
 * operations and values. Empty if there was no backward, if one raised, or if some
 * operations were not kept. */
int no_gradients_of(struct no_gradients *ret_all, const struct run *run,
                    struct arena *arena, struct err *err);

#endif
