#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/file/file_source_in.h"
#include "read/file/input_in.h"
#include "read/file/test_zip_in.h"
#include "read/read.h"
#include "read/torch/test_torch_in.h"

extern const struct reader torch_legacy_reader;

#define MAGIC "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."

static const struct test_tensor weight = {
    .name = "fc.weight", .key = "10", .numel = 6, .rank = 2, .shape = {2, 3}};
static const struct test_tensor bias = {
    .name = "fc.bias", .key = "11", .numel = 2, .rank = 1, .shape = {2}};

/* Pickles 1 to 3. */
static void put_front(struct buf *to, bool little)
{
    buf_text(to, "\x80\x02" MAGIC "\x80\x02M\xe9\x03.\x80\x02}");
    op_text(to, "little_endian");
    buf_char(to, little ? '\x88' : '\x89');
    buf_text(to, "s.");
}

static void begin_object(struct buf *to)
{
    buf_text(to, "\x80\x02}");
}

/* Pickle 5: the list of keys. */
static void put_keys(struct buf *to, const char *const *keys, int n)
{
    buf_text(to, "\x80\x02](");
    for (int i = 0; i < n; i++)
        op_text(to, keys[i]);
    buf_text(to, "e.");
}

static void put_storage(struct buf *to, int64_t numel, float first)
{
    put64(to, (uint64_t)numel);
    for (int64_t i = 0; i < numel; i++) {
        float value = first + (float)i;
        uint32_t bits;

        memcpy(&bits, &value, sizeof bits);
        put32(to, bits);
    }
}

/* A whole file with the two tensors. */
static struct buf sample(void)
{
    static const char *const keys[] = {"10", "11"};
    struct buf file = BUF_INIT;

    put_front(&file, true);
    begin_object(&file);
    op_tensor(&file, &weight);
    op_tensor(&file, &bias);
    buf_char(&file, '.');
    put_keys(&file, keys, 2);
    put_storage(&file, 6, 1);
    put_storage(&file, 2, 100);
    return file;
}

static const struct model *read_bytes(const struct buf *file, struct err *err)
{
    CHECK(!file->bad);
    return read_model_memory(file->at, file->len, "test.pt", NULL, err);
}

/* The first element of a tensor; fails the test if it cannot be read. */
static float first_value(const struct model *model, const char *name)
{
    const struct tensor *tensor = place_tensor(model, place_find(model, str_of(name)));
    float value;

    CHECK(tensor && tensor_readable(model, tensor, NULL));
    CHECK(source_bytes(model->source, tensor->storage, 4 * tensor->offset, &value, 4,
                       NULL) == 0);
    return value;
}

TEST(a_legacy_file_gives_names_shapes_and_values)
{
    struct buf file = sample();
    const struct model *model = read_bytes(&file, NULL);

    CHECK(model != NULL);
    CHECK_STR(model->format, "torch legacy");
    CHECK_INT(model->n_findings, 0);
    CHECK_INT(model->n_tensors, 2);
    CHECK_NEAR(first_value(model, "fc.weight"), 1, 0);
    CHECK_NEAR(first_value(model, "fc.bias"), 100, 0);
    CHECK_INT(model->pickle.n_streams, 5);
    model_free(model);
    buf_release(&file);
}

TEST(the_magic_number_is_detected_in_all_protocols)
{
    static const struct {
        const char *bytes;
        size_t len;
    } forms[] = {
        {"L119547037146038801333356L\n.", 28},
        {"\x80\x02" MAGIC, 15},
        {"\x80\x03" MAGIC, 15},
        {"\x80\x04\x95\x0d\0\0\0\0\0\0\0" MAGIC, 24},
        {"\x80\x05\x95\x0d\0\0\0\0\0\0\0" MAGIC, 24},
    };

    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        struct buf file = sample(), other = BUF_INIT;
        const struct model *model;

        buf_add(&other, forms[i].bytes, forms[i].len);
        buf_str(&other, str_from(buf_span(&file), 15));
        model = read_bytes(&other, NULL);
        CHECK(model && model->n_tensors == 2 && model->n_findings == 0);
        model_free(model);
        buf_release(&file);
        buf_release(&other);
    }
}

TEST(a_big_endian_file_is_read_and_marked)
{
    static const char *const keys[] = {"11"};
    struct buf file = BUF_INIT;
    const struct model *model;

    put_front(&file, false);
    begin_object(&file);
    op_tensor(&file, &bias);
    buf_char(&file, '.');
    put_keys(&file, keys, 1);
    put_storage(&file, 2, 0);
    model = read_bytes(&file, NULL);
    CHECK(model && test_finding(model, FINDING_BIG_ENDIAN));
    CHECK(model->storages[0].flags == STORAGE_BIG_ENDIAN);
    model_free(model);
    buf_release(&file);
}

