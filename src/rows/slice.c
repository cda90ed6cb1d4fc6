#include "rows/slice.h"

#include <string.h>

#include "measure/measure.h"

/* ---- parsing ---- */

static int bad_part(struct str part, struct err *err)
{
    return err_set(err, ERR_USAGE,
                   "\"%.*s\" is not part of a slice; parts are 3, -1, 2:9, ::2 or ...",
                   part.len > 60 ? 60 : (int)part.len, part.len ? part.at : "");
}

static void take_all(struct slice_dim *dim, int64_t size)
{
    *dim = (struct slice_dim){.start = 0, .step = 1, .n = (uint64_t)size};
}

static int take_index(struct slice_dim *dim, struct str part, int64_t size, int at,
                      struct err *err)
{
    int64_t index;

    if (!str_to_i64(part, &index))
        return bad_part(part, err);
    if (index < -size || index >= size)
        return err_set(err, ERR_USAGE,
                       "index %lld is out of range: dimension %d has %lld elements",
                       (long long)index, at, (long long)size);
    *dim = (struct slice_dim){
        .start = index < 0 ? index + size : index, .step = 1, .n = 1, .single = true};
    return 0;
}

/* One bound of a range, counted from the end if negative, clamped to [low, high]. */
static int take_bound(struct str text, int64_t size, int64_t otherwise, int64_t low,
                      int64_t high, int64_t *ret_bound, struct err *err)
{
    int64_t bound;

    text = str_trim(text);
    if (text.len == 0) {
        *ret_bound = otherwise;
        return 0;
    }
    if (!str_to_i64(text, &bound))
        return bad_part(text, err);
    if (bound < 0)
        bound = bound < -size ? low : bound + size;
    *ret_bound = bound < low ? low : bound > high ? high : bound;
    return 0;
}

/* start:stop:step. With a negative step, a range starts at the last element. */
static int take_range(struct slice_dim *dim, struct str part, int64_t size,
                      struct err *err)
{
    struct str rest = part, texts[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    int64_t start, stop, step = 1, low, high;
    int n = 0;

    while (n < 3 && str_split(&rest, ':', &texts[n]))
        n++;
    if (rest.at && n == 3)
        return bad_part(part, err);
    if (str_trim(texts[2]).len > 0 && !str_to_i64(str_trim(texts[2]), &step))
        return bad_part(part, err);
    if (step == 0 || step == INT64_MIN)
        return err_set(err, ERR_USAGE, "a slice's step cannot be %lld",
                       (long long)step);
    low = step > 0 ? 0 : -1;
    high = step > 0 ? size : size - 1;
    if (take_bound(texts[0], size, step > 0 ? low : high, low, high, &start, err) < 0 ||
        take_bound(texts[1], size, step > 0 ? high : low, low, high, &stop, err) < 0)
        return -1;
    *dim = (struct slice_dim){.start = start, .step = step};
    if (step > 0 && stop > start)
        dim->n = ((uint64_t)(stop - start) - 1) / (uint64_t)step + 1;
    else if (step < 0 && stop < start)
        dim->n = ((uint64_t)(start - stop) - 1) / (uint64_t)-step + 1;
    return 0;
}

/* The text between the brackets, if there are any. */
static struct str inside(struct str text)
{
    text = str_trim(text);
    if (text.len >= 2 && text.at[0] == '[' && text.at[text.len - 1] == ']')
        text = str_trim(str_head(str_from(text, 1), text.len - 2));
    return text;
}

/* Count the parts that select a dimension: all but "...". */
static int count_parts(struct str text, bool *ret_dots)
{
    struct str part;
    int n = 0;

    *ret_dots = false;
    while (str_split(&text, ',', &part)) {
        if (str_is(str_trim(part), "..."))
            *ret_dots = true;
        else
            n++;
    }
    return n;
}

static int count_all(struct slice *slice, struct err *err)
{
    slice->n = 1;
    for (int i = 0; i < slice->rank; i++) {
        if (__builtin_mul_overflow(slice->n, slice->dims[i].n, &slice->n))
            return err_set(err, ERR_LIMIT, "a slice of more than 2^64 elements");
    }
    return 0;
}

int slice_all(struct slice *slice, const int64_t *shape, int rank, struct err *err)
{
    if (rank > SLICE_RANK)
        return err_set(err, ERR_LIMIT, "a tensor of %d dimensions", rank);
    slice->rank = rank;
    for (int i = 0; i < rank; i++)
        take_all(&slice->dims[i], shape[i]);
    return count_all(slice, err);
}

int slice_parse(struct slice *slice, struct str text, const int64_t *shape, int rank,
                struct err *err)
{
    struct str rest = inside(text), part;
    bool dots;
    int n, dim = 0;

