/* THE TABLE of columns. To add one: write the function that writes its cell, add a line
 * to the table below, and say in docs/torchoscope.1 what it means. */
#include "rows/labels.h"

#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "rows/args.h"
#include "rows/below.h"
#include "rows/run_columns_in.h"
#include "rows/run_words.h"
#include "text/escape.h"
#include "text/glyph.h"
#include "text/number.h"

#define MOST_SHAPES   8 /* of a leaf's own tensors in one cell */
#define BAR_CELLS     10
#define MOST_DTYPES   3
#define MOST_MEASURED 65536 /* places that are looked through for one cell */

/* --- What a row counts */

uint64_t row_params(const struct show *show, const struct row *row)
{
    const struct place_counts *counts = &show->session->places;
    uint64_t params = counts_params(counts, row->place);

    if (row->flags & ROW_PAIRS)
        return (params + counts_params(counts, show->model->end[row->place])) *
               (row->count / 2);
    return params * row->count;
}

uint64_t row_bytes(const struct show *show, const struct row *row)
{
    const struct place_counts *counts = &show->session->places;
    uint64_t bytes = counts_bytes(counts, row->place);

    if (row->flags & ROW_PAIRS)
        return (bytes + counts_bytes(counts, show->model->end[row->place])) *
               (row->count / 2);
    return bytes * row->count;
}

/* Is this a place whose parameters can be counted: not a plain value, not a group of
 * them, not a buffer? */
static bool has_params(const struct show *show, const struct row *row)
{
    const struct model *model = show->model;
    uint32_t place = row->place;

    if (row->flags & ROW_MORE)
        return false;
    switch ((enum place_kind)model->kind[place]) {
    case PLACE_MODULE:
        return true;
    case PLACE_TENSOR:
        return place_tensor(model, place)->role == ROLE_PARAMETER;
    case PLACE_GROUP:
        return (model->flags[place] & PLACE_STATE_DICT) ||
               counts_params(&show->session->places, place) > 0;
    default:
        return false;
    }
}

static bool has_bytes(const struct show *show, const struct row *row)
{
    if (row->flags & ROW_MORE)
        return false;
    return has_params(show, row) ||
           counts_bytes(&show->session->places, row->place) > 0 ||
           show->model->kind[row->place] == PLACE_TENSOR;
}

/* Numbers that are counted elsewhere stand in brackets: 0 if there are none, or if the
 * place has some of its own. */
static uint64_t elsewhere(const struct row *row, uint64_t own, const uint64_t *tied)
{
    return own == 0 && tied ? tied[row->place] * row->count : 0;
}

/* The parent whose share a row is: the place above it, or in a flat list the whole. */
static uint32_t whole_of(const struct show *show, const struct row *row)
{
    uint32_t parent = show->model->parent[row->place];

    return row->above == NO_ROW || parent == NO_PLACE ? 0 : parent;
}

/* --- Cells */

/* What is counted here; else, in brackets, what is tied and counted elsewhere. */
static void count_or_tied(struct figure *to, uint64_t own, uint64_t tied,
                          void (*write)(struct figure *to, uint64_t n))
{
    buf_text(to->text, tied ? "(" : "");
    write(to, tied ? tied : own);
    buf_text(to->text, tied ? ")" : "");
}

static void params_cell(struct figure *to, const struct show *show,
                        const struct row *row)
{
    uint64_t own = row_params(show, row);

    if (has_params(show, row))
        count_or_tied(to, own, elsewhere(row, own, show->tied_params), figure_count);
}

static void count_cell(struct figure *to, const struct show *show,
                       const struct row *row)
{
    if (has_params(show, row))
        figure_exact(to, row_params(show, row));
}

static void percent_cell(struct figure *to, const struct show *show,
                         const struct row *row)
{
    uint64_t own, whole;

    if (!has_params(show, row))
        return;
    own = row_params(show, row);
    if (elsewhere(row, own, show->tied_params))
        return;
    whole = counts_params(&show->session->places, whole_of(show, row));
    if (row->place == 0 && own == 0)
        return;
    figure_share(to, row->place == 0 ? 1 : (double)own,
                 row->place == 0 ? 1 : (double)whole);
}

void params_bar(struct buf *to, const struct show *show, const struct row *row,
                int cells)
{
    double whole = (double)counts_params(&show->session->places, 0);

    if (has_params(show, row) && whole > 0)
        glyph_bar(to, (double)row_params(show, row) / whole, cells, false);
}

static void bar_cell(struct figure *to, const struct show *show, const struct row *row)
{
    params_bar(to->text, show, row, BAR_CELLS);
}

