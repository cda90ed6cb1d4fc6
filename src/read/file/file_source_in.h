/* file_source_in.h - the source of every model that was read from files: locates the
 * bytes of each storage. It owns its blobs and closes them with the model. Any thread
 * may read its storages. */
#ifndef READ_FILE_FILE_SOURCE_IN_H
#define READ_FILE_FILE_SOURCE_IN_H

#include "base/blob.h"
#include "model/build.h"
#include "read/file/zip_in.h"

/* Take ownership of a blob: it is closed when the model is freed or the build is
 * released, or at once on failure. Creates the source on first use. Ignores a blob it
 * already owns. read_model() and input_read_inner() have done this for input->blob. */
int file_source_keep(struct build *build, struct blob *takes_blob, struct err *err);

/* Take ownership of a whole file on disk, which becomes one of the model's files.
 * Storages of this blob, and of blobs taken after it, belong to this file. */
int file_source_keep_file(struct build *build, struct blob *takes_blob,
                          struct err *err);

/* The functions below return the number of the new storage, or NO_STORAGE. */

/* A storage of `storage->bytes` bytes at offset `storage->at` of the blob. Computes
 * `file` and the flags MISSING and PARTLY. */
uint32_t file_source_plain(struct build *build, struct blob *blob,
                           struct storage *storage);

/* A storage in a zip entry, stored or deflated. Its payload is located when it is first
 * read. `storage->bytes` is what the tensors declare; the size of the entry limits what
 * can be read. */
uint32_t file_source_member(struct build *build, struct zip *zip, uint32_t entry,
                            struct storage *storage);

/* A storage in a deflated zip entry, without the first `skip` unpacked bytes. */
uint32_t file_source_deflated(struct build *build, struct zip *zip, uint32_t entry,
                              uint64_t skip, struct storage *storage);

/* A storage whose bytes are in memory (inside a pickle); copies them into the model. */
uint32_t file_source_bytes(struct build *build, struct str bytes,
                           struct storage *storage);

/* A computed storage: a function computes its bytes from other storages of the same
 * model, for example a tensor assembled from shards, or packed weights decoded with
 * their scales.
 *
 *     struct doubled {
 *         struct computed computed; // first, so that bytes() can cast it back
 *         uint32_t of;              // the storage that it reads
 *     };
 *
 * The caller allocates it in the model's arena, fills it before adding the storage and
 * never changes it again. The model owns it; there is no destructor. */
struct computed {
    /* Computes the `n` bytes from byte `at` on. It reads other storages by
     * source_bytes(), in its own windows, and only storages with smaller indices, so
     * that no storage depends on itself. Several threads may call it at a time, without
     * a lock: it keeps no state, and scratch memory is on the stack (up to 64 KiB) or
     * freed before it returns. */
    int (*bytes)(const struct computed *self, struct source *source, uint64_t at,
                 void *to, size_t n, struct err *err);
    /* bytes() is only called for whole units of this many bytes, at multiples of it;
     * the last unit ends with the storage. At most COMPUTED_UNIT_MAX; 0 and 1: any
     * range. */
    uint32_t unit;
};
#define COMPUTED_UNIT_MAX 4096

/* A computed storage whose first `have` bytes can be computed: less than storage->bytes
 * if some inputs are missing, 0 if nothing can be computed. The caller sets `file` and
 * `at` to the location of its first part, because storages are read in that order.
 * Computes the flags MISSING and PARTLY. */
uint32_t file_source_computed(struct build *build, const struct computed *computed,
                              uint64_t have, struct storage *storage);

/* Can any part of the storage be read without unpacking the bytes before it? */
bool file_source_any_order(const struct build *build, uint32_t storage);

/* A storage without bytes in the file. */
uint32_t file_source_missing(struct build *build, struct storage *storage);

#endif
