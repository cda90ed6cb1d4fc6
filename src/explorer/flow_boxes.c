/* Panel 6 as boxes and lines: the diagram of the selected module. It is made in the
 * background, because that of a large model takes longer than a key may. */
#include "explorer/flow_in.h"

#define WAIT_MS   4     /* for a diagram: most are ready by then */
#define MANY_OPS  40000 /* in a larger recording, none is */
#define PER_BOX   100   /* cells of the panel for each box */
#define FEW_BOXES 12    /* in the smallest panel */

/* ---- in the thread ---- */

struct boxes_question {
    const struct session *session;
    uint32_t root, call, level, unused; /* no padding */
};

static int make_boxes(const struct model *model, const void *question,
                      struct arena *arena, struct work *work, const void **ret_made,
                      struct err *err)
{
    const struct boxes_question *q = question;
    struct graph_wanted wanted = GRAPH_WANTED;
    struct boxes_graph *graph = arena_alloc(arena, sizeof *graph);
    struct diagram diagram;
    struct arena large;
    int status;

    (void)model;
    (void)work;
    if (!graph)
        return arena_err(arena, "the drawing", err);
    wanted.root = q->root;
    wanted.call = q->call == RUN_NONE ? 0 : q->call + 1;
    wanted.level = (enum graph_level)q->level;
    arena_init(&large, 0);
    status = diagram_make(&diagram, q->session, &wanted, &large, err);
    if (status == 0)
        status = boxes_take(graph, &diagram, arena, err);
    arena_release(&large);
    *ret_made = graph;
    return status;
}

/* ---- requests ---- */

/* A frame may ask twice; it waits once. */
static unsigned wait_for(struct flow_boxes *own, const struct boxes_question *q)
{
    const struct run *run = q->session->run;
    bool again = own->asked_call == q->call && own->asked_place == q->root;

    own->asked_call = q->call;
    own->asked_place = q->root;
    return again || (run && run->ops && run->ops->n_ops > MANY_OPS) ? 0 : WAIT_MS;
}

static const struct boxes_graph *ask(struct explorer *explorer, struct flow_boxes *own,
                                     const struct boxes_question *q,
                                     const char **ret_why)
{
    struct making making = {make_boxes, q, sizeof *q};
    const struct boxes_graph *graph;
    bool busy;

    if (explorer->jobs) {
        graph = jobs_made(explorer->jobs, &making, wait_for(own, q), &busy, ret_why);
        if (busy)
            *ret_why = "…";
        return graph;
    }
    if (!made_answers(&own->made, &making)) {
        made_release(&own->made);
        made_init(&own->made, &making);
        made_make(&own->made, explorer->session->model, NULL);
    }
    *ret_why = own->made.err.code ? own->made.err.text : NULL;
    return *ret_why ? NULL : own->made.at;
}

/* A module that calls no other is shown with its operations. */
static enum graph_level level_of(const struct run *run, uint32_t call)
{
    bool calls = call + 1 < run->n_calls && run->calls[call + 1].parent == call;

    return calls || !run->ops ? GRAPH_MODULES : GRAPH_OPS;
}

/* Chooses what to draw; false: nothing, and `why` has the reason. */
static bool find_question(struct explorer *explorer, struct boxes_question *q,
                          uint32_t *ret_inner, struct buf *why)
{
    const struct run *run = explorer->session->run;
    uint32_t place = explorer_place(explorer);

    *q = (struct boxes_question){.session = explorer->session, .call = RUN_NONE};
    *ret_inner = RUN_NONE;
    if (!run) {
        if (place != NO_PLACE)
            place = flow_module(explorer->show.model, place);
        q->root = place == NO_PLACE ? 0 : place;
        return true;
    }
    q->call = flow_shown_call(explorer, ret_inner, why);
    if (q->call == RUN_NONE)
        return false;
    q->root = run->calls[q->call].place;
    q->level = level_of(run, q->call);
    return true;
}

/* ---- the drawing ---- */

static void drop(struct flow_boxes *own)
{
    arena_release(&own->arena);
    arena_init(&own->arena, 0);
    own->graph = NULL;
}

/* The node to select in a new drawing. */
static uint32_t choose(const struct flow_boxes *own, bool same, uint32_t inner)
{
    const struct boxes_drawing *drawing = &own->drawing;
    uint32_t node = BOXES_NONE;

    if (own->wanted != RUN_NONE)
        node = boxes_find(drawing, own->wanted, NO_PLACE);
    if (same && node == BOXES_NONE) { /* as before, or the node drawn instead */
        node = own->selected;
        while (node > 0 && node < drawing->graph->n_nodes &&
               drawing->box_of[node] == BOXES_NONE)
            node = drawing->graph->nodes[node].parent;
        if (node == 0 || node >= drawing->graph->n_nodes ||
            drawing->boxes[drawing->box_of[node]].n_rows == 0)
            node = BOXES_NONE;
    }
    if (inner != RUN_NONE && inner != own->inner)
        node = boxes_find(drawing, inner, NO_PLACE);
    return node == BOXES_NONE ? boxes_first(drawing) : node;
}

