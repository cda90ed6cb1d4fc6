/* The two bottom lines: position and key hints; also messages, progress, errors, the
 * prompt and menus. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/clock.h"
#include "text/glyph.h"
#include "text/progress_text.h"
#include "text/width.h"
#include "tui/draw_in.h"
#include "tui/keys.h"
#include "tui/tui_in.h"

#define MENU_ROWS 12 /* choices shown at once */

/* --- Hints */

static void add_hint(struct tui *tui, const char *keys, const char *text,
                     enum action action)
{
    struct hint *hint = &tui->hints[tui->n_hints];

    if (tui->n_hints == HINTS_MOST)
        return;
    for (unsigned i = 0; action && i < tui->n_hints; i++)
        if (tui->hints[i].action == action)
            return; /* a panel has listed it already */
    *hint = (struct hint){.action = (uint16_t)action};
    snprintf(hint->text, sizeof(hint->text), "%s %s", keys, text);
    tui->n_hints++;
}

/* Panel 7 needs a training run. */
static const char *panel_keys(const struct tui *tui)
{
    return tui->exploring && explorer_follows(&tui->explorer) ? "1-7" : "1-6";
}

/* Add the hint of an action, with the user's key for it. */
static void add_action(struct tui *tui, enum action action, const char *text)
{
    const struct binding *binding = keymap_of(tui->keymap, action, tui_where(tui));
    char name[16];

    if (!binding)
        return;
    key_name(name, keymap_keys(tui->keymap, (size_t)(binding - bindings))[0],
             tui->config.ascii);
    add_hint(tui, action == ACTION_PANEL_1 ? panel_keys(tui) : name,
             text            ? text
             : binding->hint ? binding->hint
                             : binding->name,
             action);
}

/* The user's first key for an action; "": none. */
static const struct binding *named_key(const struct tui *tui, const char *action,
                                       char name[16])
{
    name[0] = '\0';
    for (size_t i = 0; action && i < n_bindings; i++) {
        uint32_t key = keymap_keys(tui->keymap, i)[0];

        if (strcmp(bindings[i].name, action) != 0)
            continue;
        if (key)
            key_name(name, key, tui->config.ascii);
        return &bindings[i];
    }
    return NULL;
}

/* Add a hint of a panel. */
static void panel_actions(struct tui *tui, const struct panel_hint *hint)
{
    for (; hint->action; hint++) {
        char keys[40], first[16], other[16];
        const struct binding *binding = named_key(tui, hint->action, first);

        named_key(tui, hint->other, other);
        snprintf(keys, sizeof(keys), "%s%s%s", first, first[0] && other[0] ? " " : "",
                 other);
        if (keys[0] && binding)
            add_hint(tui, keys, hint->text, binding->action);
    }
}

static void tree_hints(struct tui *tui)
{
    const struct view *view = browse_view(tui->explorer.browse);
    const struct label_set *labels = &tui->explorer.labels;
    bool live = tui->explorer.show.model->live || tui->explorer.session->run;

    if (tui->explorer.pair) {
        add_action(tui, ACTION_FOLD, NULL);
        add_action(tui, ACTION_NEXT_MATCH, "next difference");
        add_action(tui, ACTION_HIDE_EQUAL, NULL);
        add_action(tui, ACTION_SEARCH, NULL);
        add_action(tui, ACTION_SORT, NULL);
    } else if (view->flat != FLAT_NO) {
        add_action(tui, ACTION_FLAT,
                   view->flat == FLAT_LEAVES ? "tensors, then tree" : "tree");
        add_action(tui, ACTION_SORT, NULL);
        add_action(tui, ACTION_SEARCH, NULL);
        add_action(tui, ACTION_ENTER, "its place");
    } else if (live && (label_is_on(labels, "in") || label_is_on(labels, "self"))) {
        add_action(tui, ACTION_FORWARD, NULL);
        add_action(tui, ACTION_TIMES, NULL);
        add_action(tui, ACTION_SORT, NULL);
        add_action(tui, ACTION_FLAT, NULL);
        add_action(tui, ACTION_ALARM, NULL);
        add_action(tui, ACTION_BELOW, NULL);
    } else {
        add_action(tui, ACTION_FOLD, NULL);
        add_action(tui, ACTION_SEARCH, NULL);
        add_action(tui, ACTION_PANEL_1, NULL);
        add_action(tui, ACTION_LABELS, NULL);
        add_action(tui, live ? ACTION_FLAT : ACTION_SORT, NULL);
        add_action(tui, ACTION_COPY, NULL);
    }
}

