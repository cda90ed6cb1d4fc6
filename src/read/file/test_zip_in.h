/* test_zip_in.h - for tests: writes archives byte by byte, valid and malformed ones.
 *
 *     struct test_zip zip = {0};
 *     test_zip_add(&zip, &(struct test_member){.name = "a/b", .content = "..."});
 *     test_zip_end(&zip, &(struct test_end){0}); */
#ifndef READ_FILE_TEST_ZIP_IN_H
#define READ_FILE_TEST_ZIP_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/buf.h"
#include "model/build.h"
#include "read/file/zip_in.h"

struct test_member {
    const char *name, *content;
    size_t name_len, content_len; /* 0: as long as the text */
    bool deflate;
    bool descriptor;        /* like torch: sizes after the payload only */
    bool pad;               /* payload at a multiple of 64 */
    const char *local_name; /* NULL: equal to `name` */
    uint16_t method;        /* 0: from `deflate` */
    uint16_t flags, local_flags;
    uint32_t wrong_crc; /* added to the checksum */
    uint32_t more_size; /* added to the unpacked size in the directory */
    bool share;         /* no local header: uses the last one's */
    bool zip64;         /* sizes and offset in the extra field */
};

struct test_end {
    const char *comment;
    int more_entries; /* added to the count */
    bool zip64;       /* with a 64-bit record and its locator, as torch writes */
    int more_entries32;
};

struct test_zip {
    struct buf bytes, directory;
    uint32_t n;
    uint64_t last_at; /* of the last local header */
    uint64_t hidden;  /* bytes at the front that offsets do not count */
};

void test_zip_add(struct test_zip *zip, const struct test_member *member);
void test_zip_end(struct test_zip *zip, const struct test_end *end);
void test_zip_release(struct test_zip *zip);

/* Little-endian numbers. */
void put16(struct buf *to, uint16_t value);
void put32(struct buf *to, uint32_t value);
void put64(struct buf *to, uint64_t value);

/* A build that owns a blob of bytes in memory; release it with build_release(). */
struct blob *test_blob(struct build *build, const void *at, size_t size);

/* The number of findings with this code in the build; the text of the first. */
int test_findings(const struct build *build, enum finding_code code);
const char *test_finding(const struct model *model, enum finding_code code);

#endif
