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
    menu->choices[menu->n++] = (struct choice){.key = key,
                                               .text = (uint32_t)at,
                                               .len = (uint32_t)text.len,
                                               .about = (uint32_t)(at + text.len),
                                               .about_len = (uint32_t)about.len};
}

struct str menu_text(const struct menu *menu, uint32_t choice)
{
    const struct choice *it = &menu->choices[choice];

    return str_span(menu->texts.at + it->text, it->len);
}

struct str menu_about(const struct menu *menu, uint32_t choice)
{
    const struct choice *it = &menu->choices[choice];

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

/* How wide the words are, for the column behind them; very long ones do not count. */
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

void menu_lines(struct menu *menu, struct lines *to, unsigned width, unsigned rows)
{
    size_t words = words_width(menu, width);

    if (menu->selected < menu->top)
        menu->top = menu->selected;
    if (menu->selected >= menu->top + rows)
        menu->top = menu->selected - rows + 1;
    for (uint32_t i = menu->top; i < menu->n && i < menu->top + rows; i++) {
        struct buf about = BUF_INIT;
        size_t used;

        lines_text(to, COLOUR_NONE, i == menu->selected ? "▌" : " ");
        if (menu->choices[i].key)
            lines_printf(to, COLOUR_STRONG, " %c  ", menu->choices[i].key);
        else
            lines_text(to, COLOUR_NONE, " ");
        lines_add(to, COLOUR_NONE, i == menu->selected ? SPAN_BOLD : 0,
                  menu_text(menu, i));
        lines_pad(to, words + 3 + (menu->choices[i].key ? 3 : 0));
        used = lines_width(to);
        if (used < width)
            text_cut(&about, menu_about(menu, i), width - used, "…");
        lines_add(to, COLOUR_DIM, 0, buf_span(&about));
        lines_end_target(to, i);
        buf_release(&about);
    }
}
