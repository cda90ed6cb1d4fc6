/* Reads the values of one tensor for a page, before anything is written. */
#include "export/json/json_show_in.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "facts/sheet.h"
#include "measure/elements.h"
#include "text/number.h"

#define WINDOW_MOST 65536u /* values of a window */

/* ---- which tensor ---- */

/* The call with this number at a place; the newest one by default. */
static uint32_t call_of(const struct show_values *v, uint32_t place)
{
    const struct run *run = v->session->run;
    uint32_t call = run_first_call(run, v->session->model->object[place]);
    uint32_t newest = RUN_NONE;

    for (; call != RUN_NONE; call = run_next_call(run, call)) {
        if (run->calls[call].place != place)
            continue;
        if (v->wanted->call == run->calls[call].number)
            return call;
        if (newest == RUN_NONE || run_is_newer(run, call, newest))
            newest = call;
    }
    return v->wanted->call == EXPORT_NEWEST ? newest : RUN_NONE;
}

/* A module's kept result. Without one, there are no values. */
static int find_kept(struct show_values *v, uint32_t place, struct err *err)
{
    const struct run *run = v->session->run;

    v->call = call_of(v, place);
    if (v->call == RUN_NONE && v->wanted->call != EXPORT_NEWEST)
        return err_set(err, ERR_NOT_FOUND, "there is no call %llu of this module",
                       (unsigned long long)v->wanted->call);
    v->value = v->call == RUN_NONE ? RUN_NONE : kept_result(run, v->call);
    if (v->value == RUN_NONE)
        return 0;
    if (kept_view_init(&v->kept, run, v->value, err) < 0)
        return -1;
    v->model = &v->kept.model;
    v->tensor = &v->kept.tensor;
    return 0;
}

static int find_tensor(struct show_values *v, uint32_t place, struct err *err)
{
    const struct model *model = v->session->model;

    const struct export_show_wanted *wanted = v->wanted;

    v->call = v->value = RUN_NONE;
    if (model->kind[place] == PLACE_MODULE)
        return v->session->run && (wanted->all || wanted->slice || wanted->sheet)
                   ? find_kept(v, place, err)
                   : 0;
    if (model->kind[place] != PLACE_TENSOR)
        return 0;
    v->model = model;
    v->tensor = place_tensor(model, place);
    return 0;
}

/* ---- numbers ---- */

/* The approximate number of bytes read by all passes. */
static uint64_t bytes_to_read(const struct show_values *v)
{
    const struct export_show_wanted *wanted = v->wanted;
    unsigned bits = 8u * dtype_info(elements_dtype(v->tensor->dtype))->bytes;
    uint64_t select = bits <= 16 ? 1 : (bits + 10) / 11, passes = 1;

    passes += wanted->numbers.n_quantiles > 0 ? select : 0;
    passes += wanted->numbers.bins > 0;
    passes += wanted->numbers.bins > 0 && wanted->numbers.inner ? select + 1 : 0;
    passes += wanted->numbers.mean_abs + wanted->numbers.sha256;
    return passes * tensor_bytes(v->tensor);
}

/* Without values: the session has the reason, and possibly recorded statistics. */
static int read_numbers(struct show_values *v, uint32_t place, struct work *work,
                        struct err *err)
{
    struct err why = {0};
    int status;

    if (v->value != RUN_NONE)
        status = numbers_measure(v->model, v->tensor, &v->wanted->numbers, &v->arena,
                                 work, &v->stats, &v->numbers, &why);
    else
        status =
            session_numbers(v->session, v->model->object[place], &v->wanted->numbers,
                            &v->arena, work, &v->numbers, &why);
    v->has_numbers = status == 0;
    if (status == 0)
        return 0;
    if (v->value == RUN_NONE)
        v->why = session_why(v->session, v->model->object[place]);
    if (!v->why && why.code == ERR_UNSUPPORTED)
        v->why = arena_printf(&v->arena, "%s", why.text);
    return v->why ? 0 : err_copy(err, &why);
}

/* ---- the slice ---- */

static void cut_dim(struct slice *slice, int dim, uint64_t first, uint64_t n)
{
    if (dim < 0)
        return;
    slice->dims[dim].start += (int64_t)first * slice->dims[dim].step;
    slice->dims[dim].n = n;
}

static uint64_t at_most(uint64_t n, uint64_t most)
{
    return n < most ? n : most;
}

