/* tree.h - functions of `tree` that other commands use. */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include "cli/cli.h"
#include "facts/printed.h"

/* Print the right command, after the user gave two files. */
void tree_two_files(const char *command, char **argv);
/* Print the file at `path` as a tree. Returns the exit status. */
int tree_file(struct cli *cli, const char *path, const struct printed_wanted *wanted);
/* List the available columns. */
int tree_columns(struct cli *cli);

#endif
