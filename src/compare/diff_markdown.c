/* A diff in Markdown, for a pull request: the rows are a table. */
#include "base/base.h"
#include "compare/diff_text.h"
#include "text/escape.h"

static void add_row(struct buf *to, const struct diff_row *row)
{
    buf_text(to, "| ");
    escape_markdown(to, str_of(row->sign));
    buf_text(to, " | ");
    escape_markdown(to, row->what);
    buf_text(to, " | ");
    escape_markdown(to, row->amount);
    buf_text(to, row->amount.len > 0 ? " | " : "| ");
    escape_markdown(to, row->rest);
    buf_text(to, row->rest.len > 0 ? " |\n" : "|\n");
}

/* Longer than any fence inside, so that no line of the code ends it. */
static void add_fenced(struct buf *to, struct str code)
{
    size_t longest = 2, run = 0;

    for (size_t i = 0; i < code.len; i++) {
        run = code.at[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    buf_char(to, '\n');
    buf_fill(to, '`', longest + 1);
    buf_text(to, "python\n");
    buf_str(to, code);
    buf_fill(to, '`', longest + 1);
    buf_char(to, '\n');
}

static void add_title(struct buf *to, const struct diff *diff)
{
    struct buf name = BUF_INIT;

    buf_text(to, "**");
    for (int right = 0; right < 2; right++) {
        buf_clear(&name);
        escape_terminal(&name, diff_file(diff, right));
        escape_markdown(to, buf_span(&name));
        buf_text(to, right ? "**: " : " → ");
    }
    buf_release(&name);
}

static void add_paragraph(struct buf *to, const struct buf *text)
{
    if (text->len == 0)
        return;
    buf_char(to, '\n');
    escape_markdown(to, buf_span(text));
    buf_char(to, '\n');
}

int diff_markdown(struct buf *to, const struct diff *diff, bool all, struct err *err)
{
    struct diff_report report;

    if (diff_report_make(&report, diff, all, err) < 0)
        return -1;
    add_title(to, diff);
    escape_markdown(to, buf_span(&report.counts));
    buf_char(to, '\n');
    add_paragraph(to, &report.sentence);
    add_paragraph(to, &report.load);
    if (report.rows.n > 0)
        buf_text(to, "\n| | what | tensors | how |\n| --- | --- | --- | --- |\n");
    for (uint32_t i = 0; i < report.rows.n; i++)
        add_row(to, &report.rows.at[i]);
    if (report.python.len > 0)
        add_fenced(to, buf_span(&report.python));
    add_paragraph(to, &report.errors);
    diff_report_release(&report);
    return 0;
}
