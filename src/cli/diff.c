/* torchoscope diff: the differences of two models. */
#include <stdint.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/speak.h"
#include "compare/pair_text.h"
#include "export/export.h"
#include "session/pair.h"

struct diff_options {
    double rtol, atol, tolerance;
    bool structure, md, all, quiet, progress;
};

static const struct option options_table[] = {
    {"structure", 0, OPTION_FLAG, NULL, offsetof(struct diff_options, structure),
     "compare names, shapes and dtypes, not values"},
    {"rtol", 0, OPTION_REAL, "X", offsetof(struct diff_options, rtol),
     "values are close if |A - B| <= atol + rtol |A|"},
    {"atol", 0, OPTION_REAL, "X", offsetof(struct diff_options, atol),
     "absolute tolerance, see --rtol; both default to 0"},
    {"tolerance", 0, OPTION_REAL, "X", offsetof(struct diff_options, tolerance),
     "recordings: agree to X of the RMS; else by dtype"},
    {"all", 'a', OPTION_FLAG, NULL, offsetof(struct diff_options, all),
     "print full lists; in JSON also equal items"},
    {"md", 0, OPTION_FLAG, NULL, offsetof(struct diff_options, md),
     "print Markdown, for a pull request"},
    {"quiet", 'q', OPTION_FLAG, NULL, offsetof(struct diff_options, quiet),
     "print nothing, only set the exit status"},
    {"progress", 0, OPTION_FLAG, NULL, offsetof(struct diff_options, progress),
     "show progress on stderr, even if it is not a terminal"},
};

static int write_markdown(struct cli *cli, const struct pair *pair, bool all,
                          struct err *err)
{
    struct buf text = BUF_INIT;
    int status = pair_markdown(&text, pair, all, err);

    if (status == 0)
        speak_text(cli, &text, COLOUR_NONE);
    buf_release(&text);
    return status;
}

static int write_pair(struct cli *cli, const struct pair *pair,
                      const struct diff_options *options, struct err *err)
{
    struct tolerance tolerance = {options->rtol, options->atol};
    struct pen pen = cli_pen(cli);
    struct json json;

    if (options->quiet)
        return 0;
    if (cli->json) {
        json_init_text(&json, &cli->out);
        return export_diff_json(&json, pair, &tolerance, options->all, err);
    }
    if (options->md)
        return write_markdown(cli, pair, options->all, err);
    return pair_text_write(&pen, pair, options->all, err);
}

/* Opens and compares both files; the comparison may be incomplete. */
static struct pair *compare(struct cli *cli, const struct diff_options *options,
                            char **argv, struct err *err)
{
    struct diff_wanted wanted = {.values = !options->structure,
                                 .tolerance = {options->rtol, options->atol},
                                 .no_results = options->structure,
                                 .distance = options->tolerance};
    struct progress progress;
    struct pair *pair;

    progress_begin(&progress, &cli->work, "diff", options->progress, cli->ascii);
    pair = pair_open(argv[0], argv[1], &wanted, &cli->work, err);
    progress_end(&progress);
    return pair;
}

static uint32_t count_compared(const struct diff *diff)
{
    return diff->total.tensors - diff->total.states[DIFF_UNREAD];
}

static int diff_files(struct cli *cli, const struct diff_options *options, char **argv)
{
    struct err err = {0};
    struct pair *pair = compare(cli, options, argv, &err);
    int status;

    if (!pair)
        return cli_fail(&err);
    status = pair_equal(pair) ? STATUS_FINE : STATUS_FINDINGS;
    if (write_pair(cli, pair, options, &err) < 0) {
        status = cli_fail(&err);
    } else if (!pair->diff.complete) {
        cli_say("stopped: %u tensors were compared",
                (unsigned)count_compared(&pair->diff));
        status = STATUS_TROUBLE;
    }
    pair_close(pair);
    return status;
}

static int diff_run(int argc, char **argv)
{
    struct diff_options options = {0};
    struct cli cli;

    if (cli_begin(&cli, &diff_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (argc != 2)
        cli_say("usage: torchoscope diff LEFT RIGHT");
    else if (options.tolerance < 0)
        cli_say("diff: --tolerance is a number from 0 on; 0: by dtype");
    else if (cli.csv)
        cli_say("diff: --csv is not supported; use --json");
    else if (options.md && cli.json)
        cli_say("diff: --json and --md exclude each other");
    else
        return cli_end(&cli, diff_files(&cli, &options, argv));
    return cli_end(&cli, STATUS_TROUBLE);
}

const struct command diff_command = {
    .name = "diff",
    .summary = "compare two models: names, shapes, values",
    .usage = "LEFT RIGHT [OPTION]...",
    .details =
        "Finds renamed, fused and split tensors by content and prints them as rules, "
        "with\nPython code that loads LEFT where RIGHT is expected.\n"
        "For two recordings (.scope), names the first operation or module whose "
        "result\n"
        "differs, and whether its inputs still agree; the models are compared below.\n"
        "For two training runs, names the first step and tensor, in the order of\n"
        "execution, whose statistics differ, and the first scalar: bit for bit, or\n"
        "with --tolerance.\n"
        "LEFT and RIGHT may be live models: FILE.py::FUNCTION, as in explore.\n"
        "exit status: 0 identical, ignoring a prefix; 1 different; 2 error.\n"
        "For two recordings: 0 if all results agree, even if the models differ; for "
        "two\n"
        "training runs: 0 if all steps that both have are equal.\n"
        "Ctrl-C stops and prints the results so far (2).\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = diff_run,
    .live = true,
};
