#include "base/utf8.h"

#include "base/scan_in.h"

/* A character of two to four bytes:
 *     110xxxxx 10xxxxxx
 *     1110xxxx 10xxxxxx 10xxxxxx
 *     11110xxx 10xxxxxx 10xxxxxx 10xxxxxx
 * `least` is the smallest code that needs this length; smaller codes are overlong. */
static int decode_long(struct str s, int len, uint32_t least, uint32_t *ret_code)
{
    uint32_t code = (unsigned char)s.at[0] & (0xffu >> (len + 1));
    int i;

    if (s.len < (size_t)len)
        return 0;
    for (i = 1; i < len; i++) {
        unsigned char next = (unsigned char)s.at[i];

        if ((next & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (next & 0x3f);
    }
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *ret_code = code;
    return len;
}

int utf8_decode(struct str s, uint32_t *ret_code)
{
    unsigned char first = (unsigned char)s.at[0];

    if (first < 0x80) {
        *ret_code = first;
        return 1;
    }
    if (first < 0xc0)
        return 0;
    if (first < 0xe0)
        return decode_long(s, 2, 0x80, ret_code);
    if (first < 0xf0)
        return decode_long(s, 3, 0x800, ret_code);
    if (first < 0xf8)
        return decode_long(s, 4, 0x10000, ret_code);
    return 0;
}

int utf8_encode(uint32_t code, char to[4])
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | (code >> 18 & 0x07));
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

bool utf8_valid(struct str s)
{
    uint32_t code;

    while (s.len > 0) {
        size_t plain = scan_ascii(s);
        int len;

        s = str_from(s, plain);
        if (s.len == 0)
            break;
        len = utf8_decode(s, &code);
        if (len == 0)
            return false;
        s = str_from(s, (size_t)len);
    }
    return true;
}
