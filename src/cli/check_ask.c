/* torchoscope check: reads --allow and --expect. */
#include "base/base.h"
#include "base/blob.h"
#include "cli/check_in.h"

#define ALLOW_LIMIT  (1 * MIB)
#define EXPECT_LIMIT (1 * GIB)

static int load(struct check_run *run, const char *path, uint64_t limit,
                struct str *ret_text, struct err *err)
{
    struct blob *blob = blob_open_file(path, err);
    int status;

    if (!blob)
        return -1;
    if (blob->size > limit)
        status = err_set(err, ERR_LIMIT, "%s is larger than %zu MB", path,
                         (size_t)(limit / MIB));
    else
        status = blob_load(blob, 0, blob->size, &run->arena, ret_text, err);
    blob_close(blob);
    return status;
}

static int add_pattern(struct check_run *run, const char ***patterns, uint32_t *room,
                       struct str text, struct err *err)
{
    char *copy = arena_printf(&run->arena, "%.*s", STR_ARG(text));

    if (!copy ||
        arena_room(&run->arena, patterns, run->allow.n, room, sizeof **patterns) < 0)
        return arena_err(&run->arena, "the list of patterns", err);
    (*patterns)[run->allow.n++] = copy;
    return 0;
}

/* One pattern per line; lines that begin with # are comments. */
int check_ask_allow(struct check_run *run, struct err *err)
{
    const struct option_list *words = &run->options->allow;
    const char **patterns = NULL;
    struct str text = {0}, line;
    uint32_t room = 0;

    for (uint32_t i = 0; i < words->n; i++)
        if (add_pattern(run, &patterns, &room, str_of(words->words[i]), err) < 0)
            return -1;
    if (run->options->allow_file &&
        load(run, run->options->allow_file, ALLOW_LIMIT, &text, err) < 0)
        return -1;
    while (text.at && str_split(&text, '\n', &line)) {
        line = str_trim(line);
        if (line.len == 0 || line.at[0] == '#')
            continue;
        if (add_pattern(run, &patterns, &room, line, err) < 0)
            return -1;
    }
    run->allow.patterns = patterns;
    return 0;
}

int check_ask_expect(struct check_run *run, struct err *err)
{
    const char *path = run->options->expect;
    struct str text;

    if (!path)
        return 0;
    if (load(run, path, EXPECT_LIMIT, &text, err) < 0)
        return -1;
    return expect_read(text, path, &run->arena, &run->expectation, err);
}
