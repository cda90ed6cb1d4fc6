/* totals.h - the totals of a model and its run in a few lines, the end of a summary. */
#ifndef FACTS_TOTALS_H
#define FACTS_TOTALS_H

#include "rows/show.h"
#include "text/pen.h"

/* params     25,557,032, all trainable
 * buffers    53,173 in 161 tensors
 * memory     97.7MB of parameters and buffers + 588KB of inputs + 169.9MB of ...
 * ran        1 pass, forward 87.29ms; recording added 2.10ms, 2% of 90.00ms
 * FLOPs      8.2G by 54 of 175 operations, all matrix work */
void totals_write(const struct pen *pen, const struct show *show);

/* Bytes of all storages that calls of a run returned for the first time: the memory of
 * a pass that frees nothing. */
uint64_t totals_activations(const struct run *run);
/* False: the storage of some result is unknown (sparse, nested, wrappers), so the sum
 * above is a lower bound. */
bool totals_activations_known(const struct run *run);

#endif
