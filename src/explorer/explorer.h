/* explorer.h - the state of the explorer for one session or pair: the tree, its labels,
 * the panels and their state; all of it can be written as a command (`y` `c`). No
 * toolkit: it neither draws nor reads keys. Single-threaded.
 *
 * The tour of the room:
 *   browse.h      the tree: folds, search, cursor    label_set.h   which labels are on
 *   tree_lines.h  the tree on the screen             panels.h      THE TABLE of panels
 *   measured.h    which values were measured         statistics_lines.h   panel 4
 *   files_text.h  the files of a folder, as lines
 *   settings.h    THE TABLE of view settings         link.h        a view as a command,
 *   copy.h        names for the clipboard                          and back */
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

/* A target of `!`. */
struct alarm {
    enum alarm_kind {
        ALARM_FINDING,  /* `subject` is its index in the model's findings */
        ALARM_GLOBAL,   /* of the pickle log */
        ALARM_MODULE,   /* a place that raised or made NaN in a run */
        ALARM_TENSOR,   /* with values that are not finite */
        ALARM_GRADIENT, /* of show->no_gradients */
        ALARM_TRAINING, /* of alarms.of_history */
    } kind;
    uint32_t subject;
    enum severity severity;
    uint32_t order; /* index in the order of discovery */
    uint64_t time;  /* of a run; 0: of the file */
    uint32_t place;
};
struct alarms {
    struct alarm *at; /* alarms before warnings, by time, then by tree order */
    uint32_t n, room;
    struct alarm_place { /* by place, for the gutter; the worst of a place first */
        uint32_t place;
        enum severity severity;
    } * places; /* may exceed `n`: a tied tensor has several places */
    uint32_t n_places, places_room;
    uint32_t next;                          /* the alarm that `!` goes to next */
    const struct history_alarm *of_history; /* as of the last collection */
    uint32_t training;                      /* their number */
    struct measured measured; /* the whole model's, when the alarms were collected */
};

struct explorer {
    struct session *session; /* borrowed; in a pair the right one */
    struct pair *pair;       /* borrowed; NULL: one model */
    struct arena arena;
    struct show show;
    struct browse *browse;
    struct label_set labels;
    struct panel_state panels[PANEL_COUNT];
    struct jobs *jobs;         /* background computation; NULL: compute on request */
    bool background;           /* as passed to explorer_begin() */
    struct explorer *sides[2]; /* pair: each model by itself, created on request */
    uint32_t call; /* the shown call of the selected module; RUN_NONE: the newest */
    uint32_t bins; /* of histograms; 0: default */
    bool ascii;    /* for parts with an ASCII form, such as bars */
    enum heat_style heat; /* half blocks if there are true colours */
    bool plain;           /* for screen readers: no bars, no heat maps */
    struct buf message;   /* for the status line, until the next key */
    struct alarms alarms;
    struct arena alarm_arena; /* owns `alarms`, unless that is borrowed */
    bool measured_once;       /* measured_start() was called */
    uint64_t history_stamp;   /* private: of the file that is followed */
    uint32_t history_version; /* counts changes of that file */
    uint64_t step;           /* of the training run: the selected one, or STEP_NEWEST */
    uint32_t went_to;        /* alarm of the training run whose line panel 7 selects on
                                the next draw; HISTORY_NONE: none */
    struct at_step at_step;  /* private: the numbers of show.step */
    struct arena step_arena; /* private: owns them */
    uint64_t step_version;   /* private: of the file version they are from */
    struct asked_version {   /* private: the version requested in the background; a file
                                that changes faster than it is read does not cancel the
                                request */
        uint64_t version;
        bool waiting;
    } asked_sum, asked_step;
    struct buf in_short; /* pair: the summary; empty until needed */

    /* Private: tensors requested regardless of size; without `jobs`, the results: an
     * index in `numbers` by tensor. */
    struct map asked, measured;
    struct buf too_large; /* the message of explorer_may_read() */
    struct numbers **numbers;
    uint32_t n_numbers, numbers_room;
};

