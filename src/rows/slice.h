/* slice.h - which elements of a tensor: "[83, 220:230]", as numpy reads it.
 * Integers, negative ones from the end; start:stop:step with any part left out and
 * negative steps; one "..." for all dimensions in between. What is left out at the end
 * is taken whole. Brackets and blanks may be left out. */
#ifndef ROWS_SLICE_H
#define ROWS_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

#define SLICE_RANK 64

struct slice_dim {
    int64_t start, step; /* of the elements taken, in the tensor's own index */
    uint64_t n;          /* how many */
    bool single;         /* an integer: the dimension goes away in the result */
};

struct slice {
    struct slice_dim dims[SLICE_RANK];
    int rank;
    uint64_t n; /* elements in all */
};

/* Fails with ERR_USAGE: a word that is no slice, an index that is out of range, more
 * dimensions than there are. */
int slice_parse(struct slice *slice, struct str text, const int64_t *shape, int rank,
                struct err *err);
/* Everything. */
int slice_all(struct slice *slice, const int64_t *shape, int rank, struct err *err);
/* At most `n` along a dimension. */
void slice_cut(struct slice *slice, int dim, uint64_t n);
/* The sizes of the result; returns its rank. */
int slice_shape(const struct slice *slice, int64_t shape[SLICE_RANK]);

/* The values of a slice, in C order. */
enum cell_kind { CELL_REAL, CELL_COMPLEX, CELL_PAIR, CELL_INT, CELL_UINT, CELL_BOOL };
struct cells {
    enum cell_kind kind;
    uint64_t n;
    double *reals;     /* CELL_REAL; two for each cell of CELL_COMPLEX and CELL_PAIR */
    int64_t *integers; /* CELL_INT, CELL_UINT (cast), CELL_BOOL */
};

/* Read them into the arena, which bounds their number. */
int cells_read(const struct model *model, const struct tensor *tensor,
               const struct slice *slice, struct arena *arena, struct work *work,
               struct cells *ret_cells, struct err *err);

#endif
