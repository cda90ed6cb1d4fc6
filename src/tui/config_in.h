/* config_in.h - $XDG_CONFIG_HOME/torchoscope/config: appearance and keys.
 *
 *     theme = light            dark, light
 *     color = 256              never, 16, 256, true
 *     ascii = yes
 *     mouse = no
 *     remember = yes           save the view of each model
 *     [keys]
 *     fold-subtree = z ^T      names as in the manual page
 *
 * # begins a comment. Wrong lines are reported once and ignored. */
#ifndef TUI_CONFIG_IN_H
#define TUI_CONFIG_IN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "text/options.h"
#include "tui/keymap.h"

#define CONFIG_WORD 8 /* longer than every word of a setting */

struct config {
    char theme[CONFIG_WORD];  /* "dark", "light"; "": detected */
    char colour[CONFIG_WORD]; /* "never", "16", "256", "true"; "": detected */
    bool ascii, plain, no_mouse, remember;
};

/* Parse the text of a config file; keys go to `keymap`. Returns -1 and the first error
 * in err, but applies all other lines. */
int config_parse(struct config *config, struct keymap *keymap, struct str text,
                 struct err *err);
/* Read the user's file; a missing file is not an error. */
int config_read(struct config *config, struct keymap *keymap, struct err *err);
/* :set NAME VALUE, and a line of the file. */
int config_set(struct config *config, struct str name, struct str value,
               struct err *err);

/* The settings are rows of settings_table (explorer/settings.h), without "no-":
 * --no-mouse is `mouse = no`. A text may also be "auto". Row i; NULL after the last. */
const struct option *config_option(size_t i);
/* The name of a row in the config file; *ret_no: "yes" turns the option off. */
const char *config_name(const struct option *option, bool *ret_no);
/* All names: "theme, color, ascii". */
void config_names(struct buf *to);

#endif
