#include <stddef.h>

#include "base/base.h"
#include "base/utf8.h"
#include "export/picture/pdf_in.h"

#define SYMBOL 3 /* the font F3; F1 is regular, F2 bold */

struct pdf_char {
    uint32_t code;
    uint8_t byte;
};

/* WinAnsi beyond Latin-1. */
static const struct pdf_char winansi[] = {
    {0x20AC, 0x80}, {0x201A, 0x82}, {0x0192, 0x83}, {0x201E, 0x84}, {0x2026, 0x85},
    {0x2020, 0x86}, {0x2021, 0x87}, {0x02C6, 0x88}, {0x2030, 0x89}, {0x0160, 0x8A},
    {0x2039, 0x8B}, {0x0152, 0x8C}, {0x017D, 0x8E}, {0x2018, 0x91}, {0x2019, 0x92},
    {0x201C, 0x93}, {0x201D, 0x94}, {0x2022, 0x95}, {0x2013, 0x96}, {0x2014, 0x97},
    {0x02DC, 0x98}, {0x2122, 0x99}, {0x0161, 0x9A}, {0x203A, 0x9B}, {0x0153, 0x9C},
    {0x017E, 0x9E}, {0x0178, 0x9F}, {0x03BC, 0xB5},
};

/* The font Symbol: Greek, arrows, signs. */
static const struct pdf_char symbol[] = {
    {0x2192, 0xAE}, {0x2190, 0xAC}, {0x2191, 0xAD}, {0x2193, 0xAF}, {0x2194, 0xAB},
    {0x2212, 0x2D}, {0x221E, 0xA5}, {0x2264, 0xA3}, {0x2265, 0xB3}, {0x2260, 0xB9},
    {0x2248, 0xBB}, {0x2211, 0xE5}, {0x220F, 0xD5}, {0x221A, 0xD6}, {0x2202, 0xB6},
    {0x2207, 0xD1}, {0x2208, 0xCE}, {0x03B1, 0x61}, {0x03B2, 0x62}, {0x03B3, 0x67},
    {0x03B4, 0x64}, {0x03B5, 0x65}, {0x03B6, 0x7A}, {0x03B7, 0x68}, {0x03B8, 0x71},
    {0x03BB, 0x6C}, {0x03BE, 0x78}, {0x03C0, 0x70}, {0x03C1, 0x72}, {0x03C3, 0x73},
    {0x03C4, 0x74}, {0x03C6, 0x66}, {0x03C7, 0x63}, {0x03C8, 0x79}, {0x03C9, 0x77},
    {0x0393, 0x47}, {0x0394, 0x44}, {0x0398, 0x51}, {0x039B, 0x4C}, {0x03A3, 0x53},
    {0x03A6, 0x46}, {0x03A8, 0x59}, {0x03A9, 0x57},
};

static bool find_char(const struct pdf_char *list, size_t n, uint32_t code,
                      uint8_t *ret_byte)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].code == code) {
            *ret_byte = list[i].byte;
            return true;
        }
    return false;
}

/* The font and byte of a character. */
static int encode(uint32_t code, int font, uint8_t *ret_byte)
{
    *ret_byte = '?';
    if ((code >= 0x20 && code < 0x7f) || (code > 0xa0 && code <= 0xff))
        *ret_byte = (uint8_t)code;
    else if (!find_char(winansi, COUNT_OF(winansi), code, ret_byte) &&
             find_char(symbol, COUNT_OF(symbol), code, ret_byte))
        return SYMBOL;
    return font;
}

static void put_byte(struct out *out, uint8_t byte)
{
    if (byte < 0x20 || byte >= 0x7f)
        out_printf(out, "\\%03o", byte);
    else if (byte == '(' || byte == ')' || byte == '\\')
        out_printf(out, "\\%c", byte);
    else
        out_char(out, (char)byte);
}

void pdf_run(struct out *out, const struct canvas_run *run, double x, double y)
{
    enum font widths = run->bold ? FONT_BOLD : FONT_REGULAR;
    int font = run->bold ? 2 : 1, now = 0;
    struct str rest = run->text;

    while (rest.len > 0) {
        uint32_t code = 0xFFFD;
        uint8_t byte;
        int len = utf8_decode(rest, &code), next = encode(code, font, &byte);

        if (next != now) { /* a new string, placed by our own widths */
            out_text(out, now > 0 ? ") Tj ET\n" : "");
            out_printf(out, "BT /F%d ", next);
            canvas_number(out, run->size);
            out_text(out, " Tf 1 0 0 -1 ");
            canvas_number(out, x);
            out_char(out, ' ');
            canvas_number(out, y);
            out_text(out, " Tm (");
            now = next;
        }
        put_byte(out, byte);
        x += font_size_width(str_head(rest, len > 0 ? (size_t)len : 1), widths,
                             run->size);
        rest = str_from(rest, len > 0 ? (size_t)len : 1);
    }
    out_text(out, now > 0 ? ") Tj ET\n" : "");
}

void pdf_string(struct buf *to, struct str s)
{
    buf_text(to, "<FEFF");
    while (s.len > 0) {
        uint32_t code = 0xFFFD;
        int len = utf8_decode(s, &code);

        if (code >= 0x10000)
            buf_printf(to, "%04X%04X", 0xD800 + ((code - 0x10000) >> 10),
                       0xDC00 + ((code - 0x10000) & 0x3ff));
        else
            buf_printf(to, "%04X", code);
        s = str_from(s, len > 0 ? (size_t)len : 1);
    }
    buf_char(to, '>');
}
