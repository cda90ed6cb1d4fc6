/* statistics_lines.h - the numbers of one tensor as the terminal's panel has them:
 *
 *     count    48,000     NaN 0   +Inf 0   -Inf 0   zeros 0
 *     min      -0.544408   at [83, 225]
 *     ...      then its histogram, then quantiles */
#ifndef EXPLORER_STATISTICS_LINES_H
#define EXPLORER_STATISTICS_LINES_H

#include "session/numbers.h"
#include "text/lines.h"

struct statistics_room {
    unsigned width, height; /* where there is little, the histogram has one line */
    bool log;
    bool plain; /* nothing is drawn, and each fact has a line */
};

/* What is known; `why` says why the rest is not ("…"), or is NULL. */
void statistics_lines(struct lines *to, const struct model *model,
                      const struct tensor *tensor, const struct numbers *numbers,
                      const char *why, const struct statistics_room *room);

#endif
