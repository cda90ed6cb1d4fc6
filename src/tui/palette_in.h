/* palette_in.h - the colours of the roles, for terminals of 16, 256 and 16 million of
 * them, on a dark and on a light background. */
#ifndef TUI_PALETTE_IN_H
#define TUI_PALETTE_IN_H

#include <stdbool.h>

#include "base/buf.h"
#include "text/colour.h"
#include "tui/cells.h"
#include "tui/term.h"

/* Append what makes a terminal write as this cell looks, whatever it wrote before. */
void palette_style(struct buf *to, enum term_colours colours, bool light,
                   const struct cell *cell);

#endif