    if (slice_all(slice, shape, rank, err) < 0)
        return -1;
    if (rest.len == 0)
        return 0;
    n = count_parts(rest, &dots);
    if (n > rank)
        return err_set(err, ERR_USAGE, "a slice of %d dimensions; the tensor has %d", n,
                       rank);
    while (str_split(&rest, ',', &part)) {
        int status;

        part = str_trim(part);
        if (str_is(part, "...")) {
            if (!dots)
                return err_set(err, ERR_USAGE, "a slice may have one \"...\" only");
            dim += rank - n;
            dots = false;
            continue;
        }
        if (str_find_char(part, ':') >= 0)
            status = take_range(&slice->dims[dim], part, shape[dim], err);
        else
            status = take_index(&slice->dims[dim], part, shape[dim], dim, err);
        if (status < 0)
            return -1;
        dim++;
    }
    return count_all(slice, err);
}

void slice_cut(struct slice *slice, int dim, uint64_t n)
{
    if (slice->dims[dim].n > n)
        slice->dims[dim].n = n;
    count_all(slice, NULL);
}

int slice_shape(const struct slice *slice, int64_t shape[SLICE_RANK])
{
    int rank = 0;

    for (int i = 0; i < slice->rank; i++) {
        if (!slice->dims[i].single)
            shape[rank++] = (int64_t)slice->dims[i].n;
    }
    return rank;
}

/* ---- planes ---- */

static int dim_before(const struct slice *slice, int dim)
{
    while (--dim >= 0 && slice->dims[dim].single)
        ;
    return dim;
}

void slice_plane(struct slice *slice, int *ret_down, int *ret_across)
{
    *ret_across = dim_before(slice, slice->rank);
    *ret_down = *ret_across < 0 ? -1 : dim_before(slice, *ret_across);
    for (int i = 0; i < slice->rank; i++)
        if (i != *ret_across && i != *ret_down && slice->dims[i].n > 1) {
            slice->dims[i].n = 1;
            slice->dims[i].single = true;
        }
    count_all(slice, NULL);
}

void slice_text(struct buf *to, const struct slice *slice, const int64_t *shape)
{
    buf_char(to, '[');
    for (int i = 0; i < slice->rank; i++) {
        const struct slice_dim *dim = &slice->dims[i];
        int64_t stop = dim->start + (int64_t)dim->n * dim->step;
        bool whole = dim->start == 0 && dim->step == 1 && stop == shape[i];

        buf_text(to, i > 0 ? ", " : "");
        if (dim->single || !whole)
            buf_printf(to, "%lld", (long long)dim->start);
        if (dim->single)
            continue;
        buf_char(to, ':');
        if (!whole && stop >= 0)
            buf_printf(to, "%lld", (long long)stop);
        if (dim->step != 1)
            buf_printf(to, ":%lld", (long long)dim->step);
    }
    buf_char(to, ']');
}

/* One dimension of the matrix: its size and stride. Returns whether it is flipped; the
 * offset moves to the element with the lowest index. */
static bool take_dim(const struct slice *slice, int dim, const int64_t *strides,
                     uint64_t *offset, int64_t *ret_size, int64_t *ret_stride)
{
    const struct slice_dim *at = dim >= 0 ? &slice->dims[dim] : NULL;
    bool flip = at && at->step < 0;

    *ret_size = at ? (int64_t)at->n : 1;
    *ret_stride = at ? strides[dim] * (flip ? -at->step : at->step) : 1;
    if (flip && at->n > 0)
        *offset -= (at->n - 1) * (uint64_t)*ret_stride;
    return flip;
}

void slice_matrix_init(struct slice_matrix *matrix, const struct model *model,
                       const struct tensor *tensor, const struct slice *slice, int down,
                       int across)
{
    const int64_t *strides = tensor_strides(model, tensor);

    *matrix = (struct slice_matrix){.model = *model, .tensor = *tensor};
    matrix->model.dims = matrix->dims;
    matrix->tensor.shape = 0;
    matrix->tensor.rank = 2;
    for (int i = 0; i < slice->rank; i++)
        matrix->tensor.offset += (uint64_t)slice->dims[i].start * (uint64_t)strides[i];
    matrix->flip_rows = take_dim(slice, down, strides, &matrix->tensor.offset,
                                 &matrix->dims[0], &matrix->dims[2]);
    matrix->flip_columns = take_dim(slice, across, strides, &matrix->tensor.offset,
                                    &matrix->dims[1], &matrix->dims[3]);
    matrix->rows = (uint64_t)matrix->dims[0];
    matrix->columns = (uint64_t)matrix->dims[1];
    matrix->tensor.numel = slice->n;
}

/* ---- reading ---- */

static enum cell_kind kind_of(enum dtype dtype)
{
    const struct dtype_info *info = dtype_info(dtype);