static int take_window(struct show_values *v, struct err *err)
{
    const struct export_show_wanted *wanted = v->wanted;

    v->window = v->slice;
    v->has_window = wanted->rows > 0 && wanted->columns > 0;
    if (v->has_window) {
        v->window = v->plane;
        v->row = v->rows ? at_most(wanted->row, v->rows - 1) : 0;
        v->column = v->columns ? at_most(wanted->column, v->columns - 1) : 0;
        v->window_rows = at_most(wanted->rows, v->rows - v->row);
        v->window_columns = at_most(wanted->columns, v->columns - v->column);
        cut_dim(&v->window, v->down, v->row, v->window_rows);
        cut_dim(&v->window, v->across, v->column, v->window_columns);
        v->window.n = v->window_rows * v->window_columns;
    }
    if (v->window.n > (v->has_window ? WINDOW_MOST : EXPORT_VALUES))
        return err_set(err, ERR_LIMIT,
                       "a slice of %llu values; at most %u are written at once",
                       (unsigned long long)v->window.n,
                       v->has_window ? WINDOW_MOST : EXPORT_VALUES);
    return 0;
}

static int read_picture(struct show_values *v, struct work *work, struct err *err)
{
    struct slice_matrix *matrix = arena_alloc(&v->arena, sizeof *matrix);
    struct plane_wanted wanted = {
        .rows = v->rows, .columns = v->columns, .most = v->wanted->picture};

    if (!matrix)
        return arena_err(&v->arena, "the picture", err);
    slice_matrix_init(matrix, v->model, v->tensor, &v->plane, v->down, v->across);
    wanted.flip_rows = matrix->flip_rows;
    wanted.flip_columns = matrix->flip_columns;
    v->has_picture = true;
    return plane_measure(&v->picture, &matrix->model, &matrix->tensor, &wanted,
                         &v->arena, work, err);
}

static int read_slice(struct show_values *v, struct work *work, struct err *err)
{
    if (slice_parse(&v->slice, str_of(v->wanted->slice),
                    tensor_shape(v->model, v->tensor), v->tensor->rank, err) < 0)
        return -1;
    v->has_slice = true;
    v->plane = v->slice;
    slice_plane(&v->plane, &v->down, &v->across);
    v->rows = v->down < 0 ? 1 : v->plane.dims[v->down].n;
    v->columns = v->across < 0 ? 1 : v->plane.dims[v->across].n;
    if (take_window(v, err) < 0 || cells_read(v->model, v->tensor, &v->window,
                                              &v->arena, work, &v->cells, err) < 0)
        return -1;
    v->format = grid_format(&v->cells);
    return v->wanted->picture > 0 ? read_picture(v, work, err) : 0;
}

/* ---- one cell ---- */

/* The bits of an element of whole bytes, most significant first. */
static int read_bits(struct show_values *v, uint64_t first, struct work *work,
                     struct err *err)
{
    const struct dtype_info *info = dtype_info(elements_dtype(v->tensor->dtype));
    struct elements *elements;
    const uint8_t *bytes;
    const void *at;
    size_t n = 0;
    int more;

    if (info->block != 1 || info->bytes > 16)
        return 0;
    elements = elements_open(v->model, v->tensor, first, 1, false, err);
    if (!elements)
        return -1;
    more = elements_next(elements, work, &at, &n, err);
    if (more > 0) {
        bytes = at;
        snprintf(v->cell.bits, sizeof v->cell.bits, "0x");
        for (size_t i = 0; i < info->bytes; i++)
            snprintf(v->cell.bits + 2 + 2 * i, 3, "%02x", bytes[info->bytes - 1 - i]);
    }
    elements_close(elements);
    return more < 0 ? -1 : 0;
}

static int parse_cell(struct show_values *v, struct err *err)
{
    struct str rest = str_of(v->wanted->cell), row = STR(""), column = STR("");

    str_split(&rest, ',', &row);
    str_split(&rest, ',', &column);
    if (rest.at || !str_to_u64(str_trim(row), &v->cell.row) ||
        !str_to_u64(str_trim(column), &v->cell.column))
        return err_set(err, ERR_USAGE,
                       "a cell is a row and a column of the slice: "
                       "18,38");
    if (v->cell.row >= v->rows || v->cell.column >= v->columns)
        return err_set(err, ERR_USAGE, "the slice has %llu rows and %llu columns",
                       (unsigned long long)v->rows, (unsigned long long)v->columns);
    return 0;
}