static void memory_cell(struct figure *to, const struct show *show,
                        const struct row *row)
{
    uint64_t own = row_bytes(show, row);

    if (has_bytes(show, row))
        count_or_tied(to, own, elsewhere(row, own, show->tied_bytes), figure_bytes);
}

/* What a module has itself, not in modules below it. Of a million tensors below one
 * place that is asked once. */
static uint64_t own_amount(const struct show *show, const struct row *row,
                           enum below_kind kind,
                           uint64_t (*count)(const struct place_counts *, uint32_t))
{
    const struct model *model = show->model;
    uint64_t sum = 0;

    if (model->kind[row->place] == PLACE_TENSOR)
        return count(&show->session->places, row->place) * row->count;
    if (below_known(show, kind, row->place, row->count, &sum))
        return sum;
    for (uint32_t c = place_first(model, row->place); c != NO_PLACE;
         c = place_next(model, c))
        if (model->kind[c] == PLACE_TENSOR)
            sum += count(&show->session->places, c);
    sum *= row->count;
    below_learn(show, kind, row->place, row->count, sum);
    return sum;
}

uint64_t row_own_params(const struct show *show, const struct row *row)
{
    return row->flags & (ROW_PAIRS | ROW_MORE)
               ? 0
               : own_amount(show, row, BELOW_OWN_PARAMS, counts_params);
}

uint64_t row_own_bytes(const struct show *show, const struct row *row)
{
    return row->flags & (ROW_PAIRS | ROW_MORE)
               ? 0
               : own_amount(show, row, BELOW_OWN_BYTES, counts_bytes);
}

static void own_params_cell(struct figure *to, const struct show *show,
                            const struct row *row)
{
    if (has_params(show, row) && !(row->flags & ROW_PAIRS))
        figure_count(to, row_own_params(show, row));
}

static void own_memory_cell(struct figure *to, const struct show *show,
                            const struct row *row)
{
    if (has_bytes(show, row) && !(row->flags & ROW_PAIRS))
        figure_bytes(to, row_own_bytes(show, row));
}

static void memory_percent_cell(struct figure *to, const struct show *show,
                                const struct row *row)
{
    uint64_t own = row_bytes(show, row), whole;

    if (!has_bytes(show, row) || elsewhere(row, own, show->tied_bytes))
        return;
    whole = row->place == 0 ? own
                            : counts_bytes(&show->session->places, whole_of(show, row));
    if (whole > 0)
        figure_share(to, (double)own, (double)whole);
}

static void bytes_cell(struct figure *to, const struct show *show,
                       const struct row *row)
{
    if (has_bytes(show, row))
        figure_exact(to, row_bytes(show, row));
}

static void type_cell(struct figure *to, const struct show *show, const struct row *row)
{
    const struct object *object = NULL;

    if (row->flags & ROW_MORE || show->model->kind[row->place] == PLACE_VALUE)
        return;
    if (show->model->kind[row->place] == PLACE_TENSOR) {
        buf_text(to->text, "Tensor");
        return;
    }
    object = place_object(show->model, row->place);
    if (object && object->guessed)
        buf_char(to->text, '~');
    escape_terminal(to->text, class_short(place_class(show->model, row->place)));
}

static void class_cell(struct figure *to, const struct show *show,
                       const struct row *row)
{
    const struct object *object;

    if (row->flags & ROW_MORE)
        return;
    if (show->model->kind[row->place] == PLACE_TENSOR ||
        show->model->kind[row->place] == PLACE_VALUE)
        return;
    object = place_object(show->model, row->place);
    if (object && !object->guessed)
        escape_terminal(to->text, place_class(show->model, row->place));
}

static void args_cell(struct figure *to, const struct show *show, const struct row *row)
{
    const struct object *object;

    if (row->flags & ROW_MORE || show->model->kind[row->place] != PLACE_MODULE)
        return;
    object = place_object(show->model, row->place);
    if (object)
        args_show(to->text, show->model, object);
}

static void path_cell(struct figure *to, const struct show *show, const struct row *row)
{
    struct buf raw = BUF_INIT;

    if (row->flags & ROW_MORE)
        return;
    place_path(show->model, row->place, &raw);
    escape_terminal(to->text, buf_span(&raw));
    buf_release(&raw);
}

/* The tensor of a tensor's row, or NULL. */
static const struct tensor *row_tensor(const struct show *show, const struct row *row)
{
    if (row->flags & ROW_MORE || show->model->kind[row->place] != PLACE_TENSOR)
        return NULL;
    return place_tensor(show->model, row->place);
}