TEST(a_view_of_a_storage_must_lie_inside_it)
{
    static const char *const keys[] = {"10"};
    const struct test_tensor view = {.name = "v",
                                     .key = "10",
                                     .numel = 6,
                                     .rank = 1,
                                     .shape = {2},
                                     .view_key = "12",
                                     .view_offset = 3,
                                     .view_size = 3};
    struct test_tensor beyond = view;
    struct buf file = BUF_INIT;
    const struct model *model;

    beyond.name = "beyond";
    beyond.view_key = "13";
    beyond.view_offset = 5;
    put_front(&file, true);
    begin_object(&file);
    op_tensor(&file, &weight);
    op_tensor(&file, &view);
    op_tensor(&file, &beyond);
    buf_char(&file, '.');
    put_keys(&file, keys, 1);
    put_storage(&file, 6, 1);
    model = read_bytes(&file, NULL);
    CHECK(model != NULL);
    CHECK_NEAR(first_value(model, "v"), 4, 0);
    CHECK(test_finding(model, FINDING_BAD_TENSOR));
    CHECK(!tensor_readable(model, place_tensor(model, place_find(model, STR("beyond"))),
                           NULL));
    model_free(model);
    buf_release(&file);
}

TEST(a_bare_storage_that_is_a_view_has_the_size_of_the_view)
{
    static const char *const keys[] = {"10"};
    const struct test_tensor view = {
        .key = "10", .numel = 6, .view_key = "12", .view_offset = 4, .view_size = 1};
    struct buf file = BUF_INIT;
    const struct model *model;
    const struct tensor *tensor;

    put_front(&file, true);
    buf_text(&file, "\x80\x02]");
    op_storage(&file, &view);
    buf_text(&file, "a.");
    put_keys(&file, keys, 1);
    put_storage(&file, 6, 1);
    model = read_bytes(&file, NULL);
    CHECK(model && model->n_findings == 0);
    tensor = place_tensor(model, place_find(model, STR("0")));
    CHECK(tensor && tensor->rank == 1 && tensor->numel == 1);
    CHECK_NEAR(first_value(model, "0"), 5, 0);
    model_free(model);
    buf_release(&file);
}

TEST(keys_and_counts_that_disagree_are_findings)
{
    static const char *const keys[] = {"10", "10"};
    struct buf file = BUF_INIT;
    const struct model *model;

    /* 10 is listed twice and has fewer elements than declared; 11 is not listed. */
    put_front(&file, true);
    begin_object(&file);
    op_tensor(&file, &weight);
    op_tensor(&file, &bias);
    buf_char(&file, '.');
    put_keys(&file, keys, 2);
    put_storage(&file, 5, 1);
    model = read_bytes(&file, NULL);
    CHECK(model != NULL);
    CHECK(test_finding(model, FINDING_SIZE_MISMATCH));
    CHECK(test_finding(model, FINDING_DUPLICATE));
    CHECK(test_finding(model, FINDING_MISSING_RECORD));
    CHECK(!tensor_readable(
        model, place_tensor(model, place_find(model, STR("fc.bias"))), NULL));
    model_free(model);
    buf_release(&file);
}

TEST(storages_after_a_key_without_a_tensor_cannot_be_located)
{
    static const char *const keys[] = {"09", "11"};
    struct buf file = BUF_INIT;
    const struct model *model;

    put_front(&file, true);
    begin_object(&file);
    op_tensor(&file, &bias);
    buf_char(&file, '.');
    put_keys(&file, keys, 2);
    put_storage(&file, 1, 1);
    put_storage(&file, 2, 1);
    model = read_bytes(&file, NULL);
    CHECK(model && model->partial && test_finding(model, FINDING_DAMAGED));
    CHECK(model->storages[0].flags == STORAGE_MISSING);
    model_free(model);
    buf_release(&file);
}

TEST(more_saves_become_groups_and_bytes_after_them_a_finding)
{
    struct buf one = sample(), file = BUF_INIT;
    const struct model *model;

    buf_str(&file, buf_span(&one));
    buf_str(&file, buf_span(&one));
    buf_text(&file, "junk");
    model = read_bytes(&file, NULL);
    CHECK(model && model->n_tensors == 4);
    CHECK_NEAR(first_value(model, "save 2.fc.bias"), 100, 0);
    CHECK(strstr(test_finding(model, FINDING_PICKLE_NESTED), "1 more object"));
    CHECK(strstr(test_finding(model, FINDING_TRAILING), "4 unused bytes"));
    model_free(model);
    buf_release(&one);
    buf_release(&file);
}

TEST(a_class_in_a_legacy_file_keeps_its_source)
{
    struct buf file = BUF_INIT;
    const struct model *model;
    const struct class_info *info = NULL;

    /* A module: NEWOBJ of the class behind a persistent id, with an empty state. */
    put_front(&file, true);
    buf_text(&file, "\x80\x02(");
    op_text(&file, "module");
    op_global(&file, "my.net", "Net");
    op_text(&file, "net.py");
    op_text(&file, "class Net: pass");
    buf_text(&file, "tQ)\x81}");
    op_text(&file, "_modules");
    buf_text(&file, "}s");
    op_text(&file, "_parameters");
    buf_text(&file, "}s");
    op_text(&file, "_buffers");
    buf_text(&file, "}sb.");
    put_keys(&file, NULL, 0);
    model = read_bytes(&file, NULL);
    CHECK(model != NULL);
    for (uint32_t i = 0; i < model->n_classes && !info; i++)
        if (str_is(model_string(model, model->classes[i].name), "my.net.Net"))
            info = &model->classes[i];
    CHECK(info != NULL);
    CHECK(str_is(model_string(model, info->source), "class Net: pass"));
    CHECK(str_is(model_string(model, info->file), "net.py"));
    model_free(model);
    buf_release(&file);
}

