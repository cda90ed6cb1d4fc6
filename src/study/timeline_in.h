/* timeline_in.h - the steps of making a timeline. */
#ifndef STUDY_TIMELINE_IN_H
#define STUDY_TIMELINE_IN_H

#include "study/timeline.h"

/* Removes the recording overhead: sets start, ns and own of all boxes, and the sums. */
int timeline_lay_out(struct timeline *timeline, const struct run *run,
                     struct arena *scratch, struct err *err);

#endif