static void add_shape(struct buf *to, const struct model *model,
                      const struct tensor *tensor)
{
    text_shape(to, tensor_shape(model, tensor), tensor->rank);
    if (tensor->rank == 0)
        buf_text(to, "scalar");
}

/* "weight: 6×3×5×5": one of a leaf's own tensors, and what it is tied to. */
static void add_own_tensor(struct buf *to, const struct model *model, uint32_t place)
{
    const struct tensor *tensor = place_tensor(model, place);
    uint32_t other =
        tensor->place == place ? tensor_next_place(model, place) : tensor->place;
    struct buf path = BUF_INIT;

    escape_terminal(to, place_name(model, place));
    buf_text(to, ": ");
    add_shape(to, model, tensor);
    if (other != NO_PLACE) {
        place_path(model, other, &path);
        buf_text(to, " ⇄ ");
        escape_terminal(to, buf_span(&path));
        buf_release(&path);
    }
}

static void shapes_cell(struct figure *to, const struct show *show,
                        const struct row *row)
{
    const struct model *model = show->model;
    uint32_t n = 0;

    if (row->flags & (ROW_MORE | ROW_PAIRS) ||
        model->kind[row->place] != PLACE_MODULE || !show_is_leaf(model, row->place))
        return;
    for (uint32_t c = place_first(model, row->place); c != NO_PLACE;
         c = place_next(model, c)) {
        if (model->kind[c] != PLACE_TENSOR || model->flags[c] & PLACE_EMPTY)
            continue;
        if (n++ >= MOST_SHAPES)
            continue;
        buf_text(to->text, n == 1 ? "" : ", ");
        add_own_tensor(to->text, model, c);
    }
    if (n > MOST_SHAPES)
        buf_printf(to->text, ", … %" PRIu32 " more", n - MOST_SHAPES);
}

static void shape_cell(struct figure *to, const struct show *show,
                       const struct row *row)
{
    const struct tensor *tensor = row_tensor(show, row);

    if (tensor)
        add_shape(to->text, show->model, tensor);
}

/* The dtypes of all tensors at and below a row: "float32", "float32, int64". */
static void dtype_cell(struct figure *to, const struct show *show,
                       const struct row *row)
{
    struct below below;

    if (row->flags & ROW_MORE)
        return;
    below_sum(show, row->place, &below);
    for (uint8_t i = 0; i < below.n_dtypes && i < MOST_DTYPES; i++)
        buf_printf(to->text, "%s%s", i > 0 ? ", " : "", dtype_name(below.dtypes[i]));
    if (below.n_dtypes > MOST_DTYPES)
        buf_text(to->text, ", …");
}

/* The devices of all tensors at and below a row: "cuda:0", "cpu/cuda:0,1". */
static void device_cell(struct figure *to, const struct show *show,
                        const struct row *row)
{
    const struct model *model = show->model;
    struct str names[BELOW_DEVICES];
    struct below below;
    size_t n = 0;

    if (row->flags & ROW_MORE)
        return;
    below_sum(show, row->place, &below);
    for (uint32_t i = 0; i < model->n_devices && i < BELOW_DEVICES; i++) {
        names[n] = model_string(model, model->devices[i]);
        n += (below.devices >> i & 1) && names[n].len > 0;
    }
    text_devices(to->text, names, n);
}

bool row_frozen(const struct show *show, const struct row *row)
{
    struct below below;

    if (row->flags & ROW_MORE)
        return false;
    below_sum(show, row->place, &below);
    return below.frozen > 0 && below.trainable + below.tied == 0;
}

/* "trainable", "frozen", "0.8M trainable"; nothing where the file does not tell. */
static void trainable_cell(struct figure *to, const struct show *show,
                           const struct row *row)
{
    struct below below;
    uint64_t trained;

    if (row->flags & ROW_MORE)
        return;
    below_sum(show, row->place, &below);
    trained = below.trainable ? below.trainable : below.tied;
    if (trained && below.frozen) {
        text_count(to->text, trained);
        buf_text(to->text, " trainable");
    } else if (trained || below.frozen) {
        buf_text(to->text, trained ? "trainable" : "frozen");
    }
}

/* What is known of the values at and below a row, added up: zeros and what is not
 * finite; false: nothing. */
