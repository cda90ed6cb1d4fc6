/* menu_in.h - a short list of choices above the status line: `y`, `i`, completion. It
 * only holds the choices; the callers draw it and act on them. */
#ifndef TUI_MENU_IN_H
#define TUI_MENU_IN_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "text/lines.h"

#define MENU_MOST 256 /* further choices are dropped */

struct menu_choice {
    char key;           /* selects it; 0: none */
    uint32_t text, len; /* in menu->texts: the word, or the completed line */
    uint32_t about, about_len;
};

struct menu {
    const char *title; /* NULL: no menu */
    struct buf texts;
    struct menu_choice choices[MENU_MOST];
    uint32_t n, selected, top;
};

void menu_release(struct menu *menu);
void menu_clear(struct menu *menu);
void menu_add(struct menu *menu, char key, struct str text, struct str about);
struct str menu_text(const struct menu *menu, uint32_t choice);
struct str menu_about(const struct menu *menu, uint32_t choice);
void menu_move(struct menu *menu, int by); /* wraps around */
/* The choice with this key; MENU_MOST: none. */
uint32_t menu_find(const struct menu *menu, uint32_t key);
/* The number of lines for all choices; long ones take several. */
unsigned menu_rows(const struct menu *menu, unsigned width);
/* At most `rows` lines around the selected choice. */
void menu_lines(struct menu *menu, struct lines *to, unsigned width, unsigned rows);

#endif
