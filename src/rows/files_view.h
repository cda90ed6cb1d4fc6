/* files_view.h - the model files below a folder as a person looks at them: in an order,
 * filtered, some of them marked. The list of the terminal and the printed one are this.
 *
 * A filter is what `/` takes in a tree (search.h), held against names below the folder;
 * the words of files_kinds alone are about verdicts: "unsafe", "!safe",
 * "unsafe|damaged". Used by one thread. */
#ifndef ROWS_FILES_VIEW_H
#define ROWS_FILES_VIEW_H

#include "session/file_list.h"

enum files_sort {
    FILES_NAME,
    FILES_SIZE,
    FILES_PARAMS,
    FILES_VERDICT,
    FILES_CHANGED, /* as it comes: newest first */
    FILES_SORT_COUNT
};

/* What a menu offers: an order, or a verdict to filter by. */
struct files_choice {
    char key;
    const char *word;  /* for :sort, --sort, :filter, --filter */
    const char *about; /* "biggest first" */
};
extern const struct files_choice files_orders[FILES_SORT_COUNT];
extern const struct files_choice files_kinds[];
extern const size_t n_files_kinds;

struct files_view;

/* Begin to look; NULL: as file_list_new(). */
struct files_view *files_view_new(const char *folder, struct err *err);
void files_view_free(struct files_view *view); /* NULL is allowed */
/* Take what was found since; true: the rows are others now. */
bool files_view_poll(struct files_view *view);
int files_view_fd(const struct files_view *view); /* as file_list_fd() */
/* All is found and judged. */
bool files_view_ready(const struct files_view *view);

/* The rows that are shown, in order; good until the next change. */
uint32_t files_view_n(const struct files_view *view);
const struct file_row *files_view_at(const struct files_view *view, uint32_t row);
/* Which row has this number now; UINT32_MAX: none. */
uint32_t files_view_row(const struct files_view *view, uint32_t number);
/* These rows are on the screen: judge them first. */
void files_view_want(struct files_view *view, uint32_t first, uint32_t n);

struct file_list_facts files_view_facts(const struct files_view *view);
/* Of the rows that are shown. */
struct file_counts files_view_counts(const struct files_view *view);
/* How many files are not judged yet, shown or not, while the order or the filter needs
 * verdicts; else 0. */
uint32_t files_view_unknown(const struct files_view *view);
/* How wide the widest name is that is shown and has at most `most` cells; 0: none. */
size_t files_view_widest(const struct files_view *view, size_t most);

/* "": all. ERR_USAGE: it is a bad pattern; the filter stays what it was. */
int files_view_filter(struct files_view *view, struct str text, struct err *err);
struct str files_view_filtered(const struct files_view *view);

void files_view_sort(struct files_view *view, enum files_sort sort, bool reverse);
enum files_sort files_view_sorted(const struct files_view *view, bool *ret_reverse);
/* "size", "size reverse"; what --sort takes in a tree means the same here. */
int files_sort_by_word(struct str word, enum files_sort *ret_sort, struct err *err);

/* At most two rows are marked. Marking one that is marked takes the mark away. False:
 * two others are. */
bool files_view_mark(struct files_view *view, uint32_t row);
bool files_view_marked(const struct files_view *view, uint32_t row);
/* The marked files, in the order in which they were marked. */
uint32_t files_view_n_marks(const struct files_view *view);
const struct file_row *files_view_mark_at(const struct files_view *view, uint32_t mark);
void files_view_unmark(struct files_view *view); /* all */

#endif
