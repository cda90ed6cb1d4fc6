/* elements_in.h - the inside of an iteration over elements. */
#ifndef MEASURE_ELEMENTS_IN_H
#define MEASURE_ELEMENTS_IN_H

#include "measure/elements.h"

#define ELEMENTS_BLOCK  ((size_t)256 * 1024)  /* bytes given out at once, when copied */
#define ELEMENTS_DIRECT ((size_t)1024 * 1024) /* the same, when they lie in memory */
#define ELEMENTS_WINDOW ((size_t)512 * 1024)  /* of the storage, held for gathering */
/* Most bytes held of a transposed tensor. */
#define ELEMENTS_TILE ((size_t)32 * 1024 * 1024)
#define ELEMENTS_RANK 255

/* One dimension of what is walked, after those of size 1 are gone and neighbours that
 * can be walked as one are joined. Outermost first. */
struct elements_dim {
    uint64_t size;
    uint64_t stride; /* in elements of the storage */
    uint64_t index;  /* in elements of the tensor, in C order */
};

/* How the elements are fetched. */
enum elements_way {
    WAY_DENSE,  /* they lie side by side in the order wanted */
    WAY_GROUPS, /* the inner dimensions span little: hold that span, pick from it */
    WAY_TILE, /* transposed: hold a few rows of the result, as short lines of storage */
    WAY_STREAM, /* far apart: one small read each, or a window that moves along */
    WAY_CODES,  /* packed codes that do not begin at a byte: one by one, packed anew */
};

struct elements {
    const struct model *model;
    struct source *source;
    uint32_t storage;
    uint64_t readable;     /* bytes of the storage */
    const uint8_t *direct; /* all of the storage, or NULL */

    enum dtype dtype;
    size_t size;   /* bytes of an element; packed types: of a block of elements */
    unsigned bits; /* of an element, where packed; else 0 */
    size_t swap;   /* bytes to reverse as one, or 0 */
    bool conj, neg;

    uint64_t offset;  /* of the first element in the storage, in elements */
    uint64_t at, end; /* the next and last element to give, in the order walked */
    uint64_t first;   /* where `at` began */
    bool in_order;    /* the order walked is C order */
    enum elements_way way;
    int rank;
    struct elements_dim dims[ELEMENTS_RANK];

    uint8_t *block;    /* what was given out, where it had to be copied */
    size_t block_most; /* bytes given out at once, ELEMENTS_BLOCK at most */
    uint8_t *window;   /* bytes window_at to window_at + window_n of the storage */
    uint64_t window_at;
    size_t window_n;
    size_t read_ahead; /* what a miss reads at least */

    int inner;           /* GROUPS, TILE: the first dimension inside a group or plane */
    uint64_t inner_n;    /* elements in it */
    uint64_t inner_span; /* GROUPS: from its first element to its last, in elements */
    uint8_t *tile;       /* TILE: a line for each element of the plane */
    uint64_t tile_rows;  /* rows of the result that a tile holds */
    uint64_t tile_at, tile_n; /* elements at to at + n of the order walked are held */
    size_t line;              /* bytes of a line */
};

/* As elements_open(), but every element of an expanded tensor comes once; *ret_times is
 * how often each stands for. Always in the order of memory. */
struct elements *elements_open_distinct(const struct model *model,
                                        const struct tensor *tensor,
                                        uint64_t *ret_times, struct err *err);

/* Choose the way for elements that are not dense, and find room for it. */
int gather_plan(struct elements *e, struct err *err);

/* Copy elements `e->at` to `e->at + n` to `to`. */
int gather(struct elements *e, uint64_t n, uint8_t *to, struct err *err);

/* Bytes `at` to `at + n` of the storage, n <= ELEMENTS_WINDOW; good until the next
 * call. */
const uint8_t *storage_window(struct elements *e, uint64_t at, size_t n,
                              struct err *err);

#endif
