#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"
#include "model/source.h"
#include "read/read.h"

/* A safetensors file as it is written. */
struct packed_file {
    struct buf header, data, file;
    uint32_t seed;
};

/* Adds a tensor of `n` bytes: those given, or random ones. */
static void put(struct packed_file *f, const char *name, const char *dtype,
                const char *shape, size_t n, const void *bytes)
{
    buf_printf(&f->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,",
               f->header.len ? "," : "{", name, dtype, shape);
    buf_printf(&f->header, "\"data_offsets\":[%zu,%zu]}", f->data.len, f->data.len + n);
    for (size_t i = 0; i < n; i++) {
        f->seed = f->seed * 1664525 + 1013904223;
        buf_char(&f->data, bytes ? ((const char *)bytes)[i] : (char)(f->seed >> 24));
    }
}

static void put_floats(struct packed_file *f, const char *name, const char *shape,
                       size_t n)
{
    float *values = calloc(n, sizeof *values);

    for (size_t i = 0; i < n; i++)
        values[i] = (float)(i % 7 + 1) / 8 - (float)(i % 3);
    put(f, name, "F32", shape, n * sizeof *values, values);
    free(values);
}

static const struct model *read_packed(struct packed_file *f)
{
    uint64_t size;

    buf_char(&f->header, '}');
    size = f->header.len;
    for (int i = 0; i < 8; i++)
        buf_char(&f->file, (char)(size >> (8 * i)));
    buf_str(&f->file, buf_span(&f->header));
    buf_str(&f->file, buf_span(&f->data));
    return read_model_memory(f->file.at, f->file.len, "x.safetensors", NULL, NULL);
}

static void drop_packed(struct packed_file *f, const struct model *model)
{
    model_free(model);
    buf_release(&f->header);
    buf_release(&f->data);
    buf_release(&f->file);
}

static const struct tensor *tensor_of(const struct model *model, const char *name)
{
    uint32_t place = place_find(model, str_of(name));

    return place == NO_PLACE ? NULL : place_tensor(model, place);
}

static const struct tensor *derived(const struct model *model)
{
    for (uint32_t i = 0; i < model->n_tensors; i++)
        if (model->tensors[i].flags & TENSOR_DERIVED)
            return &model->tensors[i];
    return NULL;
}

static float stored_float(const struct model *model, const char *name, uint64_t i)
{
    const struct tensor *tensor = tensor_of(model, name);
    float value = 0;

    CHECK(tensor && source_bytes(model->source, tensor->storage,
                                 4 * (tensor->offset + i), &value, 4, NULL) == 0);
    return value;
}

/* Bits from bit `at` on of a stream of bytes. */
static unsigned bits_at(const struct model *model, const char *name, uint64_t word,
                        uint64_t next, unsigned shift, unsigned bits)
{
    const struct tensor *tensor = tensor_of(model, name);
    uint32_t words[2] = {0, 0};

    source_bytes(model->source, tensor->storage, 4 * word, &words[0], 4, NULL);
    if (shift + bits > 32)
        source_bytes(model->source, tensor->storage, 4 * next, &words[1], 4, NULL);
    return (unsigned)(((uint64_t)words[1] << 32 | words[0]) >> shift) &
           ((1u << bits) - 1);
}

/* Every window of the storage gives the same bytes as one read. Returns how many do
 * not. */
static int wrong_windows(const struct model *model, const struct tensor *tensor,
                         const float *whole, size_t n)
{
    static const size_t sizes[] = {1, 3, 4, 5, 17, 64, 1000};
    uint8_t got[1000];
    int wrong = 0;

    for (size_t s = 0; s < COUNT_OF(sizes); s++)
        for (size_t at = 0; at + sizes[s] <= n * 4; at += 1 + sizes[s] / 3)
            wrong += source_bytes(model->source, tensor->storage, at, got, sizes[s],
                                  NULL) < 0 ||
                     memcmp(got, (const uint8_t *)whole + at, sizes[s]) != 0;
    return wrong;
}

