/* explorer.h - all that the terminal shows of one session or pair, and all that `y` `c`
 * can say in a command: the tree, its labels, the panels and what they remember. No
 * toolkit: it neither draws nor reads keys. Used by one thread.
 *
 * The tour of the room:
 *   browse.h      the tree: folds, search, cursor    label_set.h   which labels are on
 *   tree_lines.h  the tree on the screen             panels.h      THE TABLE of panels
 *   measured.h    what is known of the values        statistics_lines.h   panel 4
 *   files_text.h  the files of a folder, as lines
 *   settings.h    THE TABLE of view settings         link.h        a view as a command,
 *   copy.h        names to be pasted                               and back */
#ifndef EXPLORER_EXPLORER_H
#define EXPLORER_EXPLORER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "explorer/browse.h"
#include "explorer/label_set.h"
#include "explorer/measured.h"
#include "explorer/panels.h"
#include "facts/heatmap.h"
#include "rows/show.h"
#include "session/jobs.h"
#include "session/pair.h"
#include "session/session.h"

/* What `!` goes to. */
struct alarm {
    enum severity severity;
    uint32_t order; /* in which it was met */
    uint64_t time;  /* of a run; 0: of the file */
    uint32_t place;
    const char *text; /* escaped */
};
struct alarms {
    struct alarm *at; /* alarms before warnings, in order of time, then of the tree */
    uint32_t n, room;
    struct alarm_place { /* for the gutter, by place; of one the worst first */
        uint32_t place;
        enum severity severity;
    } * places; /* more than `n`: a tied tensor has several */
    uint32_t n_places, places_room;
    uint32_t next;            /* which of them comes next */
    struct measured measured; /* of the whole model, when they were found */
};

struct explorer {
    struct session *session; /* borrowed; of a pair the right one */
    struct pair *pair;       /* borrowed; NULL: one model */
    struct arena arena;
    struct show show;
    struct browse *browse;
    struct label_set labels;
    struct panel_state panels[PANEL_COUNT];
    struct jobs *jobs; /* numbers that are being computed; NULL: computed when asked */
    bool background;   /* as it was begun */
    struct explorer *sides[2]; /* of a pair: each model by itself, once it is asked for
                                */
    uint32_t call;        /* which call of the selected module is shown: its number; or
                             RUN_NONE: the newest */
    uint32_t bins;        /* of histograms; 0: as many as usual */
    bool ascii;           /* of what measures itself, as bars do */
    enum heat_style heat; /* of heat maps: halves where there are true colours */
    bool plain;           /* for screen readers: no bars, no heat maps */
    struct buf message;   /* for the status line, until the next key */
    struct alarms alarms;
    struct arena alarm_arena; /* what `alarms` holds, unless it is borrowed */
    bool measured_once;       /* measured_start() was here */
    struct buf in_short; /* of a pair: what happened; empty until it is asked for */

    /* Private: tensors that were asked for however large they are; without `jobs`, what
     * was computed: an index in `numbers` by tensor. */
    struct map asked, measured;
    struct buf too_large; /* the sentence of explorer_may_read() */
    struct numbers **numbers;
    uint32_t n_numbers, numbers_room;
};

/* Begin with what a first opening shows: Details of a file, Code and Attributes of a
 * live model; where a run has alarms the cursor is on the first, and the panel that
 * explains it is open. `background`: numbers are computed by threads. */
int explorer_begin(struct explorer *explorer, struct session *session,
                   struct pair *pair, bool background, struct err *err);
void explorer_end(struct explorer *explorer);
/* A first opening of the same once more, which borrows from `of` what that found out.
 */
int explorer_again(struct explorer *explorer, const struct explorer *of,
                   struct err *err);

/* Say something in the status line. */
void explorer_say(struct explorer *explorer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The selected place of the session's model; of a pair's node that only the left one
 * has NO_PLACE. */
uint32_t explorer_place(const struct explorer *explorer);

/* Of a pair: the left or the right model by itself, on the selected row, for panels
 * that tell of one model. NULL: the row is not there. What a person chose for panels
 * (bins, the call) is that of the pair. */
struct explorer *explorer_side(struct explorer *explorer, bool right);
/* What threads found out since; true: there is something new to show. */
bool explorer_poll(struct explorer *explorer);
/* What to wait for meanwhile; -1: nothing. */
void explorer_fds(const struct explorer *explorer, int ret_fds[2]);
/* The cursor moved on: forget wishes that nobody began with. */
void explorer_drop(struct explorer *explorer);

/* The call of the module at a place that is shown: an index in run->calls; RUN_NONE:
 * there is no run, or no such call. */
uint32_t explorer_call(const struct explorer *explorer, uint32_t place);
/* Show the next or previous call of the selected module: ( and ). */
bool explorer_step(struct explorer *explorer, int by);

/* What is known by now of the values of a tensor: its statistics, quantiles and
 * histogram. Until they are: NULL, and *ret_why is "…" while they are computed, else
 * why there are none, or what to press where they are too large to be read unasked.
 * Where only the statistics are known, the rest is not there (n_quantiles, n_bins are
 * 0), and *ret_why tells likewise. Good until the next call. */
const struct numbers *explorer_numbers(struct explorer *explorer, uint32_t tensor,
                                       const char **ret_why);
/* May it be read: is it small, or was it asked for? If not, *ret_why says what to
 * press, until the next call. */
bool explorer_may_read(struct explorer *explorer, uint32_t tensor,
                       const char **ret_why);
/* The same of so many bytes of a value that was kept. */
bool explorer_may_read_kept(struct explorer *explorer, uint32_t value, uint64_t bytes,
                            const char **ret_why);
/* Esc, :stop: what is being read is left, and what is large is not asked for any more.
 * False: nothing was being read. */
bool explorer_stop(struct explorer *explorer);
#define EXPLORER_BINS 1000 /* at most; show --hist prints more */
/* :hist: so many steps from now on, in panel 4; with `jobs`, explorer_numbers() keeps
 * to the usual ones. */
void explorer_set_bins(struct explorer *explorer, uint32_t bins);
/* Forget all numbers: the values of a live model changed. */
void explorer_forget(struct explorer *explorer);
/* :stats: read it however large it is; of all tensors with NO_TENSOR. */
#define NO_TENSOR UINT32_MAX
void explorer_measure(struct explorer *explorer, uint32_t tensor);
/* 4: the tensor of the selected row, or those of the module itself. */
void explorer_measure_row(struct explorer *explorer);

/* Go to the next alarm or finding, then to warnings: !. False: there are none, and
 * explorer_say() says so, and what was not looked at. */
bool explorer_next_alarm(struct explorer *explorer);

#endif
