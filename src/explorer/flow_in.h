/* flow_in.h - shared by the two views of panel 6: rows (panel_flow.c) and boxes
 * (flow_boxes.c). */
#ifndef EXPLORER_FLOW_IN_H
#define EXPLORER_FLOW_IN_H

#include "explorer/boxes/boxes.h"
#include "explorer/panels_in.h"
#include "facts/flow_text.h"
#include "session/made.h"

enum flow_view { FLOW_ROWS, FLOW_BOXES }; /* state->view */

/* The boxes of one block, and which is selected. */
struct flow_boxes {
    struct made made;                /* without background jobs: the graph */
    const struct boxes_graph *graph; /* what is drawn; NULL: nothing */
    struct arena arena;              /* of the drawing */
    struct boxes_drawing drawing;
    uint32_t width, most; /* the size it was made for */
    uint32_t call, place; /* the block: a call, or without a recording a place */
    uint32_t asked_call, asked_place; /* the block requested last */
    uint32_t selected;                /* a node */
    uint32_t wanted; /* a call to select in the next block; or RUN_NONE */
    uint32_t inner;  /* the selected module, in the block of its caller */
    uint32_t column; /* the first visible one */
    bool follow;     /* scroll to the selected node */
};

/* The cached flow; the cursor is a row of it. */
struct panel_flow_own {
    struct arena arena;
    struct flow_text text;
    bool made;
    const struct run *run; /* the flow's key */
    uint32_t call, inner;
    uint32_t left; /* the call left with -; its row gets the cursor */
    struct flow_boxes boxes;
};

/* panel_flow.c */

/* The state, created on first use; NULL: out of memory. */
struct panel_flow_own *flow_own(struct panel_state *state);
/* The module at or around a place, or NO_PLACE. */
uint32_t flow_module(const struct model *model, uint32_t place);
/* The call whose flow is shown, and the selected call in it; RUN_NONE: none, and `why`
 * has the reason in one line. */
uint32_t flow_shown_call(struct explorer *explorer, uint32_t *ret_inner,
                         struct buf *why);
/* Go to a call and its module. */
bool flow_go(struct explorer *explorer, uint32_t call);

/* flow_boxes.c: the panel's functions while it shows boxes. */
void flow_boxes_lines(struct lines *to, struct explorer *explorer,
                      struct panel_state *state, const struct panel_room *room);
bool flow_boxes_act(struct explorer *explorer, struct panel_state *state,
                    enum panel_act act);
bool flow_boxes_click(struct explorer *explorer, struct panel_state *state,
                      uint32_t line, uint32_t cell);
/* The call of the selected node, or RUN_NONE. */
uint32_t flow_boxes_call(const struct flow_boxes *boxes);
void flow_boxes_release(struct flow_boxes *boxes);

#endif
