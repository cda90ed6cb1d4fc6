/* files_view.h - a sorted, filtered view of the model files below a folder, with marks.
 * Both the terminal's list and the printed list use it.
 *
 * A filter has the syntax of `/` in a tree (search.h) and matches names relative to the
 * folder. The words of files_kinds match verdicts instead: "unsafe", "!safe",
 * "unsafe|damaged". Not thread-safe. */
#ifndef ROWS_FILES_VIEW_H
#define ROWS_FILES_VIEW_H

#include "session/file_list.h"

enum files_sort {
    FILES_NAME,
    FILES_SIZE,
    FILES_PARAMS,
    FILES_VERDICT,
    FILES_CHANGED, /* the default: newest first */
    FILES_SORT_COUNT
};

/* A menu entry: a sort order, or a verdict to filter by. */
struct files_choice {
    char key;
    const char *word;  /* for :sort, --sort, :filter, --filter */
    const char *about; /* "biggest first" */
};
extern const struct files_choice files_orders[FILES_SORT_COUNT];
extern const struct files_choice files_kinds[];
extern const size_t n_files_kinds;

struct files_view;

/* Start scanning a folder. NULL on failure, as file_list_new(). */
struct files_view *files_view_new(const char *folder, struct err *err);
void files_view_free(struct files_view *view); /* NULL is allowed */
/* Take new results from the scan. True: the rows changed. */
bool files_view_poll(struct files_view *view);
int files_view_fd(const struct files_view *view); /* as file_list_fd() */
/* The scan is complete and every file has a verdict. */
bool files_view_ready(const struct files_view *view);

/* The visible rows, in order; valid until the next change. */
uint32_t files_view_n(const struct files_view *view);
const struct file_row *files_view_at(const struct files_view *view, uint32_t row);
/* The current row of a file number; UINT32_MAX: not visible. */
uint32_t files_view_row(const struct files_view *view, uint32_t number);
/* Judge the visible rows first. */
void files_view_want(struct files_view *view, uint32_t first, uint32_t n);

struct file_list_facts files_view_facts(const struct files_view *view);
/* Counts of the visible rows. */
struct file_counts files_view_counts(const struct files_view *view);
/* Number of files without a verdict, visible or not, if the order or the filter needs
 * verdicts; else 0. */
uint32_t files_view_unknown(const struct files_view *view);
/* Width of the widest visible name of at most `most` cells; 0: none. */
size_t files_view_widest(const struct files_view *view, size_t most);

/* Set the filter; "" shows all files. ERR_USAGE: bad pattern; the filter is unchanged.
 */
int files_view_filter(struct files_view *view, struct str text, struct err *err);
struct str files_view_filtered(const struct files_view *view);

void files_view_sort(struct files_view *view, enum files_sort sort, bool reverse);
enum files_sort files_view_sorted(const struct files_view *view, bool *ret_reverse);
/* Parse "size" or "size reverse"; also accepts the words of --sort for trees. */
int files_sort_by_word(struct str word, enum files_sort *ret_sort, struct err *err);

/* Toggle the mark of a row. At most two rows can be marked; false: two others already
 * are. */
bool files_view_mark(struct files_view *view, uint32_t row);
bool files_view_marked(const struct files_view *view, uint32_t row);
/* The marked files, in the order of marking. */
uint32_t files_view_n_marks(const struct files_view *view);
const struct file_row *files_view_mark_at(const struct files_view *view, uint32_t mark);
void files_view_unmark(struct files_view *view); /* all */

#endif
