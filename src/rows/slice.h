/* slice.h - selects elements of a tensor in numpy syntax: "[83, 220:230]". Supports
 * integers, negative ones from the end; start:stop:step with any part omitted and
 * negative steps; one "..." for all dimensions in between. Omitted trailing dimensions
 * are taken whole. Brackets and blanks are optional. */
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
    int64_t start, step; /* first index and step, in the tensor's own indices */
    uint64_t n;          /* number of elements */
    bool single;         /* an integer: the result does not have this dimension */
};

struct slice {
    struct slice_dim dims[SLICE_RANK];
    int rank;
    uint64_t n; /* total number of elements */
};

/* ERR_USAGE: syntax error, index out of range, too many dimensions. */
int slice_parse(struct slice *slice, struct str text, const int64_t *shape, int rank,
                struct err *err);
/* Select all elements. */
int slice_all(struct slice *slice, const int64_t *shape, int rank, struct err *err);
/* Keep at most `n` elements along a dimension. */
void slice_cut(struct slice *slice, int dim, uint64_t n);
/* The sizes of the result; returns its rank. */
int slice_shape(const struct slice *slice, int64_t shape[SLICE_RANK]);

/* The plane of a slice that a grid shows: the last dimension that is not a single index
 * runs across, the one before it down (-1: none); of others only the first index is
 * kept. */
void slice_plane(struct slice *slice, int *ret_down, int *ret_across);
/* "[0, 17, :, 2:9]" */
void slice_text(struct buf *to, const struct slice *slice, const int64_t *shape);

/* Such a plane of a strided tensor as a separate matrix, whose rows and columns ascend;
 * `flip_...`: the slice takes them from the end. Borrows the model; must not be
 * moved. */
struct slice_matrix {
    struct model model;
    struct tensor tensor;
    int64_t dims[4];
    uint64_t rows, columns;
    bool flip_rows, flip_columns;
};
void slice_matrix_init(struct slice_matrix *matrix, const struct model *model,
                       const struct tensor *tensor, const struct slice *slice, int down,
                       int across);

/* The values of a slice, in C order. */
enum cell_kind { CELL_REAL, CELL_COMPLEX, CELL_PAIR, CELL_INT, CELL_UINT, CELL_BOOL };
struct cells {
    enum cell_kind kind;
    uint64_t n;
    double *reals;     /* CELL_REAL; two for each cell of CELL_COMPLEX and CELL_PAIR */
    int64_t *integers; /* CELL_INT, CELL_UINT (cast), CELL_BOOL */
};

/* Read the elements into the arena, which limits their number. */
int cells_read(const struct model *model, const struct tensor *tensor,
               const struct slice *slice, struct arena *arena, struct work *work,
               struct cells *ret_cells, struct err *err);

#endif
