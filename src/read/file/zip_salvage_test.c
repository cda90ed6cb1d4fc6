#include "base/base.h"
#include "base/test.h"
#include "read/file/test_zip_in.h"

/* The first bytes of an archive as torch writes it. */
static struct test_zip made_like_torch(void)
{
    struct test_zip made = {0};

    test_zip_add(&made, &(struct test_member){.name = "m/data.pkl",
                                              .content = "the pickle PK\7\10 PK\3\4",
                                              .descriptor = true,
                                              .pad = true});
    test_zip_add(&made, &(struct test_member){.name = "m/code.py",
                                              .content = "xxxxxxxxxxxxxxxxxxxxxxxxxxx",
                                              .deflate = true,
                                              .descriptor = true});
    test_zip_add(&made, &(struct test_member){.name = "m/data/0",
                                              .content = "0123456789",
                                              .descriptor = true,
                                              .pad = true});
    test_zip_add(&made, &(struct test_member){
                            .name = "m/empty", .content = "", .descriptor = true});
    test_zip_add(&made, &(struct test_member){.name = "m/sized",
                                              .content = "sizes in the header"});
    return made;
}

static struct str load(struct zip *zip, struct build *build, const char *record)
{
    int64_t entry = zip_find(zip, record);
    struct str bytes = {NULL, 0};

    CHECK(entry >= 0);
    CHECK(zip_load(zip, (uint32_t)entry, MIB, build, &build->scratch, &bytes, NULL) ==
          0);
    return bytes;
}

TEST(all_entries_of_a_zip_without_a_directory_are_found)
{
    struct test_zip made = made_like_torch();
    struct build build;
    struct blob *blob = test_blob(&build, made.bytes.at, made.bytes.len);
    struct err err = {0};
    struct zip *zip;

    CHECK(zip_open(blob, &build, &err) == NULL && err.code == ERR_NONE);
    zip = zip_salvage(blob, &build, &err);
    CHECK(zip && zip->salvaged && zip->n == 5);
    CHECK(str_is(load(zip, &build, "data.pkl"), "the pickle PK\7\10 PK\3\4"));
    CHECK(str_is(load(zip, &build, "code.py"), "xxxxxxxxxxxxxxxxxxxxxxxxxxx"));
    CHECK(str_is(load(zip, &build, "data/0"), "0123456789"));
    CHECK(load(zip, &build, "empty").len == 0);
    CHECK(str_is(load(zip, &build, "sized"), "sizes in the header"));
    CHECK_INT(test_findings(&build, FINDING_TRUNCATED), 1);
    CHECK_INT(test_findings(&build, FINDING_CHECKSUM), 0);
    build_release(&build);
    test_zip_release(&made);
}

TEST(a_zip_cut_inside_its_directory_keeps_all_entries)
{
    struct test_zip made = made_like_torch();
    size_t directory_at = made.bytes.len;
    struct build build;
    struct blob *blob;
    struct err err = {0};
    struct zip *zip;

    test_zip_end(&made, &(struct test_end){.zip64 = true});
    blob = test_blob(&build, made.bytes.at, made.bytes.len - 30);
    CHECK(zip_open(blob, &build, &err) == NULL && err.code == ERR_NONE);
    zip = zip_salvage(blob, &build, &err);
    CHECK(zip && zip->n == 5 && zip->directory_at == directory_at);
    CHECK(!zip->entries[4].cut);
    build_release(&build);
    test_zip_release(&made);
}

TEST(the_last_entry_of_a_truncated_zip_gives_the_bytes_before_the_cut)
{
    struct test_zip made = made_like_torch();
    struct build build;
    ptrdiff_t payload = str_find(buf_span(&made.bytes), STR("0123456789"));
    struct blob *blob;
    struct zip *zip;

    blob = test_blob(&build, made.bytes.at, (size_t)payload + 4);
    zip = zip_salvage(blob, &build, NULL);
    CHECK(zip && zip->n == 3 && zip->entries[2].cut);
    CHECK(str_is(load(zip, &build, "data/0"), "0123"));
    CHECK_INT(test_findings(&build, FINDING_TRUNCATED), 2);
    build_release(&build);
    test_zip_release(&made);
}

TEST(an_entry_whose_descriptor_is_damaged_ends_where_the_next_begins)
{
    struct test_zip made = made_like_torch();
    struct build build;
    ptrdiff_t payload = str_find(buf_span(&made.bytes), STR("0123456789"));
    struct zip *zip;

    made.bytes.at[payload + 10] = 'X';
    zip = zip_salvage(test_blob(&build, made.bytes.at, made.bytes.len), &build, NULL);
    CHECK(zip && zip->n == 5 && zip->entries[2].cut);
    CHECK_INT(load(zip, &build, "data/0").len, 10 + 16);
    CHECK(str_is(load(zip, &build, "sized"), "sizes in the header"));
    build_release(&build);
    test_zip_release(&made);
}

TEST(a_zip_cut_anywhere_gives_the_entries_before_the_cut)
{
    struct test_zip made = made_like_torch();

    for (size_t cut = 0; cut <= made.bytes.len; cut++) {
        struct build build;
        struct err err = {0};
        struct blob *blob = test_blob(&build, made.bytes.at, cut);
        struct zip *zip = zip_salvage(blob, &build, &err);

        CHECK(err.code == ERR_NONE);
        CHECK(zip || cut < 64);
        for (uint32_t i = 0; zip && i < zip->n; i++)
            load(zip, &build, zip_record(zip, i).at);
        build_release(&build);
    }
    test_zip_release(&made);
}
