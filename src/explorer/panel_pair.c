/* Panels of a pair: show both models, or one of them. */
#include <string.h>

#include "compare/diff_text.h"
#include "compare/diff_view.h"
#include "explorer/panels_in.h"
#include "text/text.h"

#define BESIDE 98  /* from this width on, two tensors are side by side */
#define TABLES 120 /* the same for the tensors of two modules */
#define GAP    2   /* between them */

static bool tells_one(const struct explorer *explorer, const struct panel *panel)
{
    return explorer->pair && panel->number != PANEL_DETAILS &&
           panel->number != PANEL_STATISTICS;
}

/* The side a panel shows: the chosen one, or the only one. */
static struct explorer *side_of(struct explorer *explorer,
                                const struct panel_state *state, bool *ret_right)
{
    struct explorer *side = explorer_side(explorer, !state->left);

    *ret_right = side ? !state->left : state->left;
    return side ? side : explorer_side(explorer, state->left);
}

void panel_subject(const struct panel *panel, struct buf *to, struct explorer *explorer)
{
    struct buf name = BUF_INIT;
    bool right;

    if (tells_one(explorer, panel)) {
        struct explorer *side =
            side_of(explorer, &explorer->panels[panel->number], &right);

        buf_text(to, right ? "right: " : "left: ");
        if (side)
            panel->subject(to, side);
    } else if (explorer->pair && panel->number == PANEL_STATISTICS) {
        diff_node_name(&explorer->pair->diff, browse_place(explorer->browse), &name);
        escape_terminal(to, buf_span(&name));
        buf_release(&name);
    } else {
        panel->subject(to, explorer);
    }
}

/* ---- statistics ---- */

/* The user's choices are in the state of the pair's panel. */
static struct panel_state *lend_state(struct explorer *side,
                                      const struct panel_state *state)
{
    struct panel_state *own = &side->panels[PANEL_STATISTICS];

    own->view = state->view;
    own->log = state->log;
    memcpy(own->slice, state->slice, sizeof own->slice);
    return own;
}

/* "  120×400 float32"; the name is in the title. */
static void add_what(struct buf *to, struct explorer *side)
{
    const struct model *model = side->show.model;
    uint32_t place = explorer_place(side);
    const struct tensor *tensor;

    if (model->kind[place] != PLACE_TENSOR)
        return;
    tensor = place_tensor(model, place);
    buf_text(to, "  ");
    text_shape(to, tensor_shape(model, tensor), tensor->rank);
    buf_printf(to, " %s", dtype_name(tensor->dtype));
}

static void side_lines(struct lines *to, struct explorer *explorer, bool right,
                       struct panel_state *state, const struct panel_room *room)
{
    struct explorer *side = explorer_side(explorer, right);
    struct buf name = BUF_INIT, text = BUF_INIT;
    struct panel_state *own;

    escape_terminal(&text, diff_file(&explorer->pair->diff, right));
    lines_text(to, COLOUR_NONE, right ? " right  " : " left   ");
    if (side)
        add_what(&text, side);
    text_cut(&name, buf_span(&text), room->width > 9 ? room->width - 9 : 0, "…");
    lines_add(to, COLOUR_DIM, 0, buf_span(&name));
    lines_end(to);
    buf_release(&name);
    buf_release(&text);
    if (!side) {
        lines_text(to, COLOUR_DIM, " not there");
        lines_end(to);
        return;
    }
    own = lend_state(side, state);
    statistics_panel.lines(to, side, own, room);
    state->view = own->view; /* a slice may select another */
}

/* A line with the differences; below it both, side by side if there is space. */
static void both_statistics(struct lines *to, struct explorer *explorer,
                            struct panel_state *state, const struct panel_room *room)
{
    uint32_t node = browse_place(explorer->browse);
    bool tensor = explorer->pair->diff.nodes[node].pair != DIFF_NONE;
    bool beside = room->width >= (tensor ? BESIDE : TABLES);
    unsigned width = beside ? (room->width - GAP) / 2 : room->width;
    struct panel_room half = {.width = width,
                              .height = room->height > 8 ? room->height - 2 : 6};
    struct lines left = {0}, right = {0};
    struct buf text = BUF_INIT;

