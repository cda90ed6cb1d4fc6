/* link.h - converts a view to settings and back. Every view can be written as a
 * command, and every command gives a view: link_apply() makes the view that settings
 * describe, link_write() writes the shortest command that restores the view. */
#ifndef EXPLORER_LINK_H
#define EXPLORER_LINK_H

#include "base/buf.h"
#include "base/err.h"
#include "explorer/explorer.h"
#include "explorer/settings.h"

/* Where things are on the screen. */
struct link_screen {
    unsigned focus;         /* a panel; PANEL_NONE: the tree; PANEL_COUNT: Labels */
    bool zoom, labels;      /* labels: Labels are open */
    bool below;             /* panels are below the tree at any width */
    unsigned share, height; /* size of panels: percent beside the tree, rows below it */
};
#define LINK_SHARE_LEAST 20
#define LINK_SHARE_MOST  80
/* The defaults. */
void link_screen_init(struct link_screen *screen, const struct explorer *explorer);

/* Fails with ERR_USAGE or ERR_NOT_FOUND. */
int link_apply(const struct settings *settings, struct explorer *explorer,
               struct link_screen *ret_screen, struct err *err);
/* The command, quoted for a shell; for a live model that was never saved the
 * torchoscope.explore(...) line, with the options as a comment. */
void link_write(struct buf *to, struct explorer *explorer,
                const struct link_screen *screen);
/* Is this a live model that was never saved? */
bool link_is_live(const struct explorer *explorer);
/* The options alone; settings_read() reads them back. */
void link_options(struct buf *to, struct explorer *explorer,
                  const struct link_screen *screen);

/* Select a step of a training run: a number, or "newest". */
int link_go_to_step(struct explorer *explorer, struct str step, struct err *err);
/* The place (in a pair: the node) with this name. */
int link_find(const struct explorer *explorer, struct str name, uint32_t *ret_place,
              struct err *err);

/* The order with this name: "params", "memory", ...; "model" is the model's own. */
int sort_by_word(struct str word, enum rows_sort *ret_sort, struct err *err);

#endif
