#include "base/bytes.h"

#include "base/test.h"

TEST(numbers_are_little_endian)
{
    struct bytes in =
        bytes_of("\x01\x02\x03\x04\x05\x06\x07\xff\xff\xff\xff\xff\xff\xff"
                 "\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff\x80",
                 25);

    CHECK(bytes_u8(&in) == 1);
    CHECK(bytes_u16(&in) == 0x0302);
    CHECK(bytes_u32(&in) == 0x07060504);
    CHECK(bytes_i64(&in) == -1);
    CHECK(bytes_u32(&in) == 0xfffffeff);
    CHECK_INT(bytes_left(&in), 6);
    bytes_skip(&in, 5);
    CHECK(bytes_u8(&in) == 0x80 && bytes_left(&in) == 0 && !in.bad);
}

TEST(big_endian_reals_of_pickles_are_read)
{
    struct bytes in = bytes_of("\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16);

    CHECK(bytes_f64_big(&in) == 1.5);
    CHECK(bytes_f64_big(&in) == -2.0);
    CHECK(bytes_f64_big(&in) == 0 && in.bad);
}

TEST(reading_past_the_end_gives_zero_and_stays_bad)
{
    struct bytes in = bytes_of("\x01\x02\x03\x04\x05", 5);

    CHECK(bytes_u32(&in) == 0x04030201);
    CHECK(bytes_u32(&in) == 0 && in.bad);
    CHECK(bytes_u8(&in) == 0 && bytes_left(&in) == 0);
    CHECK(!bytes_take(&in, 0).at);
    CHECK_INT(bytes_line(&in).len, 0);
}

TEST(a_length_that_would_wrap_around_is_past_the_end)
{
    struct bytes in = bytes_of("abcdef", 6);

    bytes_u8(&in);
    CHECK(!bytes_take(&in, UINT64_MAX).at && in.bad);
    in = bytes_of("abcdef", 6);
    bytes_skip(&in, UINT64_MAX - 1);
    CHECK(in.bad);
}

TEST(lines_end_at_their_newline)
{
    struct bytes in = bytes_of("ab\n\nrest", 8);

    CHECK(str_is(bytes_line(&in), "ab"));
    CHECK(str_is(bytes_line(&in), "") && !in.bad);
    CHECK(str_is(bytes_line(&in), "") && in.bad);
}

TEST(taking_borrows_the_bytes)
{
    static const char text[] = "abcdef";
    struct bytes in = bytes_of(text, 6);

    CHECK(bytes_take(&in, 4).at == text);
    CHECK(str_is(bytes_take(&in, 2), "ef") && !in.bad);
    CHECK_INT(bytes_take(&in, 0).len, 0);
    CHECK(!in.bad);
}

TEST(an_empty_cursor_works)
{
    struct bytes in = bytes_of(NULL, 0);

    CHECK(bytes_left(&in) == 0 && !in.bad);
    CHECK(bytes_u64(&in) == 0 && in.bad);
}
