/* tree.h - what other commands take from `tree`. */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include "cli/cli.h"
#include "facts/printed.h"

/* Say what to type instead, where two files were given. */
void tree_two_files(const char *command, char **argv);
/* What is in the file at `path`, as a tree on standard output. Returns the status. */
int tree_file(struct cli *cli, const char *path, const struct printed_wanted *wanted);
/* The columns that there are. */
int tree_columns(struct cli *cli);

#endif
