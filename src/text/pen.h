/* pen.h - output style: colour, width, encoding. */
#ifndef TEXT_PEN_H
#define TEXT_PEN_H

#include "base/buf.h"
#include "base/out.h"
#include "text/colour.h"

struct pen {
    struct out *out; /* borrowed */
    unsigned width;  /* in cells; 0: no limit */
    bool ascii, colour;
    bool isolate; /* isolate right-to-left names, for terminals that reorder lines */
};

/* Write escaped UTF-8 text in the style of the pen. */
void pen_str(const struct pen *pen, struct str text, enum colour role);
void pen_text(const struct pen *pen, const struct buf *text, enum colour role);
void pen_line(const struct pen *pen, const struct buf *text, enum colour role);

/* Does the locale use UTF-8? True if no locale is set, as in many containers; false for
 * "C" or "de_DE" without a charset. */
bool pen_speaks_utf8(void);

#endif
