/* compare.h - how two models differ, for people. What differs is found by study/diff/diff.h.
 *
 * The tour of the room:
 *   diff_text.h     rows and a sentence: what differs, in words
 *   diff_moves_in.h, diff_python.c   Python that turns the names of one into the other's
 *   diff_markdown.c the same for a report
 *   diff_view.h     as a tree: labels, columns, title
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "compare/diff_text.h"
#include "compare/diff_view.h"

#endif