/* Start with the initial view: Details for a file, Code and Attributes for a live
 * model. If a run has alarms, the cursor is on the first, and the panel that explains
 * it is open. `background`: compute numbers in threads. */
int explorer_begin(struct explorer *explorer, struct session *session,
                   struct pair *pair, bool background, struct err *err);
void explorer_end(struct explorer *explorer);
/* The initial view of the same session again, borrowing cached results from `of`. */
int explorer_again(struct explorer *explorer, const struct explorer *of,
                   struct err *err);

/* Set the message in the status line. */
void explorer_say(struct explorer *explorer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The selected place in the session's model; NO_PLACE for a pair's node that only the
 * left one has. */
uint32_t explorer_place(const struct explorer *explorer);

/* Pair: the left or right model by itself, at the selected row, for panels that show
 * one model. NULL: the row does not exist there. The user's choices for panels (bins,
 * call) are the pair's. */
struct explorer *explorer_side(struct explorer *explorer, bool right);
/* Collect results of threads; true: there is something new to show. */
bool explorer_poll(struct explorer *explorer);
/* Descriptors to wait for; -1: none. */
void explorer_fds(const struct explorer *explorer, int ret_fds[2]);
/* The cursor moved: drop requests that have not started. */
void explorer_drop(struct explorer *explorer);

/* Does it have the history of a training run, which another process may be writing?
 * Then call explorer_follow() about once a second. It checks only sizes and times of
 * the file; true: there is something new to show. */
bool explorer_follows(const struct explorer *explorer);
bool explorer_follow(struct explorer *explorer);
/* Reads the summary of the history again after a change, in the background, and its
 * alarms. */
void explorer_refresh_training(struct explorer *explorer);
/* Before a frame: if the tree or a panel shows numbers of the selected step, makes them
 * available in show.step. They are read in the background; older ones stay until
 * then. */
void explorer_refresh_step(struct explorer *explorer);
/* Open panel 7 at an alarm of the training run, and its step. */
void explorer_show_alarm(struct explorer *explorer, uint32_t alarm, uint64_t step);

/* The shown call of the module at a place: an index in run->calls; RUN_NONE: no run or
 * no such call. */
uint32_t explorer_call(const struct explorer *explorer, uint32_t place);
/* Show the next or previous call of the selected module: ( and ). */
bool explorer_step(struct explorer *explorer, int by);

/* The statistics, quantiles and histogram of a tensor. NULL if not available: *ret_why
 * is then "…" while they are computed, else the reason, or the key to press for a large
 * tensor. If only the statistics are known, n_quantiles and n_bins are 0, and *ret_why
 * is set likewise. Valid until the next call. */
const struct numbers *explorer_numbers(struct explorer *explorer, uint32_t tensor,
                                       const char **ret_why);
/* Is the tensor small enough to read, or requested? If not, *ret_why names the key to
 * press; valid until the next call. */
bool explorer_may_read(struct explorer *explorer, uint32_t tensor,
                       const char **ret_why);
/* The same for `bytes` of a kept value. */
bool explorer_may_read_kept(struct explorer *explorer, uint32_t value, uint64_t bytes,
                            const char **ret_why);
/* Esc, :stop: stop reading, and forget requests for large tensors. False: nothing was
 * being read. */
bool explorer_stop(struct explorer *explorer);
#define EXPLORER_BINS 1000 /* maximum; show --hist prints more */
/* :hist: set the number of bins in panel 4; with `jobs`, explorer_numbers() keeps the
 * default. */
void explorer_set_bins(struct explorer *explorer, uint32_t bins);
/* Drop all numbers, because the values of a live model changed. */
void explorer_forget(struct explorer *explorer);
/* :stats: measure a tensor of any size; NO_TENSOR: all. */
#define NO_TENSOR UINT32_MAX
void explorer_measure(struct explorer *explorer, uint32_t tensor);
/* 4: measure the selected tensor, or the own tensors of the selected module. */
void explorer_measure_row(struct explorer *explorer);

/* !: go to the next alarm, then to warnings. False: there are none; explorer_say()
 * reports that, and what was not checked. */
bool explorer_next_alarm(struct explorer *explorer);

#endif
