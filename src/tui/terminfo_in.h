/* terminfo_in.h - terminfo capabilities. Only terminfo.c includes <term.h>, whose
 * macros clash with common names (columns, lines). */
#ifndef TUI_TERMINFO_IN_H
#define TUI_TERMINFO_IN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Load the description of $TERM for the terminal at `fd`. One at a time. */
int terminfo_open(int fd, struct err *err);
void terminfo_close(void);

/* Append a capability by its short name ("smcup"); nothing if it is missing. */
void terminfo_add(struct buf *to, const char *name);
int terminfo_number(const char *name); /* -1: missing */
/* Append the sequence that moves the cursor, from 0. */
void terminfo_move(struct buf *to, unsigned column, unsigned row);

#endif
