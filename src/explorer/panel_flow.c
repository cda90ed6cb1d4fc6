/* Panel 6: the calls and operations inside the selected module, and the values between
 * them. A module of which neither is known is shown in the flow of its caller. */
#include <stdlib.h>

#include "explorer/panels_in.h"
#include "facts/calls_text.h"
#include "facts/flow_text.h"
#include "facts/run_text.h"

/* The cached flow; the cursor is a row of it. */
struct panel_flow_own {
    struct arena arena;
    struct flow_text text;
    bool made;
    const struct run *run; /* the flow's key */
    uint32_t call, inner;
    uint32_t left; /* the call left with -, until its row gets the cursor */
};

/* --- Which call */

/* The module at or around a place, or NO_PLACE. */
static uint32_t module_at(const struct model *model, uint32_t place)
{
    while (place != NO_PLACE && model->kind[place] != PLACE_MODULE)
        place = model->parent[place];
    return place;
}

/* The call to show of the module at `place`; RUN_NONE: none was kept. */
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

/* The call whose flow is shown, and the selected call in it; RUN_NONE: none, and `why`
 * says why in one line. */
static uint32_t shown_call(struct explorer *explorer, uint32_t *ret_inner,
                           struct buf *why)
{
    const struct show *show = &explorer->show;
    uint32_t place = explorer_place(explorer), call;

    *ret_inner = RUN_NONE;
    place = place == NO_PLACE ? NO_PLACE : module_at(show->model, place);
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
            buf_text(why, "not called by itself: it only holds other modules");
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
    uint32_t inner, call = shown_call(explorer, &inner, &why);

    if (call != RUN_NONE) {
        flow_text_subject(to, &explorer->show, call);
        if (!explorer->session->run->ops)
            buf_text(to, ", module calls");
    } else if (explorer_place(explorer) != NO_PLACE) {
        run_place(to, &explorer->show, explorer_place(explorer));
    }
    buf_release(&why);
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
    struct panel_flow_own *own = state->own;

    if (!own) {
        own = state->own = calloc(1, sizeof *own);
        if (own)
            own->left = RUN_NONE;
    }
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

static void flow_lines(struct lines *to, struct explorer *explorer,
                       struct panel_state *state, const struct panel_room *room)
{
    const struct flow_text *text = NULL;
    struct err err = {0};
    struct buf why = BUF_INIT;
    uint32_t inner, call = shown_call(explorer, &inner, &why), rows;

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

/* --- Keys */

/* Go to a call and its module. */
static bool go_to(struct explorer *explorer, uint32_t call)
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
        return go_to(explorer, row->call);
    if (row->kind == FLOW_RESULT && flow->next_kind != NEXT_UNKNOWN &&
        flow->next != RUN_NONE)
        return go_to(explorer, flow->next);
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
    return go_to(explorer, parent);
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

static bool flow_act(struct explorer *explorer, struct panel_state *state,
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
        explorer_say(explorer, "a flow has rows only: ( ) leads along a value");
        return false;
    }
}

static void flow_release(struct panel_state *state)
{
    struct panel_flow_own *own = state->own;

    if (own)
        arena_release(&own->arena);
    free(own);
    state->own = NULL;
}

static const struct panel_hint flow_hints[] = {
    {"enter", NULL, "into"},
    {"out", NULL, "out"},
    {"previous-call", "next-call", "input/user"},
    {NULL, NULL, NULL},
};

const struct panel flow_panel = {
    .number = PANEL_FLOW,
    .id = "flow",
    .title = "Flow",
    .cursor = true,
    .hints = flow_hints,
    .subject = flow_subject,
    .lines = flow_lines,
    .act = flow_act,
    .release = flow_release,
};
