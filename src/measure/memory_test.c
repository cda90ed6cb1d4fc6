#include "measure/memory.h"

#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/elements.h"

#define ROWS 37
#define COLS 53

static float cells[ROWS][COLS];

static void fill(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            cells[i][j] = (float)((i * 7 + j * 13) % 101) - 50;
}

/* The same elements with different strides: rows of columns, or columns of rows. */
TEST(strides_do_not_matter)
{
    int64_t shape[] = {ROWS, COLS}, strides[] = {COLS, 1};
    int64_t turned_shape[] = {COLS, ROWS}, turned_strides[] = {1, COLS};
    struct memory plain = {cells, DTYPE_FLOAT32, 2, shape, strides, false, false};
    struct memory turned = {cells,          DTYPE_FLOAT32, 2,    turned_shape,
                            turned_strides, false,         false};
    struct stats a, b;

    fill();
    CHECK_INT(stats_memory(&plain, MEASURE_FULL, NULL, &a, NULL), 0);
    CHECK_INT(stats_memory(&turned, MEASURE_FULL, NULL, &b, NULL), 0);
    CHECK_INT(a.count, ROWS * COLS);
    CHECK_INT(b.count, ROWS * COLS);
    CHECK_NEAR(a.min, -50, 0);
    CHECK_NEAR(b.max, a.max, 0);
    CHECK_NEAR(b.mean, a.mean, 1e-9);
    CHECK_INT(a.zeros, b.zeros);
    /* The position of the minimum follows the order of each view. */
    CHECK_NEAR(cells[a.min_at / COLS][a.min_at % COLS], -50, 0);
    CHECK_NEAR(cells[b.min_at % ROWS][b.min_at / ROWS], -50, 0);
}

TEST(an_expanded_element_counts_with_its_repetitions)
{
    int64_t shape[] = {1000, 3}, strides[] = {0, 1};
    struct memory memory = {cells, DTYPE_FLOAT32, 2, shape, strides, false, true};
    struct stats stats;

    fill();
    CHECK_INT(stats_memory(&memory, MEASURE_EXACT, NULL, &stats, NULL), 0);
    CHECK_INT(stats.count, 3000);
    CHECK_NEAR(stats.max, 50, 0); /* negated */
}

TEST(memory_of_no_elements_and_of_one)
{
    int64_t shape[] = {0, 4}, strides[] = {4, 1};
    struct memory none = {NULL, DTYPE_FLOAT32, 2, shape, strides, false, false};
    struct memory one = {cells, DTYPE_FLOAT32, 0, shape, strides, false, false};
    struct stats stats;

    fill();
    CHECK_INT(stats_memory(&none, MEASURE_FULL, NULL, &stats, NULL), 0);
    CHECK_INT(stats.count, 0);
    CHECK_INT(stats_memory(&one, MEASURE_FULL, NULL, &stats, NULL), 0);
    CHECK_INT(stats.count, 1);
    CHECK_NEAR(stats.mean, cells[0][0], 0);
}

TEST(impossible_sizes_are_refused)
{
    int64_t shape[] = {INT64_MAX, INT64_MAX}, strides[] = {INT64_MAX, 1};
    struct memory memory = {cells, DTYPE_FLOAT32, 2, shape, strides, false, false};
    struct stats stats;
    struct err err = {0};

    CHECK_INT(stats_memory(&memory, MEASURE_FULL, NULL, &stats, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
}

TEST(a_copy_is_dense)
{
    int64_t shape[] = {COLS, ROWS}, strides[] = {1, COLS};
    struct memory memory = {cells, DTYPE_FLOAT32, 2, shape, strides, false, false};
    float copy[COLS][ROWS];

    fill();
    CHECK_INT(memory_copy(&memory, copy, sizeof copy, NULL), 0);
    for (int i = 0; i < COLS; i++)
        for (int j = 0; j < ROWS; j++)
            CHECK_NEAR(copy[i][j], cells[j][i], 0);
}
