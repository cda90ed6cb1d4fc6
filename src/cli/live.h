/* live.h - what the commands that run a live model have in common. */
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

#define LIVE_INPUTS_SUMMARY                                                            \
    "1x3x224x224, 8x128:int64 or FILE.py::FUNCTION; may be repeated"
#define LIVE_TRAIN_SUMMARY "in train mode, and backward from the loss or the sum"
#define LIVE_COLD_SUMMARY  "run it once: no warm-up pass before the one that is shown"
#define LIVE_MODE_SUMMARY  "how closely to measure"

/* "model.py" alone does not say what makes the model. True: it was told. */
bool live_is_code(const char *word);

#endif
