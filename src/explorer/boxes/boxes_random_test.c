/* Random graphs: in any drawing, no line may run through a box or a text, every line
 * must arrive, and nothing may be outside of the grid. */
#include <string.h>

#include "base/test.h"
#include "explorer/boxes/boxes_in.h"
#include "text/width.h"

#define DEPTH 5

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return below == 0 ? 0 : (uint32_t)(*state >> 33) % below;
}

/* ---- a random graph ---- */

static void random_node(struct boxes_graph *graph, uint64_t *state, struct arena *arena,
                        uint32_t parent)
{
    static const uint8_t kinds[] = {DIAGRAM_MODULE, DIAGRAM_MODULE, DIAGRAM_OP,
                                    DIAGRAM_VIEW,   DIAGRAM_INPUT,  DIAGRAM_OUTPUT};
    struct boxes_node *node = &graph->nodes[graph->n_nodes];
    uint32_t n = 1 + draw(state, 30);

    *node = (struct boxes_node){
        .parent = parent,
        .end = graph->n_nodes + 1,
        .kind = kinds[draw(state, sizeof kinds)],
        .place = NO_PLACE,
        .call = RUN_NONE,
        .name = str_of(arena_printf(arena, "%0*u", (int)n, graph->n_nodes)),
        .words = graph->n_words,
        .n_words = draw(state, 4)};
    if (node->kind == DIAGRAM_OP && draw(state, 3) == 0) {
        node->flags = DIAGRAM_SIGN;
        node->name = STR("+");
    }
    for (uint32_t k = 0; k < node->n_words; k++)
        graph->words[graph->n_words++] = (struct boxes_word){
            ", ", str_head(STR("wordwordwordwordwordword"), 1 + draw(state, 24))};
    graph->n_nodes++;
}

static void random_nodes(struct boxes_graph *graph, uint64_t *state,
                         struct arena *arena, uint32_t n)
{
    uint32_t stack[DEPTH] = {0}, depth = 1, nesting = draw(state, 40);

    graph->nodes[0] = (struct boxes_node){.parent = BOXES_NONE, .open = true};
    graph->n_nodes = 1;
    while (graph->n_nodes <= n) {
        uint32_t parent = stack[depth - 1], box = graph->n_nodes;

        random_node(graph, state, arena, parent);
        if (depth > 1 && draw(state, 4) == 0) {
            depth--;
        } else if (depth < DEPTH && draw(state, 100) < nesting) {
            graph->nodes[box].kind = DIAGRAM_MODULE;
            graph->nodes[box].flags = 0;
            graph->nodes[box].open = graph->nodes[box].inside = draw(state, 5) > 0;
            stack[depth++] = box;
        }
    }
    for (uint32_t i = graph->n_nodes; i-- > 1;) {
        struct boxes_node *up = &graph->nodes[graph->nodes[i].parent];

        up->end = up->end < graph->nodes[i].end ? graph->nodes[i].end : up->end;
        up->open = up->inside = true;
    }
    if (graph->nodes[0].end == 0)
        graph->nodes[0].end = 1;
    for (uint32_t i = 1; i < graph->n_nodes; i++)
        if (graph->nodes[i].end == i + 1)
            graph->nodes[i].open = graph->nodes[i].inside = false;
}

/* Mostly to the next nodes, sometimes far away or back. */
static void random_links(struct boxes_graph *graph, uint64_t *state)
{
    for (uint32_t i = 1; i < graph->n_nodes; i++) {
        uint32_t readers = draw(state, 3), before = graph->n_links;

        if (graph->nodes[i].end > i + 1)
            continue;
        graph->values[graph->n_values] =
            (struct boxes_value){.source = i,
                                 .label = draw(state, 3) ? STR("1×64×56×56") : STR(""),
                                 .changed = draw(state, 2),
                                 .n_tensors = 1};
        for (uint32_t r = 0; r < 1 + readers; r++) {
            uint32_t far = draw(state, 10);
            uint32_t to = far == 0   ? 1 + draw(state, graph->n_nodes - 1)
                          : far == 1 ? i + 1 + draw(state, graph->n_nodes)
                                     : i + 1 + draw(state, 3);

            if (to < graph->n_nodes && to != i && graph->nodes[to].end == to + 1)
                graph->links[graph->n_links++] =
                    (struct boxes_link){graph->n_values, to};
        }
        graph->n_values += graph->n_links > before;
    }
}

static void random_graph(struct boxes_graph *graph, uint64_t seed, uint32_t n,
                         struct arena *arena)
{
    uint64_t state = seed * 2862933555777941757u + 3037000493u;

