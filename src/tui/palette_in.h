/* palette_in.h - the palette for 16, 256 and 16 million colours, on a dark and on a
 * light background. */
#ifndef TUI_PALETTE_IN_H
#define TUI_PALETTE_IN_H

#include <stdbool.h>

#include "base/buf.h"
#include "text/colour.h"
#include "tui/cells.h"
#include "tui/term.h"

/* Append the escape sequence that sets this cell's style, whatever was set before. */
void palette_style(struct buf *to, enum term_colours colours, bool light,
                   const struct cell *cell);

#endif
