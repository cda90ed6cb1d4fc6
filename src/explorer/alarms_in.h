/* alarms_in.h - the list that `!` steps through: findings of the file, code that a
 * load would run, calls that raised or made the first NaN of a run, alarms of a training
 * run. */
#ifndef EXPLORER_ALARMS_IN_H
#define EXPLORER_ALARMS_IN_H

#include "explorer/explorer.h"
#include "facts/notes.h"

/* Find all alarms, in the order of `!`: alarms before warnings, each by time, then
 * in the order of the tree. */
int alarms_find(struct explorer *explorer, struct err *err);
/* Find them again if more non-finite values were found since, or the training run has
 * more of them. */
void alarms_refresh(struct explorer *explorer);

/* The worst alarm of the first place in [place, end) that has one, or NULL. */
const struct alarm_place *alarms_at(const struct alarms *alarms, uint32_t place,
                                    uint32_t end);

#endif
