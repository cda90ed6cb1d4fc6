#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"
#include "model/source.h"
#include "read/read.h"

/* A file being written. */
struct maker {
    struct buf file;
    bool big, narrow;
};

static void put(struct maker *m, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        buf_char(&m->file, (char)(number >> 8 * (m->big ? bytes - 1 - i : i)));
}

static void put_count(struct maker *m, uint64_t count)
{
    put(m, count, m->narrow ? 4 : 8);
}

static void put_text(struct maker *m, const char *text)
{
    put_count(m, strlen(text));
    buf_text(&m->file, text);
}

static void begin(struct maker *m, uint32_t version, uint64_t tensors, uint64_t entries)
{
    buf_clear(&m->file);
    m->narrow = version == 1;
    buf_text(&m->file, "GGUF");
    put(m, version, 4);
    put_count(m, tensors);
    put_count(m, entries);
}

static void put_entry(struct maker *m, const char *key, uint32_t type)
{
    put_text(m, key);
    put(m, type, 4);
}

/* A tensor of two dimensions, the fastest first. */
static void put_tensor(struct maker *m, const char *name, uint64_t inner,
                       uint64_t outer, uint32_t type, uint64_t offset)
{
    put_text(m, name);
    put(m, 2, 4);
    put_count(m, inner);
    put_count(m, outer);
    put(m, type, 4);
    put(m, offset, 8);
}

static void pad(struct maker *m, size_t alignment)
{
    while (m->file.len % alignment)
        buf_char(&m->file, 0);
}

static const struct model *read_it(struct maker *m, struct err *err)
{
    return read_model_memory(m->file.at, m->file.len, "x.gguf", NULL, err);
}

static bool has(const struct model *model, enum finding_code code, const char *text)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == code && strstr(model->findings[i].text, text))
            return true;
    return false;
}

/* Checks that this file gives a model with this finding. */
static bool finds(struct maker *m, enum finding_code code, const char *text)
{
    struct err err = {0};
    const struct model *model = read_it(m, &err);
    bool found = model && has(model, code, text);

    if (!found)
        fprintf(stderr, "%s\n",
                model && model->n_findings ? model->findings[0].text : err.text);
    model_free(model);
    buf_release(&m->file);
    return found;
}

static uint32_t entry_of(const struct model *model, const char *key)
{
    for (uint32_t i = 0; i < model->n_metadata; i++)
        if (str_is(model_string(model, model->metadata[i].key), key))
            return model->metadata[i].value;
    return VALUE_ID_FAILED;
}

/* Two tensors: 64 by 3 of q4_0 (108 bytes), and 2 by 2 of float32. */
static void make_small(struct maker *m, uint32_t version)
{
    begin(m, version, 2, 2);
    put_entry(m, "general.architecture", 8);
    put_text(m, "llama");
    put_entry(m, "llama.context_length", 4);
    put(m, 4096, 4);
    put_tensor(m, "blk.0.attn_q.weight", 64, 3, 2, 0);
    put_tensor(m, "output.weight", 2, 2, 0, 128);
    pad(m, 32);
    buf_fill(&m->file, '\x42', 108);
    pad(m, 32);
    for (int i = 1; i <= 4; i++)
        put(m, (uint64_t)0x3f800000, 4);
}

TEST(all_versions_and_byte_orders_give_the_same_model)
{
    for (int order = 0; order < 2; order++)
        for (uint32_t version = 1; version <= 3; version++) {
            struct maker m = {.file = BUF_INIT, .big = order};
            struct err err = {0};
            const struct model *model;
            const struct tensor *tensor;
            uint8_t bytes[4];

            make_small(&m, version);
            model = read_it(&m, &err);
            CHECK(model);
            CHECK_INT(model->n_findings, order);
            CHECK(!order || has(model, FINDING_BIG_ENDIAN, "big-endian"));
            CHECK(!model->partial);
            CHECK_STR(model->format, "GGUF");
            CHECK_INT(model->n_tensors, 2);
            tensor = place_tensor(model, place_find(model, STR("blk.0.attn_q.weight")));
            CHECK(tensor && tensor->dtype == DTYPE_Q4_0 && tensor->rank == 2);
            CHECK_INT(tensor_shape(model, tensor)[0], 3);
            CHECK_INT(tensor_shape(model, tensor)[1], 64);
            CHECK_INT(tensor_bytes(tensor), 108);
            CHECK(tensor_readable(model, tensor, NULL));
            CHECK(source_bytes(model->source, tensor->storage, 104, bytes, 4, NULL) ==
                  0);
            CHECK(bytes[3] == 0x42);
            CHECK(str_is(
                value_text(&model->values, entry_of(model, "general.architecture")),
                "llama"));
            CHECK_INT(value_at(&model->values, entry_of(model, "llama.context_length"))
                          ->integer,
                      4096);
            model_free(model);
            buf_release(&m.file);
        }
}

