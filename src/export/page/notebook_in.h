/* notebook_in.h - a session in a notebook: HTML without a script, in one
 * <div class="torchoscope">, of at most NOTEBOOK_MOST bytes.
 *   page_in.h          what it shares with the report: title, key figures, notes
 *   notebook.c         the style and the whole
 *   notebook_rows.c    the tree: nested <details>, as many as fit
 *   notebook_tensor.c  one tensor: statistics, histogram, first values
 *   notebook_training.c  a training run: its curves
 *   notebook.css       embedded in the program (tools/embed.py)
 * Viewers that remove the style (GitHub) show plain nested lists: every sign has its
 * word, and cells have separators that the style hides. */
#ifndef EXPORT_PAGE_NOTEBOOK_IN_H
#define EXPORT_PAGE_NOTEBOOK_IN_H

#include "base/buf.h"
#include "export/exporters.h"
#include "facts/printed.h"

#define NOTEBOOK_MOST    300000u
#define NOTEBOOK_DEEPEST 100 /* levels; browsers stop at a few hundred */

struct notebook {
    struct session *session;
    const struct model *model;
    const struct export_wanted *wanted;
    struct printed printed; /* the rows and columns to show */
    struct buf page;
    struct buf spare; /* scratch for one text; empty between uses */
};

/* Is this column shown? All are if none were chosen. */
bool notebook_shows(const struct notebook *n, const char *id);
/* Move `spare` to the page as HTML, at most `cells` wide. */
void notebook_put(struct notebook *n, size_t cells);

/* The tree; leaves `after` bytes for what follows. */
int notebook_rows(struct notebook *n, size_t after, struct err *err);
/* The curves of a training run; nothing without one. */
int notebook_training(struct notebook *n, struct err *err);
int notebook_tensor(struct notebook *n, uint32_t place, struct err *err);

#endif