static void collect_hints(struct tui *tui)
{
    static const struct panel_hint label_hints[] = {
        {"label-down", "label-up", "move"},
        {"label-top", "label-bottom", "ends"},
        {NULL, NULL, NULL}};

    tui->n_hints = 0;
    if (tui->files) {
        add_action(tui, ACTION_ENTER, "open");
        add_action(tui, ACTION_SEARCH, NULL);
        add_action(tui, ACTION_FILTER, NULL);
        add_action(tui, ACTION_SORT, NULL);
        add_action(tui, ACTION_MARK, NULL);
        add_action(tui, ACTION_DIFF, NULL);
    } else if (tui->view.focus == FOCUS_LABELS) {
        add_action(tui, ACTION_LABEL_TOGGLE, NULL);
        panel_actions(tui, label_hints);
        add_action(tui, ACTION_ESCAPE, NULL);
        return;
    } else if (tui->view.focus != FOCUS_TREE) {
        panel_actions(tui, panel_hints(panels[tui->view.focus], &tui->explorer));
        if (tui->n_hints > HINTS_MOST - 3)
            tui->n_hints = HINTS_MOST - 3;
        add_action(tui, ACTION_ZOOM, NULL);
    } else {
        tree_hints(tui);
    }
    add_action(tui, ACTION_HELP, NULL);
    add_action(tui, ACTION_QUIT, NULL);
}

static size_t hints_width(const struct tui *tui, size_t gap)
{
    size_t width = 1;

    for (unsigned i = 0; i < tui->n_hints; i++)
        width += text_width(str_of(tui->hints[i].text)) + (i ? gap : 0);
    return width;
}

/* Drop hints from the end until the rest fits, but keep the last two: help and quit. */
static void fit_hints(struct tui *tui, unsigned columns)
{
    while (tui->n_hints > 2 && hints_width(tui, 2) > columns) {
        unsigned at = tui->n_hints - 3;

        memmove(&tui->hints[at], &tui->hints[at + 1], 2 * sizeof(tui->hints[0]));
        tui->n_hints--;
    }
}

static void draw_hints(struct tui *tui)
{
    const struct area *area = &tui->frame.hints;
    unsigned at = 1;
    size_t gap;

    collect_hints(tui);
    fit_hints(tui, area->columns);
    gap = hints_width(tui, 3) <= area->columns ? 3 : 2;
    for (unsigned i = 0; i < tui->n_hints && area->rows; i++) {
        struct hint *hint = &tui->hints[i];
        size_t keys = strcspn(hint->text, " ");

        /* A second key belongs to the hint: "J K move". */
        if (hint->text[keys] && hint->text[keys + 1] && hint->text[keys + 2] == ' ')
            keys += 2;
        hint->begin = (uint16_t)at;
        at = cells_text(&tui->cells, area, at, 0, COLOUR_NONE, 0,
                        str_span(hint->text, keys));
        at = cells_text(&tui->cells, area, at, 0, COLOUR_DIM, 0,
                        str_of(hint->text + keys));
        hint->end = (uint16_t)at;
        at += (unsigned)gap;
    }
}

enum action hint_at(const struct tui *tui, unsigned column)
{
    for (unsigned i = 0; i < tui->n_hints; i++)
        if (column >= tui->hints[i].begin && column < tui->hints[i].end)
            return tui->hints[i].action;
    return ACTION_NONE;
}

/* --- The prompt */

static const struct {
    const char *before, *hint;
} prompts[] = {
    [PROMPT_SEARCH] = {" search: ", "a|b either  /re/ pattern  Enter keep  Esc clear"},
    [PROMPT_COMMAND] = {" :", "Tab, arrows choose  Enter run  Esc close"},
    [PROMPT_SLICE] = {" slice: ", "[80:86, 220:240:2]  [..., 0]  [83]"},
};

/* The rest of the first completion, shown dim after the cursor. */
static struct str ghost(const struct tui *tui)
{
    struct str typed = buf_span(&tui->prompt.text), whole;

    if (tui->prompt.kind != PROMPT_COMMAND || tui->menu.n == 0 || typed.len == 0 ||
        tui->prompt.cursor != typed.len)
        return STR("");
    whole = menu_text(&tui->menu, tui->menu.selected);
    return str_starts(whole, typed) ? str_from(whole, typed.len) : STR("");
}

static void blank(struct tui *tui, const struct area *area, unsigned row)
{
    for (unsigned i = 0; i < area->columns; i++)
        cells_text(&tui->cells, area, i, row, COLOUR_NONE, 0, STR(" "));
}

