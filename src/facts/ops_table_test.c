#include "facts/ops_table.h"

#include <string.h>

#include "base/test.h"
#include "run/sample_run.h"

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

TEST(sums_name_phases_and_what_the_flops_cover)
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

TEST(matrix_operations_without_flops_are_said)
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