static const struct value *value_of(const struct model *model, const char *key)
{
    uint32_t id = entry_of(model, key);

    CHECK(id != VALUE_ID_FAILED);
    return value_at(&model->values, id);
}

TEST(metadata_of_all_types_is_read)
{
    struct maker m = {.file = BUF_INIT};
    struct err err = {0};
    const struct model *model;

    begin(&m, 3, 0, 6);
    put_entry(&m, "i8", 1);
    put(&m, 0xff, 1);
    put_entry(&m, "u64", 10);
    put(&m, UINT64_MAX, 8);
    put_entry(&m, "f32", 6);
    put(&m, 0x3727c5ac, 4); /* the float32 nearest to 1e-5 */
    put_entry(&m, "f64", 12);
    put(&m, 0x3ff8000000000000, 8);
    put_entry(&m, "bool", 7);
    put(&m, 1, 1);
    put_entry(&m, "i16", 3);
    put(&m, 0x8000, 2);
    model = read_it(&m, &err);
    CHECK(model);
    CHECK_INT(model->n_findings, 0);
    CHECK_INT(value_of(model, "i8")->integer, -1);
    CHECK(str_is(value_text(&model->values, entry_of(model, "u64")),
                 "18446744073709551615"));
    CHECK(value_of(model, "f32")->real == 1e-5);
    CHECK(value_of(model, "f64")->real == 1.5);
    CHECK_INT(value_of(model, "bool")->kind, VALUE_BOOL);
    CHECK_INT(value_of(model, "i16")->integer, -32768);
    model_free(model);
    buf_release(&m.file);
}

/* A list of three numbers, one of a thousand strings, one of lists. */
static void make_arrays(struct maker *m)
{
    begin(m, 3, 0, 4);
    put_entry(m, "few", 9);
    put(m, 5, 4);
    put(m, 3, 8);
    put(m, 16, 4);
    put(m, (uint32_t)-1, 4);
    put(m, 0, 4);
    put_entry(m, "many", 9);
    put(m, 8, 4);
    put(m, 1000, 8);
    for (int i = 0; i < 1000; i++)
        put_text(m, i == 1 ? "two" : "x");
    put_entry(m, "arrays", 9);
    put(m, 9, 4);
    put(m, 2, 8);
    put(m, 0, 4);
    put(m, 4, 8);
    put(m, 0, 4);
    put(m, 8, 4);
    put(m, 1, 8);
    put_text(m, "y");
    put_entry(m, "last", 0);
    put(m, 7, 1);
}

TEST(long_arrays_are_summarised)
{
    struct maker m = {.file = BUF_INIT};
    struct err err = {0};
    const struct model *model;
    const uint32_t *items;

    make_arrays(&m);
    model = read_it(&m, &err);
    CHECK(model);
    CHECK_INT(model->n_findings, 0);
    CHECK_INT(value_of(model, "few")->kind, VALUE_LIST);
    CHECK_INT(value_of(model, "few")->n, 3);
    items = value_items(&model->values, entry_of(model, "few"));
    CHECK_INT(value_at(&model->values, items[1])->integer, -1);
    CHECK_INT(value_of(model, "many")->kind, VALUE_OBJECT);
    items = value_items(&model->values, entry_of(model, "many"));
    CHECK_INT(value_at(&model->values, items[3])->integer, 1000);
    CHECK_INT(value_at(&model->values, items[5])->n, 8);
    items = value_items(&model->values, items[5]);
    CHECK(str_is(value_text(&model->values, items[1]), "two"));
    CHECK_INT(value_of(model, "arrays")->kind, VALUE_OBJECT);
    CHECK_INT(value_of(model, "last")->integer, 7);
    model_free(model);
    buf_release(&m.file);
}

