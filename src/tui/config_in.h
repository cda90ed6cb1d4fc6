/* config_in.h - $XDG_CONFIG_HOME/torchoscope/config: how it looks, and keys.
 *
 *     theme = light            dark, light
 *     color = 256              never, 16, 256, true
 *     ascii = yes
 *     mouse = no
 *     remember = yes           views are kept for each model
 *     [keys]
 *     fold-subtree = z ^T      names as in the manual page
 *
 * A # begins a comment. What is wrong in it is told once and left out. */
#ifndef TUI_CONFIG_IN_H
#define TUI_CONFIG_IN_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "tui/keymap.h"

struct config {
    char theme[8];  /* "dark", "light"; "": found out */
    char colour[8]; /* "never", "16", "256", "true"; "": found out */
    bool ascii, plain, no_mouse, remember;
};

/* Read a file's text; keys go to `keymap`. The first mistake is told in err and -1
 * returned, but all other lines count. */
int config_parse(struct config *config, struct keymap *keymap, struct str text,
                 struct err *err);
/* The user's file; none is no mistake. */
int config_read(struct config *config, struct keymap *keymap, struct err *err);
/* :set NAME VALUE, and what a line of the file says. */
int config_set(struct config *config, struct str name, struct str value,
               struct err *err);

#endif
