/* font.h - widths of drawn text, without a font library: Arial, Liberation Sans, Arimo
 * and Helvetica have the same widths, and pictures use no other font. Also shortens
 * text that does not fit. Widths are thousandths of the font size. */
#ifndef TEXT_FONT_H
#define TEXT_FONT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum font { FONT_REGULAR, FONT_BOLD };

uint32_t font_width(struct str s, enum font font);
/* The same in pixels, at a font size in pixels. */
double font_size_width(struct str s, enum font font, double size);

/* Append `s`; if it is wider than `most`, omit its middle: "embed_…context". */
void font_cut_middle(struct buf *to, struct str s, enum font font, uint32_t most);

struct font_word {
    struct str text;
    const char *before; /* between it and the word before: " " or ", " */
};
/* Append words; if they are wider than `most`, omit the last ones and add an ellipsis:
 * "Conv2d 3×3, …". If even the first one is too wide, omit its middle. */
void font_cut_words(struct buf *to, const struct font_word *words, uint32_t n,
                    enum font font, uint32_t most);

#endif
