/* panels.h - THE TABLE of panels; each shows one aspect of the selected row. A panel is
 * a function that makes lines; its state (scroll position, view) is kept while it is
 * closed. To add one: write explorer/panel_NAME.c ending in a struct panel, and list it
 * in panels.c. */
#ifndef EXPLORER_PANELS_H
#define EXPLORER_PANELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "text/lines.h"

struct explorer;

enum panel_number {
    PANEL_NONE,
    PANEL_DETAILS,
    PANEL_CODE,
    PANEL_ATTRIBUTES,
    PANEL_STATISTICS,
    PANEL_PERFORMANCE,
    PANEL_FLOW,
    PANEL_TRAINING,
    PANEL_COUNT
};

/* A user action in the focused panel, beyond scrolling. */
enum panel_act {
    ACT_ENTER, /* on the selected line */
    ACT_LEFT, /* h, l: fold and unfold in Attributes, move sideways in Flow and grids */
    ACT_RIGHT,
    ACT_VIEW,     /* v: the next view */
    ACT_LOG,      /* x: linear or log */
    ACT_PREVIOUS, /* ( ): call; in Flow producer, consumer; in Training step */
    ACT_NEXT,
    ACT_OUT, /* -: out of this block */
    /* j k g G, for a panel that is drawn. */
    ACT_UP,
    ACT_DOWN,
    ACT_FIRST,
    ACT_LAST,
};

/* The state of a panel. */
struct panel_state {
    bool open;
    uint32_t top;    /* the first visible line */
    uint32_t cursor; /* the selected line, if the panel has a cursor */
    uint32_t view;   /* the current view */
    bool log;
    bool left; /* pair: show the left model, else the right one */
    /* Set by lines(): this many trailing lines stay at the bottom while the others
     * scroll; the cursor never enters them. */
    uint32_t foot;
    char slice[64]; /* as typed; "": none */
    void *own;      /* more state; freed by panel->release */
};

/* The available space. Longer lines are cut; more lines scroll. */
struct panel_room {
    unsigned width, height; /* in cells, without the title rule */
    bool zoomed;            /* it fills the body of the screen */
};

/* "( ) call": an action of a panel for the hints line. It names bound actions; the
 * caller looks up their keys. */
struct panel_hint {
    const char *action, *other; /* "previous-call", "next-call"; or NULL */
    const char *text;
};

struct panel {
    uint8_t number; /* enum panel_number: its key */
    const char *id; /* for --panel and :panel */
    const char *title;
    bool cursor;                    /* it has a selected line; else it only scrolls */
    const struct panel_hint *hints; /* for the hints line; no action: the end */
    /* Hints that depend on the state; NULL, or returning NULL: as above. */
    const struct panel_hint *(*hints_now)(const struct panel_state *state);
    /* After its name in the title rule: "layer1.0.conv2", escaped. */
    void (*subject)(struct buf *to, struct explorer *explorer);
    /* All its lines. Unknown facts get a line with the reason; pending ones a line with
     * "…". */
    void (*lines)(struct lines *to, struct explorer *explorer,
                  struct panel_state *state, const struct panel_room *room);
    /* For two parts side by side: the title of the second, called after lines().
     * Returns its first column; 0: there is one part. May be NULL. */
    unsigned (*aside)(struct buf *to, const struct panel_state *state);
    /* Is it currently a drawing? Then no line is selected, act() moves the selection,
     * click() selects the item at a cell of a line, and lines() sets state->top to keep
     * it visible. May be NULL: never. */
    bool (*drawn)(const struct panel_state *state);
    bool (*click)(struct explorer *explorer, struct panel_state *state, uint32_t line,
                  uint32_t cell);
    /* May be NULL; false: not possible, and explorer_say() reports why. */
    bool (*act)(struct explorer *explorer, struct panel_state *state,
                enum panel_act act);
    void (*release)(struct panel_state *state); /* may be NULL */
};

extern const struct panel *const panels[PANEL_COUNT]; /* PANEL_NONE: NULL */

/* The same for one model or a pair: in a pair, Details shows both, Statistics are side
 * by side or stacked, and the others show one side, which their title names; v
 * switches. */
void panel_subject(const struct panel *panel, struct buf *to,
                   struct explorer *explorer);
void panel_lines(const struct panel *panel, struct lines *to, struct explorer *explorer,
                 struct panel_state *state, const struct panel_room *room);
const struct panel_hint *panel_hints(const struct panel *panel,
                                     const struct explorer *explorer);
bool panel_act(const struct panel *panel, struct explorer *explorer,
               struct panel_state *state, enum panel_act act);

/* Does it have a selected line now? */
bool panel_has_cursor(const struct panel *panel, const struct panel_state *state);
/* A click on a drawing; true: something is selected. */
bool panel_click(const struct panel *panel, struct explorer *explorer,
                 struct panel_state *state, uint32_t line, uint32_t cell);

const struct panel *panel_find(struct str id); /* by number or id; or NULL */

#endif
