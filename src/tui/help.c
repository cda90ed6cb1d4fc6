/* ?: all keys and commands, generated from their tables, filtered by typing. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "text/width.h"
#include "tui/draw_in.h"
#include "tui/keys.h"
#include "tui/tui_in.h"

static bool contains(const char *text, const char *part)
{
    size_t n = strlen(part);

    for (; *text; text++)
        if (strncasecmp(text, part, n) == 0)
            return true;
    return n == 0;
}

static unsigned count_keys(const struct tui *tui, size_t binding)
{
    const uint32_t *keys = keymap_keys(tui->keymap, binding);
    unsigned n = 0;

    while (n < KEYS_MOST && keys[n])
        n++;
    return n;
}

static void add_entry(struct lines *to, const char *keys, const char *about,
                      size_t width)
{
    lines_printf(to, COLOUR_STRONG, "  %s", keys);
    lines_pad(to, lines_width(to) < 12 ? 12 : lines_width(to) + 2);
    lines_wrap(to, COLOUR_NONE, str_of(about), width, 12);
}

/* List the keys that work at the current focus, or all others. Returns how many. */
static unsigned list_keys(struct tui *tui, struct lines *to, const char *filter,
                          size_t width, bool here)
{
    unsigned where = tui_where(tui), listed = 0;
    const char *part = NULL;
    struct buf keys = BUF_INIT;

    for (size_t at = 0; at < n_bindings; at++) {
        unsigned n = count_keys(tui, at);

        buf_clear(&keys);
        keymap_names(tui->keymap, at, tui->config.ascii, &keys);
        if (keymap_part(at))
            part = keymap_part(at);
        if (((bindings[at].where & where) != 0) != here || n == 0 ||
            !(contains(bindings[at].about, filter) ||
              contains(bindings[at].name, filter) || contains(buf_cstr(&keys), filter)))
            continue;
        if (part) {
            lines_printf(to, COLOUR_TYPE, " %s%s", part, here ? "" : ", elsewhere");
            lines_end(to);
            part = NULL;
        }
        add_entry(to, buf_cstr(&keys), bindings[at].about, width);
        listed += n;
    }
    buf_release(&keys);
    return listed;
}

static void list_commands(struct lines *to, const char *filter, size_t width)
{
    bool first = true;

    for (size_t i = 0; i < n_tui_commands; i++) {
        const struct tui_command *command = &tui_commands[i];
        char words[64];

        snprintf(words, sizeof(words), ":%s%s%s", command->name,
                 command->usage ? " " : "", command->usage ? command->usage : "");
        if (!contains(words, filter) && !contains(command->about, filter))
            continue;
        if (first)
            lines_text(to, COLOUR_TYPE, " commands"), lines_end(to);
        first = false;
        add_entry(to, words, command->about, width);
    }
}

void help_draw(struct tui *tui, const struct area *area)
{
    const char *filter = buf_cstr(&tui->help.filter);
    struct area rest = *area, bar;
    struct lines lines = {0};
    unsigned listed, all = 0, at;
    char found[40];

    for (unsigned row = 0; row < area->rows; row++) {
        for (unsigned i = 0; i < area->columns; i++)
            cells_text(&tui->cells, area, i, row, COLOUR_NONE, 0, STR(" "));
        cells_back(&tui->cells, area, row, COLOUR_NONE, 0);
    }
    listed = list_keys(tui, &lines, filter, area->columns - 2, true);
    listed += list_keys(tui, &lines, filter, area->columns - 2, false);
    list_commands(&lines, filter, area->columns - 2);
    for (size_t i = 0; i < n_bindings; i++)
        all += count_keys(tui, i);
    draw_rule(tui, area, "? Help", STR(""), true);
    snprintf(found, sizeof(found), " %u of %u keys ", listed, all);
    cells_text(&tui->cells, area, area->columns - (unsigned)strlen(found) - 2, 0,
               COLOUR_FOCUS, 0, str_of(found));
    at = cells_text(&tui->cells, area, 1, 1, COLOUR_DIM, 0, STR("filter: "));
    at = cells_text(&tui->cells, area, at, 1, COLOUR_NONE, 0, str_of(filter));
    tui->cells.cursor_column = area->column + at;
    tui->cells.cursor_row = area->row + 1;
    tui->cells.cursor_shown = true;
    rest.row += 2;
    rest.rows -= 2;
    draw_keep_in_sight(&tui->help.top, NULL, lines.n, rest.rows);
    for (unsigned i = 0; i < rest.rows && tui->help.top + i < lines.n; i++)
        draw_line(tui, &rest, i, &lines, tui->help.top + i);
    bar = (struct area){rest.column + rest.columns - 1, rest.row, 1, rest.rows};
    draw_scroll(tui, &bar, tui->help.top, lines.n);
    lines_release(&lines);
}

static void scroll(struct tui *tui, int by)
{
    if (by < 0)
        tui->help.top -= tui->help.top < (uint32_t)-by ? tui->help.top : (uint32_t)-by;
    else
        tui->help.top += (uint32_t)by;
}

static void filter_back(struct buf *filter)
{
    while (filter->len > 0) {
        char last = filter->at[--filter->len];

        filter->at[filter->len] = '\0';
        if ((last & 0xc0) != 0x80)
            break;
    }
}

void help_key(struct tui *tui, const struct key *key)
{
    struct help *help = &tui->help;
    int page = (int)tui->frame.body.rows - 3;
    char name[16];

    if (key->code == KEY_UP || (key->code == KEY_MOUSE && key->mouse == MOUSE_WHEEL_UP))
        scroll(tui, -1);
    else if (key->code == KEY_DOWN ||
             (key->code == KEY_MOUSE && key->mouse == MOUSE_WHEEL_DOWN))
        scroll(tui, 1);
    else if (key->code == KEY_PAGE_UP || key->code == KEY_CTRL('B'))
        scroll(tui, -page);
    else if (key->code == KEY_PAGE_DOWN || key->code == KEY_CTRL('F'))
        scroll(tui, page);
    else if (key->code == KEY_CTRL('C'))
        tui->quit = true;
    else if (key->code == KEY_ESCAPE || key->code == '\r' ||
             ((key->code == 'q' || key->code == '?') && help->filter.len == 0))
        help->open = false;
    else if (key->code == KEY_BACKSPACE)
        filter_back(&help->filter);
    else if (key->code >= 0x20 && key->code < KEY_FIRST && !key->alt) {
        key_name(name, key->code, false);
        buf_text(&help->filter, key->code == ' ' ? " " : name);
        help->top = 0;
    }
}