#define IN     64
#define OUT    32
#define GROUPS 4

static void put_gptq(struct packed_file *f, unsigned bits)
{
    char shape[64];

    snprintf(shape, sizeof shape, "[%u,%u]", IN * bits / 32, OUT);
    put(f, "fc.qweight", "I32", shape, IN * bits / 32 * OUT * 4, NULL);
    snprintf(shape, sizeof shape, "[%u,%u]", GROUPS, OUT * bits / 32);
    put(f, "fc.qzeros", "I32", shape, GROUPS * OUT * bits / 32 * 4, NULL);
    put_floats(f, "fc.scales", "[4,32]", GROUPS * OUT);
}

static float gptq_value(const struct model *model, unsigned bits, unsigned i,
                        unsigned o)
{
    unsigned group = i / (IN / GROUPS), bit = i * bits, zero = o * bits;
    unsigned code = bits_at(model, "fc.qweight", bit / 32 * OUT + o,
                            (bit / 32 + 1) * OUT + o, bit % 32, bits);
    uint64_t at = group * (OUT * bits / 32) + zero / 32;
    unsigned less = bits_at(model, "fc.qzeros", at, at + 1, zero % 32, bits);

    return ((float)code - (float)(less + 1)) *
           stored_float(model, "fc.scales", group * OUT + o);
}

TEST(a_gptq_weight_of_any_bits_is_read_in_any_window)
{
    static const unsigned all_bits[] = {2, 3, 4, 8};

    for (size_t b = 0; b < COUNT_OF(all_bits); b++) {
        struct packed_file f = {0};
        const struct model *model;
        const struct tensor *weight;
        float whole[IN * OUT];

        put_gptq(&f, all_bits[b]);
        model = read_packed(&f);
        weight = model ? derived(model) : NULL;
        CHECK(weight && weight == tensor_of(model, "fc.weight"));
        CHECK_INT(tensor_shape(model, weight)[0], OUT);
        CHECK_INT(tensor_shape(model, weight)[1], IN);
        CHECK_INT(tensor_strides(model, weight)[0], 1);
        CHECK_INT(tensor_strides(model, weight)[1], OUT);
        CHECK_INT(tensor_own_bytes(weight), 0);
        CHECK_INT(weight->role, ROLE_PARAMETER);
        CHECK_INT(tensor_of(model, "fc.scales")->role, ROLE_BUFFER);
        CHECK(source_bytes(model->source, weight->storage, 0, whole, sizeof whole,
                           NULL) == 0);
        for (unsigned i = 0; i < IN; i++)
            for (unsigned o = 0; o < OUT; o++)
                CHECK(whole[i * OUT + o] == gptq_value(model, all_bits[b], i, o));
        CHECK_INT(wrong_windows(model, weight, whole, IN * OUT), 0);
        drop_packed(&f, model);
    }
}

TEST(a_wrong_group_number_is_an_error_when_values_are_read)
{
    struct packed_file f = {0};
    const struct model *model;
    int32_t groups[IN] = {0};
    struct err err = {0};
    float got;

    groups[5] = GROUPS;
    groups[6] = -1;
    put_gptq(&f, 4);
    put(&f, "fc.g_idx", "I32", "[64]", sizeof groups, groups);
    model = read_packed(&f);
    CHECK(model && derived(model));
    CHECK(source_bytes(model->source, derived(model)->storage, 0, &got, 4, &err) == 0);
    CHECK(source_bytes(model->source, derived(model)->storage, 4 * 5 * OUT, &got, 4,
                       &err) < 0);
    CHECK(strstr(err.text, "4 groups") && strstr(err.text, "group 4"));
    CHECK(source_bytes(model->source, derived(model)->storage, 4 * 6 * OUT, &got, 4,
                       &err) < 0);
    drop_packed(&f, model);
}

