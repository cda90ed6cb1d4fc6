#include "facts/printed.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "facts/notes.h"
#include "facts/run_text.h"
#include "facts/summary.h"
#include "facts/totals.h"
#include "rows/below.h"
#include "rows/search.h"
#include "rows/textual.h"
#include "text/escape.h"
#include "text/nearest.h"

#define FEW_COLUMNS   100 /* cells; narrower recordings have fewer columns */
#define MOST_FINDINGS 20  /* lines; JSON lists all */

/* --- The request */

static int unknown_column(struct str id, struct err *err)
{
    char word[32];
    const char *nearest;

    snprintf(word, sizeof(word), "%.*s", STR_ARG(id));
    nearest = text_nearest(word, &column_table[0].id, n_column_table,
                           sizeof(column_table[0]));
    if (nearest)
        return err_set(err, ERR_USAGE, "unknown column \"%s\"; did you mean %s?", word,
                       nearest);
    return err_set(err, ERR_USAGE, "unknown column \"%s\"; --columns help lists them",
                   word);
}

static const char *usual_run_columns(const struct printed *printed, unsigned width)
{
    bool spoilt = printed->show.activity->spoilt_call != RUN_NONE;

    width = width > 0 ? width : UINT_MAX;
    if (printed->view.flat == FLAT_TENSORS)
        return "params,memory";
    if (width < TEXTUAL_NARROW)
        return spoilt ? "nan,time" : "time";
    if (width < FEW_COLUMNS)
        return spoilt ? "params,nan,time,timebar" : "params,time,timebar";
    if (printed->show.activity->device_ns > 0)
        return spoilt
                   ? "params,in,out,nan,flops,calls,time,time%,self,device_time,timebar"
                   : "params,in,out,flops,calls,time,time%,self,device_time,timebar";
    return spoilt ? "params,in,out,nan,flops,calls,time,time%,self,timebar"
                  : "params,in,out,flops,calls,time,time%,self,timebar";
}

/* The default columns of a summary, with or without a run. */
static const char *usual_summary_columns(const struct printed *printed, unsigned width)
{
    const struct counts *total = &printed->session->total;
    bool spoilt =
        printed->show.activity && printed->show.activity->spoilt_call != RUN_NONE;
    bool mixed = total->trainable > 0 && total->frozen > 0;

    width = width > 0 ? width : UINT_MAX;
    if (!printed->show.activity)
        return mixed ? "params,percent,bar,trainable" : "params,percent,bar";
    if (width < TEXTUAL_NARROW)
        return spoilt ? "params,nan" : "params,out";
    if (width < FEW_COLUMNS)
        return spoilt ? "params,out,nan,time" : "params,percent,out,time";
    if (mixed)
        return spoilt ? "params,percent,bar,trainable,in,out,nan,flops,calls,time"
                      : "params,percent,bar,trainable,in,out,flops,calls,time";
    return spoilt ? "params,percent,bar,in,out,nan,flops,calls,time"
                  : "params,percent,bar,in,out,flops,calls,time";
}

/* The default columns at a step of a training run. */
static const char *usual_step_columns(const struct printed *printed, unsigned width)
{
    width = width > 0 ? width : UINT_MAX;
    if (width < TEXTUAL_NARROW)
        return "grad";
    return printed->show.step->known >> STEP_DEAD & 1 ? "params,weight,grad,update,dead"
                                                      : "params,weight,grad,update";
}

/* The default columns. If tensors have their own rows, their labels have the shapes. */
static const char *usual_columns(const struct printed *printed, unsigned width)
{
    if (printed->totals)
        return usual_summary_columns(printed, width);
    if (printed->show.step)
        return usual_step_columns(printed, width);
    if (printed->show.activity)
        return usual_run_columns(printed, width);
    if (printed->view.flat == FLAT_TENSORS || printed->view.all)
        return "params,percent,memory";
    return "params,percent,memory,shapes";
}

/* Columns that sum up everything below each row need an index. */
static void make_index(struct printed *printed)
{
    static const char *const ids[] = {"dtype", "device", "trainable", "grad"};

    for (size_t i = 0; i < printed->n_columns; i++)
        for (size_t k = 0; k < COUNT_OF(ids) && !printed->show.index; k++)
            if (printed->columns[i] == column_find(str_of(ids[k])))
                below_index(&printed->show, &printed->arena);
}

static int choose_columns(struct printed *printed, const struct printed_wanted *wanted,
                          struct err *err)
{
    const char *list =
        wanted->columns ? wanted->columns : usual_columns(printed, wanted->width);
    struct str rest = str_of(list), id;

