/* quant_in.h - weights that are packed in several tensors of a module: codes of a few
 * bits, scales, zero points. For each such module a derived tensor is added, which has
 * the shape and the values of the real weight. Files do not name these layouts: they are
 * detected by the names, types and shapes of the tensors, and only an exact fit is used.
 *
 *   quant.c         finds the modules, adds the derived tensors
 *   quant_match.c   GPTQ, AWQ, compressed-tensors, int8 and FP8 with scales: do the
 *                   shapes fit?
 *   quant_fp4.c     the same for NVFP4, MXFP4, MXFP6 and the blocks of gpt-oss
 *   quant_bnb.c     bitsandbytes
 *   quant_mlx.c     MLX
 *   quant_hqq.c     HQQ, optimum-quanto and BitNet
 *   quant_torchao.c torchao, in safetensors and pickled
 *   quant_values.c  codes become numbers, in windows */
#ifndef READ_QUANT_QUANT_IN_H
#define READ_QUANT_QUANT_IN_H

#include "model/build.h"
#include "read/file/file_source_in.h"

#define QUANT_RANK    8
#define QUANT_COLUMNS 1024 /* decoded at once, of one row */

/* Adds the real weights of all modules with packed weights, and makes the packed parts
 * buffers. A pickled tensor subclass of torchao gets the real values itself. Call it once
 * the tree is complete. Parts that do not fit are left alone. */
void quant_weights(struct build *build);

enum quant_part {
    QUANT_QWEIGHT, /* GPTQ, AWQ */
    QUANT_QZEROS,
    QUANT_SCALES,
    QUANT_G_IDX,
    QUANT_BIASES, /* MLX */
    QUANT_W_Q,    /* HQQ */
    QUANT_ZERO,
    QUANT_SHAPE,
    QUANT_NBITS,
    QUANT_AXIS,
    QUANT_WEIGHT, /* bitsandbytes, int8, FP8 */
    QUANT_SCB,
    QUANT_WEIGHT_FORMAT,
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
    QUANT_WEIGHT_GLOBAL_SCALE, /* NVFP4 */
    QUANT_WEIGHT_SCALE_2,
    QUANT_BLOCKS, /* gpt-oss */
    QUANT_BLOCK_SCALES,
    QUANT_AO_DATA, /* torchao in safetensors */
    QUANT_AO_SCALE,
    QUANT_AO_ZERO_POINT,
    QUANT_AO_TENSOR_SCALE,
    QUANT_AO_INNER_DATA, /* torchao, pickled */
    QUANT_AO_INT_DATA,
    QUANT_AO_FLOAT8_DATA,
    QUANT_AO_INNER_SCALE,
    QUANT_AO_INNER_ZERO_POINT,
    QUANT_AO_INNER_TENSOR_SCALE,
    QUANT_AO_MAP,
    QUANT_QUANTO_DATA, /* optimum-quanto */
    QUANT_QUANTO_PACKED,
    QUANT_QUANTO_SCALE,
    QUANT_QUANTO_SHIFT,
    QUANT_INPUT_SCALE, /* beside any of them, unused */
    QUANT_INPUT_ZERO_POINT,
    QUANT_INPUT_GLOBAL_SCALE,
    QUANT_OUTPUT_SCALE,
    QUANT_OUTPUT_ZERO_POINT,
    QUANT_AO_SCALE_AND_ZERO, /* layouts that are shown as stored: torchao */
    QUANT_CODES,             /* AQLM */
    QUANT_CODEBOOKS,
    QUANT_INDICES, /* VPTQ */
    QUANT_CENTROIDS,
    QUANT_WEIGHT_SCALES, /* EETQ */
    QUANT_WSCALES,       /* nunchaku */
    QUANT_BITMASK,       /* sparse ones of compressed-tensors */
    QUANT_COMPRESSED,
    QUANT_SCALE_PACKED,
    QUANT_PARTS,
    QUANT_NO_PART = QUANT_PARTS
};

/* A module with packed weights. */
struct quant_module {
    uint32_t node;
    uint32_t stem; /* string id of the weight's name if its parts are named after
                          it, "_weight_qdata"; else that of "weight" */
    uint32_t
        metadata;    /* the entry of the weight in the metadata of the file; or None */
    uint32_t config; /* its settings in config.json: a dict; or None */
    bool taken;      /* there is a tensor of the weight's name */
    uint32_t parts[QUANT_PARTS]; /* nodes of tensors; NO_PLACE: it has none */
};

/* A tensor whose elements follow each other. */
struct quant_run {
    uint64_t at, n; /* bytes in the storage; elements */
    uint32_t storage;
    uint8_t dtype;
};

/* The order of the codes in their words. */
enum quant_order {
    QUANT_DOWN,         /* int32: a column is a stream of bits, lowest first (GPTQ) */
    QUANT_ALONG,        /* int32: a row is one, and begins at a word */
    QUANT_ALONG_AWQ,    /* the same, with 8 columns of a word in the order of AWQ */
    QUANT_HIGH_FIRST,   /* uint8: the high half is first (bitsandbytes) */
    QUANT_LOW_FIRST,    /* uint8: a row is a stream of bits, lowest first */
    QUANT_BYTES,        /* a code is a byte */
    QUANT_STACKED,      /* words hold a code of each part of the rows, lowest bits first
                         (quanto) */
    QUANT_STACKED_HIGH, /* the same, the part of the first rows highest (HQQ) */
};

/* What a code means before its zero point is subtracted. */
enum quant_meaning {
    QUANT_UNSIGNED,
    QUANT_BIASED, /* code - half of the codes */
    QUANT_FLOAT,  /* the number of its element type: int8, FP8 */
    QUANT_MAPPED, /* an entry of the table `map` */
};

