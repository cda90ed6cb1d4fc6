/* THE TABLE of columns. To add one: write the function that fills its cell, add a line
 * to the table below, describe it in docs/torchoscope.1, and add the same value to JSON
 * (docs/json.md; export/columns_test.c lists where). */
#include "rows/columns.h"

#include <math.h>

#include "base/base.h"
#include "rows/cells_in.h"
#include "text/width.h"

#define BAR_CELLS 10 /* or as wide as the header */
#define RIGHT     true
#define LEFT      false
#define ANY       0
#define RUN       COLUMN_OF_RUN
#define OPS       COLUMN_OF_OPS
#define TRAINING  COLUMN_OF_TRAINING

const struct column column_table[] = {
    {"params", "params", "parameters", "parameters; tied ones count once", FIGURE_COUNT,
     RIGHT, 9, SORT_PARAMS, cell_params, ANY},
    {"percent", "%", "of above", "share of the parent's parameters", FIGURE_SHARE,
     RIGHT, 4, SORT_PARAMS, cell_percent, ANY},
    {"bar", "", NULL, "share of the whole model's parameters", FIGURE_BAR, LEFT, 3,
     SORT_PARAMS, cell_bar, ANY},
    {"memory", "memory", NULL, "memory of all tensors below; tied ones count once",
     FIGURE_BYTES, RIGHT, 8, SORT_BYTES, cell_memory, ANY},
    {"memory%", "%", NULL, "share of the parent's memory", FIGURE_SHARE, RIGHT, 4,
     SORT_BYTES, cell_memory_percent, ANY},
    {"own_params", "own", NULL, "its own parameters, without modules below it",
     FIGURE_COUNT, RIGHT, 2, 0, cell_own_params, ANY},
    {"own_mem", "own mem", NULL, "its own memory, without modules below it",
     FIGURE_BYTES, RIGHT, 2, 0, cell_own_memory, ANY},
    {"shapes", "", "tensors", "shapes of a leaf module's own tensors", FIGURE_SHAPES,
     LEFT, 0, 0, cell_shapes, ANY},
    {"count", "params", NULL, "exact number of parameters", FIGURE_COUNT, RIGHT, 5, 0,
     cell_count, ANY},
    {"bytes", "bytes", NULL, "exact number of bytes", FIGURE_COUNT, RIGHT, 5, 0,
     cell_bytes, ANY},
    {"tensors", "tensors", NULL, "number of tensors", FIGURE_COUNT, RIGHT, 2, 0,
     cell_tensors, ANY},
    {"shape", "shape", NULL, "the shape of a tensor", FIGURE_SHAPE, LEFT, 2, 0,
     cell_shape, ANY},
    {"dtype", "dtype", NULL, "element types", FIGURE_TEXT, LEFT, 2, 0, cell_dtype, ANY},
    {"device", "device", NULL, "device it is on, or was saved from", FIGURE_TEXT, LEFT,
     2, 0, cell_device, ANY},
    {"trainable", "trainable", NULL, "trainable or frozen, if known", FIGURE_TEXT, LEFT,
     2, 0, cell_trainable, ANY},
    {"zeros", "zeros", NULL, "number of zeros", FIGURE_COUNT, RIGHT, 2, SORT_ZEROS,
     cell_zeros, ANY},
    {"role", "role", NULL, "parameter, buffer, optimizer state or plain tensor",
     FIGURE_TEXT, LEFT, 2, 0, cell_role, ANY},
    {"storage", "storage", NULL, "the storage that holds a tensor", FIGURE_NAME, LEFT,
     2, 0, cell_storage, ANY},
    {"offset", "offset", NULL, "start of the tensor in its storage, in elements",
     FIGURE_COUNT, RIGHT, 2, 0, cell_offset, ANY},
    {"strides", "strides", NULL, "distance between neighbours, in elements",
     FIGURE_TEXT, LEFT, 2, 0, cell_strides, ANY},
    {"type", "type", NULL, "class of a module", FIGURE_TEXT, LEFT, 2, 0, cell_type,
     ANY},
    {"class", "class", NULL, "full class name of a module", FIGURE_NAME, LEFT, 2, 0,
     cell_class, ANY},
    {"args", "arguments", NULL, "arguments of a module", FIGURE_TEXT, LEFT, 2, 0,
     cell_args, ANY},
    {"mode", "mode", NULL, "train or eval, if known", FIGURE_TEXT, LEFT, 2, 0,
     cell_mode, ANY},
    {"path", "path", NULL, "full name", FIGURE_NAME, LEFT, 2, 0, cell_path, ANY},
    /* Of recordings. */
    {"in", "in", "input", "shape of its first input; *: it varied", FIGURE_SHAPE, RIGHT,
     6, 0, cell_in, RUN},
    {"out", "out", "output", "shape of its first result; *: it varied", FIGURE_SHAPE,
     RIGHT, 7, 0, cell_out, RUN},
    {"calls", "calls", NULL, "number of calls", FIGURE_COUNT, RIGHT, 5, SORT_CALLS,
     cell_calls, RUN},
    {"time", "time", "forward", "forward time of all calls, inclusive", FIGURE_TIME,
     RIGHT, 10, SORT_TIME, cell_time, RUN},
    {"time%", "%", "of above", "share of the parent's time", FIGURE_SHARE, RIGHT, 4,
     SORT_TIME, cell_time_percent, RUN},
    {"self", "self", NULL, "forward time without the modules it called", FIGURE_TIME,
     RIGHT, 2, SORT_SELF, cell_self, RUN},
    {"timebar", "█ self ░ children", NULL, "own and other time as a share of the run",
     FIGURE_BAR, LEFT, 3, SORT_TIME, cell_time_bar, RUN},
    {"average", "average", NULL, "average time of a call", FIGURE_TIME, RIGHT, 1, 0,
     cell_average, RUN},
    {"avg_self", "avg self", NULL,
     "average time of a call without the modules it called", FIGURE_TIME, RIGHT, 1, 0,
     cell_self_average, RUN},
    {"backward", "backward", NULL, "backward time of all calls", FIGURE_TIME, RIGHT, 2,
     0, cell_backward, RUN},
    {"device_time", "device", NULL, "forward time of all calls on the device",
     FIGURE_TIME, RIGHT, 9, 0, cell_device_time, RUN},
    {"flops", "FLOPs", NULL,
     "forward FLOPs of all calls, with modules below; a multiply-add is two",
     FIGURE_COUNT, RIGHT, 2, SORT_FLOPS, cell_flops, OPS},
    {"macs", "MACs", NULL, "the same in multiply-adds: half as many", FIGURE_COUNT,
     RIGHT, 2, SORT_FLOPS, cell_macs, OPS},
    {"ops", "ops", NULL, "forward operations of all calls, with modules below",
     FIGURE_COUNT, RIGHT, 2, SORT_OPS, cell_ops, OPS},
    {"in_mem", "in mem", NULL, "memory of all inputs of its newest call", FIGURE_BYTES,
     RIGHT, 2, 0, cell_in_memory, RUN},
    {"out_mem", "out mem", NULL, "memory of all results of its newest call",
     FIGURE_BYTES, RIGHT, 2, 0, cell_out_memory, RUN},
    {"saved", "saved", NULL, "memory saved for backward, with everything below",
     FIGURE_BYTES, RIGHT, 2, 0, cell_saved, OPS},
    {"nan", "NaN", NULL,
     "NaN and Inf in its results, or without a recording in its tensors",
     FIGURE_NOT_FINITE, RIGHT, 9, SORT_NAN, cell_not_finite, ANY},
    {"outmean", "out mean", NULL, "mean of its first result", FIGURE_REAL, RIGHT, 2, 0,
     cell_out_mean, RUN},
    {"outstd", "out std", NULL, "standard deviation of its first result", FIGURE_REAL,
     RIGHT, 2, 0, cell_out_std, RUN},
    {"outzeros", "out zeros", NULL, "share of zeros in its first result", FIGURE_SHARE,
     RIGHT, 2, SORT_ZEROS, cell_out_zeros, RUN},
    {"in_dtype", "in dtype", NULL, "element type of its first input", FIGURE_TEXT, LEFT,
     2, 0, cell_in_dtype, RUN},
    {"out_dtype", "out dtype", NULL, "element type of its first result", FIGURE_TEXT,
     LEFT, 2, 0, cell_out_dtype, RUN},
    {"grad", "‖grad‖", NULL, "norm of the newest gradients of its parameters",
     FIGURE_REAL, RIGHT, 2, SORT_GRAD, cell_gradient, RUN | TRAINING},
    /* Of training runs. */
    {"update", "update/w", NULL,
     "how far the optimizer moved its parameters, relative to their norm", FIGURE_REAL,
     RIGHT, 2, SORT_UPDATE, cell_update, TRAINING},
    {"weight", "‖weight‖", NULL, "norm of its parameters", FIGURE_REAL, RIGHT, 2,
     SORT_WEIGHT, cell_weight, TRAINING},
    {"dead", "dead", NULL, "share of its units that are 0 for all inputs", FIGURE_SHARE,
     RIGHT, 2, 0, cell_dead, TRAINING},
};
const size_t n_column_table = COUNT_OF(column_table);

