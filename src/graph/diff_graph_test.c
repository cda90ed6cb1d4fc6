/* Diagrams of two recordings. */
#include "base/test.h"
#include "graph/drawn_in.h"
#include "graph/stack_in.h"
#include "run/sample_block.h"

static struct graph_wanted at_level(enum graph_level level)
{
    struct graph_wanted wanted = GRAPH_WANTED;

    wanted.level = level;
    return wanted;
}

static struct drawn_graph diff_stacks(struct stack_wanted old, struct stack_wanted new,
                                      enum graph_level level)
{
    return drawn_diff(stack_run(old), stack_run(new), at_level(level));
}

static uint8_t change_of(const struct drawn_graph *drawn, const char *id)
{
    uint32_t box = drawn_box(drawn, id);

    CHECK(box != PLAN_NONE);
    return drawn->diagram.boxes[box].change;
}

static bool is_open(const struct drawn_graph *drawn, const char *id)
{
    return drawn->diagram.plan.boxes[drawn_box(drawn, id)].flags & PLAN_OPEN;
}

static uint32_t marks(const struct diagram *diagram)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < diagram->plan.n_boxes; i++)
        n += diagram->boxes[i].change != DIAGRAM_SAME;
    for (uint32_t i = 0; i < diagram->plan.n_ends; i++)
        n += diagram->ends[i].change != DIAGRAM_SAME;
    return n;
}

TEST(the_diff_of_equal_networks_has_no_marks)
{
    struct drawn_graph drawn = drawn_diff(sample_block((struct sample_block_wanted){0}),
                                          sample_block((struct sample_block_wanted){0}),
                                          at_level(GRAPH_MODULES));
    struct drawn_graph alone = drawn_of(sample_block((struct sample_block_wanted){0}));

    CHECK_INT(marks(&drawn.diagram), 0);
    CHECK_INT(drawn.diagram.plan.n_boxes, alone.diagram.plan.n_boxes);
    CHECK_INT(drawn.diagram.plan.n_ends, alone.diagram.plan.n_ends);
    CHECK_INT(drawn.diagram.n_shown, alone.diagram.n_shown);
    CHECK(str_find(drawn.diagram.facts, STR("nothing differs, ")) > 0);
    drawn_drop(&drawn);
    drawn_drop(&alone);
}

TEST(blocks_that_only_one_network_has_are_added_or_removed)
{
    struct stack_wanted six = {.n = 6}, eight = {.n = 8};
    struct drawn_graph drawn = diff_stacks(six, eight, GRAPH_MODULES);

    CHECK_INT(change_of(&drawn, "layers.6…7"), DIAGRAM_ADDED);
    CHECK_INT(change_of(&drawn, "layers.7.a"), DIAGRAM_ADDED);
    CHECK_INT(change_of(&drawn, "layers.5.a"), DIAGRAM_SAME);
    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_ADDED], 6);
    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_REMOVED], 0);
    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_CHANGED], 0);
    CHECK(drawn_box(&drawn, "layers.0…7") == PLAN_NONE);
    CHECK(is_open(&drawn, "layers.6…7"));
    CHECK(!is_open(&drawn, "layers.0…5"));
    drawn_drop(&drawn);

    drawn = diff_stacks(eight, six, GRAPH_MODULES);
    CHECK_INT(change_of(&drawn, "old:layers.6…7"), DIAGRAM_REMOVED);
    CHECK_INT(change_of(&drawn, "old:layers.7.a"), DIAGRAM_REMOVED);
    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_REMOVED], 6);
    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_ADDED], 0);
    drawn_drop(&drawn);
}

TEST(an_operation_in_the_place_of_another_changes_the_groups_around_it)
{
    struct drawn_graph drawn =
        diff_stacks((struct stack_wanted){.n = 6},
                    (struct stack_wanted){.n = 6, .other = 3}, GRAPH_OPS);

    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_CHANGED], 1);
    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_ADDED], 0);
    CHECK_INT(change_of(&drawn, "layers.2"), DIAGRAM_CHANGED);
    CHECK_INT(change_of(&drawn, "layers.2.a"), DIAGRAM_CHANGED);
    CHECK(strstr(drawn_words(&drawn, "layers.2.a"), "was "));
    CHECK_INT(drawn.diagram.boxes[drawn_box(&drawn, "layers.2")].n_changes, 1);
    CHECK(strstr(drawn_words(&drawn, "layers.2"), ": Block, 1 change"));
    CHECK(is_open(&drawn, "layers.2"));
    /* Equal blocks on both sides of it fold and stay closed. */
    CHECK_INT(change_of(&drawn, "layers.0…1"), DIAGRAM_SAME);
    CHECK_INT(change_of(&drawn, "layers.3…5"), DIAGRAM_SAME);
    CHECK(!is_open(&drawn, "layers.0…1"));
    drawn_drop(&drawn);
}

TEST(a_line_from_another_box_is_a_change_although_all_boxes_are_equal)
{
    struct drawn_graph drawn =
        diff_stacks((struct stack_wanted){.n = 6},
                    (struct stack_wanted){.n = 6, .skip = 3}, GRAPH_MODULES);

    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_CHANGED], 0);
    CHECK_INT(drawn.diagram.lines_added, 1);
    CHECK_INT(drawn.diagram.lines_removed, 1);
    CHECK(drawn_wire(&drawn, "in:x", "op:9"));
    CHECK(marks(&drawn.diagram) > 0);
    CHECK(str_find(drawn.diagram.facts, STR("1 line added, 1 line removed")) > 0);
    drawn_drop(&drawn);
}

TEST(a_part_of_both_networks_can_be_compared)
{
    struct run *old = sample_block((struct sample_block_wanted){0});
    struct run *new = sample_block((struct sample_block_wanted){.adds = 2});
    struct graph_wanted wanted = GRAPH_WANTED;
    struct drawn_graph drawn;

    wanted.root = place_find(old->model, STR("block"));
    drawn = drawn_diff(old, new, wanted);
    CHECK_INT(marks(&drawn.diagram), 0);
    drawn_drop(&drawn);

    old = sample_block((struct sample_block_wanted){0});
    new = sample_block((struct sample_block_wanted){.adds = 2});
    drawn = drawn_diff(old, new, (struct graph_wanted)GRAPH_WANTED);
    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_ADDED], 2); /* and no output */
    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_REMOVED], 1);
    CHECK_INT(change_of(&drawn, "old:out:0"), DIAGRAM_REMOVED);
    drawn_drop(&drawn);
}

TEST(ten_thousand_blocks_can_be_compared)
{
    struct drawn_graph drawn =
        diff_stacks((struct stack_wanted){.n = 10000},
                    (struct stack_wanted){.n = 10001, .other = 5000}, GRAPH_OPS);

    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_CHANGED], 1);
    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_ADDED], 3);
    CHECK_INT(drawn.diagram.n_changes[DIAGRAM_REMOVED], 0);
    CHECK(drawn.diagram.n_shown <= GRAPH_BOXES);
    drawn_drop(&drawn);
}
