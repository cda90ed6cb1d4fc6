/* answers_in.h - dicts of what a run holds.
 *   answers.c        the type: which questions there are
 *   answers_dict.c   values, statistics, calls as dicts
 *   answers_file.c   saved and opened */
#ifndef EXT_ANSWERS_IN_H
#define EXT_ANSWERS_IN_H

#include "ext/answers.h"

/* Put a new reference under a key; takes it. False: an exception is set. */
bool dict_put(PyObject *dict, const char *key, PyObject *value);
bool dict_text(PyObject *dict, const char *key, struct str text);
bool dict_number(PyObject *dict, const char *key, uint64_t number);
/* Append a new reference to a list; takes it. */
bool list_add(PyObject *list, PyObject *item);

/* New references, or NULL and an exception. */
PyObject *text_object(struct str text); /* bytes that are not UTF-8 become U+FFFD */
PyObject *path_object(const struct model *model, uint32_t place);
PyObject *dims_object(const int64_t *dims, int n);
PyObject *call_dict(const struct run *run, uint32_t call);
PyObject *value_dict(const struct run *run, uint32_t value);
PyObject *merged_dict(const struct run *run, const struct run_merged *merged);
PyObject *fact_object(const struct values *values, uint32_t id);

/* Methods of the type. */
PyObject *answers_save(PyObject *self, PyObject *path);

#endif
