/* cli.h - the program on the command line.
 *
 * Files:
 *   program.c   finds the command and runs it; main.c only calls it
 *   commands.c  THE TABLE of commands; command.h describes a command
 *   options.h   parses --options by each command's table, and prints their help
 *   cli.h       shared by all commands: common options, output style, exit status
 *   speak.h     texts that several of them print
 *   progress.h  progress of a long job, on stderr
 *   tree.c info*.c complete.c show.c stats.c diff.c check*.c convert.c export.c ops*.c
 *               one command each
 *   explore.c   explore, and torchoscope FILE: the explorer on a terminal
 *   training.c  run, replay: likewise
 *   live.c      summary, record: like explore, commands that Python runs
 *   python.h    recognises arguments for Python, and starts it
 *
 * A command looks like this:
 *
 *     static int tree_run(int argc, char **argv)
 *     {
 *         struct tree_options options = {.depth = 99};
 *         struct cli cli;
 *
 *         if (cli_begin(&cli, &tree_command, &options, &argc, argv) < 0)
 *             return STATUS_TROUBLE;
 *         ... argv[0] .. argv[argc - 1] are the other arguments ...
 *         ... out_text(&cli.out, ...) is standard output ...
 *         return cli_end(&cli, STATUS_FINE);
 *     } */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>

#include "base/err.h"
#include "base/out.h"
#include "base/work.h"
#include "cli/command.h"
#include "text/pen.h"

/* Exit status of the program. */
enum status {
    STATUS_FINE = 0,
    STATUS_FINDINGS = 1, /* findings, or a difference */
    STATUS_TROUBLE = 2,  /* the command failed, or its arguments are wrong */
};

/* Runs the command that the arguments name and returns its status. Call it only once
 * in a process: it takes over SIGINT. */
int cli_main(int argc, char **argv);

/* Is --help or -h among the words before "--"? */
bool cli_asks_for_help(int argc, char **argv);

struct cli {
    const struct command *command;
    struct out out;    /* standard output, buffered; messages go to stderr */
    bool json, csv;    /* --json, --csv; at most one of them */
    bool ascii;        /* --ascii, or the locale is not UTF-8 */
    bool colour;       /* write colour codes to standard output */
    const char *color; /* the argument of --color, or NULL */
    bool terminal;     /* standard output is a terminal */
    bool isolate;      /* a UTF-8 terminal: isolate right-to-left names */
    unsigned columns;  /* width of the terminal; otherwise COLUMNS, or 0: no limit */
    struct work work;  /* Ctrl-C cancels it; a second Ctrl-C ends the program */
};

/* The first half of cli_begin(): only parses, and leaves signals and standard output
 * alone. Python uses it, because its process continues. */
int cli_read(struct cli *cli, const struct command *command, void *options, int *argc,
             char **argv);

/* Parse the options of `command` into *options (the command's own struct, with its
 * defaults set) and the common ones into *cli; leave the other arguments in argv[0
 * .. argc). On -1 the error was printed; do not call cli_end(). */
int cli_begin(struct cli *cli, const struct command *command, void *options, int *argc,
              char **argv);

/* Flush standard output. Returns `status`, or STATUS_TROUBLE if writing failed
 * (printed, except for a closed pipe). */
int cli_end(struct cli *cli, int status);

/* Restore the default action of Ctrl-C. */
void cli_give_interrupt_back(void);

/* A pen for standard output, in the chosen style. */
struct pen cli_pen(struct cli *cli);

/* Print an error to stderr: "torchoscope: SENTENCE". Names inside are escaped. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Print an err. Returns STATUS_TROUBLE, so that `return cli_end(&cli,
 * cli_fail(&err))` reads well. */
int cli_fail(const struct err *err);

#endif
