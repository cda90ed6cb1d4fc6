/* Values of one tensor: numbers, a slice with its picture, channels. */
#include "export/json/json_show_in.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/look/look.h"

/* ---- numbers ---- */

static void write_bins(struct json *json, const char *key, double low, double high,
                       const uint64_t *bins, uint32_t n)
{
    /* As in numpy: the range around a single value has width 1. */
    double half = low == high ? 0.5 : 0;

    json_object(json, key);
    json_real(json, "min", low - half);
    json_real(json, "max", high + half);
    json_array(json, "bins");
    for (uint32_t i = 0; i < n; i++)
        json_u64(json, NULL, bins[i]);
    json_array_end(json);
    json_object_end(json);
}

void show_values_numbers(struct json *json, const struct numbers *numbers)
{
    if (numbers->n_quantiles > 0) {
        json_array(json, "quantiles");
        for (uint32_t i = 0; i < numbers->n_quantiles; i++) {
            json_object(json, NULL);
            json_real(json, "q", numbers->at[i]);
            json_real(json, "value", numbers->quantiles[i]);
            json_object_end(json);
        }
        json_array_end(json);
    }
    if (numbers->n_bins > 0)
        write_bins(json, "histogram", numbers->stats->min, numbers->stats->max,
                   numbers->bins, numbers->n_bins);
    if (numbers->inner)
        write_bins(json, "inner", numbers->inner_low, numbers->inner_high,
                   numbers->inner, numbers->n_bins);
    if (numbers->mean_abs)
        json_real(json, "mean_abs", *numbers->mean_abs);
    if (numbers->sha256[0])
        json_text(json, "sha256", numbers->sha256);
}

/* ---- values ---- */

void show_values_cell(struct json *json, const struct cells *cells, uint64_t i)
{
    switch (cells->kind) {
    case CELL_REAL:
        json_real(json, NULL, cells->reals[i]);
        break;
    case CELL_COMPLEX:
    case CELL_PAIR:
        json_array(json, NULL);
        json_real(json, NULL, cells->reals[2 * i]);
        json_real(json, NULL, cells->reals[2 * i + 1]);
        json_array_end(json);
        break;
    case CELL_INT:
        json_i64(json, NULL, cells->integers[i]);
        break;
    case CELL_UINT:
        json_u64(json, NULL, (uint64_t)cells->integers[i]);
        break;
    case CELL_BOOL:
        json_bool(json, NULL, cells->integers[i] != 0);
        break;
    }
}

/* The shortest text that reads back as the same float32. */
static void write_single(struct json *json, double value)
{
    char text[32];
    int digits = 6;

    do
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (digits++ < 9 && strtof(text, NULL) != (float)value);
    json_text(json, "text", text);
}

static void write_exact(struct json *json, const struct show_values *v)
{
    const struct cells *value = &v->cell.value;
    char text[GRID_CELL];

    json_object(json, "cell");
    json_u64(json, "row", v->cell.row);
    json_u64(json, "column", v->cell.column);
    export_list(json, "index", v->cell.index, v->plane.rank);
    json_key(json, STR("value"));
    show_values_cell(json, value, 0);
    if (v->tensor->dtype == DTYPE_FLOAT32 && isfinite(value->reals[0])) {
        write_single(json, value->reals[0]);
    } else if (value->kind == CELL_REAL && isfinite(value->reals[0])) {
        real_text(value->reals[0], text);
        json_text(json, "text", text);
    } else {
        grid_cell(text, value, 0, "%.4f");
        json_text(json, "text", text);
    }
    if (v->cell.bits[0])
        json_text(json, "bits", v->cell.bits);
    json_object_end(json);
}

static void write_shorts(struct json *json, const char *key, const double *x, size_t n)
{
    json_column(json, key);
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i]))
            json_null(json, NULL);
        else
            export_short(json, NULL, x[i], 5);
    json_array_end(json);
}

