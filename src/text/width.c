#include "text/width.h"

#include <utf8proc.h>

#include "base/utf8.h"

#define NEAR_GAP 12 /* a line may be shorter by this many bytes to break at a gap */

/* The cells of the first character of `s`; *ret_len is its bytes. A byte that is not
 * UTF-8 takes one cell, like the replacement sign of terminals. */
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
    size_t width = 0, at = 0, len;

    while (at < s.len) {
        unsigned char c = (unsigned char)s.at[at];

        if (c >= 0x20 && c < 0x7f) { /* the common case */
            width++;
            at++;
        } else {
            width += char_width(str_from(s, at), &len);
            at += len;
        }
    }
    return width;
}

/* The longest head of `s` that fits into `cells`, with the combining marks of its last
 * character. */
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

/* The longest tail of `s` that fits into `cells`; never begins with a combining mark. */
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

void text_cut_front(struct buf *to, struct str s, size_t cells, const char *ellipsis)
{
    size_t sign = text_width(str_of(ellipsis));

    if (text_width(s) <= cells) {
        buf_str(to, s);
    } else if (cells >= sign) {
        buf_text(to, ellipsis);
        buf_str(to, back(s, cells - sign));
    }
}

void text_cut_shape(struct buf *to, struct str s, size_t cells, const char *ellipsis,
                    const char *times)
{
    size_t sign = text_width(str_of(ellipsis));
    ptrdiff_t next;

    if (text_width(s) <= cells) {
        buf_str(to, s);
        return;
    }
    while (s.len > 0 && sign + text_width(s) > cells) {
        next = str_find(str_from(s, 1), str_of(times));
        s = next < 0 ? STR("") : str_from(s, (size_t)next + 1);
    }
    if (cells >= sign)
        buf_text(to, ellipsis);
    buf_str(to, s);
}

/* "weight: …×7×7": the first member, with a cut shape. */
static void cut_first_shape(struct buf *to, struct str s, size_t cells,
                            const char *ellipsis, const char *times)
{
    ptrdiff_t colon = str_find(s, STR(": ")), comma = str_find(s, STR(", "));
    struct str name = str_head(s, colon < 0 ? 0 : (size_t)colon + 2);
    size_t used = text_width(name);

    if (comma >= 0 && comma > colon)
        s = str_head(s, (size_t)comma);
    if (name.len == 0 || used + text_width(str_of(ellipsis)) > cells) {
        text_cut(to, s, cells, ellipsis);
    } else {
        buf_str(to, name);
        text_cut_shape(to, str_from(s, name.len), cells - used, ellipsis, times);
    }
}

void text_cut_shapes(struct buf *to, struct str s, size_t cells, const char *ellipsis,
                     const char *times)
{
    size_t sign = text_width(str_of(ellipsis)), end = 0;
    ptrdiff_t comma = str_find(s, STR(", "));

    if (text_width(s) <= cells) {
        buf_str(to, s);
        return;
    }
    while (comma >= 0 &&
           text_width(str_head(s, end + (size_t)comma + 2)) + sign <= cells) {
        end += (size_t)comma + 2;
        comma = str_find(str_from(s, end), STR(", "));
    }
    if (end > 0) {
        buf_str(to, str_head(s, end));
        buf_text(to, ellipsis);
    } else {
        cut_first_shape(to, s, cells, ellipsis, times);
    }
}

size_t text_wrap(struct str s, size_t cells)
{
    size_t end = 0, gap = 0;

    if (text_width(s) <= cells)
        return s.len;
    for (size_t i = 1; i < s.len; i++) {
        if (s.at[i] != ' ')
            continue;
        if (end > 0 && text_width(str_head(s, i)) > cells)
            break;
        end = i;
        if (s.at[i - 1] == ' ' && (i < 2 || s.at[i - 2] != ' '))
            gap = i - 1;
    }
    if (end > 0 && gap > 0 && end - gap <= NEAR_GAP)
        return gap;
    return end > 0 ? end : s.len;
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
