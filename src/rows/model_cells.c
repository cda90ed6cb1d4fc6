/* Cells about the model: counts, types, shapes and storage of a row. */
#include "rows/cells_in.h"

#include <inttypes.h>

#include "base/base.h"
#include "rows/args.h"
#include "rows/below.h"
#include "text/escape.h"
#include "text/number.h"

#define MOST_SHAPES   8 /* of a leaf's own tensors per cell */
#define MOST_DTYPES   3
#define MOST_MEASURED 65536 /* maximum places summed for one cell */

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

/* Can the place's parameters be counted? Not for a plain value, a group of them, or a
 * buffer. */
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

/* The number to write in brackets because it is counted elsewhere: 0 if there is none,
 * or if the place has its own. */
static uint64_t elsewhere(const struct row *row, uint64_t own, const uint64_t *tied)
{
    return own == 0 && tied ? tied[row->place] * row->count : 0;
}

/* The place that a row is a share of: its parent, or in a flat list the root. */
static uint32_t whole_of(const struct show *show, const struct row *row)
{
    uint32_t parent = show->model->parent[row->place];

    return row->above == NO_ROW || parent == NO_PLACE ? 0 : parent;
}

/* --- Cells */

/* The count of this place; else, in brackets, the tied count of another place. */
static void count_or_tied(struct figure *to, uint64_t own, uint64_t tied,
                          void (*write)(struct figure *to, uint64_t n))
{
    to->tied = tied > 0;
    buf_text(to->text, tied ? "(" : "");
    write(to, tied ? tied : own);
    buf_text(to->text, tied ? ")" : "");
}

void cell_params(struct figure *to, const struct show *show, const struct row *row)
{
    uint64_t own = row_params(show, row);

    if (has_params(show, row))
        count_or_tied(to, own, elsewhere(row, own, show->tied_params), figure_count);
}

void cell_count(struct figure *to, const struct show *show, const struct row *row)
{
    if (has_params(show, row))
        figure_exact(to, row_params(show, row));
}

void cell_percent(struct figure *to, const struct show *show, const struct row *row)
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

void cell_bar(struct figure *to, const struct show *show, const struct row *row)
{
    double whole = (double)counts_params(&show->session->places, 0);

    if (has_params(show, row) && whole > 0)
        to->real = to->solid = (double)row_params(show, row) / whole;
}

void cell_memory(struct figure *to, const struct show *show, const struct row *row)
{
    uint64_t own = row_bytes(show, row);

    if (has_bytes(show, row))
        count_or_tied(to, own, elsewhere(row, own, show->tied_bytes), figure_bytes);
}

/* The module's own amount, without modules below it. Computed once even for a million
 * tensors below one place. */
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

void cell_own_params(struct figure *to, const struct show *show, const struct row *row)
{
    if (has_params(show, row) && !(row->flags & ROW_PAIRS))
        figure_count(to, row_own_params(show, row));
}

void cell_own_memory(struct figure *to, const struct show *show, const struct row *row)
{
    if (has_bytes(show, row) && !(row->flags & ROW_PAIRS))
        figure_bytes(to, row_own_bytes(show, row));
}

