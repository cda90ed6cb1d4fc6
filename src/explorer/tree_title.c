/* The title line and the status line. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "compare/diff_view.h"
#include "explorer/tree_writer_in.h"
#include "facts/summary.h"
#include "rows/run_words.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/width.h"

#define MOST_FACTS   8
#define MANY_ROWS    1000 /* from here on the position is also shown in percent */
#define NARROW_TITLE 50
#define NARROW_ALARM 24 /* a title this narrow shows only the verdict */
#define GAP          2  /* cells between the left and right part */

/* A line with facts on the left, most important first, and on the right, most
 * important last. */
struct note {
    struct buf text;
    enum colour colour;
    unsigned keep;  /* the lowest is dropped first */
    size_t cuts[2]; /* lengths to shorten it to, in order; 0: none */
    size_t prefix;  /* leading bytes that may be dropped */
};
struct tree_title_facts {
    struct note at[MOST_FACTS];
    unsigned first, n; /* the facts shown */
};

static struct buf *fact(struct tree_title_facts *facts, enum colour colour)
{
    struct note *next = &facts->at[facts->n < MOST_FACTS ? facts->n++ : MOST_FACTS - 1];

    next->colour = colour;
    next->keep = MOST_FACTS - facts->n;
    next->prefix = next->cuts[0] = next->cuts[1] = 0;
    buf_clear(&next->text);
    return &next->text;
}

/* Removes a fact that turned out to be empty. */
static void fact_end(struct tree_title_facts *facts)
{
    if (facts->n > 0 && facts->at[facts->n - 1].text.len == 0)
        facts->n--;
}

static void facts_release(struct tree_title_facts *facts)
{
    for (unsigned i = 0; i < MOST_FACTS; i++)
        buf_release(&facts->at[i].text);
}

static size_t facts_width(const struct tree_title_facts *facts)
{
    size_t sum = 0;

    for (unsigned i = facts->first; i < facts->n; i++)
        sum += text_width(buf_span(&facts->at[i].text)) + (i > facts->first ? 3 : 0);
    return sum;
}

static bool fits(const struct tree_title_facts *left,
                 const struct tree_title_facts *right, unsigned width)
{
    size_t other = facts_width(right);

    return 1 + facts_width(left) + (other > 0 ? other + GAP : 0) <= width;
}

static void put_facts(struct lines *to, const struct tree_title_facts *facts)
{
    for (unsigned i = facts->first; i < facts->n; i++) {
        if (i > facts->first)
            lines_text(to, COLOUR_NONE, "   ");
        lines_add(to, facts->at[i].colour, 0, buf_span(&facts->at[i].text));
    }
}

/* Cuts the first fact on the left, a name or path, and keeps its end. */
static void cut_first(struct tree_title_facts *left,
                      const struct tree_title_facts *right, unsigned width)
{
    struct buf *text = &left->at[0].text, cut = BUF_INIT;
    size_t other = facts_width(right) + GAP + 1;

    if (left->n == 0)
        return;
    text_cut_front(&cut, buf_span(text), width > other ? width - other : 0, "…");
    buf_clear(text);
    buf_str(text, buf_span(&cut));
    buf_release(&cut);
}

/* Drops the least important fact, but never the first. */
static void drop(struct tree_title_facts *facts)
{
    unsigned least = facts->n - 1;
    struct note note;

    for (unsigned i = 1; i < facts->n; i++)
        if (facts->at[i].keep < facts->at[least].keep)
            least = i;
    note = facts->at[least];
    for (unsigned i = least; i + 1 < facts->n; i++)
        facts->at[i] = facts->at[i + 1];
    facts->at[--facts->n] = note; /* keep it, to release its memory later */
}

/* If space is short, facts on the left are dropped first, then those on the right up
 * to an alarm; the last on the right stays. */
static void write_line(struct lines *to, struct tree_title_facts *left,
                       struct tree_title_facts *right, unsigned width)
{
    size_t other;

