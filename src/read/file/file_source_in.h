/* file_source_in.h - where the bytes of each storage are: the source of every model
 * that was read from files. It owns its blobs and closes them with the model. Any
 * thread may read its storages. */
#ifndef READ_FILE_FILE_SOURCE_IN_H
#define READ_FILE_FILE_SOURCE_IN_H

#include "base/blob.h"
#include "model/build.h"
#include "read/file/zip_in.h"

/* Take a blob, which is closed when the model is freed or the build is released; on
 * failure at once. Creates the source on first use. A blob that was taken before is
 * ignored. read_model() and input_read_inner() have done this for input->blob. */
int file_source_keep(struct build *build, struct blob *takes_blob, struct err *err);

/* Take a whole file on disk, which becomes one of the model's files. Storages of this
 * blob, and of blobs taken after it, belong to this file. */
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

/* A storage without bytes in the file. */
uint32_t file_source_missing(struct build *build, struct storage *storage);

#endif
