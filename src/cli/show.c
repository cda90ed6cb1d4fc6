/* torchoscope show: one module, tensor or plain value, in full. */
#include <stdint.h>
#include <stdio.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/speak.h"
#include "export/export.h"
#include "facts/calls_text.h"
#include "facts/details.h"
#include "facts/ops_text.h"
#include "facts/performance.h"
#include "facts/statistics.h"
#include "rows/grid.h"
#include "session/numbers.h"
#include "text/text.h"

#define MOST_QUANTILES 64
#define MOST_CALLS     5 /* --json prints all */
#define MOST_OPS       16
#define MOST_BINS      10000u
#define JSON_CELLS     1000000u

struct show_options {
    const char *slice, *quantiles, *step;
    uint32_t bins;
    bool sha256, no_values, exact, all;
};

static const struct option options_table[] = {
    {"slice", 's', OPTION_TEXT, "SLICE", offsetof(struct show_options, slice),
     "print these values of a tensor: '[83, 220:230]', '[..., 0]', '::2, -1'"},
    {"hist", 0, OPTION_COUNT, "BINS", offsetof(struct show_options, bins),
     "print a histogram with this many bins, one per line"},
    {"quantiles", 'q', OPTION_TEXT, "LIST", offsetof(struct show_options, quantiles),
     "exact quantiles in percent: 1,50,99.9"},
    {"step", 0, OPTION_TEXT, "N", offsetof(struct show_options, step),
     "also numbers of step N of a training run, or of the newest"},
    {"sha256", 0, OPTION_FLAG, NULL, offsetof(struct show_options, sha256),
     "print the digest of the elements in C order"},
    {"exact", 0, OPTION_FLAG, NULL, offsetof(struct show_options, exact),
     "compute all sums in double precision"},
    {"no-values", 0, OPTION_FLAG, NULL, offsetof(struct show_options, no_values),
     "do not read values; print only metadata"},
    {"all", 'a', OPTION_FLAG, NULL, offsetof(struct show_options, all),
     "also role, strides, storage and device"},
};

/* State of one `show`. */
struct showing {
    struct cli *cli;
    const struct show_options *options;
    struct session *session;
    struct arena arena;
    struct show show;
    uint32_t place;
    double at[MOST_QUANTILES]; /* the quantiles to compute */
    uint32_t n_at;
    struct numbers numbers;
    struct slice slice;
    struct cells cells;
    bool has_numbers, has_cells;
};

/* ---- options ---- */

static int read_quantiles(struct showing *s, struct err *err)
{
    struct str rest =
        str_of(s->options->quantiles ? s->options->quantiles : "5,25,50,75,95");
    struct str part;
    double percent;

    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (str_ends(part, STR("%")))
            part = str_head(part, part.len - 1);
        if (!str_to_double(part, &percent) || !(percent >= 0 && percent <= 100))
            return err_set(
                err, ERR_USAGE,
                "show: --quantiles takes percents from 0 to 100, not \"%.*s\"",
                part.len > 40 ? 40 : (int)part.len, part.at);
        if (s->n_at == MOST_QUANTILES)
            return err_set(err, ERR_USAGE, "show: --quantiles takes at most %d",
                           MOST_QUANTILES);
        s->at[s->n_at++] = percent / 100;
    }
    return 0;
}

static int read_bins(const struct show_options *options, struct err *err)
{
    if (options->bins > MOST_BINS)
        return err_set(err, ERR_USAGE, "show: --hist takes at most %u", MOST_BINS);
    return 0;
}

/* ---- a tensor ---- */

static int read_numbers(struct showing *s, struct err *err)
{
    uint32_t tensor = s->session->model->object[s->place];
    struct numbers_wanted wanted = {
        .quantiles = s->at,
        .n_quantiles = s->n_at,
        .bins = s->options->bins ? s->options->bins : STATISTICS_COLUMNS,
        .sha256 = s->options->sha256,
    };

    if (session_numbers(s->session, tensor, &wanted, &s->arena, &s->cli->work,
                        &s->numbers, err) < 0)
        return session_why(s->session, tensor) ? 1 : -1;
    s->has_numbers = true;
    return 0;
}

