/* A tree as a table in Markdown: for a README, an issue, a pull request. */
#include "base/base.h"
#include "export/exporters.h"
#include "facts/notes.h"
#include "facts/run_text.h"
#include "facts/summary.h"
#include "text/escape.h"

static void write_cell(struct out *out, struct buf *spare, struct str text)
{
    buf_clear(spare);
    escape_markdown(spare, text);
    out_str(out, buf_span(spare));
}

static void write_header(struct out *out, const struct printed *printed)
{
    out_text(out, "| module |");
    for (size_t c = 0; c < printed->n_columns; c++)
        out_printf(out, " %s |",
                   printed->columns[c]->header[0] ? printed->columns[c]->header
                                                  : column_title(printed->columns[c]));
    out_text(out, "\n| :--- |");
    for (size_t c = 0; c < printed->n_columns; c++)
        out_text(out, printed->columns[c]->right ? " ---: |" : " :--- |");
    out_char(out, '\n');
}

/* Levels are indented with no-break spaces: Markdown removes others. */
static void write_row(struct out *out, const struct printed *printed,
                      struct label *label, const struct row *row)
{
    struct buf cell = BUF_INIT, spare = BUF_INIT;

    label_make(label, &printed->show, row,
               printed->view.flat ? LABEL_PATH : LABEL_NAME);
    label_write(&cell, label, 0);
    out_text(out, "| ");
    for (uint32_t level = 0; level < row->depth && level < 64; level++)
        out_text(out, "&nbsp;&nbsp;");
    write_cell(out, &spare, buf_span(&cell));
    out_text(out, " |");
    for (size_t c = 0; c < printed->n_columns; c++) {
        buf_clear(&cell);
        column_figure(&cell, printed->columns[c], &printed->show, row);
        out_char(out, ' ');
        write_cell(out, &spare, buf_span(&cell));
        out_text(out, cell.len > 0 ? " |" : "|");
    }
    out_char(out, '\n');
    buf_release(&cell);
    buf_release(&spare);
}

/* A separate line that begins a paragraph or a list. */
static void write_line(struct out *out, const char *before, struct str text)
{
    struct buf line = BUF_INIT;

    escape_markdown(&line, text);
    out_text(out, before);
    out_str(out, buf_span(&line));
    out_char(out, '\n');
    buf_release(&line);
}

static int write_closing(struct out *out, struct printed *printed, struct err *err)
{
    struct facts notes = {0};
    struct buf line = BUF_INIT;
    int status = 0;

    summary_counts(&line, &printed->show);
    if (session_judged(printed->session))
        buf_text(&line, ", ");
    summary_verdict(&line, &printed->show);
    write_line(out, "\n", buf_span(&line));
    buf_release(&line);
    if (printed->show.activity) {
        run_ran(&notes, &printed->show);
        write_line(out, "\n", fact_group_text(&notes, &notes.at[0], 0));
        facts_clear(&notes);
        status = notes_run(&notes, &printed->show, err);
    }
    if (notes.n > 0)
        out_char(out, '\n');
    for (uint32_t i = 0; i < notes.n; i++)
        write_line(out, "- ", fact_group_text(&notes, &notes.at[i], 0));
    facts_release(&notes);
    return status;
}

int export_markdown(struct out *out, struct session *session,
                    const struct export_wanted *wanted, struct err *err)
{
    struct label label = {0};
    struct printed printed;
    int status = printed_begin(&printed, session, &wanted->view, err);

    if (status == 0)
        status = printed_rows(&printed, err);
    if (status == 0) {
        write_header(out, &printed);
        for (uint32_t r = 0; r < printed.rows.n; r++) {
            struct row row = rows_at(&printed.rows, r);

            write_row(out, &printed, &label, &row);
        }
        status = write_closing(out, &printed, err);
    }
    label_release(&label);
    printed_end(&printed);
    return status;
}
