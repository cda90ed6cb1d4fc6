/* The details of a row: facts, statistics of its values, and pictures of kept ones.
 * Three JSON lists; an empty last one is omitted. */
#include <inttypes.h>

#include "base/base.h"
#include "export/page/page_in.h"
#include "export/page/report_in.h"
#include "facts/details.h"
#include "facts/run_text.h"
#include "facts/statistics.h"
#include "text/escape.h"
#include "text/number.h"

static void put_words(struct report *r, const char *words)
{
    buf_text(&r->spare, words);
    report_text(r);
}

/* The fact in `spare`. Names repeat: each is interned as its number is written. */
static void put_fact(struct report *r, const char *name, bool *first)
{
    struct buf value = r->spare;

    if (value.len == 0)
        return;
    r->spare = r->other;
    out_text(r->out, *first ? "" : ",");
    *first = false;
    put_words(r, name);
    out_char(r->out, ',');
    r->other = r->spare;
    r->spare = value;
    report_text(r);
}

static void put_column(struct report *r, const char *name, enum report_cell id,
                       const struct row *row, bool *first)
{
    report_cell(&r->spare, r, id, row);
    put_fact(r, name, first);
}

static void put_run_facts(struct report *r, const struct row *row, bool *first)
{
    const struct activity *at = &r->show.activity->at[row->place];
    const struct run_call *newest;

    put_column(r, "input", CELL_IN, row, first);
    put_column(r, "by itself", CELL_SELF, row, first);
    if (at->calls > 1)
        put_column(r, "each call", CELL_AVERAGE, row, first);
    put_column(r, "backward", CELL_BACKWARD, row, first);
    put_column(r, "output memory", CELL_OUT_MEM, row, first);
    if (at->gap != RUN_NONE) {
        escape_terminal(&r->spare, run_string(r->run, r->run->gaps[at->gap].text));
        put_fact(r, "not seen", first);
    }
    if (at->newest == RUN_NONE)
        return;
    newest = &r->run->calls[at->newest];
    escape_terminal(&r->spare, run_string(r->run, newest->line));
    put_fact(r, "called at", first);
    if (newest->flags & RUN_RAISED && newest->error) {
        escape_terminal(&r->spare, run_string(r->run, newest->error));
        put_fact(r, "raised", first);
    }
}

/* The facts that `show` prints. */
static void put_details(struct report *r, uint32_t place, bool *first)
{
    facts_clear(&r->facts);
    if (r->model->kind[place] == PLACE_TENSOR)
        details_tensor(&r->facts, &r->show, place, false);
    else if (r->model->kind[place] != PLACE_VALUE)
        details_module(&r->facts, &r->show, place, DETAILS_UNTITLED);
    for (uint32_t i = 0; i < r->facts.n; i++) {
        const struct fact *fact = &r->facts.at[i];

        if (!fact->label)
            continue;
        for (uint32_t k = 0; k < fact->n; k += fact_group_length(&r->facts, fact, k)) {
            buf_text(&r->spare, k > 0 ? ", " : "");
            buf_str(&r->spare, fact_group_text(&r->facts, fact, k));
        }
        put_fact(r, fact->label, first);
    }
}

static void put_facts(struct report *r, const struct row *row)
{
    enum place_kind kind = r->model->kind[row->place];
    bool first = true;

    out_char(r->out, '[');
    put_details(r, row->place, &first);
    if (kind != PLACE_VALUE) {
        if (row_params(&r->show, row) >= 1000)
            put_column(r, "parameters", CELL_COUNT, row, &first);
        if (row_bytes(&r->show, row) >= 1024)
            put_column(r, "bytes", CELL_BYTES, row, &first);
        if (row->place == 0 || show_is_leaf(r->model, row->place))
            put_column(r, "device", CELL_DEVICE, row, &first);
    }
    if (r->show.activity && kind == PLACE_MODULE)
        put_run_facts(r, row, &first);
    out_char(r->out, ']');
}

/* The number in `spare`, not interned: few numbers repeat. */
static void put_drawn(struct report *r)
{
    page_minus(&r->spare, 0);
    out_text(r->out, ",\"");
    out_str(r->out, buf_span(&r->spare));
    out_char(r->out, '"');
    buf_clear(&r->spare);
}

static void put_number(struct report *r, double value)
{
    text_real_long(&r->spare, value);
    put_drawn(r);
}

static void put_extreme(struct report *r, const struct stats *stats, bool max)
{
    statistics_extreme(&r->spare, stats, max);
    put_drawn(r);
}

/* min, max, mean, std, zeros, non-finite count; or why they are unknown. */
static void put_stats(struct report *r, const struct stats *stats, struct str why)
{
    bool measured = stats && stats_measured(stats);

    if (!measured) {
        for (int i = 0; i < 5; i++) {
            out_char(r->out, ',');
            put_words(r, "–");
        }
    } else {
        put_extreme(r, stats, false);
        put_extreme(r, stats, true);
        put_number(r, stats->mean);
        put_number(r, stats_std(stats));
        text_commas(&r->spare, stats->zeros);
        out_char(r->out, ',');
        report_text(r);
    }
    out_char(r->out, ',');
    if (stats && stats_finite(stats) < stats->count) { /* a list marks an alarm */
        out_char(r->out, '[');
        run_not_finite(&r->spare, stats->nan, stats->pos_inf + stats->neg_inf);
        report_text(r);
        out_char(r->out, ']');
        return;
    }
    if (!stats)
        escape_terminal(&r->spare, why);
    else
        buf_text(&r->spare, stats->sampled ? "none seen in a sample" : "none");
    report_text(r);
}

