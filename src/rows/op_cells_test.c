/* Columns of operations. */
#include "base/test.h"
#include "rows/columns.h"
#include "rows/rows.h"
#include "run/sample_block.h"
#include "run/sample_run.h"

struct scene {
    struct session *session;
    struct arena arena;
    struct show show;
    struct buf text;
};

static void scene_begin(struct scene *s, struct run *run)
{
    *s = (struct scene){.session = session_of_run(run, NULL)};
    CHECK(s->session);
    arena_init(&s->arena, 0);
    CHECK(show_init(&s->show, s->session, &s->arena, NULL) == 0);
}

static void scene_end(struct scene *s)
{
    buf_release(&s->text);
    arena_release(&s->arena);
    session_close(s->session);
}

/* The cells of a place in columns FLOPs, MACs and ops. */
static const char *cells(struct scene *s, const char *name)
{
    static const char *const columns[] = {"flops", "macs", "ops"};
    struct row row = {.place = place_find(s->show.model, str_of(name)), .count = 1};

    buf_clear(&s->text);
    for (int i = 0; i < 3; i++) {
        buf_text(&s->text, i > 0 ? "|" : "");
        column_figure(&s->text, column_find(str_of(columns[i])), &s->show, &row);
    }
    return buf_cstr(&s->text);
}

TEST(flops_sum_over_modules_and_are_blank_without_matrix_work)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.nan = false}));
    CHECK_STR(cells(&s, ""), "350.5K|175.3K|16");
    CHECK_STR(cells(&s, "block"), "294.9K|147.5K|5");
    CHECK_STR(cells(&s, "block.conv1"), "147.5K|73.7K|1");
    CHECK_STR(cells(&s, "block.conv1.weight"), "||");
    CHECK_STR(cells(&s, "block.relu"), "||2");
    CHECK_STR(cells(&s, "block.drop"), "||"); /* called, but nothing was computed */
    CHECK_STR(cells(&s, "head"), "320|160|2");
    scene_end(&s);
}

TEST(partly_unknown_flops_are_a_lower_bound)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.uncounted = true}));
    CHECK_STR(cells(&s, "block"), "≥147.5K|≥73.7K|5");
    CHECK_STR(cells(&s, "block.conv1"), "147.5K|73.7K|1");
    CHECK_STR(cells(&s, "block.conv2"), "unknown|unknown|1");
    scene_end(&s);
}

/* The backward and the optimizer do not count. */
TEST(only_the_forward_counts)
{
    struct scene s;

    scene_begin(&s, sample_ops());
    CHECK_STR(cells(&s, ""), "24|12|5");
    CHECK_STR(cells(&s, "a"), "24|12|2");
    scene_end(&s);
}

TEST(without_operations_the_cells_are_empty)
{
    struct scene s;

    scene_begin(&s, sample_run(1));
    CHECK_STR(cells(&s, ""), "||");
    CHECK(!s.show.ops);
    scene_end(&s);
}

TEST(the_orders_by_flops_and_operations_have_columns)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.nan = false}));
    CHECK_INT(rows_order_find(STR("flops")), SORT_FLOPS);
    CHECK_STR(column_sorted(&s.show, SORT_FLOPS)->id, "flops");
    CHECK_STR(column_sorted(&s.show, SORT_OPS)->id, "ops");
    scene_end(&s);
}
