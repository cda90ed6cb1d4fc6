/* panels.h - THE TABLE of panels, which show one thing about the selected row each.
 * A panel is a function that makes lines; its state (how far it is scrolled, which of
 * its views is shown) is kept while it is closed. To add one: write
 * explorer/panel_NAME.c ending in a struct panel, and list it in panels.c. */
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
    PANEL_COUNT
};

/* What a person did to a panel that has the focus, beyond scrolling. */
enum panel_act {
    ACT_ENTER, /* on the line of its cursor */
    ACT_LEFT,  /* h, l: fold and unfold in Attributes, across in Flow and grids */
    ACT_RIGHT,
    ACT_VIEW,     /* v: its next view */
    ACT_LOG,      /* x: linear or log */
    ACT_PREVIOUS, /* ( ): call; in Flow producer, consumer */
    ACT_NEXT,
    ACT_OUT, /* -: out of this block */
};

/* How one panel stands. */
struct panel_state {
    bool open;
    uint32_t top;    /* the first line shown */
    uint32_t cursor; /* a line; of panels that have one */
    uint32_t view;   /* which of its views */
    bool log;
    bool left;      /* of a pair: it tells of the left model; else of the right one */
    uint32_t foot;  /* set by lines(): so many of its last lines stay at the bottom, in
                       sight, while those above them scroll; the cursor is never there */
    char slice[64]; /* as typed; "" is none */
    void *own;      /* what else it remembers; freed by panel->release */
};

/* How much room it has. Lines may be longer: they are cut; there may be more: they
 * scroll. */
struct panel_room {
    unsigned width, height; /* in cells, without the title rule */
    bool zoomed;            /* it has the body of the screen to itself */
};

/* "( ) call": what can be done in a panel, by the names of actions that keys are bound
 * to; whoever shows it knows the keys. */
struct panel_hint {
    const char *action, *other; /* "previous-call", "next-call"; or NULL */
    const char *text;
};

struct panel {
    uint8_t number; /* enum panel_number: its key */
    const char *id; /* for --panel and :panel */
    const char *title;
    bool cursor; /* it has a line that is selected; else it only scrolls */
    const struct panel_hint *hints; /* for the hints line; one without action ends */
    /* The same where it depends on what it shows; NULL, or giving NULL: as above. */
    const struct panel_hint *(*hints_now)(const struct panel_state *state);
    /* Behind its name in the title rule: "layer1.0.conv2", escaped. */
    void (*subject)(struct buf *to, struct explorer *explorer);
    /* All its lines. What cannot be known is a line that says so; what is not ready is
     * a line with "…". */
    void (*lines)(struct lines *to, struct explorer *explorer,
                  struct panel_state *state, const struct panel_room *room);
    /* Where it has two parts side by side: what stands in the title rule above the
     * second, asked after lines(). The column at which that begins; 0: there is one
     * part. May be NULL. */
    unsigned (*aside)(struct buf *to, const struct panel_state *state);
    /* May be NULL; false: it could not, and explorer_say() says why. */
    bool (*act)(struct explorer *explorer, struct panel_state *state,
                enum panel_act act);
    void (*release)(struct panel_state *state); /* may be NULL */
};

extern const struct panel *const panels[PANEL_COUNT]; /* PANEL_NONE: NULL */

/* What a panel says and does, of one model or of a pair: there Details tells of both,
 * Statistics stand side by side or one below the other, and all others tell of one
 * side, which their title names; v shows the other. */
void panel_subject(const struct panel *panel, struct buf *to,
                   struct explorer *explorer);
void panel_lines(const struct panel *panel, struct lines *to, struct explorer *explorer,
                 struct panel_state *state, const struct panel_room *room);
const struct panel_hint *panel_hints(const struct panel *panel,
                                     const struct explorer *explorer);
bool panel_act(const struct panel *panel, struct explorer *explorer,
               struct panel_state *state, enum panel_act act);

const struct panel *panel_find(struct str id); /* by number or id; or NULL */

#endif
