#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/compare.h"
#include "measure/compare_naive_in.h"

static const struct tolerance exact = {0, 0};

/* A quantised sample whose model holds its quantiser: the tensor itself, its scales and
 * its zero points, in one storage. */
struct quantised {
    struct sample_model sample;
    struct tensor tensors[3];
    struct storage storages[3];
    uint32_t parent[3], end[3], name[3], object[3];
    uint8_t kind[3], flags[3];
};

static void quantised_init(struct quantised *q, enum dtype dtype, const void *bytes,
                           uint64_t n, const int64_t *shape, int rank)
{
    struct model *model = &q->sample.model;

    memset(q, 0, sizeof *q);
    sample_init(&q->sample, dtype, bytes, n, shape, NULL, rank);
    arena_init(&model->arena, 1 << 20);
    CHECK_INT(intern_init(&model->strings, &model->arena), 0);
    CHECK_INT(values_init(&model->values, &model->arena, &model->strings), 0);
}

/* Set "scale" and "zero_point", or any other two keys. */
static void say(struct quantised *q, const char *key, double value,
                const char *other_key, int64_t other)
{
    struct values *values = &q->sample.model.values;
    uint32_t items[4] = {value_str(values, str_of(key)), value_real(values, value), 0,
                         0};

    if (other_key) {
        items[2] = value_str(values, str_of(other_key));
        items[3] = value_int(values, other);
    }
    q->sample.tensor.extra =
        value_make(values, VALUE_DICT, STR(""), items, other_key ? 4 : 2);
}

/* The n scales (double) and n zero points (int64) begin at byte `at`. */
static void say_channels(struct quantised *q, int64_t axis, uint64_t at, int64_t n)
{
    struct model *model = &q->sample.model;

    say(q, "scheme", 0, "axis", axis);
    q->tensors[0] = q->sample.tensor;
    for (uint32_t i = 0; i < 3; i++) {
        q->kind[i] = PLACE_TENSOR;
        q->object[i] = i;
        q->end[i] = i ? i + 1 : 3;
        q->parent[i] = i ? 0 : NO_PLACE;
        q->name[i] = intern_add(&model->strings, str_of(i == 0   ? "w"
                                                        : i == 1 ? "scales"
                                                                 : "zero_points"));
        if (i == 0)
            continue;
        q->tensors[i] =
            (struct tensor){.dtype = (uint8_t)(i == 1 ? DTYPE_FLOAT64 : DTYPE_INT64),
                            .rank = 1,
                            .shape = 14,
                            .offset = at / 8 + (i - 1) * (uint64_t)n,
                            .numel = (uint64_t)n};
    }
    q->sample.dims[14] = n;
    q->sample.dims[15] = 1;
    model->n_places = 3;
    model->parent = q->parent;
    model->end = q->end;
    model->name = q->name;
    model->object = q->object;
    model->kind = q->kind;
    model->flags = q->flags;
    model->tensors = q->tensors;
    model->n_tensors = 3;
}

static void quantised_release(struct quantised *q)
{
    arena_release(&q->sample.model.arena);
}

static int compare_samples(struct sample_model *left, struct sample_model *right,
                           struct compared *by, struct err *err)
{
    return compare_tensors(side_of(left), side_of(right), exact, NULL, by, err);
}

TEST(quantised_values_are_compared_as_real_numbers)
{
    uint8_t codes[] = {10, 12, 255, 0}, others[] = {5, 6, 127, 1};
    float values[] = {0, 0.5f, 61.25f, -2.5f};
    int64_t shape[] = {4};
    struct quantised a, b;
    struct sample_model plain;
    struct compared by;

    quantised_init(&a, DTYPE_QUINT8, codes, 4, shape, 1);
    say(&a, "scale", 0.25, "zero_point", 10);
    sample_init(&plain, DTYPE_FLOAT32, values, sizeof values, shape, NULL, 1);
    CHECK_INT(compare_samples(&plain, &a.sample, &by, NULL), 0);
    CHECK_INT(by.different, 0);
    /* Another scale and other codes: 0, 0.5, 61, -2. */
    quantised_init(&b, DTYPE_QUINT8, others, 4, shape, 1);
    say(&b, "scale", 0.5, "zero_point", 5);
    CHECK_INT(compare_samples(&a.sample, &b.sample, &by, NULL), 0);
    CHECK_INT(by.different, 2);
    CHECK_NEAR(by.max_abs, 0.5, 0);
    CHECK_INT(by.max_at, 3);
    /* The same codes with another scale are different values, except for the last. */
    b.sample.bytes = codes;
    CHECK_INT(compare_samples(&a.sample, &b.sample, &by, NULL), 0);
    CHECK_INT(by.different, 3);
    quantised_release(&a);
    quantised_release(&b);
}

