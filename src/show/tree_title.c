/* The title line and the status line. */
#include <string.h>

#include "show/diff_view.h"
#include "show/run_text.h"
#include "show/summary.h"
#include "show/tree_lines.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/width.h"

#define MOST_FACTS 8

/* A line with facts on its left, the most important first, and others on its right.
 * Where there is little room, the last on the left goes first. */
struct facts {
    struct buf at[MOST_FACTS];
    unsigned n;
};

static struct buf *fact(struct facts *facts)
{
    struct buf *next =
        &facts->at[facts->n < MOST_FACTS - 1 ? facts->n : MOST_FACTS - 1];

    facts->n += facts->n < MOST_FACTS;
    return next;
}

static void facts_release(struct facts *facts)
{
    for (unsigned i = 0; i < MOST_FACTS; i++)
        buf_release(&facts->at[i]);
}

static size_t facts_width(const struct facts *facts, unsigned n)
{
    size_t sum = 1;

    for (unsigned i = 0; i < n; i++)
        sum += text_width(buf_span(&facts->at[i])) + (i > 0 ? 3 : 0);
    return sum;
}

/* Write both sides on a line of `width`; the last cell stays empty on the left, and the
 * right side ends at the edge. */
static void write_line(struct lines *to, struct facts *left, struct str right,
                       enum colour right_colour, unsigned width)
{
    size_t right_cells = text_width(right);
    size_t room = width > right_cells + 2 ? width - right_cells - 2 : 0;
    struct buf cut = BUF_INIT;

    while (left->n > 1 && facts_width(left, left->n) > room)
        left->n--;
    lines_text(to, COLOUR_NONE, " ");
    for (unsigned i = 0; i < left->n; i++) {
        struct str text = buf_span(&left->at[i]);

        if (i == 0) {
            text_cut_front(&cut, text, room > 1 ? room - 1 : 0, "…");
            lines_add(to, COLOUR_STRONG, 0, buf_span(&cut));
        } else {
            lines_text(to, COLOUR_NONE, "   ");
            lines_add(to, COLOUR_NONE, 0, text);
        }
    }
    buf_clear(&cut);
    if (right_cells + 1 > width)
        text_cut(&cut, right, width > 1 ? width - 1 : 0, "…");
    else
        buf_str(&cut, right);
    lines_pad(to, width - text_width(buf_span(&cut)));
    lines_add(to, right_colour, 0, buf_span(&cut));
    buf_release(&cut);
    lines_pad(to, width);
    lines_end(to);
}

/* --- The title */

static void add_count(struct buf *to, uint64_t n, const char *one, const char *many)
{
    text_commas(to, n);
    buf_printf(to, " %s", n == 1 ? one : many);
}

/* "25.6M params, all trainable", "2.0M of 25.6M trainable". */
static void add_params(struct buf *to, const struct counts *counts)
{
    bool known = counts->trainable > 0 || counts->frozen > 0;
    bool whole =
        counts->trainable == counts->params || counts->frozen == counts->params;

    if (known && !whole) {
        summary_trainable(to, counts);
    } else {
        text_count(to, counts->params);
        buf_text(to, known ? " params, " : " params");
        summary_trainable(to, counts);
    }
    if (counts->stored > counts->params) {
        buf_text(to, " (");
        text_count(to, counts->stored);
        buf_text(to, " untied)");
    }
}

static void add_title_facts(struct facts *left, const struct explorer *explorer)
{
    const struct show *show = &explorer->show;
    const struct counts *total = &show->session->total;
    struct buf *name = fact(left);

    if (show->model->live && place_class(show->model, 0).len > 0)
        escape_terminal(name, class_short(place_class(show->model, 0)));
    else
        escape_terminal(name, show->file_name);
    if (show->model->live) {
        buf_text(name, "  live");
    } else {
        escape_terminal(fact(left), str_of(show->model->format));
        add_count(fact(left), total->tensors, "tensor", "tensors");
    }
    add_params(fact(left), total);
    text_bytes(fact(left), total->bytes + (total->params ? 0 : total->other_bytes));
}

static enum colour add_title_right(struct buf *to, const struct explorer *explorer)
{
    const struct show *show = &explorer->show;
    const struct view *view = browse_view(explorer->browse);
    enum colour colour = COLOUR_NONE;

    if (view->flat != FLAT_NO) {
        buf_text(to, "flat: ");
        add_count(to, browse_rows(explorer->browse)->n,
                  view->flat == FLAT_LEAVES ? "leaf" : "tensor",
                  view->flat == FLAT_LEAVES ? "leaves" : "tensors");
        return colour;
    }
    if (show->activity && show->activity->total_ns > 0) {
        buf_text(to, "forward ");
        run_time(to, show->activity->total_ns);
    }
    if (session_judged(show->session)) {
        buf_text(to, to->len > 0 ? "   " : "");
        buf_text(to, summary_verdict_word(show->session->verdict.verdict));
        colour = summary_verdict_colour(show->session->verdict.verdict);
    }
    return colour;
}

