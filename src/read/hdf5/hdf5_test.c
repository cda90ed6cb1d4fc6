#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"
#include "model/source.h"
#include "read/file/test_zip_in.h"
#include "read/hdf5/hdf5_parts_in.h"
#include "read/read.h"

/* ---- files, written byte by byte: superblock 2, headers of version 2 ---- */

static void put_sum(struct buf *to, size_t from)
{
    put32(to, hdf5_sum((const uint8_t *)to->at + from, to->len - from));
}

static void patch64(struct buf *to, size_t at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to->at[at + (size_t)i] = (char)(value >> 8 * i);
}

/* The superblock; the root group will be at 48. */
static void begin(struct buf *to)
{
    buf_add(to, "\x89HDF\r\n\x1a\n\x02\x08\x08\x00", 12);
    put64(to, 0);
    put64(to, UINT64_MAX);
    put64(to, 0); /* end of the file: see end() */
    put64(to, 48);
    put32(to, 0);
}

static void end(struct buf *to)
{
    struct buf sum = BUF_INIT;

    patch64(to, 28, to->len);
    put32(&sum, hdf5_sum((const uint8_t *)to->at, 44));
    memcpy(to->at + 44, sum.at, 4);
    buf_release(&sum);
}

static void message(struct buf *to, uint8_t type, const void *at, size_t n)
{
    buf_char(to, (char)type);
    put16(to, (uint16_t)n);
    buf_char(to, 0);
    buf_add(to, at, n);
}

/* An object header with these messages; returns where it is. */
static uint64_t object(struct buf *to, const struct buf *messages)
{
    size_t at = to->len;

    buf_add(to, "OHDR\x02\x01", 6);
    put16(to, (uint16_t)messages->len);
    buf_add(to, messages->at, messages->len);
    put_sum(to, at);
    return at;
}

static void link_to(struct buf *messages, const char *name, uint64_t at)
{
    struct buf link = BUF_INIT;

    buf_add(&link, "\x01\x00", 2);
    buf_char(&link, (char)strlen(name));
    buf_text(&link, name);
    put64(&link, at);
    message(messages, MESSAGE_LINK, link.at, link.len);
    buf_release(&link);
}

#define FLOAT32 "\x11\x20\x1f\0\4\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0"

static void put_shape(struct buf *messages, uint64_t rows, uint64_t columns)
{
    struct buf space = BUF_INIT;

    buf_add(&space, "\x02\x02\x00\x01", 4);
    put64(&space, rows);
    put64(&space, columns);
    message(messages, MESSAGE_SPACE, space.at, space.len);
    message(messages, MESSAGE_TYPE, FLOAT32, 20);
    buf_release(&space);
}

static void put_whole(struct buf *messages, uint64_t at, uint64_t size)
{
    struct buf layout = BUF_INIT;

    buf_add(&layout, "\x03\x01", 2);
    put64(&layout, at);
    put64(&layout, size);
    message(messages, MESSAGE_LAYOUT, layout.at, layout.len);
    buf_release(&layout);
}

/* Chunks with an index of version 1 (layout 3). */
static void put_chunks(struct buf *messages, uint64_t at, uint32_t rows,
                       uint32_t columns)
{
    struct buf layout = BUF_INIT;

    buf_add(&layout, "\x03\x02\x03", 3);
    put64(&layout, at);
    put32(&layout, rows);
    put32(&layout, columns);
    put32(&layout, 4);
    message(messages, MESSAGE_LAYOUT, layout.at, layout.len);
    buf_release(&layout);
}

static const float numbers[6] = {1, -2, 3.5f, 4, 5, 6};

/* A root with `w` (2, 3) in one piece, and a group `g` with a link back to the root. */
static void make_plain(struct buf *to)
{
    struct buf messages = BUF_INIT;
    uint64_t group, set;

    begin(to);
    /* The root is written last, but lies at 48: 128 bytes are left for it. */
    buf_fill(to, 0, 128);
    link_to(&messages, "up", 48);
    group = object(to, &messages);
    buf_clear(&messages);
    put_shape(&messages, 2, 3);
    put_whole(&messages, to->len + 8 + 24 + 24 + 22 + 4, 24);
    set = object(to, &messages);
    buf_add(to, numbers, sizeof numbers);
    buf_clear(&messages);
    link_to(&messages, "g", group);
    link_to(&messages, "w", set);
    {
        struct buf root = BUF_INIT;

        object(&root, &messages);
        CHECK(root.len <= 128);
        memcpy(to->at + 48, root.at, root.len);
        buf_release(&root);
    }
    end(to);
    buf_release(&messages);
}

/* A zlib stream of one stored block. */
static void put_stored(struct buf *to, const void *at, uint16_t n)
{
    uint32_t a = 1, b = 0;

    buf_add(to, "\x78\x01\x01", 3);
    put16(to, n);
    put16(to, (uint16_t)~n);
    buf_add(to, at, n);
    for (uint16_t i = 0; i < n; i++) {
        a = (a + ((const uint8_t *)at)[i]) % 65521;
        b = (b + a) % 65521;
    }
    put32(to, __builtin_bswap32(b << 16 | a));
}