/* A file of these tensors has no derived tensor, and at most the note that says so. */
static bool left_alone(struct packed_file *f)
{
    const struct model *model = read_packed(f);
    bool alone = model && !derived(model) && model->n_findings <= 1;

    for (uint32_t i = 0; alone && i < model->n_findings; i++)
        alone = model->findings[i].code == FINDING_UNSUPPORTED &&
                model->findings[i].severity == SEVERITY_NOTE;

    drop_packed(f, model);
    return alone;
}

TEST(parts_that_are_missing_or_do_not_fit_are_left_alone)
{
    struct packed_file f = {0};

    put(&f, "fc.qweight", "I32", "[8,32]", 8 * 32 * 4, NULL);
    put_floats(&f, "fc.scales", "[4,32]", 4 * 32);
    CHECK(left_alone(&f)); /* no zero points */

    f = (struct packed_file){0};
    put(&f, "fc.qweight", "I32", "[8,32]", 8 * 32 * 4, NULL);
    put(&f, "fc.qzeros", "I32", "[3,4]", 3 * 4 * 4, NULL);
    put_floats(&f, "fc.scales", "[4,32]", 4 * 32);
    CHECK(left_alone(&f)); /* other groups */

    f = (struct packed_file){0};
    put_gptq(&f, 4);
    put(&f, "fc.g_idx", "I32", "[63]", 63 * 4, NULL);
    CHECK(left_alone(&f));

    f = (struct packed_file){0};
    put(&f, "fc.weight", "I8", "[4,6]", 24, NULL);
    put_floats(&f, "fc.SCB", "[5]", 5);
    CHECK(left_alone(&f));

    f = (struct packed_file){0};
    put(&f, "fc.weight", "I8", "[4,6]", 24, NULL);
    put_floats(&f, "fc.weight_scale", "[4,5]", 20);
    CHECK(left_alone(&f));

    f = (struct packed_file){0};
    put(&f, "fc.weight", "F8_E4M3", "[4,6]", 24, NULL);
    put_floats(&f, "fc.weight_scale_inv", "[2,1]", 2);
    CHECK(left_alone(&f));

    f = (struct packed_file){0};
    put(&f, "fc.weight", "F32", "[4,6]", 96, NULL);
    put_floats(&f, "fc.weight_scale", "[4]", 4);
    CHECK(left_alone(&f));
}

TEST(a_weight_in_bytes_keeps_its_name_and_the_real_one_is_beside_it)
{
    struct packed_file f = {0};
    const struct model *model;
    const struct tensor *real;
    float got[6];

    put(&f, "fc.weight", "I8", "[2,3]", 6, "\x01\xff\x7f\x80\x00\x02");
    put_floats(&f, "fc.weight_scale", "[2,1]", 2);
    model = read_packed(&f);
    real = model ? tensor_of(model, "fc.weight (real values)") : NULL;
    CHECK(real && real == derived(model));
    CHECK_INT(tensor_of(model, "fc.weight")->role, ROLE_BUFFER);
    CHECK(source_bytes(model->source, real->storage, 0, got, sizeof got, NULL) == 0);
    CHECK(got[0] == 0.125F && got[1] == -0.125F && got[2] == 127 * 0.125F);
    CHECK(got[3] == -128 * -0.75F && got[4] == 0 && got[5] == 2 * -0.75F);
    drop_packed(&f, model);
}

static void put_bnb(struct packed_file *f, const char *state)
{
    char shape[32];

    put(f, "fc.weight", "U8", "[16,1]", 16, NULL);
    put_floats(f, "fc.weight.absmax", "[4]", 4);
    put_floats(f, "fc.weight.quant_map", "[16]", 16);
    snprintf(shape, sizeof shape, "[%zu]", strlen(state));
    put(f, "fc.weight.quant_state.bitsandbytes__nf4", "U8", shape, strlen(state),
        state);
}

