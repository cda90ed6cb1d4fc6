#include "text/width.h"

#include <utf8proc.h>

#include "base/utf8.h"

/* The cells of the character at the front of `s`; its bytes go to *ret_len. A byte that
 * is not UTF-8 takes one cell, as the sign that terminals put for it. */
static size_t char_width(struct str s, size_t *ret_len)
{
    unsigned char c = (unsigned char)s.at[0];
    uint32_t code;
    int len, width;

    *ret_len = 1;
    if (c < 0x80)
        return c >= 0x20 && c != 0x7f;
    len = utf8_decode(s, &code);
    if (len == 0)
        return 1;
    *ret_len = (size_t)len;
    width = utf8proc_charwidth((utf8proc_int32_t)code);
    return width > 0 ? (size_t)width : 0;
}

size_t text_width(struct str s)
{
    size_t width = 0, len;

    while (s.len > 0) {
        width += char_width(s, &len);
        s = str_from(s, len);
    }
    return width;
}

/* The longest front of `s` that fits into `cells`, with the marks that combine with its
 * last character. */
static struct str front(struct str s, size_t cells)
{
    size_t used = 0, end = 0, len;

    while (end < s.len) {
        size_t width = char_width(str_from(s, end), &len);

        if (used + width > cells)
            break;
        used += width;
        end += len;
    }
    return str_head(s, end);
}

/* The longest end of `s` that fits into `cells` and does not begin with a mark. */
static struct str back(struct str s, size_t cells)
{
    size_t left = text_width(s), len;

    while (s.len > 0) {
        size_t width = char_width(s, &len);

        if (left <= cells && width > 0)
            break;
        left -= width;
        s = str_from(s, len);
    }
    return s;
}

void text_cut(struct buf *to, struct str s, size_t cells, const char *ellipsis)
{
    size_t sign = text_width(str_of(ellipsis));

    if (text_width(s) <= cells) {
        buf_str(to, s);
    } else if (cells >= sign) {
        buf_str(to, front(s, cells - sign));
        buf_text(to, ellipsis);
    }
}

void text_cut_middle(struct buf *to, struct str s, size_t cells, const char *ellipsis)
{
    size_t sign = text_width(str_of(ellipsis));
    size_t head;

    if (text_width(s) <= cells) {
        buf_str(to, s);
    } else if (cells >= sign) {
        head = (cells - sign + 1) / 2;
        buf_str(to, front(s, head));
        buf_text(to, ellipsis);
        buf_str(to, back(s, cells - sign - head));
    }
}

void text_pad(struct buf *to, struct str s, size_t cells)
{
    size_t width = text_width(s);

    buf_str(to, s);
    if (width < cells)
        buf_fill(to, ' ', cells - width);
}

void text_pad_left(struct buf *to, struct str s, size_t cells)
{
    size_t width = text_width(s);

    if (width < cells)
        buf_fill(to, ' ', cells - width);
    buf_str(to, s);
}
