/* diff_text.h - how two models differ, in words.
 *
 * The tour of these files:
 *   diff_rows.c      rows: sign, what, how many, how much;
 *   diff_quantised.c a model and its GGUF: conversions, errors
 *   diff_names.c     names, joins and ties; diff_amounts.c  values and dtypes
 *   diff_text.c      the whole comparison as text
 *   diff_sentence.c  what happened, in one or two sentences
 *   diff_markdown.c  rows as a table for pull requests
 *   diff_python.c    Python code that converts a state_dict; diff_moves.c finds the
 *                    steps
 *   name_runs.h      names that differ by a number, written once
 *
 * Texts are UTF-8 with names escaped; the printer converts them to ASCII. */
#ifndef COMPARE_DIFF_TEXT_H
#define COMPARE_DIFF_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "study/diff/diff.h"
#include "text/colour.h"
#include "text/pen.h"

/* One thing that differs:  ~  layer4  60 of 60  rel 4.1%  max 0.01718  ... */
struct diff_row {
    const char *sign; /* "≠", "+", "-", "→", "⇉", "~", "⇄", "?" or "" */
    enum colour colour;
    struct str what;   /* names, or a whole sentence, and the others are empty */
    struct str amount; /* "60 of 60" */
    struct str rest;   /* "rel 4.1%  max 0.01718  layer4.0.conv2.weight" */
};

struct diff_rows {
    struct diff_row *at;
    uint32_t n, room;
    struct arena *arena; /* borrowed: rows and their texts */
    bool all;            /* do not cut long lists */
};

/* All rows, in reading order. ERR_LIMIT: the arena is spent. */
int diff_rows_make(struct diff_rows *rows, const struct diff *diff, struct err *err);

/* "layer4 was trained, fc replaced. All other weights are equal." Appends nothing if
 * no sentence sums it up. */
void diff_sentence(struct buf *to, const struct diff *diff);

/* Lines of Python, in ASCII; nothing if no tensor was renamed, joined, split or
 * transposed. Any name is quoted safely. */
int diff_python(struct buf *to, const struct diff *diff, struct err *err);

/* "320 tensors: 129 same, 189 changed, 2 reshaped, 0 only in one". */
void diff_counts(struct buf *to, const struct diff *diff);

/* "a.pth and b.pth are the same: 320 tensors, all values equal"; for equal models. */
void diff_same(struct buf *to, const struct diff *diff);

/* The error of all tensors that have one type in blocks (q4_K) on one side only. */
struct diff_error {
    enum dtype dtype;
    uint32_t tensors;
    struct compared by;
};
uint32_t diff_errors(const struct diff *diff,
                     struct diff_error ret_errors[DTYPE_COUNT]);
/* "Error of the quantisation: q4_K rel 6.1%  rms 0.0012  max 0.01 (24 tensors); q6_K
 * ..."; nothing if nothing is quantised. */
void diff_error_line(struct buf *to, const struct diff *diff);

/* The name of the left or right model: its file name, or its path if both files have
 * the same name. */
struct str diff_file(const struct diff *diff, bool right);

/* The raw name of a pair, from the right side if it is there; of a node, "" for the
 * root. */
void diff_pair_name(const struct diff *diff, uint32_t pair, struct buf *to);
void diff_node_name(const struct diff *diff, uint32_t node, struct buf *to);

/* The parts of a report; empty if there is nothing to say. */
struct diff_report {
    bool equal;
    struct diff_rows rows;
    struct buf sentence; /* diff_sentence() */
    struct buf load;   /* why the left model does not load; empty if `python` is not */
    struct buf counts; /* diff_counts(), or diff_same() */
    struct buf errors; /* diff_error_line() */
    struct buf python;
    struct arena arena;
};
/* `all`: do not cut long lists. Releases what it made if it fails. */
int diff_report_make(struct diff_report *report, const struct diff *diff, bool all,
                     struct err *err);
void diff_report_release(struct diff_report *report);

/* Writes a report as text, or in Markdown for a pull request. */
int diff_text_write(const struct pen *pen, const struct diff *diff, bool all,
                    struct err *err);
int diff_markdown(struct buf *to, const struct diff *diff, bool all, struct err *err);

#endif
