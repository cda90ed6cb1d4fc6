/* tree_writer_in.h - one line of the terminal's tree while it is being written:
 * tree_lines.c writes lines and columns, tree_label.c the guides and labels before them.
 */
#ifndef EXPLORER_TREE_WRITER_IN_H
#define EXPLORER_TREE_WRITER_IN_H

#include "explorer/tree_columns_in.h"
#include "rows/labels.h"
#include "rows/search.h"

#define MOST_HITS 16

struct tree_writer {
    struct lines *to;
    struct explorer *explorer;
    const struct tree_room *room;
    struct tree_layout layout;
    struct search *search; /* NULL: no search */
    struct label label;
    struct label_parts parts;
    struct hit { /* matched letters in parts.text */
        size_t begin, end;
    } hits[MOST_HITS];
    unsigned n_hits;
    struct buf cell, cut, path;
    size_t ends[LABELS_MOST]; /* ends of the texts of the flowing form in `cell` */
    unsigned used;            /* cells of the line so far */
    bool ascii, tree;         /* not a flat list */
};

/* The style of a whole row. */
struct tree_look {
    bool cursor, same, frozen;
};

/* Does a row show its module's arguments? For a user's class with submodules they
 * are attributes, which a panel shows. */
bool tree_shows_args(const struct show *show, const struct row *row);

void tree_put(struct tree_writer *w, enum colour colour, unsigned flags,
              struct str text);
void tree_pad(struct tree_writer *w, unsigned cells);

/* Write the guides and the sign before a row's name; the width of the guides. */
void tree_put_guides(struct tree_writer *w, const struct row *row);
unsigned tree_guides(const struct tree_writer *w, const struct row *row);
void tree_put_sign(struct tree_writer *w, const struct row *row);
/* Write the label that label_make() made, in at most `cells`; the same in the
 * flowing form. */
void tree_put_label(struct tree_writer *w, const struct row *row, struct tree_look look,
                    size_t cells);
void tree_put_flowing(struct tree_writer *w, const struct row *row,
                      struct tree_look look, size_t cells);

#endif
