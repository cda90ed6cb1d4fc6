/* tensor.h - what a tensor is and where its bytes lie.
 * The fast way is DLPack's exchange table where the type offers it (torch 2.10 and
 * later, exact Tensor and Parameter only), the slow way its attributes. */
#ifndef EXT_TORCH_TENSOR_H
#define EXT_TORCH_TENSOR_H

#include "ext/ext.h"

#include <stdbool.h>
#include <stdint.h>

#include "measure/stats.h"
#include "model/dtype.h"
#include "model/model.h"

#define LIVE_RANK 64

enum live_flag {
    LIVE_READABLE = 1,   /* its bytes lie in this process's memory at `at` */
    LIVE_GRAD = 2,       /* requires_grad */
    LIVE_CONJ = 4,       /* conjugated on the fly */
    LIVE_NEG = 8,        /* negated on the fly */
    LIVE_DEVICE = 16,    /* values exist, but only its device can read them */
    LIVE_INFERENCE = 32, /* has no version */
    LIVE_LEAF = 64,
    LIVE_EXACT = 128,   /* a plain Tensor or Parameter, no subclass */
    LIVE_LOCAL = 256,   /* of a DTensor: this is its local part */
    LIVE_NO_DATA = 512, /* has a storage, but nothing in it: meta and fake tensors */
    LIVE_INNER_GRAD = 1024, /* inside a function transform: what it stands for requires
                               a gradient */
};

/* A tensor, looked at. Good while the object is held and Python is not run. */
struct live_tensor {
    uint8_t dtype, layout, rank;
    unsigned flags;  /* enum live_flag */
    const char *why; /* not LIVE_READABLE: why, in a few words; a constant */
    char device[32]; /* "cpu", "cuda:0" */
    const void *at;  /* its first element */
    int64_t version; /* -1: not known */
    uint64_t numel;
    int64_t shape[LIVE_RANK];   /* -1: not one number (nested) */
    int64_t strides[LIVE_RANK]; /* of LAYOUT_STRIDED */
};

/* Is it a torch.Tensor (of any subclass)? Never raises. */
bool tensor_is(PyObject *object);
/* Look at it. Never raises; false if it is no tensor that can be described at all. */
bool tensor_look(PyObject *tensor, struct live_tensor *to);
/* Statistics of a readable one, the GIL released for large ones, which torch's threads
 * (ext/torch/team.h) measure together; false: not to be had (then `why` says so). */
bool tensor_stats(struct live_tensor *tensor, enum measure_mode mode,
                  struct stats *ret_stats);
/* Do its elements lie side by side in C order, as they are? */
bool tensor_in_c_order(const struct live_tensor *tensor);
/* Copy its elements, dense in C order; a readable one only. */
bool tensor_copy(const struct live_tensor *tensor, void *to, size_t size);
/* A fingerprint of a readable one: all of its bytes if they are few, else 64 words
 * spread over them. Tells that it was written to where its version does not (.data,
 * fused kernels, NumPy), unless the write missed all 64. 0: not known. */
uint64_t tensor_print(const struct live_tensor *tensor);
/* Where its first element lies, and its version (-1: has none), and nothing else. */
const void *tensor_at(PyObject *tensor);
int64_t tensor_version(PyObject *tensor);
/* A number for its storage: equal for views of one, good while the tensor lives. 0: it
 * has none. *ret_object (may be NULL) is a new reference to what a weak reference can
 * watch to know that the storage lives, or NULL. */
uint64_t tensor_storage(PyObject *tensor, PyObject **ret_object);

#endif
