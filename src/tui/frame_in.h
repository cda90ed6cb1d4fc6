/* frame_in.h - who gets which part of the screen. Pure: sizes in, areas out. */
#ifndef TUI_FRAME_IN_H
#define TUI_FRAME_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer/panels.h"
#include "tui/cells.h"

/* What has the focus: a panel's number, or one of these. */
#define FOCUS_TREE   PANEL_NONE
#define FOCUS_LABELS PANEL_COUNT

#define STACK_MOST 5 /* panels beside the tree */

struct frame_wanted {
    unsigned columns, rows;
    unsigned focus;  /* a panel, FOCUS_TREE, FOCUS_LABELS */
    bool zoom;       /* what has the focus has the body to itself */
    bool below;      /* panels lie below the tree, however wide the screen is */
    bool labels;     /* Labels is open, in the panels' place */
    bool files;      /* a folder's list has the body to itself */
    unsigned share;  /* of the panels beside the tree, in percent: 20 to 80 */
    unsigned height; /* of the panel below the tree, with its rule */
    uint8_t open[PANEL_COUNT]; /* those that are open, the latest last */
    unsigned n_open;
};
#define FRAME_WANTED_INIT                                                              \
    {                                                                                  \
        .share = 45, .height = 8                                                       \
    }

struct frame_panel {
    unsigned panel;   /* a number, or FOCUS_LABELS */
    struct area area; /* with its rule */
};

struct frame {
    bool too_small; /* nothing but a message */
    bool small;     /* under 80x24 */
    bool right;     /* panels beside the tree: there is a divider */
    struct area title, body, tree, divider, status, hints; /* none: no rows */
    struct frame_panel panels[STACK_MOST];                 /* from top to bottom */
    unsigned n_panels;
};

void frame_make(struct frame *frame, const struct frame_wanted *wanted);

#endif
