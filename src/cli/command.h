/* command.h - one command of the program. To add one: write cli/NAME.c, which ends
 * in such a struct, declare it below, list it in commands.c, and add the file to
 * meson.build. Help and shell completion are made from it. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "explorer/settings.h"

struct command {
    const char *name;
    const char *summary;          /* one line, for the list of commands */
    const char *usage;            /* arguments: "FILE [NAME]" */
    const char *details;          /* printed by --help below the options; may be NULL */
    const struct option *options; /* its own; common options are added */
    size_t n_options;
    unsigned settings; /* groups of view settings (explorer/settings.h) that it takes;
                          its struct of options then begins with a struct settings or
                          a struct printed_wanted */
    int (*run)(int argc, char **argv); /* argv[0] is the argument after the command's
                                        * name */
    bool hidden;                       /* for shells, not listed by --help */
    bool live;   /* also accepts live models: model.py::make (cli/python.h) */
    bool script; /* always for Python: its options end at the first other word, which is
                    a script, or at -m; the rest is for the script */
};

extern const struct command tree_command, show_command, stats_command, info_command,
    diff_command, check_command, export_command, explore_command, summary_command,
    record_command, ops_command, memory_command, graph_command, run_command,
    replay_command, serve_command, convert_command, complete_command, keys_command;
/* The command of `torchoscope FILE`, which has no name. */
extern const struct command open_command;

extern const struct command *const commands[];
extern const size_t n_commands;

/* The command with this name, or NULL. */
const struct command *command_find(const char *name);

/* The number of words after the command's name that belong to the command; all, unless
 * it runs a script. */
int command_own_words(const struct command *command, int argc, char **argv);

/* All options of a command: its own and view settings, which fill `options`, then
 * the common ones, which fill `common`. */
#define COMMAND_SETS 3
struct command_options {
    struct option_set sets[COMMAND_SETS];
    struct option settings[SETTINGS_MOST];
};
void command_options(struct command_options *ret, const struct command *command,
                     void *options, void *common);

#endif
