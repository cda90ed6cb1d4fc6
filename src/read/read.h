/* read.h - model files in. Nothing in a file is ever executed.
 *
 * The tour of the room (`_in.h` headers are this room's own):
 *   readers.c         THE TABLE of formats; read_model()
 *   input_in.h        what was opened: a file, a folder, a member of an archive
 *   file_source_in.h  where each storage's bytes lie: the source of every file model
 *   zip_in.h tar_in.h inflate_in.h      containers
 *   pickle_in.h       the pickle machine: bytes to a graph of symbolic nodes, with a
 * log pickle_feed_in.h  pickles of unknown length, one behind the other
 *   pickle_value_in.h nodes to plain values
 *   torch_fold_in.h   nodes to tensors, modules, checkpoints
 *   torch_zip.c torch_legacy.c torch_tar.c torchscript.c bare_pickle.c safetensors.c
 *   not_a_model.c                       one format each
 *   verify.c          entries of an archive that opening leaves alone
 *   shards_in.h       one model in several files: by an index, or a folder
 *   guess_in.h        kinds of layers from names and shapes
 *
 * To add a format: write read/NAME.c ending in a `const struct reader`, list it in
 * readers.c, add it to meson.build, add samples and a fuzz target. */
#ifndef READ_READ_H
#define READ_READ_H

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

/* Read what is at `path` (file, folder, index) into a new model; free it with
 * model_free(). A damaged file gives a partial model with findings. NULL only when
 * there is nothing to show, and `err` says why. */
const struct model *read_model(const char *path, struct work *work, struct err *err);

/* The same from bytes in memory, which must outlive the model. */
const struct model *read_model_memory(const void *at, size_t size, const char *name,
                                      struct work *work, struct err *err);

/* Look at what opening leaves out: where entries of a zip archive hold tensor data, at
 * their own headers and, with `data`, at the checksums of all bytes. What is found may
 * repeat what the model of the same file says; nothing is found in other files, and in
 * archives without a directory. Findings and their texts come from the arena. */
int read_verify(const char *path, bool data, struct arena *arena, struct work *work,
                struct finding **ret_findings, uint32_t *ret_n, struct err *err);

/* What a file is that read_model() refused, in one word: "text", "picture", "archive",
 * "document", "program", "database", "empty", "other"; "model" if it is of a format
 * that is not read yet. NULL: it cannot be opened. */
const char *read_kind(const char *path);

/* Which format a file is of, as far as its head, or the names in an archive, tell:
 * "safetensors"; NULL: none that is read. Nothing else of it is looked at. */
const char *read_format(const char *path);

/* The names of the formats that can be read, in the order of the table: the i-th, or
 * NULL behind the last. */
const char *read_format_name(size_t i);

/* The version of zlib, which unpacks: "1.2.13". */
const char *read_library(void);

#endif
