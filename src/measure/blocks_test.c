#include "measure/blocks.h"

#include <math.h>

#include "base/test.h"
#include "measure/sample_model_in.h"

static struct blocks measured(struct sample_model *sample,
                              const struct blocks_wanted *wanted, struct arena *arena)
{
    struct blocks blocks = {0};

    CHECK(blocks_measure(&sample->model, &sample->tensor, wanted, arena, NULL, &blocks,
                         NULL) == 0);
    return blocks;
}

TEST(a_matrix_is_split_into_blocks_and_the_last_may_be_smaller)
{
    static const float values[] = {3, 4, 0, 1, /* */ 3, 4, 0, 7, /* */ -6, 8, 5, -2};
    static const int64_t shape[] = {3, 2, 2};
    struct blocks_wanted wanted;
    struct sample_model sample;
    struct blocks blocks;
    struct arena arena;

    arena_init(&arena, 0);
    sample_init(&sample, DTYPE_FLOAT32, values, sizeof values, shape, NULL, 3);
    blocks_whole(&wanted, &sample.model, &sample.tensor);
    CHECK_INT(wanted.rows, 3);
    CHECK_INT(wanted.columns, 4);
    blocks_fit(&wanted, 2, 2);
    blocks = measured(&sample, &wanted, &arena);
    CHECK_INT(blocks.rows, 2);
    CHECK_INT(blocks.columns, 2);
    CHECK_NEAR(blocks.at[0], sqrt(50 / 4.), 1e-12);
    CHECK_NEAR(blocks.at[1], sqrt(50 / 4.), 1e-12);
    CHECK_NEAR(blocks.at[2], sqrt(100 / 2.), 1e-12);
    CHECK_NEAR(blocks.at[3], sqrt(29 / 2.), 1e-12);
    CHECK_NEAR(blocks.most, sqrt(50), 1e-12);
    blocks_fit(&wanted, 3, 3);
    blocks = measured(&sample, &wanted, &arena);
    CHECK_INT(blocks.columns, 2);
    CHECK_INT(blocks.rows, 3);
    arena_release(&arena);
}

TEST(
    blocks_of_one_element_keep_its_sign_and_what_is_not_finite_is_left_out_of_the_range)
{
    static const float values[] = {1, -2, NAN, -INFINITY, 5, 0};
    static const int64_t shape[] = {6};
    struct blocks_wanted wanted;
    struct sample_model sample;
    struct blocks blocks;
    struct arena arena;

    arena_init(&arena, 0);
    sample_init(&sample, DTYPE_FLOAT32, values, sizeof values, shape, NULL, 1);
    blocks_whole(&wanted, &sample.model, &sample.tensor);
    blocks = measured(&sample, &wanted, &arena);
    CHECK(blocks.has_sign);
    CHECK_INT(blocks.rows, 1);
    CHECK_NEAR(blocks.at[1], -2, 0);
    CHECK(isnan(blocks.at[2]) && isinf(blocks.at[3]));
    CHECK_NEAR(blocks.least, -2, 0);
    CHECK_NEAR(blocks.most, 5, 0);
    blocks_fit(&wanted, 1, 2);
    blocks = measured(&sample, &wanted, &arena);
    CHECK(isnan(blocks.at[0]) && isinf(blocks.at[1]));
    CHECK(isnan(blocks.least));
    arena_release(&arena);
}

TEST(complex_elements_count_by_their_absolute_value_and_parts_can_be_read)
{
    static const float values[] = {0, 0, 0, 0, 3, 4, 6, 8};
    static const int64_t shape[] = {2, 2};
    struct blocks_wanted wanted = {
        .first = 2, .rows = 1, .columns = 2, .block_rows = 1, .block_columns = 2};
    struct sample_model sample;
    struct blocks blocks;
    struct arena arena;

    arena_init(&arena, 0);
    sample_init(&sample, DTYPE_COMPLEX64, values, sizeof values, shape, NULL, 2);
    blocks = measured(&sample, &wanted, &arena);
    CHECK_NEAR(blocks.at[0], sqrt(125 / 2.), 1e-9);
    arena_release(&arena);
}