static bool add_up(const struct show *show, const struct row *row, struct stats *sum)
{
    const struct model *model = show->model;
    bool known = false;

    *sum = (struct stats){.count = 0};
    if (row->flags & ROW_MORE || model->end[row->place] - row->place > MOST_MEASURED)
        return false;
    for (uint32_t p = row->place; p < model->end[row->place]; p++) {
        const struct stats *stats;

        if (model->kind[p] != PLACE_TENSOR)
            continue;
        stats = session_known(show->session, model->object[p]);
        if (stats && stats_measured(stats)) {
            sum->zeros += stats->zeros;
            known = true;
        }
        if (stats) {
            sum->nan += stats->nan;
            sum->pos_inf += stats->pos_inf + stats->neg_inf;
            known |= stats->nan + stats->pos_inf + stats->neg_inf > 0;
        }
    }
    return known;
}

static void zeros_cell(struct figure *to, const struct show *show,
                       const struct row *row)
{
    struct stats sum;

    if (add_up(show, row, &sum))
        figure_count(to, sum.zeros);
}

/* Of results where there is a recording, else of the tensors themselves. */
static void not_finite_cell(struct figure *to, const struct show *show,
                            const struct row *row)
{
    struct stats sum;

    if (show->activity) {
        nan_cell(to, show, row);
    } else if (add_up(show, row, &sum)) {
        figure_not_finite(to, sum.nan, sum.pos_inf);
        if (sum.nan + sum.pos_inf == 0)
            figure_count(to, 0);
    }
}

static void tensors_cell(struct figure *to, const struct show *show,
                         const struct row *row)
{
    uint64_t n;

    if (row->flags & ROW_MORE || show->model->kind[row->place] == PLACE_VALUE)
        return;
    n = counts_tensors(&show->session->places, row->place);
    figure_exact(to, n * (row->flags & ROW_PAIRS ? row->count / 2 : row->count));
}

static void storage_cell(struct figure *to, const struct show *show,
                         const struct row *row)
{
    const struct tensor *tensor = row_tensor(show, row);
    const struct model *model = show->model;
    char text[STORAGE_NAME_MAX];

    if (tensor && tensor->storage != NO_STORAGE)
        escape_terminal(to->text,
                        storage_name(model, &model->storages[tensor->storage], text));
}

static void offset_cell(struct figure *to, const struct show *show,
                        const struct row *row)
{
    const struct tensor *tensor = row_tensor(show, row);

    if (tensor && tensor->storage != NO_STORAGE)
        buf_printf(to->text, "%" PRIu64, tensor->offset);
}

static void strides_cell(struct figure *to, const struct show *show,
                         const struct row *row)
{
    const struct tensor *tensor = row_tensor(show, row);
    const int64_t *strides;

    if (!tensor || tensor->layout != LAYOUT_STRIDED || tensor->rank == 0)
        return;
    strides = tensor_strides(show->model, tensor);
    for (int i = 0; i < tensor->rank; i++)
        buf_printf(to->text, "%s%" PRId64, i > 0 ? "," : "", strides[i]);
}

static void role_cell(struct figure *to, const struct show *show, const struct row *row)
{
    static const char *const names[] = {"parameter", "buffer", "state", "plain"};
    const struct tensor *tensor = row_tensor(show, row);

    if (tensor && tensor->role < COUNT_OF(names))
        buf_text(to->text, names[tensor->role]);
}

static void mode_cell(struct figure *to, const struct show *show, const struct row *row)
{
    const struct object *object;

    if (row->flags & ROW_MORE || show->model->kind[row->place] != PLACE_MODULE)
        return;
    object = place_object(show->model, row->place);
    if (object && object->training >= 0)
        buf_text(to->text, object->training ? "train" : "eval");
}

