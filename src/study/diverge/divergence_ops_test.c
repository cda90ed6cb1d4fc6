/* Matches the operations of two runs, and finds the first that differs. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "run/sample_run.h"
#include "study/diverge/divergence.h"

/* Operations outside of all modules, each of one result in a storage of its own. */
struct script {
    struct trace *trace;
    uint32_t storage[64]; /* by letter, from 'A' on: where its latest value is */
};

static void begin(struct script *script)
{
    script->trace = trace_new(sample_model(), &(struct trace_wanted){0});
    CHECK(script->trace && trace_ops_begin(script->trace, 0));
    memset(script->storage, 0xff, sizeof script->storage);
}

static uint32_t storage_of(struct script *script, char letter)
{
    uint32_t *at = &script->storage[letter - 'A'];

    if (*at == RUN_NONE)
        *at = trace_op_storage(script->trace, 64, trace_device(script->trace, "cpu"),
                               RUN_NONE, OP_STORAGE_OTHER);
    return *at;
}

static void measure(struct trace *trace, uint32_t value, double mean)
{
    struct stats stats;

    stats_init(&stats, DTYPE_FLOAT32);
    stats.count = 4;
    stats.min = stats.max = stats.mean = mean;
    trace_op_stats(trace, value, &stats);
}

/* An operation that reads the letters after the first of `io` and makes the first: op(s,
 * "aten::add", "CAB", 3) is C = A + B, whose elements are 3. */
static void op(struct script *script, const char *name, const char *io, double mean)
{
    static const char *const args[] = {"self", "other", "third"};
    struct sample_tensor tensors[8] = {{0}};
    uint32_t values[8], n = (uint32_t)strlen(io);
    uint32_t kind = trace_op_kind(script->trace, name, "", args, 3, 0);

    for (uint32_t i = 0; i < n; i++) {
        char letter = io[(i + 1) % n];

        if (i + 1 == n) /* a result has memory of its own */
            script->storage[letter - 'A'] = RUN_NONE;
        tensors[i] = (struct sample_tensor){.storage = storage_of(script, letter),
                                            .kind = i + 1 < n ? OP_IN : OP_OUT,
                                            .arg = (uint16_t)(i + 1 < n ? i : 0),
                                            .rows = 1,
                                            .columns = 4};
    }
    CHECK(sample_op(script->trace, kind, tensors, n, values) != RUN_NONE);
    measure(script->trace, values[n - 1], mean);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (io[i + 1] == 'A') /* the only input from outside */
            measure(script->trace, values[i], 1);
}

static struct run *end(struct script *script)
{
    struct run *run = trace_finish(script->trace, 1000, 0);

    CHECK(run && run->ops);
    return run;
}

struct compared_ops {
    struct run *run[2];
    struct arena arena;
    struct diff diff;
    struct divergence divergence;
};

static void compare_ops(struct compared_ops *both, struct run *left, struct run *right)
{
    *both = (struct compared_ops){.run = {left, right}};
    arena_init(&both->arena, GIB);
    CHECK(diff_make(&both->diff, left->model, right->model, &(struct diff_wanted){0},
                    &both->arena, NULL, NULL) == 0);
    CHECK(divergence_make(&both->divergence, left, right, &both->diff,
                          &(struct divergence_wanted){0}, &both->arena, NULL,
                          NULL) == 0);
}

static void drop(struct compared_ops *both)
{
    arena_release(&both->arena);
    run_free(both->run[0]);
    run_free(both->run[1]);
}

static const struct divergence_result *first_of(const struct compared_ops *both)
{
    CHECK(both->divergence.first != RUN_NONE);
    return &both->divergence.results[both->divergence.first];
}

TEST(operations_of_equal_runs_are_matched)
{
    struct compared_ops both;

    compare_ops(&both, sample_ops(), sample_ops());
    CHECK_INT(divergence_pairs(&both.divergence.ops), 9);
    CHECK_INT(both.divergence.ops.by_order, 0);
    for (uint32_t i = 0; i < 9; i++)
        CHECK_INT(both.divergence.op_match[0][i], i);
    drop(&both);
}

TEST(the_first_operation_that_differs_is_found_with_its_inputs)
{
    struct compared_ops both;
    struct divergence_input *inputs;
    uint32_t n;

    struct script s[2];
    struct run *run[2];

    for (int side = 0; side < 2; side++) {
        begin(&s[side]);
        op(&s[side], "aten::exp", "BA", 2);
        op(&s[side], side ? "aten::gelu" : "aten::relu", "CB", side ? 2.5 : 2);
        op(&s[side], "aten::add", "DCB", side ? 4.5 : 4);
        op(&s[side], "aten::mul", "EDD", side ? 20.25 : 16);
        run[side] = end(&s[side]);
    }
    compare_ops(&both, run[0], run[1]);
    CHECK_INT(divergence_pairs(&both.divergence.ops), 4);
    CHECK_INT(first_of(&both)->what, DIVERGENCE_OP);
    CHECK_INT(first_of(&both)->at[0], 1);
    CHECK_INT(first_of(&both)->at[1], 1);
    CHECK(first_of(&both)->begins && first_of(&both)->inputs == 0);
    inputs =
        divergence_inputs(&both.divergence, both.divergence.later[0], &both.arena, &n);
    CHECK_INT(both.divergence.results[both.divergence.later[0]].at[0], 3);
    CHECK_INT(n, 2);
    CHECK(str_eq(inputs[0].name, STR("self")) && str_eq(inputs[1].name, STR("other")));
    CHECK_NEAR(inputs[0].by.distance, 0.5 / 4.5, 1e-9);
    drop(&both);
}

