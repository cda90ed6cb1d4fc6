#include "study/program_use.h"

#include "base/test.h"
#include "model/build.h"

static void add(struct build *build, const char *name, uint32_t region)
{
    struct program_op op = {
        .name = build_string(build, str_of(name)), .place = 0, .region = region};

    CHECK(build_program_op(build, &op, NULL) != PROGRAM_NONE);
}

static uint32_t region(struct build *build, enum program_region_kind kind, int taken,
                       uint32_t parent)
{
    return build_program_region(build, &(struct program_region){.kind = (uint8_t)kind,
                                                                .taken = (int8_t)taken,
                                                                .parent = parent});
}

TEST(operations_of_a_file_are_counted_by_name_and_by_what_they_depend_on)
{
    struct op_use_list list;
    const struct model *model;
    struct program_sum sum;
    struct arena arena;
    struct build build;
    uint32_t loop, not_taken, unclear;

    arena_init(&arena, 0);
    CHECK(build_init(&build, "m.pt", 0, NULL, NULL) == 0);
    CHECK(build_program(&build));
    loop = region(&build, PROGRAM_LOOP, -1, PROGRAM_NONE);
    not_taken = region(&build, PROGRAM_IF, 0, loop);
    unclear = region(&build, PROGRAM_UNCLEAR, -1, PROGRAM_NONE);
    add(&build, "aten::add", PROGRAM_NONE);
    add(&build, "aten::mm", loop);
    add(&build, "aten::add", not_taken);
    model = build_finish(&build, NULL);
    build_release(&build);
    CHECK(model && program_use_of(&list, model, &arena, NULL) == 0);
    CHECK_INT(list.n, 2);
    CHECK(str_is(list.at[0].name, "aten::add"));
    CHECK_INT(list.at[0].sum.count, 2);
    CHECK_INT(list.at[1].first, 1);
    CHECK_INT(list.sum.count, 3);
    CHECK_INT(list.sum.unknown, 3);
    CHECK_INT(list.sum.matrix, 1);
    sum = program_sums(model->program);
    CHECK_INT(sum.in_loops, 2);
    CHECK_INT(sum.in_ifs, 1);
    CHECK_INT(sum.not_taken, 1);
    CHECK_INT(sum.unclear, 1);
    CHECK_INT(sum.first_unclear, unclear);
    model_free(model);
    arena_release(&arena);
}
