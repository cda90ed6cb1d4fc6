/* quant_in.h - weights that are packed in several tensors of a module: codes of a few
 * bits, scales, zero points. For each such module a derived tensor is added, which has
 * the shape and the values of the real weight. No file names these layouts; they are
 * known by the names, types and shapes of the tensors, and only an exact fit counts.
 *
 *   quant.c         finds the modules, adds the derived tensors
 *   quant_match.c   GPTQ, AWQ, compressed-tensors, int8 and FP8 with scales: do the
 *                   shapes fit?
 *   quant_bnb.c     the same for bitsandbytes
 *   quant_values.c  codes become numbers, in windows */
#ifndef READ_QUANT_QUANT_IN_H
#define READ_QUANT_QUANT_IN_H

#include "model/build.h"
#include "read/file/file_source_in.h"

#define QUANT_RANK    8
#define QUANT_COLUMNS 1024 /* decoded at once, of one row */

/* Adds the real weights of all modules with packed weights, and makes the packed parts
 * buffers. Call it once the tree is complete. Parts that do not fit are left alone. */
void quant_weights(struct build *build);

enum quant_part {
    QUANT_QWEIGHT, /* GPTQ, AWQ */
    QUANT_QZEROS,
    QUANT_SCALES,
    QUANT_G_IDX,
    QUANT_WEIGHT, /* bitsandbytes, int8, FP8 */
    QUANT_SCB,
    QUANT_ABSMAX,
    QUANT_MAP,
    QUANT_NESTED_ABSMAX,
    QUANT_NESTED_MAP,
    QUANT_STATE,
    QUANT_WEIGHT_PACKED, /* compressed-tensors */
    QUANT_WEIGHT_SCALE,
    QUANT_WEIGHT_SCALE_INV,
    QUANT_WEIGHT_ZERO_POINT,
    QUANT_WEIGHT_SHAPE,
    QUANT_WEIGHT_G_IDX,
    QUANT_PARTS,
    QUANT_NO_PART = QUANT_PARTS
};

/* A module with packed weights. */
struct quant_module {
    uint32_t node;
    uint32_t parts[QUANT_PARTS]; /* nodes of tensors; NO_PLACE: it has none */
};

/* A tensor whose elements follow each other. */
struct quant_run {
    uint64_t at, n; /* bytes in the storage; elements */
    uint32_t storage;
    uint8_t dtype;
};

/* How the codes of a weight lie in its words. */
enum quant_order {
    QUANT_DOWN,       /* int32: a column is a stream of bits, lowest first (GPTQ) */
    QUANT_ALONG,      /* int32: a row is one, and begins at a word */
    QUANT_ALONG_AWQ,  /* the same, with 8 columns of a word in the order of AWQ */
    QUANT_HIGH_FIRST, /* uint8: the high half is first (bitsandbytes) */
    QUANT_BYTES,      /* a code is a byte */
};

/* What a code means before its zero point is subtracted. */
enum quant_meaning {
    QUANT_UNSIGNED,
    QUANT_BIASED, /* code - half of the codes */
    QUANT_FLOAT,  /* the type of the codes says it: int8, FP8 */
    QUANT_MAPPED, /* the table `map` says it */
};

/* (value of the code - zero point) * scale * factor, in float32, for a matrix of rows
 * and columns as they are stored. Scales and zero points are matrices in which one
 * element serves a block of rows and columns. */
struct quant_weight {
    struct computed computed; /* first */
    uint64_t rows, columns;
    uint64_t block_rows, block_columns; /* that share a scale */
    uint64_t scale_columns, scale_rows;
    uint64_t word_columns; /* of a row of the codes, or of all rows together */
    uint64_t zero_words;   /* of a row of packed zero points */
    struct quant_run codes, scales;
    struct quant_run zeros; /* n 0: none */
    struct quant_run index; /* n 0: none; else the row (column) of the scales */
    struct quant_run map;   /* MAPPED */
    struct quant_run nested_scales, nested_map; /* the scales are codes themselves */
    uint32_t nested_block;
    float nested_offset, factor;
    uint8_t bits, order, meaning;
    uint8_t zero_order; /* BYTES: not packed */
    uint8_t zero_bias;  /* subtracted from a zero point as it is stored */
    uint8_t zero_more;  /* added to it */
    bool index_columns; /* the index is that of columns */
};

int quant_values(const struct computed *computed, struct source *source, uint64_t at,
                 void *to, size_t n, struct err *err);

/* What a layout is called, and what the real weight looks like. */
struct quant_found {
    struct quant_weight weight;
    const char *packing;
    uint64_t group; /* values that share a scale; 0: a channel, a block or all */
    const char *note;
    int64_t shape[QUANT_RANK];
    int rank;
    bool transposed; /* stored as (in, out) */
    uint32_t codes;  /* the part of the codes */
};

/* Is the module packed in this way? Each part is used only if it fits exactly. */
bool quant_match(struct build *build, const struct quant_module *module,
                 struct quant_found *ret_found);
bool quant_match_bnb(struct build *build, const struct quant_module *module,
                     struct quant_found *ret_found);

/* The tensor of a part if its values can be read in any order, else NULL; *ret_run. */
const struct tensor *quant_tensor(const struct build *build,
                                  const struct quant_module *module,
                                  enum quant_part part, struct quant_run *ret_run);

#endif
