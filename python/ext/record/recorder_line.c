/* Finds the line that called a module: the first frame above the hook that is neither
 * torch's nor ours. Python creates frame objects on demand, so this is the most
 * expensive step after measuring. To save time:
 * - Facts about code objects are cached.
 * - The torch frames between the hook and the caller, which are the same for all calls,
 *   are skipped.
 * - If only torch's frames are between a call and its enclosing call, both have the
 *   same line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "ext/record/recorder_in.h"
#include "ext/torch/torch.h"

#define DEEPEST 64    /* frames searched */
#define CODES   65536 /* code objects cached */

struct recorder_line_code {
    PyObject *object; /* held, so that its address is not reused */
    bool skip;        /* torch's or ours */
};

struct code_lines {
    struct arena arena;
    struct map by_address; /* code object -> index in codes */
    struct map by_place;   /* index and place in it -> string id */
    struct recorder_line_code *codes;
    uint32_t n, room;
    uint32_t last;       /* the code that was found last: usually it is the next one */
    uint64_t last_place; /* in by_place; 0: none */
    uint32_t last_line;
    struct torch_getter back, lasti; /* of frames */
    PyObject *folder;    /* our package's directory, with a trailing "/"; or NULL */
    PyObject *getframe;  /* sys._getframe; NULL: torch's frames are not skipped */
    PyObject *depth;     /* HOOK_DEPTH as an int */
    PyObject *outermost; /* torch's code object at that depth, see find_depth() */
};

#define HOOK_DEPTH 3

static PyObject *our_folder(void)
{
    PyObject *module = torch_imported("torchoscope");
    PyObject *file = module ? PyObject_GetAttrString(module, "__file__") : NULL;
    const char *text = file ? PyUnicode_AsUTF8AndSize(file, NULL) : NULL;
    const char *slash = text ? strrchr(text, '/') : NULL;
    PyObject *folder =
        slash ? PyUnicode_FromStringAndSize(text, slash + 1 - text) : NULL;

    ext_swallow();
    Py_XDECREF(file);
    Py_XDECREF(module);
    return folder;
}

static bool find_getters(struct code_lines *lines)
{
    PyObject *types = PyImport_ImportModule("types");
    PyObject *type = types ? PyObject_GetAttrString(types, "FrameType") : NULL;

    ext_swallow();
    if (type) {
        torch_getter_find(&lines->back, (PyTypeObject *)type, "f_back");
        torch_getter_find(&lines->lasti, (PyTypeObject *)type, "f_lasti");
    }
    Py_XDECREF(type);
    Py_XDECREF(types);
    return lines->back.get && lines->lasti.get;
}

/* In torch 2 Module._wrapped_call_impl calls _call_impl, which calls an inner
 * function, which calls the hook. */
static void find_depth(struct code_lines *lines)
{
    PyObject *call =
        PyObject_GetAttrString(torch_find()->module_type, "_wrapped_call_impl");

    lines->outermost = call ? PyObject_GetAttrString(call, "__code__") : NULL;
    lines->depth = PyLong_FromLong(HOOK_DEPTH);
    ext_swallow();
    if (lines->outermost && lines->depth)
        lines->getframe = Py_XNewRef(PySys_GetObject("_getframe"));
    Py_XDECREF(call);
}

struct code_lines *code_lines_new(void)
{
    struct code_lines *lines = calloc(1, sizeof *lines);

    if (!lines)
        return NULL;
    arena_init(&lines->arena, 64u << 20);
    map_init(&lines->by_address, &lines->arena);
    map_init(&lines->by_place, &lines->arena);
    if (!find_getters(lines)) {
        code_lines_free(lines);
        return NULL;
    }
    lines->folder = our_folder();
    if (torch_find())
        find_depth(lines);
    return lines;
}

void code_lines_free(struct code_lines *lines)
{
    if (!lines)
        return;
    for (uint32_t i = 0; i < lines->n; i++)
        Py_DECREF(lines->codes[i].object);
    Py_XDECREF(lines->folder);
    Py_XDECREF(lines->getframe);
    Py_XDECREF(lines->depth);
    Py_XDECREF(lines->outermost);
    Py_XDECREF(lines->back.descriptor);
    Py_XDECREF(lines->lasti.descriptor);
    arena_release(&lines->arena);
    free(lines);
}

static bool stands_in(const char *file, PyObject *folder)
{
    Py_ssize_t len = 0;
    const char *text = folder ? PyUnicode_AsUTF8AndSize(folder, &len) : NULL;

    return text && strncmp(file, text, (size_t)len) == 0;
}

