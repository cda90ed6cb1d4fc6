#include "ext/types/views.h"

#include <string.h>

#include "base/base.h"
#include "export/export.h"
#include "export/exporters.h"
#include "ext/types/answers_in.h"
#include "ext/types/keywords.h"
#include "web/web.h"

/* The keyword arguments of a view; strings are borrowed from them. */
struct views_wanted {
    struct export_wanted export;
    const char *form; /* format of a file; NULL: detect it from the name */
    int colour, closing;
};

static bool take_wanted(struct views_wanted *wanted, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {
        "sort",   "width", "ascii", "colour", "closing", "title",  "theme",
        "totals", "place", "form",  "source", "paths",   "values", NULL};
    struct printed_wanted *view = &wanted->export.view;
    PyObject *rest;
    const char *theme = NULL;
    int ascii = 0, totals = 0, source = 1, paths = 1, values = 1;
    bool good;

    *wanted = (struct views_wanted){.closing = 1};
    *view = (struct printed_wanted)PRINTED_WANTED_INIT;
    rest = keywords_take(kwargs, SETTINGS_TREE, view);
    good = rest && PyArg_ParseTupleAndKeywords(
                       args, rest, "|$zIpppzzpIzppp", (char **)(uintptr_t)names,
                       &view->sort, &view->width, &ascii, &wanted->colour,
                       &wanted->closing, &wanted->export.title, &theme, &totals,
                       &wanted->export.place, &wanted->form, &source, &paths, &values);
    Py_XDECREF(rest);
    view->totals = totals;
    wanted->export.ascii = ascii;
    wanted->export.theme = theme;
    wanted->export.page_file = web_page_file;
    wanted->export.no_source = !source;
    wanted->export.no_paths = !paths;
    wanted->export.no_values = !values;
    if (good && theme && strcmp(theme, "light") != 0 && strcmp(theme, "dark") != 0) {
        PyErr_Format(PyExc_ValueError, "theme is light or dark, not %s", theme);
        return false;
    }
    return good;
}

/* Converts `text` to a str and releases it; `whole`: the work was not interrupted. */
static PyObject *take_text(struct buf *text, bool whole, int status,
                           const struct err *err)
{
    PyObject *answer = NULL;

    if (!whole)
        ; /* an exception is set */
    else if (status < 0)
        ext_raise(err);
    else if (text->bad)
        PyErr_NoMemory();
    else
        answer = text_object(buf_span(text));
    buf_release(text);
    return answer;
}

PyObject *views_text(struct session *session, PyObject *args, PyObject *kwargs)
{
    struct buf text = BUF_INIT;
    struct long_work long_work;
    struct err err = {0};
    struct views_wanted wanted;
    struct printed printed;
    struct pen pen;
    struct out out;
    int status;

    if (!take_wanted(&wanted, args, kwargs))
        return NULL;
    long_work_begin(&long_work, views_lock(session));
    out_init_buf(&out, &text);
    pen = (struct pen){.out = &out,
                       .width = wanted.export.view.width,
                       .ascii = wanted.export.ascii,
                       .colour = wanted.colour};
    status = printed_begin(&printed, session, &wanted.export.view, &err);
    if (status == 0)
        status = printed_write(&printed, &pen, wanted.closing, &err);
    printed_end(&printed);
    out_release(&out);
    return take_text(&text, long_work_end(&long_work), status, &err);
}

static PyObject *row_dict(struct printed *printed, struct label *label,
                          const struct row *row)
{
    PyObject *dict = PyDict_New();
    struct buf text = BUF_INIT;
    bool good = dict != NULL;

    label_make(label, &printed->show, row, LABEL_NAME);
    label_write(&text, label, 0);
    good = good &&
           dict_put(dict, "name", path_object(printed->show.model, row->place)) &&
           dict_text(dict, "label", buf_span(&text)) &&
           dict_number(dict, "place", row->place) &&
           dict_number(dict, "depth", row->depth) &&
           dict_number(dict, "count", row->count);
    for (size_t c = 0; good && c < printed->n_columns; c++) {
        buf_clear(&text);
        column_figure(&text, printed->columns[c], &printed->show, row);
        good = dict_text(dict, printed->columns[c]->id, str_trim(buf_span(&text)));
    }
    buf_release(&text);
    if (!good)
        Py_CLEAR(dict);
    return dict;
}

PyObject *views_rows(struct session *session, PyObject *args, PyObject *kwargs)
{
    struct label label = {0};
    struct printed printed;
    struct err err = {0};
    struct views_wanted wanted;
    PyObject *list;
    bool good;

    if (!take_wanted(&wanted, args, kwargs))
        return NULL;
    list = PyList_New(0);
    good = list && printed_begin(&printed, session, &wanted.export.view, &err) == 0 &&
           printed_rows(&printed, &err) == 0;
    if (list && !good)
        ext_raise(&err);
    for (uint32_t r = 0; good && r < printed.rows.n; r++) {
        struct row row = rows_at(&printed.rows, r);

        good = list_add(list, row_dict(&printed, &label, &row));
    }
    if (list)
        printed_end(&printed);
    label_release(&label);
    if (!good)
        Py_CLEAR(list);
    return list;
}

