#include "base/test.h"
#include "graph/check_in.h"
#include "graph/drawn_in.h"
#include "run/sample_block.h"
#include "run/sample_run.h"

TEST(calls_are_boxes_in_groups_and_values_go_through_their_borders)
{
    struct drawn_graph drawn = drawn_of(sample_block((struct sample_block_wanted){0}));
    const struct diagram *diagram = &drawn.diagram;
    uint32_t block = drawn_box(&drawn, "block");

    CHECK(block != PLAN_NONE);
    CHECK(diagram->plan.boxes[drawn_box(&drawn, "block.conv1")].parent == block);
    CHECK(drawn_wire(&drawn, "in:x", "stem"));
    CHECK(drawn_wire(&drawn, "stem", "block.conv1"));
    CHECK(drawn_wire(&drawn, "block.conv1", "block.relu"));
    CHECK(drawn_wire(&drawn, "block.conv2", "block.drop"));
    CHECK(!drawn_wire(&drawn, "block.conv2", "block.relu#2"));
    CHECK_INT(diagram->boxes[drawn_box(&drawn, "block.relu#2")].number, 2);
    CHECK_INT(diagram->boxes[drawn_box(&drawn, "block.relu#2")].n_calls, 2);
    CHECK(diagram->note.len == 0);
    drawn_drop(&drawn);
}

TEST(an_addition_of_two_tensors_is_a_sign)
{
    struct drawn_graph drawn = drawn_of(sample_block((struct sample_block_wanted){0}));
    const struct diagram *diagram = &drawn.diagram;
    uint32_t signs = 0, sign = PLAN_NONE;

    for (uint32_t i = 1; i < diagram->plan.n_boxes; i++)
        if (diagram->boxes[i].flags & DIAGRAM_SIGN) {
            sign = i;
            signs++;
        }
    CHECK_INT(signs, 1);
    CHECK(str_is(diagram->boxes[sign].name, "+"));
    CHECK(diagram->plan.boxes[sign].flags & PLAN_SIDE);
    CHECK(diagram->plan.boxes[sign].parent == drawn_box(&drawn, "block"));
    drawn_drop(&drawn);
}

TEST(inputs_and_outputs_have_names_shapes_and_types)
{
    struct drawn_graph drawn = drawn_of(sample_block((struct sample_block_wanted){0}));

    CHECK_STR(drawn_words(&drawn, "in:x"), "x: 2×3×8×8, float32");
    CHECK_STR(drawn_words(&drawn, "out:0"), "output: 2×10, float32");
    drawn_drop(&drawn);
}

/* Kept groups, requested groups, and a plan that remains valid. */
TEST(the_content_of_closed_groups_can_be_dropped)
{
    struct drawn_graph drawn = drawn_of(sample_block((struct sample_block_wanted){0}));
    struct diagram *diagram = &drawn.diagram;
    uint32_t n = diagram->plan.n_boxes, hidden = 0, block = drawn_box(&drawn, "block");
    struct str asked = STR("*");
    struct err err = {0};

    CHECK_INT(diagram_shorten(diagram, n, NULL, 0, &err), 0);
    CHECK_INT(diagram->plan.n_boxes, n);
    diagram->plan.boxes[block].flags &= (uint8_t)~PLAN_OPEN;
    CHECK_INT(diagram_shorten(diagram, 1, &asked, 1, &err), 0);
    CHECK_INT(diagram->plan.n_boxes, n);
    CHECK_INT(diagram_shorten(diagram, 1, NULL, 0, &err), 0);
    block = drawn_box(&drawn, "block");
    for (uint32_t i = 0; i < diagram->plan.n_boxes; i++)
        hidden += diagram->boxes[i].n_hidden;
    CHECK(diagram->boxes[block].n_hidden > 0);
    CHECK_INT(diagram->plan.n_boxes + hidden, n);
    CHECK_INT(diagram->plan.boxes[block].end, block + 1);
    CHECK(drawn_wire(&drawn, "stem", "block"));
    CHECK(!check_plan(diagram, &drawn.arena));
    CHECK_INT(plan_order(&diagram->plan, &drawn.arena, &err), 0);
    drawn_drop(&drawn);
}

