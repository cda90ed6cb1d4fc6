/* torchoscope stats: print statistics of all tensors. */
#include <stdint.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/speak.h"
#include "export/export.h"
#include "facts/stats_table.h"
#include "rows/rows.h"
#include "rows/search.h"
#include "text/text.h"

struct stats_options {
    const char *filter, *sort;
    uint32_t top;
    bool exact, histogram, sha256, reverse, progress;
};

static const struct option options_table[] = {
    {"filter", 'f', OPTION_TEXT, "PATTERN", offsetof(struct stats_options, filter),
     "only names that match: a part, a glob, /regex/; ! inverts"},
    {"sort", 's', OPTION_TEXT, STATS_TABLE_KEYS, offsetof(struct stats_options, sort),
     "in this order, the greatest first"},
    {"reverse", 'r', OPTION_FLAG, NULL, offsetof(struct stats_options, reverse),
     "the other way round"},
    {"top", 'n', OPTION_COUNT, "N", offsetof(struct stats_options, top),
     "print only the first N"},
    {"exact", 0, OPTION_FLAG, NULL, offsetof(struct stats_options, exact),
     "sums in double precision throughout"},
    {"histogram", 0, OPTION_FLAG, NULL, offsetof(struct stats_options, histogram),
     "how many values have which base-2 exponent"},
    {"sha256", 0, OPTION_FLAG, NULL, offsetof(struct stats_options, sha256),
     "the digests of the elements in C order"},
    {"progress", 0, OPTION_FLAG, NULL, offsetof(struct stats_options, progress),
     "show progress on stderr, even if it is not a terminal"},
};

/* State of one `stats`. */
struct job {
    struct cli *cli;
    const struct stats_options *options;
    struct session *session;
    struct show show;
    struct arena arena;
    uint32_t *places; /* of the chosen tensors, in output order */
    uint32_t n;
    bool *keep;
    bool complete;
};

/* ---- which tensors ---- */

static int choose_by_filter(struct job *job, struct err *err)
{
    uint32_t n = job->session->model->n_places;
    uint8_t *match = arena_alloc(&job->arena, bit_bytes(n));
    uint8_t *keep = arena_alloc(&job->arena, bit_bytes(n));
    struct search *search;
    uint32_t matches;
    int status;

    if (!match || !keep)
        return arena_err(&job->arena, "the filter", err);
    search = search_new(str_of(job->options->filter), err);
    if (!search)
        return -1;
    status = search_all(search, &job->show, match, keep, &matches, err);
    for (uint32_t p = 0; p < n; p++)
        job->keep[p] = bit_get(keep, p);
    search_free(search);
    return status;
}

static int choose(struct job *job, struct err *err)
{
    const struct model *model = job->session->model;
    uint32_t place;

    job->keep = arena_array(&job->arena, model->n_places, sizeof *job->keep);
    job->places = arena_array(&job->arena, model->n_places, sizeof *job->places);
    if (!job->keep || !job->places)
        return arena_err(&job->arena, "the list of tensors", err);
    for (place = 0; place < model->n_places; place++)
        job->keep[place] = true;
    if (job->options->filter && choose_by_filter(job, err) < 0)
        return -1;
    for (place = 0; place < model->n_places; place++) {
        job->keep[place] = job->keep[place] && model->kind[place] == PLACE_TENSOR;
        if (job->keep[place])
            job->places[job->n++] = place;
    }
    return 0;
}

/* ---- measuring ---- */

/* Each tensor once, even if it is tied. */
static uint32_t list_tensors(struct job *job, uint32_t *tensors)
{
    const struct model *model = job->session->model;
    bool *seen = arena_array(&job->arena, (size_t)model->n_tensors + 1, sizeof *seen);
    uint32_t n = 0;

    for (uint32_t i = 0; seen && i < job->n; i++) {
        uint32_t tensor = model->object[job->places[i]];

        if (!seen[tensor])
            tensors[n++] = tensor;
        seen[tensor] = true;
    }
    return n;
}

static int measure(struct job *job, struct err *err)
{
    uint32_t *tensors = arena_array(&job->arena, (size_t)job->n + 1, sizeof *tensors);
    struct progress progress;
    uint32_t n;
    int status;

    if (!tensors)
        return arena_err(&job->arena, "the list of tensors", err);
    n = list_tensors(job, tensors);
    job->session->mode = job->options->exact ? MEASURE_EXACT : MEASURE_FULL;
    job->session->want_exponents = job->options->histogram;
    job->session->want_sha256 = job->options->sha256;
    progress_begin(&progress, &job->cli->work, "stats", job->options->progress,
                   job->cli->ascii);
    status = session_stats_many(job->session, tensors, n, &job->cli->work, err);
    progress_end(&progress);
    job->complete = status == 0;
    return status;
}

