#include <stdlib.h>
#include <string.h>

#include "measure/compare_in.h"
#include "measure/decode_in.h"

#define MOST_CHANNELS (1u << 24)

static bool number_of(const struct values *values, uint32_t id, double *ret_number)
{
    const struct value *value = value_at(values, id);

    if (value->kind == VALUE_REAL)
        *ret_number = value->real;
    else if (value->kind == VALUE_INT)
        *ret_number = (double)value->integer;
    else
        return false;
    return true;
}

/* The component of the quantised tensor with this name. */
static const struct tensor *part_of(struct compare_side side, struct str name)
{
    const struct model *model = side.model;
    uint32_t place = side.tensor->place;

    if (place >= model->n_places)
        return NULL;
    for (uint32_t p = place_first(model, place); p != NO_PLACE;
         p = place_next(model, p))
        if (model->kind[p] == PLACE_TENSOR && str_eq(place_name(model, p), name))
            return place_tensor(model, p);
    return NULL;
}

/* All values of a small tensor; the caller frees them. */
static double *read_values(const struct model *model, const struct tensor *tensor,
                           uint64_t n, struct err *err)
{
    struct elements *elements = NULL;
    double *values = NULL;
    size_t done = 0, some;
    const void *at;
    int more = -1;

    if (!tensor || tensor->numel != n || n > MOST_CHANNELS ||
        !decode_has_values(tensor->dtype) || decode_doubles(tensor->dtype) != 1) {
        err_set(err, ERR_UNSUPPORTED,
                "the file does not hold the scales of its %llu channels",
                (unsigned long long)n);
        return NULL;
    }
    elements = elements_open(model, tensor, 0, UINT64_MAX, false, err);
    values = malloc(n ? (size_t)n * sizeof *values : 1);
    if (elements && !values)
        err_set(err, ERR_LIMIT, "no memory for the scales of a tensor");
    while (elements && values) {
        more = elements_next(elements, NULL, &at, &some, err);
        if (more <= 0)
            break;
        elements_decode(elements_dtype(tensor->dtype), at, 0, some, values + done);
        done += some;
    }
    elements_close(elements);
    if (more == 0)
        return values;
    free(values);
    return NULL;
}

static int open_channels(struct quantiser *q, struct compare_side side, uint32_t axis,
                         struct err *err)
{
    const struct value *value = value_at(&side.model->values, axis);
    const struct tensor *scales = part_of(side, STR("scales"));

    if (value->kind != VALUE_INT || value->integer < 0 ||
        value->integer >= side.tensor->rank)
        return err_set(err, ERR_UNSUPPORTED, "its quantiser has no valid axis");
    q->axis = (int)value->integer;
    q->channels = (uint64_t)tensor_shape(side.model, side.tensor)[q->axis];
    q->scales = read_values(side.model, scales, q->channels, err);
    q->wide = scales && scales->dtype == DTYPE_FLOAT64;
    if (q->scales)
        q->zeros = read_values(side.model, part_of(side, STR("zero_points")),
                               q->channels, err);
    if (!q->zeros) {
        quantiser_close(q);
        return -1;
    }
    q->scaled = true;
    quantiser_fit(q, side);
    return 0;
}

int quantiser_open(struct quantiser *q, struct compare_side side, struct err *err)
{
    const struct values *values = &side.model->values;
    uint32_t extra = side.tensor->extra, id;
    uint32_t scale, zero;

    *q = (struct quantiser){.axis = -1};
    if (!dtype_info(side.tensor->dtype)->quantised || extra == VALUE_ID_NONE)
        return 0;
    if (value_get(values, extra, "axis", &id))
        return open_channels(q, side, id, err);
    if (!value_get(values, extra, "scale", &scale) ||
        !value_get(values, extra, "zero_point", &zero) ||
        !number_of(values, scale, &q->scale) || !number_of(values, zero, &q->zero))
        return err_set(err, ERR_UNSUPPORTED, "its scale is unknown");
    q->scaled = true;
    return 0;
}

void quantiser_fit(struct quantiser *q, struct compare_side side)
{
    const int64_t *shape = tensor_shape(side.model, side.tensor);

    if (!q->scales)
        return;
    q->inner = 1;
    q->size = (uint64_t)shape[q->axis];
    for (int i = q->axis + 1; i < side.tensor->rank; i++)
        q->inner *= (uint64_t)shape[i];
}

bool quantiser_equal(const struct quantiser *a, const struct quantiser *b)
{
    size_t bytes;

    if (a->scaled != b->scaled || !a->scales != !b->scales)
        return false;
    if (!a->scales)
        return a->scale == b->scale && a->zero == b->zero;
    if (a->size != b->size || a->inner != b->inner || a->wide != b->wide)
        return false;
    bytes = (size_t)a->size * sizeof *a->scales;
    return memcmp(a->scales + a->shift, b->scales + b->shift, bytes) == 0 &&
           memcmp(a->zeros + a->shift, b->zeros + b->shift, bytes) == 0;
}

static double dequantised(double code, double scale, double zero, bool wide)
{
    if (wide)
        return (double)(float)((code - zero) * scale);
    return (double)((float)(code - zero) * (float)scale);
}

void quantiser_apply(const struct quantiser *q, uint64_t first, size_t n,
                     double *values)
{
    if (!q->scaled)
        return;
    if (!q->scales) {
        for (size_t i = 0; i < n; i++)
            values[i] = dequantised(values[i], q->scale, q->zero, false);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t channel = (first + i) / q->inner % q->size + q->shift;

        values[i] =
            dequantised(values[i], q->scales[channel], q->zeros[channel], q->wide);
    }
}

void quantiser_close(struct quantiser *q)
{
    free(q->scales);
    free(q->zeros);
    q->scales = q->zeros = NULL;
}
