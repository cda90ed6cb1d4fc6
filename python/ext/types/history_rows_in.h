/* history_rows_in.h - rows of a history as dicts. False: an exception is set. */
#ifndef EXT_TYPES_HISTORY_ROWS_IN_H
#define EXT_TYPES_HISTORY_ROWS_IN_H

#include "ext/ext.h"

#include <stdbool.h>

struct stats;

bool dict_real(PyObject *dict, const char *key, double value);
bool dict_stats(PyObject *dict, const struct stats *stats); /* count, nan, ..., l2 */
/* For lists of rows: a struct history_series, a struct history_alarm. */
bool dict_series(PyObject *dict, const void *row);
bool dict_alarm(PyObject *dict, const void *row);

#endif