TEST(quantised_values_without_a_scale_are_compared_only_with_the_same_type)
{
    uint8_t codes[] = {10, 12, 255, 0}, others[] = {10, 13, 255, 0};
    int64_t shape[] = {4};
    struct quantised a, b;
    struct compared by;
    struct err err;

    quantised_init(&a, DTYPE_QUINT8, codes, 4, shape, 1);
    quantised_init(&b, DTYPE_QUINT8, others, 4, shape, 1);
    CHECK_INT(compare_samples(&a.sample, &b.sample, &by, NULL), 0);
    CHECK_INT(by.different, 1);
    CHECK_NEAR(by.max_abs, 1, 0);
    say(&b, "scale", 0.5, "zero_point", 5);
    CHECK_INT(compare_samples(&a.sample, &b.sample, &by, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK_INT(compare_samples(&b.sample, &a.sample, &by, &err), -1);
    say(&b, "scale", 0.5, NULL, 0);
    CHECK_INT(compare_samples(&b.sample, &b.sample, &by, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    quantised_release(&a);
    quantised_release(&b);
}

/* Codes of 2 rows and 3 columns, then 3 scales and 3 zero points, in one storage. */
struct channel_bytes {
    int8_t codes[8];
    double scales[3];
    int64_t zeros[3];
};

TEST(each_channel_has_its_own_scale)
{
    struct channel_bytes bytes = {{1, 2, 3, 4, 5, 6}, {0.5, 1, 2}, {0, 1, -1}};
    struct channel_bytes others = {{3, 4, 5, 6}, {1, 2, 9}, {1, -1, 0}};
    float values[] = {0.5f, 1, 8, 2, 4, 14}, swapped[] = {0.5f, 2, 1, 4, 8, 14};
    int64_t shape[] = {2, 3}, part[] = {2, 2};
    struct quantised a, b;
    struct sample_model plain;
    struct compared by;
    struct err err;

    quantised_init(&a, DTYPE_QINT8, &bytes, sizeof bytes, shape, 2);
    say_channels(&a, 1, 8, 3);
    sample_init(&plain, DTYPE_FLOAT32, values, sizeof values, shape, NULL, 2);
    CHECK_INT(compare_samples(&plain, &a.sample, &by, NULL), 0);
    CHECK_INT(by.different, 0);
    CHECK_INT(compare_samples(&a.sample, &a.sample, &by, NULL), 0);
    CHECK_INT(by.different, 0);
    values[4] = 3;
    CHECK_INT(compare_samples(&a.sample, &plain, &by, NULL), 0);
    CHECK_INT(by.different, 1);
    CHECK_INT(by.max_at, 4);

    sample_init(&plain, DTYPE_FLOAT32, swapped, sizeof swapped, (int64_t[]){3, 2}, NULL,
                2);
    CHECK_INT(compare_transposed(side_of(&a.sample), side_of(&plain), NULL, NULL), 1);
    CHECK_INT(compare_transposed(side_of(&plain), side_of(&a.sample), NULL, NULL), 1);

    /* Its last two columns, whose scales are the last two. */
    others.codes[0] = 2;
    others.codes[1] = 3;
    others.codes[2] = 5;
    quantised_init(&b, DTYPE_QINT8, &others, sizeof others, part, 2);
    say_channels(&b, 1, 8, 2);
    b.tensors[2].offset++;
    CHECK_INT(
        compare_part(side_of(&a.sample), 1, 1, side_of(&b.sample), NULL, &by, NULL), 0);
    CHECK_INT(by.different, 0);

    a.tensors[1].numel = 2;
    CHECK_INT(compare_samples(&a.sample, &plain, &by, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    quantised_release(&a);
    quantised_release(&b);
}

/* 0.1f * 9 and (float)(0.1 * 9) are not the same float. */
TEST(values_are_scaled_with_the_precision_that_torch_uses)
{
    struct channel_bytes bytes = {{9, 9}, {0.1, 0.1}, {0, 0}};
    float tensor_wise = 0.1f * 9, channel_wise = (float)(0.1 * 9);
    float values[] = {tensor_wise, tensor_wise};
    int64_t shape[] = {2};
    struct quantised a;
    struct sample_model plain;
    struct compared by;

    CHECK(tensor_wise != channel_wise);
    quantised_init(&a, DTYPE_QINT8, &bytes, sizeof bytes, shape, 1);
    sample_init(&plain, DTYPE_FLOAT32, values, sizeof values, shape, NULL, 1);
    say(&a, "scale", 0.1, "zero_point", 0);
    CHECK_INT(compare_samples(&a.sample, &plain, &by, NULL), 0);
    CHECK_INT(by.different, 0);
    values[0] = values[1] = channel_wise;
    say_channels(&a, 0, 8, 2);
    a.tensors[2].offset++;
    CHECK_INT(compare_samples(&a.sample, &plain, &by, NULL), 0);
    CHECK_INT(by.different, 0);
    quantised_release(&a);
}