static int read_cells(struct showing *s, struct err *err)
{
    const struct model *model = s->session->model;
    const struct tensor *tensor = place_tensor(model, s->place);
    const int64_t *shape = tensor_shape(model, tensor);
    uint64_t most = s->cli->json ? JSON_CELLS : GRID_CELLS;
    int status;

    if (s->options->slice)
        status =
            slice_parse(&s->slice, str_of(s->options->slice), shape, tensor->rank, err);
    else
        status = grid_first(&s->slice, shape, tensor->rank, err);
    if (status < 0)
        return -1;
    if (s->slice.n > most)
        return err_set(err, ERR_LIMIT,
                       "show: a slice of %llu values; at most %llu are written%s",
                       (unsigned long long)s->slice.n, (unsigned long long)most,
                       s->cli->json ? "" : " (--json: 1000000)");
    if (cells_read(model, tensor, &s->slice, &s->arena, &s->cli->work, &s->cells, err) <
        0)
        return -1;
    s->has_cells = true;
    return 0;
}

/* The histogram as a table: start of the bin, count, bar. */
static void histogram_lines(struct buf *to, const struct numbers *numbers, bool ascii)
{
    double low = numbers->stats->min, high = numbers->stats->max;
    struct buf cell = BUF_INIT;
    uint64_t most = 1;

    for (uint32_t i = 0; i < numbers->n_bins; i++)
        most = numbers->bins[i] > most ? numbers->bins[i] : most;
    for (uint32_t i = 0; i < numbers->n_bins; i++) {
        buf_clear(&cell);
        text_real_long(&cell, low + (high - low) * i / numbers->n_bins);
        text_pad_left(to, buf_span(&cell), 13);
        buf_clear(&cell);
        text_commas(&cell, numbers->bins[i]);
        text_pad_left(to, buf_span(&cell), 15);
        buf_char(to, ' ');
        glyph_bar(to, (double)numbers->bins[i] / (double)most, 40, ascii);
        while (to->len > 0 && to->at[to->len - 1] == ' ')
            to->at[--to->len] = '\0';
        buf_char(to, '\n');
    }
    buf_release(&cell);
}

static void write_tensor(struct showing *s, struct buf *to, const char *why)
{
    const struct model *model = s->session->model;
    const struct tensor *tensor = place_tensor(model, s->place);
    const char *unread = NULL;
    struct facts facts = {0};

    statistics_title(to, s->session, s->place);
    details_tensor(&facts, &s->show, s->place, s->options->all);
    facts_text(to, &facts, DETAILS_LABEL);
    facts_release(&facts);
    if (s->options->no_values)
        return;
    if (!s->has_numbers) {
        buf_printf(to, "no values: %s\n", why);
        return;
    }
    if (s->options->bins) {
        struct numbers numbers = s->numbers;

        numbers.n_bins = 0;
        statistics_text(to, model, tensor, &numbers, s->cli->ascii);
        histogram_lines(to, &s->numbers, s->cli->ascii);
    } else {
        statistics_text(to, model, tensor, &s->numbers, s->cli->ascii);
    }
    if (s->has_cells)
        grid_text(to, &s->slice, &s->cells, tensor_shape(model, tensor),
                  s->cli->columns, s->cli->ascii);
    if (s->numbers.sha256[0])
        buf_printf(to, "sha256 %s\n", s->numbers.sha256);
    if (!tensor_readable(model, tensor, &unread))
        buf_printf(to, "statistics as recorded; %s\n", unread);
}

/* ---- a module ---- */

static void write_module(struct showing *s)
{
    struct facts_look look = {.indent = DETAILS_LABEL};
    struct pen pen = cli_pen(s->cli);
    struct facts facts = {0};
    struct lines lines = {0};

    details_module(&facts, &s->show, s->place, DETAILS_NAME);
    facts_lines(&lines, &facts, &look);
    details_children(&lines, &s->show, s->place, UINT32_MAX, 2, 0);
    details_source(&lines, &s->show, s->place);
    if (s->show.activity) {
        lines_end(&lines);
        facts_clear(&facts);
        performance_place(&facts, &s->show, s->place);
        performance_lines(&lines, &facts, 0, 0);
        ops_text_slowest(&lines, &s->show, s->place, MOST_OPS, 0, 0, NULL);
        facts_clear(&facts);
        calls_facts(&facts, &s->show, s->place, MOST_CALLS);
        facts_lines(&lines, &facts, &look);
    }
    lines_print(&lines, &pen);
    lines_release(&lines);
    facts_release(&facts);
}

