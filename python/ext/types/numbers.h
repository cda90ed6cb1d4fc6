/* numbers.h - the texts of text/number.h as functions of the module. */
#ifndef EXT_TYPES_NUMBERS_H
#define EXT_TYPES_NUMBERS_H

#include "ext/ext.h"

/* format_count(int), format_bytes(int), format_time(seconds), format_percent(percent),
 * format_shape(dimensions), format_devices(names) -> str */
extern PyMethodDef numbers_functions[];

#endif
