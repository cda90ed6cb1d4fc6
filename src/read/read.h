/* read.h - reads model files. Nothing in a file is ever executed.
 *
 *   readers.c        THE TABLE of formats; read_model()
 *   safetensors*.c   the safetensors format; names of tied tensors
 *   shards_in.h      one model in several files: an index, or a folder
 *   beside_in.h      config.json and other files beside a model
 *   onnx/            the ONNX format; tour in onnx/onnx_in.h
 *   bundle_in.h      a zip of model files
 *   hub_cache_in.h   the model in a folder of Hugging Face's cache
 *   not_a_model.c    identifies other files; foreign_in.h: of other frameworks
 *   verify.c         checks the zip entries that read_model() does not read
 *   file/            inputs, archives and sources of bytes; tour in file/input_in.h
 *   gguf/            llama.cpp's GGUF; tour in gguf/gguf_in.h
 *   pickle/          the pickle machine; tour in pickle/pickle_in.h
 *   remote/          files on web servers; tour in remote/remote_in.h
 *   torch/           PyTorch's formats; tour in torch/torch_in.h
 *   pt2/             programs of torch.export; tour in pt2/pt2_in.h
 *   dcp/             distributed checkpoints; tour in dcp/dcp_in.h
 *   flat/            flatbuffers: TFLite, LiteRT-LM, ExecuTorch; tour in flat/flat_in.h
 *   hdf5/            HDF5 files; tour in hdf5/hdf5_in.h
 *   keras/           models of Keras; tour in keras/keras_in.h
 *
 * To add a format: write read/NAME.c ending in a `const struct reader`, list it in
 * readers.c and meson.build, add sample files and a fuzz target. */
#ifndef READ_READ_H
#define READ_READ_H

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

/* Read the file, folder or shard index at `path` (or at an http address, by range
 * requests on demand) into a new model; free it with model_free(). A damaged file gives
 * a partial model with findings. NULL: nothing can be shown, and `err` says why. */
const struct model *read_model(const char *path, struct work *work, struct err *err);

/* Is it the address of a file on a web server? */
bool read_is_url(const char *path);

/* Read bytes in memory, which must outlive the model. For tests. */
const struct model *read_model_memory(const void *at, size_t size, const char *name,
                                      struct work *work, struct err *err);

/* Check what read_model() does not read of a zip archive: the local headers of entries
 * with tensor data and, with `data`, the checksums of all bytes. Findings about entries
 * that read_model() loaded repeat those of the model: see finding_same(). Other files,
 * and archives without a directory, give none. Findings and their texts are in the
 * arena; their `file` is 0. */
int read_verify(const char *path, bool data, struct arena *arena, struct work *work,
                struct finding **ret_findings, uint32_t *ret_n, struct err *err);

/* The kind of a file that read_model() refused: "text", "picture", "archive",
 * "document", "program", "database", "empty", "other"; "model" for a model format that
 * is not supported. NULL: it cannot be opened. */
const char *read_kind(const char *path);

/* The format of a file ("safetensors"), detected by its first bytes and the names in an
 * archive only. NULL: not a supported format. */
const char *read_format(const char *path);

/* The name of the i-th supported format, in the order of the table; NULL after the
 * last. */
const char *read_format_name(size_t i);

/* The version of zlib: "1.2.13". */
const char *read_library(void);

#endif
