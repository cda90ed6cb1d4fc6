/* program.h - the program inside Python: what `python -m torchoscope` runs. */
#ifndef EXT_TYPES_PROGRAM_H
#define EXT_TYPES_PROGRAM_H

#include "ext/ext.h"

/* main(*words): run the program with these words, its own name first, and return its
 * exit status. For a process that does nothing else: signals are from then on the
 * program's. */
PyObject *program_main(PyObject *module, PyObject *words);

/* live(*words): None if main() is to run these words; else what they ask for of a live
 * model: (command, words, options, page). `options` has those that were given; `page`
 * has view, the keywords for explore(), and how to write to standard output: json, csv,
 * ascii, colour, width. A mistake prints an error and raises SystemExit(2). */
PyObject *program_live(PyObject *module, PyObject *words);

#endif
