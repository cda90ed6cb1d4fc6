/* flat_in.h - the door of read/flat: flatbuffers, and the formats that are one.
 *
 *   flat.c            tables, vectors and texts at any offset of a file, checked
 *   tflite.c          TFLite: what it is, its subgraphs as modules
 *   tflite_tensors.c  its tensors, quantisation, constants
 *   tflite_sparse.c   dense values of sparse constants
 *   tflite_facts.c    signatures, metadata, files behind it
 *   tflite_program.c  its operators as a program
 *   tflite_flow.c     operators that run subgraphs
 *   tflite_names.c    the names of operators
 *   tflite_options.c  their options
 *   litertlm.c        LiteRT-LM: TFLite models and tokenizers as sections
 *   executorch.c      ExecuTorch (.pte): what it is, its methods and backends
 *   executorch_tensors.c  its constants
 *   executorch_program.c  its instructions as a program
 *   executorch_flow.c     their branches and loops
 *   executorch_values.c   what they read and write
 *
 * Every offset in a flatbuffer is relative and may lead anywhere. A read outside of the
 * file gives 0 and sets `bad`; each read counts against a budget that follows from the
 * size of the file, so that tables which share their parts cost no more than it. */
#ifndef READ_FLAT_FLAT_IN_H
#define READ_FLAT_FLAT_IN_H

#include "base/blob.h"
#include "read/file/input_in.h"

#define FLAT_WINDOW (16 * 1024)

struct flat {
    struct blob *blob;
    uint64_t left; /* budget: numbers that may still be read */
    bool bad;      /* an offset led outside, or the budget is spent */
    bool limit;    /* ... the latter */
    uint64_t window_at;
    size_t window_n;
    uint8_t window[FLAT_WINDOW];
};

/* A table; at 0: there is none, all its fields are missing. */
struct flat_table {
    uint64_t at, vtable;
    uint16_t fields; /* bytes of its list of fields */
};

struct flat_vector {
    uint64_t at; /* of the first element */
    uint32_t n;
};

void flat_init(struct flat *flat, struct blob *blob);
/* A little-endian number of 1 to 8 bytes. */
uint64_t flat_number(struct flat *flat, uint64_t at, unsigned n);

struct flat_table flat_root(struct flat *flat);
/* The table that the offset at `at` leads to. */
struct flat_table flat_table_at(struct flat *flat, uint64_t at);
/* Where field `id` of a table is; 0: it has the default value. */
uint64_t flat_field(struct flat *flat, struct flat_table table, unsigned id);
int64_t flat_int(struct flat *flat, struct flat_table table, unsigned id, unsigned n,
                 int64_t missing);
float flat_float(struct flat *flat, struct flat_table table, unsigned id,
                 float missing);
struct flat_table flat_table(struct flat *flat, struct flat_table table, unsigned id);
/* A vector of elements of `size` bytes, all of which are inside the file. */
struct flat_vector flat_vector(struct flat *flat, struct flat_table table, unsigned id,
                               unsigned size);
/* The size of a dense tensor in bytes; 0: unknown. */
uint64_t flat_dense_bytes(enum dtype dtype, const int64_t *shape, int rank);
/* The float with these bits. */
float flat_real(uint32_t bits);
/* The first `most` of `n` bytes, copied into the arena. */
struct str flat_bytes(struct flat *flat, uint64_t at, uint64_t n, size_t most,
                      struct arena *arena);
/* A text, copied into the arena; at most `most` bytes of it. */
struct str flat_text(struct flat *flat, struct flat_table table, unsigned id,
                     size_t most, struct arena *arena);
struct str flat_text_at(struct flat *flat, uint64_t at, size_t most,
                        struct arena *arena);

#endif
