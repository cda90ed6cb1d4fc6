/* torch_fold_in.h - nodes of a pickle to tensors, modules and checkpoints.
 * Knows PyTorch's rebuild functions, what an nn.Module's state looks like, state_dicts
 * (with _metadata), optimizers, numpy arrays, wrapped and sparse tensors. Containers that
 * hold none of these become groups with plain values below them. */
#ifndef READ_TORCH_FOLD_IN_H
#define READ_TORCH_FOLD_IN_H

#include "read/pickle_in.h"

struct torch_fold;
/* What differs between containers: how a persistent id names a storage. */
struct torch_dialect {
    /* The storage of persistent id node `id`; NO_STORAGE if it is none. The same id must
     * give the same storage. May add findings. */
    uint32_t (*storage)(void *user, const struct pickle *pickle, node_id persistent);
    /* A class with its source: a persistent id ('module', class, file, source). True if
     * this id is one, with its global node and source. May be NULL. */
    bool (*class_source)(void *user, const struct pickle *pickle, node_id persistent,
                         node_id *ret_class, struct str *ret_file,
                         struct str *ret_source);
    /* A tensor made otherwise (torch 0.1: a persistent id names a whole tensor). Fills
     * *tensor, sizes and strides; rank, or -1: not one. May be NULL. */
    int (*tensor)(void *user, const struct pickle *pickle, node_id persistent,
                  struct tensor *tensor, int64_t shape[64], int64_t strides[64]);
    void *user;
    bool flat_state; /* TorchScript: an object's state holds parameters, buffers,
                        attributes and children as plain keys */
};

/* Fold the node `root` of the pickle into `place` (whose name is set already). */
int torch_fold(struct build *build, uint32_t place, const struct pickle *pickle,
               node_id root, const struct torch_dialect *dialect, struct err *err);

/* The parts of a storage's persistent id: ('storage', class, key, location, numel, ...).
 * False if it is not one. Element type UNKNOWN for UntypedStorage, whose numel is bytes. */
struct torch_storage_id {
    enum dtype dtype;
    struct str class_name, key, location;
    int64_t numel;
    node_id view; /* legacy: (view_key, offset, size) or NO_NODE */
};
bool torch_storage_id(const struct pickle *pickle, node_id persistent,
                      struct torch_storage_id *ret_id);

#endif