/* (value of the code - zero point) * scale * factor, in float32, for a matrix of rows
 * and columns as they are stored. Scales and zero points are matrices in which one
 * element serves a block of rows and columns. All scales may be multiplied or divided by
 * one more. */
struct quant_weight {
    struct computed computed; /* first */
    uint64_t rows, columns;
    uint64_t block_rows, block_columns; /* that share a scale */
    uint64_t scale_columns, scale_rows;
    uint64_t word_columns; /* (bytes) of a row of the codes, or of all rows together */
    uint64_t zero_words;   /* of a row of packed zero points */
    uint64_t part_rows;    /* STACKED: rows whose codes are in different words */
    uint64_t whole_rows;   /* that share an element of `whole`, if it has several */
    struct quant_run codes, scales;
    struct quant_run zeros; /* n 0: none */
    struct quant_run index; /* n 0: none; else the row (column) of the scales */
    struct quant_run map;   /* MAPPED */
    struct quant_run whole; /* n 0: none; else one scale for all, or for some rows */
    struct quant_run nested_scales, nested_map; /* the scales are codes themselves */
    uint32_t nested_block;
    float nested_offset, factor;
    uint8_t bits, order, meaning;
    uint8_t zero_order; /* BYTES: not packed */
    uint8_t zero_bias;  /* subtracted from a zero point as it is stored */
    uint8_t zero_more;  /* added to it, or instead of it */
    bool index_columns; /* the index is that of columns */
    bool whole_divides;
    bool scales_divide; /* the scales are reciprocals */
    bool scales_down;   /* scales and zero points are stored as (groups, rows) */
    bool scales_tiled;  /* scales are in the order of tensor cores: tiles of 128 x 4 */
    bool zero_added;    /* value * scale + zero point */
    bool zero_negative; /* the zero point is subtracted instead */
};

int quant_values(const struct computed *computed, struct source *source, uint64_t at,
                 void *to, size_t n, struct err *err);

/* The result of a matcher: the name of the layout and the shape of the real weight. */
struct quant_found {
    struct quant_weight weight;
    const char *packing;
    uint64_t group; /* values that share a scale; 0: a channel, a block or all */
    const char *note;
    int64_t shape[QUANT_RANK];
    int rank;
    bool beside;      /* a module has the weight's name */
    bool transposed;  /* the last two dimensions are stored transposed */
    uint32_t codes;   /* the part of the codes */
    uint32_t wrapped; /* the tensor that gets the values; NO_OBJECT: a new one */
    unsigned bits;    /* if fewer than those that are stored; else 0 */
};

/* The arguments of a matcher. */
struct quant_matching {
    struct build *build;
    const struct quant_module *module;
    struct quant_found *found;
};

/* Is the module packed in this layout? Only an exact fit is used. */
bool quant_match(struct build *build, const struct quant_module *module,
                 struct quant_found *ret_found);
bool quant_match_nvfp4(const struct quant_matching *m);
bool quant_match_mx(const struct quant_matching *m);
bool quant_match_blocks(const struct quant_matching *m);
bool quant_match_torchao(const struct quant_matching *m);
bool quant_match_int8(const struct quant_matching *m);
bool quant_match_4bit(const struct quant_matching *m);
bool quant_match_mlx(const struct quant_matching *m);
bool quant_match_bitnet(const struct quant_matching *m);
bool quant_match_hqq(const struct quant_matching *m);
bool quant_match_quanto(const struct quant_matching *m);

/* The attributes of an MXTensor or NVFP4Tensor of torchao. */
struct quant_mx {
    uint64_t block;    /* values that share a scale; 0: unknown */
    uint8_t codes;     /* enum dtype; DTYPE_UNKNOWN: one that is not supported */
    bool nvfp4, tiled; /* scales are e4m3, not e8m0; in tiles */
};

/* Do codes of torchao fit their scales? `whole` is the part with the scales of all. */
bool quant_mx_fits(const struct quant_matching *m, const struct quant_mx *mx,
                   const struct tensor *codes, const struct tensor *scales,
                   enum quant_part whole);

/* The part as a matrix; a scalar and a vector are a column. */
bool quant_matrix(const struct quant_matching *m, enum quant_part part,
                  struct quant_run *ret_run, uint64_t ret_size[2]);
bool quant_has(const struct quant_matching *m, enum quant_part part);
bool quant_is_scale(unsigned dtype);
/* The text of a key in the settings that config.json has; empty if it is missing. */
struct str quant_config_text(const struct quant_matching *m, const char *key);
/* The same for an integer from 1 to `most`; false if it is missing or another one. */
bool quant_config_count(const struct quant_matching *m, const char *key, uint64_t most,
                        uint64_t *ret_count);
/* Rows and columns of a tensor whose first dimensions are taken together. */
bool quant_rows(const struct quant_matching *m, enum quant_part part,
                struct quant_run *ret_run, uint64_t ret_size[2]);
/* Reads a part of at most `most` integers. Returns how many it has; 0: unusable. */
int quant_integers(const struct quant_matching *m, enum quant_part part, int64_t *to,
                   int most);
/* The shape of the real weight: that of a part, but for the size of the last dimension,
 * which is the number of columns. */
bool quant_shape_of(const struct quant_matching *m, enum quant_part part);

/* The tensor of a part if its values can be read in any order, else NULL; *ret_run. */
const struct tensor *quant_tensor(const struct build *build,
                                  const struct quant_module *module,
                                  enum quant_part part, struct quant_run *ret_run);

#endif