static void write_picture(struct json *json, const struct plane *plane)
{
    size_t n = (size_t)plane->high * plane->wide;

    json_object(json, "picture");
    json_u64(json, "high", plane->high);
    json_u64(json, "wide", plane->wide);
    json_u64(json, "cell_rows", plane->cell_rows);
    json_u64(json, "cell_columns", plane->cell_columns);
    write_shorts(json, "mean", plane->means, n);
    json_column(json, "bad");
    for (size_t i = 0; i < n; i++)
        json_u64(json, NULL, plane->bad[i]);
    json_array_end(json);
    write_shorts(json, "row_mean_abs", plane->row_means, plane->high);
    write_shorts(json, "column_mean_abs", plane->column_means, plane->wide);
    json_u64(json, "count", plane->count);
    json_u64(json, "nan", plane->nan);
    json_u64(json, "inf", plane->inf);
    if (!isnan(plane->least)) {
        json_real(json, "min", plane->least);
        json_real(json, "max", plane->most);
    }
    json_object_end(json);
}

static void write_dim(struct json *json, const char *key, int dim)
{
    if (dim < 0)
        json_null(json, key);
    else
        json_i64(json, key, dim);
}

/* The position of the window in the slice, and its values as the grid shows them. */
static void write_window(struct json *json, const struct show_values *v)
{
    const int64_t *shape = tensor_shape(v->model, v->tensor);
    struct buf text = BUF_INIT;
    char cell[GRID_CELL];

    slice_text(&text, &v->plane, shape);
    json_str(json, "plane", buf_span(&text));
    write_dim(json, "down", v->down);
    write_dim(json, "across", v->across);
    json_u64(json, "rows", v->rows);
    json_u64(json, "columns", v->columns);
    if (v->has_window) {
        json_u64(json, "row", v->row);
        json_u64(json, "column", v->column);
        json_u64(json, "window_rows", v->window_rows);
        json_u64(json, "window_columns", v->window_columns);
        json_column(json, "texts");
        for (uint64_t i = 0; i < v->cells.n; i++) {
            grid_cell(cell, &v->cells, i, v->format);
            json_text(json, NULL, cell);
        }
        json_array_end(json);
    }
    buf_release(&text);
}

static void write_slice(struct json *json, const struct show_values *v)
{
    int64_t shape[SLICE_RANK];
    int rank = slice_shape(&v->slice, shape);

    json_object(json, "slice");
    json_text(json, "index", v->wanted->slice);
    export_list(json, "shape", shape, rank);
    write_window(json, v);
    json_column(json, "values");
    for (uint64_t i = 0; i < v->cells.n; i++)
        show_values_cell(json, &v->cells, i);
    json_array_end(json);
    if (v->has_picture)
        write_picture(json, &v->picture);
    if (v->has_cell)
        write_exact(json, v);
    json_object_end(json);
}

/* ---- channels ---- */

static void write_sheet(struct json *json, const struct show_sheet *sheet)
{
    struct buf codes = BUF_INIT;

    look_base64(&codes, sheet->points, (size_t)sheet->n * sheet->high * sheet->wide);
    json_object(json, "sheet");
    json_u64(json, "items", sheet->items);
    json_u64(json, "item", sheet->item);
    json_u64(json, "channels", sheet->channels);
    json_u64(json, "first", sheet->first);
    json_u64(json, "n", sheet->n);
    json_i64(json, "rows", sheet->rows);
    json_i64(json, "columns", sheet->columns);
    json_u64(json, "high", sheet->high);
    json_u64(json, "wide", sheet->wide);
    json_real(json, "most", sheet->most);
    json_str(json, "points", buf_span(&codes));
    json_object_end(json);
    buf_release(&codes);
}

void show_values_write(struct json *json, const struct show_values *v)
{
    if (v->why)
        json_text(json, "values_why", v->why);
    if (v->has_slice)
        write_slice(json, v);
    if (v->has_sheet)
        write_sheet(json, &v->sheet);
}