    while (left->n > 1 && !fits(left, right, width))
        drop(left);
    while (right->n > right->first + 1 && !fits(left, right, width) &&
           (right->at[right->first].colour != COLOUR_ALARM || width < NARROW_ALARM))
        right->first++;
    if (!fits(left, right, width))
        cut_first(left, right, width);
    lines_text(to, COLOUR_NONE, " ");
    put_facts(to, left);
    other = facts_width(right);
    if (lines_width(to) + other <= width) {
        lines_pad(to, width - other);
        put_facts(to, right);
    }
    lines_pad(to, width);
    lines_end(to);
}

/* --- The title */

/* "25.6M params, all trainable (30.1M untied)", "2.0M of 25.6M trainable". May be
 * cut before the bracket, then after the total. */
static void add_params(struct tree_title_facts *left, const struct counts *counts)
{
    struct buf *to = fact(left, COLOUR_NONE);
    struct note *note = &left->at[left->n - 1];
    bool known = counts->trainable > 0 || counts->frozen > 0;
    bool whole =
        counts->trainable == counts->params || counts->frozen == counts->params;

    note->keep = MOST_FACTS; /* more than the format */
    if (!known || whole) {
        text_count(to, counts->params);
        buf_text(to, " params");
        note->cuts[1] = to->len;
        buf_text(to, known ? ", " : "");
    }
    summary_trainable(to, counts);
    if (counts->stored > counts->params) {
        note->cuts[0] = to->len;
        buf_text(to, " (");
        text_count(to, counts->stored);
        buf_text(to, " untied)");
    }
}

static void add_title_left(struct tree_title_facts *left,
                           const struct explorer *explorer)
{
    const struct show *show = &explorer->show;
    const struct counts *total = &show->session->total;
    struct buf *name = fact(left, COLOUR_NONE);

    if (show->model->live && place_class(show->model, 0).len > 0)
        escape_terminal(name, class_short(place_class(show->model, 0)));
    else
        escape_terminal(name, show->file_name);
    if (show->model->live) {
        buf_text(name, "  live");
    } else {
        escape_terminal(fact(left, COLOUR_NONE), str_of(show->model->format));
        fact_end(left);
    }
    if (!show->activity && !show->model->live)
        text_plural(fact(left, COLOUR_NONE), total->tensors, "tensor", "tensors");
    add_params(left, total);
    text_bytes(fact(left, COLOUR_NONE), counts_bytes(&show->session->places, 0));
}

/* "✗ NaN", "✗ raised": from the run or from measured tensors. */
static void add_alarm(struct tree_title_facts *right, const struct explorer *explorer)
{
    const struct activities *activity = explorer->show.activity;
    const struct measured *measured = &explorer->alarms.measured;
    uint32_t producer = activity ? activity->first_producer : NO_PLACE;

    if (activity && activity->raised != NO_PLACE)
        buf_text(fact(right, COLOUR_ALARM), "✗ raised");
    else if (producer != NO_PLACE || measured->spoilt > 0)
        buf_printf(fact(right, COLOUR_ALARM), "✗ %s",
                   measured->nan ||
                           (producer != NO_PLACE && activity->at[producer].nan > 0)
                       ? "NaN"
                       : "Inf");
}

/* "step 409   loss 0.1072", "at step 315 of 317" */
static void add_step(struct tree_title_facts *right, const struct explorer *explorer)
{
    const struct history_summary *sum = explorer->session->training;
    bool trains = sum->phases[HISTORY_TRAIN].rows > 0;
    uint64_t last = sum->phases[trains ? HISTORY_TRAIN : HISTORY_EVAL].last;
    struct buf *text = fact(right, COLOUR_NONE);

    if (explorer->step != STEP_NEWEST) {
        right->at[right->n - 1].colour = COLOUR_FOCUS;
        buf_printf(text, "at step %" PRIu64 " of %" PRIu64, explorer->step, last);
        return;
    }
    if (!trains && sum->phases[HISTORY_EVAL].rows == 0) {
        buf_text(text, "no step was logged yet");
        return;
    }
    buf_printf(text, "step %" PRIu64, last);
    if (sum->has_loss) {
        text = fact(right, isfinite(sum->newest_loss) ? COLOUR_NONE : COLOUR_ALARM);
        buf_text(text, "loss ");
        text_real(text, sum->newest_loss);
    }
}

