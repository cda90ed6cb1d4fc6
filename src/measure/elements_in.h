/* elements_in.h - internals of the iteration over elements. */
#ifndef MEASURE_ELEMENTS_IN_H
#define MEASURE_ELEMENTS_IN_H

#include "measure/elements.h"
#include "measure/sample_in.h"

#define ELEMENTS_BLOCK  ((size_t)256 * 1024)  /* bytes of a copied block, at most */
#define ELEMENTS_DIRECT ((size_t)1024 * 1024) /* of a block that is in memory */
#define ELEMENTS_WINDOW ((size_t)512 * 1024)  /* bytes of storage held to gather from */
/* Limit of bytes held of a transposed tensor. */
#define ELEMENTS_TILE ((size_t)32 * 1024 * 1024)
#define ELEMENTS_RANK 255

/* One dimension of the iteration, without dimensions of size 1 and with neighbours
 * joined where possible. Outermost first. */
struct elements_dim {
    uint64_t size;
    uint64_t stride; /* in elements of the storage */
    uint64_t index;  /* in elements of the tensor, in C order */
};

/* How elements are read. */
enum elements_way {
    WAY_DENSE,  /* adjacent, in the requested order */
    WAY_GROUPS, /* the inner dimensions span few bytes: read the span, pick from it */
    WAY_TILE,   /* transposed: hold a few rows of the result, read as short lines */
    WAY_STREAM, /* far apart: one small read each, or a moving window */
    WAY_CODES,  /* packed codes not aligned to a byte: one by one, packed again */
};

struct elements {
    const struct model *model;
    struct source *source;
    uint32_t storage;
    uint64_t readable;     /* bytes of the storage; of blocks: of what they decode to */
    const uint8_t *direct; /* all of the storage, or NULL */

    enum dtype stored; /* the tensor's */
    enum dtype dtype;  /* the returned type: elements_dtype(stored) */
    size_t size;       /* bytes of an element; packed types: of a block of elements */
    unsigned bits;     /* bits of a packed element; else 0 */
    size_t swap;       /* unit of byte swapping, or 0 */
    bool conj, neg;

    uint64_t offset;  /* of the first element in the storage, in elements */
    uint64_t at, end; /* next element and end, in the order of iteration */
    uint64_t first;   /* initial `at` */
    bool in_order;    /* the order is C order */
    enum elements_way way;
    int rank;
    struct elements_dim dims[ELEMENTS_RANK];

    uint8_t *block;    /* the current block, if it had to be copied */
    size_t block_most; /* bytes of a block, at most ELEMENTS_BLOCK */
    uint8_t *window;   /* bytes window_at to window_at + window_n of the storage */
    uint64_t window_at;
    size_t window_n;
    size_t read_ahead; /* minimum bytes that a miss reads */

    int inner;           /* GROUPS, TILE: the first dimension inside a group or plane */
    uint64_t inner_n;    /* elements in a group or plane */
    uint64_t inner_span; /* GROUPS: elements of storage that it spans */
    uint8_t *tile;       /* TILE: a line for each element of the plane */
    uint64_t tile_rows;  /* rows of the result that a tile holds */
    uint64_t tile_at, tile_n; /* the tile holds elements tile_at to tile_at + tile_n */
    size_t line;              /* bytes of a line */

    struct elements_blocks
        *blocks; /* decodes blocks with scales; NULL: there are none */
};

/* As elements_open(), but in memory order and with each element of an expanded tensor
 * once; sets *ret_times to the number of repetitions of each. */
struct elements *elements_open_distinct(const struct model *model,
                                        const struct tensor *tensor,
                                        uint64_t *ret_times, struct err *err);

/* Choose the way for elements that are not dense, and allocate for it. */
int elements_plan(struct elements *e, struct err *err);

/* Copy elements `e->at` to `e->at + n` to `to`. */
int elements_gather(struct elements *e, uint64_t n, uint8_t *to, struct err *err);

/* Copy bytes `at` to `at + n` of the storage; with e->blocks, of the float32 that it
 * decodes to: then both are multiples of 4. */
int elements_bytes(struct elements *e, uint64_t at, void *to, size_t n,
                   struct err *err);
/* Decode the blocks of such a type from now on. */
int elements_open_blocks(struct elements *e, struct err *err);

/* Bytes `at` to `at + n` of the storage, n <= ELEMENTS_WINDOW; valid until the next
 * call. */
const uint8_t *elements_window(struct elements *e, uint64_t at, size_t n,
                               struct err *err);
/* The code of a packed element, at offset `place` of the storage. */
int elements_code(struct elements *e, uint64_t place, uint8_t *ret_code,
                  struct err *err);
/* Apply byte order, negation and conjugation to gathered elements. */
void elements_finish(const struct elements *e, uint8_t *at, size_t bytes);

/* m of all n elements, at the positions of sample_in.h. */
struct elements_sample {
    struct elements *e;
    struct sample_places places;
};

/* Begin with a new iteration over all elements in C order; 0 < m <= n. */
int elements_sample_begin(struct elements_sample *sample, struct elements *e,
                          uint64_t m, struct err *err);
/* Copy the next n of the m elements to `to`; of packed ones, a multiple of a block
 * except for the last call. */
int elements_sample_next(struct elements_sample *sample, size_t n, uint8_t *to,
                         struct err *err);

#endif
