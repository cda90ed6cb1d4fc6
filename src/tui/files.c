/* Choosing a file of a folder. The list grows while it is looked at; the row of the
 * cursor stays selected wherever it moves to. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "session/file_list.h"
#include "show/files_text.h"
#include "tui/draw_in.h"
#include "tui/tui_in.h"

#define PRINT_MS 5000 /* how long a printed list waits until all is found */

struct files {
    struct file_list *list;
    char *folder;
    uint32_t cursor, top, page;
    uint32_t number; /* of the row of the cursor; UINT32_MAX: nobody chose yet */
    struct buf message;
};

static void put_cursor(struct files *files, int64_t to)
{
    int64_t n = file_list_n(files->list);

    to = to >= n ? n - 1 : to;
    files->cursor = to < 0 ? 0 : (uint32_t)to;
    files->number =
        n > 0 ? file_list_at(files->list, files->cursor)->number : UINT32_MAX;
}

/* The rows are others now: follow the one that was chosen. */
static void follow(struct files *files)
{
    uint32_t row = file_list_row(files->list, files->number);

    if (files->number == UINT32_MAX) {
        files->cursor = 0;
    } else if (row != UINT32_MAX) {
        files->cursor = row;
    } else if (files->cursor >= file_list_n(files->list)) {
        files->cursor = file_list_n(files->list) ? file_list_n(files->list) - 1 : 0;
    }
}

void files_poll(struct tui *tui)
{
    if (tui->files && file_list_poll(tui->files->list))
        follow(tui->files);
}

int files_fd(const struct tui *tui)
{
    return file_list_fd(tui->files->list);
}

/* A printed list is whole. */
static bool is_ready(struct files *files)
{
    struct file_list_facts facts = file_list_facts(files->list);

    for (uint32_t i = 0; i < file_list_n(files->list); i++)
        if (file_list_at(files->list, i)->state == FILE_PENDING)
            return false;
    return !facts.walking && (facts.full || facts.found == file_list_n(files->list));
}

static void wait_for_all(struct tui *tui)
{
    for (int ms = 0; ms < PRINT_MS && !is_ready(tui->files); ms += 50) {
        struct pollfd ready = {file_list_fd(tui->files->list), POLLIN, 0};

        poll(&ready, 1, 50);
        files_poll(tui);
    }
}

int files_open(struct tui *tui, const char *folder, struct err *err)
{
    struct files *files = calloc(1, sizeof *files);

    if (!files)
        return err_set(err, ERR_LIMIT, "%s: no memory left", folder);
    files->list = file_list_new(folder, err);
    files->folder = files->list ? strdup(folder) : NULL;
    files->number = UINT32_MAX;
    if (!files->folder) {
        file_list_free(files->list);
        free(files);
        return -1;
    }
    files_close(tui);
    tui->files = tui->folder = files;
    if (!tui->background)
        wait_for_all(tui);
    return 0;
}

void files_close(struct tui *tui)
{
    struct files *files = tui->folder;

    tui->files = tui->folder = NULL;
    if (!files)
        return;
    file_list_free(files->list);
    buf_release(&files->message);
    free(files->folder);
    free(files);
}

void files_say(struct tui *tui, struct str text)
{
    buf_clear(&tui->folder->message);
    buf_str(&tui->folder->message, text);
}

void files_filter(struct tui *tui, struct str text)
{
    file_list_filter(tui->files->list, text);
    follow(tui->files);
}

/* ---- keys ---- */

static void choose(struct tui *tui)
{
    struct files *files = tui->files;
    struct err err = {0};

    if (files->cursor >= file_list_n(files->list))
        return;
    if (tui_open_busy(tui, file_list_at(files->list, files->cursor)->path, &err) < 0)
        tui_trouble(tui, &err, NULL);
    tui_changed(tui);
}

void files_click(struct tui *tui, unsigned row, bool twice)
{
    struct files *files = tui->files;

    if (row == 0 || files->top + row - 1 >= file_list_n(files->list))
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
    case ACTION_ENTER:
    case ACTION_RIGHT:
        return choose(tui);
    case ACTION_SEARCH:
        return tui_prompt(tui, PROMPT_SEARCH, STR(""));
    case ACTION_ESCAPE:
        return files_filter(tui, STR(""));
    case ACTION_QUIT:
        tui->quit = true;
        return;
    default:
        files_say(tui, STR("that is for an open model: Enter opens this one"));
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
    draw_keep_in_sight(&files->top, &files->cursor, file_list_n(files->list), rows);
    file_list_want(files->list, files->top, rows);
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
    draw_scroll(tui, &bar, files->top, file_list_n(files->list));
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
