/* run_text.h - what ran, and the overhead of recording it. For sessions with a run. */
#ifndef FACTS_RUN_TEXT_H
#define FACTS_RUN_TEXT_H

#include "facts/fact.h"
#include "rows/run_words.h"
#include "rows/show.h"

/* A fact: "ResNet: 1 pass, forward 87.29ms, backward 160.10ms; recording added 2.10ms,
 * 0% of 250.00ms". */
void run_ran(struct facts *to, const struct show *show);
/* Append the reason why a capsule was saved; false: it is not a capsule. */
bool run_capsule(struct facts *to, const struct run *run);
/* Append its parts to the current fact. */
void run_passes(struct facts *to, const struct show *show);
void run_cost(struct facts *to, const struct show *show);

#endif
