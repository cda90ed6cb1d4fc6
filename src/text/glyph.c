#include "text/glyph.h"

#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "text/escape.h"

static const char *const glyphs[GLYPH_COUNT][2] = {
    [GLYPH_FOLDED] = {"▸", "+"},    [GLYPH_OPEN] = {"▾", "-"},
    [GLYPH_BRANCH] = {"├", "|"},    [GLYPH_LAST] = {"└", "`"},
    [GLYPH_LINE] = {"│", "|"},      [GLYPH_RULE] = {"─", "-"},
    [GLYPH_PARAMETER] = {"▪", "*"}, [GLYPH_BUFFER] = {"▫", "o"},
    [GLYPH_TIED] = {"⇄", "="},      [GLYPH_TIMES] = {"×", "x"},
    [GLYPH_ARROW] = {"→", ">"},     [GLYPH_ELLIPSIS] = {"…", "~"},
    [GLYPH_GOOD] = {"✓", "+"},      [GLYPH_BAD] = {"✗", "X"},
    [GLYPH_DIFFERENT] = {"≠", "#"}, [GLYPH_NORM] = {"‖", "|"},
    [GLYPH_MICRO] = {"μ", "u"},     [GLYPH_CURSOR] = {"▌", ">"},
    [GLYPH_DOT] = {"●", "o"},       [GLYPH_ON] = {"■", "x"},
    [GLYPH_OFF] = {"□", "."},       [GLYPH_DELTA] = {"Δ", "d"},
    [GLYPH_SCROLL] = {"┃", "#"},    [GLYPH_FOCUS] = {"━", "="},
};

/* Signs without an enum: corners, bars, columns, shades. Searched first, so that ▌
 * converts to ASCII as half a bar. */
static const char *const others[][2] = {
    {"╮", "+"}, {"╯", "+"}, {"╭", "+"}, {"╰", "+"}, {"┬", "+"}, {"┴", "+"}, {"┼", "+"},
    {"┤", "|"}, {"█", "#"}, {"▉", "#"}, {"▊", "#"}, {"▋", "#"}, {"▌", "#"}, {"▍", "#"},
    {"▎", "#"}, {"▏", "#"}, {"▁", "."}, {"▂", "."}, {"▃", "."}, {"▄", ":"}, {"▅", ":"},
    {"▆", "|"}, {"▇", "|"}, {"░", "."}, {"▒", ":"}, {"▓", "+"}, {"∞", "8"}, {"↓", "v"},
    {"–", "-"}, {"−", "-"}, {"·", "-"}, {"┆", "|"}, {"⇉", ">"}, {"≥", ">"}, {"┌", "+"},
    {"┐", "+"}, {"┘", "+"}, {"╔", "#"}, {"╗", "#"}, {"╚", "#"}, {"╝", "#"}, {"═", "="},
    {"║", "#"}, {"╤", "+"}, {"╧", "+"}, {"╪", "+"}, {"╟", "#"}, {"╢", "#"}, {"╡", "["},
    {"╞", "]"}, {"▼", "v"}, {"▲", "^"}, {"◄", "<"}, {"►", ">"},
};

const char *glyph(enum glyph which, bool ascii)
{
    return glyphs[which][ascii];
}

const char *glyph_column(int height, bool ascii)
{
    static const char *const signs[9][2] = {
        {" ", " "}, {"▁", "."}, {"▂", "."}, {"▃", "."}, {"▄", ":"},
        {"▅", ":"}, {"▆", "|"}, {"▇", "|"}, {"█", "|"},
    };

    return signs[height < 0 ? 0 : height > 8 ? 8 : height][ascii];
}

const char *glyph_shade(int shade, bool ascii)
{
    static const char *const signs[5][2] = {
        {" ", " "}, {"░", "."}, {"▒", ":"}, {"▓", "+"}, {"█", "#"}};

    return signs[shade < 0 ? 0 : shade > 4 ? 4 : shade][ascii];
}

void glyph_bar(struct buf *to, double share, int cells, bool ascii)
{
    static const char *const parts[8] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int per_cell = ascii ? 1 : 8;
    int all = cells * per_cell;
    int filled = 0, used;

    if (share > 0)
        filled = share >= 1 ? all : (int)(share * all + 0.5);
    if (share > 0 && filled == 0 && all > 0)
        filled = 1;
    for (int i = 0; i < filled / per_cell; i++)
        buf_text(to, ascii ? "#" : "█");
    buf_text(to, parts[filled % per_cell]);
    used = (filled + per_cell - 1) / per_cell;
    if (used < cells)
        buf_fill(to, ' ', (size_t)(cells - used));
}

/* The ASCII twin of a glyph, or NULL. */
static const char *twin(const char *at, size_t len)
{
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strlen(others[i][0]) == len && memcmp(others[i][0], at, len) == 0)
            return others[i][1];
    for (size_t i = 0; i < COUNT_OF(glyphs); i++)
        if (strlen(glyphs[i][0]) == len && memcmp(glyphs[i][0], at, len) == 0)
            return glyphs[i][1];
    return NULL;
}

void glyph_to_ascii(struct buf *to, const char *text, size_t len)
{
    struct str s = str_span(text, len);

    while (s.len > 0) {
        const char *instead;
        uint32_t code = 0;
        size_t run = 0;
        int bytes;

        while (run < s.len && (unsigned char)s.at[run] < 0x80)
            run++;
        buf_add(to, s.at, run);
        s = str_from(s, run);
        if (s.len == 0)
            break;
        bytes = utf8_decode(s, &code);
        instead = bytes ? twin(s.at, (size_t)bytes) : NULL;
        if (instead)
            buf_text(to, instead);
        else if (bytes)
            escape_code(to, code);
        else
            buf_printf(to, "\\x%02x", (unsigned char)s.at[0]);
        s = str_from(s, bytes ? (size_t)bytes : 1);
    }
}
