/* browse.h - navigation in a tree: folds, search, order, selection. Independent of any
 * toolkit and of keys: the terminal maps keys to these calls, tests make them directly.
 * Resizing the screen loses nothing: folds, selection, scroll position, filter and
 * order stay.
 *
 * The tree is a model's places, or the nodes of a pair of models (show->pair); both are
 * numbered in pre-order. Every call is at most linear in the number of places;
 * rows_make() rebuilds the rows after a change. */
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

/* The root is open one level; a level with a single child is opened too. */
struct browse *browse_new(const struct show *show, struct err *err);
void browse_free(struct browse *browse); /* NULL is allowed */

/* --- The current state */

const struct rows *browse_rows(const struct browse *browse);
uint32_t browse_cursor(const struct browse *browse); /* a row */
uint32_t browse_place(const struct browse *browse);  /* of the selected row */
uint32_t browse_top(const struct browse *browse);    /* the first visible row */
const struct view *browse_view(const struct browse *browse);
/* A message about the last call for the status line: why it failed, "0 matches"; may be
 * empty. */
struct str browse_message(const struct browse *browse);
void browse_hush(struct browse *browse); /* clear it: a message lasts for one key */

/* Set how many rows fit on the screen; the cursor stays visible, as near as possible to
 * its line. */
void browse_resize(struct browse *browse, uint32_t rows);

/* --- Moving. All return true if something changed. */

bool browse_move(struct browse *browse, int64_t rows);
bool browse_select(struct browse *browse, uint32_t row); /* a click */
/* A jump; Backspace goes back, as it does after a search. */
bool browse_jump(struct browse *browse, uint32_t row);
bool browse_first(struct browse *browse);
bool browse_last(struct browse *browse);
bool browse_scroll(struct browse *browse, int64_t rows); /* the cursor stays visible */
bool browse_sibling(struct browse *browse, int by);      /* J K */
bool browse_parent(struct browse *browse);
bool browse_child(struct browse *browse);
/* Go to a place: opens its ancestors and removes a filter that hides it; Backspace goes
 * back. */
bool browse_go(struct browse *browse, uint32_t place);
bool browse_back(struct browse *browse);

/* --- Folding. Folding a parent keeps the folds below it. Keys for many rows open
 * modules, not runs or tensors (but `same class` on a module without submodules opens
 * its tensors). If the selected row disappears, the cursor moves to the nearest
 * remaining row above it. */

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
/* Open exactly these places, for --open and link.h. */
bool browse_set_open(struct browse *browse, const uint32_t *places, uint32_t n);

/* --- Order and lists */

bool browse_sort(struct browse *browse, enum rows_sort sort, bool reverse);
/* Numbers that rows may be sorted by changed: sort them again. */
void browse_renumber(struct browse *browse);
/* F. On the way back to the tree, the row selected in the list stays selected and its
 * ancestors are opened. If the user did not move in the list, the tree is as before
 * (for Enter, get browse_place() first and call browse_go() afterwards). */
bool browse_flat(struct browse *browse, enum rows_flat flat);
/* Pairs: hide equal rows. */
bool browse_hide_equal(struct browse *browse);

/* --- Search. Rows are filtered with every letter typed; an invalid pattern keeps the
 * previous result. */

/* 0, or ERR_USAGE for an invalid pattern (nothing changes). "" is no filter. */
int browse_search(struct browse *browse, struct str text, struct err *err);
/* The pattern, or ""; the number of matches, and which one the cursor is on: from 1, 0
 * if none. */
struct str browse_filter(const struct browse *browse);
/* The current search, for highlighting; NULL: no filter. */
struct search;
struct search *browse_found(const struct browse *browse);
uint32_t browse_matches(const struct browse *browse);
uint32_t browse_match_number(const struct browse *browse);
/* Esc: remove the filter; the selected row stays selected, and its ancestors are
 * opened. */
bool browse_clear(struct browse *browse);
bool browse_next_match(struct browse *browse, int by); /* n N; in a pair, differences */
bool browse_only_matches(struct browse *browse);       /* & */
bool browse_filtering(const struct browse *browse);    /* are only matches shown? */
bool browse_search_class(struct browse *browse);       /* * */

/* --- The selected row */

/* "3 of 53 Conv2d": the row's index within its class, counted in the whole model;
 * false: it has no class. */
bool browse_same(const struct browse *browse, uint32_t *ret_which, uint32_t *ret_of,
                 struct str *ret_class);
/* Does this row have the selected row's class? Fast: called for each visible row. */
bool browse_is_same(const struct browse *browse, const struct row *row);

#endif
