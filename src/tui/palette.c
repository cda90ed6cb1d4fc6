#include "tui/palette_in.h"

#include <stdint.h>

struct paint {
    const char *mono;    /* attributes used without colours */
    const char *plain;   /* SGR for 16 colours, with attributes; "": none */
    uint8_t dark, light; /* index of 256 */
    uint32_t dark_rgb, light_rgb;
    const char *with; /* attributes for 256 and more colours */
};

/* Values far from zero are strong, values near zero almost the background. */
/* clang-format off */
static const struct paint paints[COLOUR_COUNT] = {
    [COLOUR_DIM] = {";2", ";90", 245, 243, 0x8a8a8a, 0x767676, ""},
    [COLOUR_TYPE] = {"", ";36", 80, 30, 0x5fd7d7, 0x008787, ""},
    [COLOUR_TENSOR] = {"", ";35", 176, 90, 0xd787d7, 0x870087, ""},
    [COLOUR_GOOD] = {"", ";32", 114, 28, 0x87d787, 0x008700, ""},
    [COLOUR_WARNING] = {"", ";33", 214, 130, 0xffaf00, 0xaf5f00, ""},
    [COLOUR_ALARM] = {";1", ";1;31", 203, 160, 0xff5f5f, 0xd70000, ";1"},
    [COLOUR_MATCH] = {";4", ";4;33", 221, 94, 0xffd75f, 0x875f00, ";4"},
    [COLOUR_SAME] = {"", ";32", 114, 28, 0x87d787, 0x008700, ""},
    [COLOUR_FOCUS] = {";1", ";34", 75, 26, 0x5fafff, 0x005fd7, ""},
    [COLOUR_CURSOR] = {";7", ";7", 237, 254, 0x3a3a3a, 0xe4e4e4, ""},
    [COLOUR_HEAT + 0] = {"", "", 53, 220, 0x440154, 0xfde725, ""},
    [COLOUR_HEAT + 1] = {"", "", 60, 149, 0x46327e, 0xa0da39, ""},
    [COLOUR_HEAT + 2] = {"", "", 24, 71, 0x365c8d, 0x4ac16d, ""},
    [COLOUR_HEAT + 3] = {"", "", 30, 36, 0x277f8e, 0x1fa187, ""},
    [COLOUR_HEAT + 4] = {"", "", 36, 30, 0x1fa187, 0x277f8e, ""},
    [COLOUR_HEAT + 5] = {"", "", 71, 24, 0x4ac16d, 0x365c8d, ""},
    [COLOUR_HEAT + 6] = {"", "", 149, 60, 0xa0da39, 0x46327e, ""},
    [COLOUR_HEAT + 7] = {"", "", 220, 53, 0xfde725, 0x440154, ""},
    [COLOUR_COLD + 0] = {"", ";34", 17, 189, 0x1b2b3d, 0xc8d9eb, ""},
    [COLOUR_COLD + 1] = {"", ";34", 18, 153, 0x1d3f62, 0x90b3d6, ""},
    [COLOUR_COLD + 2] = {"", ";34", 25, 67, 0x1f5387, 0x598cc1, ""},
    [COLOUR_COLD + 3] = {"", ";34", 32, 25, 0x2166ac, 0x2166ac, ""},
    [COLOUR_WARM + 0] = {"", ";33", 52, 223, 0x402812, 0xecd5c1, ""},
    [COLOUR_WARM + 1] = {"", ";33", 94, 180, 0x66380e, 0xd9ac84, ""},
    [COLOUR_WARM + 2] = {"", ";33", 130, 173, 0x8d480a, 0xc68245, ""},
    [COLOUR_WARM + 3] = {"", ";33", 166, 130, 0xb35806, 0xb35806, ""},
};
/* clang-format on */

static bool has_colour(unsigned role)
{
    return role != COLOUR_NONE && role != COLOUR_STRONG && role < COLOUR_COUNT;
}

/* `ground` is 38 for the foreground, 48 for the background. */
static void add_colour(struct buf *to, enum term_colours colours, bool light,
                       unsigned role, int ground)
{
    const struct paint *paint = &paints[role];
    uint32_t rgb = light ? paint->light_rgb : paint->dark_rgb;

    if (colours == TERM_256)
        buf_printf(to, ";%d;5;%d", ground, light ? paint->light : paint->dark);
    else
        buf_printf(to, ";%d;2;%d;%d;%d", ground, (int)(rgb >> 16),
                   (int)(rgb >> 8 & 255), (int)(rgb & 255));
}

/* With 16 colours a background is reverse video. Colour scales have none there: the
 * shade characters show the value. */
static void add_back(struct buf *to, enum term_colours colours, bool light,
                     const struct cell *cell)
{
    if (!has_colour(cell->back))
        return;
    if (colours >= TERM_256)
        add_colour(to, colours, light, cell->back, 48);
    else if (cell->back == COLOUR_CURSOR && !(cell->flags & SPAN_REVERSE))
        buf_text(to, ";7");
}

void palette_style(struct buf *to, enum term_colours colours, bool light,
                   const struct cell *cell)
{
    buf_text(to, "\033[0");
    if (cell->flags & SPAN_BOLD || cell->colour == COLOUR_STRONG)
        buf_text(to, ";1");
    if (cell->flags & SPAN_ITALIC)
        buf_text(to, ";3");
    if (cell->flags & SPAN_UNDERLINE)
        buf_text(to, ";4");
    if (cell->flags & SPAN_REVERSE)
        buf_text(to, ";7");
    if (has_colour(cell->colour)) {
        const struct paint *paint = &paints[cell->colour];

        if (colours == TERM_MONO) {
            buf_text(to, paint->mono);
        } else if (colours == TERM_16) {
            buf_text(to, paint->plain);
        } else {
            buf_text(to, paint->with);
            add_colour(to, colours, light, cell->colour, 38);
        }
    }
    add_back(to, colours, light, cell);
    buf_char(to, 'm');
}
