/* commands.h - THE TABLE of : commands. To add one, write a function and add a line to
 * the table in commands.c. */
#ifndef TUI_COMMANDS_H
#define TUI_COMMANDS_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct tui;
struct menu;

struct tui_command {
    const char *name;  /* "fold" */
    const char *usage; /* its arguments: "N"; NULL: none */
    const char *about; /* "fold to depth N", for help */
    /* `words`: the arguments, trimmed. */
    int (*run)(struct tui *tui, struct str words, struct err *err);
    /* Add completions of the partial `words` to the menu, as whole words. May be
     * NULL. */
    void (*complete)(struct tui *tui, struct str words, struct menu *to);
};

extern const struct tui_command tui_commands[];
extern const size_t n_tui_commands;

/* Run a line (without its colon): a command, a place's name, or a row number. An
 * unknown command gives ERR_USAGE, which names the nearest command. */
int tui_command(struct tui *tui, struct str line, struct err *err);
/* Add completions of `line` to the menu; the text of each choice is the whole line. */
void tui_complete(struct tui *tui, struct str line, struct menu *to);

#endif
