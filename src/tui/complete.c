/* Completion of a command line: commands, then a command's arguments, or names. Each
 * choice is the text after the command's name; tui_complete() adds the name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/folder.h"
#include "compare/diff_text.h"
#include "export/exporters.h"
#include "rows/files_view.h"
#include "rows/labels.h"
#include "text/escape.h"
#include "tui/commands_in.h"

#define MOST_NAMES 60

static void offer(struct menu *to, struct str typed, const char *word,
                  const char *about)
{
    if (str_starts_word(str_of(word), typed))
        menu_add(to, 0, str_of(word), str_of(about));
}

/* ---- names ---- */

/* "Conv2d(64→64, 3×3)" */
static void add_about(struct buf *to, const struct explorer *explorer, uint32_t place)
{
    struct row row = {.place = place, .count = 1, .above = NO_ROW};
    struct label label = {0};

    label_make(&label, &explorer->show, &row, LABEL_NAME);
    buf_str(to, buf_span(&label.type));
    if (label.args.len > 0)
        buf_printf(to, label.brackets ? "(%s)" : " %s", buf_cstr(&label.args));
    label_release(&label);
}

static void offer_place(const struct explorer *explorer, uint32_t place,
                        struct buf *path, struct menu *to)
{
    struct buf about = BUF_INIT;

    buf_clear(path);
    if (explorer->pair)
        diff_node_name(&explorer->pair->diff, place, path);
    else
        place_path(explorer->show.model, place, path);
    add_about(&about, explorer, place);
    menu_add(to, 0, buf_span(path), buf_span(&about));
    buf_release(&about);
}

/* The text up to the last dot is a place; offer its children. Only one level, like a
 * shell, because there may be a million names. */
void complete_names(struct tui *tui, struct str words, struct menu *to)
{
    const struct explorer *explorer = &tui->explorer;
    ptrdiff_t dot = str_find_last_char(words, '.');
    struct str head = dot < 0 ? STR("") : str_head(words, (size_t)dot);
    struct str tail = dot < 0 ? words : str_from(words, (size_t)dot + 1);
    const struct diff *diff = explorer->pair ? &explorer->pair->diff : NULL;
    const struct model *model = explorer->show.model;
    struct buf path = BUF_INIT;
    uint32_t place, n = 0, end;

    if (!tui->exploring || tui->files)
        return;
    if (diff ? link_find(explorer, head, &place, NULL) < 0
             : (place = place_find(model, head)) == NO_PLACE)
        return;
    end = diff ? diff->nodes[place].end : model->end[place];
    for (uint32_t c = place + 1; c < end && n < MOST_NAMES;
         c = diff ? diff->nodes[c].end : model->end[c]) {
        struct str name = diff ? diff->nodes[c].name : place_name(model, c);

        if (!str_starts(name, tail))
            continue;
        offer_place(explorer, c, &path, to);
        n++;
    }
    buf_release(&path);
}

/* ---- files ---- */

void complete_files(struct tui *tui, struct str words, struct menu *to)
{
    ptrdiff_t slash = str_find_last_char(words, '/');
    struct str head = str_head(words, (size_t)(slash + 1));
    struct str tail = str_from(words, (size_t)(slash + 1));
    struct buf path = BUF_INIT;
    struct arena arena;
    struct folder folder;
    uint32_t n = 0;

    (void)tui;
    typed_path(&path, head.len ? head : STR("."));
    arena_init(&arena, GIB);
    if (folder_open(&folder, buf_cstr(&path), &arena, NULL) == 0) {
        for (uint32_t i = 0; i < folder.n && n < MOST_NAMES; i++) {
            const struct folder_entry *entry = &folder.entries[i];

            if (!str_starts(entry->name, tail) ||
                (entry->name.at[0] == '.' && tail.len == 0))
                continue;
            buf_clear(&path);
            buf_str(&path, head);
            buf_str(&path, entry->name);
            buf_text(&path, entry->is_folder ? "/" : "");
            menu_add(to, 0, buf_span(&path), STR(""));
            n++;
        }
        folder_close(&folder);
    }
    arena_release(&arena);
    buf_release(&path);
}

/* Offer the model's name with the extension of every format; once a folder is typed,
 * its content. */
void complete_exports(struct tui *tui, struct str words, struct menu *to)
{
    bool live = tui->exploring && link_is_live(&tui->explorer);
    struct str stem = STR("model");
    struct buf name = BUF_INIT;
    ptrdiff_t dot;

    if (!tui->exploring || tui->explorer.pair || str_find_last_char(words, '/') >= 0) {
        complete_files(tui, words, to);
        return;
    }
    if (!live) {
        stem = str_of(tui->explorer.session->model->path);
        stem = str_from(stem, (size_t)(str_find_last_char(stem, '/') + 1));
        dot = str_find_last_char(stem, '.');
        stem = dot > 0 ? str_head(stem, (size_t)dot) : stem;
    }
    for (size_t i = 0; i < n_exporters; i++) {
        buf_clear(&name);
        buf_printf(&name, "%.*s.%s", STR_ARG(stem), exporters[i].suffix);
        offer(to, words, buf_cstr(&name), exporters[i].about);
    }
    buf_release(&name);
}