    diff_facts(&text, &explorer->show, node);
    lines_text(to, COLOUR_NONE, " ");
    lines_wrap(to, COLOUR_NONE, buf_span(&text), room->width, 1);
    if (!beside)
        half.height = room->height > 16 ? room->height / 2 - 2 : 6;
    side_lines(&left, explorer, false, state, &half);
    side_lines(&right, explorer, true, state, &half);
    if (beside) {
        panel_beside(to, &left, &right, width + GAP);
    } else {
        panel_beside(to, &left, &(struct lines){0}, 0);
        panel_beside(to, &right, &(struct lines){0}, 0);
    }
    lines_release(&left);
    lines_release(&right);
    buf_release(&text);
}

void panel_lines(const struct panel *panel, struct lines *to, struct explorer *explorer,
                 struct panel_state *state, const struct panel_room *room)
{
    struct explorer *side = explorer;
    bool right;

    if (explorer->pair && panel->number == PANEL_STATISTICS) {
        both_statistics(to, explorer, state, room);
        return;
    }
    if (tells_one(explorer, panel))
        side = side_of(explorer, state, &right);
    if (side)
        panel->lines(to, side, state, room);
}

/* ---- keys ---- */

const struct panel_hint *panel_hints(const struct panel *panel,
                                     const struct explorer *explorer)
{
    static const struct panel_hint none[] = {{NULL, NULL, NULL}};
    static const struct panel_hint sides[] = {{"view", NULL, "other side"},
                                              {NULL, NULL, NULL}};
    const struct panel_state *state = &explorer->panels[panel->number];
    const struct panel_hint *now = panel->hints_now ? panel->hints_now(state) : NULL;

    if (tells_one(explorer, panel))
        return sides;
    return now ? now : panel->hints ? panel->hints : none;
}

/* Act on both sides; true if either succeeded. */
static bool act_on_both(struct explorer *explorer, struct panel_state *state,
                        enum panel_act act)
{
    bool done = false;

    for (int right = 0; right < 2; right++) {
        struct explorer *side = explorer_side(explorer, right);
        struct panel_state *own;

        if (!side)
            continue;
        own = lend_state(side, state);
        done |= statistics_panel.act(side, own, act);
        if (right || !explorer_side(explorer, true)) {
            state->view = own->view;
            state->log = own->log;
        }
        if (side->message.len > 0 && !done)
            explorer_say(explorer, "%s", side->message.at);
    }
    if (done)
        buf_clear(&explorer->message);
    return done;
}

bool panel_act(const struct panel *panel, struct explorer *explorer,
               struct panel_state *state, enum panel_act act)
{
    struct explorer *side;
    bool right, done;

    if (explorer->pair && panel->number == PANEL_STATISTICS)
        return act_on_both(explorer, state, act);
    if (!tells_one(explorer, panel))
        return panel->act(explorer, state, act);
    if (act == ACT_VIEW) {
        state->left = !state->left;
        return true;
    }
    side = side_of(explorer, state, &right);
    if (!side)
        return panel_cannot(explorer, act);
    buf_clear(&side->message);
    done = panel->act(side, state, act);
    explorer->call = side->call;
    if (side->message.len > 0)
        explorer_say(explorer, "%s", side->message.at);
    return done;
}

bool panel_click(const struct panel *panel, struct explorer *explorer,
                 struct panel_state *state, uint32_t line, uint32_t cell)
{
    struct explorer *side = explorer;
    bool right;

    if (tells_one(explorer, panel))
        side = side_of(explorer, state, &right);
    return side && panel->click && panel->click(side, state, line, cell);
}