/* A root with `c` (4, 3) in chunks of (2, 2), packed with deflate. With `loop` their B-tree
 * is its own child. */
static void make_chunked(struct buf *to, bool loop)
{
    static const uint64_t corners[4][2] = {{0, 0}, {0, 2}, {2, 0}, {2, 2}};
    struct buf messages = BUF_INIT, root = BUF_INIT;
    uint64_t chunks[4], sizes[4], tree;

    begin(to);
    buf_fill(to, 0, 256);
    for (int i = 0; i < 4; i++) {
        float part[4] = {(float)i, (float)i + 10, (float)i + 20, (float)i + 30};

        chunks[i] = to->len;
        put_stored(to, part, sizeof part);
        sizes[i] = to->len - chunks[i];
    }
    tree = to->len;
    buf_add(to, "TREE\x01", 5);
    buf_char(to, loop ? 1 : 0);
    put16(to, 4);
    put64(to, UINT64_MAX);
    put64(to, UINT64_MAX);
    for (int i = 0; i < 4; i++) {
        put32(to, (uint32_t)sizes[i]);
        put32(to, 0);
        put64(to, corners[i][0]);
        put64(to, corners[i][1]);
        put64(to, 0);
        put64(to, loop ? tree : chunks[i]);
    }
    put_shape(&messages, 4, 3);
    put_chunks(&messages, tree, 2, 2);
    message(&messages, MESSAGE_FILTERS, "\x02\x01\x01\0\0\0\1\0\x09\0\0\0", 12);
    {
        uint64_t set = object(to, &messages);

        buf_clear(&messages);
        link_to(&messages, "c", set);
    }
    object(&root, &messages);
    memcpy(to->at + 48, root.at, root.len);
    end(to);
    buf_release(&root);
    buf_release(&messages);
}

static const struct model *read_bytes(const struct buf *file, size_t n, struct err *err)
{
    return read_model_memory(file->at, n, "x.h5", NULL, err);
}

static bool has(const struct model *model, enum finding_code code, const char *text)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == code && strstr(model->findings[i].text, text))
            return true;
    return false;
}

static void check_values(const struct model *model, const char *name,
                         const float *expected, size_t n)
{
    const struct tensor *tensor = place_tensor(model, place_find(model, str_of(name)));
    float got[16];

    CHECK(tensor);
    CHECK_INT(tensor->numel, n);
    CHECK(source_bytes(model->source, tensor->storage, tensor->offset * 4, got, n * 4,
                       NULL) == 0);
    CHECK(memcmp(got, expected, n * 4) == 0);
}

TEST(a_dataset_in_one_piece_becomes_a_tensor)
{
    struct buf file = BUF_INIT;
    const struct model *model;

    make_plain(&file);
    model = read_bytes(&file, file.len, NULL);
    CHECK(model);
    CHECK_INT(model->n_findings, 0);
    CHECK_INT(model->n_tensors, 1);
    check_values(model, "w", numbers, 6);
    /* The link back to the root is a value: a tree has no loops. */
    CHECK_INT(model->kind[place_find(model, STR("g.up"))], PLACE_VALUE);
    model_free(model);
    buf_release(&file);
}

TEST(chunks_are_unpacked_on_demand_and_put_in_order)
{
    static const float expected[12] = {0, 10, 1, 20, 30, 21, 2, 12, 3, 22, 32, 23};
    struct buf file = BUF_INIT;
    const struct model *model;
    float one;

    make_chunked(&file, false);
    model = read_bytes(&file, file.len, NULL);
    CHECK(model);
    CHECK_INT(model->n_findings, 0);
    check_values(model, "c", expected, 12);
    CHECK(source_bytes(model->source, model->tensors[0].storage, 4 * 7, &one, 4,
                       NULL) == 0);
    CHECK(one == 12);
    model_free(model);
    buf_release(&file);
}

TEST(a_b_tree_that_leads_back_to_itself_ends)
{
    struct buf file = BUF_INIT;
    const struct model *model;

    make_chunked(&file, true);
    model = read_bytes(&file, file.len, NULL);
    CHECK(model);
    CHECK(has(model, FINDING_DAMAGED, "another level of its B-tree"));
    CHECK(!tensor_readable(model, &model->tensors[0], NULL));
    model_free(model);
    buf_release(&file);
}

