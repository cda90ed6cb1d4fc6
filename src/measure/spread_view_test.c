#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/spread_test_in.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void count(const double *x, size_t n, struct spread *ret_spread)
{
    struct spread_counter *counter = spread_counter_new(NULL);

    CHECK(counter != NULL);
    CHECK(spread_of(counter, DTYPE_FLOAT64, x, n, SPREAD_ALL, ret_spread, NULL) == 0);
    spread_counter_free(counter);
}

#define N 3001

/* Finite doubles of one flavour, sorted, and their spread. */
static size_t make_sorted(int flavour, double *x, struct spread *ret_spread,
                          uint64_t *state)
{
    size_t kept = 0;

    spread_test_fill(DTYPE_FLOAT64, (enum flavour_of_spread)flavour, x, N, state);
    for (size_t i = 0; i < N; i++)
        if (isfinite(x[i]))
            x[kept++] = x[i];
    qsort(x, kept, sizeof *x, by_value);
    count(x, kept, ret_spread);
    return kept;
}

TEST(a_quantile_is_between_its_bounds_which_are_as_close_as_promised)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    struct spread spread = {0};
    double x[N];

    for (int flavour = 0; flavour < SPREAD_TEST_FLAVOURS; flavour++) {
        size_t n = make_sorted(flavour, x, &spread, &state);

        for (int i = 0; i <= 100; i++) {
            double q = i / 100.0, low, high, got, exact = x[(size_t)(q * (n - 1.0))];

            got = spread_quantile(&spread, q, &low, &high);
            CHECK(low <= exact && exact <= high);
            CHECK(low <= got && got <= high);
            if (spread.n_linear > 64)
                CHECK(high / 2 - low / 2 <= (x[n - 1] / 2 - x[0] / 2) / 63);
            if (flavour != SPREAD_TEST_TINY && low != 0 && high != 0)
                CHECK(high - low <= fmin(fabs(low), fabs(high)) / 4);
        }
        CHECK(spread_quantile(&spread, 0, NULL, NULL) == x[0]);
        CHECK(spread_quantile(&spread, 1, NULL, NULL) == x[n - 1]);
    }
    spread_release(&spread);
}

TEST(the_middle_holds_its_share_and_leaves_outliers_out)
{
    uint64_t state = 0x2545f4914f6cdd1du;
    struct spread spread = {0};
    double x[N], low, high;

    for (int flavour = 0; flavour < SPREAD_TEST_FLAVOURS; flavour++) {
        size_t n = make_sorted(flavour, x, &spread, &state);

        for (int i = 0; i <= 50; i++) {
            double share = i / 50.0;
            size_t inside = 0;

            spread_middle(&spread, share, &low, &high);
            for (size_t k = 0; k < n; k++)
                inside += x[k] >= low && x[k] <= high;
            CHECK((double)inside >= share * (double)n);
        }
        CHECK(low == x[0] && high == x[n - 1]);
    }
    for (size_t i = 0; i < N; i++)
        x[i] = i == 7 ? 1e30 : (double)i / N;
    count(x, N, &spread);
    spread_middle(&spread, 0.98, &low, &high);
    CHECK(low >= 0 && high < 1.25);
    spread_release(&spread);
}

TEST(an_empty_histogram_has_no_quantiles_and_no_rows)
{
    struct spread none = {.of = 9, .seen = 9};
    struct spread_axis axis = spread_axis_of(&none, false, 1);
    double low, high, rows[4];

    CHECK(isnan(spread_quantile(&none, 0.5, &low, &high)) && isnan(low) && isnan(high));
    spread_middle(&none, 0.9, &low, &high);
    CHECK(isnan(low) && isnan(high));
    CHECK(!spread_prefers_log(&none));
    CHECK(axis.low < axis.high);
    CHECK(spread_rows(&none, &axis, rows, 4, &low, &high));
    CHECK(rows[0] == 0 && rows[3] == 0 && low == 0 && high == 0);
}

