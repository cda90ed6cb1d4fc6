/* live.h - shared by the commands that run a live model. */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include <stdbool.h>

#define ABOUT_LIVE_TARGET                                                              \
    "TARGET is FILE.py::FUNCTION or PACKAGE.MODULE::FUNCTION: a function or class "    \
    "that "                                                                            \
    "is\n"                                                                             \
    "called without arguments or with plain ones, 'model.py::make(3, deep=True)', "    \
    "or\n"                                                                             \
    "a model. It runs in $TORCHOSCOPE_PYTHON, $VIRTUAL_ENV/bin/python or python3.\n"

#define LIVE_INPUTS_SUMMARY "1x3x224x224, 8x128:int64 or FILE.py::FUNCTION; repeatable"
#define LIVE_TRAIN_SUMMARY  "run in train mode, with backward from the loss or the sum"
#define LIVE_COLD_SUMMARY   "skip the warm-up pass"
#define LIVE_MODE_SUMMARY   "how thoroughly to measure"

/* Is it a .py file without ::FUNCTION? If so, prints an error. */
bool live_is_code(const char *word);

#endif
