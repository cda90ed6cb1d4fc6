/* compare.h - two models compared, for people; study/diff/diff.h finds the differences.
 *
 * The tour of the room:
 *   diff_text.h     the differences as rows, sentences and text
 *   diff_moves_in.h, diff_python.c   Python code that converts a state_dict
 *   diff_markdown.c Markdown for pull requests
 *   diff_view.h     the tree of a pair: labels, columns, title
 *   divergence_text.h  where the results of two recordings begin to differ
 *   pair_text.h     both in one text
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "compare/diff_text.h"
#include "compare/diff_view.h"
#include "compare/divergence_text.h"
#include "compare/pair_text.h"

#endif
