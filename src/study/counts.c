#include "study/counts.h"

/* Saturates: a file may claim 2^60 elements many times. */
static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

bool counts_here(const struct model *model, uint32_t place)
{
    return model->tensors[model->object[place]].place == place;
}

/* The stored elements of a sparse or nested tensor: its part `values` or `buffer`. */
static uint64_t stored_elements(const struct model *model, uint32_t place)
{
    uint32_t part;

    for (part = place_first(model, place); part != NO_PLACE;
         part = place_next(model, part)) {
        struct str name = place_name(model, part);

        if (model->kind[part] == PLACE_TENSOR &&
            (str_is(name, "values") || str_is(name, "buffer")))
            return place_tensor(model, part)->numel;
    }
    return 0;
}

uint64_t counts_elements(const struct model *model, uint32_t place)
{
    const struct tensor *tensor = place_tensor(model, place);

    if (tensor->flags & TENSOR_INVALID)
        return 0;
    if (tensor->layout == LAYOUT_STRIDED || tensor->layout == LAYOUT_WRAPPED)
        return tensor->numel;
    return stored_elements(model, place);
}

/* The bytes of a tensor without its parts. */
static uint64_t own_bytes(const struct tensor *tensor)
{
    if (tensor->flags & (TENSOR_INVALID | TENSOR_SHAPE_ONLY))
        return 0;
    return tensor_own_bytes(tensor);
}

static bool is_counted_role(uint8_t role)
{
    return role == ROLE_PARAMETER || role == ROLE_BUFFER;
}

/* ---- the whole model ---- */

static void add_bytes(struct counts *counts, const struct tensor *tensor, uint8_t role)
{
    if (is_counted_role(role))
        counts->bytes = sum(counts->bytes, own_bytes(tensor));
    else
        counts->other_bytes = sum(counts->other_bytes, own_bytes(tensor));
}

static void add_parameter(struct counts *counts, const struct tensor *tensor,
                          uint64_t elements)
{
    uint64_t values = dtype_info(tensor->dtype)->values;
    uint64_t logical;

    if (__builtin_mul_overflow(elements, values, &logical))
        logical = UINT64_MAX;
    counts->params = sum(counts->params, elements);
    counts->logical = sum(counts->logical, logical);
    counts->param_tensors++;
    if (!(tensor->flags & TENSOR_GRAD_KNOWN))
        return;
    if (tensor->flags & TENSOR_GRAD)
        counts->trainable = sum(counts->trainable, elements);
    else
        counts->frozen = sum(counts->frozen, elements);
    counts->grad_known++;
}

/* Every place counts as stored; only the first place of a tensor counts as unique. */
static void add_tensor(struct counts *counts, const struct model *model, uint32_t place)
{
    const struct tensor *tensor = place_tensor(model, place);
    uint64_t elements = counts_elements(model, place);

    counts->tensors++;
    if (tensor->role == ROLE_PARAMETER)
        counts->stored = sum(counts->stored, elements);
    if (!counts_here(model, place))
        return;
    add_bytes(counts, tensor, tensor->role);
    if (tensor->role == ROLE_PARAMETER) {
        add_parameter(counts, tensor, elements);
    } else if (tensor->role == ROLE_BUFFER) {
        counts->buffers = sum(counts->buffers, elements);
        counts->buffer_tensors++;
    } else {
        counts->others = sum(counts->others, elements);
    }
}

static bool is_module(const struct model *model, uint32_t place)
{
    unsigned flags = model->flags[place];

    if (model->kind[place] == PLACE_MODULE)
        return true;
    return model->kind[place] == PLACE_GROUP && (flags & PLACE_STATE_DICT) &&
           !(flags & PLACE_OPTIMIZER);
}

void counts_total(const struct model *model, struct counts *ret_counts)
{
    struct counts counts = {0};
    uint32_t place, end = 0;   /* end of the last whole tensor and its parts */
    uint8_t role = ROLE_PLAIN; /* of that tensor and its parts */

    for (place = 0; place < model->n_places; place++) {
        if (is_module(model, place))
            counts.modules++;
        if (model->kind[place] != PLACE_TENSOR)
            continue;
        if (place < end) {
            if (counts_here(model, place))
                add_bytes(&counts, place_tensor(model, place), role);
            continue;
        }
        end = model->end[place];
        role = place_tensor(model, place)->role;
        add_tensor(&counts, model, place);
    }
    *ret_counts = counts;
}