void cell_memory_percent(struct figure *to, const struct show *show,
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

void cell_bytes(struct figure *to, const struct show *show, const struct row *row)
{
    if (has_bytes(show, row))
        figure_exact(to, row_bytes(show, row));
}

void cell_type(struct figure *to, const struct show *show, const struct row *row)
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

void cell_class(struct figure *to, const struct show *show, const struct row *row)
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

void cell_args(struct figure *to, const struct show *show, const struct row *row)
{
    const struct object *object;

    if (row->flags & ROW_MORE || show->model->kind[row->place] != PLACE_MODULE)
        return;
    object = place_object(show->model, row->place);
    if (object)
        args_show(to->text, show->model, object);
}

void cell_path(struct figure *to, const struct show *show, const struct row *row)
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

/* "weight: 6×3×5×5": one of a leaf's own tensors, and its tie. */
static void add_own_tensor(struct buf *to, const struct model *model, uint32_t place)
{
    const struct tensor *tensor = place_tensor(model, place);
    uint32_t other =
        tensor->place == place ? tensor_next_place(model, place) : tensor->place;
    struct buf path = BUF_INIT;

    escape_terminal(to, place_name(model, place));
    buf_text(to, ": ");
    text_shape(to, tensor_shape(model, tensor), tensor->rank);
    if (other != NO_PLACE) {
        place_path(model, other, &path);
        buf_text(to, " ⇄ ");
        escape_terminal(to, buf_span(&path));
        buf_release(&path);
    }
}

void cell_shapes(struct figure *to, const struct show *show, const struct row *row)
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

void cell_shape(struct figure *to, const struct show *show, const struct row *row)
{
    const struct tensor *tensor = row_tensor(show, row);

    if (tensor)
        figure_shape(to, tensor_shape(show->model, tensor), tensor->rank);
}

/* The dtypes of all tensors at and below a row: "float32", "float32, int64". */
void cell_dtype(struct figure *to, const struct show *show, const struct row *row)
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
void cell_device(struct figure *to, const struct show *show, const struct row *row)
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

/* "trainable", "frozen", "0.8M trainable"; nothing if the file does not record it. */
void cell_trainable(struct figure *to, const struct show *show, const struct row *row)
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

/* Sum the known statistics at and below a row: zeros, NaN and Inf; false: none known.
 */
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

void cell_zeros(struct figure *to, const struct show *show, const struct row *row)
{
    struct stats sum;

    if (add_up(show, row, &sum))
        figure_count(to, sum.zeros);
}

/* Counts in results if there is a recording, else in the tensors themselves. */
void cell_not_finite(struct figure *to, const struct show *show, const struct row *row)
{
    struct stats sum;

    if (show->activity) {
        cell_nan(to, show, row);
    } else if (add_up(show, row, &sum)) {
        figure_not_finite(to, sum.nan, sum.pos_inf);
        if (sum.nan + sum.pos_inf == 0)
            figure_count(to, 0);
    }
}

void cell_tensors(struct figure *to, const struct show *show, const struct row *row)
{
    uint64_t n;

    if (row->flags & ROW_MORE || show->model->kind[row->place] == PLACE_VALUE)
        return;
    n = counts_tensors(&show->session->places, row->place);
    figure_exact(to, n * (row->flags & ROW_PAIRS ? row->count / 2 : row->count));
}

void cell_storage(struct figure *to, const struct show *show, const struct row *row)
{
    const struct tensor *tensor = row_tensor(show, row);
    const struct model *model = show->model;
    char text[STORAGE_NAME_MAX];

    if (tensor && tensor->storage != NO_STORAGE)
        escape_terminal(to->text,
                        storage_name(model, &model->storages[tensor->storage], text));
}

void cell_offset(struct figure *to, const struct show *show, const struct row *row)
{
    const struct tensor *tensor = row_tensor(show, row);

    if (!tensor || tensor->storage == NO_STORAGE)
        return;
    to->n = tensor->offset;
    buf_printf(to->text, "%" PRIu64, to->n);
}

void cell_strides(struct figure *to, const struct show *show, const struct row *row)
{
    const struct tensor *tensor = row_tensor(show, row);
    const int64_t *strides;

    if (!tensor || tensor->layout != LAYOUT_STRIDED || tensor->rank == 0)
        return;
    strides = tensor_strides(show->model, tensor);
    for (int i = 0; i < tensor->rank; i++)
        buf_printf(to->text, "%s%" PRId64, i > 0 ? "," : "", strides[i]);
}

void cell_role(struct figure *to, const struct show *show, const struct row *row)
{
    static const char *const names[] = {"parameter", "buffer", "state", "plain"};
    const struct tensor *tensor = row_tensor(show, row);

    if (tensor && tensor->role < COUNT_OF(names))
        buf_text(to->text, names[tensor->role]);
}

void cell_mode(struct figure *to, const struct show *show, const struct row *row)
{
    const struct object *object;

    if (row->flags & ROW_MORE || show->model->kind[row->place] != PLACE_MODULE)
        return;
    object = place_object(show->model, row->place);
    if (object && object->training >= 0)
        buf_text(to->text, object->training ? "train" : "eval");
}
