/* torch_fold_in.h - turns the nodes of a pickle into tensors, modules and checkpoints.
 * Knows PyTorch's rebuild functions, the state of an nn.Module, state_dicts (with
 * _metadata), optimizers, numpy arrays, wrapped and sparse tensors. Other containers
 * become groups with plain values below them. */
#ifndef READ_TORCH_TORCH_FOLD_IN_H
#define READ_TORCH_TORCH_FOLD_IN_H

#include "read/pickle/pickle_in.h"

struct input;
/* The differences between containers; a reader fills it in. Callbacks other than
 * storage() may be NULL. */
struct torch_dialect {
    /* The storage of a persistent id, or NO_STORAGE. The same id must give the same
     * storage. May add findings. */
    uint32_t (*storage)(void *user, const struct pickle *pickle, node_id persistent);
    /* Is the id a class with its source, as ('module', class, file, source)? */
    bool (*class_source)(void *user, const struct pickle *pickle, node_id persistent,
                         node_id *ret_class, struct str *ret_file,
                         struct str *ret_source);
    /* torch 0.1, where an id names a whole tensor: fills in the tensor, shape and
     * strides and returns the rank; -1: the id is no tensor. */
    int (*tensor)(void *user, const struct pickle *pickle, node_id persistent,
                  struct tensor *tensor, int64_t shape[64], int64_t strides[64]);
    /* The offset in input->blob of bytes of the pickle, so that they need no copy;
     * false: they are not in the blob unchanged. */
    bool (*where)(void *user, struct str bytes, uint64_t *ret_at);
    /* Load such bytes completely: of torch files, only the beginning may be in memory.
     * Goes with where(). */
    int (*load)(void *user, struct str bytes, struct err *err);
    void *user;
    struct input *input; /* for reading torch files inside bytes; NULL: do not */

    /* TorchScript: the state of an object holds parameters, buffers, attributes and
     * children as plain keys. These callbacks know the code of the classes. */
    bool flat_state;
    /* Add the source of the class and the arguments of the object at `place`. False:
     * not a module (a plain class, a named tuple). */
    bool (*flat_object)(void *user, uint32_t place, struct str class_name);
    /* The role of the tensor in this attribute; ROLE_PLAIN: neither parameter nor
     * buffer. */
    enum tensor_role (*flat_role)(void *user, struct str class_name,
                                  struct str attribute);
};

/* Fold the node `root` of the pickle into `place`, which is already named. The root of
 * the model stays a group or becomes a module: a single tensor or value becomes its
 * child, named "tensor", "array", "storage" or "value". */
int torch_fold(struct build *build, uint32_t place, const struct pickle *pickle,
               node_id root, const struct torch_dialect *dialect, struct err *err);

/* The same for the entries of the dict `root`, each into a separate place. */
struct torch_entries {
    /* The node for this entry, already named; NO_PLACE: skip it. */
    uint32_t (*place)(void *user, struct str name);
    void *user;
};
int torch_fold_entries(struct build *build, const struct pickle *pickle, node_id root,
                       const struct torch_dialect *dialect,
                       const struct torch_entries *entries, struct err *err);

/* A storage's persistent id: ('storage', class, key, location, numel, ...). */
struct torch_storage_id {
    enum dtype dtype; /* UNKNOWN if untyped */
    bool untyped;     /* UntypedStorage: `numel` is bytes */
    struct str class_name, key, location;
    int64_t numel;
    node_id view; /* legacy: (view_key, offset, size) or NO_NODE */
};
/* False: the node is not such an id. */
bool torch_storage_id(const struct pickle *pickle, node_id persistent,
                      struct torch_storage_id *ret_id);

/* The size of a storage in bytes; UINT64_MAX: not a valid size. Untyped storages count
 * bytes, and so does torch for packed dtypes. */
uint64_t torch_storage_bytes(enum dtype dtype, bool untyped, int64_t numel);

/* The byte range of a part of a storage with `numel` elements, given by two items of
 * the tuple `view`: item i is its offset, item i + 1 its number of elements. False: it
 * does not fit. */
bool torch_storage_part(const struct pickle *pickle, node_id view, uint32_t i,
                        enum dtype dtype, uint64_t numel, uint64_t *ret_skip,
                        uint64_t *ret_bytes);

/* Is an old file big-endian, according to its sys_info pickle? */
bool torch_is_big_endian(const struct pickle *sys_info);
/* Add the finding for a big-endian file. */
void torch_say_big_endian(struct build *build, uint32_t place);

#endif