    switch (info->kind) {
    case DTYPE_KIND_BOOL:
        return CELL_BOOL;
    case DTYPE_KIND_INT:
        return CELL_INT;
    case DTYPE_KIND_UINT:
        return CELL_UINT;
    case DTYPE_KIND_COMPLEX:
        return CELL_COMPLEX;
    default:
        return info->values == 2 ? CELL_PAIR : CELL_REAL;
    }
}

/* A run along the last dimension, from the lowest to the highest index selected. */
struct slice_run {
    const struct model *model;
    const struct tensor *tensor;
    struct slice_dim dim;
    struct work *work;
};

/* Packed integers share a byte: decode all elements up to the requested one. */
static bool decode_packed(enum dtype dtype, const void *at, size_t i,
                          int64_t *ret_value)
{
    size_t block = dtype_info(dtype)->block, in = i % block;
    const char *first = (const char *)at + elements_size(dtype, i - in);
    int64_t several[8];

    if (block > 8 || !elements_decode_int(dtype, first, in + 1, several))
        return false;
    *ret_value = several[in];
    return true;
}

/* Decode element i of a block into a cell. */
static bool decode_cell(enum dtype dtype, const void *at, size_t i, struct cells *cells,
                        uint64_t cell)
{
    const char *element = (const char *)at + elements_size(dtype, i);

    if (cells->integers && dtype_info(dtype)->block > 1)
        return decode_packed(dtype, at, i, &cells->integers[cell]);
    if (cells->integers)
        return elements_decode_int(dtype, element, 1, &cells->integers[cell]);
    if (cells->kind == CELL_COMPLEX || cells->kind == CELL_PAIR)
        cell *= 2;
    return elements_decode(dtype, at, i, 1, &cells->reals[cell]);
}

static int read_run(const struct slice_run *run, uint64_t base, struct cells *cells,
                    uint64_t first_cell, struct err *err)
{
    uint64_t step =
        run->dim.step < 0 ? -(uint64_t)run->dim.step : (uint64_t)run->dim.step;
    uint64_t span = (run->dim.n - 1) * step + 1, done = 0;
    enum dtype dtype = elements_dtype(run->tensor->dtype);
    uint64_t low = run->dim.step < 0 ? (uint64_t)run->dim.start - (span - 1)
                                     : (uint64_t)run->dim.start;
    struct elements *elements =
        elements_open(run->model, run->tensor, base + low, span, false, err);
    int more = -1;

    while (elements) {
        const void *at;
        size_t n, i;

        more = elements_next(elements, run->work, &at, &n, err);
        if (more <= 0)
            break;
        for (i = (size_t)((step - done % step) % step); i < n; i += step) {
            uint64_t k = (done + i) / step;
            uint64_t cell = run->dim.step < 0 ? run->dim.n - 1 - k : k;

            if (!decode_cell(dtype, at, i, cells, first_cell + cell)) {
                more = err_set(err, ERR_UNSUPPORTED, "%s holds no numbers",
                               dtype_name(run->tensor->dtype));
                goto out;
            }
        }
        done += n;
    }
out:
    elements_close(elements);
    return more;
}

static int make_cells(enum dtype dtype, uint64_t n, struct arena *arena,
                      struct cells *cells, struct err *err)
{
    enum cell_kind kind = kind_of(dtype);
    bool integer = kind == CELL_INT || kind == CELL_UINT || kind == CELL_BOOL;
    size_t each = kind == CELL_COMPLEX || kind == CELL_PAIR ? 16 : 8;

    *cells = (struct cells){.kind = kind, .n = n};
    if (n > SIZE_MAX / each - 1)
        return err_set(err, ERR_LIMIT, "a slice of %llu elements",
                       (unsigned long long)n);
    if (integer)
        cells->integers = arena_array(arena, (size_t)n + 1, each);
    else
        cells->reals = arena_array(arena, (size_t)n + 1, each);
    if (!cells->integers && !cells->reals)
        return arena_err(arena, "a slice this large", err);
    return 0;
}

/* The index in C order of the start of run `row`, from all but the last dimension. */
static uint64_t row_base(const struct slice *slice, const int64_t *shape, uint64_t row)
{
    uint64_t base = 0, weight = slice->rank > 0 ? (uint64_t)shape[slice->rank - 1] : 1;

    for (int i = slice->rank - 2; i >= 0; i--) {
        const struct slice_dim *dim = &slice->dims[i];
        int64_t index = dim->start + (int64_t)(row % dim->n) * dim->step;

        row /= dim->n;
        base += (uint64_t)index * weight;
        weight *= (uint64_t)shape[i];
    }
    return base;
}

int cells_read(const struct model *model, const struct tensor *tensor,
               const struct slice *slice, struct arena *arena, struct work *work,
               struct cells *ret_cells, struct err *err)
{
    const int64_t *shape = tensor_shape(model, tensor);
    struct slice_run run = {.model = model, .tensor = tensor, .work = work};
    struct cells cells;
    uint64_t row, rows;

    run.dim = slice->rank > 0 ? slice->dims[slice->rank - 1]
                              : (struct slice_dim){.step = 1, .n = 1};
    if (make_cells(tensor->dtype, slice->n, arena, &cells, err) < 0)
        return -1;
    rows = slice->n ? slice->n / run.dim.n : 0;
    for (row = 0; row < rows; row++) {
        if (read_run(&run, row_base(slice, shape, row), &cells, row * run.dim.n, err) <
            0)
            return -1;
    }
    *ret_cells = cells;
    return 0;
}
