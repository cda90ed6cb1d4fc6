#include "tui/menu_in.h"

#include "text/width.h"

void menu_release(struct menu *menu)
{
    buf_release(&menu->texts);
    *menu = (struct menu){0};
}

void menu_clear(struct menu *menu)
{
    buf_clear(&menu->texts);
    menu->title = NULL;
    menu->n = menu->selected = menu->top = 0;
}

void menu_add(struct menu *menu, char key, struct str text, struct str about)
{
    size_t at = menu->texts.len;

    if (menu->n == MENU_MOST)
        return;
    buf_str(&menu->texts, text);
    buf_str(&menu->texts, about);
    if (menu->texts.bad)
        return;
    menu->choices[menu->n++] = (struct menu_choice){.key = key,
                                                    .text = (uint32_t)at,
                                                    .len = (uint32_t)text.len,
                                                    .about = (uint32_t)(at + text.len),
                                                    .about_len = (uint32_t)about.len};
}

struct str menu_text(const struct menu *menu, uint32_t choice)
{
    const struct menu_choice *it = &menu->choices[choice];

    return str_span(menu->texts.at + it->text, it->len);
}

struct str menu_about(const struct menu *menu, uint32_t choice)
{
    const struct menu_choice *it = &menu->choices[choice];

    return str_span(menu->texts.at + it->about, it->about_len);
}

void menu_move(struct menu *menu, int by)
{
    if (menu->n == 0)
        return;
    menu->selected = by < 0 ? (menu->selected + menu->n - 1) % menu->n
                            : (menu->selected + 1) % menu->n;
}

uint32_t menu_find(const struct menu *menu, uint32_t key)
{
    for (uint32_t i = 0; i < menu->n; i++)
        if (menu->choices[i].key && (unsigned char)menu->choices[i].key == key)
            return i;
    return MENU_MOST;
}

#define LINES_MOST 3 /* of one choice */

/* The width of the first column; very long words do not count. */
static size_t words_width(const struct menu *menu, unsigned width)
{
    size_t most = 8;

    for (uint32_t i = 0; i < menu->n; i++) {
        size_t cells = text_width(menu_text(menu, i));

        if (cells > most && cells < width / 2)
            most = cells;
    }
    return most;
}

/* The number of lines of the last choice in a menu of keys; a command may be long. */
static unsigned last_rows(const struct menu *menu, unsigned width)
{
    size_t used = words_width(menu, width) + 6, room;
    struct str rest;
    unsigned rows = 1;

    if (menu->n == 0 || !menu->choices[menu->n - 1].key || width < used + 24)
        return 1;
    room = width - used - 2;
    for (rest = menu_about(menu, menu->n - 1);
         text_width(rest) > room + 2 && rows < LINES_MOST; rows++)
        rest = str_trim(str_from(rest, text_wrap(rest, room)));
    return rows;
}

unsigned menu_rows(const struct menu *menu, unsigned width)
{
    return menu->n + last_rows(menu, width) - 1;
}

/* Add the description of a choice; continued lines of a command end in a backslash. */
static void add_about(struct lines *to, struct str about, unsigned width, unsigned rows,
                      uint32_t target)
{
    size_t used = lines_width(to), room = width > used + 2 ? width - used - 2 : 0;
    struct buf cut = BUF_INIT;

    for (; rows > 1; rows--) {
        size_t len = text_wrap(about, room);

        lines_add(to, COLOUR_DIM, 0, str_head(about, len));
        lines_text(to, COLOUR_DIM, " \\");
        lines_end_target(to, target);
        lines_pad(to, used);
        about = str_trim(str_from(about, len));
    }
    if (used < width)
        text_cut(&cut, about, width - used, "…");
    lines_add(to, COLOUR_DIM, 0, buf_span(&cut));
    lines_end_target(to, target);
    buf_release(&cut);
}

void menu_lines(struct menu *menu, struct lines *to, unsigned width, unsigned rows)
{
    size_t words = words_width(menu, width);

    if (menu->selected < menu->top)
        menu->top = menu->selected;
    if (menu->selected >= menu->top + rows)
        menu->top = menu->selected - rows + 1;
    for (uint32_t i = menu->top; i < menu->n && i < menu->top + rows; i++) {
        lines_text(to, COLOUR_NONE, i == menu->selected ? "▌" : " ");
        if (menu->choices[i].key)
            lines_printf(to, COLOUR_STRONG, " %c  ", menu->choices[i].key);
        else
            lines_text(to, COLOUR_NONE, " ");
        lines_add(to, COLOUR_NONE, i == menu->selected ? SPAN_BOLD : 0,
                  menu_text(menu, i));
        lines_pad(to, words + 3 + (menu->choices[i].key ? 3 : 0));
        add_about(to, menu_about(menu, i), width,
                  i + 1 == menu->n && menu->n <= rows ? last_rows(menu, width) : 1, i);
    }
}
