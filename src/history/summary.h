/* summary.h - a history in a few numbers: its length, what it logs, what went wrong.
 * Reads the lists of a history, not its points. A summary owns nothing: it can be
 * copied. */
#ifndef HISTORY_SUMMARY_H
#define HISTORY_SUMMARY_H

#include "history/reader.h"

#define SUMMARY_NAMES 400 /* bytes for the names of scalars */

struct history_summary {
    struct history_phase_sum {
        uint64_t steps;       /* logged ones */
        uint64_t rows;        /* rows in the file: fewer if steps were merged */
        uint64_t first, last; /* step numbers */
    } phases[HISTORY_PHASES];
    uint64_t dropped; /* steps that were lost */
    uint64_t skipped; /* steps skipped by the gradient scaler */
    uint64_t wall_ns; /* from the first logged step to the newest */
    uint64_t series;  /* tensors that are logged */
    uint64_t damaged; /* invalid rows, skipped */

    uint32_t loss; /* index of the loss among the scalars, or HISTORY_NONE */
    bool has_loss; /* its newest value is known, also if it is not finite */
    double newest_loss;
    uint64_t loss_step;
    char loss_name[40];
    uint32_t n_names, n_listed;
    char names[SUMMARY_NAMES]; /* the first n_listed: "loss, lr/0" */

    uint32_t alarms[3];   /* by enum severity */
    uint64_t first_alarm; /* step of the first one worse than a note */

    uint32_t segments;
    uint64_t missing_steps;  /* between segments */
    uint64_t repeated_steps; /* logged again by a later segment */
    uint64_t paused_ns;
    uint32_t rank, ranks; /* ranks 0: not distributed */
    uint32_t files;       /* rank files in the folder; 0: a single file */
};

int history_summarise(struct history *history, struct history_summary *ret_summary,
                      struct err *err);

/* The number of alarms worse than a note. */
uint32_t history_summary_alarms(const struct history_summary *summary);

/* The index of the scalar with this name, or of the first whose name begins with it and
 * a slash ("lr/0"); else HISTORY_NONE. */
uint32_t history_find_name(const struct str *names, uint32_t n, const char *name);

#endif