/* ---- words ---- */

void complete_orders(struct tui *tui, struct str words, struct menu *to)
{
    for (int i = 0; tui->files && i < FILES_SORT_COUNT; i++)
        offer(to, words, files_orders[i].word, files_orders[i].about);
    if (tui->files)
        return;
    for (int i = 0; i < SORT_COUNT; i++)
        if (sort_offered(tui, (enum rows_sort)i))
            offer(to, words, rows_orders[i].word, rows_orders[i].about);
}

/* A list of files can be filtered by verdict. */
void complete_filters(struct tui *tui, struct str words, struct menu *to)
{
    for (size_t i = 0; tui->files && i < n_files_kinds; i++)
        offer(to, words, files_kinds[i].word, files_kinds[i].about);
}

void complete_flat(struct tui *tui, struct str words, struct menu *to)
{
    (void)tui;
    offer(to, words, "leaves", "all leaf modules");
    offer(to, words, "tensors", "all tensors");
    offer(to, words, "off", "the tree");
}

/* Complete the last word of the list. */
void complete_labels(struct tui *tui, struct str words, struct menu *to)
{
    ptrdiff_t comma = str_find_last_char(words, ',');
    struct str head = str_head(words, (size_t)(comma + 1));
    struct str tail = str_from(words, (size_t)(comma + 1));
    struct buf line = BUF_INIT;

    (void)tui;
    for (size_t i = 0; i < n_label_kinds; i++) {
        if (!str_starts_word(str_of(label_kinds[i].id), tail))
            continue;
        buf_clear(&line);
        buf_str(&line, head);
        buf_text(&line, label_kinds[i].id);
        menu_add(to, 0, buf_span(&line), str_of(label_kinds[i].title));
    }
    buf_release(&line);
}

void complete_panels(struct tui *tui, struct str words, struct menu *to)
{
    (void)tui;
    for (int i = 0; i < PANEL_COUNT; i++)
        if (panels[i])
            offer(to, words, panels[i]->id, panels[i]->title);
}

static void offer_setting(struct menu *to, struct str words, const char *name,
                          struct str value, const char *about)
{
    struct buf line = BUF_INIT;

    buf_printf(&line, "%s %.*s", name, STR_ARG(value));
    offer(to, words, buf_cstr(&line), about);
    buf_release(&line);
}

void complete_settings(struct tui *tui, struct str words, struct menu *to)
{
    (void)tui;
    for (size_t i = 0; config_option(i); i++) {
        const struct option *option = config_option(i);
        struct str rest = str_of(option->value), word = STR("auto");
        bool no;
        const char *name = config_name(option, &no);

        if (option->kind == OPTION_FLAG) {
            offer_setting(to, words, name, STR("yes"), no ? "" : option->summary);
            offer_setting(to, words, name, STR("no"), no ? option->summary : "");
            continue;
        }
        do
            offer_setting(to, words, name, word, option->summary);
        while (str_split(&rest, '|', &word));
    }
}

/* ---- a line ---- */

/* Prefix each choice with the command's name. */
static void add_command(const struct tui_command *command, const struct menu *from,
                        struct menu *to)
{
    struct buf line = BUF_INIT;

    for (uint32_t i = 0; i < from->n; i++) {
        buf_clear(&line);
        buf_printf(&line, "%s %.*s", command->name, STR_ARG(menu_text(from, i)));
        menu_add(to, 0, buf_span(&line), menu_about(from, i));
    }
    buf_release(&line);
}

void tui_complete(struct tui *tui, struct str line, struct menu *to)
{
    struct str words = STR("");
    const struct tui_command *command = command_of(line, &words);

    if (command && str_find_char(line, ' ') >= 0) {
        struct menu *found = calloc(1, sizeof *found);

        if (found && command->complete)
            command->complete(tui, words, found);
        if (found)
            add_command(command, found, to);
        if (found)
            menu_release(found);
        free(found);
        return;
    }
    for (size_t i = 0; i < n_tui_commands; i++) {
        char word[24]; /* the blank invites an argument */

        snprintf(word, sizeof word, "%s%s", tui_commands[i].name,
                 tui_commands[i].usage ? " " : "");
        offer(to, line, word, tui_commands[i].about);
    }
    if (line.len > 0)
        complete_names(tui, line, to);
}
