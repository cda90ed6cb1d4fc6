/* Choosing a file of a folder. The list grows while it is shown; the selected file
 * stays selected when its row moves. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "explorer/files_text.h"
#include "explorer/link.h"
#include "tui/draw_in.h"
#include "tui/tui_in.h"

#define PRINT_NS 60000000000u /* limit of the wait for all verdicts of a printed list */

struct files {
    struct files_view *list;
    char *folder;
    uint32_t cursor, top, page;
    uint32_t number; /* the selected file; UINT32_MAX: nothing selected yet */
    struct buf message;
};

static void put_cursor(struct files *files, int64_t to)
{
    int64_t n = files_view_n(files->list);

    to = to >= n ? n - 1 : to;
    files->cursor = to < 0 ? 0 : (uint32_t)to;
    files->number =
        n > 0 ? files_view_at(files->list, files->cursor)->number : UINT32_MAX;
}

/* The rows changed: move the cursor to the selected file's row. */
static void follow(struct files *files)
{
    uint32_t row = files_view_row(files->list, files->number);

    if (files->number == UINT32_MAX) {
        files->cursor = 0;
    } else if (row != UINT32_MAX) {
        files->cursor = row;
    } else if (files->cursor >= files_view_n(files->list)) {
        files->cursor = files_view_n(files->list) ? files_view_n(files->list) - 1 : 0;
    }
}

void files_poll(struct tui *tui)
{
    if (tui->files && files_view_poll(tui->files->list))
        follow(tui->files);
}

int files_fd(const struct tui *tui)
{
    return files_view_fd(tui->files->list);
}

/* A printed list is complete. */
static void wait_for_all(struct tui *tui)
{
    uint64_t began = clock_ns();

    while (!files_view_ready(tui->files->list) && clock_ns() - began < PRINT_NS) {
        struct pollfd ready = {files_view_fd(tui->files->list), POLLIN, 0};

        poll(&ready, 1, 50);
        files_poll(tui);
    }
}

int files_open(struct tui *tui, const char *folder, struct err *err)
{
    struct files *files = calloc(1, sizeof *files);

    if (!files)
        return err_set(err, ERR_LIMIT, "%s: no memory left", folder);
    files->list = files_view_new(folder, err);
    files->folder = files->list ? strdup(folder) : NULL;
    files->number = UINT32_MAX;
    if (!files->folder) {
        files_view_free(files->list);
        free(files);
        return -1;
    }
    files_close(tui);
    tui->files = tui->folder = files;
    if (!tui->background)
        wait_for_all(tui);
    return 0;
}

const char *files_folder(const struct tui *tui)
{
    return tui->files->folder;
}

void files_close(struct tui *tui)
{
    struct files *files = tui->folder;

    tui->files = tui->folder = NULL;
    if (!files)
        return;
    files_view_free(files->list);
    buf_release(&files->message);
    free(files->folder);
    free(files);
}

void files_say(struct tui *tui, struct str text)
{
    buf_clear(&tui->folder->message);
    buf_str(&tui->folder->message, text);
}

/* ---- order and filter ---- */

int files_filter(struct tui *tui, struct str text, struct err *err)
{
    int status = files_view_filter(tui->files->list, text, err);

    follow(tui->files);
    return status;
}

static void sort_by(struct tui *tui, enum files_sort sort, bool reverse)
{
    files_view_sort(tui->files->list, sort, reverse);
    follow(tui->files);
}

int files_sort(struct tui *tui, struct str key, bool reverse, struct err *err)
{
    enum files_sort sort;

    if (files_sort_by_word(key, &sort, err) < 0)
        return -1;
    sort_by(tui, sort, reverse);
    return 0;
}

int files_look(struct tui *tui, const struct printed_wanted *wanted, struct err *err)
{
    struct str key = str_of(wanted->sort ? wanted->sort : "changed");

    if ((wanted->sort || wanted->reverse) &&
        files_sort(tui, key, wanted->reverse, err) < 0)
        return -1;
    return wanted->filter ? files_filter(tui, str_of(wanted->filter), err) : 0;
}

/* Choosing the current order again reverses it. */
static void sort_again(struct tui *tui, enum files_sort sort)
{
    bool reverse;
    bool again = files_view_sorted(tui->files->list, &reverse) == sort;

    sort_by(tui, sort, again && !reverse);
}

