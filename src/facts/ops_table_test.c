#include "facts/ops_table.h"

#include <string.h>

#include "base/test.h"
#include "model/build.h"
#include "run/sample_run.h"
#include "study/program_use.h"

struct scene {
    struct run *run;
    struct arena arena;
    struct op_use_list uses;
    struct buf text;
};

static struct scene scene(unsigned phases)
{
    struct scene s = {.run = sample_ops(), .text = BUF_INIT};

    arena_init(&s.arena, 0);
    CHECK(op_use_of(&s.uses, s.run, OP_USE_BY_OVERLOAD, phases, &s.arena, NULL) == 0);
    return s;
}

static const char *table(struct scene *s, uint32_t top, unsigned width)
{
    struct op_use_table wanted = {
        .run = s->run, .uses = &s->uses, .top = top, .width = width};
    struct out out;

    buf_clear(&s->text);
    out_init_buf(&out, &s->text);
    CHECK(ops_table_text(&out, &wanted, NULL) == 0);
    CHECK(out_release(&out) == 0);
    return buf_cstr(&s->text);
}

static const char *sums(struct scene *s, unsigned phases)
{
    buf_clear(&s->text);
    ops_table_sums(&s->text, s->run, &s->uses, phases);
    return buf_cstr(&s->text);
}

static void end(struct scene *s)
{
    buf_release(&s->text);
    arena_release(&s->arena);
    run_free(s->run);
}

TEST(operations_used_are_a_table_with_their_first_place)
{
    struct scene s = scene(OP_PHASES_ALL);

    CHECK_STR(table(&s, 4, 0),
              "name                      family       count    time  share  FLOPs  "
              "memory  first\n"
              "aten::mm                  matmul           1  50.0ns    27%     24     "
              "24B  outside net.py:5\n"
              "aten::addmm               matmul           1  40.0ns    22%     24     "
              "16B  a net.py:5\n"
              "aten::threshold_backward  activation       1  30.0ns    16%      -     "
              "16B  outside net.py:9\n"
              "aten::add_.Tensor         elementwise      2  27.0ns    15%      -      "
              "0B  (root) net.py:12\n");
    end(&s);
}

TEST(a_narrow_table_drops_columns)
{
    struct scene s = scene(OP_PHASES_ALL);

    CHECK(strstr(table(&s, 1, 60), "name »"));
    CHECK(!strstr(buf_cstr(&s.text), "family"));
    CHECK(strstr(buf_cstr(&s.text), "FLOPs"));
    end(&s);
}

TEST(sums_name_phases_and_the_coverage_of_flops)
{
    struct scene s = scene(OP_PHASES_ALL);
    struct run_ops *ops = (struct run_ops *)(uintptr_t)s.run->ops;

    ops->lost = 3;
    CHECK_STR(
        sums(&s, OP_PHASES_ALL),
        "9 operations of 8 kinds, 184.0ns, 76B allocated, 48 FLOPs\n"
        "forward 92.0ns, 24 FLOPs; backward 80.0ns, 24 FLOPs; optimizer "
        "12.0ns\n"
        "2 of 9 operations have a FLOPs formula: 100% of the matrix work\n"
        "3 operations beyond the limit of the recording: counted here, not listed "
        "one by one\n");
    end(&s);
    s = scene(1u << OP_OPTIMIZER);
    CHECK_STR(sums(&s, 1u << OP_OPTIMIZER),
              "1 operation of 1 kind, 12.0ns, 0B allocated\n"
              "0 of 1 operation has a FLOPs formula; there is no matrix work\n");
    end(&s);
}

TEST(matrix_operations_without_flops_are_reported)
{
    const struct op_sum sum = {
        .count = 2000, .unknown = 1001, .matrix = 1000, .matrix_unknown = 1};
    struct buf text = BUF_INIT;

    ops_table_coverage(&text, &sum);
    CHECK_STR(buf_cstr(&text),
              "999 of 2,000 operations have a FLOPs formula; 1 of 1,000 matrix "
              "operations has none");
    buf_release(&text);
}

/* conv2d in a loop, relu in a branch that is not taken, and code that is unclear. */
static const struct model *program_model(void)
{
    struct build build;
    const struct model *model;
    uint32_t file, regions[3];
    static const struct program_region kinds[] = {
        {.kind = PROGRAM_LOOP, .taken = -1, .parent = PROGRAM_NONE},
        {.kind = PROGRAM_IF, .taken = 0, .parent = PROGRAM_NONE},
        {.kind = PROGRAM_UNCLEAR, .taken = -1, .parent = PROGRAM_NONE, .line = 9},
    };
    static const char *const names[] = {"aten::conv2d", "aten::relu"};

    CHECK(build_init(&build, "m.pt", 0, NULL, NULL) == 0 && build_program(&build));
    file = build_string(&build, STR("code/__torch__.py"));
    for (int i = 0; i < 3; i++)
        regions[i] = build_program_region(&build, &kinds[i]);
    build.program->regions[2].file = file;
    build.program->regions[2].text = build_string(&build, STR("x = \033?"));
    build.program->method = build_string(&build, STR("forward"));
    for (uint32_t i = 0; i < 2; i++)
        build_program_op(
            &build,
            &(struct program_op){.name = build_string(&build, str_of(names[i])),
                                 .region = regions[i],
                                 .file = file,
                                 .line = 5 + i},
            NULL);
    model = build_finish(&build, NULL);
    build_release(&build);
    CHECK(model);
    return model;
}

TEST(operations_of_a_file_have_no_times_and_list_conditions)
{
    const struct model *model = program_model();
    struct scene s = {.text = BUF_INIT};
    struct op_use_table wanted = {
        .model = model, .uses = &s.uses, .top = UINT32_MAX, .width = 0};
    struct out out;

    arena_init(&s.arena, 0);
    CHECK(program_use_of(&s.uses, model, &s.arena, NULL) == 0);
    out_init_buf(&out, &s.text);
    CHECK(ops_table_text(&out, &wanted, NULL) == 0 && out_release(&out) == 0);
    CHECK_STR(buf_cstr(&s.text),
              "name          family      count  FLOPs  first\n"
              "aten::conv2d  conv            1      -  (root) __torch__.py:5\n"
              "aten::relu    activation      1      -  (root) __torch__.py:6\n");
    buf_clear(&s.text);
    ops_program_sums(&s.text, model, &s.uses);
    CHECK_STR(
        buf_cstr(&s.text),
        "2 operations of 2 kinds in the code of forward; it was not run: no times, "
        "memory or FLOPs\n"
        "1 operation is in a loop: counted once, but run in every iteration\n"
        "1 operation depends on a condition; 1 is in a branch that is never taken\n"
        "1 place in the code is not understood: __torch__.py:9: x = \\x1b?\n");
    buf_release(&s.text);
    arena_release(&s.arena);
    model_free(model);
}