/* "✗ 1 alarm", "! 2 warnings" of a training run */
static void add_training_alarms(struct tree_title_facts *right,
                                const struct history_summary *sum)
{
    if (sum->alarms[SEVERITY_ALARM] > 0) {
        struct buf *text = fact(right, COLOUR_ALARM);

        buf_text(text, "✗ ");
        text_plural(text, sum->alarms[SEVERITY_ALARM], "alarm", "alarms");
    } else if (sum->alarms[SEVERITY_WARNING] > 0) {
        struct buf *text = fact(right, COLOUR_WARNING);

        buf_text(text, "! ");
        text_plural(text, sum->alarms[SEVERITY_WARNING], "warning", "warnings");
    }
}

static void add_title_right(struct tree_title_facts *right,
                            const struct explorer *explorer)
{
    const struct show *show = &explorer->show;
    const struct view *view = browse_view(explorer->browse);
    enum verdict verdict = show->session->verdict.verdict;
    bool leaves = view->flat == FLAT_LEAVES;

    if (view->flat != FLAT_NO) {
        struct buf *text = fact(right, COLOUR_NONE);

        buf_text(text, "flat: ");
        text_plural(text, browse_rows(explorer->browse)->n, leaves ? "leaf" : "tensor",
                    leaves ? "leaves" : "tensors");
        if (explorer->step != STEP_NEWEST)
            add_step(right, explorer);
    } else if (explorer_follows(explorer)) {
        add_step(right, explorer);
    } else if (show->activity && show->activity->total_ns > 0) {
        struct buf *text = fact(right, COLOUR_NONE);

        buf_text(text, "forward ");
        right->at[right->n - 1].prefix = text->len;
        run_time(text, show->activity->total_ns);
    }
    add_alarm(right, explorer);
    if (explorer_follows(explorer))
        add_training_alarms(right, show->session->training);
    if (show->model->partial)
        buf_text(fact(right, COLOUR_WARNING), "incomplete");
    if (session_judged(show->session) && !show->model->live)
        buf_text(fact(right, summary_verdict_colour(verdict)),
                 summary_verdict_word(verdict));
}

/* Shortens the parameters before they are dropped. */
static void shorten_params(struct tree_title_facts *left,
                           const struct tree_title_facts *right, unsigned width)
{
    for (size_t i = 0; i < COUNT_OF(left->at[0].cuts); i++) {
        struct tree_title_facts kept = {.n = 0};

        for (unsigned k = 0; k < left->n; k++)
            if (k == 0 || left->at[k].keep == MOST_FACTS)
                kept.at[kept.n++] = left->at[k];
        if (width >= NARROW_TITLE && fits(&kept, right, width))
            continue;
        for (unsigned k = 0; k < left->n; k++)
            if (left->at[k].cuts[i] > 0)
                left->at[k].text.len = left->at[k].cuts[i];
    }
}

/* Shortens "forward 87.29ms" to 87.29ms before facts on the left are dropped. */
static void shorten_time(struct tree_title_facts *right)
{
    struct note *time = &right->at[0];

    if (right->n > 0 && time->prefix > 0) {
        memmove(time->text.at, time->text.at + time->prefix,
                time->text.len - time->prefix + 1);
        time->text.len -= time->prefix;
    }
}

/* "8.2G FLOPs by 54 of 175 ops, all matrix work" after the time; only the number, or
 * nothing, if space is short. */
