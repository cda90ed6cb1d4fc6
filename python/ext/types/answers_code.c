/* answers_code.c - the source code of a run's classes. Recording does not read it: that
 * would be slow. Python looks it up when the run is shown or saved. The run is
 * immutable, so the code is kept in a separate source, which passes all other requests
 * to the source of the run's model. */
#include <stdlib.h>

#include "ext/types/answers_in.h"

struct code_source {
    struct source source;
    struct source *next; /* of the run's model; may be NULL */
    struct arena arena;
    uint32_t n_classes;
    struct class_code *codes; /* by class; an empty text: not found */
};

static struct source *next_of(struct source *source)
{
    return ((struct code_source *)source)->next;
}

static int code_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                      size_t n, struct err *err)
{
    return source_bytes(next_of(source), storage, at, to, n, err);
}

static int code_changed(struct source *source)
{
    return source_changed(next_of(source));
}

static int code_attributes(struct source *source, const struct attribute_of *what,
                           struct arena *arena, struct attribute **ret_attributes,
                           uint32_t *ret_n, struct err *err)
{
    return source_attributes(next_of(source), what, arena, ret_attributes, ret_n, err);
}

static void code_forget(struct source *source)
{
    source_forget(next_of(source));
}

static int code_code(struct source *source, uint32_t class_id, struct arena *arena,
                     struct class_code *ret_code, struct err *err)
{
    const struct code_source *self = (const struct code_source *)source;

    if (class_id >= self->n_classes || self->codes[class_id].text.len == 0)
        return source_code(self->next, class_id, arena, ret_code, err);
    *ret_code = self->codes[class_id];
    return 0;
}

static void code_close(struct source *source)
{
    struct code_source *self = (struct code_source *)source;

    arena_release(&self->arena);
    free(self);
}

/* For a model without and with a source of its own. */
static const struct source_ops code_only = {.code = code_code, .close = code_close};
static const struct source_ops code_and_next = {.bytes = code_bytes,
                                                .changed = code_changed,
                                                .attributes = code_attributes,
                                                .forget = code_forget,
                                                .code = code_code,
                                                .close = code_close};

static struct code_source *code_new(const struct model *model)
{
    struct code_source *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->next = model->source;
    self->source.ops = self->next ? &code_and_next : &code_only;
    self->source.any_thread = !self->next || self->next->any_thread;
    arena_init(&self->arena, 0);
    self->n_classes = model->n_classes;
    self->codes =
        arena_array(&self->arena, (size_t)model->n_classes + 1, sizeof *self->codes);
    if (self->codes)
        return self;
    code_close(&self->source);
    return NULL;
}

/* Stores one (class, file, line, text). False: an exception is set. */
static bool keep_one(struct code_source *self, const struct model *model,
                     PyObject *found)
{
    const char *name, *file, *text;
    Py_ssize_t file_len, text_len;
    struct class_code code = {0};
    unsigned int line;

    if (!PyArg_ParseTuple(found, "ss#Is#", &name, &file, &file_len, &line, &text,
                          &text_len))
        return false;
    code.file = arena_str(&self->arena, str_span(file, (size_t)file_len));
    code.text = arena_str(&self->arena, str_span(text, (size_t)text_len));
    code.line = line;
    if (!code.file.at || !code.text.at)
        return PyErr_NoMemory();
    for (uint32_t i = 0; i < model->n_classes; i++)
        if (str_is(model_string(model, model->classes[i].name), name))
            self->codes[i] = code;
    return true;
}

struct source *answers_code(const struct model *model, PyObject *list)
{
    struct code_source *self = code_new(model);
    Py_ssize_t n = PyList_Size(list);

    if (!self)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; self && i < n; i++)
        if (!keep_one(self, model, PyList_GetItem(list, i))) {
            code_close(&self->source);
            return NULL;
        }
    return self ? &self->source : NULL;
}