static int read_cell(struct show_values *v, struct work *work, struct err *err)
{
    const int64_t *shape = tensor_shape(v->model, v->tensor);
    struct slice one;
    uint64_t first = 0;

    if (parse_cell(v, err) < 0)
        return -1;
    one = v->plane;
    cut_dim(&one, v->down, v->cell.row, 1);
    cut_dim(&one, v->across, v->cell.column, 1);
    one.n = 1;
    for (int i = 0; i < one.rank; i++) {
        v->cell.index[i] = one.dims[i].start;
        first = first * (uint64_t)shape[i] + (uint64_t)one.dims[i].start;
    }
    v->has_cell = true;
    if (cells_read(v->model, v->tensor, &one, &v->arena, work, &v->cell.value, err) < 0)
        return -1;
    return read_bits(v, first, work, err);
}

/* ---- channels ---- */

static uint8_t point_code(double value, uint64_t bad, double most)
{
    if (bad > 0 || !isfinite(value))
        return 255;
    return (uint8_t)lround(127 + (most > 0 ? 127 * value / most : 0));
}

static int read_channels(struct show_values *v, struct plane *planes, struct work *work,
                         struct err *err)
{
    struct show_sheet *sheet = &v->sheet;
    uint64_t size = (uint64_t)(sheet->rows * sheet->columns);
    struct plane_wanted wanted = {.rows = (uint64_t)sheet->rows,
                                  .columns = (uint64_t)sheet->columns,
                                  .most = SHEET_SIDE};

    for (uint32_t i = 0; i < sheet->n; i++) {
        wanted.first = (sheet->item * sheet->channels + sheet->first + i) * size;
        if (plane_measure(&planes[i], v->model, v->tensor, &wanted, &v->arena, work,
                          err) < 0)
            return -1;
        sheet->high = planes[i].high;
        sheet->wide = planes[i].wide;
        for (uint32_t k = 0; k < sheet->high * sheet->wide; k++)
            if (isfinite(planes[i].means[k]) && planes[i].bad[k] == 0)
                sheet->most = fmax(sheet->most, fabs(planes[i].means[k]));
    }
    return 0;
}

static int read_sheet(struct show_values *v, struct work *work, struct err *err)
{
    const int64_t *shape = tensor_shape(v->model, v->tensor);
    struct show_sheet *sheet = &v->sheet;
    struct plane *planes;
    size_t size;

    *sheet = (struct show_sheet){.items = (uint64_t)shape[0],
                                 .channels = (uint64_t)shape[1],
                                 .rows = shape[2],
                                 .columns = shape[3]};
    sheet->item = at_most(v->wanted->item, sheet->items - 1);
    sheet->first = at_most(v->wanted->channel, sheet->channels - 1);
    sheet->n = (uint32_t)at_most(sheet->channels - sheet->first, SHEET_MOST);
    planes = arena_array(&v->arena, sheet->n, sizeof *planes);
    if (!planes)
        return arena_err(&v->arena, "the pictures", err);
    if (read_channels(v, planes, work, err) < 0)
        return -1;
    size = (size_t)sheet->high * sheet->wide;
    sheet->points = arena_alloc(&v->arena, size * sheet->n + 1);
    if (!sheet->points)
        return arena_err(&v->arena, "the pictures", err);
    for (uint32_t i = 0; i < sheet->n; i++)
        for (size_t k = 0; k < size; k++)
            sheet->points[i * size + k] =
                point_code(planes[i].means[k], planes[i].bad[k], sheet->most);
    v->has_sheet = true;
    return 0;
}

/* ---- all of it ---- */

int show_values_read(struct show_values *v, uint32_t place, struct work *work,
                     struct err *err)
{
    const struct export_show_wanted *wanted = v->wanted;
    const char *why = NULL;

    if (find_tensor(v, place, err) < 0)
        return -1;
    if (!v->tensor)
        return 0;
    if (work)
        atomic_fetch_add(&work->total, bytes_to_read(v));
    if (read_numbers(v, place, work, err) < 0)
        return -1;
    if (!tensor_readable(v->model, v->tensor, &why)) {
        v->why = v->why ? v->why : why;
        return 0;
    }
    if (v->why)
        return 0;
    if (wanted->slice && read_slice(v, work, err) < 0)
        return -1;
    if (wanted->cell && v->has_slice && read_cell(v, work, err) < 0)
        return -1;
    return wanted->sheet && sheet_fits(v->tensor, tensor_shape(v->model, v->tensor))
               ? read_sheet(v, work, err)
               : 0;
}
