#include "read/file/zip_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/file/file_source_in.h"
#include "read/file/test_zip_in.h"

/* An archive under test: its bytes, and the result of zip_open(). */
struct opened {
    struct test_zip made;
    struct build build;
    struct blob *blob;
    struct zip *zip;
    struct err err;
};

static void open_bytes(struct opened *o, struct str bytes)
{
    o->blob = test_blob(&o->build, bytes.at, bytes.len);
    o->zip = zip_open(o->blob, &o->build, &o->err);
}

static void finish(struct opened *o, const struct test_end *end)
{
    test_zip_end(&o->made, end);
    open_bytes(o, buf_span(&o->made.bytes));
}

static void drop(struct opened *o)
{
    build_release(&o->build);
    test_zip_release(&o->made);
}

static struct str load(struct opened *o, const char *record)
{
    int64_t entry = zip_find(o->zip, record);
    struct str bytes = {NULL, 0};

    CHECK(entry >= 0);
    zip_load(o->zip, (uint32_t)entry, MIB, &o->build, &o->build.scratch, &bytes,
             &o->err);
    return bytes;
}

static const struct test_member plain = {.name = "a/data.pkl", .content = "hello"};

TEST(a_zip_written_by_torch_has_no_findings)
{
    struct opened o = {0};

    test_zip_add(&o.made, &(struct test_member){.name = "m/data.pkl",
                                                .content = "pickle",
                                                .descriptor = true,
                                                .pad = true});
    test_zip_add(&o.made, &(struct test_member){.name = "m/data/0",
                                                .content = "0123456789",
                                                .descriptor = true,
                                                .pad = true});
    test_zip_add(&o.made, &(struct test_member){.name = "m/code/x.py",
                                                .content = "aaaaaaaaaaaaaaaaaaaaaaaaa",
                                                .descriptor = true,
                                                .deflate = true});
    finish(&o, &(struct test_end){.zip64 = true});
    CHECK(o.zip && o.zip->n == 3 && str_is(o.zip->root, "m/"));
    CHECK(str_is(load(&o, "data.pkl"), "pickle"));
    CHECK(str_is(load(&o, "data/0"), "0123456789"));
    CHECK(str_is(load(&o, "code/x.py"), "aaaaaaaaaaaaaaaaaaaaaaaaa"));
    CHECK(zip_find(o.zip, "data/1") == -1 && zip_find(o.zip, "") == -1);
    CHECK(str_is(zip_record(o.zip, 1), "data/0"));
    CHECK_INT(o.build.model->n_findings, 0);
    drop(&o);
}

TEST(a_wrong_checksum_is_a_finding_and_the_content_is_shown)
{
    struct opened o = {0};

    test_zip_add(&o.made, &(struct test_member){
                              .name = "a/data.pkl", .content = "x", .wrong_crc = 1});
    finish(&o, &(struct test_end){0});
    CHECK(str_is(load(&o, "data.pkl"), "x"));
    CHECK_INT(test_findings(&o.build, FINDING_CHECKSUM), 1);
    drop(&o);
}

TEST(an_encryption_bit_only_in_the_local_header_does_not_hide_the_content)
{
    struct opened o = {0};

    test_zip_add(&o.made, &(struct test_member){
                              .name = "a/data.pkl", .content = "x", .local_flags = 1});
    finish(&o, &(struct test_end){0});
    CHECK(str_is(load(&o, "data.pkl"), "x"));
    CHECK(str_is(load(&o, "data.pkl"), "x"));
    CHECK_INT(test_findings(&o.build, FINDING_ENCRYPTED), 1);
    drop(&o);
}

TEST(encrypted_and_patched_entries_are_refused_but_not_the_others)
{
    struct opened o = {0};

    test_zip_add(&o.made, &plain);
    test_zip_add(&o.made, &(struct test_member){.name = "a/1", .flags = 1});
    test_zip_add(&o.made, &(struct test_member){.name = "a/2", .flags = 0x40});
    test_zip_add(&o.made, &(struct test_member){.name = "a/3", .flags = 0x20});
    finish(&o, &(struct test_end){0});
    CHECK(str_is(load(&o, "data.pkl"), "hello"));
    CHECK_INT(test_findings(&o.build, FINDING_ENCRYPTED), 2);
    CHECK_INT(test_findings(&o.build, FINDING_ZIP_TRICK), 1);
    CHECK(o.zip->entries[1].bad && o.zip->entries[2].bad && o.zip->entries[3].bad);
    CHECK(load(&o, "1").len == 0 && o.err.code == ERR_FORMAT);
    drop(&o);
}