TEST(a_large_vocabulary_takes_little_memory)
{
    struct maker m = {.file = BUF_INIT};
    struct err err = {0};
    const struct model *model;

    begin(&m, 3, 0, 1);
    put_entry(&m, "tokenizer.ggml.tokens", 9);
    put(&m, 8, 4);
    put(&m, 200000, 8);
    for (int i = 0; i < 200000; i++)
        put_text(&m, "a rather long token");
    model = read_it(&m, &err);
    CHECK(model && !model->partial);
    CHECK(model->arena.used < 256 * KIB);
    model_free(model);
    buf_release(&m.file);
}

TEST(offsets_that_are_not_cumulative_are_findings)
{
    struct maker m = {.file = BUF_INIT};

    begin(&m, 3, 2, 0);
    put_tensor(&m, "a", 8, 1, 0, 0);
    put_tensor(&m, "b", 8, 1, 0, 96);
    pad(&m, 32);
    buf_fill(&m.file, 0, 128);
    CHECK(finds(&m, FINDING_HOLE, "64 unused bytes before byte 96"));

    begin(&m, 3, 2, 0);
    put_tensor(&m, "a", 16, 1, 0, 0);
    put_tensor(&m, "b", 8, 1, 0, 32);
    pad(&m, 32);
    buf_fill(&m.file, 0, 64);
    CHECK(finds(&m, FINDING_OVERLAP, "shares bytes 32 to 64"));

    begin(&m, 3, 2, 0);
    put_tensor(&m, "a", 8, 1, 0, 32);
    put_tensor(&m, "b", 8, 1, 0, 0);
    pad(&m, 32);
    buf_fill(&m.file, 0, 64);
    CHECK(finds(&m, FINDING_UNEXPECTED, "not in the order"));

    begin(&m, 3, 1, 0);
    put_tensor(&m, "a", 8, 1, 0, 4);
    pad(&m, 32);
    buf_fill(&m.file, 0, 36);
    CHECK(finds(&m, FINDING_BAD_TENSOR, "not aligned"));

    begin(&m, 3, 1, 0);
    put_tensor(&m, "a", 8, 1, 0, 0);
    pad(&m, 32);
    buf_fill(&m.file, 0, 100);
    CHECK(finds(&m, FINDING_TRAILING, "68 unused bytes"));
}

TEST(wrong_tensor_descriptions_are_findings)
{
    struct maker m = {.file = BUF_INIT};

    begin(&m, 3, 1, 0);
    put_tensor(&m, "a", 33, 1, 2, 0);
    pad(&m, 32);
    buf_fill(&m.file, 0, 64);
    CHECK(
        finds(&m, FINDING_BAD_TENSOR, "rows of 33 elements do not fill blocks of 32"));

    begin(&m, 3, 1, 0);
    put_tensor(&m, "a", 32, 1, 77, 0);
    pad(&m, 32);
    CHECK(finds(&m, FINDING_UNSUPPORTED, "unknown element type 77"));

    begin(&m, 3, 1, 0);
    put_tensor(&m, "a", 1ull << 40, 1ull << 40, 0, 0);
    pad(&m, 32);
    CHECK(finds(&m, FINDING_BAD_TENSOR, "too large"));

    begin(&m, 3, 1, 0);
    put_tensor(&m, "a", 1ull << 63, 1, 0, 0);
    pad(&m, 32);
    CHECK(finds(&m, FINDING_BAD_TENSOR, "negative"));

    begin(&m, 3, 2, 0);
    put_tensor(&m, "a.b", 8, 1, 0, 0);
    put_tensor(&m, "a.b", 8, 1, 0, 32);
    pad(&m, 32);
    buf_fill(&m.file, 0, 64);
    CHECK(finds(&m, FINDING_DUPLICATE, "a.b: two tensors have this name"));

    begin(&m, 3, 1, 0);
    put_tensor(&m, "a", 8, 4, 0, 0);
    pad(&m, 32);
    buf_fill(&m.file, 0, 100);
    CHECK(finds(&m, FINDING_TRUNCATED, "28 bytes of tensor data are missing"));

    begin(&m, 3, 1, 0);
    put_tensor(&m, "a", 8, 4, 0, UINT64_MAX - 31);
    pad(&m, 32);
    CHECK(finds(&m, FINDING_TRUNCATED, "bytes of tensor data are missing"));
}

