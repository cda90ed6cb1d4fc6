#include "measure/plane.h"

#include <math.h>

#include "base/test.h"
#include "measure/sample_model_in.h"

static const float values[] = {1,   -2, 3,   0,         -5, /**/
                               NAN, 4,  1,   -INFINITY, 2,  /**/
                               7,   0,  NAN, NAN,       -1};
static const int64_t shape[] = {3, 5};

static struct plane measured(const struct plane_wanted *wanted, struct arena *arena)
{
    struct sample_model sample;
    struct plane plane = {0};

    sample_init(&sample, DTYPE_FLOAT32, values, sizeof values, shape, NULL, 2);
    CHECK_INT(
        plane_measure(&plane, &sample.model, &sample.tensor, wanted, arena, NULL, NULL),
        0);
    return plane;
}

TEST(a_small_matrix_has_a_cell_for_each_element)
{
    const struct plane_wanted wanted = {.rows = 3, .columns = 5, .most = 64};
    struct plane plane;
    struct arena arena;

    arena_init(&arena, 0);
    plane = measured(&wanted, &arena);
    CHECK_INT(plane.high, 3);
    CHECK_INT(plane.wide, 5);
    CHECK_INT(plane.nan, 3);
    CHECK_INT(plane.inf, 1);
    CHECK_NEAR(plane.means[1], -2, 0);
    CHECK(isnan(plane.means[5]) && plane.bad[5] == 1 && plane.bad[6] == 0);
    CHECK_NEAR(plane.row_means[0], 11 / 5., 1e-12);
    CHECK_NEAR(plane.row_means[1], 7 / 3., 1e-12);
    CHECK_NEAR(plane.column_means[0], 4, 1e-12);
    CHECK_NEAR(plane.column_means[3], 0, 1e-12);
    CHECK_NEAR(plane.least, -5, 0);
    CHECK_NEAR(plane.most, 7, 0);
    CHECK_NEAR(plane.mean_abs, 26 / 11., 1e-12);
    arena_release(&arena);
}

TEST(a_large_matrix_has_means_of_its_finite_elements)
{
    const struct plane_wanted wanted = {.rows = 3, .columns = 5, .most = 2};
    struct plane plane;
    struct arena arena;

    arena_init(&arena, 0);
    plane = measured(&wanted, &arena);
    CHECK_INT(plane.cell_rows, 2);
    CHECK_INT(plane.cell_columns, 3);
    CHECK_INT(plane.high * plane.wide, 4);
    CHECK_NEAR(plane.means[0], 7 / 5., 1e-12); /* 1 -2 3 4 1 */
    CHECK_INT(plane.bad[0], 1);
    CHECK_NEAR(plane.means[1], -1, 1e-12); /* 0 -5 2 */
    CHECK_NEAR(plane.means[3], -1, 1e-12);
    arena_release(&arena);
}

TEST(flipped_rows_and_columns_come_last_first)
{
    const struct plane_wanted wanted = {
        .rows = 3, .columns = 5, .most = 2, .flip_rows = true, .flip_columns = true};
    struct plane plane;
    struct arena arena;

    arena_init(&arena, 0);
    plane = measured(&wanted, &arena);
    CHECK_NEAR(plane.means[0], 2 / 3., 1e-12);  /* -1 2 1 */
    CHECK_NEAR(plane.means[3], -1 / 2., 1e-12); /* -2 1 */
    CHECK_INT(plane.bad[0], 3);
    arena_release(&arena);
}

TEST(a_plane_may_be_stopped_or_empty_or_have_no_finite_element)
{
    const struct plane_wanted one = {.first = 5, .rows = 1, .columns = 1, .most = 8};
    struct plane_wanted wanted = {.rows = 0, .columns = 5, .most = 8};
    struct sample_model sample;
    struct err err = {0};
    struct plane plane;
    struct arena arena;
    struct work work;

    arena_init(&arena, 0);
    plane = measured(&wanted, &arena);
    CHECK(plane.high == 0 && isnan(plane.least) && isnan(plane.mean_abs));
    plane = measured(&one, &arena);
    CHECK(plane.nan == 1 && isnan(plane.most) && isnan(plane.row_means[0]));
    wanted.rows = 3;
    work_init(&work);
    atomic_store(&work.cancel, 1);
    sample_init(&sample, DTYPE_FLOAT32, values, sizeof values, shape, NULL, 2);
    CHECK_INT(plane_measure(&plane, &sample.model, &sample.tensor, &wanted, &arena,
                            &work, &err),
              -1);
    CHECK_INT(err.code, ERR_CANCELLED);
    arena_release(&arena);
}
