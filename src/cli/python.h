/* python.h - live models: an argument like model.py::make names a model that Python
 * creates. The program starts the user's Python with our package
 * (python/torchoscope/shell.py); python -m torchoscope handles such arguments
 * itself. */
#ifndef CLI_PYTHON_H
#define CLI_PYTHON_H

#include "cli/command.h"

/* Returns the command if these arguments (program name first) are for Python: a live
 * command with a model among its arguments, or one that runs a script; without --help.
 * A model alone is explored. NULL: for cli_main(). *ret_first is the index of the
 * command's first argument. */
const struct command *python_command(int argc, char **argv, int *ret_first);

/* Replace this process by Python, which runs the command. Returns STATUS_TROUBLE
 * only if that fails; the error was printed. */
int python_start(int argc, char **argv);

#endif