const struct column *column_find(struct str id)
{
    if (str_is(id, "%"))
        id = STR("percent");
    for (size_t i = 0; i < n_column_table; i++)
        if (str_is(id, column_table[i].id))
            return &column_table[i];
    return NULL;
}

const struct column *column_sorted(const struct show *show, enum rows_sort sort)
{
    if (sort == SORT_ZEROS && show->activity)
        return column_find(STR("outzeros")); /* in results, not in tensors */
    for (size_t i = 0; i < n_column_table && sort != SORT_MODEL; i++)
        if (column_table[i].sort == sort)
            return &column_table[i];
    return NULL;
}

bool column_at_step(const struct column *column)
{
    return column->cell == cell_gradient || column->cell == cell_update ||
           column->cell == cell_weight || column->cell == cell_dead;
}

const char *column_title(const struct column *column)
{
    return column->title ? column->title : column->header;
}

bool column_applies(const struct column *column, const struct show *show)
{
    return column->of == 0 || (column->of & COLUMN_OF_RUN && show->activity) ||
           (column->of & COLUMN_OF_OPS && show->ops) ||
           (column->of & COLUMN_OF_TRAINING && show->step);
}

struct figure column_bar(struct buf *to, const struct column *column,
                         const struct show *show, const struct row *row, unsigned cells)
{
    struct figure figure = {.text = to, .kind = column->kind, .real = NAN};

    column->cell(&figure, show, row);
    if (!isnan(figure.real))
        figure_bar(to, &figure, cells);
    return figure;
}

struct figure column_figure(struct buf *to, const struct column *column,
                            const struct show *show, const struct row *row)
{
    struct figure figure = {.text = to, .kind = column->kind};
    size_t header;

    if (column->kind == FIGURE_BAR) {
        header = text_width(str_of(column->header));
        return column_bar(to, column, show, row, header ? (unsigned)header : BAR_CELLS);
    }
    column->cell(&figure, show, row);
    return figure;
}

struct figure column_on_page(struct buf *to, const struct column *column,
                             const struct show *show, const struct row *row)
{
    size_t begin = to->len;
    struct figure figure = column_figure(to, column, show, row);
    bool short_time = column->kind == FIGURE_TIME && row_run(show, row, RUN_CALLS) > 0;

    if (to->len == begin)
        buf_text(to, short_time ? "<1μs" : "–");
    return figure;
}
