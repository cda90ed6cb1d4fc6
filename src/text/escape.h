/* escape.h - names and values from files, made fit to be shown.
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
/* One CSV field by RFC 4180; a leading = + - @ is preceded by ' so that no spreadsheet
 * takes a name for a formula (numbers are written by others and stay). */
void escape_csv(struct buf *to, struct str s);
void escape_html(struct buf *to, struct str s); /* & < > " ' and what cannot be shown */

/* A text of ours (escaped already) in a cell of a Markdown table: what would end the
 * cell or be taken for markup. */
void escape_markdown(struct buf *to, struct str s);

/* Lines for a terminal that orders right-to-left letters itself: each run of them is
 * isolated (U+2068 ... U+2069, which take no cells), so that the numbers beside a
 * Hebrew name stay in their columns. All else is as it was. */
void escape_isolate(struct buf *to, struct str lines);

/* The version of utf8proc, which knows the characters: "2.8.0". */
const char *escape_library(void);

/* One character in its escaped form, whatever it is: \n, \x1b, \u00e9, \U0001f600. */
void escape_code(struct buf *to, uint32_t code);

#endif