/* ---- per place ---- */

/* Places are in pre-order, so the sum below a place is the difference of two prefix
 * sums. */
#define STEP 8u /* places from one mark to the next */

/* Sums over the places before a mark. Wide enough for any file, so differences are
 * exact; results saturate. */
struct counts_mark {
    unsigned __int128 params, bytes;
    uint32_t tensors;
    uint32_t end; /* end of the last whole tensor and its parts */
};

/* Skip a place; true if it is a whole tensor, not a part. */
static inline bool pass_place(struct counts_mark *sum, const struct model *model,
                              uint32_t place)
{
    if (model->kind[place] != PLACE_TENSOR || place < sum->end)
        return false;
    sum->end = model->end[place];
    return true;
}

static inline void add_place(struct counts_mark *sum, const struct model *model,
                             uint32_t place)
{
    bool whole = pass_place(sum, model, place), here;
    const struct tensor *tensor;

    if (model->kind[place] != PLACE_TENSOR)
        return;
    tensor = &model->tensors[model->object[place]];
    here = tensor->place == place;
    if (whole) {
        sum->tensors++;
        if (here && tensor->role == ROLE_PARAMETER)
            sum->params += counts_elements(model, place);
    }
    if (here)
        sum->bytes += own_bytes(tensor);
}

int counts_places(const struct model *model, struct arena *arena,
                  struct place_counts *ret_counts, struct err *err)
{
    struct counts_mark sum = {0}, *marks;

    marks = arena_array(arena, model->n_places / STEP + 1, sizeof *marks);
    if (!marks)
        return arena_err(arena, "counting", err);
    for (uint32_t place = 0; place < model->n_places; place++) {
        if (place % STEP == 0)
            marks[place / STEP] = sum;
        add_place(&sum, model, place);
    }
    if (model->n_places % STEP == 0)
        marks[model->n_places / STEP] = sum;
    *ret_counts = (struct place_counts){.model = model, .marks = marks};
    return 0;
}

/* The prefix sum before a place. */
static struct counts_mark sum_before(const struct place_counts *counts, uint32_t place)
{
    struct counts_mark sum = counts->marks[place / STEP];

    for (uint32_t p = place - place % STEP; p < place; p++)
        add_place(&sum, counts->model, p);
    return sum;
}

/* The sum below a place that has few places below it. */
static struct counts_mark sum_near(const struct place_counts *counts, uint32_t place)
{
    const struct model *model = counts->model;
    const struct counts_mark *mark = &counts->marks[place / STEP];
    struct counts_mark sum = {.end = mark->end};
    uint32_t p;

    for (p = place - place % STEP; p < place; p++)
        pass_place(&sum, model, p);
    for (; p < model->end[place]; p++)
        add_place(&sum, model, p);
    return sum;
}

static struct counts_mark sum_of(const struct place_counts *counts, uint32_t place)
{
    struct counts_mark before, sum;

    if (counts->model->end[place] - place <= STEP)
        return sum_near(counts, place);
    before = sum_before(counts, place);
    sum = sum_before(counts, counts->model->end[place]);
    sum.params -= before.params;
    sum.bytes -= before.bytes;
    sum.tensors -= before.tensors;
    return sum;
}

static uint64_t at_most(unsigned __int128 sum)
{
    return sum < UINT64_MAX ? (uint64_t)sum : UINT64_MAX;
}

uint64_t counts_params(const struct place_counts *counts, uint32_t place)
{
    return at_most(sum_of(counts, place).params);
}

uint64_t counts_bytes(const struct place_counts *counts, uint32_t place)
{
    return at_most(sum_of(counts, place).bytes);
}

uint32_t counts_tensors(const struct place_counts *counts, uint32_t place)
{
    return sum_of(counts, place).tensors;
}
