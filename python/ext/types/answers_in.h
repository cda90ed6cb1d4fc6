/* answers_in.h - dicts of what a run holds.
 *   answers.c        the type: which questions there are
 *   answers_dict.c   the sink that makes dicts of what export/ writes
 *   answers_code.c   the code of their classes
 *   answers_file.c   saved and opened, and their views */
#ifndef EXT_TYPES_ANSWERS_IN_H
#define EXT_TYPES_ANSWERS_IN_H

#include "base/json_write.h"
#include "ext/types/answers.h"

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

/* What export/ writes to dicts.json becomes dicts and lists:
 *     dicts_begin(&dicts); export_call(&dicts.json, ...); answer = dicts_end(&dicts);
 * One value in all; its depth is that of values in a document. */
#define DICTS_DEPTH 96
struct dicts {
    struct json json;
    PyObject *answer;
    PyObject *open[DICTS_DEPTH]; /* borrowed from what they stand in */
    uint32_t depth;
    bool failed; /* an exception is set */
};
void dicts_begin(struct dicts *dicts);
PyObject *dicts_end(struct dicts *dicts); /* a new reference; NULL: an exception */

/* A source that knows the code of the model's classes from a list of tuples (class,
 * file, line, text), and else asks the model's own. NULL: an exception is set. */
struct source *answers_code(const struct model *model, PyObject *list);

/* Methods of the type. */
PyObject *answers_save(PyObject *self, PyObject *path);
PyObject *answers_json(PyObject *self, PyObject *args);
PyObject *answers_write(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *answers_text(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *answers_rows(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *answers_export(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
