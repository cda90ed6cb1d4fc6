/* text.h - numbers, names and symbols for people. Each kind of number has one function,
 * so that all views agree.
 *
 * The tour of the room:
 *   number.h   counts, bytes, times, shares, shapes, reals
 *   escape.h   make names safe for terminals, CSV, HTML
 *   width.h    width of text in cells; cutting, padding, wrapping
 *   font.h     width of drawn text; cutting
 *   glyph.h    symbols and their ASCII twins
 *   lines.h    text as lines of spans, each with a role
 *   colour.h   roles and their colours
 *   pen.h      output style: colour, width, encoding
 *   nearest.h  suggestions for mistyped words
 *   options.h  reads --options by a table
 *   shell_word.h  words quoted for a shell
 *   progress_text.h  progress of a long job
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
