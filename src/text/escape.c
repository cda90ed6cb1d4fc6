#include "text/escape.h"

#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"

/* False: a terminal would obey, hide or reorder it, or no font draws it. */
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

/* How many bytes at the front of `s` can be copied: printable ASCII that is not in
 * `special`. */
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

/* Appends the first character of `s`, escaped if necessary; returns its bytes. */
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

/* Escapes `s`; instead[i] replaces the character special[i]. */
static void escape(struct buf *to, struct str s, const char *special,
                   const char *const *instead)
{
    while (s.len > 0) {
        size_t run = plain_run(s, special);
        const char *found;

        buf_add(to, s.at, run);
        s = str_from(s, run);
        if (s.len == 0)
            break;
        found = s.at[0] ? strchr(special, s.at[0]) : NULL;
        if (found)
            buf_text(to, instead[found - special]);
        s = str_from(s, found ? 1 : one_char(to, s));
    }
}

void escape_terminal(struct buf *to, struct str s)
{
    escape(to, s, "", NULL);
}

void escape_quoted(struct buf *to, struct str s)
{
    static const char *const instead[] = {"\\\"", "\\\\"};

    buf_char(to, '"');
    escape(to, s, "\"\\", instead);
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
    escape(to, s, "\"", (const char *const[]){"\"\""});
    if (quoted)
        buf_char(to, '"');
}

void escape_markdown(struct buf *to, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] && strchr("\\`*_{}[]<>#|~&", s.at[i]))
            buf_char(to, '\\');
        buf_char(to, s.at[i]);
    }
}

void escape_html(struct buf *to, struct str s)
{
    static const char *const instead[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

    escape(to, s, "&<>\"'", instead);
}

/* ---- right-to-left ---- */

enum escape_side {
    FROM_LEFT,  /* left to right, or neutral */
    FROM_RIGHT, /* right to left */
    WITH_LETTER /* a combining mark: follows the letter before it */
};

/* The direction of the first character of `s`; *ret_len is its bytes. */
static enum escape_side side_of(struct str s, size_t *ret_len)
{
    uint32_t code;
    int len;

    *ret_len = 1;
    if ((unsigned char)s.at[0] < 0x80)
        return FROM_LEFT;
    len = utf8_decode(s, &code);
    if (len == 0)
        return FROM_LEFT;
    *ret_len = (size_t)len;
    switch (utf8proc_get_property((utf8proc_int32_t)code)->bidi_class) {
    case UTF8PROC_BIDI_CLASS_R:
    case UTF8PROC_BIDI_CLASS_AL:
    case UTF8PROC_BIDI_CLASS_AN:
        return FROM_RIGHT;
    case UTF8PROC_BIDI_CLASS_NSM:
        return WITH_LETTER;
    default:
        return FROM_LEFT;
    }
}

/* How many bytes at the front of `s` may join two right-to-left letters of one name: a
 * blank, or digits, _ and -. A dot ends the name: paths run from left to right. */
static size_t between(struct str s)
{
    size_t n = 0;

    if (s.at[0] == ' ')
        return 1;
    while (n < s.len &&
           (s.at[n] == '_' || s.at[n] == '-' || (s.at[n] >= '0' && s.at[n] <= '9')))
        n++;
    return n;
}

/* The bytes of the right-to-left run at the front of `s`, or 0. */
static size_t right_run(struct str s)
{
    size_t end = 0, at = 0, len;

    while (at < s.len) {
        enum escape_side side = side_of(str_from(s, at), &len);

        if (side == FROM_RIGHT || (side == WITH_LETTER && end > 0 && at == end)) {
            at += len;
            end = at;
        } else {
            len = end > 0 && at == end ? between(str_from(s, at)) : 0;
            if (len == 0)
                break;
            at += len;
        }
    }
    return end;
}

void escape_isolate(struct buf *to, struct str lines)
{
    size_t done = 0;

    /* No right-to-left letter is below U+0590, whose first byte is 0xd6. */
    for (size_t at = 0; at < lines.len;) {
        size_t run =
            (unsigned char)lines.at[at] < 0xd6 ? 0 : right_run(str_from(lines, at));

        if (run == 0) {
            at++;
            continue;
        }
        buf_add(to, lines.at + done, at - done);
        buf_text(to, "\xe2\x81\xa8");
        buf_add(to, lines.at + at, run);
        buf_text(to, "\xe2\x81\xa9");
        at += run;
        done = at;
    }
    buf_add(to, lines.at + done, lines.len - done);
}

const char *escape_library(void)
{
    return utf8proc_version();
}