    while (rest.len > 0 && str_split(&rest, ',', &id)) {
        const struct column *column = column_find(str_trim(id));

        if (str_is(str_trim(id), "name") || str_trim(id).len == 0)
            continue; /* the name is always shown */
        if (!column)
            return unknown_column(id, err);
        if (!wanted->columns && str_is(str_trim(id), "flops") && !printed->show.ops)
            continue; /* operations were not recorded */
        if (printed->n_columns == PRINTED_COLUMNS)
            return err_set(err, ERR_USAGE, "at most %d columns", PRINTED_COLUMNS);
        printed->columns[printed->n_columns++] = column;
    }
    printed->chosen = wanted->columns != NULL;
    printed->show.gaps_in_out = true;
    for (size_t i = 0; i < printed->n_columns; i++)
        if (printed->columns[i] == column_find(STR("time")))
            printed->show.gaps_in_out = false;
    make_index(printed);
    return 0;
}

/* Columns and orders of a training run use the numbers of its newest step, unless the
 * session has selected another. */
static int take_newest_step(struct printed *printed, struct err *err)
{
    const struct session *session = printed->session;
    enum rows_sort sort = printed->view.sort;
    bool wanted = sort >= SORT_GRAD && sort <= SORT_WEIGHT;
    struct at_step *at;

    for (size_t i = 0; i < printed->n_columns; i++)
        wanted = wanted || column_at_step(printed->columns[i]);
    if (!wanted || printed->show.step || !session->history)
        return 0;
    at = arena_alloc(&printed->arena, sizeof *at);
    if (!at)
        return arena_err(&printed->arena, "the numbers of a step", err);
    if (at_step_read(session->history, session->model, STEP_NEWEST, &printed->arena, at,
                     err) < 0)
        return -1;
    printed->show.step = at;
    return 0;
}

static int choose_sort(struct printed *printed, const char *word, struct err *err)
{
    enum rows_sort sort = rows_order_find(str_of(word));

    if (sort == SORT_MODEL || sort > SORT_WEIGHT)
        return err_set(err, ERR_USAGE,
                       "unknown order \"%s\"; it is params, bytes, name, time, "
                       "self, calls, flops, ops, grad, update or weight",
                       word);
    printed->view.sort = sort;
    if (sort >= SORT_UPDATE && !printed->session->history)
        return err_set(err, ERR_USAGE,
                       "%s: --sort %s is for training runs; this file has no history",
                       printed->show.model->path, word);
    if (sort >= SORT_GRAD && printed->session->history)
        return 0;
    if (sort >= SORT_FLOPS && sort <= SORT_OPS && printed->show.activity &&
        !printed->show.ops)
        return err_set(err, ERR_USAGE,
                       "%s: --sort %s is for recordings with operations",
                       printed->show.model->path, word);
    if (sort < SORT_TIME || printed->show.activity)
        return 0;
    return err_set(err, ERR_USAGE,
                   "%s: --sort %s is for recordings; nothing was called here",
                   printed->show.model->path, word);
}

static int choose_filter(struct printed *printed, const char *pattern, struct err *err)
{
    uint32_t n = printed->show.model->n_places;
    struct search *search = search_new(str_of(pattern), err);
    uint8_t *match, *keep;
    int status;

    if (!search)
        return -1;
    match = arena_alloc(&printed->arena, bit_bytes(n));
    keep = arena_alloc(&printed->arena, bit_bytes(n));
    if (match && keep)
        status =
            search_all(search, &printed->show, match, keep, &printed->matches, err);
    else
        status = arena_err(&printed->arena, "the filter", err);
    search_free(search);
    printed->view.keep = keep;
    printed->view.match = match;
    return status;
}

int printed_begin(struct printed *printed, const struct session *session,
                  const struct printed_wanted *wanted, struct err *err)
{
    *printed = (struct printed){.session = session, .totals = wanted->totals};
    arena_init(&printed->arena, 0);
    printed->view = (struct view){.depth = wanted->depth,
                                  .top = wanted->top,
                                  .reverse = wanted->reverse,
                                  .all = wanted->all,
                                  .no_runs = wanted->expand || wanted->all,
                                  .blocks = wanted->totals};
    if (wanted->flat)
        printed->view.flat =
            strcmp(wanted->flat, "tensors") == 0 ? FLAT_TENSORS : FLAT_LEAVES;
    if (show_init(&printed->show, session, &printed->arena, err) < 0 ||
        (wanted->sort && choose_sort(printed, wanted->sort, err) < 0) ||
        take_newest_step(printed, err) < 0 || /* decides the default columns */
        choose_columns(printed, wanted, err) < 0 || take_newest_step(printed, err) < 0)
        return -1;
    return wanted->filter ? choose_filter(printed, wanted->filter, err) : 0;
}