/* Splits `args` into its first item and the rest; new references. */
static bool split_first(PyObject *args, PyObject **ret_first, PyObject **ret_rest)
{
    Py_ssize_t n = PyTuple_Size(args);

    if (n < 1) {
        PyErr_SetString(PyExc_TypeError, "the path of the export is missing");
        return false;
    }
    *ret_rest = PyTuple_GetSlice(args, 1, n);
    if (*ret_rest)
        *ret_first = Py_NewRef(PyTuple_GetItem(args, 0));
    return *ret_rest != NULL;
}

static PyObject *no_form(const char *form)
{
    struct buf names = BUF_INIT;

    for (size_t i = 0; i < n_exporters; i++)
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", exporters[i].suffix);
    PyErr_Format(PyExc_ValueError, "unknown format \"%s\"; the formats are %s", form,
                 buf_cstr(&names));
    buf_release(&names);
    return NULL;
}

static PyObject *export_text(struct session *session, const char *form,
                             struct export_wanted *wanted)
{
    const struct exporter *exporter = exporter_find(str_of(form));
    struct buf text = BUF_INIT;
    struct long_work long_work;
    struct err err = {0};
    struct out out;
    int status;

    if (!exporter)
        return no_form(form);
    if (exporter_can(exporter, wanted, &err) < 0)
        return ext_raise(&err);
    long_work_begin(&long_work, views_lock(session));
    wanted->work = &long_work.work;
    out_init_buf(&out, &text);
    status = exporter->write(&out, session, wanted, &err);
    out_release(&out);
    return take_text(&text, long_work_end(&long_work), status, &err);
}

PyObject *views_export(struct session *session, PyObject *args, PyObject *kwargs)
{
    PyObject *first, *rest, *answer = NULL;
    struct views_wanted wanted;
    const char *form;

    if (!split_first(args, &first, &rest))
        return NULL;
    form = PyUnicode_AsUTF8AndSize(first, NULL);
    if (form && take_wanted(&wanted, rest, kwargs))
        answer = export_text(session, form, &wanted.export);
    Py_DECREF(first);
    Py_DECREF(rest);
    return answer;
}

static PyObject *export_to(struct session *session, const char *path, const char *form,
                           struct export_wanted *wanted)
{
    struct err err = {0};
    const struct exporter *exporter =
        form ? exporter_find(str_of(form)) : exporter_of(path, &err);
    struct long_work long_work;
    int status;

    if (!exporter && form)
        return no_form(form);
    if (!exporter || exporter_can(exporter, wanted, &err) < 0)
        return ext_raise(&err);
    long_work_begin(&long_work, views_lock(session));
    wanted->work = &long_work.work;
    status = exporter_write(exporter, path, session, wanted, &err);
    if (!long_work_end(&long_work))
        return NULL;
    if (status < 0)
        return ext_raise(&err);
    Py_RETURN_NONE;
}

PyObject *views_write(struct session *session, PyObject *args, PyObject *kwargs)
{
    PyObject *first, *rest, *path = NULL, *answer = NULL;
    struct views_wanted wanted;

    if (!split_first(args, &first, &rest))
        return NULL;
    if (PyUnicode_FSConverter(first, &path) && take_wanted(&wanted, rest, kwargs))
        answer =
            export_to(session, PyBytes_AsString(path), wanted.form, &wanted.export);
    Py_XDECREF(path);
    Py_DECREF(first);
    Py_DECREF(rest);
    return answer;
}

static bool write_document(struct json *json, const struct session *session,
                           const char *kind)
{
    if (strcmp(kind, "run") == 0 && session->run)
        export_run_json(json, session);
    else if (strcmp(kind, "tree") == 0)
        export_tree_json(json, session, (struct export_choice){0});
    else if (strcmp(kind, "info") == 0)
        export_info_json(json, session);
    else
        return false;
    return true;
}

PyObject *views_json(struct session *session, PyObject *args, PyObject *kwargs)
{
    struct buf text = BUF_INIT;
    struct long_work long_work;
    struct json json;
    struct out out;
    const char *kind;
    bool known, whole;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "s", &kind))
        return NULL;
    long_work_begin(&long_work, views_lock(session));
    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    known = write_document(&json, session, kind);
    out_release(&out);
    whole = long_work_end(&long_work);
    if (known || !whole)
        return take_text(&text, whole, 0, NULL);
    buf_release(&text);
    return PyErr_Format(PyExc_ValueError, "unknown document \"%s\"", kind);
}
