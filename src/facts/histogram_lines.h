/* histogram_lines.h - draws the distribution of the values of a tensor:
 *
 *      6185 ┤                       ▆█▆▁
 *           │                     ▂██████▁
 *         0 ┤▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂▃▄▅▇█████████████▆▄▃▂▁▁▁▁▁▁▁▁▁▁ ▁
 *           └┴────────────────────────┴─────────────────────┴
 *        -0.5444                      0                 0.4808 */
#ifndef FACTS_HISTOGRAM_LINES_H
#define FACTS_HISTOGRAM_LINES_H

#include "session/numbers.h"
#include "text/lines.h"

#define HISTOGRAM_ROWS 6

/* Draw numbers->bins in `rows` lines, plus two for the axis. If space is short,
 * adjacent bins are merged. Without bins, which are then still being counted, draws the
 * axes only. `log`: heights are logarithms of counts. */
void histogram_lines(struct lines *to, const struct numbers *numbers, unsigned width,
                     unsigned rows, bool log);

/* The same in one line, without an axis: -0.5444 ▁▂█▃▁ 0.4808 */
void histogram_line(struct lines *to, const struct numbers *numbers, unsigned width,
                    bool log);

#endif
