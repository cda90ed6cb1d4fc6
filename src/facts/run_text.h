/* run_text.h - a run in sentences: what ran and what it cost. For sessions with a run. */
#ifndef FACTS_RUN_TEXT_H
#define FACTS_RUN_TEXT_H

#include "base/buf.h"
#include "model/model.h"
#include "rows/run_words.h"
#include "rows/show.h"

/* "ResNet: 1 pass, forward 87.29ms, backward 160.10ms; recording added 2.10ms, 0% of
 * 250.00ms" */
void run_ran(struct buf *to, const struct show *show);
/* "1 pass, forward 87.29ms, backward 160.10ms" */
void run_passes(struct buf *to, const struct show *show);
/* "2.10ms, 0% of 250.00ms": our cost, and its share of what it would have taken without
 * us. */
void run_cost(struct buf *to, const struct run *run);

#endif
