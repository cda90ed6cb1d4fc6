/* ext.h - the CPython extension torchoscope._core, in C, limited API (3.11).
 * No PyTorch headers: torch is found at run time, by its features, when first needed.
 * Nothing here ever raises into the user's forward or backward: hooks swallow and count
 * what goes wrong, take themselves off after too much of it, and say so in the run.
 *
 * The tour of the room:
 *   module.c     the module's tables: functions and types that Python sees
 *   torch.h      torch as found: types, dtypes, functions, names, features
 *   tensor.h     what a tensor is and where its bytes lie, in about 130 ns
 *   team.h       torch's threads, which measure large tensors too
 *   walk.h       the tensors in nested arguments, each with its path
 *   live.h       a live nn.Module as a struct model, and who answers about its bytes
 *   hub.h        from torch's hooks to those who listen
 *   recorder.h   hooks, stacks and times; one recorder is one `with record(model)`
 *   seen.h       which value a tensor holds: measured once, however many see it
 *   grads.h      gradients by hooks on autograd's nodes
 *   answers.h    runs as Python objects       model_type.h  models: live, or files
 *   long_work.h  Ctrl-C and other threads, while something is read
 *   views.h      what the program prints and exports, as texts
 *   pairs.h      how two models differ
 *   explore.h    the terminal explorer, in the user's process
 *   interrupts.h Ctrl-C while the user's code runs in it
 *   program.h    the program, run by `python -m torchoscope`
 */
#ifndef EXT_EXT_H
#define EXT_EXT_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* In a table of methods: a function that takes keywords. */
#define KEYWORDS(function)                                                             \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

/* One that takes an array of arguments. */
#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

/* Forget a Python exception that is set, if any; true if there was one. */
int ext_swallow(void);

/* The types of the module, from the module or one of its types. */
struct ext_state {
    PyObject *run_type, *model_type;
};
struct ext_state *ext_state(PyObject *module_or_type);
/* A Run for Python. Takes the run, also when it fails. */
struct run;
PyObject *ext_run(PyObject *module_or_type, struct run *run);

/* Raise torchoscope.Error (or a fitting built-in) from an err. Returns NULL. */
struct err;
PyObject *ext_raise(const struct err *err);

#endif
