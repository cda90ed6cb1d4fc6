#include "base/test.h"
#include "graph/drawn_in.h"
#include "graph/stack_in.h"

static struct drawn_graph draw_stack(struct stack_wanted wanted, bool all)
{
    struct graph_wanted how = GRAPH_WANTED;

    how.all = all;
    return drawn_wanted(stack_run(wanted), how);
}

TEST(equal_blocks_fold_and_the_first_can_be_looked_into)
{
    struct drawn_graph drawn = draw_stack((struct stack_wanted){.n = 12}, false);
    const struct diagram *diagram = &drawn.diagram;
    uint32_t all = drawn_box(&drawn, "layers.0…11");
    uint32_t rest = drawn_box(&drawn, "layers.1…11");

    CHECK(all != PLAN_NONE && rest != PLAN_NONE);
    CHECK_INT(diagram->boxes[all].kind, DIAGRAM_REPEAT);
    CHECK_INT(diagram->boxes[all].n_same, 12);
    CHECK_STR(drawn_words(&drawn, "layers.0…11"), "layers.0…11: 12 × Block, 2 modules");
    CHECK_INT(diagram->plan.boxes[drawn_box(&drawn, "layers.0")].parent, all);
    CHECK_INT(diagram->plan.boxes[rest].parent, all);
    CHECK_INT(diagram->plan.boxes[drawn_box(&drawn, "layers.5")].parent, rest);
    CHECK(!(diagram->plan.boxes[rest].flags & PLAN_OPEN));
    CHECK(drawn_wire(&drawn, "layers.3.b", "op:12"));
    CHECK(diagram->n_shown <= GRAPH_BOXES);
    drawn_drop(&drawn);
}

TEST(a_block_that_runs_something_else_stays_apart)
{
    struct graph_wanted how = GRAPH_WANTED;
    struct drawn_graph drawn;

    how.level = GRAPH_OPS;
    drawn = drawn_wanted(stack_run((struct stack_wanted){.n = 6, .other = 3}), how);
    CHECK(drawn_box(&drawn, "layers.0…1") != PLAN_NONE);
    CHECK(drawn_box(&drawn, "layers.3…5") != PLAN_NONE);
    CHECK_INT(drawn.diagram.plan.boxes[drawn_box(&drawn, "layers.2")].parent, 0);
    drawn_drop(&drawn);
}

TEST(a_block_that_reads_something_else_stays_apart)
{
    struct drawn_graph drawn =
        draw_stack((struct stack_wanted){.n = 6, .skip = 3}, false);

    CHECK(drawn_box(&drawn, "layers.0…1") != PLAN_NONE);
    CHECK(drawn_box(&drawn, "layers.0…5") == PLAN_NONE);
    CHECK(drawn_wire(&drawn, "in:x", "op:9"));
    drawn_drop(&drawn);
}

TEST(every_request_works)
{
    struct drawn_graph drawn = draw_stack((struct stack_wanted){.n = 12}, true);

    for (uint32_t i = 1; i < drawn.diagram.plan.n_boxes; i++)
        CHECK(drawn.diagram.boxes[i].kind != DIAGRAM_REPEAT);
    CHECK_INT(drawn.diagram.plan.boxes[drawn_box(&drawn, "layers.7")].parent, 0);
    drawn_drop(&drawn);
}

TEST(a_module_with_one_module_inside_merges_with_it)
{
    struct drawn_graph drawn =
        draw_stack((struct stack_wanted){.n = 1, .nested = 3}, false);
    uint32_t a = drawn_box(&drawn, "layers.0.w.w.w.a");

    CHECK(a != PLAN_NONE);
    CHECK(str_is(drawn.diagram.boxes[a].name, "w.w.w.a"));
    CHECK_INT(drawn.diagram.plan.boxes[a].parent, drawn_box(&drawn, "layers.0"));
    drawn_drop(&drawn);
}

TEST(ten_thousand_blocks_and_a_deep_nesting_work)
{
    struct drawn_graph drawn = draw_stack((struct stack_wanted){.n = 10000}, false);

    CHECK(drawn_box(&drawn, "layers.0…9999") != PLAN_NONE);
    CHECK(drawn.diagram.n_shown <= GRAPH_BOXES);
    drawn_drop(&drawn);
    drawn = draw_stack((struct stack_wanted){.n = 2, .nested = 3000}, true);
    CHECK(drawn.diagram.plan.n_boxes > 100);
    drawn_drop(&drawn);
}

TEST(a_nesting_beyond_reason_fails)
{
    struct session *session =
        session_of_run(stack_run((struct stack_wanted){.n = 1, .nested = 5000}), NULL);
    struct graph_wanted wanted = GRAPH_WANTED;
    struct diagram diagram;
    struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    CHECK_INT(diagram_make(&diagram, session, &wanted, &arena, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    arena_release(&arena);
    session_close(session);
}

TEST(an_arena_that_is_spent_fails)
{
    struct session *session =
        session_of_run(stack_run((struct stack_wanted){.n = 100}), NULL);
    struct graph_wanted wanted = GRAPH_WANTED;
    struct diagram diagram;
    struct arena arena;
    int status = -1;

    for (size_t limit = 4096; status < 0; limit += 4096) {
        struct err err = {0};

        arena_init(&arena, limit);
        status = diagram_make(&diagram, session, &wanted, &arena, &err);
        CHECK(status == 0 || err.code == ERR_LIMIT);
        arena_release(&arena);
    }
    session_close(session);
}
