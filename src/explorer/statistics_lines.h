/* statistics_lines.h - the numbers of one tensor in the terminal's panel:
 *
 *     count    48,000     NaN 0   +Inf 0   -Inf 0   zeros 0
 *     min      -0.544408   at [83, 225]
 *     ...      then its histogram, then quantiles */
#ifndef EXPLORER_STATISTICS_LINES_H
#define EXPLORER_STATISTICS_LINES_H

#include "session/numbers.h"
#include "text/lines.h"

struct statistics_room {
    unsigned width, height; /* with little space, the histogram is one line */
    bool log;
    bool plain; /* draw nothing; one line per fact */
};

/* Shows what is known; `why` is the reason why the rest is missing ("…"), or NULL. */
void statistics_lines(struct lines *to, const struct model *model,
                      const struct tensor *tensor, const struct numbers *numbers,
                      const char *why, const struct statistics_room *room);

#endif
