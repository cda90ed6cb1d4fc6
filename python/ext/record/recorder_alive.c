/* Finds the calls that are still running, from Python's own stack. torch notifies
 * hooks of exceptions but not of interrupts (BaseException), so a call may end
 * without a hook. Used only if a call contradicts its stack. */
#include <stdlib.h>
#include <string.h>

#include "ext/record/recorder_in.h"
#include "ext/torch/torch.h"

/* The modules with calls on Python's stack, innermost first. */
struct under_way {
    const void **modules; /* only compared */
    uint32_t n, room;
};

/* The variable in which a function that calls forward holds its module; NULL for
 * other functions. */
static const char *variable_of(PyObject *code)
{
    PyObject *name = PyObject_GetAttrString(code, "co_name");
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const char *variable = NULL;

    if (text && strcmp(text, "_call_impl") == 0)
        variable = "self"; /* torch's function */
    else if (text && strcmp(text, "compiled_call") == 0)
        variable = "module"; /* our function in torchoscope/hooks.py */
    ext_swallow();
    Py_XDECREF(name);
    return variable;
}

static void look_at_frame(struct under_way *found, PyObject *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    const char *variable = variable_of(code);
    PyObject *locals = NULL, *module = NULL;

    if (variable)
        locals = PyObject_GetAttrString(frame, "f_locals");
    if (locals)
        module = PyMapping_GetItemString(locals, variable);
    ext_swallow();
    if (module &&
        buf_grow_array(&found->modules, found->n, &found->room, sizeof *found->modules))
        found->modules[found->n++] = module;
    Py_XDECREF(module);
    Py_XDECREF(locals);
    Py_DECREF(code);
}

static void look_at_stack(struct under_way *found)
{
    PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame()), *back;

    while (frame && frame != Py_None) {
        look_at_frame(found, frame);
        back = PyObject_GetAttr(frame, torch_find()->names[NAME_f_back]);
        Py_DECREF(frame);
        frame = back;
    }
    ext_swallow();
    Py_XDECREF(frame);
}

uint32_t stack_alive(const struct stack *stack, const void *module)
{
    struct under_way found = {0};
    uint32_t alive = 0;

    look_at_stack(&found);
    /* The innermost is the call that is about to begin. If it is missing, it was
     * called in an unknown way: assume that all calls are alive. */
    if (found.n == 0 || found.modules[0] != module)
        alive = stack->n;
    for (uint32_t i = found.n; i > 1 && alive < stack->n; i--)
        if (found.modules[i - 1] == stack->frames[alive].module)
            alive++;
    free(found.modules);
    return alive;
}