const struct column columns[] = {
    {"params", "params", "parameters, tied ones once", true, 9, CUT_END, params_cell},
    {"percent", "%", "share of the parent's parameters", true, 4, CUT_END,
     percent_cell},
    {"bar", "", "share of the whole model's parameters", false, 3, CUT_END, bar_cell},
    {"memory", "memory", "all tensors below, tied ones once", true, 8, CUT_END,
     memory_cell},
    {"memory%", "%", "share of the parent's memory", true, 4, CUT_END,
     memory_percent_cell},
    {"own_params", "own", "parameters of its own, not of modules below it", true, 2,
     CUT_END, own_params_cell},
    {"own_mem", "own mem", "memory of its own, not of modules below it", true, 2,
     CUT_END, own_memory_cell},
    {"shapes", "", "shapes of a leaf module's own tensors", false, 0, CUT_SHAPES,
     shapes_cell},
    {"count", "params", "parameters, exactly", true, 5, CUT_END, count_cell},
    {"bytes", "bytes", "memory in bytes, exactly", true, 5, CUT_END, bytes_cell},
    {"tensors", "tensors", "how many tensors", true, 2, CUT_END, tensors_cell},
    {"shape", "shape", "the shape of a tensor", false, 2, CUT_SHAPE, shape_cell},
    {"dtype", "dtype", "element types", false, 2, CUT_END, dtype_cell},
    {"device", "device", "where it is, or was saved from", false, 2, CUT_END,
     device_cell},
    {"trainable", "trainable", "trainable or frozen, where that is known", false, 2,
     CUT_END, trainable_cell},
    {"zeros", "zeros", "values that are zero", true, 2, CUT_END, zeros_cell},
    {"role", "role", "parameter, buffer, optimizer state or plain tensor", false, 2,
     CUT_END, role_cell},
    {"storage", "storage", "the storage that holds a tensor", false, 2, CUT_FRONT,
     storage_cell},
    {"offset", "offset", "where in it the tensor begins, in elements", true, 2, CUT_END,
     offset_cell},
    {"strides", "strides", "steps between neighbours, in elements", false, 2, CUT_END,
     strides_cell},
    {"type", "type", "class of a module", false, 2, CUT_END, type_cell},
    {"class", "class", "class of a module, in full", false, 2, CUT_FRONT, class_cell},
    {"args", "arguments", "arguments of a module", false, 2, CUT_END, args_cell},
    {"mode", "mode", "train or eval, where that is known", false, 2, CUT_END,
     mode_cell},
    {"path", "path", "the full name", false, 2, CUT_FRONT, path_cell},
    /* Of recordings. */
    {"in", "in", "the shape of a module's first input; *: it varied", true, 6,
     CUT_SHAPE, in_cell},
    {"out", "out", "likewise of its first result", true, 7, CUT_SHAPE, out_cell},
    {"calls", "calls", "how often it was called", true, 5, CUT_END, calls_cell},
    {"time", "time", "forward time of all calls, inclusive", true, 10, CUT_END,
     time_cell},
    {"time%", "%", "share of the parent's time", true, 4, CUT_END, time_percent_cell},
    {"self", "self", "time without that of what it called", true, 2, CUT_END,
     self_cell},
    {"timebar", "█ self ░ children", "own and other time, as a share of the run", false,
     3, CUT_NEVER, time_bar_cell},
    {"average", "average", "time of one call, on average", true, 1, CUT_END,
     average_cell},
    {"avg_self", "avg self", "the same without what it called", true, 1, CUT_END,
     self_average_cell},
    {"backward", "backward", "backward time of all calls", true, 2, CUT_END,
     backward_cell},
    {"device_time", "device", "forward time of all calls on the device", true, 9,
     CUT_END, device_time_cell},
    {"in_mem", "in mem", "bytes of all inputs of its newest call", true, 2, CUT_END,
     in_memory_cell},
    {"out_mem", "out mem", "bytes of all its results", true, 2, CUT_END,
     out_memory_cell},
    {"nan", "NaN", "values that are not finite: in its results, else in its tensors",
     true, 9, CUT_END, not_finite_cell},
    {"outmean", "out mean", "mean of its first result", true, 2, CUT_END,
     out_mean_cell},
    {"outstd", "out std", "standard deviation of its first result", true, 2, CUT_END,
     out_std_cell},
    {"outzeros", "out zeros", "share of zeros in its first result", true, 2, CUT_END,
     out_zeros_cell},
    {"in_dtype", "in dtype", "element type of its first input", false, 2, CUT_END,
     in_dtype_cell},
    {"out_dtype", "out dtype", "element type of its first result", false, 2, CUT_END,
     out_dtype_cell},
    {"grad", "‖grad‖", "norm of the newest gradients of its parameters", true, 2,
     CUT_END, gradient_cell},
    {"flops", "FLOPs", "floating-point operations; nobody counts them yet", true, 2,
     CUT_END, flops_cell},
};
const size_t n_columns = COUNT_OF(columns);

struct figure column_figure(struct buf *to, const struct column *column,
                            const struct show *show, const struct row *row)
{
    struct figure figure = {.text = to};

    column->cell(&figure, show, row);
    return figure;
}

struct figure column_led(struct buf *to, const struct column *column,
                         const struct show *show, const struct row *row)
{
    const char *lead = column->cut == CUT_SHAPES ? "| " : "";
    size_t begin = to->len;
    struct figure figure;

    buf_text(to, lead);
    figure = column_figure(to, column, show, row);
    if (to->len == begin + strlen(lead))
        to->len = begin;
    return figure;
}

const struct column *column_find(struct str id)
{
    if (str_is(id, "%"))
        id = STR("percent");
    for (size_t i = 0; i < n_columns; i++)
        if (str_is(id, columns[i].id))
            return &columns[i];
    return NULL;
}
