#include "text/glyph.h"

#include <string.h>

#include "base/buf.h"
#include "base/test.h"
#include "text/colour.h"
#include "text/width.h"

TEST(every_glyph_has_a_twin_of_its_width)
{
    for (int which = 0; which < GLYPH_COUNT; which++) {
        const char *twin = glyph((enum glyph)which, true);

        CHECK_INT(text_width(str_of(glyph((enum glyph)which, false))), 1);
        CHECK_INT(strlen(twin), 1);
        CHECK(twin[0] > 0x20 && twin[0] < 0x7f);
    }
    for (int height = 0; height <= 8; height++)
        CHECK_INT(text_width(str_of(glyph_column(height, false))), 1);
    CHECK_STR(glyph_column(9, false), "█");
    CHECK_STR(glyph_shade(2, false), "▒");
    CHECK_STR(glyph_shade(-1, true), " ");
}

static const char *bar(double share, int cells, bool ascii)
{
    static char kept[128];
    struct buf text = BUF_INIT;

    glyph_bar(&text, share, cells, ascii);
    CHECK(text.len < sizeof(kept));
    memcpy(kept, text.at, text.len + 1);
    buf_release(&text);
    return kept;
}

TEST(bars_are_as_long_as_their_share)
{
    CHECK_STR(bar(1, 10, false), "██████████");
    CHECK_STR(bar(0, 4, false), "    ");
    CHECK_STR(bar(0.0477, 10, false), "▌         ");
    CHECK_STR(bar(0.278, 10, false), "██▊       ");
    CHECK_STR(bar(0.586, 10, false), "█████▉    ");
    CHECK_STR(bar(0.00001, 10, false), "▏         ");
    CHECK_STR(bar(0.5, 10, true), "#####     ");
    CHECK_STR(bar(0.00001, 4, true), "#   ");
    CHECK_STR(bar(7, 4, false), "████");
}

TEST(a_text_in_ascii_has_twins_and_escapes)
{
    struct buf text = BUF_INIT;
    const char *mixed = "├── ~conv 5×5, 3→6 é \xff ██▌ ok";

    glyph_to_ascii(&text, mixed, strlen(mixed));
    CHECK_STR(text.at, "|-- ~conv 5x5, 3>6 \\u00e9 \\xff ### ok");
    buf_release(&text);
}

TEST(no_code_is_written_when_colours_are_off)
{
    for (int role = 0; role < COLOUR_COUNT; role++) {
        CHECK_STR(colour_begin((enum colour)role, false), "");
        CHECK_STR(colour_end((enum colour)role, false), "");
    }
    CHECK_STR(colour_begin(COLOUR_NONE, true), "");
    CHECK_STR(colour_end(COLOUR_GOOD, true), "\033[0m");
}
