/* answers_in.h - declarations shared by the files of _core.Run.
 *   answers.c        the type and its methods
 *   answers_dict.c   a JSON sink that builds dicts from the output of export/
 *   answers_code.c   the source code of a run's classes
 *   answers_file.c   saving, opening and views
 *   answers_ops.c    operations, and the graph */
#ifndef EXT_TYPES_ANSWERS_IN_H
#define EXT_TYPES_ANSWERS_IN_H

#include "base/json_write.h"
#include "ext/types/answers.h"

/* Stores a value under a key; steals the reference. False: an exception is set. */
bool dict_put(PyObject *dict, const char *key, PyObject *value);
bool dict_text(PyObject *dict, const char *key, struct str text);
bool dict_number(PyObject *dict, const char *key, uint64_t number);
/* Appends an item to a list; steals the reference. */
bool list_add(PyObject *list, PyObject *item);

/* New references, or NULL and an exception. */
PyObject *text_object(struct str text); /* bytes that are not UTF-8 become U+FFFD */
PyObject *path_object(const struct model *model, uint32_t place);
PyObject *dims_object(const int64_t *dims, int n);

/* Builds dicts and lists from the output of export/ to dicts.json:
 *     dicts_begin(&dicts); export_call(&dicts.json, ...); answer = dicts_end(&dicts);
 * Takes exactly one value, at most DICTS_DEPTH levels deep. */
#define DICTS_DEPTH 96
struct dicts {
    struct json json;
    PyObject *answer;
    PyObject *open[DICTS_DEPTH]; /* borrowed from their containers */
    uint32_t depth;
    bool failed; /* an exception is set */
};
void dicts_begin(struct dicts *dicts);
PyObject *dicts_end(struct dicts *dicts); /* a new reference; NULL: an exception */

/* A source that returns the code of the model's classes from a list of tuples (class,
 * file, line, text), and passes other requests to the model's own source. NULL: an
 * exception is set. */
struct source *answers_code(const struct model *model, PyObject *list);

/* Finds the place of a module by name or number; NO_PLACE: an exception is set. */
uint32_t answers_module(const struct run *run, PyObject *name);

/* Methods of the type. */
PyObject *answers_save(PyObject *self, PyObject *path);
PyObject *answers_json(PyObject *self, PyObject *args);
PyObject *answers_write(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *answers_text(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *answers_rows(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *answers_export(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *answers_picture(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *answers_save_picture(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *answers_op(PyObject *self, PyObject *number);
PyObject *answers_op_value(PyObject *self, PyObject *number);
PyObject *answers_memory(PyObject *self, PyObject *unused);
PyObject *answers_producer(PyObject *self, PyObject *unused);
PyObject *answers_op_values(PyObject *self, PyObject *number);
PyObject *answers_op_kinds(PyObject *self, PyObject *unused);
PyObject *answers_find_ops(PyObject *self, PyObject *args);
PyObject *answers_graph(PyObject *self, PyObject *args);
PyObject *answers_n_ops(PyObject *self, void *unused);
PyObject *answers_lost_ops(PyObject *self, void *unused);

#endif
