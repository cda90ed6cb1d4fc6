/* E: open the source of the selected row's class in the user's editor. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/base.h"
#include "tui/tui_in.h"

/* The readable source file and the line of a place's code. */
static bool find_code(struct tui *tui, uint32_t place, struct buf *ret_file,
                      uint32_t *ret_line)
{
    const struct model *model = tui->explorer.show.model;
    const struct object *object = NULL;
    struct class_code code = {0};
    struct arena arena;
    struct err err;

    while (place != NO_PLACE && !object) {
        if (model->kind[place] == PLACE_MODULE || model->kind[place] == PLACE_GROUP)
            object = place_object(model, place);
        place = model->parent[place];
    }
    if (!object || object->class_id == NO_CLASS)
        return false;
    arena_init(&arena, 64 << 20);
    if (class_code(model, object->class_id, &arena, &code, &err) == 0 &&
        code.file.len) {
        buf_str(ret_file, code.file);
        *ret_line = code.line ? code.line : 1;
    }
    arena_release(&arena);
    return ret_file->len && access(buf_cstr(ret_file), R_OK) == 0;
}

/* Editors with their own syntax for the line; all others take +12 FILE, like vi. */
static const struct {
    const char *name, *option; /* the option before FILE:12; NULL: none */
} others[] = {{"code", "-g"},   {"code-insiders", "-g"}, {"codium", "-g"},
              {"cursor", "-g"}, {"subl", NULL},          {"zed", NULL}};

/* $EDITOR may contain arguments: "code -w", "emacs -nw". */
#define WORDS_MOST 16

/* The arguments that make the editor open the file at a line. */
static void place_words(char *words[2], const char *editor, const char *file,
                        uint32_t line, struct buf *place)
{
    const char *slash = strrchr(editor, '/');
    const char *name = slash ? slash + 1 : editor;

    for (size_t i = 0; i < COUNT_OF(others); i++) {
        size_t n = 0;

        if (strcmp(name, others[i].name) != 0)
            continue;
        buf_printf(place, "%s:%u", file, line);
        if (others[i].option)
            words[n++] = (char *)others[i].option;
        words[n] = (char *)buf_cstr(place);
        return;
    }
    buf_printf(place, "+%u", line);
    words[0] = (char *)buf_cstr(place);
    words[1] = (char *)file;
}

static void run_words(struct tui *tui, char *const words[])
{
    struct err err = {0};
    int status;

    if (tui->wanted->wait_begin)
        tui->wanted->wait_begin(tui->wanted->user);
    status = term_run(tui->term, words, &err);
    if (tui->wanted->wait_end)
        tui->wanted->wait_end(tui->wanted->user);
    if (status < 0 && err.code)
        tui_trouble(tui, &err, NULL);
    else if (status)
        explorer_say(&tui->explorer, "%s ended with status %d", words[0], status);
}

static void run_editor(struct tui *tui, const char *editor, const char *file,
                       uint32_t line)
{
    char *copy = strdup(editor), *words[WORDS_MOST + 3] = {0}, *rest = NULL;
    struct buf place = BUF_INIT;
    size_t n = 0;

    for (char *word = copy ? strtok_r(copy, " ", &rest) : NULL; word && n < WORDS_MOST;
         word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    if (n > 0) {
        place_words(words + n, words[0], file, line, &place);
        run_words(tui, words);
    }
    buf_release(&place);
    free(copy);
}

void edit_source(struct tui *tui)
{
    const char *editor = getenv("VISUAL");
    struct buf file = BUF_INIT;
    uint32_t line = 1;

    if (!editor || !*editor)
        editor = getenv("EDITOR");
    if (!editor || !*editor)
        editor = "vi";
    if (tui->explorer.pair || !find_code(tui, tui_row(tui).place, &file, &line))
        explorer_say(&tui->explorer, "the source of this row is not here");
    else if (tui->term)
        run_editor(tui, editor, buf_cstr(&file), line);
    buf_release(&file);
}
