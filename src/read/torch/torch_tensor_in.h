/* torch_tensor_in.h - what a rebuild call says of a tensor, on its way into the build.
 */
#ifndef READ_TORCH_TORCH_TENSOR_IN_H
#define READ_TORCH_TORCH_TENSOR_IN_H

#include "read/torch/torch_fold_state_in.h"

#define SPEC_MAX_PARTS 4

struct tensor_spec {
    uint32_t place; /* where it will stand */
    struct tensor tensor;
    int rank;         /* of `shape`; -1: not known yet */
    bool has_strides; /* else in C order */
    bool owns_grad;   /* a wrapper has already said whether it is trained */
    const char *why;  /* what is wrong with it, or NULL */

    /* Tensors that it is made of, which become places below it. */
    struct {
        const char *name;
        node_id node;
    } parts[SPEC_MAX_PARTS];
    int n_parts;
    node_id attributes; /* of a subclass: a dict, a (dict, slots) pair, or NO_NODE */

    /* What else is worth saying: key, value, ... for tensor.extra. */
    uint32_t extra[16];
    uint32_t n_extra;

    int64_t shape[FOLD_MAX_RANK], strides[FOLD_MAX_RANK];
};

/* Note what is wrong; the first reason stays. */
void spec_bad(struct torch_fold *fold, struct tensor_spec *spec, const char *format,
              ...) __attribute__((format(printf, 3, 4)));
void spec_part(struct tensor_spec *spec, const char *name, node_id node);
void spec_extra(struct torch_fold *fold, struct tensor_spec *spec, const char *key,
                uint32_t value);
/* A tuple of integers (or a torch.Size) into `to`: how many, or -1 with spec->why. */
int spec_ints(struct torch_fold *fold, struct tensor_spec *spec, node_id node,
              int64_t to[FOLD_MAX_RANK], const char *what);
void spec_shape(struct torch_fold *fold, struct tensor_spec *spec, node_id size);
void spec_strides(struct torch_fold *fold, struct tensor_spec *spec, node_id stride);
void spec_grad(struct torch_fold *fold, struct tensor_spec *spec, node_id flag);
void spec_dtype(struct torch_fold *fold, struct tensor_spec *spec, node_id global);

void spec_storage(struct torch_fold *fold, struct tensor_spec *spec, node_id node);

/* torch_rebuild.c: what the function of this name says of a tensor with these
 * arguments. */
void spec_rebuild(struct torch_fold *fold, struct tensor_spec *spec,
                  enum torch_name name, node_id args);

/* One of these functions for each kind of call; `args` is the tuple of its arguments.
 */
void spec_quantised(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
void spec_sparse(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
void spec_nested(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
void spec_meta(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
void spec_wrapper(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
void spec_unknown(struct torch_fold *fold, struct tensor_spec *spec, node_id function);
/* The storage, offset, size and stride that most calls begin with. */
void spec_strided(struct torch_fold *fold, struct tensor_spec *spec, node_id args);

/* torch_numpy.c. Is this array one of numbers? */
bool numpy_is_tensor(struct torch_fold *fold, node_id node);
void spec_numpy(struct torch_fold *fold, struct tensor_spec *spec, node_id node);
/* Another array as a plain value: class, shape, dtype and, for texts, what it holds. */
uint32_t numpy_value(struct torch_fold *fold, node_id node);
/* The list of an array of Python objects, or NO_NODE. */
node_id numpy_objects(struct torch_fold *fold, node_id node);

#endif