TEST(the_state_of_bitsandbytes_must_fit_its_tensors)
{
    static const char *const wrong[] = {
        "{\"quant_type\":\"nf4\",\"blocksize\":8,\"shape\":[4,9]}",
        "{\"quant_type\":\"nf4\",\"blocksize\":9,\"shape\":[4,7]}",
        "{\"quant_type\":\"nf4\",\"blocksize\":0,\"shape\":[4,8]}",
        "{\"quant_type\":\"nf4\",\"blocksize\":8,\"shape\":[-4,-8]}",
        "{\"quant_type\":\"nf4\",\"blocksize\":8,\"shape\":[]}",
        "{\"quant_type\":\"nf4\",\"blocksize\":8,\"shape\":[1,1,1,1,1,1,1,4,8]}",
        "{\"quant_type\":\"nf5\",\"blocksize\":8,\"shape\":[4,8]}",
        "{\"quant_type\":\"nf4\",\"blocksize\":8,\"shape\":[4294967296,4294967296]}",
        "{\"quant_type\":\"nf4\",\"blocksize\":8,\"shape\":[4,8]",
        "[]",
    };
    struct packed_file f = {0};
    const struct model *model;

    put_bnb(&f, "{\"quant_type\":\"nf4\",\"blocksize\":8,\"shape\":[4,8]}");
    model = read_packed(&f);
    CHECK(model && derived(model));
    CHECK_INT(derived(model)->numel, 32);
    drop_packed(&f, model);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        f = (struct packed_file){0};
        put_bnb(&f, wrong[i]);
        CHECK(left_alone(&f));
    }
}

static void put_nvfp4(struct packed_file *f)
{
    put(f, "fc.weight_packed", "U8", "[6,48]", 6 * 48, NULL);
    put(f, "fc.weight_scale", "F8_E4M3", "[6,6]", 36, NULL);
    put_floats(f, "fc.weight_global_scale", "[1]", 1);
}

static void put_mxfp6(struct packed_file *f)
{
    put(f, "fc.weight_packed", "U8", "[6,72]", 6 * 72, NULL);
    put(f, "fc.weight_scale", "U8", "[6,3]", 18, NULL);
}

static void put_blocks(struct packed_file *f)
{
    put(f, "fc.up_blocks", "U8", "[2,3,3,16]", 2 * 3 * 48, NULL);
    put(f, "fc.up_scales", "U8", "[2,3,3]", 18, NULL);
}

static void put_torchao_int4(struct packed_file *f)
{
    put(f, "fc._weight_qdata", "I8", "[6,48]", 6 * 48, NULL);
    put_floats(f, "fc._weight_scale", "[3,6]", 18);
    put_floats(f, "fc._weight_zero_point", "[3,6]", 18);
    buf_text(&f->header,
             ",\"__metadata__\":{\"fc.weight\":\"{\\\"_type\\\":\\\"Int4Tensor\\\","
             "\\\"_data\\\":{\\\"block_size\\\":[1,32]}}\"}");
}

static void put_torchao_mx(struct packed_file *f)
{
    put(f, "fc._weight_qdata", "U8", "[6,48]", 6 * 48, NULL);
    put(f, "fc._weight_scale", "F8_E8M0", "[32,16]", 512, NULL);
    buf_text(
        &f->header,
        ",\"__metadata__\":{\"fc.weight\":\"{\\\"_type\\\":\\\"MXTensor\\\","
        "\\\"_data\\\":{\\\"elem_dtype\\\":\\\"float4_e2m1fn_x2\\\",\\\"block_size\\\":"
        "32,\\\"is_swizzled_scales\\\":true}}\"}");
}

static void put_mlx(struct packed_file *f)
{
    put(f, "fc.weight", "U32", "[6,9]", 6 * 9 * 4, NULL);
    put_floats(f, "fc.scales", "[6,3]", 18);
    put_floats(f, "fc.biases", "[6,3]", 18);
}

