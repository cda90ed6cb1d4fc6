/* label_set.h - which labels are on, in which order: the columns of the terminal's
 * tree and the state of the label panel (L). labels.h is THE TABLE of labels. */
#ifndef EXPLORER_LABEL_SET_H
#define EXPLORER_LABEL_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "rows/rows.h"
#include "rows/show.h"
#include "text/lines.h"

#define LABELS_MOST 48

struct label_set {
    uint8_t order[LABELS_MOST]; /* indices in the table of labels */
    bool on[LABELS_MOST];       /* by index in that table */
    bool last[LABELS_MOST];     /* state before a group was switched off */
    uint8_t n;
    bool flowing;            /* A: RP's texts instead of aligned columns */
    bool asked[LABELS_MOST]; /* switched on by the user: the last to be dropped */
    bool chosen; /* by the user; until then a narrow screen shows only a few */
    /* The widest cell shown so far in a column without a fixed width, so that columns do
     * not jump while scrolling. */
    uint8_t widest[LABELS_MOST];
};

/* The defaults: alignment, count, share with bar, memory, total time, name, type,
 * arguments. */
void label_set_init(struct label_set *set, const struct show *show);

/* Toggle a group of labels by its key: t b(=m) p d f r. If any is on, all go off;
 * otherwise the ones last on return (first time: all). */
void label_set_group(struct label_set *set, char key);
/* Why this key does nothing here, for the status line; NULL if it works. */
const char *label_group_why(const struct show *show, char key);
void label_set_toggle(struct label_set *set, uint32_t at); /* by position in order */
void label_set_move(struct label_set *set, uint32_t from, uint32_t to);

/* "name,type,args,params": in order, the value of --labels; "flowing" in the list:
 * not aligned. ERR_USAGE suggests the nearest name. */
bool label_is_on(const struct label_set *set, const char *id);
int label_set_parse(struct label_set *set, struct str list, struct err *err);
void label_set_text(const struct label_set *set, struct buf *to);

/* The label panel: one line per label, in order, with its text for a row. */
void label_set_lines(struct lines *to, const struct label_set *set,
                     const struct show *show, const struct row *row, unsigned width);
/* Replaces the labels from `first` on if they do not fit:
 * "▾ 12 more: average own time, output mean …". */
void label_set_more(struct lines *to, const struct label_set *set, uint32_t first,
                    unsigned width);

#endif