TEST(the_name_in_the_directory_wins_over_the_local_header)
{
    struct opened o = {0};

    test_zip_add(&o.made, &(struct test_member){.name = "a/data.pkl",
                                                .content = "x",
                                                .local_name = "a/harmless"});
    finish(&o, &(struct test_end){0});
    CHECK(str_is(load(&o, "data.pkl"), "x"));
    CHECK_INT(test_findings(&o.build, FINDING_ZIP_TRICK), 1);
    drop(&o);
}

TEST(the_first_of_two_entries_with_one_name_is_read)
{
    struct opened o = {0};

    test_zip_add(&o.made, &plain);
    test_zip_add(&o.made, &(struct test_member){.name = "a/data.pkl", .content = "2"});
    test_zip_add(&o.made, &(struct test_member){.name = "a/DATA.pkl", .content = "3"});
    test_zip_add(&o.made, &(struct test_member){.name = "a\\data.pkl", .content = "4"});
    finish(&o, &(struct test_end){0});
    CHECK(str_is(load(&o, "data.pkl"), "hello"));
    CHECK_INT(test_findings(&o.build, FINDING_DUPLICATE), 3);
    drop(&o);
}

/* a/data/0, a/data/3, a/data/6, ...: each holds its own number. */
static void add_numbered(struct opened *o, int n)
{
    char name[32];

    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "a/data/%d", 3 * i);
        test_zip_add(&o->made,
                     &(struct test_member){.name = name, .content = name + 7});
    }
}

TEST(numbered_entries_are_found_by_their_numbers)
{
    struct opened o = {0};
    char name[32];

    test_zip_add(&o.made, &plain);
    add_numbered(&o, 200);
    test_zip_add(&o.made, &(struct test_member){.name = "a/version", .content = "3"});
    finish(&o, &(struct test_end){0});
    CHECK_INT(o.zip->n_run, 200);
    for (int i = -2; i < 700; i++) {
        snprintf(name, sizeof name, "data/%d", i);
        CHECK_INT(zip_find(o.zip, name),
                  i >= 0 && i % 3 == 0 && i < 600 ? 1 + i / 3 : -1);
    }
    CHECK(str_is(load(&o, "DATA/597"), "597"));
    CHECK(str_is(load(&o, "version"), "3") && str_is(load(&o, "data.pkl"), "hello"));
    CHECK_INT(zip_find(o.zip, "data/03"), -1);
    CHECK_INT(zip_find(o.zip, "data/4294967299"), -1);
    CHECK_INT(zip_find(o.zip, "data/"), -1);
    CHECK_INT(o.build.model->n_findings, 0);
    drop(&o);
}

TEST(a_duplicate_numbered_entry_is_a_finding_before_and_after_the_run)
{
    struct opened o = {0};

    test_zip_add(&o.made, &(struct test_member){.name = "a/Data/9", .content = "x"});
    add_numbered(&o, 200);
    test_zip_add(&o.made, &(struct test_member){.name = "a/data/30", .content = "y"});
    finish(&o, &(struct test_end){0});
    CHECK_INT(test_findings(&o.build, FINDING_DUPLICATE), 2);
    CHECK(str_is(load(&o, "data/9"), "x") && str_is(load(&o, "data/30"), "30"));
    drop(&o);
}

TEST(names_are_found_ignoring_case_as_in_torch)
{
    struct opened o = {0};

    test_zip_add(&o.made, &(struct test_member){.name = "a/DATA.PKL", .content = "x"});
    finish(&o, &(struct test_end){0});
    CHECK(str_is(load(&o, "data.pkl"), "x"));
    CHECK(zip_find(o.zip, "dat@.pkl") == -1);
    drop(&o);
}

TEST(a_second_top_folder_is_a_finding)
{
    struct opened o = {0};

    test_zip_add(&o.made, &plain);
    test_zip_add(&o.made, &(struct test_member){.name = "b/data.pkl", .content = "x"});
    test_zip_add(&o.made, &(struct test_member){.name = "c", .content = "x"});
    finish(&o, &(struct test_end){0});
    CHECK(str_is(load(&o, "data.pkl"), "hello"));
    CHECK_INT(test_findings(&o.build, FINDING_ZIP_TRICK), 1);
    drop(&o);
}

TEST(an_end_record_inside_the_comment_is_a_finding)
{
    struct opened o = {0};
    struct buf comment = BUF_INIT;

    /* The comment is a second end record for the same directory. */
    test_zip_add(&o.made, &plain);
    test_zip_end(&o.made, &(struct test_end){0});
    buf_add(&comment, o.made.bytes.at + o.made.bytes.len - 22, 22);
    o.made.bytes.at[o.made.bytes.len - 2] = 22;
    buf_str(&o.made.bytes, buf_span(&comment));
    buf_release(&comment);
    open_bytes(&o, buf_span(&o.made.bytes));
    CHECK(o.zip && str_is(load(&o, "data.pkl"), "hello"));
    CHECK_INT(test_findings(&o.build, FINDING_ZIP_TRICK), 1);
    drop(&o);
}

