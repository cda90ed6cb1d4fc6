#include "study/op_use.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "run/sample_run.h"

struct scene {
    struct run *run;
    struct arena arena;
    struct op_use_list list;
};

static struct scene scene(enum op_use_by by, unsigned phases)
{
    struct scene s = {.run = sample_ops()};

    arena_init(&s.arena, 0);
    CHECK(op_use_of(&s.list, s.run, by, phases, &s.arena, NULL) == 0);
    return s;
}

static void end(struct scene *s)
{
    arena_release(&s->arena);
    run_free(s->run);
}

/* "aten::mm 1, aten::addmm 1, ...": the first `n` rows. */
static const char *names(const struct scene *s, uint32_t n)
{
    static char text[200];

    *text = '\0';
    for (uint32_t i = 0; i < n && i < s->list.n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.*s %d",
                 i ? ", " : "", STR_ARG(s->list.at[i].name),
                 (int)s->list.at[i].sum.count);
    return text;
}

TEST(operations_are_added_up_by_name_the_largest_time_first)
{
    struct scene s = scene(OP_USE_BY_OVERLOAD, OP_PHASES_ALL);
    const struct op_use *add;

    CHECK_STR(names(&s, 4), "aten::mm 1, aten::addmm 1, aten::threshold_backward 1, "
                            "aten::add_ 2");
    CHECK_INT(s.list.n, 8);
    add = &s.list.at[3];
    CHECK_STR(add->overload.at, "Tensor");
    CHECK_INT(add->sum.ns, 27);
    CHECK_INT(add->first, 3);
    CHECK_INT(add->place, 0);
    CHECK_STR(run_string(s.run, add->line).at, "net.py:12");
    CHECK_INT(s.list.sum.count, 9);
    CHECK_INT(s.list.sum.ns, 184);
    end(&s);
}

TEST(a_phase_has_only_its_own_operations)
{
    struct scene s = scene(OP_USE_BY_NAME, 1u << OP_OPTIMIZER);

    CHECK_STR(names(&s, 9), "aten::add_ 1");
    CHECK_INT(s.list.at[0].sum.ns, 12);
    CHECK_INT(s.list.at[0].first, 8);
    CHECK_INT(s.list.sum.count, 1);
    end(&s);
    s = scene(OP_USE_BY_NAME, 1u << OP_RECOMPUTE);
    CHECK_INT(s.list.n, 0);
    end(&s);
}

TEST(rows_are_sorted_by_count_flops_memory_name_and_first_use)
{
    struct scene s = scene(OP_USE_BY_NAME, OP_PHASES_ALL);

    op_use_sort(&s.list, OP_USE_COUNT);
    CHECK_STR(names(&s, 2), "aten::add_ 2, aten::mm 1");
    op_use_sort(&s.list, OP_USE_NAME);
    CHECK_STR(names(&s, 3), "aten::add_ 2, aten::addmm 1, aten::detach 1");
    op_use_sort(&s.list, OP_USE_FIRST);
    CHECK_STR(names(&s, 3), "aten::t 1, aten::addmm 1, aten::relu 1");
    op_use_sort(&s.list, OP_USE_MEMORY);
    CHECK_STR(names(&s, 2), "aten::mm 1, aten::addmm 1");
    op_use_sort(&s.list, OP_USE_FLOPS);
    CHECK_STR(names(&s, 3), "aten::mm 1, aten::addmm 1, aten::threshold_backward 1");
    CHECK_STR(op_use_order_name(OP_USE_MEMORY), "memory");
    end(&s);
}

TEST(a_module_has_its_own_operations_and_a_subtree_those_below_too)
{
    struct scene s = scene(OP_USE_BY_MODULE, 1u << OP_FORWARD);
    struct op_sum *below = op_use_below(s.run, OP_PHASES_ALL, &s.arena, NULL);
    uint32_t root = 0, outside = 0, rows = 0;

    for (uint32_t i = 0; i < s.list.n; i++) {
        if (s.list.at[i].place == 0)
            root = i, rows++;
        if (s.list.at[i].place == NO_PLACE)
            outside = i, rows++;
    }
    CHECK_INT(rows, 2);
    CHECK_INT(s.list.at[root].sum.count, 2); /* add_ and detach */
    CHECK_INT(s.list.at[outside].sum.count, 1);
    CHECK(below);
    CHECK_INT(below[0].count, s.list.sum.count - 1);
    CHECK_INT(below[0].flops, 24);
    end(&s);
}

TEST(matrix_work_without_flops_is_missing_from_the_coverage)
{
    struct scene s = scene(OP_USE_BY_LINE, OP_PHASES_ALL);
    struct op_sum phases[OP_PHASES], none = {0};

    CHECK_INT(s.list.sum.matrix, 2);
    CHECK_INT(s.list.sum.matrix_unknown, 0);
    CHECK_INT(s.list.sum.unknown, 7);
    CHECK(op_sum_coverage(&s.list.sum) == 1);
    s.list.sum.matrix_unknown = 1;
    CHECK(op_sum_coverage(&s.list.sum) == 0.5);
    CHECK(op_sum_coverage(&none) == 1);
    op_use_phases(s.run, phases);
    CHECK_INT(phases[OP_FORWARD].count, 6);
    CHECK_INT(phases[OP_BACKWARD].flops, 24);
    CHECK_INT(phases[OP_OPTIMIZER].ns, 12);
    end(&s);
}

TEST(a_place_has_its_operations_and_those_below_it)
{
    struct scene s = scene(OP_USE_BY_NAME, OP_PHASES_ALL);
    struct op_sum sums[OP_PHASES];
    uint32_t list = place_find(s.run->model, STR("list"));

    CHECK(op_use_at(&s.list, s.run, list, OP_USE_BY_NAME, OP_PHASES_ALL, &s.arena,
                    NULL) == 0);
    CHECK_STR(names(&s, 9), "aten::relu 1");
    op_use_phases_at(s.run, list, sums);
    CHECK_INT(sums[OP_FORWARD].count, 1);
    CHECK_INT(sums[OP_FORWARD].ns, 20);
    op_use_phases_at(s.run, 0, sums); /* without the loss, outside the model */
    CHECK_INT(sums[OP_FORWARD].count, 5);
    CHECK_INT(sums[OP_OPTIMIZER].count, 0);
    end(&s);
}

TEST(a_call_has_its_operations_and_those_of_calls_inside_it)
{
    struct scene s = scene(OP_USE_BY_NAME, OP_PHASES_ALL);
    struct op_sum sums[OP_PHASES];

    op_use_call(s.run, 0, sums); /* Net */
    CHECK_INT(sums[OP_FORWARD].count, 5);
    CHECK_INT(sums[OP_FORWARD].flops, 24);
    CHECK_INT(sums[OP_FORWARD].unknown, 4);
    op_use_call(s.run, 2, sums); /* the block, in which act does all */
    CHECK_INT(sums[OP_FORWARD].count, 1);
    CHECK_INT(sums[OP_FORWARD].ns, 20);
    op_use_call(s.run, 1, sums); /* a */
    CHECK_INT(sums[OP_FORWARD].ns, 45);
    end(&s);
}
