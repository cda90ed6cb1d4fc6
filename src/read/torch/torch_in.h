/* torch_in.h - the public header of read/torch: files of torch.save() and
 * torch.jit.save(), and bare pickles.
 *
 * One reader for each container:
 *   torch_zip.c      since 1.6: data.pkl and one zip entry for each storage
 *   torchscript.c    torch.jit.save(): the same with code/, which torchscript_code.c
 *                    reads; script_*.c follow it: script_machine_in.h
 *   torch_legacy.c   before 1.6: five pickles, then the storages
 *   torch_tar.c      0.1: a tar archive
 *   bare_pickle.c    pickle.dump(): without storages
 *   torch_records.c  storages in a zip, for the first two
 *
 * All of them run a pickle (read/pickle) and pass its nodes to torch_fold(), which
 * turns them into tensors, modules and groups:
 *   torch_fold_in.h  torch_fold(), and struct torch_dialect: where storages are
 *   torch_fold_state_in.h  the parts of the fold, file by file */
#ifndef READ_TORCH_TORCH_IN_H
#define READ_TORCH_TORCH_IN_H

#include "read/file/input_in.h"

/* Parses numpy's code of a dtype without its byte order ("f4"); UNKNOWN if it is not
 * numeric. */
enum dtype dtype_by_numpy(struct str code);
/* The first elements of an array of strings, "S5" or "U5", as a LIST of at most 100
 * values; None for other arrays. */
uint32_t torch_numpy_texts(struct build *build, struct str code, char order,
                           struct str bytes);

/* Read an inner file of torch.save() that holds a dict, each entry into the place that
 * the caller chooses (torch_fold_in.h), and check its pickles. ERR_FORMAT: another kind
 * of file. The model's source takes the blob. */
struct torch_entries;
int torch_read_entries(struct input *outer, struct blob *takes_blob, const char *name,
                       const struct torch_entries *entries, struct build *build,
                       struct err *err);

/* Read the file of torch.save() that is the part [at, at + size) of a blob into the
 * node. The source must own the blob already; the storages are parts of it. Nothing
 * else stays allocated, so a file may hold a hundred thousand of these. */
struct torch_part {
    struct blob *whole;
    uint64_t at, size;
    const char *name; /* for messages and the pickle log */
};
int torch_read_part(const struct torch_part *part, uint32_t node, struct build *build,
                    struct err *err);

extern const struct reader torch_zip_reader;
extern const struct reader torchscript_reader;
extern const struct reader torch_legacy_reader;
extern const struct reader torch_tar_reader;
extern const struct reader bare_pickle_reader;

#endif
