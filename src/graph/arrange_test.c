#include "graph/arrange.h"

#include "base/test.h"

#define NONE PLAN_NONE

/* in -> [ a -> b ] -> out, and in -> out past the group. */
static struct arrange_box boxes[] = {{NONE, 80, 26, 0, 0, 0, 0},
                                     {NONE, 120, 40, 0, 0, 0, 0},
                                     {1, 80, 26, 0, 0, 0, 0},
                                     {1, 80, 26, 0, 0, 0, 0},
                                     {NONE, 80, 26, 0, 0, 0, 0}};
static struct arrange_edge edges[] = {{0, 2, NULL, 0},
                                      {2, 3, NULL, 0},
                                      {3, 4, NULL, 0},
                                      {0, 4, NULL, 0},
                                      {0, 4, NULL, 0}};

static bool is_inside(const struct arrange_box *inner, const struct arrange_box *outer)
{
    return inner->x > outer->x && inner->y > outer->y &&
           inner->x + inner->w < outer->x + outer->w &&
           inner->y + inner->h < outer->y + outer->h;
}

TEST(boxes_lie_below_what_they_read_and_groups_around_their_boxes)
{
    struct arrangement a = {.boxes = boxes, .edges = edges, .n_boxes = 5, .n_edges = 5};
    struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    CHECK(arrange(&a, &arena, &err) == 0);
    CHECK(is_inside(&boxes[2], &boxes[1]) && is_inside(&boxes[3], &boxes[1]));
    CHECK_INT(boxes[0].w, 80);
    for (uint32_t i = 0; i < a.n_edges; i++) {
        const struct arrange_box *from = &boxes[edges[i].source];
        const struct arrange_box *to = &boxes[edges[i].target];

        CHECK(to->y > from->y + from->h && edges[i].n_points >= 2);
        CHECK_INT(edges[i].points[0].y, from->y + from->h);
        CHECK_INT(edges[i].points[edges[i].n_points - 1].y, to->y);
        for (uint32_t k = 1; k < edges[i].n_points; k++)
            CHECK((edges[i].points[k].x == edges[i].points[k - 1].x) !=
                  (edges[i].points[k].y == edges[i].points[k - 1].y));
    }
    CHECK(edges[3].n_points > 2);              /* around the group */
    CHECK(edges[3].points == edges[4].points); /* the same line */
    CHECK(a.width > boxes[1].x + boxes[1].w - 1 && a.height > boxes[4].y);
    arena_release(&arena);
}

TEST(numbers_that_make_no_graph_are_refused)
{
    struct arrange_box odd[] = {{0, 80, 26, 0, 0, 0, 0}, {0, 80, 26, 0, 0, 0, 0}};
    struct arrange_edge edge = {0, 1, NULL, 0};
    struct arrangement a = {.boxes = odd, .edges = &edge, .n_boxes = 2, .n_edges = 1};
    struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    CHECK(arrange(&a, &arena, &err) < 0 && err.code == ERR_USAGE); /* its own parent */
    odd[0].parent = NONE;
    CHECK(arrange(&a, &arena, &err) < 0 && err.code == ERR_USAGE); /* from a group */
    odd[1].parent = NONE;
    edge.target = 7;
    CHECK(arrange(&a, &arena, &err) < 0 && err.code == ERR_USAGE);
    edge.target = 1;
    odd[1].width = 0;
    CHECK(arrange(&a, &arena, &err) < 0 && err.code == ERR_USAGE);
    odd[1].width = 9;
    CHECK(arrange(&a, &arena, &err) == 0 && edge.n_points == 2);
    a.n_boxes = a.n_edges = 0;
    CHECK(arrange(&a, &arena, &err) == 0);
    arena_release(&arena);
}
