/* totals.h - what a model and its run come to, in a few lines: the end of a summary. */
#ifndef FACTS_TOTALS_H
#define FACTS_TOTALS_H

#include "rows/show.h"
#include "text/pen.h"

/* params     25,557,032, all trainable
 * buffers    53,173 in 161 tensors
 * memory     97.7MB of parameters and buffers + 588KB of inputs + 169.9MB of ...
 * ran        1 pass, forward 87.29ms; recording added 2.10ms, 2% of 90.00ms */
void totals_write(const struct pen *pen, const struct show *show);

/* Bytes of all storages that the calls of a run gave as results for the first time:
 * what a pass makes, if nothing of it is given back on the way. */
uint64_t totals_activations(const struct run *run);
/* False: the storage of a result is not known (sparse, nested, wrappers), so that the
 * sum above is a lower bound. */
bool totals_activations_known(const struct run *run);

#endif
