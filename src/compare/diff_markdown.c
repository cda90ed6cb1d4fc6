/* The rows of a diff as a table in Markdown, for the text of a pull request. */
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

/* A fence that no line inside can end. */
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

int diff_markdown(struct buf *to, const struct diff *diff, bool all, struct err *err)
{
    struct diff_rows rows = {.all = all};
    struct buf text = BUF_INIT, python = BUF_INIT;
    struct arena arena;
    int status = -1;

    arena_init(&arena, 4 * GIB);
    rows.arena = &arena;
    if (diff_rows_make(&rows, diff, err) < 0 || diff_python(&python, diff, err) < 0)
        goto out;
    status = 0;
    add_title(to, diff);
    if (diff_equal(diff))
        diff_same(&text, diff);
    else
        diff_counts(&text, diff);
    escape_markdown(to, buf_span(&text));
    buf_char(to, '\n');
    buf_clear(&text);
    if (!diff_equal(diff))
        diff_sentence(&text, diff);
    if (text.len > 0) {
        buf_char(to, '\n');
        escape_markdown(to, buf_span(&text));
        buf_char(to, '\n');
    }
    buf_clear(&text);
    if (!diff_equal(diff) && python.len == 0)
        diff_load_sentence(&text, diff);
    if (text.len > 0) {
        buf_char(to, '\n');
        escape_markdown(to, buf_span(&text));
        buf_char(to, '\n');
    }
    if (rows.n > 0)
        buf_text(to, "\n| | what | tensors | how |\n| --- | --- | --- | --- |\n");
    for (uint32_t i = 0; i < rows.n; i++)
        add_row(to, &rows.at[i]);
    if (python.len > 0)
        add_fenced(to, buf_span(&python));

out:
    buf_release(&text);
    buf_release(&python);
    arena_release(&arena);
    return status;
}
