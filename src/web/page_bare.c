#include <string.h>

#include "base/base.h"
#include "export/export.h"
#include "export/look/look.h"
#include "rows/columns.h"
#include "web/page_file_in.h"

void page_string(struct buf *to, struct str text)
{
    struct out out;

    out_init_buf(&out, to);
    look_json(&out, text);
}

void page_columns(struct buf *to)
{
    for (size_t i = 0; i < n_column_table; i++)
        if (export_rows_has(&column_table[i]))
            buf_printf(to, "%s%s", to->len > 0 ? "," : "", column_table[i].id);
}

/* Can a path begin here: at the start of a string or after a word of a sentence? */
static bool before_path(char c)
{
    return c == '"' || c == ' ' || c == '(' || c == '\'' || c == '=' || c == ',';
}

static bool in_path(char c)
{
    return c != '"' && c != ' ' && c != '(' && c != ')' && c != '\'' && c != ',' &&
           c != ';' && c != ':' && c != '\\' && c != '<' && c != '>';
}

/* The length of the folders of the path at `at`, with the last '/'; 0: none. */
static size_t folders(struct str text, size_t at)
{
    size_t last = at, end = at + 1;

    for (; end < text.len && in_path(text.at[end]); end++)
        if (text.at[end] == '/')
            last = end;
    return last > at ? last + 1 - at : 0;
}

void page_without_paths(struct buf *to, struct str document, struct str folder)
{
    size_t plain = 0;

    for (size_t i = 1; i < document.len; i++) {
        size_t skip = 0;

        if (!before_path(document.at[i - 1]))
            continue;
        if (folder.len > 1 && str_starts(str_from(document, i), folder))
            skip = folder.len;
        else if (document.at[i] == '/')
            skip = folders(document, i);
        if (skip == 0)
            continue;
        buf_add(to, document.at + plain, i - plain);
        plain = i + skip;
        i = plain - 1;
    }
    buf_add(to, document.at + plain, document.len - plain);
}
