/* commands_in.h - what the files behind the table of commands share: commands.c (the
 * table), command_files.c (opening, comparing, writing), complete.c (what a line may
 * become), remember.c (views that are kept). */
#ifndef TUI_COMMANDS_IN_H
#define TUI_COMMANDS_IN_H

#include "explorer/link.h"
#include "facts/summary.h"
#include "tui/tui_in.h"

/* The command that a line begins with, and what stands behind its name; or NULL. */
const struct tui_command *command_of(struct str line, struct str *ret_words);

/* --- command_files.c */

int run_open(struct tui *tui, struct str words, struct err *err);
int run_diff(struct tui *tui, struct str words, struct err *err);
int run_export(struct tui *tui, struct str words, struct err *err);
int run_reload(struct tui *tui, struct str words, struct err *err);

/* A path as typed: ~/ is the user's home. */
void typed_path(struct buf *to, struct str typed);

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

/* :set remember, as the config has it now. */
int remember_switch(struct tui *tui, struct err *err);

#endif
