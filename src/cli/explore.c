/* torchoscope FILE and torchoscope explore: the explorer on a terminal, else the tree as
 * text; with --print one screen of the explorer as text. Python handles live models
 * (cli/python.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/live.h"
#include "cli/progress.h"
#include "cli/tree.h"
#include "tui/keymap.h"
#include "tui/tui.h"

struct explore_options {
    struct settings settings; /* first: view settings fill it */
    struct option_list inputs;
    const char *mode, *print, *diff;
    bool train, cold, structure;
};

#define AT(member) offsetof(struct explore_options, member)

/* The first LIVE_ONLY are only for live models. */
static const struct option options_table[] = {
    {"inputs", 'i', OPTION_LIST, "WHAT", AT(inputs), LIVE_INPUTS_SUMMARY},
    {"train", 0, OPTION_FLAG, NULL, AT(train), LIVE_TRAIN_SUMMARY},
    {"no-warmup", 0, OPTION_FLAG, NULL, AT(cold), LIVE_COLD_SUMMARY},
    {"mode", 0, OPTION_TEXT, "full|exact|sampled|guard", AT(mode), LIVE_MODE_SUMMARY},
    {"diff", 0, OPTION_TEXT, "FILE", AT(diff), "compare with this file"},
    {"structure", 0, OPTION_FLAG, NULL, AT(structure),
     "with --diff: compare names, shapes and dtypes, not values"},
    {"print", 0, OPTION_MAYBE, "COLSxROWS", AT(print),
     "print one screen of the explorer and exit"},
};
#define LIVE_ONLY    4 /* inputs, train, no-warmup, mode */
#define ALL_SETTINGS (SETTINGS_VIEW | SETTINGS_LOOK | SETTINGS_TREE)

/* --- Explorer or text? */

/* Does it have options of printed trees only? */
static bool asks_for_text(const struct cli *cli, const struct explore_options *options)
{
    const struct printed_wanted *tree = &options->settings.tree;

    return cli->json || cli->csv || tree->columns || tree->top != ALL_ROWS || tree->all;
}

static bool has_terminal(const struct cli *cli)
{
    const char *term = getenv("TERM");

    return cli->terminal && isatty(STDIN_FILENO) && term && *term &&
           strcmp(term, "dumb") != 0;
}

/* --- The explorer */

/* "120x36"; "" is the terminal's size, or 80x24. */
static int read_size(const char *text, const struct cli *cli, unsigned *ret_columns,
                     unsigned *ret_rows, struct err *err)
{
    struct str rest = str_of(text), wide;
    uint64_t number[2];

    *ret_columns = cli->columns ? cli->columns : 80;
    *ret_rows = 24;
    if (!*text)
        return 0;
    if (!str_split(&rest, 'x', &wide) || !str_to_u64(wide, &number[0]) ||
        !str_to_u64(rest, &number[1]) || number[0] == 0 || number[1] == 0 ||
        number[0] > 2000 || number[1] > 2000)
        return err_set(err, ERR_USAGE, "--print is a size like 120x36, not \"%s\"",
                       text);
    *ret_columns = (unsigned)number[0];
    *ret_rows = (unsigned)number[1];
    return 0;
}

/* The explorer's settings, with the common options merged in. */
static struct tui_wanted wanted_of(const struct cli *cli,
                                   const struct explore_options *options,
                                   const char *path)
{
    struct tui_wanted wanted = {.path = path, .settings = options->settings};

    wanted.settings.ascii = cli->ascii;
    if (cli->color && strcmp(cli->color, "auto") != 0)
        wanted.settings.colour = cli->color;
    return wanted;
}

static int print_screen(struct cli *cli, const struct tui_wanted *wanted,
                        const char *size)
{
    struct err err = {0};
    unsigned width, height;

    if (read_size(size, cli, &width, &height, &err) < 0 ||
        tui_print(wanted, width, height, &cli->out, &err) < 0)
        return cli_fail(&err);
    return STATUS_FINE;
}

/* Compare two files. */
static struct pair *compare(struct cli *cli, const struct explore_options *options,
                            const char *path, struct err *err)
{
    struct diff_wanted wanted = {.values = !options->structure,
                                 .no_results = options->structure};
    struct progress progress;
    struct pair *pair;

    progress_begin(&progress, &cli->work, "diff", false, cli->ascii);
    pair = pair_open(path, options->diff, &wanted, &cli->work, err);
    progress_end(&progress);
    return pair;
}

