/* torchoscope check: is a file safe to load and complete? */
#include <string.h>

#include "base/base.h"
#include "base/folder.h"
#include "cli/check_in.h"
#include "read/read.h"
#include "session/file_list.h"

static const struct option options_table[] = {
    {"values", 'V', OPTION_FLAG, NULL, offsetof(struct check_options, values),
     "also read all values: find NaN and infinities, verify checksums"},
    {"allow", 'a', OPTION_LIST, "PATTERN", offsetof(struct check_options, allow),
     "trust these names in pickles: 'models.yolo.*'; repeatable"},
    {"allow-file", 0, OPTION_TEXT, "FILE", offsetof(struct check_options, allow_file),
     "read such patterns from a file, one per line; # starts a comment"},
    {"expect", 'e', OPTION_TEXT, "FILE", offsetof(struct check_options, expect),
     "fail unless names, shapes and dtypes match this output of tree --json"},
    {"verbose", 'v', OPTION_FLAG, NULL, offsetof(struct check_options, verbose),
     "print all lines for safe files too, and skipped files"},
    {"skip", 's', OPTION_FLAG, NULL, offsetof(struct check_options, skip),
     "skip named files that are not models, as in folders"},
    {"quiet", 'q', OPTION_FLAG, NULL, offsetof(struct check_options, quiet),
     "print only files that fail"},
    {"sarif", 0, OPTION_FLAG, NULL, offsetof(struct check_options, sarif),
     "print SARIF 2.1.0, for code scanning tools"},
    {"progress", 0, OPTION_FLAG, NULL, offsetof(struct check_options, progress),
     "show progress on stderr, even if it is not a terminal"},
};

/* ---- one model ---- */

static int measure(struct check_run *run, struct session *session, struct arena *arena,
                   struct err *err)
{
    uint32_t n = session->model->n_tensors;
    uint32_t *tensors = arena_array(arena, (size_t)n + 1, sizeof *tensors);

    if (!tensors)
        return arena_err(arena, "the list of tensors", err);
    for (uint32_t i = 0; i < n; i++)
        tensors[i] = i;
    session->mode = MEASURE_GUARD;
    return session_stats_many(session, tensors, n, &run->cli->work, err);
}

/* Checks that read the values. Cancelling is not an error: what was found so far is
 * reported. */
static int look_at_bytes(struct check_run *run, struct session *session,
                         struct arena *arena, struct check_values *values,
                         struct check_ask *ask, struct err *err)
{
    struct work *work = &run->cli->work;
    struct progress progress;
    struct err why = {0};
    int status;

    atomic_store(&work->done, 0);
    atomic_store(&work->total, session->model->file_bytes);
    progress_hide(&run->progress);
    progress_begin(&progress, work, "check", run->options->progress, run->cli->ascii);
    status = session_verify(session, run->options->values, arena, work, ask, &why);
    if (status == 0 && run->options->values)
        status = measure(run, session, arena, &why);
    progress_end(&progress);
    if (run->options->values) {
        *values = (struct check_values){
            .stats = (const struct stats *const *)session->stats,
            .why = session->why,
            .complete = status == 0,
        };
        ask->values = values;
    }
    if (status == 0 || why.code == ERR_CANCELLED)
        return 0;
    return err_copy(err, &why);
}

static void count(struct check_run *run, enum verdict verdict, int status)
{
    run->sum.verdict = check_worse(run->sum.verdict, verdict);
    run->n_verdicts[verdict]++;
    if (verdict == VERDICT_SAFE && status != STATUS_FINE)
        run->n_safe++;
    if (run->sum.status == STATUS_FINE && status != STATUS_FINE)
        run->sum.status = STATUS_FINDINGS;
}

static int check_session(struct check_run *run, struct session *session,
                         struct err *err)
{
    struct check_ask ask = {.allow = &run->allow};
    struct check_values values;
    struct arena arena;
    struct check check;
    int status;

    arena_init(&arena, 4 * GIB);
    if (run->options->expect)
        ask.expect = &run->expectation;
    status = look_at_bytes(run, session, &arena, &values, &ask, err);
    if (status == 0)
        status = check_training(session, &arena, &ask, err);
    if (status == 0)
        status = check_make(session->model, &ask, &arena, &check, err);
    if (status == 0) {
        count(run, check.verdict.verdict, check.status);
        run->writer->model(run, session, &check);
    }
    arena_release(&arena);
    return status;
}

/* ---- one target ---- */

/* An unreadable file in a folder is skipped if neither its name nor its content
 * looks like a model. Otherwise it is reported as an error. */
static int refuse(struct check_run *run, const struct check_target *target,
                  const struct err *why, struct err *err)
{
    const char *kind = target->found ? read_kind(target->path) : NULL;
    struct str path = str_of(target->path);

    if (target->no_file)
        kind = "no file";
    if (kind && strcmp(kind, "model") != 0 && why->code != ERR_LIMIT &&
        !file_is_model_name(path)) {
        /* The list of skipped files names the file itself. */
        bool own = str_eq(err_subject(why), path);

        return check_skip(run, target->path, kind, own ? err_reason(why) : why->text,
                          err);
    }
    count(run, VERDICT_INCONCLUSIVE, STATUS_TROUBLE);
    run->writer->error(run, target, why);
    return 0;
}