void title_line(struct lines *to, struct explorer *explorer, unsigned width)
{
    struct facts left = {.n = 0};
    struct buf right = BUF_INIT;
    enum colour colour;

    if (explorer->show.pair) {
        diff_title(to, &explorer->show.pair->diff, width);
        return;
    }
    add_title_facts(&left, explorer);
    colour = add_title_right(&right, explorer);
    write_line(to, &left, buf_span(&right), colour, width);
    buf_release(&right);
    facts_release(&left);
}

/* --- The status */

/* "transformer.h.0-11": the full name of a row; of the root that of its file. */
static void add_path(struct buf *to, const struct show *show, const struct row *row)
{
    struct label label = {.ascii = false};

    label_make(&label, show, row, LABEL_PATH);
    buf_str(to, buf_span(&label.name));
    label_release(&label);
}

static void add_shapes(struct buf *to, const struct show *show, const struct row *row)
{
    struct buf out = BUF_INIT;

    column_find(STR("in"))->cell(to, show, row);
    column_find(STR("out"))->cell(&out, show, row);
    if (out.len > 0) {
        buf_text(to, to->len > 0 ? " → " : "");
        buf_str(to, buf_span(&out));
    }
    buf_release(&out);
}

static void add_status_facts(struct facts *left, const struct explorer *explorer,
                             const struct row *row)
{
    const struct show *show = &explorer->show;
    struct label label = {.ascii = false};
    struct buf *what;

    add_path(fact(left), show, row);
    if (row->place == 0)
        return;
    label_make(&label, show, row, LABEL_NAME);
    what = fact(left);
    buf_str(what, buf_span(&label.type));
    if (label.args.len > 0)
        buf_printf(what, label.brackets ? "(%s)" : " %s", buf_cstr(&label.args));
    label_release(&label);
    if (what->len == 0)
        left->n--;
    if (row_params(show, row) > 0) {
        what = fact(left);
        text_count(what, row_params(show, row));
        buf_text(what, " params");
    }
    if (!show->activity)
        return;
    what = fact(left);
    if (label_is_on(&explorer->labels, "in") && label_is_on(&explorer->labels, "out")) {
        if (show->activity->total_ns > 0 && row_run(show, row, RUN_CALLS) > 0) {
            run_share(what, row_run(show, row, RUN_TOTAL), show->activity->total_ns);
            buf_text(what, " of run");
        }
    } else {
        add_shapes(what, show, row);
    }
    if (what->len == 0)
        left->n--;
}

static void add_status_right(struct buf *to, const struct explorer *explorer,
                             const struct row *row)
{
    const struct browse *browse = explorer->browse;
    uint32_t which, of;
    struct str class_name;

    if (browse_filter(browse).len > 0) {
        text_commas(to, browse_match_number(browse));
        buf_text(to, " of ");
        add_count(to, browse_matches(browse), "match", "matches");
        buf_text(to, "   ");
    } else if (row->place != 0 && browse_same(browse, &which, &of, &class_name)) {
        text_commas(to, which);
        buf_text(to, " of ");
        text_commas(to, of);
        buf_char(to, ' ');
        escape_terminal(to, class_name);
        buf_text(to, "   ");
    }
    buf_text(to, "row ");
    text_commas(to, browse_cursor(browse) + 1);
    buf_char(to, '/');
    text_commas(to, browse_rows(browse)->n);
    if (row->place == 0 && !explorer->show.pair && !(row->flags & ROW_MORE)) {
        buf_text(to, " · ");
        add_count(to, explorer->show.session->total.modules, "module", "modules");
    }
}

void status_line(struct lines *to, struct explorer *explorer, unsigned width)
{
    const struct rows *rows = browse_rows(explorer->browse);
    uint32_t cursor = browse_cursor(explorer->browse);
    struct facts left = {.n = 0};
    struct buf right = BUF_INIT;

    if (explorer->message.len > 0) {
        buf_str(fact(&left), buf_span(&explorer->message));
    } else if (cursor < rows->n) {
        struct row row = rows_at(rows, cursor);

        if (explorer->show.pair)
            diff_status(fact(&left), &explorer->show, &row);
        else
            add_status_facts(&left, explorer, &row);
        add_status_right(&right, explorer, &row);
    }
    write_line(to, &left, buf_span(&right), COLOUR_NONE, width);
    buf_release(&right);
    facts_release(&left);
}
