#include "history/grid.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "history/memo.h"
#include "history/sample_history_in.h"

#define STEPS 10

static struct history *write_history(const struct sample_folder *folder)
{
    struct history_writer *writer =
        history_writer_create(folder->file, NULL, NULL,
                              &(struct history_options){.codec = &sample_codec}, NULL);
    struct history *history;

    sample_declare(writer, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        sample_write(writer, 2 * i, i < 5 ? 2 : 1); /* the second one ends */
        history_writer_flush(writer);
    }
    CHECK_INT(history_writer_close(writer, NULL), 0);
    history = history_open(folder->file, &sample_codec, NULL);
    CHECK(history);
    return history;
}

TEST(columns_are_the_same_for_all_series_and_scalars)
{
    const struct history_point **points;
    const struct history_scalar **scalars;
    struct sample_folder folder;
    struct history_grid grid;
    struct history *history;
    struct arena arena;

    sample_folder_make(&folder);
    history = write_history(&folder);
    arena_init(&arena, 64 * MIB);
    CHECK_INT(history_grid_make(&grid, history, HISTORY_TRAIN, 4, &arena, NULL), 0);
    CHECK_INT(grid.columns, 4);
    CHECK_INT(grid.first[0], 0);
    CHECK_INT(grid.last[0], 2);
    CHECK_INT(grid.first[3], 14);
    CHECK_INT(grid.last[3], 18);
    CHECK_INT(grid.merged[0] + grid.merged[1] + grid.merged[2] + grid.merged[3], STEPS);
    CHECK_INT(history_column(grid.first, grid.columns, 0), 0);
    CHECK_INT(history_column(grid.first, grid.columns, 99), 3);
    CHECK_INT(history_grid_points(&grid, history, 1, &arena, &points, NULL), 0);
    CHECK(points[0] && points[1] && !points[2] && !points[3]);
    CHECK_INT(points[0]->merged, 2);
    CHECK_INT(history_grid_scalars(&grid, history, 0, &arena, &scalars, NULL), 0);
    for (uint32_t i = 0; i < 4; i++)
        CHECK_INT(scalars[i]->number.n, grid.merged[i]);
    CHECK(scalars[3]->last == 1.0 / 19);
    CHECK_INT(history_grid_make(&grid, history, HISTORY_EVAL, 4, &arena, NULL), 0);
    CHECK_INT(grid.columns, 0);
    CHECK_INT(history_grid_points(&grid, history, 1, &arena, &points, NULL), 0);
    arena_release(&arena);
    history_close(history);
    sample_folder_remove(&folder);
}

TEST(steady_columns_are_powers_of_two_of_logged_steps)
{
    struct history_steady wanted = {.most = 4};
    const struct history_point **points;
    const struct history_scalar **scalars;
    struct sample_folder folder;
    struct history_grid grid;
    struct history *history;
    struct arena arena;

    sample_folder_make(&folder);
    history = write_history(&folder);
    arena_init(&arena, 64 * MIB);
    CHECK_INT(history_grid_steady(&grid, history, &wanted, &arena, NULL), 0);
    CHECK(grid.columns == 3 && grid.width == 4);
    CHECK(grid.first[0] == 0 && grid.first[1] == 8 && grid.first[2] == 16);
    CHECK(grid.last[0] == 6 && grid.last[2] == 18);
    CHECK(grid.merged[0] == 4 && grid.merged[2] == 2);
    CHECK_INT(grid.begin_ns[1], 9000000000u);
    CHECK_INT(grid.last_ns[1], 15000000000u);
    CHECK_INT(history_grid_points(&grid, history, 1, &arena, &points, NULL), 0);
    CHECK(points[0]->merged == 4 && points[1]->merged == 1 && !points[2]);
    CHECK_INT(history_grid_scalars(&grid, history, 0, &arena, &scalars, NULL), 0);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_INT(scalars[i]->number.n, grid.merged[i]);
    wanted.since = 9;
    CHECK_INT(history_grid_steady(&grid, history, &wanted, &arena, NULL), 0);
    CHECK(grid.columns == 2 && grid.first[0] == 8);
    CHECK_INT(history_grid_scalars(&grid, history, 0, &arena, &scalars, NULL), 0);
    CHECK(scalars[0]->number.n == 4 && scalars[1]->number.n == 2);
    wanted = (struct history_steady){.most = 100, .from = 4, .to = 9};
    CHECK_INT(history_grid_steady(&grid, history, &wanted, &arena, NULL), 0);
    CHECK(grid.columns == 3 && grid.width == 1 && grid.first[2] == 8);
    wanted = (struct history_steady){.phase = HISTORY_EVAL, .most = 4, .since = 3};
    CHECK_INT(history_grid_steady(&grid, history, &wanted, &arena, NULL), 0);
    CHECK_INT(grid.columns, 0);
    arena_release(&arena);
    history_close(history);
    sample_folder_remove(&folder);
}

