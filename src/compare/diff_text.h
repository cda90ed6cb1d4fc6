/* diff_text.h - how two models differ, in words.
 *
 * The tour of these files:
 *   diff_rows.c      the facts as rows: sign, what, how many, how much;
 *   diff_names.c     names, joins and ties; diff_amounts.c  values and dtypes
 *   diff_text.c      rows as lines, with all that stands below them
 *   diff_sentence.c  what happened, in one or two sentences
 *   diff_markdown.c  rows as a table for pull requests
 *   diff_python.c    the Python that turns the left one's names into the right one's;
 *                    diff_moves.c finds out what it must do
 *   name_runs.h      names that differ by a number, told once
 *
 * All texts are UTF-8 with names escaped; who prints them turns them into ASCII. */
#ifndef COMPARE_DIFF_TEXT_H
#define COMPARE_DIFF_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "study/diff/diff.h"
#include "text/colour.h"

/* One thing that differs:  ~  layer4  60 of 60  rel 4.1%  max 0.01718  ... */
struct diff_row {
    const char *sign; /* "≠", "+", "-", "→", "⇉", "~", "⇄", "?" or "" */
    enum colour colour;
    struct str what;   /* names, or a whole sentence: then the others are empty */
    struct str amount; /* "60 of 60" */
    struct str rest;   /* "rel 4.1%  max 0.01718  layer4.0.conv2.weight" */
};

struct diff_rows {
    struct diff_row *at;
    uint32_t n, room;
    struct arena *arena; /* borrowed: rows and their texts */
    bool all;            /* asked for: long lists are not cut */
};

/* All rows, in the order in which they are to be read. ERR_LIMIT: the arena is spent.
 */
int diff_rows_make(struct diff_rows *rows, const struct diff *diff, struct err *err);

/* "layer4 was trained, fc replaced. All other weights are equal." Appends nothing where
 * the facts carry no sentence. */
void diff_sentence(struct buf *to, const struct diff *diff);

/* Lines of Python, each ended; appends nothing if nothing was renamed, joined, split or
 * turned round. Fit for any names, and for a terminal. */
int diff_python(struct buf *to, const struct diff *diff, struct err *err);

/* "load_state_dict() of left.pth where right.pth is expected fails: 4 keys missing, 2
 * unexpected": appends nothing where it loads, perhaps renamed. */
void diff_load_sentence(struct buf *to, const struct diff *diff);

/* "320 tensors: 129 same, 189 changed, 2 reshaped, 0 only in one". */
void diff_counts(struct buf *to, const struct diff *diff);

/* "a.pth and b.pth are the same: 320 tensors, all values equal"; for what is equal. */
void diff_same(struct buf *to, const struct diff *diff);

/* The name under which the left (right) model is spoken of: its file's, or the whole
 * path where both files are called the same. */
struct str diff_file(const struct diff *diff, bool right);

/* The name of a pair, on the right if it is there; of a node, "" for the root. Raw. */
void diff_pair_name(const struct diff *diff, uint32_t pair, struct buf *to);
void diff_node_name(const struct diff *diff, uint32_t node, struct buf *to);

/* All as text: rows, the sentence, the Python, the counts. `width` 0: no limit. */
struct diff_text {
    const struct diff *diff;
    unsigned width;
    bool ascii, colour, isolate, all;
};
struct out;
int diff_text_write(struct out *out, const struct diff_text *what, struct err *err);
/* The same in Markdown, for pull requests. */
int diff_markdown(struct buf *to, const struct diff *diff, bool all, struct err *err);

#endif