static int draw(struct flow_boxes *own, const struct boxes_graph *graph,
                const struct boxes_question *q, uint32_t inner,
                const struct boxes_wanted *wanted, struct err *err)
{
    bool same = own->graph == graph && own->call == q->call && own->place == q->root;

    if (same && own->width == wanted->width && own->most == wanted->most &&
        own->inner == inner && own->wanted == RUN_NONE)
        return 0;
    drop(own);
    if (boxes_draw(&own->drawing, graph, wanted, &own->arena, err) < 0)
        return -1;
    own->selected = choose(own, same, inner);
    own->graph = graph;
    own->width = wanted->width;
    own->most = wanted->most;
    own->call = q->call;
    own->place = q->root;
    own->inner = inner;
    own->wanted = RUN_NONE;
    own->follow = true;
    return 0;
}

/* ---- what is visible ---- */

/* The first of `room` rows or columns so that from..to is visible, with a margin of one
 * on either side if there is space; `at` is always visible. */
static uint32_t in_sight(uint32_t first, uint32_t from, uint32_t to, uint32_t at,
                         uint32_t room)
{
    from = from > 0 ? from - 1 : 0;
    to++;
    if (to - from > room) {
        from = at > room / 2 ? at - room / 2 : 0;
        to = from + room;
    }
    if (to > first + room)
        first = to - room;
    return from < first ? from : first;
}

static void follow(struct flow_boxes *own, struct panel_state *state, uint32_t width,
                   uint32_t rows)
{
    struct boxes_spot spot;

    if (own->drawing.width <= width)
        own->column = 0;
    if (!own->follow || own->selected == BOXES_NONE)
        return;
    own->follow = false;
    spot = boxes_where(&own->drawing, own->selected);
    state->top = in_sight(state->top, spot.top, spot.bottom, spot.row, rows);
    if (own->drawing.width > width)
        own->column = in_sight(own->column, spot.left, spot.right,
                               (spot.left + spot.right) / 2, width);
}

static void margin(struct lines *to, const struct lines *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        lines_text(to, COLOUR_NONE, " ");
        for (uint32_t k = 0; k < from->at[i].n; k++) {
            const struct span *span = &from->spans[from->at[i].first + k];

            lines_add(to, (enum colour)span->colour, span->flags,
                      span_text(from, span));
        }
        lines_end(to);
    }
}

static void say(struct lines *to, struct str text, unsigned width)
{
    struct str line;

    while (text.len > 0 && str_split(&text, '\n', &line)) {
        lines_text(to, COLOUR_NONE, " ");
        lines_wrap(to, COLOUR_DIM, line, width, 1);
    }
}

static void put_lines(struct lines *to, const struct explorer *explorer,
                      struct flow_boxes *own, struct panel_state *state,
                      const struct panel_room *room)
{
    uint32_t width = room->width > 1 ? room->width - 1 : 1, n;
    uint32_t foot = room->height >= 12 ? 3 : room->height >= 5 ? 1 : 0;
    struct lines drawn = {0};

    follow(own, state, width, room->height > foot ? room->height - foot : 1);
    boxes_lines(&drawn, &own->drawing, own->selected, own->column, width,
                explorer->ascii);
    margin(to, &drawn);
    lines_release(&drawn);
    if (own->graph->note.len > 0) {
        lines_end(to);
        say(to, own->graph->note, room->width);
    }
    n = to->n;
    if (own->selected == BOXES_NONE || foot == 0)
        return;
    if (foot > 1)
        lines_end(to);
    boxes_about(to, &own->drawing, own->selected, room->width, foot > 1 ? 2 : 1);
    state->foot = to->n - n;
}

void flow_boxes_lines(struct lines *to, struct explorer *explorer,
                      struct panel_state *state, const struct panel_room *room)
{
    struct panel_flow_own *own = flow_own(state);
    uint32_t cells = room->width * room->height / PER_BOX, inner;
    struct boxes_wanted wanted = {.width = room->width > 1 ? room->width - 1 : 1,
                                  .most = cells < FEW_BOXES     ? FEW_BOXES
                                          : cells > GRAPH_BOXES ? GRAPH_BOXES
                                                                : cells};
    const struct boxes_graph *graph = NULL;
    struct buf why = BUF_INIT;
    struct boxes_question q;
    const char *problem = NULL;
    struct err err = {0};

