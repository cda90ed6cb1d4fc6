/* layout_test.c - the geometry of hand-made and of random graphs. */
#include "layout/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "layout/sample_graph.h"

static void set_open(struct plan *plan, uint32_t state, uint64_t seed)
{
    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        uint64_t dice = ((i + seed) * 2654435761u >> 16) % 3;

        plan->boxes[i].flags &= (uint8_t)~PLAN_OPEN;
        if (plan->boxes[i].end > i + 1 && dice >= state)
            plan->boxes[i].flags |= PLAN_OPEN;
    }
}

static void place(struct sample_graph *graph, const struct plan_style *style)
{
    struct err err = {0};
    struct buf why = BUF_INIT;

    if (plan_place(&graph->plan, style, &graph->arena, &err) < 0)
        test_fail(__FILE__, __LINE__, "%s", err.text);
    if (!sample_geometry(&graph->plan, style, &why))
        test_fail(__FILE__, __LINE__, "%s", buf_cstr(&why));
    buf_release(&why);
}

static void order(struct sample_graph *graph)
{
    struct err err = {0};

    if (plan_order(&graph->plan, &graph->arena, &err) < 0)
        test_fail(__FILE__, __LINE__, "%s", err.text);
}

/* With every box open, none, and two random samples; upright and sideways. */
static void check_states(struct sample_graph *graph, uint64_t seed)
{
    struct plan_style sideways = plan_pixels;

    sideways.frame_top -= 24;
    sideways.frame_right += 24;
    for (uint32_t state = 0; state <= 3; state++) {
        set_open(&graph->plan, state, seed);
        place(graph, state == seed % 4 ? &sideways : &plan_pixels);
    }
}

/* A thousand graphs, most of them small, some with thousands of boxes. */
static uint32_t random_size(uint64_t seed)
{
    if (seed % 250 == 249)
        return 5000;
    if (seed % 40 == 39)
        return 300 + (uint32_t)(seed * 37 % 700);
    if (seed % 8 == 7)
        return 50 + (uint32_t)(seed * 31 % 150);
    return (uint32_t)(seed % 40);
}

static void check_random(uint64_t from, uint64_t to)
{
    for (uint64_t seed = from; seed < to; seed++) {
        struct sample_graph graph;

        sample_random(&graph, seed, random_size(seed));
        order(&graph);
        check_states(&graph, seed);
        sample_release(&graph);
    }
}

TEST(random_graphs_have_no_overlaps_and_every_line_arrives)
{
    check_random(0, 500);
}

TEST(more_random_graphs_have_no_overlaps_and_every_line_arrives)
{
    check_random(500, 1000);
}

TEST(lines_into_the_sides_of_neighbours_do_not_overlap)
{
    check_random(3999, 4000); /* two signs in one row, entered from one gap */
}

TEST(the_same_graph_is_placed_in_the_same_way)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sample_graph a, b;

        sample_random(&a, seed, 100);
        sample_random(&b, seed, 100);
        order(&a);
        order(&b);
        place(&a, &plan_pixels);
        place(&b, &plan_pixels);
        set_open(&a.plan, 1, 0); /* an earlier placing leaves no trace */
        place(&a, &plan_pixels);
        set_open(&b.plan, 1, 0);
        place(&b, &plan_pixels);
        CHECK_INT(a.plan.n_points, b.plan.n_points);
        CHECK_MEM(a.plan.points, b.plan.points,
                  a.plan.n_points * sizeof(*a.plan.points));
        CHECK_MEM(a.plan.boxes, b.plan.boxes, a.plan.n_boxes * sizeof(*a.plan.boxes));
        sample_release(&a);
        sample_release(&b);
    }
}

/* Whole lines begin and end at boxes that are shown. */
TEST(a_line_across_groups_connects_two_shown_boxes)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct sample_graph graph;
        struct plan *plan = &graph.plan;
        struct err err = {0};

        sample_random(&graph, seed, 60);
        order(&graph);
        set_open(plan, seed % 3, seed);
        place(&graph, &plan_pixels);
        for (uint32_t e = 0; e < plan->n_ends; e++) {
            struct plan_route route = {0};
            const struct plan_box *from;

            if (!plan_arrives(plan, e))
                continue;
            CHECK(plan_route(plan, e, &graph.arena, &route, &err) == 0);
            CHECK(route.n >= 2 && plan->boxes[route.to].w > 0);
            from = &plan->boxes[route.from];
            CHECK(from->w > 0 && route.points[0].y == from->y + from->h);
            CHECK(route.points[0].x >= from->x &&
                  route.points[0].x <= from->x + from->w);
        }
        sample_release(&graph);
    }
}

/* ---- small graphs ---- */

static int32_t axis(const struct plan *plan, uint32_t box)
{
    return plan->boxes[box].x + plan->boxes[box].axis;
}

static bool is_straight(const struct plan *plan, uint32_t from, uint32_t to)
{
    for (uint32_t e = 0; e < plan->n_ends; e++)
        if (plan->nets[plan->ends[e].net].source == from && plan->ends[e].target == to)
            return plan->ends[e].n_points == 2;
    return false;
}

TEST(a_plan_without_boxes_is_placed)
{
    struct sample_graph graph;

    sample_init(&graph);
    sample_finish(&graph, 0, 0);
    order(&graph);
    place(&graph, &plan_pixels);
    CHECK_INT(graph.plan.n_points, 0);
    sample_release(&graph);
}

