/* Panel 6: the calls and operations inside the selected module, and the values between
 * them: as rows (here) or as boxes. A module without known calls and operations is
 * shown in the flow of its caller. */
#include <stdlib.h>

#include "explorer/flow_in.h"
#include "facts/calls_text.h"
#include "facts/run_text.h"

/* --- Which call */

uint32_t flow_module(const struct model *model, uint32_t place)
{
    while (place != NO_PLACE && model->kind[place] != PLACE_MODULE)
        place = model->parent[place];
    return place;
}

/* The call to show for the module at `place`; RUN_NONE: none was kept. */
static uint32_t chosen_call(const struct explorer *explorer, uint32_t place)
{
    const struct run *run = explorer->session->run;
    uint32_t call;

    if (explorer->call == RUN_NONE)
        return explorer->show.activity->at[place].newest;
    call = run_first_call(run, explorer->show.model->object[place]);
    while (call != RUN_NONE && (run->calls[call].number != explorer->call ||
                                run->calls[call].place != place))
        call = run_next_call(run, call);
    return call;
}

uint32_t flow_shown_call(struct explorer *explorer, uint32_t *ret_inner,
                         struct buf *why)
{
    const struct show *show = &explorer->show;
    uint32_t place = explorer_place(explorer), call;

    *ret_inner = RUN_NONE;
    place = place == NO_PLACE ? NO_PLACE : flow_module(show->model, place);
    if (!show->activity) {
        buf_text(why, "no recording: torchoscope.record() makes one");
        return RUN_NONE;
    }
    if (place == NO_PLACE) {
        buf_text(why, "not a module");
        return RUN_NONE;
    }
    if (show->activity->at[place].calls == 0) {
        if (!calls_none(why, show, place))
            buf_text(why, "never called itself: it only contains other modules");
        return RUN_NONE;
    }
    call = chosen_call(explorer, place);
    if (call == RUN_NONE) {
        buf_printf(why, "call %u was merged with others", explorer->call + 1);
        return RUN_NONE;
    }
    return flow_block(show->session->run, call, ret_inner);
}

/* --- Lines */

static void flow_subject(struct buf *to, struct explorer *explorer)
{
    struct buf why = BUF_INIT;
    uint32_t inner, call = flow_shown_call(explorer, &inner, &why);

    if (call != RUN_NONE) {
        flow_text_subject(to, &explorer->show, call);
        if (!explorer->session->run->ops)
            buf_text(to, ", module calls");
    } else if (explorer_place(explorer) != NO_PLACE) {
        run_place(to, &explorer->show, explorer_place(explorer));
    }
    if (explorer->panels[PANEL_FLOW].view == FLOW_BOXES)
        buf_text(to, ", boxes");
    buf_release(&why);
}

struct panel_flow_own *flow_own(struct panel_state *state)
{
    struct panel_flow_own *own = state->own;

    if (!own) {
        own = state->own = calloc(1, sizeof *own);
        if (own)
            own->left = own->boxes.wanted = own->boxes.inner = own->boxes.asked_place =
                RUN_NONE;
    }
    return own;
}

static void put_cursor(struct panel_state *state, const struct flow *flow,
                       uint32_t inner)
{
    for (uint32_t r = 0; inner != RUN_NONE && r < flow->n; r++)
        if (flow->rows[r].kind == FLOW_CALL && flow->rows[r].call == inner)
            state->cursor = r;
}

