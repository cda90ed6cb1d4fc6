/* menu_in.h - a short list to choose from, above the status line: `y`, `i`, and what
 * completes a command. It draws nothing and does nothing by itself. */
#ifndef TUI_MENU_IN_H
#define TUI_MENU_IN_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "text/lines.h"

#define MENU_MOST 256 /* of choices; further ones are left out */

struct menu_choice {
    char key;           /* chooses it; 0: none does */
    uint32_t text, len; /* in menu->texts: the word, or what stands in the line */
    uint32_t about, about_len;
};

struct menu {
    const char *title; /* NULL: there is no menu */
    struct buf texts;
    struct menu_choice choices[MENU_MOST];
    uint32_t n, selected, top;
};

void menu_release(struct menu *menu);
void menu_clear(struct menu *menu);
void menu_add(struct menu *menu, char key, struct str text, struct str about);
struct str menu_text(const struct menu *menu, uint32_t choice);
struct str menu_about(const struct menu *menu, uint32_t choice);
void menu_move(struct menu *menu, int by); /* goes round */
/* Which choice has this key; MENU_MOST: none. */
uint32_t menu_find(const struct menu *menu, uint32_t key);
/* How many lines all choices take; what is long is on several. */
unsigned menu_rows(const struct menu *menu, unsigned width);
/* At most `rows` lines around the selected one. */
void menu_lines(struct menu *menu, struct lines *to, unsigned width, unsigned rows);

#endif
