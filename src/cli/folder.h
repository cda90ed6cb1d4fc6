/* folder.h - the model files of a folder as text. */
#ifndef CLI_FOLDER_H
#define CLI_FOLDER_H

#include "cli/cli.h"
#include "facts/printed.h"

/* List them with their verdicts, sorted, filtered and limited as `wanted` says.
 * Returns the exit status. `why` says why the folder is not one model; it is printed
 * if there is nothing to list. */
int folder_list(struct cli *cli, const char *folder,
                const struct printed_wanted *wanted, const struct err *why);

#endif