void files_sort_menu(struct tui *tui)
{
    menu_clear(&tui->menu);
    tui->menu.title = "i In order of";
    tui->menu_of = ACTION_SORT;
    for (int i = 0; i < FILES_SORT_COUNT; i++)
        menu_add(&tui->menu, files_orders[i].key, str_of(files_orders[i].word),
                 str_of(files_orders[i].about));
}

void files_sort_choose(struct tui *tui, char key)
{
    for (int i = 0; i < FILES_SORT_COUNT; i++)
        if (files_orders[i].key == key)
            sort_again(tui, (enum files_sort)i);
}

static void filter_menu(struct tui *tui)
{
    menu_clear(&tui->menu);
    tui->menu.title = "f Only files that are";
    tui->menu_of = ACTION_FILTER;
    for (size_t i = 0; i < n_files_kinds; i++)
        menu_add(&tui->menu, files_kinds[i].key, str_of(files_kinds[i].word),
                 str_of(files_kinds[i].about));
    menu_add(&tui->menu, 'x', STR("all"), STR("no filter"));
}

void files_filter_choose(struct tui *tui, char key)
{
    struct str word = STR("");

    for (size_t i = 0; i < n_files_kinds; i++)
        if (files_kinds[i].key == key)
            word = str_of(files_kinds[i].word);
    files_filter(tui, word, NULL);
}

/* ---- comparing ---- */

const char *files_left(const struct tui *tui)
{
    const struct files *files = tui->files;

    if (files_view_n_marks(files->list) > 0)
        return files_view_mark_at(files->list, 0)->path;
    if (files->cursor < files_view_n(files->list))
        return files_view_at(files->list, files->cursor)->path;
    return NULL;
}

static void mark(struct tui *tui)
{
    struct files *files = tui->files;

    if (files->cursor >= files_view_n(files->list))
        return;
    put_cursor(files, files->cursor); /* the cursor now follows this file */
    if (!files_view_mark(files->list, files->cursor))
        files_say(tui, STR("two rows are marked already: D compares them, Esc takes "
                           "the marks away"));
}

/* D: compare two marked rows, or the marked row with the selected one; otherwise ask
 * for a path. */
static void diff(struct tui *tui)
{
    static const struct diff_wanted wanted = {.values = true};
    const struct files *files = tui->files;
    uint32_t marks = files_view_n_marks(files->list);
    const char *left = files_left(tui), *right = NULL;
    struct err err = {0};

    if (marks == 2)
        right = files_view_mark_at(files->list, 1)->path;
    else if (marks == 1 && files->cursor < files_view_n(files->list))
        right = files_view_at(files->list, files->cursor)->path;
    if (!left) {
        files_say(tui, STR("there is no row to compare"));
    } else if (!right) {
        tui_prompt(tui, PROMPT_COMMAND, STR("diff "));
    } else if (left == right) {
        files_say(tui, STR("this row is the marked one: go to the one to compare it "
                           "with, then D"));
    } else {
        if (tui_compare_busy(tui, left, right, &wanted, &err) < 0)
            tui_trouble(tui, &err, NULL);
        tui_changed(tui);
    }
}

/* ---- keys ---- */

static void choose(struct tui *tui)
{
    struct files *files = tui->files;
    struct err err = {0};

    if (files->cursor >= files_view_n(files->list))
        return;
    if (tui_open_busy(tui, files_view_at(files->list, files->cursor)->path, &err) < 0)
        tui_trouble(tui, &err, NULL);
    tui_changed(tui);
}

void files_click(struct tui *tui, unsigned row, unsigned column, bool twice)
{
    struct files *files = tui->files;

    if (row == 0) {
        enum files_sort sort =
            files_column_at(files->list, tui->frame.body.columns - 1, column);

        if (sort != FILES_SORT_COUNT)
            sort_again(tui, sort);
        return;
    }
    if (files->top + row - 1 >= files_view_n(files->list))
        return;
    put_cursor(files, (int64_t)files->top + row - 1);
    if (twice)
        choose(tui);
}