    *graph = (struct boxes_graph){0};
    graph->nodes = arena_array(arena, n + 2, sizeof *graph->nodes);
    graph->values = arena_array(arena, n + 2, sizeof *graph->values);
    graph->links = arena_array(arena, 4 * (size_t)n + 8, sizeof *graph->links);
    graph->words = arena_array(arena, 4 * (size_t)n + 8, sizeof *graph->words);
    CHECK(!arena->spent);
    random_nodes(graph, &state, arena, n);
    random_links(graph, &state);
}

/* ---- the grid ---- */

static const struct boxes_cell *cell(const struct boxes_drawing *d, int64_t x,
                                     int64_t y)
{
    if (x < 0 || y < 0 || x >= d->width || y >= d->height)
        return NULL;
    return &d->cells[(size_t)y * d->width + (size_t)x];
}

static bool is_solid(const struct boxes_drawing *d, const struct boxes_cell *at)
{
    return at && at->box > 0 && !d->boxes[at->box].frame;
}

/* Texts must be in the grid, must not touch one another or be crossed by lines; text of
 * a node must be in its box, other text in none. */
static void check_texts(const struct boxes_drawing *d)
{
    for (uint32_t row = 0; row < d->height; row++)
        for (uint32_t t = d->texts_at[row]; t < d->texts_at[row + 1]; t++) {
            const struct boxes_text *text = &d->texts[t];
            uint32_t end = text->column + (uint32_t)text_width(text->text);

            CHECK_INT(text->row, row);
            CHECK(end <= d->width);
            if (t + 1 < d->texts_at[row + 1])
                CHECK(end < d->texts[t + 1].column);
            for (uint32_t x = text->column; x < end; x++) {
                const struct boxes_cell *at = cell(d, x, row);

                CHECK(!at->lines && !at->arrow);
                if (text->node != BOXES_NONE) {
                    CHECK_INT(at->box, d->box_of[text->node]);
                    CHECK(!at->border);
                }
            }
        }
}

/* A side of a cell must lead to a cell that leads back, or to a box where a line may
 * begin or end. */
static void check_side(const struct boxes_drawing *d, uint32_t x, uint32_t y,
                       uint8_t side)
{
    int dx = (side == SIDE_RIGHT) - (side == SIDE_LEFT);
    int dy = (side == SIDE_DOWN) - (side == SIDE_UP);
    uint8_t back = side == SIDE_UP     ? SIDE_DOWN
                   : side == SIDE_DOWN ? SIDE_UP
                   : side == SIDE_LEFT ? SIDE_RIGHT
                                       : SIDE_LEFT;
    const struct boxes_cell *from = cell(d, x, y), *to = cell(d, x + dx, y + dy);

    CHECK(to);
    if (to->lines & back || is_solid(d, from))
        return;
    CHECK(is_solid(d, to)); /* a bare box, or an arrow into a border */
    CHECK(d->boxes[to->box].bare || to->arrow == side || from->arrow == side);
}

static void check_lines(const struct boxes_drawing *d)
{
    for (uint32_t y = 0; y < d->height; y++)
        for (uint32_t x = 0; x < d->width; x++) {
            const struct boxes_cell *at = cell(d, x, y);

            for (uint8_t side = 1; side <= SIDE_RIGHT; side *= 2)
                if (at->lines & side)
                    check_side(d, x, y, side);
            if (is_solid(d, at) && (at->lines || at->arrow))
                CHECK(at->border); /* never inside */
            if (is_solid(d, at) && at->lines)
                CHECK_INT(at->lines, SIDE_DOWN); /* it only leaves at the bottom */
        }
}

/* Lines that arrive at a box in the grid. */
static uint32_t count_arrivals(const struct boxes_drawing *d, uint32_t box)
{
    const struct plan_box *plan = &d->plan.boxes[box];
    uint32_t n = 0;

    for (int32_t x = plan->x; x < plan->x + plan->w; x++) {
        const struct boxes_cell *above = cell(d, x, plan->y - 1);

        n += above && above->lines & SIDE_DOWN;
    }
    for (int32_t y = plan->y; y < plan->y + plan->h; y++) {
        const struct boxes_cell *left = cell(d, plan->x - 1, y);
        const struct boxes_cell *right = cell(d, plan->x + plan->w, y);

        n += left && left->arrow == SIDE_RIGHT;
        n += right && right->arrow == SIDE_LEFT;
    }
    return n;
}

