/* glyph.h - symbols, each with an ASCII twin of the same width. */
#ifndef TEXT_GLYPH_H
#define TEXT_GLYPH_H

#include <stdbool.h>
#include <stddef.h>

enum glyph {
    GLYPH_FOLDED,    /* ▸ + */
    GLYPH_OPEN,      /* ▾ - */
    GLYPH_BRANCH,    /* ├ | followed by a rule: ├── |-- */
    GLYPH_LAST,      /* └ ` */
    GLYPH_LINE,      /* │ | */
    GLYPH_RULE,      /* ─ - */
    GLYPH_PARAMETER, /* ▪ * */
    GLYPH_BUFFER,    /* ▫ o */
    GLYPH_TIED,      /* ⇄ = */
    GLYPH_TIMES,     /* × x */
    GLYPH_ARROW,     /* → > */
    GLYPH_ELLIPSIS,  /* … ~ */
    GLYPH_GOOD,      /* ✓ + */
    GLYPH_BAD,       /* ✗ X */
    GLYPH_DIFFERENT, /* ≠ # */
    GLYPH_NORM,      /* ‖ | */
    GLYPH_MICRO,     /* μ u */
    GLYPH_CURSOR,    /* ▌ > */
    GLYPH_DOT,       /* ● o */
    GLYPH_ON,        /* ■ x */
    GLYPH_OFF,       /* □ . */
    GLYPH_DELTA,     /* Δ d */
    GLYPH_SCROLL,    /* ┃ # */
    GLYPH_FOCUS,     /* ━ = */
    GLYPH_COUNT
};

/* The symbol in UTF-8, or its ASCII twin. */
const char *glyph(enum glyph glyph, bool ascii);
/* One of nine heights, 0 (blank) to 8 (full): ▁▂▃▄▅▆▇█ or .:| */
const char *glyph_column(int height, bool ascii);
/* One of five shades, 0 to 4: " ░▒▓█" or " .:+#" */
const char *glyph_shade(int shade, bool ascii);
/* A bar filled to `share` (0..1), padded with blanks to `cells` cells. Anything above
 * zero shows at least the smallest block. */
struct buf;
void glyph_bar(struct buf *to, double share, int cells, bool ascii);

/* Text in ASCII: glyphs become their twins, other characters their escapes (\u00e9). */
void glyph_to_ascii(struct buf *to, const char *text, size_t len);

#endif