TEST(a_chain_is_one_straight_column)
{
    struct sample_graph graph;
    uint32_t box[5];

    sample_init(&graph);
    for (int i = 0; i < 5; i++)
        box[i] = sample_box(&graph, 0, 0);
    for (int i = 1; i < 5; i++)
        sample_link(&graph, box[i - 1], box[i]);
    sample_finish(&graph, 40, 0);
    order(&graph);
    place(&graph, &plan_pixels);
    for (int i = 1; i < 5; i++) {
        CHECK_INT(axis(&graph.plan, box[i]), axis(&graph.plan, box[0]));
        CHECK(is_straight(&graph.plan, box[i - 1], box[i]));
    }
    sample_release(&graph);
}

/* Two values go from one group to the next; the first is made early (a position bias). */
TEST(the_heavier_value_goes_straight)
{
    struct sample_graph graph;
    const struct plan *plan = &graph.plan;
    uint32_t block, first, second, next, bias, data;

    sample_init(&graph);
    block = sample_box(&graph, 0, PLAN_OPEN);
    first = sample_box(&graph, block, 0);
    second = sample_box(&graph, block, 0);
    next = sample_box(&graph, 0, 0);
    bias = sample_value(&graph);
    data = sample_value(&graph);
    sample_line(&graph, bias, first, next);
    sample_link(&graph, first, second);
    sample_line(&graph, data, second, next);
    sample_finish(&graph, 0, 0);
    order(&graph);
    place(&graph, &plan_pixels);
    CHECK_INT(axis(plan, second), axis(plan, first));
    CHECK_INT(axis(plan, second), axis(plan, next));
    sample_release(&graph);
}

/* A side chain beside the first rows only: boxes below may have any width. */
TEST(an_empty_side_column_takes_no_space)
{
    struct sample_graph graph;
    const struct plan *plan = &graph.plan;
    uint32_t main[3], side;

    sample_init(&graph);
    side = sample_box(&graph, 0, 0);
    for (int i = 0; i < 3; i++)
        main[i] = sample_box(&graph, 0, i == 1 ? PLAN_SIDE : 0);
    sample_link(&graph, main[0], main[1]);
    sample_link(&graph, main[1], main[2]);
    sample_link(&graph, side, main[1]);
    sample_finish(&graph, 0, 0);
    graph.plan.boxes[main[0]].weight = 2;
    graph.plan.boxes[main[2]].width = 600;
    order(&graph);
    place(&graph, &plan_pixels);
    CHECK_INT(axis(plan, main[2]), axis(plan, main[0]));
    CHECK_INT(plan->width, 600 + 2 * plan_pixels.margin);
    sample_release(&graph);
}

TEST(a_skip_runs_right_of_what_it_passes_into_the_side_of_a_sign)
{
    struct sample_graph graph;
    const struct plan *plan = &graph.plan;
    uint32_t a, b, c, sum, value;
    const struct plan_end *skip = NULL;

    sample_init(&graph);
    a = sample_box(&graph, 0, 0);
    b = sample_box(&graph, 0, 0);
    c = sample_box(&graph, 0, 0);
    sum = sample_box(&graph, 0, PLAN_SIDE);
    value = sample_value(&graph);
    sample_line(&graph, value, a, b);
    sample_line(&graph, value, a, sum);
    sample_link(&graph, b, c);
    sample_link(&graph, c, sum);
    sample_finish(&graph, 0, 0);
    order(&graph);
    place(&graph, &plan_pixels);
    for (uint32_t e = 0; e < plan->n_ends; e++)
        if (plan->nets[plan->ends[e].net].source == a && plan->ends[e].target == sum)
            skip = &plan->ends[e];
    CHECK(skip && skip->way == PLAN_LANE_SIDE);
    CHECK(is_straight(plan, c, sum));
    CHECK(plan->points[skip->points + 2].x >=
          plan->boxes[b].x + plan->boxes[b].w + plan_pixels.lane_first);
    sample_release(&graph);
}

TEST(a_backward_line_goes_up_a_lane)
{
    struct sample_graph graph;
    uint32_t a, b;

    sample_init(&graph);
    a = sample_box(&graph, 0, 0);
    b = sample_box(&graph, 0, 0);
    sample_link(&graph, a, b);
    sample_link(&graph, b, a);
    sample_finish(&graph, 0, 0);
    order(&graph);
    place(&graph, &plan_pixels);
    CHECK(graph.plan.boxes[a].y < graph.plan.boxes[b].y);
    CHECK_INT(graph.plan.groups[0].n_lanes, 1);
    sample_release(&graph);
}

TEST(an_inconsistent_plan_is_refused)
{
    struct sample_graph graph;
    struct err err = {0};
    uint32_t a, b;

    sample_init(&graph);
    a = sample_box(&graph, 0, 0);
    b = sample_box(&graph, 0, 0);
    sample_link(&graph, a, b);
    sample_finish(&graph, 0, 0);
    graph.plan.ends[0].target = 7;
    CHECK(plan_order(&graph.plan, &graph.arena, &err) < 0);
    CHECK_STR(err.text, "layout: end 0 is inconsistent");
    sample_release(&graph);
}
