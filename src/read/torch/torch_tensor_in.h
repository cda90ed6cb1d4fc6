/* torch_tensor_in.h - a tensor described by its rebuild call, before it is added to the
 * build. */
#ifndef READ_TORCH_TORCH_TENSOR_IN_H
#define READ_TORCH_TORCH_TENSOR_IN_H

#include "read/torch/torch_fold_state_in.h"

#define SPEC_MAX_PARTS 4

struct tensor_spec {
    uint32_t place; /* where it will be */
    struct tensor tensor;
    int rank;         /* of `shape`; -1: unknown */
    bool has_strides; /* else in C order */
    bool owns_grad;   /* a wrapper has set requires_grad */
    const char *why;  /* an error, or NULL */

    /* Its parts, which become places below it. */
    struct {
        const char *name;
        node_id node;
    } parts[SPEC_MAX_PARTS];
    int n_parts;
    node_id attributes; /* of a subclass: a dict, a (dict, slots) pair, or NO_NODE */

    /* key, value, ... for tensor.extra. */
    uint32_t extra[16];
    uint32_t n_extra;

    int64_t shape[FOLD_MAX_RANK], strides[FOLD_MAX_RANK];
};

/* Set `why`, unless it is set. */
void spec_bad(struct torch_fold *fold, struct tensor_spec *spec, const char *format,
              ...) __attribute__((format(printf, 3, 4)));
void spec_part(struct tensor_spec *spec, const char *name, node_id node);
void spec_extra(struct torch_fold *fold, struct tensor_spec *spec, const char *key,
                uint32_t value);
void spec_shape(struct torch_fold *fold, struct tensor_spec *spec, node_id size);
void spec_strides(struct torch_fold *fold, struct tensor_spec *spec, node_id stride);
void spec_grad(struct torch_fold *fold, struct tensor_spec *spec, node_id flag);
void spec_dtype(struct torch_fold *fold, struct tensor_spec *spec, node_id global);

void spec_storage(struct torch_fold *fold, struct tensor_spec *spec, node_id node);

/* torch_rebuild.c: read the arguments of the function with this name. */
void spec_rebuild(struct torch_fold *fold, struct tensor_spec *spec,
                  enum torch_name name, node_id args);

/* One function for each kind of call; `args` is the tuple of its arguments. */
void spec_quantised(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
void spec_sparse(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
void spec_nested(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
void spec_meta(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
void spec_wrapper(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
void spec_unknown(struct torch_fold *fold, struct tensor_spec *spec, node_id function);
/* The storage, offset, size and stride that most calls begin with. */
void spec_strided(struct torch_fold *fold, struct tensor_spec *spec, node_id args);

/* torch_numpy.c. Is this an array of numbers? */
bool numpy_is_tensor(struct torch_fold *fold, node_id node);
void spec_numpy(struct torch_fold *fold, struct tensor_spec *spec, node_id node);
/* Any other array as a plain value: class, shape, dtype and, for strings, its
 * content. */
uint32_t numpy_value(struct torch_fold *fold, node_id node);
/* The list of an array of Python objects, or NO_NODE. */
node_id numpy_objects(struct torch_fold *fold, node_id node);

#endif
