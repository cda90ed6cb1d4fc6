/* keymap.h - THE TABLE of keys. An action has a name (for the config file), a
 * description (for help and the man page), the parts where it works, and its keys. To
 * add one: an enum value, a line in keymap.c, a case in actions.c. */
#ifndef TUI_KEYMAP_H
#define TUI_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/out.h"
#include "base/str.h"

enum where { /* bits: where an action works */
             IN_TREE = 1,
             IN_PANEL = 2,
             IN_LABELS = 4,
             IN_DIFF = 8, /* in the tree of a pair */
             IN_FILES = 16,
             IN_FLOW = 32, /* in panel 6; IN_PANEL is set too */
             EVERYWHERE = IN_TREE | IN_PANEL | IN_LABELS | IN_DIFF | IN_FLOW,
};

enum action {
    ACTION_NONE,
    /* moving */
    ACTION_UP,
    ACTION_DOWN,
    ACTION_LEFT,
    ACTION_RIGHT,
    ACTION_ENTER,
    ACTION_NEXT_SIBLING,
    ACTION_PREVIOUS_SIBLING,
    ACTION_PAGE_UP,
    ACTION_PAGE_DOWN,
    ACTION_HALF_UP,
    ACTION_HALF_DOWN,
    ACTION_FIRST,
    ACTION_LAST,
    ACTION_BACK,
    /* folding */
    ACTION_FOLD,
    ACTION_FOLD_SUBTREE,
    ACTION_FOLD_ALL,
    ACTION_FOLD_SIBLINGS,
    ACTION_FOLD_SIBLINGS_BELOW,
    ACTION_FOLD_CLASS,
    ACTION_FOLD_CLASS_BELOW,
    ACTION_RUNS,
    ACTION_FLAT,
    /* labels */
    ACTION_SHAPES,
    ACTION_MEMORY,
    ACTION_COUNTS,
    ACTION_DEVICE,
    ACTION_FORWARD,
    ACTION_TIMES,
    ACTION_ALIGN,
    ACTION_LABELS,
    ACTION_LABEL_DOWN,
    ACTION_LABEL_UP,
    ACTION_LABEL_TOP,
    ACTION_LABEL_BOTTOM,
    ACTION_LABEL_TOGGLE,
    /* panels */
    ACTION_CODE,
    ACTION_ATTRIBUTES,
    ACTION_PANEL_1,
    ACTION_PANEL_7 = ACTION_PANEL_1 + 6,
    ACTION_NEXT_PANEL,
    ACTION_PREVIOUS_PANEL,
    ACTION_LARGER,
    ACTION_SMALLER,
    ACTION_BELOW,
    ACTION_ZOOM,
    ACTION_PREVIOUS_CALL,
    ACTION_NEXT_CALL,
    ACTION_VIEW,
    ACTION_LOG,
    ACTION_SLICE,
    ACTION_OUT,
    /* searching */
    ACTION_SEARCH,
    ACTION_NEXT_MATCH,
    ACTION_PREVIOUS_MATCH,
    ACTION_ONLY_MATCHES,
    ACTION_SEARCH_CLASS,
    ACTION_ALARM,
    ACTION_SORT,
    ACTION_FILTER,
    ACTION_MARK,
    ACTION_HIDE_EQUAL,
    /* copying and files */
    ACTION_COPY,
    ACTION_EXPORT,
    ACTION_EDIT,
    ACTION_DIFF,
    ACTION_RELOAD,
    /* other */
    ACTION_COMMAND,
    ACTION_HELP,
    ACTION_ESCAPE,
    ACTION_QUIT,
    ACTION_QUIT_NOW,
    ACTION_REDRAW,
    ACTION_SUSPEND,
    ACTION_COUNT
};

#define KEYS_MOST 4 /* per action */

struct binding {
    uint16_t action;          /* enum action */
    uint8_t where;            /* enum where */
    const char *name;         /* "fold-subtree", for the config file */
    uint32_t keys[KEYS_MOST]; /* the default keys; 0 ends */
    const char *about;        /* "fold or unfold the subtree" */
    const char *hint;         /* "fold": for the hints line; NULL: never shown */
};

/* The default table; help and the man page keep its order. */
extern const struct binding bindings[];
extern const size_t n_bindings;
/* The heading of the part that begins at this binding: "moving" at index 0. NULL:
 * none. */
const char *keymap_part(size_t binding);

struct keymap; /* the table with the user's bindings */

struct keymap *keymap_new(void); /* NULL: out of memory */
void keymap_free(struct keymap *map);
/* Bind keys to an action, replacing its own: "fold-subtree", "z ^T"; "" unbinds it. A
 * key that another action has in the same part is removed there. ERR_USAGE: bad name or
 * key. */
int keymap_bind(struct keymap *map, struct str name, struct str keys, struct err *err);

/* The binding of a key at `where`, or NULL. */
const struct binding *keymap_find(const struct keymap *map, uint32_t key,
                                  unsigned where);
/* The keys of a binding after the user's changes, up to KEYS_MOST; 0 ends. */
const uint32_t *keymap_keys(const struct keymap *map, size_t binding);
/* The binding of an action that works there, or NULL. */
const struct binding *keymap_of(const struct keymap *map, enum action action,
                                unsigned where);
/* "← h": the keys of a binding as shown in help. */
void keymap_names(const struct keymap *map, size_t binding, bool ascii, struct buf *to);

/* Write the keys for the manual page, in mdoc. */
void keymap_manual(struct out *out);

#endif
