/* torchoscope summary, record, memory: one pass of a live model. Python runs it
 * (cli/python.h, python/torchoscope/shell.py) and parses the arguments with these
 * tables. This code only handles files, which it prints like `tree`. */
#include "cli/live.h"

#include <string.h>

#include "base/base.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/tree.h"

struct live_options {
    struct printed_wanted view; /* first: view settings fill it */
    struct option_list inputs, keep;
    const char *mode, *to;
    bool train, cold;
};

struct memory_options {
    struct option_list inputs;
    uint32_t batch, batch_dim;
    const char *dtype, *optimizer, *device, *limit;
    double margin;
    bool infer, measure;
};

#define AT(member) offsetof(struct live_options, member)

/* The first RECORD_ONLY are only for record. */
static const struct option options_table[] = {
    {"output", 'o', OPTION_TEXT, "FILE", AT(to), "file to write; default CLASS.scope"},
    {"keep", 'k', OPTION_LIST, "PATTERN", AT(keep),
     "keep inputs and outputs of these modules in full; repeatable"},
    {"inputs", 'i', OPTION_LIST, "WHAT", AT(inputs), LIVE_INPUTS_SUMMARY},
    {"train", 0, OPTION_FLAG, NULL, AT(train), LIVE_TRAIN_SUMMARY},
    {"no-warmup", 0, OPTION_FLAG, NULL, AT(cold), LIVE_COLD_SUMMARY},
    {"mode", 0, OPTION_TEXT, "full|exact|sampled|guard", AT(mode), LIVE_MODE_SUMMARY},
};
#define RECORD_ONLY 2 /* output, keep */

#define OF(member) offsetof(struct memory_options, member)

static const struct option memory_table[] = {
    {"inputs", 'i', OPTION_LIST, "WHAT", OF(inputs), LIVE_INPUTS_SUMMARY},
    {"batch", 'b', OPTION_COUNT, "N", OF(batch),
     "batch size; default that of the inputs"},
    {"batch-dim", 0, OPTION_COUNT, "N", OF(batch_dim), "the dimension of the batch"},
    {"dtype", 0, OPTION_TEXT, "NAME", OF(dtype), "of parameters and inputs: bfloat16"},
    {"infer", 0, OPTION_FLAG, NULL, OF(infer),
     "a pass without gradients, in eval mode"},
    {"optimizer", 0, OPTION_TEXT, "NAME", OF(optimizer),
     "of torch.optim, or none; default adam"},
    {"device", 0, OPTION_TEXT, "NAME", OF(device), "device that it will run on: cuda"},
    {"limit", 0, OPTION_TEXT, "SIZE", OF(limit), "find the largest batch in 24GB"},
    {"margin", 0, OPTION_REAL, "SHARE", OF(margin), "of it to leave free; default 0.1"},
    {"measure", 0, OPTION_FLAG, NULL, OF(measure), "also run a step with real tensors"},
};

bool live_is_code(const char *word)
{
    if (!str_ends(str_of(word), str_of(".py")))
        return false;
    cli_say("%s is Python code: to run a model, write %s::FUNCTION, the function that "
            "makes it",
            word, word);
    return true;
}

static int show_file(struct cli *cli, struct live_options *options, const char *path)
{
    options->view.width = cli->columns;
    if (live_is_code(path))
        return STATUS_TROUBLE;
    if (options->inputs.n || options->train || options->cold || options->mode)
        cli_say("%s: a model file is not run; use FILE.py::FUNCTION", path);
    else
        return tree_file(cli, path, &options->view);
    return STATUS_TROUBLE;
}

static int show_run(const struct command *command, int argc, char **argv)
{
    struct live_options options = {.view = PRINTED_WANTED_INIT};
    struct cli cli;

    if (cli_begin(&cli, command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (options.view.columns && strcmp(options.view.columns, "help") == 0)
        return cli_end(&cli, tree_columns(&cli));
    if (argc == 1)
        return cli_end(&cli, show_file(&cli, &options, argv[0]));
    cli_say("usage: torchoscope %s %s", command->name, command->usage);
    return cli_end(&cli, STATUS_TROUBLE);
}

static int summary_run(int argc, char **argv)
{
    return show_run(&summary_command, argc, argv);
}

static int record_run(int argc, char **argv)
{
    struct live_options options = {.view = PRINTED_WANTED_INIT};
    struct cli cli;

    if (cli_begin(&cli, &record_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (argc != 1)
        cli_say("usage: torchoscope record %s", record_command.usage);
    else
        cli_say("record: \"%s\" does not name a function that makes the model; write "
                "FILE.py::FUNCTION or PACKAGE.MODULE::FUNCTION",
                argv[0]);
    return cli_end(&cli, STATUS_TROUBLE);
}

static int memory_run(int argc, char **argv)
{
    struct memory_options options = {.batch = OPTION_UNSET, .batch_dim = OPTION_UNSET};
    struct cli cli;

    if (cli_begin(&cli, &memory_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (argc != 1)
        cli_say("usage: torchoscope memory %s", memory_command.usage);
    else if (!live_is_code(argv[0]))
        cli_say("%s: a model file cannot be run; use FILE.py::FUNCTION", argv[0]);
    return cli_end(&cli, STATUS_TROUBLE);
}

const struct command summary_command = {
    .name = "summary",
    .summary = "run a live model once and print a table: shapes, times, totals",
    .usage = "TARGET|FILE [OPTION]...",
    .details = ABOUT_LIVE_TARGET "For a file, it prints the same as tree.\n",
    .options = options_table + RECORD_ONLY,
    .n_options = COUNT_OF(options_table) - RECORD_ONLY,
    .settings = SETTINGS_SUMMARY,
    .run = summary_run,
    .live = true,
};

const struct command record_command = {
    .name = "record",
    .summary = "run a live model once and write a .scope file",
    .usage = "TARGET [OPTION]...",
    .details = ABOUT_LIVE_TARGET,
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = record_run,
    .live = true,
};

const struct command memory_command = {
    .name = "memory",
    .summary = "predict the memory of a training step, and the largest batch",
    .usage = "TARGET [OPTION]...",
    .details = ABOUT_LIVE_TARGET,
    .options = memory_table,
    .n_options = COUNT_OF(memory_table),
    .run = memory_run,
    .live = true,
};