/* ---- output ---- */

static bool is_known(const struct job *job, uint32_t place)
{
    uint32_t tensor = job->session->model->object[place];

    return session_known(job->session, tensor) || session_why(job->session, tensor);
}

/* Sorts the measured tensors and applies the limit. */
static int arrange(struct job *job, struct err *err)
{
    uint32_t n = 0, i;

    for (i = 0; i < job->n; i++) {
        if (is_known(job, job->places[i]))
            job->places[n++] = job->places[i];
    }
    job->n = n;
    if (job->options->sort &&
        stats_table_sort(&job->show, job->places, n, str_of(job->options->sort),
                         &job->arena, err) < 0)
        return -1;
    for (i = 0; job->options->reverse && i < n / 2; i++) {
        uint32_t place = job->places[i];

        job->places[i] = job->places[n - 1 - i];
        job->places[n - 1 - i] = place;
    }
    if (job->n > job->options->top) {
        for (i = job->options->top; i < job->n; i++)
            job->keep[job->places[i]] = false;
        job->n = job->options->top;
    }
    return 0;
}

/* "320 tensors, 25,610,205 values: NaN 0, Inf 0": sums over the listed tensors, tied
 * ones counted once. */
static void write_sum(struct job *job)
{
    const struct session *session = job->session;
    uint64_t tensors = 0, values = 0, nan = 0, inf = 0;
    struct buf line = BUF_INIT;

    for (uint32_t i = 0; i < job->n; i++) {
        uint32_t tensor = session->model->object[job->places[i]];
        const struct stats *stats = session_known(session, tensor);

        tensors++;
        if (!stats || !counts_here(session->model, job->places[i]))
            continue;
        values += stats->count;
        nan += stats->nan;
        inf += stats->pos_inf + stats->neg_inf;
    }
    text_commas(&line, tensors);
    buf_text(&line, tensors == 1 ? " tensor, " : " tensors, ");
    text_commas(&line, values);
    buf_text(&line, " values: NaN ");
    text_commas(&line, nan);
    buf_text(&line, ", Inf ");
    text_commas(&line, inf);
    buf_text(&line,
             session->run ? "; as recorded: the elements are not in the file\n" : "\n");
    out_str(&job->cli->out, buf_span(&line));
    buf_release(&line);
}

static int write_text(struct job *job, struct err *err)
{
    struct stats_table table = {
        .show = &job->show,
        .places = job->places,
        .n = job->n,
        .width = job->cli->columns,
        .ascii = job->cli->ascii,
        .isolate = job->cli->isolate,
        .exponents = job->options->histogram,
    };

    if (stats_table_text(&job->cli->out, &table, err) < 0)
        return -1;
    write_sum(job);
    return 0;
}

static int write_all(struct job *job, struct err *err)
{
    struct export_choice choice = {job->keep};
    struct json json;

    if (job->cli->json) {
        json_init_text(&json, &job->cli->out);
        export_stats_json(&json, job->session, choice, job->complete);
    } else if (job->cli->csv) {
        export_stats_csv(&job->cli->out, job->session, choice);
    } else {
        return write_text(job, err);
    }
    return 0;
}

static int stats_file(struct job *job, const char *path, struct err *err)
{
    struct err stopped = {0};

    job->session = session_open(path, &job->cli->work, err);
    if (!job->session || show_init(&job->show, job->session, &job->arena, err) < 0 ||
        choose(job, err) < 0)
        return -1;
    if (measure(job, &stopped) < 0 && stopped.code != ERR_CANCELLED) {
        *err = stopped;
        return -1;
    }
    if (arrange(job, err) < 0 || write_all(job, err) < 0)
        return -1;
    if (!job->complete)
        return err_set(err, ERR_CANCELLED, "stopped: %u tensors were measured", job->n);
    return 0;
}

static int stats_run(int argc, char **argv)
{
    struct stats_options options = {.top = UINT32_MAX};
    struct job job = {.options = &options};
    struct err err = {0};
    struct cli cli;
    int status = STATUS_FINE;

    if (cli_begin(&cli, &stats_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (argc != 1) {
        cli_say("usage: torchoscope stats FILE");
        return cli_end(&cli, STATUS_TROUBLE);
    }
    job.cli = &cli;
    arena_init(&job.arena, 4 * GIB);
    if (stats_file(&job, argv[0], &err) < 0)
        status = cli_fail(&err);
    else
        status = speak_status(&job.show);
    session_close(job.session);
    arena_release(&job.arena);
    return cli_end(&cli, status);
}

const struct command stats_command = {
    .name = "stats",
    .summary = "print statistics of all tensors",
    .usage = "FILE [OPTION]...",
    .details = "Ctrl-C stops and writes what was measured so far (exit status 2).\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = stats_run,
};
