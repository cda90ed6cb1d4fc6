#include "base/test.h"
#include "model/build.h"

/* Adds an operation at a node that reads `in`; returns its result. */
static uint32_t add_op(struct build *build, uint32_t node, uint32_t in)
{
    struct program_value made = {.kind = PROGRAM_RESULT,
                                 .producer = build->program->n_ops,
                                 .place = PROGRAM_NONE};
    uint32_t out = build_program_value(build, &made);
    struct program_io ios[] = {{.value = in}, {.value = out}};
    struct program_op op = {.place = node, .n_in = 1, .n_out = 1};

    CHECK_INT(build_program_op(build, &op, ios), made.producer);
    return out;
}

TEST(places_of_a_program_follow_their_nodes_also_in_a_copy)
{
    struct build build;
    struct err err = {0};
    const struct model *model, *copy;
    uint32_t first, second, below, x;
    const struct program *program;

    CHECK(build_init(&build, "m.pt", 0, NULL, &err) == 0);
    first = build_node(&build, 0, PLACE_MODULE, STR("first"));
    second = build_node(&build, 0, PLACE_MODULE, STR("second"));
    below = build_node(&build, first, PLACE_MODULE, STR("below"));
    CHECK(build_program(&build));
    CHECK(build_program(&build) == build.program);
    x = build_program_value(
        &build, &(struct program_value){.kind = PROGRAM_INPUT, .place = PROGRAM_NONE});
    x = add_op(&build, second, x);
    add_op(&build, below, x);
    CHECK_INT(build_program_call(&build, &(struct program_call){.place = below}), 0);
    model = build_finish(&build, &err);
    CHECK(model && model->program);
    copy = model_copy(model);
    build_release(&build);
    CHECK(copy && copy->program != model->program);
    program = copy->program;
    CHECK(str_is(place_name(model, program->ops[0].place), "second"));
    CHECK(str_is(place_name(model, program->ops[1].place), "below"));
    CHECK(str_is(place_name(model, program->calls[0].place), "below"));
    CHECK_INT(program->ios[program->ops[1].io].value, x);
    CHECK_INT(program->values[x].producer, 0);
    model_free(model);
    CHECK_INT(program->n_ops, 2);
    CHECK_INT(program->ios[1].value, x);
    model_free(copy);
}

TEST(a_program_has_a_memory_limit_and_the_model_stays_complete)
{
    struct program_value value = {.kind = PROGRAM_INPUT, .place = PROGRAM_NONE};
    struct build build;
    struct err err = {0};
    const struct model *model;
    uint32_t n = 0;

    CHECK(build_init(&build, "m.pt", 4 << 20, NULL, &err) == 0);
    CHECK(build_program(&build));
    while (build_program_value(&build, &value) != PROGRAM_NONE && n < 10000000)
        n++;
    CHECK(n > 1000 && n < 1000000);
    CHECK(build.program->cut && build_program_full(&build));
    CHECK(!build_spent(&build));
    CHECK(build_node(&build, 0, PLACE_MODULE, STR("later")) != NO_PLACE);
    model = build_finish(&build, &err);
    build_release(&build);
    CHECK(model && !model->partial);
    CHECK_INT(model->program->n_values, n);
    model_free(model);
}

TEST(a_region_inherits_the_flags_of_enclosing_regions)
{
    static const struct program_region regions[] = {
        {.kind = PROGRAM_ELSE, .taken = 0, .parent = PROGRAM_NONE},
        {.kind = PROGRAM_LOOP, .taken = -1, .parent = 0},
        {.kind = PROGRAM_IF, .taken = 1, .parent = PROGRAM_NONE},
    };
    struct build build;

    CHECK(build_init(&build, "m.pt", 0, NULL, NULL) == 0);
    CHECK(build_program(&build));
    for (uint32_t i = 0; i < 3; i++)
        CHECK_INT(build_program_region(&build, &regions[i]), i);
    CHECK_INT(program_region_flags(build.program, 1),
              PROGRAM_CONDITIONAL | PROGRAM_REPEATED | PROGRAM_DEAD);
    CHECK_INT(program_region_flags(build.program, 2), PROGRAM_CONDITIONAL);
    CHECK_INT(program_region_flags(build.program, PROGRAM_NONE), 0);
    CHECK_STR(program_region_name(PROGRAM_UNCLEAR), "not understood");
    build_release(&build);
}

TEST(a_walk_finds_each_producer_once_and_ends_in_a_loop)
{
    uint32_t sources[] = {0, 3, 1, 2};
    struct program_value values[] = {
        {.kind = PROGRAM_RESULT, .producer = 0},
        {.kind = PROGRAM_RESULT, .producer = 1},
        {.kind = PROGRAM_MERGE, .loop = true, .sources = 0, .n_sources = 2},
        {.kind = PROGRAM_MERGE, .sources = 2, .n_sources = 2},
    };
    struct program program = {.values = values,
                              .n_values = 4,
                              .sources = sources,
                              .n_sources = 4,
                              .n_ops = 2};
    struct program_walk walk;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(program_walk_init(&walk, &program, &arena) == 0);
    CHECK_INT(program_walk(&walk, 0), 1);
    CHECK_INT(walk.found[0], 0);
    CHECK_INT(program_walk(&walk, 2), 2);
    CHECK(walk.found[0] == 0 && walk.found[1] == 1);
    CHECK_INT(program_walk(&walk, 3), 2);
    arena_release(&arena);
}