/* The file of a code object; valid while that lives. NULL if it has none. */
static const char *file_of(PyObject *code)
{
    PyObject *file = PyObject_GetAttr(code, torch_find()->names[NAME_co_filename]);
    const char *text = file ? PyUnicode_AsUTF8AndSize(file, NULL) : NULL;

    ext_swallow();
    Py_XDECREF(file); /* the code holds it */
    return text;
}

/* The index of a code object, or UINT32_MAX. */
static uint32_t code_index(struct code_lines *lines, PyObject *code)
{
    uint32_t index;
    const char *file;

    if (lines->last < lines->n && lines->codes[lines->last].object == code)
        return lines->last;
    if (map_find(&lines->by_address, (uintptr_t)code, &index))
        return lines->last = index;
    file = file_of(code);
    if (!file || lines->n == CODES ||
        arena_room(&lines->arena, &lines->codes, lines->n, &lines->room,
                   sizeof *lines->codes) < 0 ||
        map_put(&lines->by_address, (uintptr_t)code, lines->n) < 0)
        return UINT32_MAX;
    lines->codes[lines->n] = (struct recorder_line_code){
        .object = Py_NewRef(code),
        .skip = stands_in(file, torch_find()->folder) ||
                stands_in(file, lines->folder) || strncmp(file, "<frozen", 7) == 0};
    return lines->last = lines->n++;
}

/* Where a frame is in its code. */
static uint32_t place_in(const struct code_lines *lines, PyFrameObject *frame)
{
    PyObject *answer = torch_get(&lines->lasti, (PyObject *)frame);
    long at = answer ? PyLong_AsLong(answer) : 0;

    ext_swallow();
    Py_XDECREF(answer);
    return (uint32_t)at;
}

static uint32_t line_of(struct code_lines *lines, struct trace *trace,
                        PyFrameObject *frame, uint32_t index)
{
    uint64_t key = ((uint64_t)index + 1) << 32 | place_in(lines, frame);
    const char *file, *slash;
    char text[256];
    uint32_t line;
    int len;

    if (key == lines->last_place)
        return lines->last_line;
    if (map_find(&lines->by_place, key, &line))
        goto found;
    file = file_of(lines->codes[index].object);
    if (!file)
        return 0;
    slash = strrchr(file, '/');
    len = snprintf(text, sizeof text, "%s:%d", slash ? slash + 1 : file,
                   PyFrame_GetLineNumber(frame));
    line = trace_string(trace, text,
                        len < (int)sizeof text ? (size_t)len : sizeof text - 1);
    map_put(&lines->by_place, key, line);
found:
    lines->last_place = key;
    return lines->last_line = line;
}

static PyObject *frame_back(const struct code_lines *lines, PyObject *frame)
{
    return torch_get(&lines->back, frame);
}

/* torch's frame HOOK_DEPTH above the hook, as a new reference; NULL if another frame
 * is there. Creates no objects for the frames between. */
static PyObject *outermost_frame(const struct code_lines *lines)
{
    PyObject *frame = NULL, *code = NULL;

    if (lines->getframe)
        frame = PyObject_CallFunctionObjArgs(lines->getframe, lines->depth, NULL);
    if (frame)
        code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    ext_swallow();
    if (frame && code != lines->outermost)
        Py_CLEAR(frame);
    Py_XDECREF(code);
    return frame;
}

/* The line of the first frame from this one on that is neither torch's nor ours. Takes
 * the frame. */
static uint32_t line_from(struct code_lines *lines, struct trace *trace,
                          const struct recorder_frame *outer, PyObject *frame)
{
    uint32_t line = 0;

    for (int i = 0; i < DEEPEST && frame && frame != Py_None; i++) {
        PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
        uint32_t index = code_index(lines, code);
        PyObject *back;

        Py_XDECREF(code);
        if (index != UINT32_MAX && !lines->codes[index].skip) {
            line = line_of(lines, trace, (PyFrameObject *)frame, index);
            break;
        }
        if (outer && outer->caller == frame) {
            line = outer->line;
            break;
        }
        back = frame_back(lines, frame);
        Py_DECREF(frame);
        frame = back;
    }
    ext_swallow();
    Py_XDECREF(frame);
    return line;
}

uint32_t code_lines_find(struct code_lines *lines, struct trace *trace,
                         const struct recorder_frame *outer, const void **ret_caller)
{
    PyObject *caller = outermost_frame(lines);
    PyObject *frame =
        caller ? frame_back(lines, caller) : Py_XNewRef((PyObject *)PyEval_GetFrame());
    uint32_t line = line_from(lines, trace, outer, frame);

    *ret_caller = caller;
    Py_XDECREF(caller); /* the interpreter holds it while it runs */
    return line;
}

uint32_t code_lines_here(struct code_lines *lines, struct trace *trace,
                         const struct recorder_frame *outer)
{
    return line_from(lines, trace, outer, Py_XNewRef((PyObject *)PyEval_GetFrame()));
}
