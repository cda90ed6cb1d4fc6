/* frame_in.h - the screen layout. Pure: sizes in, areas out. */
#ifndef TUI_FRAME_IN_H
#define TUI_FRAME_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer/panels.h"
#include "tui/cells.h"

/* The focus: a panel's number, or one of these. */
#define FOCUS_TREE   PANEL_NONE
#define FOCUS_LABELS PANEL_COUNT

#define STACK_MOST 5 /* most panels beside the tree */

struct frame_wanted {
    unsigned columns, rows;
    unsigned focus;  /* a panel, FOCUS_TREE, FOCUS_LABELS */
    bool zoom;       /* the focused part fills the body */
    bool below;      /* panels are below the tree at any width */
    bool labels;     /* Labels is open, in place of the panels */
    bool files;      /* a folder's list fills the body */
    unsigned share;  /* width of the panels beside the tree, in percent: 20 to 80 */
    unsigned height; /* height of the panel below the tree, with its rule */
    uint8_t open[PANEL_COUNT]; /* the open panels, the latest last */
    unsigned n_open;
};
#define FRAME_WANTED_INIT                                                              \
    {                                                                                  \
        .share = 45, .height = 8                                                       \
    }

struct frame_panel {
    unsigned panel;   /* a number, or FOCUS_LABELS */
    struct area area; /* including its rule */
};

struct frame {
    bool too_small; /* show only a message */
    bool small;     /* below 80x24 */
    bool right;     /* panels are beside the tree: there is a divider */
    struct area title, body, tree, divider, status, hints; /* no rows: not shown */
    struct frame_panel panels[STACK_MOST];                 /* top to bottom */
    unsigned n_panels;
};

void frame_make(struct frame *frame, const struct frame_wanted *wanted);

#endif
