/* Finds the command and runs it. `torchoscope FILE` explores the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/out.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "text/nearest.h"

static void write_help(struct out *out)
{
    out_text(out,
             "torchoscope looks inside neural networks: model files, live models and "
             "recordings.\nIt never runs code from a file.\n\n"
             "usage: torchoscope FILE            explore it; without a terminal, "
             "print its tree\n"
             "       torchoscope COMMAND ...\n\n"
             "commands:\n");
    for (size_t i = 0; i < n_commands; i++)
        if (!commands[i]->hidden)
            out_printf(out, "  %-7s %s\n", commands[i]->name, commands[i]->summary);
    out_text(
        out,
        "\n"
        "  torchoscope COMMAND --help shows its options; see also man torchoscope\n"
        "  torchoscope --version\n\n"
        "exit status: 0 ok, 1 findings or differences, 2 error\n");
}

static void write_command_help(struct out *out, const struct command *command)
{
    struct command_options all;

    command_options(&all, command, NULL, NULL);
    out_printf(out, "usage: torchoscope %s %s\n\n%s\n\n", command->name, command->usage,
               command->summary);
    for (size_t i = 0; i < COMMAND_SETS; i++)
        options_help(&all.sets[i], out);
    if (command->details)
        out_printf(out, "\n%s", command->details);
}

/* Prints help for `command`, or for all commands if it is NULL. */
static int help(const struct command *command)
{
    struct out out;

    out_init_fd(&out, STDOUT_FILENO);
    if (command)
        write_command_help(&out, command);
    else
        write_help(&out);
    return out_release(&out) == 0 ? STATUS_FINE : STATUS_TROUBLE;
}

bool cli_asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int run(const struct command *command, int argc, char **argv)
{
    if (!command->hidden &&
        cli_asks_for_help(command_own_words(command, argc, argv), argv))
        return help(command);
    return command->run(argc, argv);
}

/* A word that is not a command must be a file; if it is neither, it may be a typo. */
static bool is_file(const char *word)
{
    struct stat facts;

    return strchr(word, '/') || stat(word, &facts) == 0;
}

static int unknown(const char *word)
{
    const char *names[32];
    const char *nearest;
    size_t n = 0;

    for (size_t i = 0; i < n_commands && n < COUNT_OF(names); i++)
        if (!commands[i]->hidden)
            names[n++] = commands[i]->name;
    nearest = text_nearest(word, names, n, sizeof(names[0]));
    if (nearest)
        cli_say("unknown file or command \"%s\"; did you mean %s?", word, nearest);
    else
        cli_say("unknown file or command \"%s\"; torchoscope --help lists commands",
                word);
    return STATUS_TROUBLE;
}

/* Without arguments on a terminal, the current folder is listed. */
static bool may_list(void)
{
    const char *term = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
           strcmp(term, "dumb") != 0;
}

int cli_main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    const struct command *command = command_find(word);
    char here[] = ".", *list[] = {here, NULL};

    if (argc < 2 && may_list())
        return run(&open_command, 1, list);

    if (command)
        return run(command, argc - 2, argv + 2);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help(NULL);
    if (strcmp(word, "help") == 0 && (argc < 3 || command_find(argv[2])))
        return help(argc < 3 ? NULL : command_find(argv[2]));
    if (strcmp(word, "--version") == 0) {
        puts("torchoscope " TORCHOSCOPE_VERSION);
        return STATUS_FINE;
    }
    if (word[0] == '-' || is_file(word))
        return run(&open_command, argc - 1, argv + 1);
    return unknown(word);
}
