/* torchoscope ops: the operations that a recorded run used, or those in the code of a
 * file. A live model is run and recorded by Python (cli/python.h,
 * python/torchoscope/shell.py), which then calls this command for the recording. */
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/live.h"
#include "cli/ops_in.h"
#include "cli/speak.h"
#include "export/export.h"
#include "facts/ops_table.h"
#include "study/program_use.h"
#include "text/text.h"

struct ops_options {
    const char *sort, *phase, *allow, *dir;
    uint32_t top;
    struct option_list inputs;
    bool train, unique;
};

#define AT(member) offsetof(struct ops_options, member)

static const struct option options_table[] = {
    {"sort", 's', OPTION_TEXT, "time|count|flops|memory|name|first", AT(sort),
     "in this order; default: time, the largest first; of a file: count"},
    {"top", 'n', OPTION_COUNT, "N", AT(top), "print only the first N"},
    {"phase", 0, OPTION_TEXT, "forward|backward|recompute|optimizer", AT(phase),
     "operations of this phase only"},
    {"allow-ops", 0, OPTION_TEXT, "FILE", AT(allow),
     "exit 1 and name the operations that are not in this list"},
    {"inputs", 'i', OPTION_LIST, "WHAT", AT(inputs),
     "live model: " LIVE_INPUTS_SUMMARY},
    {"train", 0, OPTION_FLAG, NULL, AT(train), "live model: " LIVE_TRAIN_SUMMARY},
    {"unique", 0, OPTION_FLAG, NULL, AT(unique),
     "live model: write unique_modules.json and pytorch_ops.json"},
    {"dir", 0, OPTION_TEXT, "DIR", AT(dir),
     "with --unique: folder to write to; default: the model's class"},
};

/* State of one `ops`. */
struct ops_job {
    struct cli *cli;
    const struct ops_options *options;
    struct session *session;
    struct arena arena;
    unsigned phases;
    struct op_use_list uses;
    struct ops_allowed allowed;
    uint32_t n_refused; /* with --allow-ops: the first ones in `uses` */
    uint32_t n_used;
};

static unsigned phases_of(const char *name)
{
    for (int i = 0; name && i < OP_PHASES; i++)
        if (strcmp(op_phase_name((enum op_phase)i), name) == 0)
            return 1u << i;
    return OP_PHASES_ALL;
}

static enum op_use_order order_of(const char *name)
{
    for (int i = 0; name && i < OP_USE_ORDERS; i++)
        if (strcmp(op_use_order_name((enum op_use_order)i), name) == 0)
            return (enum op_use_order)i;
    return OP_USE_TIME;
}

/* Keeps only the operations that are not in the list. The sum stays that of all. */
static void refuse(struct ops_job *job)
{
    struct op_use_list *uses = &job->uses;
    uint32_t n = 0;

    for (uint32_t i = 0; i < uses->n; i++)
        if (!ops_is_allowed(&job->allowed, uses->at[i].name, uses->at[i].overload))
            uses->at[n++] = uses->at[i];
    uses->n = job->n_refused = n;
}

/* ---- output ---- */

/* "2 of 8 kinds of operations are not in list.txt" */
static void write_refused(struct ops_job *job)
{
    struct buf line = BUF_INIT;

    if (job->n_refused == 0) {
        buf_text(&line, "all ");
        text_plural(&line, job->n_used, "kind", "kinds");
        buf_text(&line, " of operations are in ");
    } else {
        text_commas(&line, job->n_refused);
        buf_text(&line, " of ");
        text_plural(&line, job->n_used, "kind", "kinds");
        buf_text(&line, job->n_refused == 1 ? " of operations is not in "
                                            : " of operations are not in ");
    }
    escape_terminal(&line, str_of(job->options->allow));
    buf_char(&line, '\n');
    speak_text(job->cli, &line, COLOUR_NONE);
    buf_release(&line);
}

static int write_text(struct ops_job *job, struct err *err)
{
    const struct run *run = job->session->run;
    struct op_use_table table = {.run = run,
                                 .model = job->session->model,
                                 .uses = &job->uses,
                                 .top = job->options->top,
                                 .width = job->cli->columns,
                                 .ascii = job->cli->ascii,
                                 .isolate = job->cli->isolate};
    struct buf sums = BUF_INIT;

    if (job->uses.n > 0 && ops_table_text(&job->cli->out, &table, err) < 0)
        return -1;
    if (job->options->allow) {
        write_refused(job);
        return 0;
    }
    if (run)
        ops_table_sums(&sums, run, &job->uses, job->phases);
    else
        ops_program_sums(&sums, job->session->model, &job->uses);
    speak_text(job->cli, &sums, COLOUR_NONE);
    buf_release(&sums);
    return 0;
}