TEST(bytes_before_the_archive_are_a_finding)
{
    struct opened o = {0};

    buf_text(&o.made.bytes, "#!/bin/sh\n");
    o.made.hidden = 10;
    test_zip_add(&o.made, &plain);
    finish(&o, &(struct test_end){.zip64 = true});
    CHECK(o.zip && o.zip->shift == 10);
    CHECK(str_is(load(&o, "data.pkl"), "hello"));
    CHECK_INT(test_findings(&o.build, FINDING_ZIP_TRICK), 1);
    drop(&o);
}

TEST(bytes_before_the_first_entry_are_a_finding)
{
    struct opened o = {0};

    buf_text(&o.made.bytes, "hidden payload");
    test_zip_add(&o.made, &plain);
    finish(&o, &(struct test_end){0});
    CHECK(str_is(load(&o, "data.pkl"), "hello"));
    CHECK_INT(test_findings(&o.build, FINDING_HOLE), 1);
    drop(&o);
}

TEST(of_a_thousand_overlapping_entries_only_the_first_is_read)
{
    struct opened o = {0};
    char name[32];
    uint32_t good = 0;

    test_zip_add(&o.made, &plain);
    for (int i = 0; i < 999; i++) {
        snprintf(name, sizeof name, "a/%d", i);
        test_zip_add(&o.made, &(struct test_member){
                                  .name = name, .content = "hello", .share = true});
    }
    finish(&o, &(struct test_end){0});
    CHECK(o.zip && o.zip->n == 1000);
    for (uint32_t i = 0; i < o.zip->n; i++)
        good += !o.zip->entries[i].bad;
    CHECK_INT(good, 1);
    CHECK_INT(test_findings(&o.build, FINDING_OVERLAP), 999);
    CHECK(str_is(load(&o, "data.pkl"), "hello"));
    drop(&o);
}

TEST(a_wrong_entry_count_is_a_finding)
{
    for (int more = -1; more <= 1; more += 2) {
        struct opened o = {0};

        test_zip_add(&o.made, &plain);
        test_zip_add(&o.made, &(struct test_member){.name = "a/b", .content = "x"});
        finish(&o, &(struct test_end){.more_entries = more});
        CHECK(o.zip && o.zip->n == 2);
        CHECK_INT(test_findings(&o.build, FINDING_ZIP_TRICK), 1);
        drop(&o);
    }
}

TEST(end_records_that_contradict_each_other_are_a_finding)
{
    struct opened o = {0};

    test_zip_add(&o.made, &plain);
    finish(&o, &(struct test_end){.zip64 = true, .more_entries32 = 1});
    CHECK(o.zip && o.zip->n == 1);
    CHECK_INT(test_findings(&o.build, FINDING_ZIP_TRICK), 1);
    drop(&o);
}

TEST(bytes_after_the_archive_are_a_finding_but_a_comment_is_not)
{
    struct opened o = {0};

    test_zip_add(&o.made, &plain);
    finish(&o, &(struct test_end){.comment = "made by hand"});
    CHECK_INT(o.build.model->n_findings, 0);
    build_release(&o.build);
    buf_text(&o.made.bytes, "more");
    open_bytes(&o, buf_span(&o.made.bytes));
    CHECK(o.zip && str_is(load(&o, "data.pkl"), "hello"));
    CHECK_INT(test_findings(&o.build, FINDING_TRAILING), 1);
    drop(&o);
}

TEST(names_that_lead_out_of_the_folder_are_findings)
{
    struct opened o = {0};
    static const char *const names[] = {"/etc/passwd", "a/../../x", "C:x", ".."};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        test_zip_add(&o.made, &(struct test_member){.name = names[i], .content = "x"});
    test_zip_add(&o.made,
                 &(struct test_member){.name = "a\0b", .name_len = 3, .content = "x"});
    test_zip_add(&o.made, &(struct test_member){.name = "", .content = "x"});
    test_zip_add(&o.made,
                 &(struct test_member){.name = "a..b/data.pkl", .content = "x"});
    finish(&o, &(struct test_end){0});
    CHECK_INT(test_findings(&o.build, FINDING_UNSAFE_PATH), 4);
    CHECK_INT(test_findings(&o.build, FINDING_ZIP_TRICK), 3); /* NUL, "", folders */
    drop(&o);
}

TEST(only_the_entry_with_an_unknown_method_is_refused)
{
    struct opened o = {0};

    test_zip_add(&o.made, &plain);
    test_zip_add(&o.made,
                 &(struct test_member){.name = "a/z", .content = "x", .method = 93});
    finish(&o, &(struct test_end){0});
    CHECK(str_is(load(&o, "data.pkl"), "hello"));
    CHECK(strstr(test_finding(o.build.model, FINDING_UNSUPPORTED), "zstd"));
    CHECK(o.zip->entries[1].bad);
    drop(&o);
}

