#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "measure/elements.h"
#include "read/quant/quant_in.h"

#define CODES 256

/* The columns of one row that are being decoded, and what was read for them. It is kept
 * for the next row, which often needs the same. */
struct quant_window {
    const struct quant_weight *weight;
    struct source *source;
    uint64_t column; /* the first; n of them */
    size_t n;
    uint64_t word_row, scale_row; /* of what is in the arrays; UINT64_MAX: nothing */
    uint64_t scale_column;
    float values[CODES];
    uint32_t words[QUANT_COLUMNS], more_words[QUANT_COLUMNS];
    uint8_t codes[QUANT_COLUMNS];
    float scales[QUANT_COLUMNS], zeros[QUANT_COLUMNS];
    uint64_t whole_at; /* 1 + the index of `whole`; 0: not read */
    float whole;
};

/* ---- reading a few elements ---- */

/* Decodes n elements of a run from index `first`, in float32. */
static int read_floats(struct source *source, const struct quant_run *run,
                       uint64_t first, size_t n, float *to, struct err *err)
{
    size_t size = dtype_info(run->dtype)->bytes;
    uint8_t raw[64 * 8];
    double values[64];

    for (size_t done = 0, now; done < n; done += now) {
        now = n - done < COUNT_OF(values) ? n - done : COUNT_OF(values);
        if (source_bytes(source, run->storage, run->at + (first + done) * size, raw,
                         now * size, err) < 0)
            return -1;
        elements_decode((enum dtype)run->dtype, raw, 0, now, values);
        for (size_t i = 0; i < now; i++)
            to[done + i] = (float)values[i];
    }
    return 0;
}

static int read_bytes(struct source *source, const struct quant_run *run,
                      uint64_t first, size_t n, uint8_t *to, struct err *err)
{
    return source_bytes(source, run->storage, run->at + first, to, n, err);
}

static int read_words(struct source *source, const struct quant_run *run,
                      uint64_t first, size_t n, uint32_t *to, struct err *err)
{
    return source_bytes(source, run->storage, run->at + 4 * first, to, 4 * n, err);
}

/* ---- codes ---- */

/* `bits` bits from bit `shift` of two words on. */
static inline uint8_t take_bits(uint32_t word, uint32_t next, unsigned shift,
                                unsigned bits)
{
    uint64_t both = (uint64_t)next << 32 | word;

    return (uint8_t)(both >> shift & ((1u << bits) - 1));
}