TEST(heavy_tails_suggest_the_log_histogram_but_a_bell_does_not)
{
    uint64_t state = 88172645463325252u;
    struct spread spread = {0};
    double x[N];

    make_sorted(SPREAD_TEST_BELL, x, &spread, &state);
    CHECK(!spread_prefers_log(&spread));
    make_sorted(SPREAD_TEST_CONSTANT, x, &spread, &state);
    CHECK(!spread_prefers_log(&spread));
    make_sorted(SPREAD_TEST_BELL, x, &spread, &state);
    x[0] = 500;
    count(x, N, &spread);
    CHECK(spread_prefers_log(&spread));
    spread_release(&spread);
}

/* Every element must be in a row or outside, and rows must follow the elements. */
static void check_rows(const struct spread *spread, const double *x, size_t n,
                       const struct spread_axis *axis)
{
    double rows[37], below, above, sum, true_below = 0, true_above = 0;

    spread_rows(spread, axis, rows, COUNT_OF(rows), &below, &above);
    sum = below + above;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK(rows[i] >= 0);
        sum += rows[i];
    }
    CHECK_NEAR(sum, (double)n, 1e-6 * (double)n);
    for (size_t i = 0; i < n; i++) {
        true_below += x[i] < axis->low;
        true_above += x[i] > axis->high;
    }
    /* One bin at each end may be divided differently from the elements. */
    if (below == 0)
        CHECK(true_below == 0);
    if (above == 0)
        CHECK(true_above == 0);
}

TEST(rows_have_all_counts_on_any_axis)
{
    uint64_t state = 0x853c49e6748fea9bu;
    struct spread spread = {0};
    double x[N];

    for (int flavour = 0; flavour < SPREAD_TEST_FLAVOURS; flavour++) {
        size_t n = make_sorted(flavour, x, &spread, &state);

        for (int share = 0; share <= 10; share++)
            for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
                struct spread_axis axis =
                    spread_axis_of(&spread, logarithmic, share / 10.0);

                CHECK(isfinite(axis.low) && isfinite(axis.high));
                CHECK(axis.low < axis.high && (axis.least > 0) == (bool)logarithmic);
                check_rows(&spread, x, n, &axis);
            }
    }
    spread_release(&spread);
}

TEST(rows_are_exact_if_bins_nest_and_report_it)
{
    double x[65], rows[16], below, above;
    struct spread_axis axis = {.low = 0, .high = 64}, odd = {.low = 0, .high = 60};
    struct spread spread = {0};

    for (int i = 0; i <= 64; i++)
        x[i] = i;
    count(x, 65, &spread); /* bins of width 1/2 or 1 */
    CHECK(spread_rows(&spread, &axis, rows, 16, &below, &above));
    for (int i = 0; i < 15; i++)
        CHECK(rows[i] == 4);
    CHECK(rows[15] == 5 && below == 0 && above == 0); /* the last row includes 64 */
    CHECK(!spread_rows(&spread, &odd, rows, 7, &below, &above));
    CHECK(spread_rows(&spread, &odd, rows, 15, &below, &above));
    CHECK(below == 0 && above == 5 && rows[14] == 4);
    spread_release(&spread);
}

TEST(rows_are_not_exact_if_rounding_decided_about_a_bin)
{
    static const double tiny[] = {-3e-12, -1e-12, 1e-12, 2e-12}, same[] = {5, 5};
    struct spread_axis wide = {.low = -1e30, .high = 1e30},
                       up = {.low = -3e-12, .high = 1e30},
                       down = {.low = -1e30, .high = 2e-12}, ten = {0, 10, 0};
    struct spread spread = {0};
    double rows[4], below, above;

    count(tiny, COUNT_OF(tiny), &spread);
    /* The boundary at 0 is in the middle of the bins; still, nothing is lost. */
    CHECK(!spread_rows(&spread, &wide, rows, 4, &below, &above));
    CHECK(rows[1] + rows[2] == 4 && below == 0 && above == 0);
    CHECK(spread_rows(&spread, &wide, rows, 3, &below, &above)); /* in the middle row */
    CHECK(rows[1] == 4);
    CHECK(
        spread_rows(&spread, &up, rows, 4, &below, &above)); /* all above its low end */
    CHECK(rows[0] == 4 && below == 0);
    CHECK(spread_rows(&spread, &down, rows, 4, &below, &above));
    CHECK(rows[3] == 4 && above == 0);
    up.low = 0; /* at an edge of bins that are narrower than rounding */
    CHECK(spread_rows(&spread, &up, rows, 4, &below, &above));
    CHECK(rows[0] == 2 && below == 2);
    up.low = 1.5e-12; /* inside of a bin, or at an edge of one */
    spread_rows(&spread, &up, rows, 4, &below, &above);
    CHECK(rows[0] + below == 4 && rows[0] > 0 && below > 2);
    down.high = 0;
    CHECK(spread_rows(&spread, &down, rows, 4, &below, &above));
    CHECK(rows[3] == 2 && above == 2);
    count(same, COUNT_OF(same), &spread);
    CHECK(spread_rows(&spread, &ten, rows, 2, &below, &above));
    CHECK(rows[1] == 2);
    ten.high = nextafter(10, 11); /* 5 is a little below the boundary */
    CHECK(spread_rows(&spread, &ten, rows, 2, &below, &above));
    CHECK(rows[0] == 2);
    spread_release(&spread);
}

