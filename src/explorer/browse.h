/* browse.h - a tree that a person walks through: what is open, found, sorted, selected.
 * No toolkit and no keys: the terminal turns keys into these calls, tests make them
 * directly. Nothing is lost when the screen changes: folds, selection, scroll, filter
 * and order stay until somebody changes them.
 *
 * A tree is a model's places, or the nodes of a pair of models (show->pair): both are
 * numbered in pre-order. Every call is linear in the places, or better; the rows are
 * made anew when something changed, by rows_make(). */
#ifndef EXPLORER_BROWSE_H
#define EXPLORER_BROWSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "rows/rows.h"
#include "rows/show.h"

struct browse;

/* The root is open one level; a level with a single child opens on. */
struct browse *browse_new(const struct show *show, struct err *err);
void browse_free(struct browse *browse); /* NULL is allowed */

/* --- What is there now */

const struct rows *browse_rows(const struct browse *browse);
uint32_t browse_cursor(const struct browse *browse); /* a row */
uint32_t browse_place(const struct browse *browse);  /* of the row of the cursor */
uint32_t browse_top(const struct browse *browse);    /* the first row on the screen */
const struct view *browse_view(const struct browse *browse);
/* What it says about the last call, for the status line: why nothing could be done,
 * "0 matches"; empty: nothing to say. */
struct str browse_message(const struct browse *browse);
void browse_hush(struct browse *browse); /* it was read: a message is for one key */

/* How many rows fit on the screen; the cursor is kept in sight, as near as possible to
 * its line. */
void browse_resize(struct browse *browse, uint32_t rows);

/* --- Moving. All are true if something changed. */

bool browse_move(struct browse *browse, int64_t rows);
bool browse_select(struct browse *browse, uint32_t row); /* a click */
/* Far away: Backspace leads back, as it does from what a search finds. */
bool browse_jump(struct browse *browse, uint32_t row);
bool browse_first(struct browse *browse);
bool browse_last(struct browse *browse);
bool browse_scroll(struct browse *browse, int64_t rows); /* the cursor stays in sight */
bool browse_sibling(struct browse *browse, int by);      /* J K */
bool browse_parent(struct browse *browse);
bool browse_child(struct browse *browse);
/* Go to a place, wherever it is: what leads to it is opened, a filter that hides it is
 * taken off; Backspace leads back. */
bool browse_go(struct browse *browse, uint32_t place);
bool browse_back(struct browse *browse);

/* --- Folding. The screens' rules: folding a parent keeps the folds below it; many rows
 * at once open modules, not runs and not tensors (but `same class` on a module without
 * modules below opens its tensors). If the row of the cursor goes, the cursor goes to
 * the nearest row above it that stays. */

enum fold {
    FOLD_ROW,            /* space */
    FOLD_SUBTREE,        /* z */
    FOLD_ALL,            /* Z: fold if anything but the root is open, else unfold */
    FOLD_SIBLINGS,       /* s */
    FOLD_SIBLINGS_BELOW, /* S */
    FOLD_CLASS,          /* o */
    FOLD_CLASS_BELOW,    /* O */
};
bool browse_fold(struct browse *browse, enum fold what);
bool browse_open(struct browse *browse);                  /* l on a closed row */
bool browse_close(struct browse *browse);                 /* h on an open row */
bool browse_depth(struct browse *browse, uint32_t depth); /* :fold N */
bool browse_runs(struct browse *browse);                  /* X */
/* Open exactly these places, as --open says; for link.h. */
bool browse_set_open(struct browse *browse, const uint32_t *places, uint32_t n);

/* --- Order and lists */

bool browse_sort(struct browse *browse, enum rows_sort sort, bool reverse);
/* F. Back in the tree, the row that was moved to in the list is selected, and what
 * leads to it open; if nobody moved there, all is as it was (Enter: take browse_place()
 * first, and browse_go() there afterwards). */
bool browse_flat(struct browse *browse, enum rows_flat flat);
/* Hide what is equal, in a pair. */
bool browse_hide_equal(struct browse *browse);

/* --- Search. While it is typed, rows are filtered by every letter; a pattern that is
 * wrong keeps what was found before. */

/* 0; ERR_USAGE: a bad pattern, told in err, and nothing changes. "" is no filter. */
int browse_search(struct browse *browse, struct str text, struct err *err);
/* The pattern, "" if there is none; its matches, and which of them the cursor is on:
 * from 1, 0 if on none. */
struct str browse_filter(const struct browse *browse);
/* What found them, for letters that are to stand out; NULL: there is no filter. */
struct search;
struct search *browse_found(const struct browse *browse);
uint32_t browse_matches(const struct browse *browse);
uint32_t browse_match_number(const struct browse *browse);
/* Esc: no filter; the selected row stays selected, and what leads to it is opened. */
bool browse_clear(struct browse *browse);
bool browse_next_match(struct browse *browse, int by); /* n N; in a pair: differences */
bool browse_only_matches(struct browse *browse);       /* & */
bool browse_filtering(const struct browse *browse);    /* are only matches shown? */
bool browse_search_class(struct browse *browse);       /* * */

/* --- Of the row of the cursor */

/* "3 of 53 Conv2d": which of its class it is, counted in the whole model; false: it has
 * none. */
bool browse_same(const struct browse *browse, uint32_t *ret_which, uint32_t *ret_of,
                 struct str *ret_class);
/* Is this row of the cursor's class? Quick: asked for each row on the screen. */
bool browse_is_same(const struct browse *browse, const struct row *row);

#endif
