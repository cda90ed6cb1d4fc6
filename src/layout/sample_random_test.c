/* sample_random_test.c - random graphs for tests. */
#include "base/test.h"
#include "layout/sample_graph.h"

#define DEPTH 12

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return below == 0 ? 0 : (uint32_t)(*state >> 33) % below;
}

/* Boxes in pre-order: occasionally a group opens or closes. */
static void random_boxes(struct sample_graph *graph, uint64_t *state, uint32_t n)
{
    uint32_t stack[DEPTH] = {0}, depth = 1, nesting = draw(state, 40);

    while (graph->plan.n_boxes <= n) {
        uint8_t flags = 0;
        uint32_t box;

        if (depth > 1 && draw(state, 100) < nesting / 2 + 5)
            depth--;
        if (draw(state, 6) == 0)
            flags = PLAN_SIDE;
        else if (draw(state, 3) == 0)
            flags = PLAN_STRETCH;
        if (draw(state, 20) == 0)
            flags |= PLAN_EARLY;
        if (draw(state, 4))
            flags |= PLAN_OPEN;
        box = sample_box(graph, stack[depth - 1], flags);
        if (draw(state, 3) == 0)
            graph->plan.boxes[box].width += (int32_t)draw(state, 200);
        if (draw(state, 8) == 0)
            graph->plan.boxes[box].height += (int32_t)draw(state, 100);
        if (depth < DEPTH && draw(state, 100) < nesting)
            stack[depth++] = box;
    }
}

/* The reader of a value: mostly near, sometimes far, rarely before it. */
static uint32_t draw_reader(uint64_t *state, uint32_t from, uint32_t n)
{
    uint32_t far = draw(state, 12);

    if (far == 0)
        return 1 + draw(state, n - 1);
    if (far == 1)
        return from + 1 + draw(state, n);
    return from + 1 + draw(state, 4);
}

static void random_lines(struct sample_graph *graph, uint64_t *state)
{
    const struct plan *plan = &graph->plan;
    uint32_t lines = draw(state, 4), fans = draw(state, 3);

    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        uint32_t values = plan->boxes[i].end > i + 1 ? 0 : 1 + draw(state, 8) / 7;

        for (uint32_t v = 0; v < values; v++) {
            uint32_t value = sample_value(graph), readers = draw(state, lines + 2);

            if (fans && draw(state, 40) == 0)
                readers = draw(state, 60);
            for (uint32_t r = 0; r < readers; r++) {
                uint32_t to = draw_reader(state, i, plan->n_boxes);

                if (to < plan->n_boxes && to != i && plan->boxes[to].end == to + 1)
                    sample_line(graph, value, i, to);
            }
        }
    }
}

void sample_random(struct sample_graph *graph, uint64_t seed, uint32_t n)
{
    uint64_t state = seed * 2862933555777941757u + 3037000493u;
    int32_t net_label, end_label;

    draw(&state, 1);
    sample_init(graph);
    random_boxes(graph, &state, n);
    random_lines(graph, &state);
    net_label = draw(&state, 3) ? (int32_t)draw(&state, 90) : 0;
    end_label = draw(&state, 3) ? 0 : (int32_t)draw(&state, 90);
    sample_finish(graph, net_label, end_label);
}