static int write_all(struct ops_job *job, struct err *err)
{
    struct op_use_list uses = job->uses;
    struct json json;

    if (!job->cli->json && !job->cli->csv)
        return write_text(job, err);
    if (uses.n > job->options->top)
        uses.n = job->options->top;
    if (job->cli->csv) {
        export_ops_csv(&job->cli->out, job->session, &uses);
        return 0;
    }
    json_init_text(&json, &job->cli->out);
    return export_ops_json(&json, job->session, &uses, err);
}

/* Options that need a run are refused for a file. */
static int check_options(const struct ops_job *job, struct err *err)
{
    const char *sort = job->options->sort, *path = job->session->model->path;

    if (job->options->phase)
        return err_set(err, ERR_USAGE, "%s was not run: it has no phases", path);
    if (sort && order_of(sort) != OP_USE_COUNT && order_of(sort) != OP_USE_NAME &&
        order_of(sort) != OP_USE_FIRST)
        return err_set(err, ERR_USAGE,
                       "%s was not run: sort by count, name or first use", path);
    return 0;
}

/* The operations used by the recording, or in the code of the file, in order. */
static int find_uses(struct ops_job *job, struct err *err)
{
    const struct run *run = job->session->run;
    const char *sort = job->options->sort;

    if (export_has_ops(job->session, err) < 0)
        return -1;
    if (!run && (check_options(job, err) < 0 ||
                 program_use_of(&job->uses, job->session->model, &job->arena, err) < 0))
        return -1;
    if (run && op_use_of(&job->uses, run, OP_USE_BY_OVERLOAD, job->phases, &job->arena,
                         err) < 0)
        return -1;
    op_use_sort(&job->uses, order_of(run || sort ? sort : "count"));
    return 0;
}

static int ops_file(struct ops_job *job, const char *path, struct err *err)
{
    job->phases = phases_of(job->options->phase);
    if (job->options->allow &&
        ops_allowed_read(&job->allowed, job->options->allow, &job->arena, err) < 0)
        return -1;
    job->session = session_open(path, &job->cli->work, err);
    if (!job->session || find_uses(job, err) < 0)
        return -1;
    job->n_used = job->uses.n;
    if (job->options->allow)
        refuse(job);
    return write_all(job, err);
}

/* ---- the command ---- */

/* Are there arguments that need a live model? Prints an error. */
static bool is_misused(const struct ops_options *options, const char *path)
{
    if (live_is_code(path))
        return true;
    if (options->unique || options->dir)
        cli_say("ops: --unique and --dir need a live model; write FILE.py::FUNCTION");
    else if (options->inputs.n || options->train)
        cli_say("ops: %s is a file, which is not run; --inputs and --train are for "
                "FILE.py::FUNCTION",
                path);
    else
        return false;
    return true;
}

static int ops_run(int argc, char **argv)
{
    struct ops_options options = {.top = UINT32_MAX};
    struct ops_job job = {.options = &options};
    struct err err = {0};
    struct cli cli;
    int status = STATUS_FINE;

    if (cli_begin(&cli, &ops_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (argc != 1) {
        cli_say("usage: torchoscope ops %s", ops_command.usage);
        return cli_end(&cli, STATUS_TROUBLE);
    }
    if (is_misused(&options, argv[0]))
        return cli_end(&cli, STATUS_TROUBLE);
    job.cli = &cli;
    arena_init(&job.arena, 4 * GIB);
    if (ops_file(&job, argv[0], &err) < 0)
        status = cli_fail(&err);
    else if (job.n_refused > 0)
        status = STATUS_FINDINGS;
    session_close(job.session);
    arena_release(&job.arena);
    return cli_end(&cli, status);
}

const struct command ops_command = {
    .name = "ops",
    .summary = "list the operations of a recording: count, time, FLOPs, memory",
    .usage = "RECORDING|FILE|TARGET [OPTION]...",
    .details =
        "A recording has operations if it was made with record(model, ops=True).\n"
        "For a file with a program, counts the operations in its code; nothing is "
        "run.\n"
        "The list of --allow-ops has one name per line: add, aten::add or add.Tensor;\n"
        "# begins a comment.\n" ABOUT_LIVE_TARGET,
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = ops_run,
    .live = true,
};
