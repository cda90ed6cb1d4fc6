/* cli.h - the program on the command line.
 *
 * The tour of the room:
 *   program.c   finds the command and runs it; main.c only calls it
 *   commands.c  THE TABLE of commands; command.h says what one is
 *   options.h   reads --options by a table of each command's own, and prints their help
 *   cli.h       what all commands share: to whom they speak, how wide, in what colours
 *   speak.h     sentences that several of them say
 *   progress.h  how far a long job is, on stderr
 *   tree.c info*.c complete.c show.c stats.c diff.c check*.c export.c   one command
 *               each
 *   explore.c   explore, and torchoscope FILE: the explorer on a terminal
 *   live.c      summary, record: like explore, commands that Python runs
 *   python.h    which words are for Python, and how it is started
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
 *         ... argv[0] .. argv[argc - 1] are what is not an option ...
 *         ... out_text(&cli.out, ...) is standard output ...
 *         return cli_end(&cli, STATUS_FINE);
 *     }
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>

#include "base/err.h"
#include "base/out.h"
#include "base/work.h"
#include "cli/command.h"
#include "text/pen.h"

/* What the program ends with. */
enum status {
    STATUS_FINE = 0,
    STATUS_FINDINGS = 1, /* something to know, or two things differ */
    STATUS_TROUBLE = 2,  /* it could not be done; also for words we do not understand */
};

/* The program: run the command that the words name, and return its status. It may be
 * called once in a process: it takes Ctrl-C for itself. */
int cli_main(int argc, char **argv);

struct cli {
    const struct command *command;
    struct out out; /* standard output, buffered; data goes here, all else to stderr */
    bool json, csv; /* --json, --csv; at most one of them */
    bool ascii;     /* --ascii, or standard output does not speak UTF-8 */
    bool colour;    /* may colour codes be written to standard output? */
    const char *color; /* --color as it was given; NULL: it was not */
    bool terminal;     /* standard output is a terminal */
    bool isolate;      /* a terminal in UTF-8: right-to-left names are isolated */
    unsigned
        columns; /* its width in cells; of something else: COLUMNS, or 0: no limit */
    struct work
        work; /* Ctrl-C sets its cancel flag; a second Ctrl-C ends the program */
};

/* The first half of cli_begin(): it only reads, and leaves signals and standard output
 * alone. For Python, which goes on by itself. */
int cli_read(struct cli *cli, const struct command *command, void *options, int *argc,
             char **argv);

/* Read the options of `command` into *options (a struct of the command's own, with its
 * defaults set) and the common ones into *cli; leave what is no option in argv[0 ..
 * argc). On -1 the mistake was told and there is nothing to end. */
int cli_begin(struct cli *cli, const struct command *command, void *options, int *argc,
              char **argv);

/* Write out what is left. Returns `status`, or STATUS_TROUBLE if standard output was
 * lost (told, unless the reader of a pipe just left). */
int cli_end(struct cli *cli, int status);

/* Ctrl-C ends the program again, as it is usual. */
void cli_give_interrupt_back(void);

/* Standard output, as its reader wants it. */
struct pen cli_pen(struct cli *cli);

/* Say what went wrong on stderr: "torchoscope: SENTENCE". Names inside are escaped. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same from an err. Returns STATUS_TROUBLE, so that `return cli_end(&cli,
 * cli_fail(&err))` reads well. */
int cli_fail(const struct err *err);

#endif