/* ---- output ---- */

static void write_text(struct showing *s, const char *why)
{
    struct buf text = BUF_INIT;
    struct facts facts = {0};

    switch ((enum place_kind)s->session->model->kind[s->place]) {
    case PLACE_TENSOR:
        write_tensor(s, &text, why);
        break;
    case PLACE_MODULE:
    case PLACE_GROUP:
        write_module(s);
        break;
    case PLACE_VALUE:
        details_value(&facts, &s->show, s->place);
        facts_text(&text, &facts, DETAILS_LABEL);
        break;
    }
    speak_text(s->cli, &text, COLOUR_NONE);
    facts_release(&facts);
    buf_release(&text);
}

static void write_json(struct showing *s)
{
    struct export_values values = {str_of(s->options->slice), &s->slice, &s->cells};
    struct json json;

    json_init_text(&json, &s->cli->out);
    export_show_json(&json, s->session, s->place, s->has_numbers ? &s->numbers : NULL,
                     s->has_cells && s->options->slice ? &values : NULL);
}

/* The recording as a whole. */
static void write_recording(struct showing *s)
{
    struct json json;

    json_init_text(&json, &s->cli->out);
    export_run_json(&json, s->session);
}

/* A tensor with unreadable values is shown with its known statistics. */
static int show_place(struct showing *s, struct err *err)
{
    const struct model *model = s->session->model;
    struct err why = {0};
    int status;

    if (model->kind[s->place] == PLACE_TENSOR && !s->options->no_values) {
        status = read_numbers(s, &why);
        if (status == 0 &&
            (s->options->slice ||
             tensor_readable(model, place_tensor(model, s->place), NULL)))
            status = read_cells(s, &why);
        if (status < 0) {
            *err = why;
            return -1;
        }
    }
    if (s->cli->json)
        write_json(s);
    else
        write_text(s, why.text);
    return 0;
}

static int show_file(struct showing *s, const char *path, const char *name,
                     struct err *err)
{
    struct progress progress;
    int status;

    if (read_quantiles(s, err) < 0 || read_bins(s->options, err) < 0)
        return -1;
    s->session = session_open(path, &s->cli->work, err);
    if (!s->session)
        return -1;
    if (s->options->step && session_take_step(s->session, s->options->step, err) < 0)
        return -1;
    if (s->session->run && s->cli->json && !name) {
        write_recording(s);
        return show_init(&s->show, s->session, &s->arena, err);
    }
    if (s->options->exact)
        s->session->mode = MEASURE_EXACT;
    if (session_find(s->session, str_of(name), &s->place, err) < 0 ||
        show_init(&s->show, s->session, &s->arena, err) < 0)
        return -1;
    if (show_bare(s->session->model, s->place))
        s->place = place_first(s->session->model, s->place);
    progress_begin(&progress, &s->cli->work, "show", false, s->cli->ascii);
    status = show_place(s, err);
    progress_end(&progress);
    return status;
}

static int show_run(int argc, char **argv)
{
    struct show_options options = {0};
    struct showing s = {.options = &options};
    struct err err = {0};
    struct cli cli;
    int status = STATUS_FINE;

    if (cli_begin(&cli, &show_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (argc < 1 || argc > 2 || cli.csv) {
        cli_say(cli.csv ? "show: --csv is not supported; use --json"
                        : "usage: torchoscope show FILE NAME");
        return cli_end(&cli, STATUS_TROUBLE);
    }
    s.cli = &cli;
    arena_init(&s.arena, GIB);
    if (show_file(&s, argv[0], argc > 1 ? argv[1] : NULL, &err) < 0)
        status = cli_fail(&err);
    else
        status = speak_status(&s.show);
    session_close(s.session);
    arena_release(&s.arena);
    return cli_end(&cli, status);
}

const struct command show_command = {
    .name = "show",
    .summary = "print one module, tensor or value: statistics, values, source",
    .usage = "FILE NAME [OPTION]...",
    .details = "NAME is a full name, or its end if that is unique. Without NAME it "
               "prints the\n"
               "whole file; with --json all calls of a recording.\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = show_run,
};