    state->foot = 0;
    if (!own)
        return;
    if (find_question(explorer, &q, &inner, &why))
        graph = ask(explorer, &own->boxes, &q, &problem);
    if (!graph)
        drop(&own->boxes);
    else if (draw(&own->boxes, graph, &q, inner, &wanted, &err) < 0)
        problem = err.text;
    if (own->boxes.graph)
        put_lines(to, explorer, &own->boxes, state, room);
    else
        say(to, problem ? str_of(problem) : buf_span(&why), room->width);
    buf_release(&why);
}

/* ---- keys and mouse ---- */

uint32_t flow_boxes_call(const struct flow_boxes *boxes)
{
    if (!boxes->graph || boxes->selected == BOXES_NONE)
        return RUN_NONE;
    return boxes->graph->nodes[boxes->selected].call;
}

static bool enter(struct explorer *explorer, const struct flow_boxes *own)
{
    const struct boxes_node *node = &own->graph->nodes[own->selected];

    if (node->call != RUN_NONE)
        return flow_go(explorer, node->call);
    if (node->place != NO_PLACE)
        return browse_go(explorer->browse, node->place);
    explorer_say(explorer, node->kind == DIAGRAM_INPUT
                               ? "an argument of this block; - leads out of it"
                           : node->kind == DIAGRAM_OUTPUT
                               ? "a result of this block; - leads out of it"
                           : node->kind == DIAGRAM_ATTACHED
                               ? "a tensor that attach() names; its values are those "
                                 "of the module around it"
                               : "an operation: nothing is inside it");
    return false;
}

static bool leave(struct explorer *explorer, struct flow_boxes *own)
{
    const struct run *run = explorer->session->run;
    const struct model *model = explorer->show.model;
    uint32_t parent;

    if (own->call != RUN_NONE) {
        parent = run->calls[own->call].parent;
        if (parent != RUN_NONE) {
            own->wanted = own->call;
            return flow_go(explorer, parent);
        }
    } else if (model->parent[own->place] != NO_PLACE) {
        return browse_go(explorer->browse,
                         flow_module(model, model->parent[own->place]));
    }
    explorer_say(explorer, "this is the outermost call");
    return false;
}

static bool select_node(struct explorer *explorer, struct flow_boxes *own,
                        uint32_t node, const char *why_not)
{
    if (node == BOXES_NONE || node == own->selected) {
        explorer_say(explorer, "%s", why_not);
        return false;
    }
    own->selected = node;
    own->follow = true;
    return true;
}

static bool step(struct explorer *explorer, struct flow_boxes *own, enum boxes_way way)
{
    static const char *const why_not[] = {
        [BOXES_UP] = "it reads nothing in this block",
        [BOXES_DOWN] = "nothing in this block reads it",
        [BOXES_LEFT] = "nothing to the left",
        [BOXES_RIGHT] = "nothing to the right",
    };

    return select_node(explorer, own, boxes_step(&own->drawing, own->selected, way),
                       why_not[way]);
}

bool flow_boxes_act(struct explorer *explorer, struct panel_state *state,
                    enum panel_act act)
{
    struct panel_flow_own *flow = state->own;
    struct flow_boxes *own = flow ? &flow->boxes : NULL;

    if (!own || !own->graph || own->selected == BOXES_NONE) {
        explorer_say(explorer, "no flow for this row");
        return false;
    }
    switch (act) {
    case ACT_UP:
    case ACT_PREVIOUS:
        return step(explorer, own, BOXES_UP);
    case ACT_DOWN:
    case ACT_NEXT:
        return step(explorer, own, BOXES_DOWN);
    case ACT_LEFT:
        return step(explorer, own, BOXES_LEFT);
    case ACT_RIGHT:
        return step(explorer, own, BOXES_RIGHT);
    case ACT_FIRST:
        return select_node(explorer, own, boxes_first(&own->drawing),
                           "this is the first box");
    case ACT_LAST:
        return select_node(explorer, own, boxes_last(&own->drawing),
                           "this is the last box");
    case ACT_ENTER:
        return enter(explorer, own);
    case ACT_OUT:
        return leave(explorer, own);
    default:
        explorer_say(explorer, "boxes have no scale");
        return false;
    }
}

bool flow_boxes_click(struct explorer *explorer, struct panel_state *state,
                      uint32_t line, uint32_t cell)
{
    struct panel_flow_own *flow = state->own;
    struct flow_boxes *own = flow ? &flow->boxes : NULL;
    uint32_t node;

    (void)explorer;
    if (!own || !own->graph || cell == 0)
        return false;
    node = boxes_at(&own->drawing, cell - 1 + own->column, line);
    if (node == BOXES_NONE)
        return false;
    own->selected = node;
    return true;
}

void flow_boxes_release(struct flow_boxes *boxes)
{
    made_release(&boxes->made);
    arena_release(&boxes->arena);
    boxes->graph = NULL;
}