TEST(wrong_metadata_is_a_finding)
{
    struct maker m = {.file = BUF_INIT};

    begin(&m, 3, 0, 2);
    put_entry(&m, "a", 0);
    put(&m, 1, 1);
    put_entry(&m, "a", 0);
    put(&m, 2, 1);
    CHECK(finds(&m, FINDING_DUPLICATE, "the key a twice"));

    begin(&m, 3, 0, 1);
    put_entry(&m, "general.alignment", 4);
    put(&m, 24, 4);
    CHECK(finds(&m, FINDING_DAMAGED, "general.alignment is 24"));

    begin(&m, 3, 0, 1);
    put_entry(&m, "general.alignment", 4);
    put(&m, 0, 4);
    CHECK(finds(&m, FINDING_DAMAGED, "general.alignment is 0"));

    begin(&m, 3, 1ull << 60, 1);
    put_entry(&m, "a", 0);
    put(&m, 1, 1);
    CHECK(finds(&m, FINDING_TRUNCATED, "entries: 1, tensors: 1152921504606846976"));

    begin(&m, 3, 0, 2);
    put_entry(&m, "a", 0);
    put(&m, 1, 1);
    put_entry(&m, "b", 13);
    CHECK(finds(&m, FINDING_DAMAGED, "unknown type"));

    begin(&m, 3, 0, 2);
    put_entry(&m, "a", 0);
    put(&m, 1, 1);
    put_entry(&m, "b", 9);
    put(&m, 8, 4);
    put(&m, UINT64_MAX, 8);
    CHECK(finds(&m, FINDING_TRUNCATED,
                "in its metadata: the file is truncated or damaged"));

    begin(&m, 3, 0, 3);
    put_entry(&m, "split.no", 2);
    put(&m, 1, 2);
    put_entry(&m, "split.count", 2);
    put(&m, 3, 2);
    put_entry(&m, "x", 0);
    put(&m, 0, 1);
    CHECK(finds(&m, FINDING_MISSING_SHARD, "part 2 of 3"));
}

TEST(arrays_nested_too_deep_are_a_finding)
{
    struct maker m = {.file = BUF_INIT};

    begin(&m, 3, 0, 2);
    put_entry(&m, "a", 0);
    put(&m, 1, 1);
    put_entry(&m, "deep", 9);
    for (int i = 0; i < 100; i++) {
        put(&m, 9, 4);
        put(&m, 1, 8);
    }
    CHECK(finds(&m, FINDING_DAMAGED, "arrays nested more than 4 levels"));
}

TEST(a_file_cut_at_any_byte_gives_a_partial_model_or_an_error)
{
    struct maker m = {.file = BUF_INIT};
    size_t all;

    make_small(&m, 3);
    all = m.file.len;
    for (size_t n = 4; n < all; n++) {
        char *cut = malloc(n); /* so that a sanitiser sees a read past the end */
        struct err err = {0};
        const struct model *model;

        CHECK(cut);
        memcpy(cut, m.file.at, n);
        model = read_model_memory(cut, n, "x.gguf", NULL, &err);
        CHECK(model ? model->partial : err.text[0] != '\0');
        CHECK(n < 100 || model);
        model_free(model);
        free(cut);
    }
    buf_release(&m.file);
}

TEST(a_gguf_file_with_any_byte_changed_does_not_crash)
{
    struct maker m = {.file = BUF_INIT};

    make_small(&m, 3);
    for (size_t i = 4; i < m.file.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct err err = {0};
            const struct model *model;

            m.file.at[i] ^= (char)(1 << bit);
            model = read_it(&m, &err);
            CHECK(model || err.text[0] != '\0');
            model_free(model);
            m.file.at[i] ^= (char)(1 << bit);
        }
    buf_release(&m.file);
}

TEST(other_versions_are_refused)
{
    struct maker m = {.file = BUF_INIT};
    struct err err = {0};

    begin(&m, 4, 0, 0);
    CHECK(!read_it(&m, &err) && err.code == ERR_UNSUPPORTED);
    CHECK_STR(err.text, "x.gguf is a GGUF file of version 4, which is not supported: "
                        "only 1 to 3 are");
    CHECK(!read_model_memory("GGUF", 4, "x.gguf", NULL, &err));
    CHECK_STR(err.text, "x.gguf is truncated in its header. Download it again");
    buf_release(&m.file);
}