bool printed_wants_values(const struct printed *printed)
{
    bool wants = false;

    for (size_t i = 0; i < printed->n_columns; i++)
        wants |= printed->columns[i] == column_find(STR("zeros")) ||
                 printed->columns[i] == column_find(STR("nan"));
    return wants && !printed->show.activity;
}

void printed_end(struct printed *printed)
{
    arena_release(&printed->arena);
}

int printed_rows(struct printed *printed, struct err *err)
{
    if (printed->rows.cells)
        return 0;
    return rows_make(&printed->rows, &printed->show, &printed->view, &printed->arena,
                     err);
}

/* --- Text */

void printed_findings(const struct pen *pen, const struct model *model, uint32_t most)
{
    struct facts notes = {0};

    notes_findings(&notes, model, 0, most);
    notes_print(pen, &notes);
    if (model->n_findings > most)
        out_printf(pen->out, "%" PRIu32 " more: --json lists them all\n",
                   model->n_findings - most);
    facts_release(&notes);
}

/* "10 tensors, 62,006 parameters, torch legacy file, ✓ SAFE" */
static void write_counts(const struct printed *printed, const struct pen *pen,
                         bool narrow)
{
    enum verdict verdict = printed->session->verdict.verdict;
    bool judged = session_judged(printed->session);
    struct buf line = BUF_INIT;

    if (!narrow) {
        summary_counts(&line, &printed->show);
        buf_text(&line, judged ? ", " : "\n");
        pen_text(pen, &line, COLOUR_NONE);
        buf_clear(&line);
    }
    if (judged && (!narrow || verdict != VERDICT_SAFE)) {
        summary_verdict(&line, &printed->show);
        pen_line(pen, &line, summary_verdict_colour(verdict));
    }
    buf_release(&line);
}

int printed_run_notes(const struct pen *pen, const struct show *show, struct err *err)
{
    struct facts notes = {0};
    int status;

    if (!show->activity)
        return 0;
    status = notes_run(&notes, show, err);
    notes_print(pen, &notes);
    facts_release(&notes);
    return status;
}

/* "numbers of step 1200" */
static void write_step(const struct printed *printed, const struct pen *pen)
{
    struct buf line = BUF_INIT;

    if (!printed->show.step)
        return;
    buf_text(&line, printed->show.step->step.merged > 0 ? "numbers of " : "");
    at_step_text(&line, printed->show.step);
    pen_line(pen, &line, COLOUR_NONE);
    buf_release(&line);
}

/* What ran, and the notes about it. */
static int write_run(struct printed *printed, const struct pen *pen, struct err *err)
{
    struct facts ran = {0};

    if (!printed->show.activity)
        return 0;
    run_ran(&ran, &printed->show);
    pen_line(pen, &ran.text, COLOUR_NONE);
    facts_release(&ran);
    return printed_run_notes(pen, &printed->show, err);
}

int printed_write(struct printed *printed, const struct pen *pen, bool closing,
                  struct err *err)
{
    struct textual what = {.show = &printed->show,
                           .rows = &printed->rows,
                           .columns = printed->columns,
                           .n_columns = printed->n_columns,
                           .width = pen->width,
                           .name = printed->view.flat ? LABEL_PATH : LABEL_NAME,
                           .header = printed->chosen || printed->totals ||
                                     printed->show.activity,
                           .ascii = pen->ascii,
                           .colour = pen->colour,
                           .isolate = pen->isolate};
    bool narrow = pen->width > 0 && pen->width < TEXTUAL_NARROW && !what.header;

    if (printed_rows(printed, err) < 0)
        return -1;
    if (narrow ? textual_narrow(pen->out, &what, err) < 0
               : textual_wide(pen->out, &what, err) < 0)
        return -1;
    if (!closing)
        return 0;
    printed_findings(pen, printed->show.model, MOST_FINDINGS);
    if (printed->totals) {
        totals_write(pen, &printed->show);
        return printed_run_notes(pen, &printed->show, err);
    }
    write_counts(printed, pen, narrow);
    write_step(printed, pen);
    return write_run(printed, pen, err);
}
