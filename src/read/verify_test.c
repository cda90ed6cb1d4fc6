#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"
#include "read/file/test_zip_in.h"
#include "read/read.h"

/* The bytes as a file, which the caller removes. */
static void write_file(char path[], const void *at, size_t size)
{
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    CHECK(file && fwrite(at, 1, size, file) == size && fclose(file) == 0);
}

/* How many findings there are, without and with the data; the last one's code. */
static void verify(struct test_zip *zip, uint32_t *ret_plain, uint32_t *ret_data,
                   enum finding_code *ret_code)
{
    char path[] = "/tmp/torchoscope_verify_XXXXXX";
    struct finding *findings;
    struct arena arena;

    test_zip_end(zip, &(struct test_end){0});
    write_file(path, zip->bytes.at, zip->bytes.len);
    arena_init(&arena, 0);
    CHECK(read_verify(path, false, &arena, NULL, &findings, ret_plain, NULL) == 0);
    CHECK(read_verify(path, true, &arena, NULL, &findings, ret_data, NULL) == 0);
    if (*ret_data > 0)
        *ret_code = findings[*ret_data - 1].code;
    arena_release(&arena);
    CHECK(unlink(path) == 0);
    test_zip_release(zip);
}

TEST(a_valid_archive_is_verified_without_a_finding)
{
    struct test_zip zip = {0};
    enum finding_code code = FINDING_COUNT;
    uint32_t plain, data;

    test_zip_add(&zip, &(struct test_member){.name = "a/0", .content = "x"});
    test_zip_add(&zip, &(struct test_member){
                           .name = "a/1", .content = "aaaaaaaaaaaa", .deflate = true});
    verify(&zip, &plain, &data, &code);
    CHECK(plain == 0 && data == 0);
}

TEST(wrong_checksums_are_found_when_the_data_is_read)
{
    for (int deflate = 0; deflate < 2; deflate++) {
        struct test_zip zip = {0};
        enum finding_code code = FINDING_COUNT;
        uint32_t plain, data;

        test_zip_add(&zip, &(struct test_member){.name = "a/0",
                                                 .content = "aaaaaaaaa",
                                                 .wrong_crc = 1,
                                                 .deflate = deflate});
        test_zip_add(&zip, &(struct test_member){.name = "a/1", .content = "x"});
        verify(&zip, &plain, &data, &code);
        CHECK(plain == 0 && data == 1);
        CHECK_INT(code, FINDING_CHECKSUM);
    }
}

TEST(contradictory_headers_are_found_in_every_entry)
{
    struct test_zip zip = {0};
    enum finding_code code = FINDING_COUNT;
    uint32_t plain, data;

    test_zip_add(&zip, &(struct test_member){.name = "a/0", .content = "x"});
    test_zip_add(&zip, &(struct test_member){
                           .name = "a/1", .content = "x", .local_name = "a/2"});
    verify(&zip, &plain, &data, &code);
    CHECK(plain == 1 && data == 1);
    CHECK_INT(code, FINDING_ZIP_TRICK);
}

TEST(other_files_have_nothing_to_verify)
{
    static const struct {
        const char *bytes, *kind;
    } files[] = {{"", "empty"},
                 {"PK\3\4", "archive"},
                 {"plain text", "text"},
                 {"\x89PNG\r\n\x1a\n", "picture"},
                 {"7z\xbc\xaf\x27\x1c", "archive"},
                 {"GGUF", "model"},
                 {"\x7f"
                  "ELF",
                  "program"},
                 {"lmgg", "model"},
                 {"\xf3\x91\x03\xfe", "other"}};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[] = "/tmp/torchoscope_verify_XXXXXX";
        struct finding *findings;
        struct arena arena;
        uint32_t n;

        write_file(path, files[i].bytes, strlen(files[i].bytes));
        arena_init(&arena, 0);
        CHECK(read_verify(path, true, &arena, NULL, &findings, &n, NULL) == 0);
        CHECK_INT(n, 0);
        CHECK_STR(read_kind(path), files[i].kind);
        arena_release(&arena);
        CHECK(unlink(path) == 0);
    }
    CHECK(read_kind("/no/such/file") == NULL);
}
