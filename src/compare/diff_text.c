#include "compare/diff_text.h"

#include "base/base.h"
#include "base/out.h"
#include "text/text.h"

#define MOST_WHAT   48 /* cells of the first column */
#define LEAST_WHAT  12
#define MOST_PYTHON 60 /* lines, without --all */

/* ---- sums in words ---- */

static void add_state(struct buf *to, uint32_t n, const char *what, bool always)
{
    if (n == 0 && !always)
        return;
    buf_text(to, to->len > 0 && to->at[to->len - 1] == ' ' ? "" : ", ");
    text_commas(to, n);
    buf_printf(to, " %s", what);
}

static uint32_t count_asked(const struct diff *diff)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < diff->n_pairs; i++)
        n += diff->pairs[i].state == DIFF_UNREAD && !diff->pairs[i].why;
    return n;
}

void diff_counts(struct buf *to, const struct diff *diff)
{
    const struct diff_sums *total = &diff->total;
    const uint32_t *states = total->states;
    uint32_t alike = count_asked(diff);

    text_commas(to, total->tensors);
    buf_text(to, total->tensors == 1 ? " tensor: " : " tensors: ");
    if (diff->values) {
        add_state(to, states[DIFF_SAME], "same", true);
        add_state(to, states[DIFF_CLOSE], "close", false);
        add_state(to, states[DIFF_CHANGED], "changed", true);
    } else {
        add_state(to, states[DIFF_SAME] + alike, "alike", true);
    }
    add_state(to, states[DIFF_RETYPED], "of another dtype", false);
    add_state(to, states[DIFF_RESHAPED], "reshaped", true);
    add_state(to, states[DIFF_JOINED], "joined or split", false);
    add_state(to, states[DIFF_LEFT] + states[DIFF_RIGHT], "only in one", true);
    add_state(to, states[DIFF_UNREAD] - (diff->values ? 0 : alike), "not compared",
              false);
    add_state(to, total->renamed, "renamed", false);
    if (!diff->values)
        buf_text(to, ", values not compared");
    if (!diff->complete)
        buf_text(to, ", stopped");
}

/* The removed prefixes: " but for module. on the left" */
static void add_prefixes(struct buf *to, const struct diff *diff)
{
    bool left = diff->left_prefix.len > 0, right = diff->right_prefix.len > 0;

    if (!left && !right)
        return;
    buf_text(to, " except for ");
    if (left) {
        escape_terminal(to, diff->left_prefix);
        buf_text(to, " on the left");
    }
    if (left && right)
        buf_text(to, " and ");
    if (right) {
        escape_terminal(to, diff->right_prefix);
        buf_text(to, " on the right");
    }
}

/* "a.pth does not load where b.pth is expected (...): 4 keys missing, 2 unexpected";
 * nothing if it loads, renamed or not. */
static void add_load(struct buf *to, const struct diff *diff)
{
    const struct diff_load *load = &diff->load;

    if (diff->loads || diff->total.tensors == 0)
        return;
    escape_terminal(to, diff_file(diff, false));
    buf_text(to, " does not load where ");
    escape_terminal(to, diff_file(diff, true));
    buf_text(to, " is expected (load_state_dict(strict=True)): ");
    add_state(to, load->missing, load->missing == 1 ? "key missing" : "keys missing",
              false);
    add_state(to, load->unexpected, "unexpected", false);
    add_state(to, load->reshaped, "of another shape", false);
    add_state(to, load->packed, "quantised or packed: renaming is not enough", false);
}

void diff_same(struct buf *to, const struct diff *diff)
{
    escape_terminal(to, diff_file(diff, false));
    buf_text(to, " and ");
    escape_terminal(to, diff_file(diff, true));
    buf_text(to, diff->values ? " are the same" : " have the same structure");
    add_prefixes(to, diff);
    buf_text(to, ": ");
    text_commas(to, diff->total.tensors);
    buf_text(to, diff->total.tensors == 1 ? " tensor, " : " tensors, ");
    if (!diff->values)
        buf_text(to, "values not compared");
    else if (diff->total.states[DIFF_CLOSE] == 0)
        buf_text(to, "all values equal");
    else
        buf_printf(to, "%u of them within the tolerance, the rest equal",
                   (unsigned)diff->total.states[DIFF_CLOSE]);
}

/* ---- the parts ---- */

int diff_report_make(struct diff_report *report, const struct diff *diff, bool all,
                     struct err *err)
{
    *report = (struct diff_report){.equal = diff_equal(diff),
                                   .rows = {.arena = &report->arena, .all = all}};
    arena_init(&report->arena, 4 * GIB);
    if (diff_rows_make(&report->rows, diff, err) < 0 ||
        diff_python(&report->python, diff, err) < 0) {
        diff_report_release(report);
        return -1;
    }
    if (report->equal) {
        diff_same(&report->counts, diff);
        return 0;
    }
    diff_counts(&report->counts, diff);
    diff_sentence(&report->sentence, diff);
    diff_error_line(&report->errors, diff);
    if (report->python.len == 0)
        add_load(&report->load, diff);
    return 0;
}

