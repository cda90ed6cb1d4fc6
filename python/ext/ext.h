/* ext.h - the CPython extension torchoscope._core, in C, limited API (3.11).
 * No PyTorch headers: torch is found at run time, by its features, when first needed.
 * Hooks never raise into the user's forward or backward: they swallow and count their
 * own errors, and disarm themselves after too many, which the run reports.
 *
 * Files of this folder:
 *   module.c      the module: its types, functions and exceptions
 *   long_work.h   Ctrl-C and other threads during long work
 *   interrupts.h  Ctrl-C while the user's code runs inside the explorer
 *   scalars.h     numbers of a training step
 *   torch/        torch at run time, tensors, nested arguments: torch/torch.h
 *   live/         a live nn.Module as a struct model: live/live.h
 *   record/       hooks, gradients and values: records a run: record/record.h
 *   types/        models, runs and the explorer as Python objects: types/types.h */
#ifndef EXT_EXT_H
#define EXT_EXT_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

/* For method tables: a function that takes keywords. */
#define KEYWORDS(function)                                                             \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

/* For method tables: a function that takes an array of arguments. */
#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

/* Clears the current Python exception, if any; true if there was one. A
 * KeyboardInterrupt is raised again, a little later. */
int ext_swallow(void);

/* The types of the module, from the module or one of its types. */
struct ext_state {
    PyObject *run_type, *model_type, *writer_type;
};
struct ext_state *ext_state(PyObject *module_or_type);
/* A new _core.Run. Takes ownership of `run`, also on failure. */
struct run;
PyObject *ext_run(PyObject *module_or_type, struct run *run);
/* What a _core.Run holds, borrowed from it; NULL: an exception is set. */
const struct run *ext_run_of(PyObject *module_or_type, PyObject *object);

/* The writer of a _core.HistoryWriter; NULL: an exception is set. */
struct history_writer;
struct history_writer *ext_writer(PyObject *module_or_type, PyObject *object);
/* Keeps its current step for Python if requested. False: an exception is set. */
bool ext_writer_keep_step(PyObject *writer);

/* Raises torchoscope.Error, or a suitable built-in exception, from an err. Returns
 * NULL. */
struct err;
PyObject *ext_raise(const struct err *err);

#endif
