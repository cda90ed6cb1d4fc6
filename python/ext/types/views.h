/* views.h - the program's output and exports, for Python; the same for live models,
 * files and recordings. Methods of _core.Model and _core.Run:
 *   text(**wanted)          the tree as text
 *   rows(**wanted)          its rows: a list of dicts with name and columns as str
 *   export(form, **wanted)  a format of export/exporters.h, as a str
 *   write(path, **wanted)   the same, written to a file atomically; the extension
 *                           selects the format
 *   picture(form, **options)  the network as a picture (export/picture/question.h), as
 *                           bytes
 *   save_picture(path, **options)  the same, written to a file; its suffix selects the
 *                           form
 *   json(kind)              a document of docs/json.md as a str: "tree", "info", "run"
 * wanted: columns, depth, top, sort, reverse, filter, flat, all, expand, width, ascii,
 * form (overrides the format that the file name implies), colour, closing, totals (a
 * summary); for pages title and theme; for notebooks place (a tensor, shown alone). */
#ifndef EXT_TYPES_VIEWS_H
#define EXT_TYPES_VIEWS_H

#include "ext/ext.h"
#include "ext/long_work.h"

#include "session/session.h"

/* May other threads run while a session is read? */
static inline enum long_work_lock views_lock(const struct session *session)
{
    const struct source *source = session->model->source;

    return source && !source->any_thread ? LONG_WORK_LOCKED : LONG_WORK_TURNS;
}

/* New references, or NULL and an exception. */
PyObject *views_text(struct session *session, PyObject *args, PyObject *kwargs);
PyObject *views_rows(struct session *session, PyObject *args, PyObject *kwargs);
PyObject *views_write(struct session *session, PyObject *args, PyObject *kwargs);
PyObject *views_json(struct session *session, PyObject *args, PyObject *kwargs);
PyObject *views_export(struct session *session, PyObject *args, PyObject *kwargs);
PyObject *views_picture(struct session *session, PyObject *args, PyObject *kwargs);
PyObject *views_save_picture(struct session *session, PyObject *args, PyObject *kwargs);
/* _core.picture_diff(old, new, form, path, **options): draws the differences of two
 * networks, each a _core.Model or a _core.Run. Returns bytes; if `path` is not None,
 * writes that file, ignores `form` and returns None. */
PyObject *views_picture_diff(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
