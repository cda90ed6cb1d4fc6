/* commands.h - THE TABLE of : commands. To add one: a function and a line in
 * commands.c. */
#ifndef TUI_COMMANDS_H
#define TUI_COMMANDS_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct tui;
struct menu;

struct tui_command {
    const char *name;  /* "fold" */
    const char *usage; /* what follows: "N"; NULL: nothing */
    const char *about; /* "fold to depth N", for help */
    /* `words`: what stands behind the name, trimmed. */
    int (*run)(struct tui *tui, struct str words, struct err *err);
    /* Offer what `words`, begun so far, may become: whole words. May be NULL. */
    void (*complete)(struct tui *tui, struct str words, struct menu *to);
};

extern const struct tui_command tui_commands[];
extern const size_t n_tui_commands;

/* Do what a line says (without its colon): a command, the name of a place, the number
 * of a row. ERR_USAGE names the nearest command. */
int tui_command(struct tui *tui, struct str line, struct err *err);
/* Offer lines that `line` may become; the text of a choice is the whole line. */
void tui_complete(struct tui *tui, struct str line, struct menu *to);

#endif
