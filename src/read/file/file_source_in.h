/* file_source_in.h - where each storage's bytes lie in files: the model's source for
 * every file format. It owns the blobs given to it and closes them with the model. Its
 * storages may be read by any thread. */
#ifndef READ_FILE_FILE_SOURCE_IN_H
#define READ_FILE_FILE_SOURCE_IN_H

#include "base/blob.h"
#include "model/build.h"
#include "read/file/zip_in.h"

/* Hand a blob over to the model: it is closed when the model is freed (or the build is
 * released). Makes the source on first use. On failure the blob is closed. A blob that
 * was handed over before stays where it is. read_model() and input_read_inner() have
 * done this for input->blob: readers need it only for blobs they open themselves. */
int file_source_keep(struct build *build, struct blob *takes_blob, struct err *err);

/* The same for a whole file on disk, which becomes one of the model's files. Storages
 * of this blob, and of those kept after it, are said to lie in this file. */
int file_source_keep_file(struct build *build, struct blob *takes_blob,
                          struct err *err);

/* A storage of `storage->bytes` bytes that lie at `storage->at` of the blob. The flags
 * MISSING and PARTLY and `file` are computed: what of it lies inside the blob. Its
 * number, or NO_STORAGE. */
uint32_t file_source_plain(struct build *build, struct blob *blob,
                           struct storage *storage);

/* A storage that is a member of a zip, stored or deflated. Where its payload begins is
 * looked up when it is first read. `storage->bytes` is what the tensor side declares;
 * the member's own size decides what can be had. */
uint32_t file_source_member(struct build *build, struct zip *zip, uint32_t entry,
                            struct storage *storage);

/* A storage whose bytes are in memory (inside a pickle): copied into the model. */
uint32_t file_source_bytes(struct build *build, struct str bytes,
                           struct storage *storage);

/* A storage that is named but cannot be had. */
uint32_t file_source_missing(struct build *build, struct storage *storage);

#endif
