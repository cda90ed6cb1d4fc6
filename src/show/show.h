/* show.h - what to show, with no toolkit: text, terminal and page take the same rows,
 * labels and sentences from here.
 *
 * The tour of the room:
 *   show.h        one open session as seen by the views
 *   rows.h        which places are rows, in which order   sort.h     orders siblings
 *   outline.h     the bare tree: of places, or of two models' nodes
 *   repeats.h     which siblings are equal                search.h   which rows match
 *   labels.h      THE TABLE of columns; the label of a row and how it shrinks
 *   args.h        Conv2d(3→64, 7×7, stride=2): arguments as people read them
 *   value_text.h  plain values as Python would write them
 *   textual.h     rows as lines of text          summary.h     title, verdict, counts
 *   below.h       what stands below a place, put together
 *   printed.h     a whole tree as text: what is asked for, its rows, the closing lines
 *   totals.h      the closing lines of a summary
 *   details.h     one place in full              grid.h        values of a tensor
 *   check_text.h  what a check says              facts.h       what a file is
 *   statistics.h  numbers of one tensor          stats_table.h the same of many
 *   slice.h       [83, 220:230]                  name_runs.h   h.0-11: many as one
 *   run_text.h    a run in words                 performance.h where its time went
 *   calls_text.h  the calls of one module        flow.h        who gave what to whom
 *   flow_text.h   the same as lines
 *   diff_text.h   how two models differ: rows, a sentence, Python
 *   diff_view.h   the same as a tree: labels, columns, title
 *
 * For a person who walks through it:
 *   explorer.h    all of one view              browse.h      the tree: folds, search
 *   panels.h      THE TABLE of panels          lines.h       text in spans, with roles
 *   tree_lines.h  the tree on the screen       label_set.h   which labels are on
 *   statistics_lines.h, histogram_lines.h, value_grid.h, heatmap.h, sheet.h
 *                 the values of a tensor in numbers and pictures
 *   files_view.h  the files of a folder: order, filter, marks   files_text.h  as lines
 *   link.h        a view as a command, and back     copy.h   names to be pasted
 */
#ifndef SHOW_SHOW_H
#define SHOW_SHOW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "session/session.h"
#include "study/activity.h"

struct label;
struct row;

struct show {
    const struct session *session; /* borrowed */
    const struct model *model;     /* the session's */
    const struct pair *pair; /* two models side by side: rows are nodes of its diff, and
                                the session is the right one's. NULL: one model */
    void (*pair_label)(struct label *label, const struct show *show,
                       const struct row *row); /* of a pair: see diff_show() */
    /* By place: what stands at and below it but is counted elsewhere, because it is
     * tied to something met before. NULL: nothing is tied. */
    uint64_t *tied_params, *tied_bytes;
    struct map globals;   /* string id of a pickle's global to its index in the log */
    struct str file_name; /* the last part of the model's path */
    const struct activities *activity; /* of a recording; else NULL */
    struct below_index *index;         /* of below.h; NULL: none was made */
    bool gaps_in_out; /* whoever chose the columns took `out` but not `time`, which
                         else says why a module has no calls */
};

/* Look at a session; columns come from the arena. */
int show_init(struct show *show, const struct session *session, struct arena *arena,
              struct err *err);

/* How a call of this name, a value's text, is judged; TRUST_KNOWN if no pickle has it.
 */
enum trust show_trust(const struct show *show, uint32_t name);

/* Does this module have no module (or group) below it? Its own tensors are then part of
 * its row. */
bool show_is_leaf(const struct model *model, uint32_t place);

/* What a group is that only stands for the one thing in it, because a file holds that
 * thing bare: "a tensor", "an array", "a storage", "a value". NULL: any other place. */
const char *show_bare(const struct model *model, uint32_t place);

#endif