static int check_target(struct check_run *run, const struct check_target *target,
                        struct err *err)
{
    struct err why = {0};
    struct session *session;
    int status = 0;

    if (target->found && check_is_covered(run, target->path))
        return 0;
    session = session_open(target->path, &run->cli->work, &why);
    if (!session) {
        if (why.code == ERR_CANCELLED)
            return err_set(err, ERR_CANCELLED, "%s", why.text);
        return target->may_set ? 0 : refuse(run, target, &why, err);
    }
    /* A folder may contain several models, and opening it picks one. */
    if (!target->may_set || check_is_sharded(session->model)) {
        status = check_session(run, session, err);
        if (status == 0)
            status = check_cover(run, session->model, err);
    }
    session_close(session);
    return status;
}

/* ---- the command ---- */

static int list_targets(struct check_run *run, int argc, char **argv, struct err *err)
{
    for (int i = 0; i < argc; i++) {
        struct check_target target = {.path = argv[i], .found = run->options->skip};
        /* With --expect, a folder is one model. */
        bool folder = path_is_folder(argv[i]) && !run->options->expect;

        if ((folder ? check_walk(run, argv[i], err)
                    : check_add_target(run, target, err)) < 0)
            return -1;
        run->single = argc == 1 && !folder;
    }
    return 0;
}

static int check_all(struct check_run *run, struct err *err)
{
    atomic_store(&run->files.total, run->n_targets);
    for (uint32_t i = 0; i < run->n_targets; i++) {
        if (work_cancelled(&run->cli->work))
            return err_set(err, ERR_CANCELLED, "stopped");
        if (check_target(run, &run->targets[i], err) < 0)
            return -1;
        work_step(&run->files, 1);
        if (run->cli->terminal)
            out_flush(&run->cli->out);
    }
    if (work_cancelled(&run->cli->work))
        return err_set(err, ERR_CANCELLED, "stopped");
    return 0;
}

/* The worst verdict decides; if all are fine, the findings do. */
static int final_status(const struct check_run *run)
{
    if (!run->sum.complete || run->sum.verdict == VERDICT_INCONCLUSIVE)
        return STATUS_TROUBLE;
    return run->sum.status;
}

static int check_paths(struct check_run *run, int argc, char **argv)
{
    struct err err = {0};

    if (check_ask_allow(run, &err) < 0 || check_ask_expect(run, &err) < 0)
        return cli_fail(&err);
    run->sum.complete = list_targets(run, argc, argv, &err) == 0;
    run->writer->begin(run);
    if (run->sum.complete) {
        progress_begin(&run->progress, &run->files, "check", run->options->progress,
                       run->cli->ascii);
        run->progress.unit = "files";
        run->sum.complete = check_all(run, &err) == 0;
        progress_end(&run->progress);
    }
    run->sum.skipped = run->skipped;
    run->sum.n_skipped = run->n_skipped;
    run->sum.allow = run->allow;
    run->sum.status = final_status(run);
    run->writer->end(run);
    if (!run->sum.complete)
        cli_fail(&err);
    return run->sum.status;
}

/* Returns an error for options that cannot be combined, or NULL. */
static const char *mistake(const struct cli *cli, const struct check_options *options,
                           int argc)
{
    if (argc == 0)
        return "usage: torchoscope check FILE|DIR...";
    if (cli->csv)
        return "check: --csv is not supported; use --json";
    if (cli->json && options->sarif)
        return "check: --json and --sarif exclude each other";
    if (options->verbose && options->quiet)
        return "check: --verbose and --quiet exclude each other";
    if (options->expect && argc > 1)
        return "check: --expect takes one model";
    return NULL;
}

static int check_run(int argc, char **argv)
{
    struct check_options options = {0};
    struct check_run run = {.options = &options};
    const char *wrong;
    struct cli cli;
    int status;

    if (cli_begin(&cli, &check_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    wrong = mistake(&cli, &options, argc);
    if (wrong) {
        cli_say("%s", wrong);
        return cli_end(&cli, STATUS_TROUBLE);
    }
    run.cli = &cli;
    run.writer = &check_text_writer;
    if (cli.json)
        run.writer = &check_json_writer;
    if (options.sarif)
        run.writer = &check_sarif_writer;
    arena_init(&run.arena, 4 * GIB);
    map_init(&run.covered, &run.arena);
    work_init(&run.files);
    json_init_text(&run.json, &cli.out);
    status = check_paths(&run, argc, argv);
    arena_release(&run.arena);
    return cli_end(&cli, status);
}

const struct command check_command = {
    .name = "check",
    .summary = "check that a file is safe to load and complete",
    .usage = "FILE|DIR... [OPTION]...",
    .details =
        "exit status: 0 safe and complete; 1 unsafe, needs code, or findings; "
        "2 inconclusive\nor error. Ctrl-C stops and prints the results so far (2).\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = check_run,
};
