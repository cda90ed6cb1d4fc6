/* keymap.h - THE TABLE of keys. An action has a name (for the config file), a sentence
 * (for help and the man page), where it works, and its keys. To add one: an enum value,
 * a line in keymap.c, a case in actions.c. */
#ifndef TUI_KEYMAP_H
#define TUI_KEYMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum where { /* bits: where an action works */
             IN_TREE = 1,
             IN_PANEL = 2,
             IN_LABELS = 4,
             IN_DIFF = 8,
             IN_FILES = 16,
             EVERYWHERE = IN_TREE | IN_PANEL | IN_LABELS | IN_DIFF,
};

struct binding {
    uint16_t action;   /* enum action, in keymap.c's order */
    const char *name;  /* "fold-subtree", for the config file */
    uint8_t where;     /* enum where */
    uint32_t keys[4];  /* as it comes; 0 ends */
    const char *about; /* "fold or unfold the subtree" */
    const char *hint;  /* "fold": for the hints line; NULL: never there */
};

struct keymap; /* the table, with what the user bound otherwise */

const struct binding *keymap_find(const struct keymap *map, uint32_t key,
                                  unsigned where);

#endif
