/* tensor.h - describes a tensor and where its bytes are.
 * Uses DLPack's exchange table if the type offers it (torch 2.10 and later, exact
 * Tensor and Parameter only), else the slower attributes. */
#ifndef EXT_TORCH_TENSOR_H
#define EXT_TORCH_TENSOR_H

#include "ext/ext.h"

#include <stdbool.h>
#include <stdint.h>

#include "measure/memory.h"
#include "measure/stats.h"
#include "model/dtype.h"
#include "model/model.h"

#define LIVE_RANK 64

enum live_flag {
    LIVE_READABLE = 1,   /* its bytes are in this process's memory, at `at` */
    LIVE_GRAD = 2,       /* requires_grad */
    LIVE_CONJ = 4,       /* conjugated on the fly */
    LIVE_NEG = 8,        /* negated on the fly */
    LIVE_DEVICE = 16,    /* values exist, but only its device can read them */
    LIVE_INFERENCE = 32, /* has no version */
    LIVE_LEAF = 64,
    LIVE_EXACT = 128,   /* a plain Tensor or Parameter, no subclass */
    LIVE_LOCAL = 256,   /* the local part of a DTensor */
    LIVE_NO_DATA = 512, /* has a storage without data: meta and fake tensors */
    LIVE_CPU = 2048,
    LIVE_INNER_GRAD =
        1024, /* inside a function transform: the wrapped tensor requires a gradient */
};

/* Description of a tensor. Valid while the object is held and no Python code runs. */
struct live_tensor {
    uint8_t dtype, layout, rank;
    unsigned flags;  /* enum live_flag */
    const char *why; /* if not LIVE_READABLE: a short reason; constant string */
    char device[32]; /* "cpu", "cuda:0" */
    const void *at;  /* its first element */
    int64_t version; /* -1: unknown */
    uint64_t numel;
    int64_t shape[LIVE_RANK];   /* -1: varies (nested) */
    int64_t strides[LIVE_RANK]; /* only for LAYOUT_STRIDED */
};

/* Whether it is a torch.Tensor or a subclass. Never raises. */
bool tensor_is(PyObject *object);
/* Describes a tensor. Never raises; false if it cannot be described at all. */
bool tensor_look(PyObject *tensor, struct live_tensor *to);
/* The same without version, leaf and the bits for conjugated and negated tensors, which
 * cost more than the rest. Sets LIVE_CPU. LIVE_GRAD only if `grad` is set. */
bool tensor_outline(PyObject *tensor, bool grad, struct live_tensor *to);
/* Statistics of a readable tensor. Releases the GIL for large ones, which torch's
 * threads (ext/torch/team.h) measure together. False: unavailable, and `why` says
 * why. */
bool tensor_stats(struct live_tensor *tensor, enum measure_mode mode,
                  struct stats *ret_stats);
/* The elements of a readable tensor for measure/; valid as long as the tensor's
 * description. */
struct memory tensor_memory(const struct live_tensor *tensor);
/* Whether its elements are contiguous in C order. */
bool tensor_in_c_order(const struct live_tensor *tensor);
/* Copies the elements of a readable tensor, dense and in C order. */
bool tensor_copy(const struct live_tensor *tensor, void *to, size_t size);
/* A fingerprint of a readable tensor: of all its bytes if they are few, else of 64
 * words spread over them. Detects writes that do not raise the version (.data, fused
 * kernels, NumPy), unless they miss all 64. 0: unknown. */
uint64_t tensor_print(const struct live_tensor *tensor);
/* Only the address of its first element; only its version (-1: none). */
const void *tensor_at(PyObject *tensor);
int64_t tensor_version(PyObject *tensor);
/* A number for its storage, equal for all views of it and valid while the tensor
 * lives. 0: it has none. *ret_object (may be NULL) is a new reference to an object
 * that lives as long as the storage and supports weak references, or NULL. */
uint64_t tensor_storage(PyObject *tensor, PyObject **ret_object);

#endif