static void check_arrivals(const struct boxes_drawing *d)
{
    for (uint32_t i = 1; i < d->plan.n_boxes; i++) {
        uint32_t ends = 0;

        if (d->boxes[i].frame)
            continue;
        for (uint32_t e = 0; e < d->plan.n_ends; e++)
            ends += d->plan.ends[e].target == i && plan_arrives(&d->plan, e);
        CHECK_INT(count_arrivals(d, i), ends);
    }
}

/* Every link must be a line, except between rows of one box. */
static void check_links(const struct boxes_drawing *d)
{
    const struct boxes_graph *graph = d->graph;

    for (uint32_t i = 0; i < graph->n_links; i++) {
        uint32_t from = graph->values[graph->links[i].value].source;
        uint32_t to = graph->links[i].target;
        bool found = false;

        while (d->box_of[from] == BOXES_NONE)
            from = graph->nodes[from].parent;
        while (d->box_of[to] == BOXES_NONE)
            to = graph->nodes[to].parent;
        found = d->box_of[from] == d->box_of[to];
        for (uint32_t e = 0; !found && e < d->plan.n_ends; e++)
            found = d->plan.ends[e].target == d->box_of[to] &&
                    d->value_of[d->plan.ends[e].net] == graph->links[i].value;
        CHECK(found);
    }
}

TEST(no_line_crosses_a_box_or_a_text_and_all_lines_arrive)
{
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct boxes_graph graph;
        struct boxes_drawing d;
        struct arena arena;
        struct boxes_wanted wanted = {.width = 40 + (uint32_t)(seed % 5) * 40,
                                      .most = 6 + (uint32_t)(seed % 7) * 6};

        arena_init(&arena, 0);
        random_graph(&graph, seed, 1 + (uint32_t)(seed % 60), &arena);
        CHECK(boxes_draw(&d, &graph, &wanted, &arena, NULL) == 0);
        check_texts(&d);
        check_lines(&d);
        check_arrivals(&d);
        check_links(&d);
        arena_release(&arena);
    }
}

/* ---- printing and keys ---- */

TEST(a_part_of_a_drawing_has_the_requested_width)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct boxes_wanted wanted = {.width = 60, .most = 40};
        struct boxes_graph graph;
        struct boxes_drawing d;
        struct arena arena;

        arena_init(&arena, 0);
        random_graph(&graph, seed, 30, &arena);
        CHECK(boxes_draw(&d, &graph, &wanted, &arena, NULL) == 0);
        for (uint32_t left = 0; left < d.width; left += 1 + left / 3) {
            uint32_t width = d.width - left < 30 ? d.width - left : 30;
            struct lines lines = {0};

            boxes_lines(&lines, &d, boxes_first(&d), left, 30, false);
            CHECK_INT(lines.n, d.height);
            for (uint32_t i = 0; i < lines.n; i++) {
                struct buf text = BUF_INIT;

                line_plain(&text, &lines, i);
                CHECK_INT(text_width(buf_span(&text)), width);
                buf_release(&text);
            }
            lines_release(&lines);
        }
        arena_release(&arena);
    }
}

/* Steps must lead from shown nodes to shown nodes, deterministically; and a click on
 * the row of a node must select it. */
TEST(steps_and_clicks_select_drawn_nodes)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct boxes_wanted wanted = {.width = 100, .most = 20};
        struct boxes_graph graph;
        struct boxes_drawing d;
        struct arena arena;

        arena_init(&arena, 0);
        random_graph(&graph, seed, 2 + (uint32_t)(seed % 40), &arena);
        CHECK(boxes_draw(&d, &graph, &wanted, &arena, NULL) == 0);
        for (uint32_t i = 1; i < graph.n_nodes; i++) {
            struct boxes_spot spot;

            if (d.box_of[i] == BOXES_NONE || d.boxes[d.box_of[i]].n_rows == 0 ||
                d.boxes[d.box_of[i]].group == i)
                continue;
            spot = boxes_where(&d, i);
            CHECK_INT(boxes_at(&d, spot.left, spot.row), i);
            for (int way = BOXES_UP; way <= BOXES_RIGHT; way++) {
                uint32_t to = boxes_step(&d, i, (enum boxes_way)way);

                if (to == BOXES_NONE)
                    continue;
                CHECK(to != i && to > 0 && d.box_of[to] != BOXES_NONE);
                CHECK(d.boxes[d.box_of[to]].n_rows > 0);
            }
        }
        arena_release(&arena);
    }
}