static void draw_prompt(struct tui *tui, const struct area *area)
{
    const struct prompt *prompt = &tui->prompt;
    struct str text = buf_span(&prompt->text);
    struct str hint = str_of(prompts[prompt->kind].hint);
    size_t room = area->columns - text_width(str_of(prompts[prompt->kind].before)) - 2;
    size_t skip = 0;
    unsigned at;

    blank(tui, area, 0);
    at = cells_text(&tui->cells, area, 0, 0, COLOUR_NONE, 0,
                    str_of(prompts[prompt->kind].before));
    /* Scroll a long text so that its cursor is visible. */
    while (text_width(str_span(text.at + skip, prompt->cursor - skip)) > room)
        for (skip++; skip < prompt->cursor && (text.at[skip] & 0xc0) == 0x80;)
            skip++;
    tui->cells.cursor_column =
        area->column + at +
        (unsigned)text_width(str_span(text.at + skip, prompt->cursor - skip));
    tui->cells.cursor_row = area->row;
    tui->cells.cursor_shown = true;
    at = cells_text(&tui->cells, area, at, 0, prompt->bad ? COLOUR_ALARM : COLOUR_NONE,
                    0, str_from(text, skip));
    at = cells_text(&tui->cells, area, at, 0, COLOUR_DIM, 0, ghost(tui));
    if (at + text_width(hint) + 4 < area->columns)
        cells_text(&tui->cells, area, area->columns - (unsigned)text_width(hint) - 1, 0,
                   COLOUR_DIM, 0, hint);
}

/* --- The menu */

static void draw_menu(struct tui *tui)
{
    struct area area = tui->frame.body;
    unsigned rows = menu_rows(&tui->menu, area.columns);
    struct lines lines = {0};

    rows = rows < MENU_ROWS ? rows : MENU_ROWS;
    if (rows == 0)
        return;
    if (rows + 2 > area.rows)
        rows = area.rows - 2;
    area.row += area.rows - rows - 1;
    area.rows = rows + 1;
    for (unsigned row = 0; row < area.rows; row++) {
        blank(tui, &area, row);
        cells_back(&tui->cells, &area, row, COLOUR_NONE, 0);
    }
    draw_rule(tui, &area, tui->menu.title, STR(""), true);
    menu_lines(&tui->menu, &lines, area.columns, rows);
    area.row++;
    for (unsigned i = 0; i < rows && i < lines.n; i++) {
        draw_line(tui, &area, i, &lines, i);
        if (lines.at[i].target == tui->menu.selected)
            cells_back(&tui->cells, &area, i, COLOUR_CURSOR, 0);
    }
    tui->menu_row = area.row;
    lines_release(&lines);
}

/* --- The status line */

static bool draw_progress(struct tui *tui, struct lines *to)
{
    uint64_t done, total, began;
    struct buf text = BUF_INIT;

    if (!tui->explorer.jobs ||
        !jobs_progress(tui->explorer.jobs, &done, &total, &began))
        return false;
    buf_char(&text, ' ');
    text_progress_bar(&text, "stats", done, total, tui->config.ascii);
    text_progress_bytes(&text, done, total, clock_ns() - began);
    buf_text(&text, "Esc stops");
    lines_add(to, COLOUR_NONE, 0, buf_span(&text));
    lines_end(to);
    buf_release(&text);
    return true;
}

static void draw_status_line(struct tui *tui)
{
    const struct area *area = &tui->frame.status;
    struct lines lines = {0};

    if (tui->files) {
        files_status(tui, &lines, area->columns);
    } else if (tui->explorer.message.len) {
        lines_text(&lines, COLOUR_NONE, " ");
        lines_add(&lines, COLOUR_NONE, 0, buf_span(&tui->explorer.message));
        lines_end(&lines);
    } else if (!draw_progress(tui, &lines)) {
        status_line(&lines, &tui->explorer, area->columns);
    }
    draw_line(tui, area, 0, &lines, 0);
    lines_release(&lines);
}

/* An error, on the last two lines, or on more if it is longer. */
static void draw_trouble(struct tui *tui)
{
    struct area area = tui->frame.status;
    struct lines lines = {0};

    lines_text(&lines, COLOUR_ALARM, " ✗ ");
    lines_wrap(&lines, COLOUR_ALARM, buf_span(&tui->trouble), area.columns - 1, 3);
    area.rows += tui->frame.hints.rows;
    while (area.rows < lines.n && area.row > tui->frame.body.row + 3) {
        area.row--;
        area.rows++;
    }
    for (unsigned row = 0; row < area.rows; row++) {
        blank(tui, &area, row);
        cells_back(&tui->cells, &area, row, COLOUR_NONE, 0);
        if (row < lines.n)
            draw_line(tui, &area, row, &lines, row);
    }
    lines_release(&lines);
}

void draw_status(struct tui *tui)
{
    const struct area *area =
        tui->frame.hints.rows ? &tui->frame.hints : &tui->frame.status;

    tui->n_hints = 0;
    if (tui->trouble.len) {
        draw_trouble(tui);
        return;
    }
    draw_status_line(tui);
    if (tui->menu.title && !tui->help.open)
        draw_menu(tui);
    if (tui->help.open) {
        blank(tui, area, 0);
        cells_text(&tui->cells, area, 1, 0, COLOUR_DIM, 0,
                   STR("type to filter   Enter Esc q close   man torchoscope"));
    } else if (tui->prompt.kind)
        draw_prompt(tui, area);
    else
        draw_hints(tui);
}