TEST(a_packed_entry_gives_at_most_its_declared_size)
{
    struct opened o = {0};
    char zeros[5000] = {0};

    /* One declares less than it unpacks to, the other more. */
    test_zip_add(&o.made, &(struct test_member){.name = "a/less",
                                                .content = zeros,
                                                .content_len = sizeof zeros,
                                                .deflate = true,
                                                .more_size = (uint32_t)-4000});
    test_zip_add(&o.made, &(struct test_member){.name = "a/more",
                                                .content = zeros,
                                                .content_len = sizeof zeros,
                                                .deflate = true,
                                                .more_size = 4000});
    finish(&o, &(struct test_end){0});
    CHECK_INT(load(&o, "less").len, 1000);
    CHECK_INT(test_findings(&o.build, FINDING_SIZE_MISMATCH), 1);
    CHECK_INT(load(&o, "more").len, 5000);
    CHECK_INT(test_findings(&o.build, FINDING_DAMAGED), 1);
    drop(&o);
}

TEST(a_zip_bomb_stops_at_the_limit)
{
    struct opened o = {0};
    size_t size = 32 * MIB;
    char *zeros = calloc(1, size);
    struct str bytes = {NULL, 0};

    CHECK(zeros != NULL);
    test_zip_add(&o.made, &(struct test_member){.name = "a/bomb",
                                                .content = zeros,
                                                .content_len = size,
                                                .deflate = true});
    free(zeros);
    finish(&o, &(struct test_end){0});
    CHECK(zip_load(o.zip, 0, MIB, &o.build, &o.build.scratch, &bytes, &o.err) < 0);
    CHECK(o.err.code == ERR_LIMIT && bytes.at == NULL);
    CHECK(o.build.scratch.used < MIB);
    drop(&o);
}

TEST(an_impossible_unpacked_size_allocates_no_memory)
{
    struct opened o = {0};

    test_zip_add(&o.made, &(struct test_member){.name = "a/lie",
                                                .content = "hello",
                                                .deflate = true,
                                                .more_size = 0x70000000});
    finish(&o, &(struct test_end){0});
    CHECK(str_is(load(&o, "lie"), "hello"));
    CHECK_INT(test_findings(&o.build, FINDING_DAMAGED), 1);
    CHECK(o.build.scratch.used < MIB);
    drop(&o);
}

TEST(sizes_in_the_extra_field_are_read)
{
    struct opened o = {0};

    test_zip_add(&o.made, &plain);
    test_zip_add(&o.made, &(struct test_member){
                              .name = "a/big", .content = "not so big", .zip64 = true});
    finish(&o, &(struct test_end){.zip64 = true});
    CHECK(str_is(load(&o, "big"), "not so big"));
    CHECK_INT(o.build.model->n_findings, 0);
    drop(&o);
}

TEST(a_stored_entry_with_two_sizes_is_refused)
{
    struct opened o = {0};

    test_zip_add(&o.made, &(struct test_member){
                              .name = "a/x", .content = "hello", .more_size = 1});
    finish(&o, &(struct test_end){0});
    CHECK(o.zip->entries[0].bad);
    CHECK_INT(test_findings(&o.build, FINDING_SIZE_MISMATCH), 1);
    drop(&o);
}

/* Any bytes: no crash, no leak, and every entry is either read or refused. */
static void open_and_read_all(struct str bytes)
{
    struct opened o = {0};

    open_bytes(&o, bytes);
    if (!o.zip && o.err.code == ERR_NONE)
        o.zip = zip_salvage(o.blob, &o.build, &o.err);
    for (uint32_t i = 0; o.zip && i < o.zip->n; i++) {
        struct str content;

        zip_load(o.zip, i, MIB, &o.build, &o.build.scratch, &content, NULL);
    }
    build_release(&o.build);
}

TEST(a_zip_with_any_byte_changed_or_removed_does_not_crash)
{
    struct test_zip made = {0};
    struct str all;

    test_zip_add(&made, &(struct test_member){
                            .name = "m/a", .content = "1", .descriptor = true});
    test_zip_add(&made, &(struct test_member){.name = "m/b",
                                              .content = "22222222222222222222",
                                              .deflate = true});
    test_zip_end(&made, &(struct test_end){.zip64 = true, .comment = "c"});
    all = buf_span(&made.bytes);
    for (size_t i = 0; i < all.len; i++) {
        open_and_read_all(str_head(all, i));
        for (int bit = 0; bit < 8; bit++) {
            made.bytes.at[i] = (char)(made.bytes.at[i] ^ 1 << bit);
            open_and_read_all(all);
            made.bytes.at[i] = (char)(made.bytes.at[i] ^ 1 << bit);
        }
    }
    test_zip_release(&made);
}