/* The flow of this call, rebuilt if another was cached; NULL: out of memory. */
static const struct flow_text *flow_of(struct explorer *explorer,
                                       struct panel_state *state, uint32_t call,
                                       uint32_t inner, struct err *err)
{
    struct panel_flow_own *own = flow_own(state);

    if (!own) {
        err_set(err, ERR_LIMIT, "no memory is left");
        return NULL;
    }
    if (!own->made || own->run != explorer->session->run || own->call != call) {
        arena_release(&own->arena);
        arena_init(&own->arena, 0);
        own->made = false;
        if (flow_text_make(&own->text, &explorer->show, call, &own->arena, err) < 0)
            return NULL;
        own->made = true;
        own->run = explorer->session->run;
        own->call = call;
        own->inner = RUN_NONE;
        state->cursor = state->top = 0;
        put_cursor(state, &own->text.flow, own->left);
        own->left = RUN_NONE;
    }
    if (own->inner != inner)
        put_cursor(state, &own->text.flow, inner);
    own->inner = inner;
    if (state->cursor >= own->text.flow.n)
        state->cursor = own->text.flow.n - 1;
    return &own->text;
}

static void row_lines(struct lines *to, struct explorer *explorer,
                      struct panel_state *state, const struct panel_room *room)
{
    const struct flow_text *text = NULL;
    struct err err = {0};
    struct buf why = BUF_INIT;
    uint32_t inner, call = flow_shown_call(explorer, &inner, &why), rows;

    state->foot = 0;
    if (call != RUN_NONE)
        text = flow_of(explorer, state, call, inner, &err);
    if (text) {
        flow_text_lines(to, text, room->width);
        rows = to->n;
        flow_text_row(to, &explorer->show, text, state->cursor, room->width,
                      room->height < 16 ? room->height / 2 : 8);
        state->foot = to->n - rows;
    } else {
        struct str rest = err.text[0] ? str_of(err.text) : buf_span(&why), line;

        while (rest.len > 0 && str_split(&rest, '\n', &line)) {
            lines_text(to, COLOUR_NONE, " ");
            lines_wrap(to, COLOUR_DIM, line, room->width, 1);
        }
    }
    buf_release(&why);
}

static void flow_lines(struct lines *to, struct explorer *explorer,
                       struct panel_state *state, const struct panel_room *room)
{
    if (state->view == FLOW_BOXES)
        flow_boxes_lines(to, explorer, state, room);
    else
        row_lines(to, explorer, state, room);
}

/* --- Keys */

bool flow_go(struct explorer *explorer, uint32_t call)
{
    const struct run_call *c = &explorer->session->run->calls[call];
    bool newest = explorer->show.activity->at[c->place].newest == call;
    bool moved = browse_go(explorer->browse, c->place);

    explorer->call = newest ? RUN_NONE : c->number;
    return moved;
}

static bool enter(struct explorer *explorer, const struct flow *flow,
                  const struct flow_row *row)
{
    if (row->kind == FLOW_CALL)
        return flow_go(explorer, row->call);
    if (row->kind == FLOW_RESULT && flow->next_kind != NEXT_UNKNOWN &&
        flow->next != RUN_NONE)
        return flow_go(explorer, flow->next);
    explorer_say(explorer, row->kind == FLOW_INPUT
                               ? "an argument of this block; - leads out of it"
                           : row->kind == FLOW_OP ? "an operation: nothing is inside it"
                           : row->kind == FLOW_MORE
                               ? "torchoscope ops lists all operations"
                           : flow->has_ops ? "nothing takes it"
                                           : "no module call takes it");
    return false;
}

static bool leave(struct explorer *explorer, struct panel_flow_own *own)
{
    const struct flow *flow = &own->text.flow;
    uint32_t parent = flow->run->calls[flow->call].parent;

    if (parent == RUN_NONE) {
        explorer_say(explorer, "this is the outermost call");
        return false;
    }
    own->left = flow->call;
    return flow_go(explorer, parent);
}

static bool to_producer(struct explorer *explorer, struct panel_state *state,
                        const struct flow *flow, const struct flow_row *row)
{
    for (uint32_t i = row->from; i < row->from + row->n_from; i++)
        if (flow->from[i].row != NO_FLOW) {
            state->cursor = flow->from[i].row;
            return true;
        }
    explorer_say(explorer, row->kind == FLOW_INPUT
                               ? "an argument of this block; - leads out of it"
                           : flow->has_ops ? "nothing in this block made it"
                                           : "no module call here produced it");
    return false;
}

