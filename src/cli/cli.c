#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/base.h"
#include "text/escape.h"

struct cli_common {
    bool json, csv, ascii, help;
    const char *color;
};

static const struct option common_options[] = {
    {"json", 0, OPTION_FLAG, NULL, offsetof(struct cli_common, json),
     "print JSON (docs/json.md)"},
    {"csv", 0, OPTION_FLAG, NULL, offsetof(struct cli_common, csv),
     "print comma-separated values"},
    {"color", 0, OPTION_TEXT, "auto|" SETTINGS_COLOURS,
     offsetof(struct cli_common, color), "when to use colours"},
    {"ascii", 0, OPTION_FLAG, NULL, offsetof(struct cli_common, ascii),
     "use only ASCII characters"},
    {"help", 'h', OPTION_FLAG, NULL, offsetof(struct cli_common, help),
     "show this help"},
};

void command_options(struct command_options *ret, const struct command *command,
                     void *options, void *common)
{
    size_t n = settings_options(command->settings, ret->settings);

    ret->sets[0] = (struct option_set){command->options, command->n_options, options};
    ret->sets[1] = (struct option_set){ret->settings, n, options};
    ret->sets[2] =
        (struct option_set){common_options, COUNT_OF(common_options), common};
}

int command_own_words(const struct command *command, int argc, char **argv)
{
    struct command_options all;
    int to_module = 0;

    if (!command->script)
        return argc;
    while (to_module < argc && strcmp(argv[to_module], "-m") != 0)
        to_module++;
    command_options(&all, command, NULL, NULL);
    return options_leading(all.sets, COMMAND_SETS, to_module, argv);
}

/* --- Output style */

static bool wants_colour(const char *choice, bool terminal)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (choice && strcmp(choice, "never") == 0)
        return false;
    if (choice && strcmp(choice, "auto") != 0)
        return true;
    if (!terminal)
        return false;
    return !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0;
}

static unsigned find_columns(bool terminal)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    uint64_t number;

    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    if (columns && str_to_u64(str_of(columns), &number) && number < 1000000)
        return (unsigned)number;
    return terminal ? 80 : 0;
}

/* --- Ctrl-C */

static struct work *interruptible; /* global, because a signal handler needs it */

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (interruptible)
        atomic_store(&interruptible->cancel, 1);
}

static void catch_interrupt(struct work *work)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};

    interruptible = work;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

void cli_give_interrupt_back(void)
{
    interruptible = NULL;
    signal(SIGINT, SIG_DFL);
}

/* --- Begin and end of a command */

int cli_read(struct cli *cli, const struct command *command, void *options, int *argc,
             char **argv)
{
    struct cli_common common = {0};
    struct command_options all;
    struct err err;

    command_options(&all, command, options, &common);
    if (options_read(all.sets, COMMAND_SETS, argc, argv, &err) < 0) {
        cli_say("%s: %s", command->name, err.text);
        return -1;
    }
    if (common.json && common.csv) {
        cli_say("%s: --json and --csv exclude each other", command->name);
        return -1;
    }
    *cli = (struct cli){.command = command, .json = common.json, .csv = common.csv};
    cli->terminal = isatty(STDOUT_FILENO);
    cli->ascii = common.ascii || !pen_speaks_utf8();
    cli->color = common.color;
    cli->colour = wants_colour(common.color, cli->terminal);
    cli->isolate = cli->terminal && !cli->ascii;
    cli->columns = find_columns(cli->terminal);
    return 0;
}

int cli_begin(struct cli *cli, const struct command *command, void *options, int *argc,
              char **argv)
{
    if (cli_read(cli, command, options, argc, argv) < 0)
        return -1;
    work_init(&cli->work);
    catch_interrupt(&cli->work);
    out_init_fd(&cli->out, STDOUT_FILENO);
    return 0;
}

int cli_end(struct cli *cli, int status)
{
    interruptible = NULL;
    if (out_release(&cli->out) == 0)
        return status;
    if (cli->out.error != EPIPE)
        cli_say("standard output: %s", strerror(cli->out.error));
    return STATUS_TROUBLE;
}

/* --- Messages */

void cli_say(const char *format, ...)
{
    struct buf raw = BUF_INIT, shown = BUF_INIT;
    va_list args;

    va_start(args, format);
    buf_vprintf(&raw, format, args);
    va_end(args);
    escape_terminal(&shown, buf_span(&raw));
    fprintf(stderr, "torchoscope: %s\n", buf_cstr(&shown));
    buf_release(&raw);
    buf_release(&shown);
}

struct pen cli_pen(struct cli *cli)
{
    return (struct pen){.out = &cli->out,
                        .width = cli->columns,
                        .ascii = cli->ascii,
                        .colour = cli->colour,
                        .isolate = cli->isolate};
}

int cli_fail(const struct err *err)
{
    cli_say("%s", err->text);
    return STATUS_TROUBLE;
}
