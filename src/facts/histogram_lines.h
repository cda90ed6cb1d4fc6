/* histogram_lines.h - how the values of a tensor are spread, drawn in lines:
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

/* numbers->bins in `rows` lines and two for the axis. Where there is too little room,
 * neighbours are taken together. Without bins, which are still being counted then, the
 * axes alone. `log`: heights are logarithms of counts. */
void histogram_lines(struct lines *to, const struct numbers *numbers, unsigned width,
                     unsigned rows, bool log);

/* The same in one line, without an axis: -0.5444 ▁▂█▃▁ 0.4808 */
void histogram_line(struct lines *to, const struct numbers *numbers, unsigned width,
                    bool log);

#endif
