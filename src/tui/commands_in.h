/* commands_in.h - shared by the command files: commands.c (the table), command_files.c
 * (open, compare, write), serve.c (the page), complete.c (completion), remember.c (saved views). */
#ifndef TUI_COMMANDS_IN_H
#define TUI_COMMANDS_IN_H

#include "explorer/link.h"
#include "facts/summary.h"
#include "tui/tui_in.h"

/* The command at the start of a line, and its arguments; or NULL. */
const struct tui_command *command_of(struct str line, struct str *ret_words);

/* --- command_files.c */

int run_open(struct tui *tui, struct str words, struct err *err);
int run_diff(struct tui *tui, struct str words, struct err *err);
int run_export(struct tui *tui, struct str words, struct err *err);
int run_reload(struct tui *tui, struct str words, struct err *err);

/* Expand a typed path: ~/ is the user's home. */
void typed_path(struct buf *to, struct str typed);

/* --- serve.c */

int run_serve(struct tui *tui, struct str words, struct err *err);

/* --- complete.c */

void complete_names(struct tui *tui, struct str words, struct menu *to);
void complete_files(struct tui *tui, struct str words, struct menu *to);
void complete_exports(struct tui *tui, struct str words, struct menu *to);
void complete_orders(struct tui *tui, struct str words, struct menu *to);
void complete_filters(struct tui *tui, struct str words, struct menu *to);
void complete_flat(struct tui *tui, struct str words, struct menu *to);
void complete_labels(struct tui *tui, struct str words, struct menu *to);
void complete_panels(struct tui *tui, struct str words, struct menu *to);
void complete_settings(struct tui *tui, struct str words, struct menu *to);

/* --- remember.c */

/* Apply :set remember from the config. */
int remember_switch(struct tui *tui, struct err *err);

#endif
