/* parcel.h - serialises points, scalars and alarms of one step for another process of
 * the same program on the same kind of machine: rank 0 writes those of all ranks. */
#ifndef HISTORY_PARCEL_H
#define HISTORY_PARCEL_H

#include "history/writer.h"

void parcel_point(struct buf *parcel, const struct history_series *series,
                  const struct history_point *point);
void parcel_scalar(struct buf *parcel, struct str name, double value);
void parcel_alarm(struct buf *parcel, const struct history_alarm *alarm);
void parcel_flags(struct buf *parcel, uint8_t flags); /* of the step */

/* Adds the parcel of a rank to the writer's current step `number` and its flags to
 * *flags. Points of one series are merged. The text of an alarm names its rank if it is
 * not 0, and its step if it differs. ERR_FORMAT: the parcel is damaged; the records
 * before the damage were added. */
int parcel_write(struct str parcel, uint32_t rank, uint64_t number,
                 struct history_writer *writer, unsigned *flags, struct err *err);

#endif
