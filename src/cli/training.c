/* torchoscope run, replay: Python runs them (cli/python.h,
 * python/torchoscope/script.py, shell.py) and parses the arguments with these tables.
 * This code only reports arguments that do not suffice to start it. */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/live.h"

struct run_options {
    const char *dir, *name, *limit;
    struct option_list log;
    uint32_t log_freq;
    double budget;
    bool no_capsule;
};

#define AT(member) offsetof(struct run_options, member)

static const struct option run_table[] = {
    {"dir", 0, OPTION_TEXT, "DIR", AT(dir), "folder of the file; default runs"},
    {"name", 0, OPTION_TEXT, "NAME", AT(name),
     "part of its name; default the model's class"},
    {"log", 0, OPTION_LIST, "io|io_grad|params|params_grad", AT(log),
     "what to log; repeatable; default all"},
    {"log-freq", 0, OPTION_COUNT, "N", AT(log_freq),
     "log every N-th step; default: as the budget allows"},
    {"budget", 0, OPTION_REAL, "SHARE", AT(budget),
     "of the time that logging may take; default 0.03"},
    {"limit", 0, OPTION_TEXT, "SIZE", AT(limit),
     "maximum size of the file; default 256MB"},
    {"no-capsule", 0, OPTION_FLAG, NULL, AT(no_capsule),
     "do not save the first step with NaN or Inf for replay"},
};

struct replay_options {
    const char *to;
};

static const struct option replay_table[] = {
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct replay_options, to),
     "also save the recording of the replay"},
};

static int refuse(const struct command *command, void *options, int argc, char **argv)
{
    struct cli cli;
    int n = command_own_words(command, argc, argv);

    if (cli_begin(&cli, command, options, &n, argv) < 0)
        return STATUS_TROUBLE;
    cli_say("usage: torchoscope %s %s", command->name, command->usage);
    return cli_end(&cli, STATUS_TROUBLE);
}

static int run_run(int argc, char **argv)
{
    struct run_options options = {0};

    return refuse(&run_command, &options, argc, argv);
}

static int replay_run(int argc, char **argv)
{
    struct replay_options options = {0};

    return refuse(&replay_command, &options, argc, argv);
}

const struct command run_command = {
    .name = "run",
    .summary = "run a training script and watch the model that it trains",
    .usage = "[OPTION]... SCRIPT|-m MODULE [ARGUMENT]...",
    .details =
        "The script runs as with python SCRIPT ARGUMENT..., in $TORCHOSCOPE_PYTHON,\n"
        "$VIRTUAL_ENV/bin/python or python3; its exit status is that of the command.\n"
        "From the second step of the optimizer on, the largest model that it trains "
        "is\n"
        "followed into a .scope file. On several processes:\n"
        "torchrun --nproc-per-node 4 -m torchoscope run SCRIPT\n",
    .options = run_table,
    .n_options = COUNT_OF(run_table),
    .run = run_run,
    .script = true,
};

const struct command replay_command = {
    .name = "replay",
    .summary = "run a step that gave NaN or Inf again, and name the operation",
    .usage = "CAPSULE TARGET [-o FILE]",
    .details =
        "CAPSULE is a .nan.scope file, which a watched training saves. TARGET\n"
        "makes the same model; it gets the parameters of the file.\n"
        "Exit status: 1 reproduced, 0 not reproduced, 2 error.\n\n" ABOUT_LIVE_TARGET,
    .options = replay_table,
    .n_options = COUNT_OF(replay_table),
    .run = replay_run,
    .live = true,
};