static void put_tensor(struct report *r, uint32_t place, bool *first)
{
    const struct tensor *tensor = place_tensor(r->model, place);
    uint32_t index = r->model->object[place];
    const char *why = session_why(r->session, index);

    out_text(r->out, *first ? "" : ",");
    *first = false;
    escape_terminal(&r->spare, place_name(r->model, place));
    report_text(r);
    out_char(r->out, ',');
    text_shape(&r->spare, tensor_shape(r->model, tensor), tensor->rank);
    report_text(r);
    out_char(r->out, ',');
    put_words(r, dtype_name(tensor->dtype));
    put_stats(r, session_known(r->session, index), str_of(why ? why : "not read"));
}

/* A value of the run; its name is "`what` `name`". */
static void put_value(struct report *r, uint32_t id, const char *what, struct str name,
                      bool *first)
{
    const struct run_value *value = &r->run->values[id];

    out_text(r->out, *first ? "" : ",");
    *first = false;
    buf_printf(&r->spare, "%s ", what);
    escape_terminal(&r->spare, name);
    report_text(r);
    out_char(r->out, ',');
    run_shape(&r->spare, r->run, id);
    report_text(r);
    out_char(r->out, ',');
    put_words(r, dtype_name(value->dtype));
    put_stats(r, value->stats == RUN_NONE ? NULL : &r->run->stats[value->stats],
              value->why ? run_string(r->run, value->why) : STR("not measured"));
}

static void put_io(struct report *r, const struct run_io *io, bool *first)
{
    static const char *const names[] = {"input", "output", "gradient of output",
                                        "gradient of input"};

    put_value(r, io->value, names[io->kind & 3], run_string(r->run, io->path), first);
}

/* A parameter or buffer, and its gradient if recorded. */
static void put_tensor_and_gradient(struct report *r, uint32_t place, bool *first)
{
    uint32_t gradient =
        r->gradient_of ? r->gradient_of[r->model->object[place]] : RUN_NONE;

    put_tensor(r, place, first);
    if (gradient != RUN_NONE)
        put_value(r, gradient, "gradient of", place_name(r->model, place), first);
}

int report_find_gradients(struct report *r, struct err *err)
{
    if (!r->run || r->run->n_params == 0)
        return 0;
    r->gradient_of =
        arena_array(&r->arena, r->model->n_tensors + 1u, sizeof *r->gradient_of);
    if (!r->gradient_of)
        return arena_err(&r->arena, "the report", err);
    for (uint32_t i = 0; i < r->model->n_tensors; i++)
        r->gradient_of[i] = RUN_NONE;
    for (uint32_t i = 0; i < r->run->n_params; i++) { /* in order of time */
        const struct run_param *param = &r->run->params[i];

        if (param->gradient && param->tensor < r->model->n_tensors)
            r->gradient_of[param->tensor] = param->value;
    }
    return 0;
}

#define MOST_VALUES 64 /* per call */

/* The newest call of a place, or NULL. */
static const struct run_call *newest_call(const struct report *r, uint32_t place)
{
    uint32_t call = r->show.activity && r->model->kind[place] == PLACE_MODULE
                        ? r->show.activity->at[place].newest
                        : RUN_NONE;

    return call == RUN_NONE ? NULL : &r->run->calls[call];
}

static void put_values(struct report *r, uint32_t place)
{
    const struct model *model = r->model;
    const struct run_call *call = newest_call(r, place);
    bool first = true;

    out_text(r->out, ",[");
    if (model->kind[place] == PLACE_TENSOR)
        put_tensor_and_gradient(r, place, &first);
    for (uint32_t i = 0; call && i < call->n_ios && i < MOST_VALUES; i++)
        if (r->run->ios[call->ios + i].value != RUN_NONE)
            put_io(r, &r->run->ios[call->ios + i], &first);
    if (model->kind[place] == PLACE_MODULE)
        for (uint32_t c = place_first(model, place); c != NO_PLACE;
             c = place_next(model, c))
            if (model->kind[c] == PLACE_TENSOR && !(model->flags[c] & PLACE_EMPTY))
                put_tensor_and_gradient(r, c, &first);
    out_char(r->out, ']');
}

/* The kept values of its newest call: results first. */
static void put_pictures(struct report *r, uint32_t place)
{
    static const enum run_io_kind order[] = {RUN_OUT, RUN_IN};
    const struct run_call *call = newest_call(r, place);
    uint32_t last = RUN_NONE;
    bool first = true;

    if (!call || !r->picture_of)
        return;
    for (size_t k = 0; k < COUNT_OF(order); k++)
        for (uint32_t i = 0; i < call->n_ios && i < MOST_VALUES; i++) {
            const struct run_io *io = &r->run->ios[call->ios + i];
            uint32_t picture;

            if (io->kind != order[k] || io->value == RUN_NONE || io->value == last)
                continue;
            last = io->value;
            picture = report_picture(r, io->value);
            if (picture == UINT32_MAX)
                continue;
            out_printf(r->out, "%s", first ? ",[" : ",");
            first = false;
            put_words(r, order[k] == RUN_OUT ? "output" : "input");
            out_printf(r->out, ",%" PRIu32, picture);
        }
    if (!first)
        out_char(r->out, ']');
}

void report_details(struct report *r, const struct row *row)
{
    put_facts(r, row);
    put_values(r, row->place);
    put_pictures(r, row->place);
}
