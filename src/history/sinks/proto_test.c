#include "history/sinks/proto_in.h"

#include <string.h>

#include "base/test.h"

static bool holds(const struct buf *buf, const char *bytes, size_t n)
{
    return buf->len == n && memcmp(buf->at, bytes, n) == 0;
}

#define HOLDS(buf, bytes) CHECK(holds(buf, bytes, sizeof(bytes) - 1))

TEST(fields_follow_the_wire_format)
{
    struct buf to = BUF_INIT;

    proto_u64(&to, 1, 150); /* the example of the format's own description */
    HOLDS(&to, "\x08\x96\x01");
    buf_clear(&to);
    proto_u64(&to, 1, UINT64_MAX);
    HOLDS(&to, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    buf_clear(&to);
    proto_str(&to, 2, STR("testing"));
    HOLDS(&to, "\x12\x07testing");
    buf_clear(&to);
    proto_f32(&to, 2, 1.0f);
    HOLDS(&to, "\x15\x00\x00\x80\x3f");
    buf_clear(&to);
    proto_f64(&to, 16, -2.0); /* a key of two bytes */
    HOLDS(&to, "\x81\x01\x00\x00\x00\x00\x00\x00\x00\xc0");
    buf_clear(&to);
    proto_f64s(&to, 6, (const double[]){0, 1}, 2);
    HOLDS(&to, "\x32\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f");
    buf_release(&to);
}

TEST(a_message_is_prefixed_with_its_length)
{
    struct buf to = BUF_INIT;
    size_t outer, inner;

    outer = proto_begin(&to, 3);
    proto_u64(&to, 1, 150);
    inner = proto_begin(&to, 1);
    proto_end(&to, inner);
    proto_end(&to, outer);
    HOLDS(&to, "\x1a\x05\x08\x96\x01\x0a\x00");

    buf_clear(&to);
    outer = proto_begin(&to, 3);
    buf_fill(&to, 'x', 300);
    proto_end(&to, outer);
    CHECK_INT(to.len, 303);
    CHECK(memcmp(to.at, "\x1a\xac\x02xxx", 6) == 0 && to.at[302] == 'x');
    buf_release(&to);
}

TEST(the_checksum_is_crc32c)
{
    uint8_t bytes[64], ones[32];

    CHECK_INT(crc32c("123456789", 9), 0xe3069283u);
    memset(bytes, 0, sizeof bytes);
    memset(ones, 0xff, sizeof ones);
    CHECK_INT(crc32c(bytes, 32), 0x8a9136aau); /* RFC 3720, B.4 */
    CHECK_INT(crc32c(ones, 32), 0x62a8ab43u);
    CHECK_INT(crc32c(bytes, 0), 0);
}

TEST(a_record_has_its_length_and_two_masked_checksums)
{
    struct buf to = BUF_INIT;

    /* As the masked_crc32c() of tensorboard computes them. */
    record_add(&to, STR("foo"));
    HOLDS(&to, "\x03\x00\x00\x00\x00\x00\x00\x00"
               "\xb0\x99\x49\x0e"
               "foo"
               "\x61\x8a\xbe\xfe");
    buf_release(&to);
}