/* The other implementation computes the two branches in another order, has an operation
 * more and other names: a result is identified by its inputs. */
TEST(operations_in_another_order_are_matched_by_data_flow)
{
    struct script s[2];
    struct compared_ops both;
    struct run *run[2];

    for (int side = 0; side < 2; side++)
        begin(&s[side]);
    op(&s[0], "aten::exp", "BA", 2);
    op(&s[0], "aten::sin", "CB", 3);
    op(&s[0], "aten::neg", "DC", -3);
    op(&s[0], "aten::cos", "EB", 5);
    op(&s[0], "aten::neg", "FE", -5);
    op(&s[0], "aten::sub", "GDF", 2);

    op(&s[1], "aten::exp", "BA", 2);
    op(&s[1], "aten::cos", "EB", 5);
    op(&s[1], "aten::neg", "FE", -5);
    op(&s[1], "aten::sin", "CB", 3);
    op(&s[1], "aten::neg_", "DC", -3);
    op(&s[1], "aten::sub", "GDF", 2);
    for (int side = 0; side < 2; side++)
        run[side] = end(&s[side]);
    compare_ops(&both, run[0], run[1]);
    CHECK(divergence_agrees(&both.divergence));
    CHECK_INT(divergence_pairs(&both.divergence.ops), 6);
    CHECK_INT(both.divergence.op_match[0][1], 3);
    CHECK_INT(both.divergence.op_match[0][2], 4);
    CHECK_INT(both.divergence.op_match[0][3], 1);
    drop(&both);
}

/* A fused operation matches the last of the operations that it replaces. */
TEST(one_operation_matches_several)
{
    struct script s[2];
    struct compared_ops both;
    struct run *run[2];

    for (int side = 0; side < 2; side++) {
        begin(&s[side]);
        op(&s[side], "aten::exp", "BA", 2);
        if (side == 0) {
            op(&s[side], "aten::sin", "CB", 3);
            op(&s[side], "aten::cos", "DC", 4);
            op(&s[side], "aten::tan", "ED", 5);
        } else {
            op(&s[side], "aten::gelu", "EB", 5);
        }
        op(&s[side], "aten::neg", "FE", -5);
        run[side] = end(&s[side]);
    }
    compare_ops(&both, run[0], run[1]);
    CHECK(divergence_agrees(&both.divergence));
    CHECK_INT(both.divergence.op_match[1][1], 3);
    CHECK_INT(divergence_pairs(&both.divergence.ops), 3);
    drop(&both);
}

TEST(an_operation_on_one_side_only_stays_unmatched)
{
    struct script s[2];
    struct compared_ops both;
    struct run *run[2];

    for (int side = 0; side < 2; side++) {
        begin(&s[side]);
        op(&s[side], "aten::exp", "BA", 2);
        op(&s[side], "aten::sin", "CB", 3);
        if (side)
            op(&s[side], "aten::clone", "DC", 3);
        op(&s[side], "aten::cos", side ? "ED" : "EC", 5);
        op(&s[side], "aten::neg", "FE", side ? -6 : -5);
        run[side] = end(&s[side]);
    }
    compare_ops(&both, run[0], run[1]);
    CHECK_INT(divergence_pairs(&both.divergence.ops), 4);
    CHECK_INT(both.divergence.op_match[1][2], RUN_NONE);
    CHECK_INT(first_of(&both)->at[0], 3);
    CHECK_INT(first_of(&both)->at[1], 4);
    drop(&both);
}

/* 100,000 operations of two kinds, every thousandth replaced on one side. */
TEST(a_hundred_thousand_operations_are_matched)
{
    enum { N = 100000 };
    struct compared_ops both;
    struct script s[2];
    struct run *run[2];

    for (int side = 0; side < 2; side++) {
        begin(&s[side]);
        for (uint32_t i = 0; i < N; i++) {
            const char *name = i % 2 ? "aten::sin" : "aten::cos";

            if (side && i % 1000 == 500)
                name = "aten::gelu";
            op(&s[side], name, i % 2 ? "BC" : "CB", side && i == 70000 ? 3 : 2);
        }
        run[side] = end(&s[side]);
    }
    compare_ops(&both, run[0], run[1]);
    CHECK_INT(divergence_pairs(&both.divergence.ops), N);
    CHECK_INT(both.divergence.beyond, 1);
    CHECK_INT(first_of(&both)->at[0], 70000);
    CHECK_INT(first_of(&both)->at[1], 70000);
    drop(&both);
}
