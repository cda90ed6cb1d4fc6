/* code_in.h - source code in colours, for the Code panel. */
#ifndef EXPLORER_CODE_IN_H
#define EXPLORER_CODE_IN_H

#include "facts/objects/code.h"
#include "text/lines.h"

/* Add a line in colours, at most `cells` wide. *quote is the open quote of a multi-line
 * string ("": none), carried from line to line. */
void code_spans(struct lines *to, struct str line, size_t cells, char *quote);

#endif