/* Row `row` of a matrix whose columns are streams of bits. */
static int codes_down(struct quant_window *w, const struct quant_run *run,
                      uint64_t stride, uint64_t row, unsigned bits, uint64_t column,
                      size_t n, uint64_t *word_row, uint8_t *to, struct err *err)
{
    uint64_t bit = row * bits, word = bit / 32;
    unsigned shift = (unsigned)(bit % 32);
    bool two = shift + bits > 32;

    if (*word_row != word) {
        *word_row = UINT64_MAX;
        if (read_words(w->source, run, word * stride + column, n, w->words, err) < 0)
            return -1;
        *word_row = word;
    }
    if (two && read_words(w->source, run, (word + 1) * stride + column, n,
                          w->more_words, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        to[i] = take_bits(w->words[i], two ? w->more_words[i] : 0, shift, bits);
    return 0;
}

/* A part of a row that is a stream of bits, from its first word `begin` on. */
static int codes_along(struct quant_window *w, const struct quant_run *run,
                       uint64_t begin, unsigned bits, bool awq, uint64_t column,
                       size_t n, uint8_t *to, struct err *err)
{
    /* The place of each of eight columns in a word. */
    static const uint8_t awq_places[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    uint64_t first = awq ? column / 8 : column * bits / 32;
    uint64_t last = awq ? (column + n - 1) / 8 : ((column + n) * bits - 1) / 32;
    size_t n_words = (size_t)(last - first + 1);

    if (read_words(w->source, run, begin + first, n_words, w->words, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = (column + i) * bits;
        size_t word;

        if (awq)
            bit = (column + i) / 8 * 32 + 4u * awq_places[(column + i) % 8];
        word = (size_t)(bit / 32 - first);
        to[i] = take_bits(w->words[word], word + 1 < n_words ? w->words[word + 1] : 0,
                          (unsigned)(bit % 32), bits);
    }
    return 0;
}

static int codes_high_first(struct quant_window *w, const struct quant_run *run,
                            uint64_t first, size_t n, uint8_t *to, struct err *err)
{
    uint8_t bytes[QUANT_COLUMNS / 2 + 1];
    uint64_t begin = first / 2;

    if (read_bytes(w->source, run, begin, (size_t)((first + n + 1) / 2 - begin), bytes,
                   err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = bytes[(first + i) / 2 - begin];

        to[i] = (first + i) % 2 ? byte & 15 : byte >> 4;
    }
    return 0;
}

/* A part of a row that is a stream of bits in bytes, from byte `begin` on. */
static int codes_low_first(struct quant_window *w, const struct quant_run *run,
                           uint64_t begin, unsigned bits, uint64_t column, size_t n,
                           uint8_t *to, struct err *err)
{
    uint8_t bytes[QUANT_COLUMNS + 1] = {0}; /* one more than there are */
    uint64_t first = column * bits / 8, last = ((column + n) * bits - 1) / 8;

    if (read_bytes(w->source, run, begin + first, (size_t)(last - first + 1), bytes,
                   err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = (column + i) * bits;
        const uint8_t *at = &bytes[bit / 8 - first];

        to[i] = (uint8_t)((at[0] | at[1] << 8) >> bit % 8 & ((1 << bits) - 1));
    }
    return 0;
}

/* Row `row` of a matrix whose parts share words. */
static int codes_stacked(struct quant_window *w, uint64_t row, struct err *err)
{
    const struct quant_weight *q = w->weight;
    bool bytes = q->codes.dtype == DTYPE_UINT8;
    uint64_t part = row / q->part_rows;
    uint64_t first = row % q->part_rows * q->columns + w->column;
    unsigned last = (bytes ? 8u : 32u) / q->bits - 1;
    unsigned shift =
        q->bits * (q->order == QUANT_STACKED ? (unsigned)part : last - (unsigned)part);

    if (bytes ? read_bytes(w->source, &q->codes, first, w->n, w->codes, err) < 0
              : read_words(w->source, &q->codes, first, w->n, w->words, err) < 0)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        w->codes[i] = take_bits(bytes ? w->codes[i] : w->words[i], 0, shift, q->bits);
    return 0;
}

static int read_codes(struct quant_window *w, uint64_t row, struct err *err)
{
    const struct quant_weight *q = w->weight;

    switch (q->order) {
    case QUANT_DOWN:
        return codes_down(w, &q->codes, q->word_columns, row, q->bits, w->column, w->n,
                          &w->word_row, w->codes, err);
    case QUANT_ALONG:
    case QUANT_ALONG_AWQ:
        return codes_along(w, &q->codes, row * q->word_columns, q->bits,
                           q->order == QUANT_ALONG_AWQ, w->column, w->n, w->codes, err);
    case QUANT_LOW_FIRST:
        return codes_low_first(w, &q->codes, row * q->word_columns, q->bits, w->column,
                               w->n, w->codes, err);
    case QUANT_STACKED:
    case QUANT_STACKED_HIGH:
        return codes_stacked(w, row, err);
    case QUANT_HIGH_FIRST:
        return codes_high_first(w, &q->codes, row * q->columns + w->column, w->n,
                                w->codes, err);
    default:
        return read_bytes(w->source, &q->codes, row * q->columns + w->column, w->n,
                          w->codes, err);
    }
}

/* Fills the table of the values of all codes. */
static int read_meaning(struct quant_window *w, struct err *err)
{
    const struct quant_weight *q = w->weight;
    double real;

    if (q->meaning == QUANT_MAPPED)
        return read_floats(w->source, &q->map, 0, (size_t)q->map.n, w->values, err);
    for (unsigned code = 0; code < 1u << q->bits; code++) {
        uint8_t byte = (uint8_t)code;

        w->values[code] = (float)code;
        if (q->meaning == QUANT_BIASED)
            w->values[code] -= (float)(1u << (q->bits - 1));
        if (q->meaning == QUANT_FLOAT &&
            elements_decode((enum dtype)q->codes.dtype, &byte, 0, 1, &real))
            w->values[code] = (float)real;
    }
    return 0;
}

/* ---- scales and zero points ---- */

/* The scales of bitsandbytes may be codes with scales of their own. */
static int read_scales(struct quant_window *w, uint64_t first, size_t n,
                       struct err *err)
{
    const struct quant_weight *q = w->weight;
    uint8_t codes[QUANT_COLUMNS];
    float map[CODES], scale = 0;
    uint64_t block = UINT64_MAX;

    if (q->nested_map.n == 0)
        return read_floats(w->source, &q->scales, first, n, w->scales, err);
    if (read_bytes(w->source, &q->scales, first, n, codes, err) < 0 ||
        read_floats(w->source, &q->nested_map, 0, CODES, map, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (block != (first + i) / q->nested_block) {
            block = (first + i) / q->nested_block;
            if (read_floats(w->source, &q->nested_scales, block, 1, &scale, err) < 0)
                return -1;
        }
        w->scales[i] = map[codes[i]] * scale;
        w->scales[i] += q->nested_offset;
    }
    return 0;
}

/* Row `row` of the zero points from column `column` on. */
static int read_zeros(struct quant_window *w, uint64_t row, uint64_t column, size_t n,
                      struct err *err)
{
    const struct quant_weight *q = w->weight;
    uint8_t codes[QUANT_COLUMNS];
    uint64_t unused = UINT64_MAX;
    int status;

    if (q->zeros.n == 0) {
        for (size_t i = 0; i < n; i++)
            w->zeros[i] = q->zero_more;
        return 0;
    }
    if (q->zero_order == QUANT_BYTES)
        return read_floats(w->source, &q->zeros, row * q->scale_columns + column, n,
                           w->zeros, err);
    w->word_row = UINT64_MAX; /* its words are overwritten */
    if (q->zero_order == QUANT_DOWN)
        status = codes_down(w, &q->zeros, q->zero_words, row, q->bits, column, n,
                            &unused, codes, err);
    else
        status = codes_along(w, &q->zeros, row * q->zero_words, q->bits,
                             q->zero_order == QUANT_ALONG_AWQ, column, n, codes, err);
    for (size_t i = 0; i < n && status == 0; i++)
        w->zeros[i] = (float)(codes[i] + q->zero_more - q->zero_bias);
    return status;
}

/* Reads group numbers from the index and checks them. */
static int read_index(struct quant_window *w, uint64_t at, size_t n, uint64_t most,
                      float *to, struct err *err)
{
    if (read_floats(w->source, &w->weight->index, at, n, to, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!(to[i] >= 0 && to[i] < (float)most))
            return err_set(err, ERR_FORMAT,
                           "the packed weight has %" PRIu64
                           " groups, and one of its elements is in group %g",
                           most, (double)to[i]);
    return 0;
}

/* The same for row `row` of scales and zero points that are stored as (groups, rows). */
static int read_down(struct quant_window *w, uint64_t row, size_t n, struct err *err)
{
    const struct quant_weight *q = w->weight;

    for (size_t i = 0; i < n; i++) {
        uint64_t at = (w->scale_column + i) * q->scale_rows + row;

        w->zeros[i] = 0;
        if (read_floats(w->source, &q->scales, at, 1, &w->scales[i], err) < 0 ||
            (q->zeros.n > 0 &&
             read_floats(w->source, &q->zeros, at, 1, &w->zeros[i], err) < 0))
            return -1;
    }
    return 0;
}

/* The same for row `row` of scales in tiles of 128 rows and 4 columns. Element (i, j) of a
 * tile is at i % 32 * 16 + i / 32 * 4 + j. */
static int read_tiled(struct quant_window *w, uint64_t row, size_t n, struct err *err)
{
    const struct quant_weight *q = w->weight;
    uint64_t tiles = (q->scale_columns + 3) / 4;
    uint64_t in_tile = row % 32 * 16 + row % 128 / 32 * 4;

    for (size_t done = 0, now; done < n; done += now) {
        uint64_t column = w->scale_column + done;
        uint64_t tile = row / 128 * tiles + column / 4;

        now = 4 - (size_t)(column % 4);
        if (now > n - done)
            now = n - done;
        if (read_floats(w->source, &q->scales, tile * 512 + in_tile + column % 4, now,
                        &w->scales[done], err) < 0)
            return -1;
    }
    return 0;
}

/* Multiplies the scales by the one of all, or of the rows around `row`. */
static int apply_whole(struct quant_window *w, uint64_t row, size_t n, struct err *err)
{
    const struct quant_weight *q = w->weight;
    uint64_t at = q->whole.n > 1 ? row / q->whole_rows : 0;

    if (q->whole.n == 0)
        return 0;
    if (w->whole_at != at + 1 &&
        read_floats(w->source, &q->whole, at, 1, &w->whole, err) < 0)
        return -1;
    w->whole_at = at + 1;
    for (size_t i = 0; i < n; i++)
        w->scales[i] =
            q->whole_divides ? w->scales[i] / w->whole : w->scales[i] * w->whole;
    return 0;
}

/* Reads scales and zero points of row `row` of the scales. */
static int read_row(struct quant_window *w, uint64_t row, size_t n, struct err *err)
{
    const struct quant_weight *q = w->weight;

    if (q->scales_down)
        return read_down(w, row, n, err);
    if (q->scales_tiled
            ? read_tiled(w, row, n, err) < 0
            : read_scales(w, row * q->scale_columns + w->scale_column, n, err) < 0)
        return -1;
    for (size_t i = 0; q->scales_divide && i < n; i++)
        w->scales[i] = 1 / w->scales[i];
    return read_zeros(w, row, w->scale_column, n, err);
}

/* Makes scales and zeros those of `row`; element i is that of column
 * scale_column + i of the scales. */
static int prepare_scales(struct quant_window *w, uint64_t row, struct err *err)
{
    const struct quant_weight *q = w->weight;
    uint64_t at = row / q->block_rows, last;
    float group;
    size_t n;

    if (q->index.n > 0 && !q->index_columns) {
        if (read_index(w, row, 1, q->scale_rows, &group, err) < 0)
            return -1;
        at = (uint64_t)group;
    }
    if (w->scale_row == at)
        return 0;
    w->scale_row = UINT64_MAX;
    w->scale_column = w->column / q->block_columns;
    last = (w->column + w->n - 1) / q->block_columns;
    if (q->index_columns) {
        w->scale_column = 0;
        last = q->scale_columns - 1;
    }
    n = (size_t)(last - w->scale_column + 1);
    if (read_row(w, at, n, err) < 0 || apply_whole(w, row, n, err) < 0)
        return -1;
    w->scale_row = at;
    return 0;
}

/* ---- values ---- */

/* The group of each column of the window, as a column of the scales read. */
static int find_groups(struct quant_window *w, uint16_t groups[QUANT_COLUMNS],
                       struct err *err)
{
    const struct quant_weight *q = w->weight;
    uint64_t first = w->column / q->block_columns;
    float index[QUANT_COLUMNS];

    if (q->index_columns &&
        read_index(w, w->column, w->n, q->scale_columns, index, err) < 0)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        groups[i] = q->index_columns
                        ? (uint16_t)index[i]
                        : (uint16_t)((w->column + i) / q->block_columns - first);
    return 0;
}

/* The columns of the window in row `row`; only [from, until) of them are wanted. */
static int decode_row(struct quant_window *w, const uint16_t *groups, uint64_t row,
                      size_t from, size_t until, uint8_t *to, struct err *err)
{
    const struct quant_weight *q = w->weight;

    if (prepare_scales(w, row, err) < 0 || read_codes(w, row, err) < 0)
        return -1;
    for (size_t i = from; i < until; i++) {
        float zero = w->zeros[groups[i]];
        float value = w->values[w->codes[i]] - (q->zero_added ? 0 : zero);

        value *= w->scales[groups[i]];
        if (q->zero_added)
            value += q->zero_negative ? -zero : zero;
        if (q->factor != 1)
            value *= q->factor;
        memcpy(to + (i - from) * sizeof value, &value, sizeof value);
    }
    return 0;
}

/* All elements [begin, end) that are in the columns of the window. */
static int decode_columns(struct quant_window *w, uint64_t begin, uint64_t end,
                          uint8_t *to, struct err *err)
{
    uint64_t columns = w->weight->columns;
    uint16_t groups[QUANT_COLUMNS];

    w->word_row = w->scale_row = UINT64_MAX;
    if (find_groups(w, groups, err) < 0)
        return -1;
    for (uint64_t row = begin / columns; row * columns < end; row++) {
        uint64_t at = row * columns + w->column;
        size_t from = at < begin ? (size_t)(begin - at) : 0;
        size_t until = w->n;

        if (at >= end || from >= w->n)
            continue;
        if (at + until > end)
            until = (size_t)(end - at);
        if (decode_row(w, groups, row, from, until,
                       to + (at + from - begin) * sizeof(float), err) < 0)
            return -1;
    }
    return 0;
}

int quant_values(const struct computed *computed, struct source *source, uint64_t at,
                 void *to, size_t n, struct err *err)
{
    const struct quant_weight *q = (const struct quant_weight *)computed;
    uint64_t begin = at / sizeof(float), end = (at + n) / sizeof(float);
    uint64_t first = 0, last = q->columns;
    struct quant_window w = {.weight = q, .source = source};

    if (end == begin)
        return 0;
    if (begin / q->columns == (end - 1) / q->columns) { /* in one row */
        first = begin % q->columns;
        last = (end - 1) % q->columns + 1;
    }
    if (read_meaning(&w, err) < 0)
        return -1;
    for (w.column = first; w.column < last; w.column += w.n) {
        w.n =
            last - w.column < QUANT_COLUMNS ? (size_t)(last - w.column) : QUANT_COLUMNS;
        if (decode_columns(&w, begin, end, to, err) < 0)
            return -1;
    }
    return 0;
}