static void put_hqq(struct packed_file *f, int32_t axis)
{
    static const int64_t shape[2] = {6, 96};
    static const int32_t bits = 4;
    const char *sides = axis ? "[18,1]" : "[1,32]";

    put(f, "fc.nbits", "I32", "[]", 4, &bits);
    put(f, "fc.axis", "I32", "[]", 4, &axis);
    put(f, "fc.shape", "I64", "[2]", 16, shape);
    put(f, "fc.W_q", "U8", "[9,32]", 9 * 32, NULL);
    put_floats(f, "fc.scale", sides, axis ? 18 : 32);
    put_floats(f, "fc.zero", sides, axis ? 18 : 32);
}

static void put_hqq_rows(struct packed_file *f)
{
    put_hqq(f, 1);
}

static void put_hqq_columns(struct packed_file *f)
{
    put_hqq(f, 0);
}

static void put_quanto(struct packed_file *f)
{
    put(f, "fc.weight._data._data", "U8", "[3,2,48]", 3 * 96, NULL);
    put_floats(f, "fc.weight._scale", "[6,1,1]", 6);
    put_floats(f, "fc.weight._shift", "[6,1,1]", 6);
}

TEST(every_layout_of_bytes_gives_the_same_in_any_window)
{
    static void (*const layouts[])(struct packed_file *) = {
        put_nvfp4, put_mxfp6,    put_blocks,      put_torchao_int4, put_torchao_mx,
        put_mlx,   put_hqq_rows, put_hqq_columns, put_quanto};

    for (size_t i = 0; i < COUNT_OF(layouts); i++) {
        struct packed_file f = {0};
        const struct model *model;
        const struct tensor *weight;
        float whole[6 * 96];

        layouts[i](&f);
        model = read_packed(&f);
        weight = model ? derived(model) : NULL;
        CHECK(weight != NULL);
        CHECK_INT(weight->numel, 6 * 96);
        CHECK(source_bytes(model->source, weight->storage, 0, whole, sizeof whole,
                           NULL) == 0);
        CHECK_INT(wrong_windows(model, weight, whole, 6 * 96), 0);
        drop_packed(&f, model);
    }
}

TEST(codes_of_torchao_in_4_bits_are_signed_and_zero_points_are_added)
{
    struct packed_file f = {0};
    const struct model *model;
    float got[6 * 96];

    put_torchao_int4(&f);
    model = read_packed(&f);
    CHECK(model && derived(model) == tensor_of(model, "fc.weight"));
    CHECK(source_bytes(model->source, derived(model)->storage, 0, got, sizeof got,
                       NULL) == 0);
    for (unsigned row = 0; row < 6; row++)
        for (unsigned i = 0; i < 96; i++) {
            unsigned code =
                bits_at(model, "fc._weight_qdata", (row * 96 + i) / 8, 0, i % 8 * 4, 4);
            float scale = stored_float(model, "fc._weight_scale", i / 32 * 6 + row);
            float zero = stored_float(model, "fc._weight_zero_point", i / 32 * 6 + row);
            float value = (float)((int)(code ^ 8) - 8) * scale;

            value += zero;
            CHECK(got[row * 96 + i] == value);
        }
    drop_packed(&f, model);
}

TEST(several_weights_of_a_module_are_kept_apart)
{
    struct packed_file f = {0};
    const struct model *model;

    put_blocks(&f);
    put(&f, "fc.down_blocks", "U8", "[2,5,1,16]", 2 * 5 * 16, NULL);
    put(&f, "fc.down_scales", "U8", "[2,5,1]", 10, NULL);
    put(&f, "fc.side_blocks", "U8", "[2,5,1,16]", 2 * 5 * 16, NULL);
    put_floats(&f, "fc.up", "[3]", 3);
    model = read_packed(&f);
    CHECK(model && tensor_of(model, "fc.up (real values)"));
    CHECK_INT(tensor_of(model, "fc.up")->numel, 3);
    CHECK_INT(tensor_shape(model, tensor_of(model, "fc.down"))[1], 32);
    CHECK_INT(tensor_shape(model, tensor_of(model, "fc.down"))[2], 5);
    CHECK(!tensor_of(model, "fc.side"));
    drop_packed(&f, model);
}
