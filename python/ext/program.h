/* program.h - the program inside Python: what `python -m torchoscope` runs. */
#ifndef EXT_PROGRAM_H
#define EXT_PROGRAM_H

#include "ext/ext.h"

/* main(*words): run the program with these words, its own name first, and return its
 * exit status. For a process that does nothing else: signals are from then on the
 * program's. */
PyObject *program_main(PyObject *module, PyObject *words);

#endif