/* Where the object's pickle ends. */
static size_t object_end(const struct buf *file)
{
    struct buf keys = BUF_INIT;
    static const char *const names[] = {"10", "11"};
    ptrdiff_t at;

    put_keys(&keys, names, 2);
    at = str_find(buf_span(file), buf_span(&keys));
    CHECK(at > 0);
    buf_release(&keys);
    return (size_t)at;
}

TEST(a_legacy_file_cut_anywhere_shows_what_is_left)
{
    struct buf file = sample();
    size_t whole = object_end(&file);

    for (size_t cut = 0; cut < file.len; cut++) {
        struct err err = {0};
        const struct model *model =
            read_model_memory(file.at, cut, "test.pt", NULL, &err);

        CHECK(model || err.code != ERR_NONE);
        if (cut >= whole) {
            CHECK(model && model->n_tensors == 2 && model->partial);
            CHECK(test_finding(model, FINDING_TRUNCATED));
        }
        if (cut >= file.len - 16 && cut > whole)
            CHECK_NEAR(first_value(model, "fc.weight"), 1, 0);
        model_free(model);
    }
    buf_release(&file);
}

TEST(the_number_of_missing_bytes_is_reported)
{
    struct buf file = sample();
    const struct model *model =
        read_model_memory(file.at, file.len - 20, "t", NULL, NULL);

    CHECK(model && strstr(test_finding(model, FINDING_TRUNCATED), " 20 bytes"));
    model_free(model);
    buf_release(&file);
}

TEST(a_legacy_file_with_any_bit_flipped_does_not_crash)
{
    struct buf file = sample();

    for (size_t i = 0; i < file.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            file.at[i] = (char)(file.at[i] ^ 1 << bit);
            model_free(read_bytes(&file, NULL));
            file.at[i] = (char)(file.at[i] ^ 1 << bit);
        }
    buf_release(&file);
}

/* A blob where only the front has data; it counts reads of the rest. */
struct huge {
    struct blob blob;
    struct buf front;
    uint64_t read;
};

static int read_huge(struct blob *blob, uint64_t at, void *to, size_t n,
                     struct err *err)
{
    struct huge *huge = (struct huge *)blob;
    size_t real = at < huge->front.len ? huge->front.len - (size_t)at : 0;

    (void)err;
    memset(to, 0, n);
    if (real > 0)
        memcpy(to, huge->front.at + at, real < n ? real : n);
    huge->read += n;
    return 0;
}

static void close_huge(struct blob *blob)
{
    (void)blob;
}

TEST(only_the_pickles_of_a_huge_file_are_read)
{
    static const struct blob_ops ops = {.read = read_huge, .close = close_huge};
    static const char *const keys[] = {"10"};
    struct test_tensor big = weight;
    struct huge huge = {.blob = {.ops = &ops, .name = "huge.pt"}};
    struct input input = {
        .path = "huge.pt", .name = STR("huge.pt"), .blob = &huge.blob};
    struct build build;
    struct str text;

    /* The object is longer than the first window, so that it has to grow. */
    big.numel = (int64_t)1 << 30;
    big.shape[0] = (int64_t)1 << 28;
    big.shape[1] = 4;
    put_front(&huge.front, true);
    begin_object(&huge.front);
    op_text(&huge.front, "note");
    buf_char(&huge.front, 'X');
    put32(&huge.front, 300000);
    buf_fill(&huge.front, 'n', 300000);
    buf_char(&huge.front, 's');
    op_tensor(&huge.front, &big);
    buf_char(&huge.front, '.');
    put_keys(&huge.front, keys, 1);
    put64(&huge.front, (uint64_t)big.numel);
    huge.blob.size = huge.front.len + ((uint64_t)4 << 30);
    CHECK(build_init(&build, "huge.pt", 64 * MIB, NULL, NULL) == 0);
    CHECK(file_source_keep_file(&build, &huge.blob, NULL) == 0);
    CHECK(input_look(&input, &build, NULL) == 0);
    CHECK(torch_legacy_reader.knows(&input) > 0);
    CHECK(torch_legacy_reader.read(&input, &build, NULL) == 0);
    CHECK_INT(build.model->n_tensors, 1);
    CHECK_INT(build.model->n_findings, 0);
    CHECK(storage_have(build.model, build.model->storages) == (uint64_t)4 << 30);
    CHECK(huge.read < 2 * MIB);
    text = model_string(build.model, build.model->storages[0].name);
    CHECK(str_is(text, "10"));
    build_release(&build);
    buf_release(&huge.front);
}