void diff_report_release(struct diff_report *report)
{
    buf_release(&report->sentence);
    buf_release(&report->load);
    buf_release(&report->counts);
    buf_release(&report->errors);
    buf_release(&report->python);
    arena_release(&report->arena);
}

/* ---- lines ---- */

struct diff_text_lines {
    const struct pen *pen;
    struct buf line;
    size_t what_cells, amount_cells; /* of the columns */
};

static bool in_columns(const struct diff_row *row)
{
    return row->amount.len > 0 || row->rest.len > 0;
}

static void measure_columns(struct diff_text_lines *lines, const struct diff_rows *rows)
{
    size_t most = MOST_WHAT, width = lines->pen->width;

    if (width > 0 && width / 2 < most)
        most = width / 2 > LEAST_WHAT ? width / 2 : LEAST_WHAT;
    for (uint32_t i = 0; i < rows->n; i++) {
        const struct diff_row *row = &rows->at[i];
        size_t cells = text_width(row->what);

        if (!in_columns(row))
            continue;
        /* A wider name gets a line of its own, or is cut. */
        if (cells > most)
            cells = width > 0 ? most : 0;
        if (cells > lines->what_cells)
            lines->what_cells = cells;
        cells = text_width(row->amount);
        if (cells > lines->amount_cells)
            lines->amount_cells = cells;
    }
}

/* A sentence, broken between words; lines after the first begin with `indent`. */
static void write_wrapped(struct diff_text_lines *lines, struct str text,
                          const char *indent)
{
    size_t width = lines->pen->width, taken = strlen(indent);

    while (text.len > 0) {
        size_t n = text.len;

        if (width > taken + 8 && text_width(text) > width - taken)
            n = text_wrap(text, width - taken);
        pen_str(lines->pen, str_head(text, n), COLOUR_NONE);
        out_char(lines->pen->out, '\n');
        text = str_from(text, n);
        while (text.len > 0 && text.at[0] == ' ')
            text = str_from(text, 1);
        if (text.len > 0)
            out_text(lines->pen->out, indent);
    }
}

static void write_columns(struct diff_text_lines *lines, const struct diff_row *row)
{
    const char *ellipsis = glyph(GLYPH_ELLIPSIS, false);
    size_t width = lines->pen->width, used;
    struct buf cell = BUF_INIT;

    buf_clear(&lines->line);
    if (width > 0)
        text_cut_front(&cell, row->what, lines->what_cells, ellipsis);
    else
        buf_str(&cell, row->what);
    text_pad(&lines->line, buf_span(&cell), lines->what_cells);
    buf_char(&lines->line, ' ');
    if (row->amount.len > 0) {
        text_pad(&lines->line, row->amount, row->rest.len ? lines->amount_cells : 0);
        buf_text(&lines->line, row->rest.len ? "  " : "");
    }
    used = text_width(buf_span(&lines->line)) + 2;
    if (width > 0 && used + text_width(row->rest) > width) {
        buf_clear(&cell);
        text_cut(&cell, row->rest, width > used + 4 ? width - used : 4, ellipsis);
        buf_str(&lines->line, buf_span(&cell));
    } else {
        buf_str(&lines->line, row->rest);
    }
    pen_line(lines->pen, &lines->line, COLOUR_NONE);
    buf_release(&cell);
}

static void write_rows(struct diff_text_lines *lines, const struct diff_rows *rows)
{
    measure_columns(lines, rows);
    for (uint32_t i = 0; i < rows->n; i++) {
        const struct diff_row *row = &rows->at[i];

        pen_str(lines->pen, str_of(row->sign), row->colour);
        out_char(lines->pen->out, ' ');
        if (in_columns(row))
            write_columns(lines, row);
        else
            write_wrapped(lines, row->what, "  ");
    }
}

/* Never wraps the lines of Python: they are for copying. */
static void write_python(struct out *out, struct str python, bool all)
{
    struct str line;
    uint32_t n = 0, more = 0;

    out_char(out, '\n');
    while (python.len > 0 && str_split(&python, '\n', &line)) {
        if (n++ >= MOST_PYTHON && !all) {
            more++;
            continue;
        }
        out_str(out, line);
        out_char(out, '\n');
    }
    if (more > 0)
        out_printf(out, "# %u more lines (--all)\n", (unsigned)more);
    out_char(out, '\n');
}

int diff_text_write(const struct pen *pen, const struct diff *diff, bool all,
                    struct err *err)
{
    struct diff_text_lines lines = {.pen = pen};
    struct diff_report report;

    if (diff_report_make(&report, diff, all, err) < 0)
        return -1;
    write_rows(&lines, &report.rows);
    write_wrapped(&lines, buf_span(report.equal ? &report.counts : &report.sentence),
                  "");
    if (report.python.len > 0)
        write_python(pen->out, buf_span(&report.python), all);
    write_wrapped(&lines, buf_span(&report.load), "");
    if (!report.equal)
        write_wrapped(&lines, buf_span(&report.counts), "");
    write_wrapped(&lines, buf_span(&report.errors), "");
    buf_release(&lines.line);
    diff_report_release(&report);
    return 0;
}