TEST(a_header_that_continues_in_itself_ends)
{
    struct buf file = BUF_INIT;
    struct err err = {0};
    const struct model *model;

    begin(&file);
    /* An old header: its block begins after 16 bytes. */
    buf_add(&file, "\1\0\2\0\1\0\0\0\x30\0\0\0\0\0\0\0", 16);
    for (int i = 0; i < 2; i++) {
        put16(&file, MESSAGE_CONTINUED);
        put16(&file, 16);
        put32(&file, 0);
        put64(&file, 64);
        put64(&file, 48);
    }
    end(&file);
    model = read_bytes(&file, file.len, &err);
    CHECK(model == NULL && strstr(err.text, "refer to each other too often"));
    buf_release(&file);
}

TEST(a_wrong_checksum_is_a_finding)
{
    struct buf file = BUF_INIT;
    const struct model *model;

    make_plain(&file);
    file.at[48 + 8 + 4 + 3] = 'h'; /* the name of the group */
    model = read_bytes(&file, file.len, NULL);
    CHECK(model);
    CHECK(has(model, FINDING_CHECKSUM, "byte 48 is wrong"));
    model_free(model);
    buf_release(&file);
}

TEST(a_shape_that_lies_is_a_finding)
{
    struct buf file = BUF_INIT;
    const struct model *model;

    make_plain(&file);
    for (size_t i = 0; i + 16 < file.len; i++)
        if (memcmp(file.at + i, "\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16) == 0)
            patch64(&file, i, (uint64_t)1 << 40);
    model = read_bytes(&file, file.len, NULL);
    CHECK(model);
    CHECK(has(model, FINDING_LIMIT, "far more elements than the file can hold"));
    model_free(model);
    buf_release(&file);
}

static void cut_everywhere(struct buf *file)
{
    for (size_t n = 0; n < file->len; n++) {
        struct err err = {0};
        char *copy = malloc(n + 1);
        const struct model *model;

        CHECK(copy);
        memcpy(copy, file->at, n);
        model = read_model_memory(copy, n, "x.h5", NULL, &err);
        CHECK(model || err.code != ERR_NONE);
        CHECK(!model || n < 48 || model->n_findings > 0);
        model_free(model);
        free(copy);
    }
}

TEST(a_file_cut_at_any_byte_is_read_as_far_as_it_goes)
{
    struct buf file = BUF_INIT;

    make_plain(&file);
    cut_everywhere(&file);
    buf_clear(&file);
    make_chunked(&file, false);
    cut_everywhere(&file);
    buf_release(&file);
}

TEST(any_changed_byte_is_survived)
{
    struct buf file = BUF_INIT;

    make_chunked(&file, false);
    for (size_t i = 0; i < file.len; i++) {
        static const uint8_t bytes[] = {0, 1, 0x7f, 0xff};
        char before = file.at[i];

        for (size_t k = 0; k < sizeof bytes; k++) {
            const struct model *model;
            float value;

            file.at[i] = (char)bytes[k];
            model = read_bytes(&file, file.len, NULL);
            if (model && model->n_tensors > 0 && model->tensors[0].numel > 0 &&
                tensor_readable(model, &model->tensors[0], NULL))
                source_bytes(model->source, model->tensors[0].storage, 0, &value,
                             sizeof value, NULL);
            model_free(model);
        }
        file.at[i] = before;
    }
    buf_release(&file);
}

/* ---- filters ---- */

TEST(filters_are_undone_in_reverse)
{
    struct hdf5_filters shuffle = {.n = 1, .at = {{FILTER_SHUFFLE, 2}}};
    uint8_t a[80] = {1, 3, 5, 2, 4, 6, 7}, b[80], *got;

    got = hdf5_unpack(&shuffle, 0, a, b, 7, 7);
    CHECK(got && memcmp(got, "\1\2\3\4\5\6\7", 7) == 0);
    CHECK(hdf5_unpack(&shuffle, 1, a, b, 7, 7) == a);
    CHECK(!hdf5_unpack(&shuffle, 0, a, b, 6, 7));
}

TEST(lzf_copies_what_it_had_and_refuses_to_go_back_too_far)
{
    struct hdf5_filters lzf = {.n = 1, .at = {{FILTER_LZF, 4}}};
    uint8_t good[80] = {2, 'a', 'b', 'c', 0x80, 2}, bad[80] = {0, 'a', 0x20, 5}, b[80];
    uint8_t *got = hdf5_unpack(&lzf, 0, good, b, 6, 9);

    CHECK(got && memcmp(got, "abcabcabc", 9) == 0);
    CHECK(!hdf5_unpack(&lzf, 0, bad, b, 4, 4));
    CHECK(!hdf5_unpack(&lzf, 0, good, b, 6, 8));
}

TEST(filters_that_cannot_be_undone_are_named)
{
    struct hdf5_filters zstd = {.n = 1, .at = {{32015, 0}}};
    struct hdf5_filters twice = {.n = 2, .at = {{FILTER_DEFLATE, 0}, {FILTER_LZF, 0}}};

    CHECK_STR(hdf5_filters_unknown(&zstd), "zstd");
    CHECK_STR(hdf5_filters_unknown(&twice), "two compressions");
}