TEST(cached_points_equal_newly_read_ones)
{
    const struct history_point *const *kept;
    const struct history_point **points;
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_grid grid;
    struct history *history;
    struct history_memo *memo;
    struct arena arena;

    sample_folder_make(&folder);
    writer =
        history_writer_create(folder.file, NULL, NULL,
                              &(struct history_options){.codec = &sample_codec}, NULL);
    sample_declare(writer, 2);
    history = history_open(folder.file, &sample_codec, NULL);
    memo = history_memo_new(history);
    CHECK(history && memo);
    for (uint64_t i = 0; i < 40; i++) {
        const struct history_steady wanted = {.most = 8, .points = true};

        sample_write(writer, i, 2);
        history_writer_flush(writer);
        if (i % 3 == 1)
            continue;
        arena_init(&arena, 64 * MIB);
        CHECK_INT(history_grid_steady(&grid, history, &wanted, &arena, NULL), 0);
        CHECK_INT(history_memo_points(memo, &grid, i % 2, &kept, NULL), 0);
        CHECK_INT(history_grid_points(&grid, history, i % 2, &arena, &points, NULL), 0);
        for (uint32_t k = 0; k < grid.columns; k++) {
            CHECK_INT(kept[k]->merged, points[k]->merged);
            CHECK(str_eq(kept[k]->histogram, points[k]->histogram));
        }
        arena_release(&arena);
    }
    CHECK_INT(history_writer_close(writer, NULL), 0);
    history_memo_free(memo);
    history_close(history);
    sample_folder_remove(&folder);
}

/* A point of the elements -1, 1, 1 and `last`. */
static struct history_point point_of(float last, struct buf *packed)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    const float elements[4] = {-1, 1, 1, last};
    struct history_point point = {.merged = 1};
    struct spread spread = {0};

    CHECK_INT(spread_of(counter, DTYPE_FLOAT32, elements, 4, SPREAD_ALL, &spread, NULL),
              0);
    spread_pack(&spread, packed);
    point.histogram = buf_span(packed);
    stats_init(&point.stats, DTYPE_FLOAT32);
    stats_add(&point.stats, NULL, DTYPE_FLOAT32, elements, 4, 0, MEASURE_EXACT);
    spread_release(&spread);
    spread_counter_free(counter);
    return point;
}

TEST(shades_hold_the_shares_of_each_column)
{
    struct buf packed[2] = {BUF_INIT, BUF_INIT};
    const struct history_point points[2] = {point_of(1, &packed[0]),
                                            point_of(-1, &packed[1])};
    const struct history_point *row[3] = {&points[0], NULL, &points[1]};
    const struct history_shading how = {.rows = 4};
    struct history_shades shades;
    struct arena arena;

    arena_init(&arena, MIB);
    CHECK_INT(history_shades_make(&shades, row, 3, &how, &arena, NULL), 0);
    CHECK_INT(shades.rows, 4);
    CHECK(shades.axis.low <= -1 && shades.axis.high >= 1);
    CHECK_NEAR(shades.largest, 0.75, 1e-9);
    CHECK_INT(shades.codes[0], 255); /* three of four are 1 */
    CHECK_INT(shades.codes[1], 0);
    CHECK_INT(shades.codes[2], (int)round(255 * sqrt(0.5 / 0.75)));
    CHECK_INT(shades.codes[9], (int)round(255 * sqrt(0.25 / 0.75)));
    CHECK_INT(shades.codes[11], (int)round(255 * sqrt(0.5 / 0.75)));
    CHECK_INT(shades.codes[3], 0);
    row[0] = row[2] = NULL;
    CHECK_INT(history_shades_make(&shades, row, 3, &how, &arena, NULL), 0);
    CHECK_INT(shades.rows, 0);
    arena_release(&arena);
    buf_release(&packed[0]);
    buf_release(&packed[1]);
}

TEST(an_axis_can_be_cut_and_chosen)
{
    struct history_shading how = {.rows = 4, .axis = AXIS_LOG};
    struct buf packed = BUF_INIT;
    const struct history_point point = point_of(1000, &packed);
    const struct history_point *row[1] = {&point};
    struct history_shades shades;
    struct arena arena;

    arena_init(&arena, MIB);
    CHECK_INT(history_shades_make(&shades, row, 1, &how, &arena, NULL), 0);
    CHECK(shades.can_log && shades.axis.least > 0 && shades.cut == 0);
    how.axis = AXIS_LINEAR;
    how.clip = 0.25; /* of four elements one at each end */
    CHECK_INT(history_shades_make(&shades, row, 1, &how, &arena, NULL), 0);
    CHECK(shades.axis.least == 0 && shades.axis.high < 1000);
    CHECK_NEAR(shades.cut, 0.5, 1e-9);
    how = (struct history_shading){.rows = 4, .steady = true};
    CHECK_INT(history_shades_make(&shades, row, 1, &how, &arena, NULL), 0);
    CHECK(shades.axis.least > 0 || (shades.axis.low == -1 && shades.axis.high == 1024));
    CHECK(shades.largest > 0 && shades.largest <= 1);
    arena_release(&arena);
    buf_release(&packed);
}

TEST(a_norm_of_merged_steps_is_that_of_one_tensor)
{
    struct buf packed = BUF_INIT;
    struct history_point point = point_of(1, &packed), other = point;
    struct buf scratch = BUF_INIT;

    CHECK_NEAR(history_point_norm(&point), 2, 1e-12);
    history_point_merge(&point, &other, &history_spreads, &scratch);
    CHECK_NEAR(history_point_norm(&point), 2, 1e-12);
    point.stats.nan = 1;
    CHECK(isnan(history_point_norm(&point)));
    buf_release(&scratch);
    buf_release(&packed);
}
