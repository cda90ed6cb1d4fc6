/* parcel.h - points, scalars and alarms of one step as bytes, for another process of
 * the same program on the same kind of machine: rank 0 writes those of all ranks. */
#ifndef HISTORY_PARCEL_H
#define HISTORY_PARCEL_H

#include "history/writer.h"

void parcel_point(struct buf *parcel, const struct history_series *series,
                  const struct history_point *point);
void parcel_scalar(struct buf *parcel, struct str name, double value);
void parcel_alarm(struct buf *parcel, const struct history_alarm *alarm);
void parcel_flags(struct buf *parcel, uint8_t flags); /* of the step */

/* Adds what is in the parcel of a rank to the writer's current step `number`, where
 * points of one series are merged, and its flags to *flags. The text of an alarm says
 * which rank it is of, if it is not 0, and which step, if it is another. ERR_FORMAT: it
 * is damaged, and only what is before that was added. */
int parcel_write(struct str parcel, uint32_t rank, uint64_t number,
                 struct history_writer *writer, unsigned *flags, struct err *err);

#endif