static int explore_pair(struct cli *cli, struct explore_options *options,
                        const char *path)
{
    struct err err = {0};
    struct pair *pair = compare(cli, options, path, &err);
    struct tui_wanted wanted = wanted_of(cli, options, path);
    int status = STATUS_FINE;

    if (!pair)
        return cli_fail(&err);
    err.code = ERR_NONE; /* an interrupted comparison is shown as such */
    wanted.pair = pair;
    if (options->print)
        status = print_screen(cli, &wanted, options->print);
    else if (!has_terminal(cli) || asks_for_text(cli, options))
        err_set(&err, ERR_USAGE,
                "--diff is for the explorer; torchoscope diff %s %s "
                "prints what differs",
                path, options->diff);
    else
        tui_run(&wanted, &err);
    pair_close(pair);
    return err.code && status == STATUS_FINE ? cli_fail(&err) : status;
}

static int explore_file(struct cli *cli, struct explore_options *options,
                        const char *path)
{
    struct tui_wanted wanted = wanted_of(cli, options, path);
    struct err err = {0};

    if (options->print)
        return print_screen(cli, &wanted, options->print);
    if (!asks_for_text(cli, options) && has_terminal(cli)) {
        cli_give_interrupt_back();
        if (tui_run(&wanted, &err) == 0)
            return STATUS_FINE;
        if (err.code != ERR_UNSUPPORTED)
            return cli_fail(&err);
    }
    options->settings.tree.width = cli->columns;
    return tree_file(cli, path, &options->settings.tree);
}

/* --- The commands */

static int run(const struct command *command, int argc, char **argv)
{
    struct explore_options options = {.settings = SETTINGS_INIT};
    const char *columns;
    struct cli cli;
    int status = STATUS_TROUBLE;

    if (cli_begin(&cli, command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    columns = options.settings.tree.columns;
    if (columns && strcmp(columns, "help") == 0)
        return cli_end(&cli, tree_columns(&cli));
    if (argc == 2 && !live_is_code(argv[0]))
        tree_two_files(command->name, argv);
    else if (argc != 1)
        cli_say("%s: expected one file; see torchoscope %s --help", command->name,
                command->name);
    else if (live_is_code(argv[0]))
        status = STATUS_TROUBLE;
    else if (options.inputs.n || options.train || options.cold || options.mode)
        cli_say("%s: a model file is not run; use FILE.py::FUNCTION", argv[0]);
    else
        status = options.diff ? explore_pair(&cli, &options, argv[0])
                              : explore_file(&cli, &options, argv[0]);
    return cli_end(&cli, status);
}

static int explore_run(int argc, char **argv)
{
    return run(&explore_command, argc, argv);
}

static int open_run(int argc, char **argv)
{
    return run(&open_command, argc, argv);
}

const struct command explore_command = {
    .name = "explore",
    .summary = "explore a file, a recording or a live model",
    .usage = "TARGET|FILE [OPTION]...",
    .details = ABOUT_LIVE_TARGET "Without a terminal it prints the tree.\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .settings = ALL_SETTINGS,
    .run = explore_run,
    .live = true,
};

/* `torchoscope FILE`. Errors call it `tree`. */
const struct command open_command = {
    .name = "tree",
    .summary = "explore a file; without a terminal, print its tree",
    .usage = "FILE [OPTION]...",
    .options = options_table + LIVE_ONLY,
    .n_options = COUNT_OF(options_table) - LIVE_ONLY,
    .settings = ALL_SETTINGS,
    .run = open_run,
};

/* __keys: the section of the manual page made from the table of keys. */
static int keys_run(int argc, char **argv)
{
    struct out out;

    (void)argc;
    (void)argv;
    out_init_fd(&out, STDOUT_FILENO);
    keymap_manual(&out);
    return out_release(&out) == 0 ? STATUS_FINE : STATUS_TROUBLE;
}

const struct command keys_command = {
    .name = "__keys",
    .summary = "the keys, for the manual page",
    .run = keys_run,
    .hidden = true,
};