static void add_flops(struct tree_title_facts *left, struct tree_title_facts *right,
                      const struct show *show, unsigned width)
{
    const struct op_sum *sum = show->ops ? &show->ops[0] : NULL;
    struct buf *time = &right->at[0].text;
    size_t without = time->len, number;

    if (!sum || sum->flops == 0 || right->n == 0 || right->at[0].prefix == 0)
        return;
    buf_text(time, sum->matrix_unknown > 0 ? "   ≥" : "   ");
    text_flops(time, sum->flops);
    buf_text(time, " FLOPs");
    number = time->len;
    buf_text(time, " by ");
    text_commas(time, sum->count - sum->unknown);
    buf_text(time, " of ");
    text_plural(time, sum->count, "op", "ops");
    buf_text(time, sum->matrix_unknown > 0 ? "" : ", all matrix work");
    if (!fits(left, right, width))
        time->len = number;
    if (!fits(left, right, width))
        time->len = without;
}

void title_line(struct lines *to, struct explorer *explorer, unsigned width)
{
    struct tree_title_facts left = {.n = 0}, right = {.n = 0};

    if (explorer->show.pair) {
        diff_title(to, explorer->show.pair, width);
        return;
    }
    add_title_left(&left, explorer);
    add_title_right(&right, explorer);
    if (fits(&left, &right, width))
        add_flops(&left, &right, &explorer->show, width);
    else
        shorten_time(&right);
    shorten_params(&left, &right, width);
    write_line(to, &left, &right, width);
    facts_release(&left);
    facts_release(&right);
}

/* --- The status */

/* "transformer.h.0-11": the full name of a row; for the root, its file's name. */
static void add_path(struct buf *to, const struct label *label)
{
    buf_str(to, buf_span(&label->name));
}

static void add_shapes(struct buf *to, const struct show *show, const struct row *row)
{
    struct buf out = BUF_INIT;

    column_figure(to, column_find(STR("in")), show, row);
    column_figure(&out, column_find(STR("out")), show, row);
    if (out.len > 0) {
        buf_text(to, to->len > 0 ? " → " : "");
        buf_str(to, buf_span(&out));
    }
    buf_release(&out);
}

/* What the row is: "Conv2d(64→64, 3×3)", "12 equal GPT2Block", "global
 * posix.system". */
static void add_what(struct tree_title_facts *left, const struct show *show,
                     const struct row *row, const struct label *label)
{
    const struct model *model = show->model;
    struct buf *what = fact(left, COLOUR_NONE);

    if (row->flags & ROW_RUN && !(row->flags & ROW_PAIRS)) {
        struct str class_name = class_short(place_class(model, row->place));

        text_commas(what, row->count);
        buf_text(what, " equal ");
        escape_terminal(what, class_name.len > 0 ? class_name : STR("modules"));
    } else if (model->kind[row->place] == PLACE_VALUE && label->sign.len > 0) {
        const struct value *value = value_at(&model->values, model->object[row->place]);

        buf_text(what, "global ");
        escape_terminal(what, model_string(model, value->text));
    } else {
        buf_str(what, buf_span(&label->type));
        if (label->args.len > 0 && tree_shows_args(show, row))
            buf_printf(what, label->brackets ? "(%s)" : " %s", buf_cstr(&label->args));
    }
    fact_end(left);
}

/* Shapes, or the share of the run if shapes are columns. */
static void add_ran(struct tree_title_facts *left, const struct explorer *explorer,
                    const struct row *row)
{
    const struct show *show = &explorer->show;
    bool shapes =
        label_is_on(&explorer->labels, "in") && label_is_on(&explorer->labels, "out");
    struct buf *what = fact(left, COLOUR_NONE);

    if (!shapes && browse_view(explorer->browse)->flat == FLAT_NO) {
        add_shapes(what, show, row);
    } else if (show->activity->total_ns > 0 && row_run(show, row, RUN_CALLS) > 0) {
        run_share(what, row_run(show, row, RUN_TOTAL), show->activity->total_ns);
        buf_text(what, " of run");
    }
    fact_end(left);
}

