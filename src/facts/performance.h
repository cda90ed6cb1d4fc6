/* performance.h - where the time of a run went, for panel 5 of the terminal, `show` and
 * `info`. For sessions with a run. */
#ifndef FACTS_PERFORMANCE_H
#define FACTS_PERFORMANCE_H

#include "facts/fact.h"
#include "rows/show.h"

/* One module that was called: its type, forward, backward and memory. */
void performance_place(struct facts *to, const struct show *show, uint32_t place);
/* Format these as lines; bars are shares of the module's own time:
 *     conv2   Conv2d   36.9K params   Shape: 64×64×3×3   Time: 5.00ms   Mem: 144KB
 *     ├─ forward()     1.52ms    ████▉             Input: 1×64×56×56   Output: ...
 *     ├─ backward()    3.48ms    ███████████▏      Gradient: computed
 *     └─ memory        144KB                       Parameters: 36,864 × 4 bytes
 * Parts that do not fit into `width` (0: no limit) go below. */
void performance_lines(struct lines *to, const struct facts *facts, unsigned width,
                       unsigned indent);

/* The `most` slowest modules by own time, and the classes: two facts, or with `listed`
 * one for each entry.
 * "maxpool 8.19ms, 9% of run   layer4.0.conv2 3.83ms, 4%";
 * "53 × Conv2d 66.77ms, 76% of run   1 × MaxPool2d 8.19ms, 9%". */
int performance_slowest(struct facts *to, const struct show *show, uint32_t most,
                        bool listed, struct err *err);

/* The clock and its correction: "CPU clock, 1 thread; torchoscope's own cost is taken
 * out". */
void performance_measured(struct facts *to, const struct show *show);

#endif
