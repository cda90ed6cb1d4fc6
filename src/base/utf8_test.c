#include "base/utf8.h"

#include <string.h>

#include "base/test.h"

TEST(every_character_survives_encoding_and_decoding)
{
    uint32_t code, back;

    for (code = 0; code <= 0x10ffff; code += code < 0x3000 ? 1 : 61) {
        char bytes[4];
        int len = utf8_encode(code, bytes);

        if (code >= 0xd800 && code <= 0xdfff) {
            CHECK(len == 3 && utf8_decode(str_span(bytes, 3), &back) == 0);
            continue;
        }
        CHECK(utf8_decode(str_span(bytes, (size_t)len), &back) == len);
        CHECK(back == code);
        CHECK(len == 1 || utf8_decode(str_span(bytes, (size_t)len - 1), &back) == 0);
    }
}

TEST(invalid_utf8_is_refused)
{
    static const char *const bad[] = {
        "\x80",             /* a lone continuation byte */
        "\xc3",             /* half a character */
        "\xc3(",            /* half a character inside text */
        "\xc0\xaf",         /* overlong "/" */
        "\xe0\x80\xaf",     /* overlong "/" in three bytes */
        "\xf0\x80\x80\xaf", /* overlong "/" in four bytes */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* beyond U+10FFFF */
        "\xf8\x88\x80\x80", /* five bytes */
        "\xff",
    };
    size_t i;

    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t code = 7;

        CHECK(utf8_decode(str_of(bad[i]), &code) == 0 && code == 7);
        CHECK(!utf8_valid(str_of(bad[i])));
    }
}

TEST(invalid_bytes_are_detected_at_every_offset)
{
    char text[41];
    size_t at;

    for (at = 0; at < 39; at++) {
        memset(text, 'x', 40);
        text[40] = '\0';
        memcpy(text + at, "\xc3\xa9", 2);
        CHECK(utf8_valid(str_span(text, 40)));
        text[at + 1] = 'x';
        CHECK(!utf8_valid(str_span(text, 40)));
    }
    CHECK(utf8_valid(STR("")));
    CHECK(!utf8_valid(STR("abcdefgh\xc3")));
}
