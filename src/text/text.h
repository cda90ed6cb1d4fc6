/* text.h - how things are written for people: one function for each kind of number, so
 * that terminal, text, page and pictures cannot disagree.
 *
 * The tour of the room:
 *   number.h   counts, bytes, times, shares, shapes, reals
 *   escape.h   names from files, made fit for a terminal, CSV, HTML
 *   width.h    how many cells a text takes; cutting and padding by cells
 *   glyph.h    the signs we draw and their ASCII twins
 *   lines.h    text as lines of spans, each with a role
 *   colour.h   what colours mean
 *   pen.h      output style: colour, width, encoding
 *   nearest.h  what a mistyped word was meant to be
 *   options.h  reads --options by a table
 *   shell_word.h  words quoted for a shell
 *   progress_text.h  how far a long job is
 */
#ifndef TEXT_TEXT_H
#define TEXT_TEXT_H

#include "text/colour.h"
#include "text/escape.h"
#include "text/glyph.h"
#include "text/nearest.h"
#include "text/number.h"
#include "text/pen.h"
#include "text/width.h"

#endif
