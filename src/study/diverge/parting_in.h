/* parting_in.h - shared by the files of parting.h. */
#ifndef STUDY_DIVERGE_PARTING_IN_H
#define STUDY_DIVERGE_PARTING_IN_H

#include "study/diverge/parting.h"

/* The position of each series within a step, in the order of execution. NULL: the arena
 * is spent. */
uint64_t *parting_order(const struct history_series *series, uint32_t n,
                        struct arena *arena);

#endif
