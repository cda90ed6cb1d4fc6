#include "text/font.h"

#include "base/base.h"
#include "base/utf8.h"
#include "text/width.h"

#define OTHER 600  /* a character that is not in the tables */
#define WIDE  1000 /* the same if it is East Asian wide */

/* Advance widths in thousandths of the font size. Arial, Liberation Sans, Arimo and
 * Helvetica agree in them; they are those of Adobe's published metrics of Helvetica
 * (AFM), and for the characters below those of Liberation Sans. From ' ' to '~'. */
/* clang-format off */
static const uint16_t ascii[2][95] = {{
     278,  278,  355,  556,  556,  889,  667,  191,  333,  333,  389,  584,
     278,  333,  278,  278,  556,  556,  556,  556,  556,  556,  556,  556,
     556,  556,  278,  278,  584,  584,  584,  556, 1015,  667,  667,  722,
     722,  667,  611,  778,  722,  278,  500,  667,  556,  833,  722,  778,
     667,  778,  722,  667,  611,  722,  667,  944,  667,  667,  611,  278,
     278,  278,  469,  556,  333,  556,  556,  500,  556,  556,  278,  556,
     556,  222,  222,  500,  222,  833,  556,  556,  556,  556,  333,  500,
     278,  556,  500,  722,  500,  500,  500,  334,  260,  334,  584,
}, {
     278,  333,  474,  556,  556,  889,  722,  238,  333,  333,  389,  584,
     278,  333,  278,  278,  556,  556,  556,  556,  556,  556,  556,  556,
     556,  556,  333,  333,  584,  584,  584,  611,  975,  722,  722,  722,
     722,  667,  611,  778,  722,  278,  556,  722,  611,  833,  722,  778,
     667,  778,  722,  667,  611,  722,  667,  944,  667,  667,  611,  333,
     278,  333,  584,  556,  333,  556,  611,  556,  611,  556,  333,  611,
     611,  278,  278,  556,  278,  889,  611,  611,  611,  611,  389,  556,
     333,  611,  556,  778,  556,  556,  500,  389,  280,  389,  584,
}};

static const struct {
    uint32_t code;
    uint16_t width[2]; /* regular, bold */
} others[] = {
    {0x00B5, {576, 576}}, /* µ */
    {0x00B7, {278, 278}}, /* · */
    {0x00D7, {584, 584}}, /* × */
    {0x03B3, {500, 556}}, /* γ */
    {0x03BC, {576, 612}}, /* μ */
    {0x2013, {556, 556}}, /* – */
    {0x2026, {1000, 1000}}, /* … */
    {0x203A, {333, 333}}, /* › */
    {0x2191, {500, 500}}, /* ↑ */
    {0x2192, {1000, 1000}}, /* → */
    {0x2193, {500, 500}}, /* ↓ */
    {0x2211, {713, 713}}, /* ∑ */
    {0x2212, {584, 584}}, /* − */
    {0x221A, {549, 549}}, /* √ */
    {0x221E, {713, 713}}, /* ∞ */
    {0x2264, {549, 549}}, /* ≤ */
    {0x2265, {549, 549}}, /* ≥ */
    {0x25B2, {990, 990}}, /* ▲ */
    {0x25CF, {604, 604}}, /* ● */
};
/* clang-format on */

static uint32_t code_width(uint32_t code, struct str bytes, enum font font)
{
    if (code >= ' ' && code <= '~')
        return ascii[font][code - ' '];
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (others[i].code == code)
            return others[i].width[font];
    switch (text_width(bytes)) {
    case 0:
        return 0;
    case 1:
        return OTHER;
    default:
        return WIDE;
    }
}

/* The width of the first character of `s`; *ret_len is its bytes. */
static uint32_t first_width(struct str s, enum font font, size_t *ret_len)
{
    uint32_t code;
    int len = utf8_decode(s, &code);

    *ret_len = len > 0 ? (size_t)len : 1;
    return len > 0 ? code_width(code, str_head(s, *ret_len), font) : OTHER;
}

uint32_t font_width(struct str s, enum font font)
{
    uint32_t width = 0;
    size_t len;

    for (; s.len > 0; s = str_from(s, len)) {
        uint32_t one = first_width(s, font, &len);

        width += one < UINT32_MAX / 2 - width ? one : 0;
    }
    return width;
}

double font_size_width(struct str s, enum font font, double size)
{
    return font_width(s, font) * size / 1000;
}

/* The bytes of the last character of `s`, which is not empty. */
static size_t last_len(struct str s)
{
    size_t len = 1;

    while (len < s.len && len < 4 && ((unsigned char)s.at[s.len - len] & 0xc0) == 0x80)
        len++;
    return len;
}

void font_cut_middle(struct buf *to, struct str s, enum font font, uint32_t most)
{
    uint32_t used = font_width(STR("…"), font), head = 0, tail = 0;
    size_t front = 0, back = s.len, len;

    if (font_width(s, font) <= most) {
        buf_str(to, s);
        return;
    }
    /* Grow the shorter end until the next character does not fit. */
    while (front < back) {
        bool at_front = head <= tail;
        struct str rest = {s.at + front, back - front};
        size_t bytes = at_front ? 0 : last_len(rest);
        uint32_t one =
            first_width(str_from(rest, at_front ? 0 : rest.len - bytes), font, &len);

        if (used + one > most)
            break;
        used += one;
        if (at_front) {
            head += one;
            front += len;
        } else {
            tail += one;
            back -= bytes;
        }
    }
    buf_add(to, s.at, front);
    buf_text(to, "…");
    buf_add(to, s.at + back, s.len - back);
}

/* The width of words[0..n), separators included. */
static uint32_t words_width(const struct font_word *words, uint32_t n, enum font font)
{
    uint32_t width = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            width += font_width(str_of(words[i].before), font);
        width += font_width(words[i].text, font);
    }
    return width;
}

void font_cut_words(struct buf *to, const struct font_word *words, uint32_t n,
                    enum font font, uint32_t most)
{
    static const char more[] = ", …";
    uint32_t kept = n;

    if (words_width(words, n, font) > most) {
        most -= most > font_width(str_of(more), font) ? font_width(str_of(more), font)
                                                      : most;
        do
            kept--;
        while (kept > 1 && words_width(words, kept, font) > most);
        if (kept == 0)
            kept = 1;
    }
    for (uint32_t i = 0; i < kept; i++) {
        if (i > 0)
            buf_text(to, words[i].before);
        if (i == 0 && kept == 1)
            font_cut_middle(to, words[i].text, font, most);
        else
            buf_str(to, words[i].text);
    }
    if (kept < n)
        buf_text(to, more);
}
