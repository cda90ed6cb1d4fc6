/* python.h - live models: words like model.py::make stand for a model that Python
 * makes. The program hands them over to the user's own Python, with our package
 * (python/torchoscope/shell.py); python -m torchoscope takes them itself. */
#ifndef CLI_PYTHON_H
#define CLI_PYTHON_H

#include "cli/command.h"

/* The command, if these words of the program (its name first) are for Python: a live
 * command and a model among its words, and no question for help. A model alone is
 * explored. NULL: cli_main() does it. *ret_first is where the command's words begin. */
const struct command *python_command(int argc, char **argv, int *ret_first);

/* Become Python and do it there. Returns only if that fails, which was told:
 * STATUS_TROUBLE. */
int python_start(int argc, char **argv);

#endif
