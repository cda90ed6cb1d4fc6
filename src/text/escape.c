#include "text/escape.h"

#include <utf8proc.h>

#include "base/utf8.h"

/* What a terminal would obey, hide or reorder, and what no font draws. */
static bool is_shown(uint32_t code)
{
    const utf8proc_property_t *property;

    if (code < 0x80)
        return code >= 0x20 && code != 0x7f;
    if (code == 0x2800) /* a braille cell without dots looks like a blank */
        return false;
    property = utf8proc_get_property((utf8proc_int32_t)code);
    if (property->ignorable) /* joiners, fillers, bidi controls, variation selectors */
        return false;
    switch (property->category) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    default:
        return true;
    }
}

void escape_code(struct buf *to, uint32_t code)
{
    if (code == '\n')
        buf_text(to, "\\n");
    else if (code == '\t')
        buf_text(to, "\\t");
    else if (code == '\r')
        buf_text(to, "\\r");
    else if (code < 0x80)
        buf_printf(to, "\\x%02x", (unsigned)code);
    else if (code < 0x10000)
        buf_printf(to, "\\u%04x", (unsigned)code);
    else
        buf_printf(to, "\\U%08x", (unsigned)code);
}

/* How many bytes at the front of `s` can be copied as they are: ASCII that is shown and
 * that does not stand in `special`. */
static size_t plain_run(struct str s, const char *special)
{
    size_t n = 0;

    for (; n < s.len; n++) {
        unsigned char c = (unsigned char)s.at[n];
        const char *stop = special;

        if (c < 0x20 || c >= 0x7f)
            break;
        while (*stop && *stop != (char)c)
            stop++;
        if (*stop)
            break;
    }
    return n;
}

/* Append the character at the front of `s`, shown or escaped; its length in bytes. */
static size_t one_char(struct buf *to, struct str s)
{
    uint32_t code;
    int len = utf8_decode(s, &code);

    if (len == 0) {
        buf_printf(to, "\\x%02x", (unsigned char)s.at[0]);
        return 1;
    }
    if (is_shown(code))
        buf_add(to, s.at, (size_t)len);
    else
        escape_code(to, code);
    return (size_t)len;
}

void escape_terminal(struct buf *to, struct str s)
{
    while (s.len > 0) {
        size_t run = plain_run(s, "");

        buf_add(to, s.at, run);
        s = str_from(s, run);
        if (s.len > 0)
            s = str_from(s, one_char(to, s));
    }
}

void escape_quoted(struct buf *to, struct str s)
{
    buf_char(to, '"');
    while (s.len > 0) {
        size_t run = plain_run(s, "\"\\");

        buf_add(to, s.at, run);
        s = str_from(s, run);
        if (s.len == 0)
            break;
        if (s.at[0] == '"' || s.at[0] == '\\') {
            buf_char(to, '\\');
            buf_char(to, s.at[0]);
            s = str_from(s, 1);
        } else {
            s = str_from(s, one_char(to, s));
        }
    }
    buf_char(to, '"');
}

void escape_csv(struct buf *to, struct str s)
{
    bool formula = s.len > 0 && (s.at[0] == '=' || s.at[0] == '+' || s.at[0] == '-' ||
                                 s.at[0] == '@');
    bool quoted = str_find_char(s, ',') >= 0 || str_find_char(s, '"') >= 0;

    if (quoted)
        buf_char(to, '"');
    if (formula)
        buf_char(to, '\'');
    while (s.len > 0) {
        size_t run = plain_run(s, "\"");

        buf_add(to, s.at, run);
        s = str_from(s, run);
        if (s.len == 0)
            break;
        if (s.at[0] == '"') {
            buf_text(to, "\"\"");
            s = str_from(s, 1);
        } else {
            s = str_from(s, one_char(to, s));
        }
    }
    if (quoted)
        buf_char(to, '"');
}

void escape_html(struct buf *to, struct str s)
{
    while (s.len > 0) {
        size_t run = plain_run(s, "&<>\"'");

        buf_add(to, s.at, run);
        s = str_from(s, run);
        if (s.len == 0)
            break;
        switch (s.at[0]) {
        case '&':
            buf_text(to, "&amp;");
            break;
        case '<':
            buf_text(to, "&lt;");
            break;
        case '>':
            buf_text(to, "&gt;");
            break;
        case '"':
            buf_text(to, "&quot;");
            break;
        case '\'':
            buf_text(to, "&#39;");
            break;
        default:
            s = str_from(s, one_char(to, s));
            continue;
        }
        s = str_from(s, 1);
    }
}