/* Bins whose edges are 1e-12 of a row beside a boundary reach over it. */
TEST(rows_are_not_exact_if_a_bin_reaches_a_little_over_a_boundary)
{
    struct spread_axis axis = {.low = 0, .high = 64}, wide = {.low = 0, .high = 64},
                       power = {.low = 1, .high = 16, .least = 1};
    double x[65], rows[16], below, above;
    struct spread spread = {0};

    for (int i = 0; i <= 64; i++)
        x[i] = i;
    count(x, 65, &spread);
    CHECK(spread_rows(&spread, &axis, rows, 16, &below, &above));
    wide.high = 64 * (1 + 1e-13);
    CHECK(!spread_rows(&spread, &wide, rows, 16, &below, &above));
    wide = (struct spread_axis){.low = 64 * -1e-13, .high = 64};
    CHECK(!spread_rows(&spread, &wide, rows, 16, &below, &above));
    /* The largest element is on a boundary: it is in the row above. */
    axis.high = 128;
    CHECK(spread_rows(&spread, &axis, rows, 2, &below, &above));
    CHECK(rows[0] == 64 && rows[1] == 1);
    spread_rows(&spread, &power, rows, 4, &below, &above);
    CHECK(below == 1 && above == 49); /* 0, and the bins from 16 on */
    power.high = 16 * (1 + 1e-13);
    CHECK(!spread_rows(&spread, &power, rows, 4, &below, &above));
    spread_release(&spread);
}

TEST(rows_of_a_log_axis_are_exact_if_each_is_a_power_of_two)
{
    static const double x[] = {-4, -1, -0.0, 0, 1, 1.3, 2, 3.9, 1e-9};
    static const double expected[] = {1, 0, 1, 3, 2, 2, 0};
    struct spread_axis axis = {.low = -8, .high = 8, .least = 1};
    double rows[COUNT_OF(expected)], below, above;
    struct spread spread = {0};

    count(x, COUNT_OF(x), &spread);
    /* -8 to -4 to -2 to -1, magnitudes below 1, and up again. */
    CHECK(spread_rows(&spread, &axis, rows, COUNT_OF(rows), &below, &above));
    CHECK_MEM(rows, expected, sizeof rows);
    CHECK(below == 0 && above == 0);
    CHECK(!spread_rows(&spread, &axis, rows, COUNT_OF(rows) - 1, &below, &above));
    spread_release(&spread);
}

TEST(a_place_on_an_axis_and_its_value_are_inverse)
{
    static const struct spread_axis axes[] = {{-3, 7, 0},
                                              {-DBL_MAX, DBL_MAX, 0},
                                              {-100, 1000, 1e-6},
                                              {1e-9, 1e9, 1e-9},
                                              {-DBL_MAX, DBL_MAX, 0x1p-1074}};

    for (size_t a = 0; a < COUNT_OF(axes); a++) {
        double before = -INFINITY;

        CHECK_NEAR(spread_axis_place(&axes[a], axes[a].low), 0, 0);
        CHECK_NEAR(spread_axis_place(&axes[a], axes[a].high), 1, 0);
        for (int i = 0; i <= 50; i++) {
            double value = spread_axis_value(&axes[a], i / 50.0);

            CHECK(value > before && isfinite(value));
            CHECK_NEAR(spread_axis_place(&axes[a], value), i / 50.0, 1e-9);
            before = value;
        }
    }
}
