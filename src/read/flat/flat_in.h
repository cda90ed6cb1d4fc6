/* flat_in.h - the public header of read/flat: flatbuffers and formats based on them.
 *
 *   flat.c            checked reads of tables, vectors and strings at any offset
 *   flex.c            flexbuffers: values that describe themselves
 *   tflite.c          TFLite: detection; subgraphs as modules
 *   tflite_tensors.c  tensors, quantisation, constants
 *   tflite_sparse.c   the dense values of sparse constants
 *   tflite_facts.c    signatures, metadata, appended files
 *   tflite_program.c  operators as a program
 *   tflite_flow.c     operators that run subgraphs
 *   tflite_names.c    the names of operators
 *   tflite_options.c  options of operators
 *   litertlm.c        LiteRT-LM: TFLite models and tokenizers as sections
 *   executorch.c      ExecuTorch (.pte): detection, methods, backends
 *   executorch_tensors.c  constants
 *   executorch_program.c  instructions as a program
 *   executorch_flow.c     branches and loops from jumps
 *   executorch_values.c   operands of instructions as program values
 *
 * Offsets in a flatbuffer are relative and may point anywhere. A read outside the file
 * returns 0 and sets `bad`. Each read counts against a budget proportional to the size
 * of the file, so that tables that share their parts take no more than linear time. */
#ifndef READ_FLAT_FLAT_IN_H
#define READ_FLAT_FLAT_IN_H

#include "base/blob.h"
#include "read/file/input_in.h"

#define FLAT_WINDOW (16 * 1024)

struct flat {
    struct blob *blob;
    uint64_t left; /* budget: number of reads left */
    bool bad;      /* a read was outside the file, or the budget is spent */
    bool limit;    /* the budget is spent */
    uint64_t window_at;
    size_t window_n;
    uint8_t window[FLAT_WINDOW];
};

/* A table. `at` is 0 for a missing table: all its fields are missing too. */
struct flat_table {
    uint64_t at, vtable;
    uint16_t fields; /* size of its vtable in bytes */
};

struct flat_vector {
    uint64_t at; /* offset of the first element */
    uint32_t n;
};

void flat_init(struct flat *flat, struct blob *blob);
/* Reads a little-endian number of 1 to 8 bytes. */
uint64_t flat_number(struct flat *flat, uint64_t at, unsigned n);

struct flat_table flat_root(struct flat *flat);
/* The table that the offset stored at `at` points to. */
struct flat_table flat_table_at(struct flat *flat, uint64_t at);
/* The offset of field `id` of a table; 0: absent, the default applies. */
uint64_t flat_field(struct flat *flat, struct flat_table table, unsigned id);
int64_t flat_int(struct flat *flat, struct flat_table table, unsigned id, unsigned n,
                 int64_t missing);
float flat_float(struct flat *flat, struct flat_table table, unsigned id,
                 float missing);
struct flat_table flat_table(struct flat *flat, struct flat_table table, unsigned id);
/* A vector of elements of `size` bytes. Checks that all of them are inside the file. */
struct flat_vector flat_vector(struct flat *flat, struct flat_table table, unsigned id,
                               unsigned size);
/* The size of a dense tensor in bytes; 0: unknown. */
uint64_t flat_dense_bytes(enum dtype dtype, const int64_t *shape, int rank);
/* The float and the double with these bits. */
float flat_real(uint32_t bits);
double flat_double(uint64_t bits);
/* The first `most` of n bytes, copied into the arena. */
struct str flat_bytes(struct flat *flat, uint64_t at, uint64_t n, size_t most,
                      struct arena *arena);
/* A string, copied into the arena and cut to `most` bytes. */
struct str flat_text(struct flat *flat, struct flat_table table, unsigned id,
                     size_t most, struct arena *arena);
struct str flat_text_at(struct flat *flat, uint64_t at, size_t most,
                        struct arena *arena);

/* ---- flex.c ---- */

/* The flexbuffer in `size` bytes as a plain value; VALUE_ID_NONE: it is damaged. */
uint32_t flat_flex(struct flat *flat, uint64_t at, uint64_t size, struct build *build);

#endif
