#include "read/file/inflated_in.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"

#define SIZE (6 * MIB)

/* Add `n` bytes as one stream: with 31 a gzip member, with 15 zlib, with -15 raw. */
static void pack(struct buf *to, const void *at, size_t n, int window)
{
    size_t room = n + n / 100 + 100;
    z_stream stream = {0};
    uint8_t *packed = malloc(room);

    CHECK(packed != NULL);
    CHECK(deflateInit2(&stream, 1, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    stream.next_in = (uint8_t *)(uintptr_t)at; /* zlib does not say const */
    stream.avail_in = (uInt)n;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    buf_add(to, packed, room - stream.avail_out);
    deflateEnd(&stream);
    free(packed);
}

/* Bytes that compress to about half. */
static char *make_content(void)
{
    char *content = malloc(SIZE);
    uint32_t seed = 1;

    CHECK(content != NULL);
    for (size_t i = 0; i < SIZE; i++) {
        seed = seed * 1664525 + 1013904223;
        content[i] = (char)(seed >> 28);
    }
    return content;
}

static struct blob *open_packed(const struct buf *packed, enum packing packing,
                                uint64_t most, struct inflated_about *about,
                                struct blob **ret_whole)
{
    struct err err = {0};

    *ret_whole = blob_open_memory(packed->at, packed->len, "x.gz", NULL);
    return inflated_open((struct packed_part){*ret_whole, 0, packed->len, packing},
                         most, "x", NULL, about, &err);
}

/* Read parts in a random order and compare. */
static void check_parts(struct blob *blob, const char *content)
{
    static char got[100000];
    uint32_t seed = 7;

    for (int i = 0; i < 60; i++) {
        size_t at, n;

        seed = seed * 1664525 + 1013904223;
        at = seed % SIZE;
        n = (seed >> 8) % sizeof got;
        n = n < SIZE - at ? n : SIZE - at;
        CHECK(blob_read(blob, at, got, n, NULL) == 0);
        CHECK_MEM(got, content + at, n);
    }
}

static void check_packing(const struct buf *packed, enum packing packing,
                          const char *content)
{
    struct inflated_about about;
    struct blob *whole, *blob = open_packed(packed, packing, SIZE, &about, &whole);

    CHECK(blob != NULL);
    CHECK_INT(blob->size, SIZE);
    CHECK_INT(about.used, packed->len);
    CHECK(!about.cut && !about.bad_sum && about.why.code == ERR_NONE);
    check_parts(blob, content);
    blob_close(blob);
    blob_close(whole);
}

TEST(any_part_of_a_packed_file_can_be_read)
{
    struct buf packed = BUF_INIT;
    char *content = make_content();

    pack(&packed, content, SIZE, 31);
    CHECK(packing_of(buf_span(&packed)) == PACKING_GZIP);
    check_packing(&packed, PACKING_GZIP, content);
    buf_clear(&packed);
    pack(&packed, content, SIZE, 15);
    CHECK(packing_of(buf_span(&packed)) == PACKING_ZLIB);
    check_packing(&packed, PACKING_ZLIB, content);
    buf_clear(&packed);
    pack(&packed, content, SIZE, -15);
    check_packing(&packed, PACKING_DEFLATE, content);
    buf_release(&packed);
    free(content);
}

TEST(all_members_of_a_gzip_file_are_read_in_sequence)
{
    struct buf packed = BUF_INIT;
    char *content = make_content();
    size_t at = 0;

    /* Lengths that put headers at all offsets in the window. */
    for (size_t n = 1000; at < SIZE; n += 4001) {
        size_t piece = n < SIZE - at ? n : SIZE - at;

        pack(&packed, content + at, piece, 31);
        at += piece;
    }
    check_packing(&packed, PACKING_GZIP, content);
    buf_release(&packed);
    free(content);
}

TEST(damage_limits_and_trailing_bytes_are_reported)
{
    struct buf packed = BUF_INIT;
    char *content = make_content();
    struct inflated_about about;
    struct blob *whole, *blob;

    pack(&packed, content, SIZE, 31);
    blob = open_packed(&packed, PACKING_GZIP, 1000000, &about, &whole);
    CHECK(blob && about.cut);
    CHECK_INT(blob->size, 1000000);
    blob_close(blob);
    blob_close(whole);

    packed.at[packed.len - 6] ^= 1;
    buf_text(&packed, "\x1f trailing");
    blob = open_packed(&packed, PACKING_GZIP, SIZE, &about, &whole);
    CHECK(blob && about.bad_sum && about.why.code == ERR_NONE);
    CHECK_INT(about.used, packed.len - 10);
    blob_close(blob);
    blob_close(whole);

    packed.len /= 2;
    blob = open_packed(&packed, PACKING_GZIP, SIZE, &about, &whole);
    CHECK(blob && about.why.code != ERR_NONE);
    CHECK(blob->size > 0 && blob->size < SIZE);
    blob_close(blob);
    blob_close(whole);
    buf_release(&packed);
    free(content);
}

TEST(a_small_gzip_file_cut_anywhere_gives_the_bytes_before_the_cut)
{
    struct buf packed = BUF_INIT;
    char *content = make_content(), got[3000];

    pack(&packed, content, 3000, 31);
    for (size_t n = packed.len; n-- > 0;) {
        struct inflated_about about = {0};
        struct blob *whole, *blob;

        packed.len = n;
        blob = open_packed(&packed, PACKING_GZIP, SIZE, &about, &whole);
        if (blob) {
            CHECK(about.bad_sum || about.why.code != ERR_NONE);
            CHECK(blob_read(blob, 0, got, (size_t)blob->size, NULL) == 0);
            CHECK_MEM(got, content, (size_t)blob->size);
        }
        blob_close(blob);
        blob_close(whole);
    }
    buf_release(&packed);
    free(content);
}

TEST(the_beginning_of_a_packed_file_is_unpacked_from_its_first_bytes)
{
    struct buf packed = BUF_INIT;
    char *content = make_content(), front[4096];
    size_t n;

    pack(&packed, content, SIZE, 31);
    n = inflated_front(str_head(buf_span(&packed), 2000), front, sizeof front);
    CHECK(n > 1000);
    CHECK_MEM(front, content, n);
    CHECK_INT(inflated_front(STR("\x1f\x8b\x08"), front, sizeof front), 0);
    CHECK_INT(inflated_front(STR("hello world"), front, sizeof front), 0);
    buf_release(&packed);
    free(content);
}
