#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/blob.h"
#include "cli/ops_in.h"

#define LIST_LIMIT (16 * MIB)
#define NAME_MOST  512 /* longer names are not in any list */

/* Writes a name in the form used for comparison: with its namespace, and
 * "aten::add.default" for the default overload. Returns its length; 0: too long. */
static size_t spell(char to[NAME_MOST], struct str name)
{
    ptrdiff_t colons = str_find(name, STR("::"));
    int n;

    if (colons < 0 && str_starts(name, STR("aten.")))
        n = snprintf(to, NAME_MOST, "aten::%.*s", STR_ARG(str_from(name, 5)));
    else
        n = snprintf(to, NAME_MOST, "%s%.*s", colons < 0 ? "aten::" : "",
                     STR_ARG(name));
    return n > 0 && n < NAME_MOST ? (size_t)n : 0;
}

static int add_line(struct ops_allowed *allowed, struct str line, struct arena *arena)
{
    ptrdiff_t comment = str_find_char(line, '#');
    char spelt[NAME_MOST];
    struct str name;
    uint32_t index;
    size_t n;

    if (comment >= 0)
        line = str_head(line, (size_t)comment);
    line = str_trim(line);
    n = spell(spelt, line);
    if (line.len == 0 || n == 0)
        return 0;
    name = arena_str(arena, str_span(spelt, n));
    return name.at && name_map_add(&allowed->names, name, &index) >= 0 ? 0 : -1;
}

int ops_allowed_read(struct ops_allowed *allowed, const char *path, struct arena *arena,
                     struct err *err)
{
    struct blob *blob = blob_open_file(path, err);
    struct str text = {0}, line;
    int status;

    if (!blob)
        return -1;
    if (blob->size > LIST_LIMIT)
        status = err_set(err, ERR_LIMIT, "%s is larger than %zu MB", path,
                         (size_t)(LIST_LIMIT / MIB));
    else
        status = blob_load(blob, 0, blob->size, arena, &text, err);
    blob_close(blob);
    name_map_init(&allowed->names, arena);
    while (status == 0 && text.at && str_split(&text, '\n', &line))
        if (add_line(allowed, line, arena) < 0)
            status = arena_err(arena, "the list of operations", err);
    return status;
}

bool ops_is_allowed(const struct ops_allowed *allowed, struct str name,
                    struct str overload)
{
    char spelt[NAME_MOST], full[NAME_MOST];
    size_t n = spell(spelt, name);
    uint32_t index;
    int length;

    if (n == 0)
        return false;
    if (name_map_find(&allowed->names, str_span(spelt, n), &index))
        return true;
    length = snprintf(full, sizeof full, "%s.%.*s", spelt,
                      STR_ARG(overload.len ? overload : STR("default")));
    return length < NAME_MOST &&
           name_map_find(&allowed->names, str_span(full, (size_t)length), &index);
}