TEST(a_model_without_a_run_or_code_has_no_graph)
{
    struct session *session = session_of(sample_model(), NULL);
    struct graph_wanted wanted = GRAPH_WANTED;
    struct diagram diagram;
    struct err err = {0};
    struct arena arena;

    arena_init(&arena, 0);
    CHECK_INT(diagram_make(&diagram, session, &wanted, &arena, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "has no graph"));
    arena_release(&arena);
    session_close(session);
}

static struct graph_wanted at_level(enum graph_level level)
{
    struct graph_wanted wanted = GRAPH_WANTED;

    wanted.level = level;
    return wanted;
}

TEST(at_the_level_of_operations_modules_of_one_operation_stay_boxes)
{
    struct drawn_graph drawn = drawn_wanted(
        sample_block((struct sample_block_wanted){0}), at_level(GRAPH_OPS));
    uint32_t relu = drawn_box(&drawn, "block.relu");

    CHECK(relu != PLAN_NONE);
    CHECK_INT(drawn.diagram.boxes[relu].kind, DIAGRAM_MODULE);
    CHECK_INT(drawn.diagram.boxes[relu].family, FAMILY_ACTIVATION);
    CHECK_STR(drawn_words(&drawn, "block.relu"), "relu: relu");
    /* The view of the weight is part of the product that reads it. */
    CHECK_INT(drawn.diagram.boxes[drawn_box(&drawn, "head")].n_ops, 2);
    CHECK_INT(drawn.diagram.plan.boxes[drawn_box(&drawn, "head")].end,
              drawn_box(&drawn, "head") + 1);
    drawn_drop(&drawn);
}

TEST(chains_of_views_fold_and_all_unfolds_them)
{
    struct graph_wanted all = GRAPH_WANTED;
    struct drawn_graph drawn = drawn_of(sample_block((struct sample_block_wanted){0}));
    uint32_t views = 0;

    for (uint32_t i = 1; i < drawn.diagram.plan.n_boxes; i++)
        if (str_is(drawn.diagram.boxes[i].name, "3 views")) {
            CHECK_INT(drawn.diagram.boxes[i].kind, DIAGRAM_VIEW);
            CHECK_INT(drawn.diagram.plan.boxes[i].end, i + 4);
            CHECK(!(drawn.diagram.plan.boxes[i].flags & PLAN_OPEN));
            views++;
        }
    CHECK_INT(views, 1);
    drawn_drop(&drawn);
    all.all = true;
    drawn = drawn_wanted(sample_block((struct sample_block_wanted){0}), all);
    for (uint32_t i = 1; i < drawn.diagram.plan.n_boxes; i++)
        CHECK(!str_is(drawn.diagram.boxes[i].name, "3 views"));
    drawn_drop(&drawn);
}

TEST(a_part_of_the_model_is_a_frame_with_its_own_inputs)
{
    struct graph_wanted wanted = GRAPH_WANTED;
    struct run *run = sample_block((struct sample_block_wanted){0});
    struct drawn_graph drawn;
    uint32_t frame;

    wanted.root = place_find(run->model, STR("block"));
    drawn = drawn_wanted(run, wanted);
    frame = drawn_box(&drawn, "block");
    CHECK(frame != PLAN_NONE && drawn.diagram.plan.boxes[frame].flags & PLAN_OPEN);
    CHECK_INT(drawn.diagram.plan.boxes[frame].parent, 0);
    CHECK_INT(drawn.diagram.n_path, 2);
    CHECK(drawn_wire(&drawn, "in:x", "block.conv1"));
    CHECK(drawn_wire(&drawn, "block.relu#2", "out:0"));
    CHECK(drawn_box(&drawn, "stem") == PLAN_NONE);
    drawn_drop(&drawn);
}

