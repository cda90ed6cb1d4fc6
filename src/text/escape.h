/* escape.h - make names and values from files safe to show.
 * Control characters (C0, C1, DEL), ESC, bidi controls, zero-width and other invisible
 * characters, bytes that are not UTF-8: each becomes \n, \t, \x1b, \u202e ... A
 * backslash stays as it is, so that ordinary names are unchanged. */
#ifndef TEXT_ESCAPE_H
#define TEXT_ESCAPE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

void escape_terminal(struct buf *to, struct str s);
/* The same with quotes around it and \" inside, as a Python or JSON string literal. */
void escape_quoted(struct buf *to, struct str s);
/* One CSV field (RFC 4180). A leading = + - @ gets a ' in front, so that no spreadsheet
 * reads a name as a formula. Not for numbers. */
void escape_csv(struct buf *to, struct str s);
void escape_html(struct buf *to, struct str s); /* & < > " ' and invisible characters */

/* Escaped text in a cell of a Markdown table: escapes markup and cell ends. */
void escape_markdown(struct buf *to, struct str s);

/* Lines for a terminal that reorders right-to-left text: isolates each run of it
 * (U+2068 ... U+2069, zero width), so that numbers beside a Hebrew name keep their
 * columns. */
void escape_isolate(struct buf *to, struct str lines);

/* The version of utf8proc: "2.8.0". */
const char *escape_library(void);

/* The escape of any character: \n, \x1b, \u00e9, \U0001f600. */
void escape_code(struct buf *to, uint32_t code);

#endif
