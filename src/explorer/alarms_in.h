/* alarms_in.h - what `!` goes through: findings of the file, what a load would run,
 * what raised or made the first NaN in a run. */
#ifndef EXPLORER_ALARMS_IN_H
#define EXPLORER_ALARMS_IN_H

#include "explorer/explorer.h"
#include "facts/notes.h"

/* Find them all, in the order in which `!` goes: alarms before warnings, each in order
 * of time, then of the tree. */
int alarms_find(struct explorer *explorer, struct err *err);
/* Find them again if values that are not finite were found since. */
void alarms_refresh(struct explorer *explorer);

/* The first one from `place` on, up to `end`, the worst of its place; NULL: none. */
const struct alarm_place *alarms_at(const struct alarms *alarms, uint32_t place,
                                    uint32_t end);

#endif