TEST(a_place_with_its_neighbours_and_a_path_leave_out_the_rest)
{
    struct graph_wanted wanted = GRAPH_WANTED;
    struct run *run = sample_block((struct sample_block_wanted){0});
    struct drawn_graph drawn;

    wanted.focus = place_find(run->model, STR("block.conv1"));
    drawn = drawn_wanted(run, wanted);
    CHECK(drawn_wire(&drawn, "stem", "block.conv1"));
    CHECK(drawn_wire(&drawn, "block.conv1", "block.relu"));
    CHECK(drawn_box(&drawn, "block.conv2") == PLAN_NONE);
    CHECK(drawn_box(&drawn, "head") == PLAN_NONE);
    CHECK(str_starts(drawn.diagram.note,
                     STR("Only block.conv1 and everything at most 1 line away.")));
    drawn_drop(&drawn);

    run = sample_block((struct sample_block_wanted){0});
    wanted.to = place_find(run->model, STR("block.conv2"));
    drawn = drawn_wanted(run, wanted);
    CHECK(drawn_wire(&drawn, "block.relu", "block.conv2"));
    CHECK(drawn_box(&drawn, "stem") == PLAN_NONE);
    CHECK(drawn_box(&drawn, "block.drop") == PLAN_NONE);
    CHECK(str_starts(drawn.diagram.note,
                     STR("Only paths from block.conv1 to block.conv2.")));
    drawn_drop(&drawn);
}

TEST(without_operations_a_note_lists_what_is_missing)
{
    struct session *session = session_of_run(sample_run(1), NULL);
    struct graph_wanted wanted = GRAPH_WANTED;
    struct diagram diagram;
    struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    CHECK_INT(diagram_make(&diagram, session, &wanted, &arena, &err), 0);
    CHECK(str_find(diagram.note, STR("record(model, ops=True)")) > 0);
    CHECK(str_find(diagram.note, STR("not called")) > 0);
    wanted.level = GRAPH_OPS;
    CHECK_INT(diagram_make(&diagram, session, &wanted, &arena, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    arena_release(&arena);
    session_close(session);
}

TEST(a_nan_is_made_in_one_box_and_carried_by_others)
{
    struct drawn_graph drawn =
        drawn_of(sample_block((struct sample_block_wanted){.nan = true}));
    uint32_t made = 0;

    for (uint32_t i = 1; i < drawn.diagram.plan.n_boxes; i++)
        if (drawn.diagram.boxes[i].flags & DIAGRAM_MADE) {
            CHECK(str_is(drawn.diagram.boxes[i].name, "+"));
            made++;
        }
    CHECK_INT(made, 1);
    drawn_drop(&drawn);
}

TEST(values_are_written_for_people)
{
    struct drawn_graph drawn = drawn_of(sample_block((struct sample_block_wanted){0}));
    struct diagram_box *box = &drawn.diagram.boxes[1];
    struct buf text = BUF_INIT;

    box->metric[DIAGRAM_PARAMS] = 25557032;
    box->metric[DIAGRAM_TIME] = 1.52e6;
    diagram_value(&text, &drawn.diagram, 1, DIAGRAM_PARAMS);
    box->flags = DIAGRAM_TIED;
    buf_char(&text, ' ');
    diagram_value(&text, &drawn.diagram, 1, DIAGRAM_PARAMS);
    box->flags = DIAGRAM_SHARED;
    buf_char(&text, ' ');
    diagram_value(&text, &drawn.diagram, 1, DIAGRAM_PARAMS);
    buf_char(&text, ' ');
    diagram_value(&text, &drawn.diagram, 1, DIAGRAM_TIME);
    buf_char(&text, ' ');
    diagram_value(&text, &drawn.diagram, 1, DIAGRAM_GRADIENT);
    CHECK_STR(buf_cstr(&text), "25.6M (25.6M) shared 1.52ms –");
    buf_release(&text);
    drawn_drop(&drawn);
}

TEST(questions_about_missing_places_fail_with_a_sentence)
{
    struct session *session =
        session_of_run(sample_block((struct sample_block_wanted){0}), NULL);
    struct graph_wanted wanted = GRAPH_WANTED;
    struct diagram diagram;
    struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    wanted.pass = 7;
    CHECK_INT(diagram_make(&diagram, session, &wanted, &arena, &err), -1);
    CHECK_STR(err.text, "the recording has no pass 7");
    wanted.pass = GRAPH_AUTO;
    wanted.root = 99999;
    CHECK_INT(diagram_make(&diagram, session, &wanted, &arena, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    arena_release(&arena);
    session_close(session);
}