static void move(struct tui *tui, int64_t by)
{
    struct files *files = tui->files;
    uint32_t before = files->cursor;

    put_cursor(files, (int64_t)before + by);
    if (files->cursor == before)
        files_say(tui,
                  by > 0 ? STR("this is the last row") : STR("this is the first row"));
}

/* All visible rows match, so the next match is the next row, wrapping around. */
static void next_match(struct tui *tui, int64_t by)
{
    struct files *files = tui->files;
    int64_t n = files_view_n(files->list);

    if (files_view_filtered(files->list).len == 0)
        files_say(tui, STR("no filter is set: / sets one"));
    else if (n > 0)
        put_cursor(files, (files->cursor + n + by) % n);
}

static void escape(struct tui *tui)
{
    struct files *files = tui->files;

    if (files_view_filtered(files->list).len > 0)
        files_filter(tui, STR(""), NULL);
    else if (files_view_n_marks(files->list) > 0)
        files_view_unmark(files->list);
    else
        files_say(tui, STR("nothing to close; q quits"));
}

/* Actions other than moving. */
static void act(struct tui *tui, enum action action)
{
    switch (action) {
    case ACTION_ENTER:
    case ACTION_RIGHT:
        return choose(tui);
    case ACTION_SEARCH:
        return tui_prompt(tui, PROMPT_SEARCH, STR(""));
    case ACTION_SORT:
        return files_sort_menu(tui);
    case ACTION_FILTER:
        return filter_menu(tui);
    case ACTION_MARK:
        return mark(tui);
    case ACTION_DIFF:
        return diff(tui);
    case ACTION_ESCAPE:
        return escape(tui);
    case ACTION_QUIT:
        tui->quit = true;
        return;
    default:
        files_say(tui, STR("that is for an open model: Enter opens this one"));
    }
}

void files_act(struct tui *tui, enum action action)
{
    struct files *files = tui->files;
    int64_t page = files->page > 1 ? files->page - 1 : 1;

    switch (action) {
    case ACTION_UP:
        return move(tui, -1);
    case ACTION_DOWN:
        return move(tui, 1);
    case ACTION_PAGE_UP:
        return move(tui, -page);
    case ACTION_PAGE_DOWN:
        return move(tui, page);
    case ACTION_HALF_UP:
        return move(tui, -(page + 1) / 2);
    case ACTION_HALF_DOWN:
        return move(tui, (page + 1) / 2);
    case ACTION_FIRST:
        return put_cursor(files, 0);
    case ACTION_LAST:
        return put_cursor(files, INT32_MAX);
    case ACTION_NEXT_MATCH:
        return next_match(tui, 1);
    case ACTION_PREVIOUS_MATCH:
        return next_match(tui, -1);
    default:
        act(tui, action);
    }
}

/* ---- drawing ---- */

void files_draw(struct tui *tui, const struct area *area)
{
    struct files *files = tui->files;
    struct lines lines = {0};
    struct area bar = {area->column + area->columns - 1, area->row + 1, 1,
                       area->rows > 0 ? area->rows - 1 : 0};
    uint32_t rows = area->rows > 1 ? area->rows - 1 : 1;

    files->page = rows;
    draw_keep_in_sight(&files->top, &files->cursor, files_view_n(files->list), rows);
    files_view_want(files->list, files->top, rows);
    files_title(&lines, files->list, files->folder, tui->frame.title.columns);
    draw_line(tui, &tui->frame.title, 0, &lines, 0);
    lines_clear(&lines);
    files_lines(&lines, files->list, files->top, files->cursor, area->columns - 1,
                area->rows);
    for (uint32_t i = 0; i < lines.n && i < area->rows; i++) {
        draw_line(tui, area, i, &lines, i);
        if (i > 0 && lines.at[i].target == files->cursor)
            cells_back(&tui->cells, area, i, COLOUR_CURSOR, 0);
    }
    draw_scroll(tui, &bar, files->top, files_view_n(files->list));
    lines_release(&lines);
}

void files_status(struct tui *tui, struct lines *to, unsigned width)
{
    const struct files *files = tui->files;

    if (files->message.len == 0) {
        files_about(to, files->list, files->cursor, width);
        return;
    }
    lines_text(to, COLOUR_NONE, " ");
    lines_add(to, COLOUR_NONE, 0, buf_span(&files->message));
    lines_end(to);
}