static bool to_consumer(struct explorer *explorer, struct panel_state *state,
                        const struct flow *flow, const struct flow_row *row)
{
    if (row->kind == FLOW_RESULT)
        return enter(explorer, flow, row);
    if (row->n_to == 0) {
        explorer_say(explorer, flow->has_ops ? "not used in this block"
                                             : "used by no module call; operations "
                                               "are not recorded");
        return false;
    }
    state->cursor = flow->to[row->to];
    return true;
}

static bool row_act(struct explorer *explorer, struct panel_state *state,
                    enum panel_act act)
{
    struct panel_flow_own *own = state->own;
    const struct flow *flow;
    const struct flow_row *row;

    if (!own || !own->made || own->run != explorer->session->run) {
        explorer_say(explorer, "no flow for this row");
        return false;
    }
    flow = &own->text.flow;
    row = &flow->rows[state->cursor < flow->n ? state->cursor : flow->n - 1];
    switch (act) {
    case ACT_ENTER:
        return enter(explorer, flow, row);
    case ACT_OUT:
        return leave(explorer, own);
    case ACT_PREVIOUS:
        return to_producer(explorer, state, flow, row);
    case ACT_NEXT:
        return to_consumer(explorer, state, flow, row);
    default:
        explorer_say(explorer, "( ) leads along a value; v shows boxes");
        return false;
    }
}

/* v: the other view, with the same call selected. */
static bool change_view(struct explorer *explorer, struct panel_state *state)
{
    struct panel_flow_own *own = flow_own(state);
    uint32_t cursor = state->cursor;

    state->top = 0;
    state->view = state->view == FLOW_BOXES ? FLOW_ROWS : FLOW_BOXES;
    if (!own || !own->made || own->run != explorer->session->run)
        return true;
    if (state->view == FLOW_ROWS) {
        if (own->boxes.graph && own->boxes.call == own->call)
            put_cursor(state, &own->text.flow, flow_boxes_call(&own->boxes));
    } else if (cursor < own->text.flow.n &&
               own->text.flow.rows[cursor].kind == FLOW_CALL) {
        own->boxes.wanted = own->text.flow.rows[cursor].call;
    }
    return true;
}

static bool flow_act(struct explorer *explorer, struct panel_state *state,
                     enum panel_act act)
{
    if (act == ACT_VIEW)
        return change_view(explorer, state);
    return state->view == FLOW_BOXES ? flow_boxes_act(explorer, state, act)
                                     : row_act(explorer, state, act);
}

static bool flow_drawn(const struct panel_state *state)
{
    return state->view == FLOW_BOXES;
}

static void flow_release(struct panel_state *state)
{
    struct panel_flow_own *own = state->own;

    if (own) {
        arena_release(&own->arena);
        flow_boxes_release(&own->boxes);
    }
    free(own);
    state->own = NULL;
}

static const struct panel_hint flow_hints[] = {
    {"enter", NULL, "into"},
    {"out", NULL, "out"},
    {"previous-call", "next-call", "input/user"},
    {"view", NULL, "boxes"},
    {NULL, NULL, NULL},
};

static const struct panel_hint box_hints[] = {
    {"down", "up", "along"}, {"left", "right", "across"}, {"enter", NULL, "into"},
    {"out", NULL, "out"},    {"view", NULL, "rows"},      {NULL, NULL, NULL},
};

static const struct panel_hint *flow_hints_now(const struct panel_state *state)
{
    return state->view == FLOW_BOXES ? box_hints : NULL;
}

const struct panel flow_panel = {
    .number = PANEL_FLOW,
    .id = "flow",
    .title = "Flow",
    .cursor = true,
    .hints = flow_hints,
    .hints_now = flow_hints_now,
    .subject = flow_subject,
    .lines = flow_lines,
    .act = flow_act,
    .drawn = flow_drawn,
    .click = flow_boxes_click,
    .release = flow_release,
};
