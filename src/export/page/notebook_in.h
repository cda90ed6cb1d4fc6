/* notebook_in.h - what a notebook shows of a session: HTML without a script, in one
 * <div class="torchoscope">, at most NOTEBOOK_MOST bytes whatever the model.
 *   notebook.c         title, key figures, notes; the whole
 *   notebook_rows.c    the tree: <details> in <details>, as far as there is room
 *   notebook_tensor.c  one tensor: statistics, histogram, first values
 *   notebook.css       is carried in the program (tools/embed.py)
 * Notebooks that take the style away (GitHub's view) show plain nested lists: so all
 * signs have their words, and cells have separators that the style hides. */
#ifndef EXPORT_PAGE_NOTEBOOK_IN_H
#define EXPORT_PAGE_NOTEBOOK_IN_H

#include "base/buf.h"
#include "export/exporters.h"
#include "facts/printed.h"

#define NOTEBOOK_MOST    300000u
#define NOTEBOOK_DEEPEST 100 /* levels; browsers give up at some hundred */

struct notebook {
    struct session *session;
    const struct model *model;
    const struct export_wanted *wanted;
    struct printed printed; /* what is shown, by what was asked for */
    struct buf page;
    struct buf spare; /* for one text; anybody may use it and leaves it empty */
};

/* Is this column of THE TABLE to be shown? All are, if none were chosen. */
bool notebook_shows(const struct notebook *n, const char *id);
/* Move `spare` to the page as HTML, at most `cells` wide. */
void notebook_put(struct notebook *n, size_t cells);
/* The same to any buf. */
void notebook_html(struct buf *to, struct str text, size_t cells);

/* The tree; what follows on the page takes at most `after` bytes. */
int notebook_rows(struct notebook *n, size_t after, struct err *err);
int notebook_tensor(struct notebook *n, uint32_t place, struct err *err);

#endif
