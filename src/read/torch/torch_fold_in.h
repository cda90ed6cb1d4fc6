/* torch_fold_in.h - nodes of a pickle to tensors, modules and checkpoints.
 * Knows PyTorch's rebuild functions, what an nn.Module's state looks like, state_dicts
 * (with _metadata), optimizers, numpy arrays, wrapped and sparse tensors. Containers
 * that hold none of these become groups with plain values below them. */
#ifndef READ_TORCH_TORCH_FOLD_IN_H
#define READ_TORCH_TORCH_FOLD_IN_H

#include "read/pickle/pickle_in.h"

struct input;
/* What differs between containers: how a persistent id names a storage. */
struct torch_dialect {
    /* The storage of persistent id node `id`; NO_STORAGE if it is none. The same id
     * must give the same storage. May add findings. */
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
    /* Bytes of the pickle as they stand in input->blob: where, so that they need no
     * copy; false: they do not stand there. May be NULL. */
    bool (*where)(void *user, struct str bytes, uint64_t *ret_at);
    /* See that all of such bytes is in memory: of torch files it may be only their
     * beginning. Goes with where(). */
    int (*load)(void *user, struct str bytes, struct err *err);
    void *user;
    struct input *input; /* what is being read: files inside bytes are read through it;
                            NULL: they are named and left closed */

    /* TorchScript: an object's state holds parameters, buffers, attributes and children
     * as plain keys. The reader, which has read the classes' code, is asked what the
     * state does not say; both may be NULL. */
    bool flat_state;
    /* An object of this class got its place; the class may be given source, the object
     * arguments. False: it is no module (a plain class, a named tuple). */
    bool (*flat_object)(void *user, uint32_t place, struct str class_name);
    /* What a tensor under this attribute is; ROLE_PLAIN: an attribute like others. */
    enum tensor_role (*flat_role)(void *user, struct str class_name,
                                  struct str attribute);
};

/* Fold the node `root` of the pickle into `place` (whose name is set already). The root
 * of the model stays a group or becomes a module: a bare tensor or value is its one
 * child, named "tensor", "array", "storage" or "value". */
int torch_fold(struct build *build, uint32_t place, const struct pickle *pickle,
               node_id root, const struct torch_dialect *dialect, struct err *err);

/* The parts of a storage's persistent id: ('storage', class, key, location, numel,
 * ...). False if it is not one. Element type UNKNOWN for UntypedStorage, whose numel is
 * bytes. */
struct torch_storage_id {
    enum dtype dtype;
    bool untyped; /* UntypedStorage: `numel` is bytes */
    struct str class_name, key, location;
    int64_t numel;
    node_id view; /* legacy: (view_key, offset, size) or NO_NODE */
};
/* The bytes of a storage of so many elements; UINT64_MAX where that makes no sense.
 * Untyped storages count bytes, and so does torch for types that are packed. */
uint64_t torch_storage_bytes(enum dtype dtype, bool untyped, int64_t numel);
bool torch_storage_id(const struct pickle *pickle, node_id persistent,
                      struct torch_storage_id *ret_id);

#endif
