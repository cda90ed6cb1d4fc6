#include "measure/units.h"

#include "base/test.h"
#include "measure/memory.h"

static struct units count(const void *at, enum dtype dtype, int rank,
                          const int64_t *shape, const int64_t *strides)
{
    const struct memory memory = {
        .at = at, .dtype = dtype, .rank = rank, .shape = shape, .strides = strides};
    struct stats stats;

    CHECK(stats_memory(&memory, MEASURE_FULL, NULL, &stats, NULL) == 0);
    return units_count(&memory, &stats);
}

TEST(a_unit_is_dead_if_all_inputs_give_zero)
{
    /* (N, C): unit 1 is dead, unit 2 only for the first input. */
    const float x[2][3] = {{1, 0, 0}, {2, -0.0f, 3}};
    const int64_t shape[] = {2, 3}, strides[] = {3, 1};
    struct units units = count(x, DTYPE_FLOAT32, 2, shape, strides);

    CHECK_INT(units.n, 3);
    CHECK_INT(units.dead, 1);
    CHECK_INT(units.saturated, 0);
}

TEST(channels_of_pictures_and_sequences)
{
    /* (N, C, H, W): channel 1 is dead. As (N, T, C) it is none. */
    const double x[2][2][2] = {{{1, 2}, {0, 0}}, {{0, 4}, {0, 0}}};
    const int64_t shape[] = {2, 2, 1, 2}, strides[] = {4, 2, 2, 1};
    const int64_t three[] = {2, 2, 2}, dense[] = {4, 2, 1};
    /* The same, transposed in memory: channels last. */
    const double last[2][2][2] = {{{1, 0}, {2, 0}}, {{0, 0}, {4, 0}}};
    const int64_t steps[] = {4, 1, 4, 2};

    CHECK_INT(count(x, DTYPE_FLOAT64, 4, shape, strides).dead, 1);
    CHECK_INT(count(last, DTYPE_FLOAT64, 4, shape, steps).dead, 1);
    CHECK_INT(count(x, DTYPE_FLOAT64, 3, three, dense).dead, 0);
    CHECK_INT(count(last, DTYPE_FLOAT64, 3, three, dense).dead, 1);
}

TEST(units_at_the_bounds_are_saturated)
{
    const float tanhs[3][3] = {{1, 0.5f, 0}, {-0.9995f, 1, 0}, {1, -1, 0}};
    const float sigmoids[2][3] = {{1, 0.0005f, 0.5f}, {0, 0, 1}};
    const float wide[2][2] = {{1, 2}, {1, 2}};
    const int64_t shape[] = {3, 3}, two[] = {2, 3}, small[] = {2, 2};
    const int64_t strides[] = {3, 1}, pairs[] = {2, 1};

    CHECK_INT(count(tanhs, DTYPE_FLOAT32, 2, shape, strides).saturated, 1);
    CHECK_INT(count(sigmoids, DTYPE_FLOAT32, 2, two, strides).saturated, 2);
    CHECK_INT(count(wide, DTYPE_FLOAT32, 2, small, pairs).saturated, 0);
}

TEST(half_precision_and_tensors_without_units)
{
    const uint16_t half[2][2] = {{0x8000, 0x3c00}, {0, 0x3c00}}; /* -0, 1, 0, 1 */
    const int64_t shape[] = {2, 2}, strides[] = {2, 1}, one[] = {1, 2},
                  long_one[] = {4};
    const int64_t whole[2][2] = {{0, 1}, {0, 1}};

    CHECK_INT(count(half, DTYPE_FLOAT16, 2, shape, strides).dead, 1);
    CHECK_INT(count(half, DTYPE_BFLOAT16, 2, shape, strides).dead, 1);
    CHECK_INT(count(half, DTYPE_FLOAT16, 2, one, strides).n, 0);
    CHECK_INT(count(half, DTYPE_FLOAT16, 1, long_one, &strides[1]).n, 0);
    CHECK_INT(count(whole, DTYPE_INT64, 2, shape, strides).n, 0);
}
