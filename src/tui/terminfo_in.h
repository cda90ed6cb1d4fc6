/* terminfo_in.h - what the terminal's description says. Its header names things that
 * everybody else uses (columns, lines), so that only terminfo.c includes it. */
#ifndef TUI_TERMINFO_IN_H
#define TUI_TERMINFO_IN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Read the description of $TERM for the terminal at `fd`. One at a time. */
int terminfo_open(int fd, struct err *err);
void terminfo_close(void);

/* Append a capability by its short name ("smcup"); nothing if it has none. */
void terminfo_add(struct buf *to, const char *name);
int terminfo_number(const char *name); /* -1: it has none */
/* Append what moves the cursor there, from 0. */
void terminfo_move(struct buf *to, unsigned column, unsigned row);

#endif
