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
    bool isolate; /* right-to-left names: for terminals, which would reorder the line */
};

/* A text of ours, made of UTF-8 and escaped names, as the reader wants it. */
void pen_str(const struct pen *pen, struct str text, enum colour role);
void pen_text(const struct pen *pen, const struct buf *text, enum colour role);
void pen_line(const struct pen *pen, const struct buf *text, enum colour role);

/* Does the environment ask for UTF-8? Where it says nothing at all, as in many
 * containers, it does; an explicit "C" or "de_DE" without a charset does not. */
bool pen_speaks_utf8(void);

#endif