static void add_status_left(struct tree_title_facts *left,
                            const struct explorer *explorer, const struct row *row)
{
    const struct show *show = &explorer->show;
    struct label label = {.ascii = false};

    label_make(&label, show, row, LABEL_PATH);
    add_path(fact(left, COLOUR_STRONG), &label);
    if (row->place != 0 && !(row->flags & ROW_MORE)) {
        add_what(left, show, row, &label);
        if (row_params(show, row) > 0 && !(row->flags & ROW_RUN)) {
            struct buf *params = fact(left, COLOUR_NONE);

            text_count(params, row_params(show, row));
            buf_text(params, " params");
        }
        if (show->activity)
            add_ran(left, explorer, row);
        if (row->flags & ROW_RUN)
            buf_text(fact(left, COLOUR_DIM), "X shows them one by one");
    }
    label_release(&label);
}

/* "1 of 16 matches", "3 of 53 Conv2d". */
static void add_which(struct tree_title_facts *right, const struct browse *browse,
                      const struct row *row)
{
    struct buf *text = fact(right, COLOUR_NONE);
    uint32_t which, of;
    struct str class_name;

    if (browse_filter(browse).len > 0) {
        text_commas(text, browse_match_number(browse));
        buf_text(text, " of ");
        text_plural(text, browse_matches(browse), "match", "matches");
    } else if (row->place != 0 && !(row->flags & ROW_RUN) &&
               browse_same(browse, &which, &of, &class_name)) {
        text_commas(text, which);
        buf_text(text, " of ");
        text_commas(text, of);
        buf_char(text, ' ');
        escape_terminal(text, class_name);
    }
    fact_end(right);
}

/* "1 finding, ! goes to it", if the row has one. */
static void add_findings(struct tree_title_facts *right,
                         const struct explorer *explorer, const struct row *row)
{
    const struct alarms *alarms = &explorer->alarms;
    bool here = row->place == 0 && alarms->n > 0;
    struct buf *text = fact(right, COLOUR_WARNING);

    for (uint32_t i = 0; i < alarms->n && !here; i++)
        here = alarms->at[i].place == row->place;
    if (here) {
        if (alarms->at[0].time > 0)
            text_plural(text, alarms->n, "alarm", "alarms");
        else
            text_plural(text, alarms->n, "finding", "findings");
        buf_text(text, alarms->n == 1 ? ", ! goes to it" : ", ! goes on");
    }
    fact_end(right);
}

static void add_position(struct tree_title_facts *right,
                         const struct explorer *explorer, const struct row *row)
{
    uint32_t n = browse_rows(explorer->browse)->n;
    uint32_t cursor = browse_cursor(explorer->browse) + 1;
    struct buf *text = fact(right, COLOUR_NONE);

    buf_text(text, "row ");
    text_commas(text, cursor);
    buf_char(text, '/');
    text_commas(text, n);
    if (row->place == 0 && !explorer->show.pair && !(row->flags & ROW_MORE)) {
        buf_text(text, " · ");
        text_plural(text, explorer->show.session->total.modules, "module", "modules");
    } else if (n >= MANY_ROWS) {
        buf_text(text, "   ");
        run_share(text, cursor, n);
    }
}

void status_line(struct lines *to, struct explorer *explorer, unsigned width)
{
    const struct rows *rows = browse_rows(explorer->browse);
    uint32_t cursor = browse_cursor(explorer->browse);
    struct tree_title_facts left = {.n = 0}, right = {.n = 0};

    if (explorer->message.len > 0) {
        text_cut(fact(&left, COLOUR_NONE), buf_span(&explorer->message),
                 width > 2 ? width - 2 : 0, "…");
    } else if (cursor < rows->n) {
        struct row row = rows_at(rows, cursor);

        if (explorer->show.pair)
            diff_status(fact(&left, COLOUR_NONE), &explorer->show, &row);
        else
            add_status_left(&left, explorer, &row);
        add_which(&right, explorer->browse, &row);
        if (!explorer->show.pair)
            add_findings(&right, explorer, &row);
        add_position(&right, explorer, &row);
    }
    write_line(to, &left, &right, width);
    facts_release(&left);
    facts_release(&right);
}
