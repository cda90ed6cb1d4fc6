#include <float.h>
#include <math.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/spread_test_in.h"

#define N 3001

static void count(const double *x, size_t n, struct spread *ret_spread)
{
    struct spread_counter *counter = spread_counter_new(NULL);

    CHECK(counter != NULL);
    CHECK(spread_of(counter, DTYPE_FLOAT64, x, n, SPREAD_ALL, ret_spread, NULL) == 0);
    spread_counter_free(counter);
}

/* The number of finite elements from low to high, excluding high unless it is the
 * last. */
static double between(const double *x, size_t n, double low, double high, bool last)
{
    double found = 0;

    for (size_t i = 0; i < n; i++)
        found += x[i] >= low && (last ? x[i] <= high : x[i] < high);
    return found;
}

TEST(bins_count_the_values_between_their_edges)
{
    static const uint32_t mosts[] = {2, 7, 64, 128, 5000};
    uint64_t state = 0x9e3779b97f4a7c15u;
    double x[N], edges[5001], counts[5000];
    struct spread spread = {0};

    for (int flavour = 0; flavour < SPREAD_TEST_FLAVOURS; flavour++) {
        spread_test_fill(DTYPE_FLOAT64, (enum flavour_of_spread)flavour, x, N, &state);
        count(x, N, &spread);
        for (size_t m = 0; m < COUNT_OF(mosts); m++) {
            uint32_t n = spread_bins(&spread, mosts[m], edges, counts);
            double sum = 0;

            CHECK(n <= mosts[m] && n >= 1);
            for (uint32_t b = 0; b < n; b++) {
                CHECK(edges[b] < edges[b + 1] && isfinite(edges[b + 1]));
                sum += counts[b];
                /* An element on the edge of a negative log bin belongs to the lower. */
                if (!spread_prefers_log(&spread))
                    CHECK(counts[b] ==
                          between(x, N, edges[b], edges[b + 1], b == n - 1));
            }
            CHECK(sum == (double)spread.counted);
            CHECK(edges[0] <= spread.min && spread.max <= edges[n]);
        }
    }
    spread_release(&spread);
}

TEST(heavy_tails_are_shown_by_log_bins_without_gaps)
{
    double x[1000], edges[65], counts[64];
    struct spread spread = {0};
    uint32_t n;

    for (int i = 0; i < 1000; i++)
        x[i] = i < 400 ? 0 : i < 700 ? -1e-3 : i < 995 ? 2e-3 : 1e6;
    count(x, 1000, &spread);
    CHECK(spread_prefers_log(&spread));
    n = spread_bins(&spread, 64, edges, counts);
    CHECK_INT(n, 5); /* -1e-3; zeros and everything near; 2e-3; nothing; 1e6 */
    CHECK(counts[0] == 300 && counts[1] == 400 && counts[2] == 295);
    CHECK(counts[3] == 0 && counts[4] == 5);
    CHECK(edges[1] < 0 && edges[1] >= -1e-3 && edges[2] > 0 && edges[2] <= 2e-3);
    CHECK_INT(spread_bins(&spread, 2, edges, counts), 2);
    CHECK(counts[0] == 995 && counts[1] == 5);
    spread_release(&spread);
}

TEST(zeros_between_denormal_numbers_are_counted)
{
    double x[1000], edges[65], counts[64], sum = 0;
    struct spread spread = {0};
    uint32_t n;

    for (int i = 0; i < 1000; i++)
        x[i] = i < 300 ? 0 : i < 600 ? -5e-324 : i < 990 ? 5e-324 : 1;
    count(x, 1000, &spread);
    CHECK(spread_prefers_log(&spread));
    n = spread_bins(&spread, 64, edges, counts);
    for (uint32_t b = 0; b < n; b++) {
        CHECK(edges[b] < edges[b + 1]);
        sum += counts[b];
    }
    CHECK(sum == 1000);
    spread_release(&spread);
}

TEST(an_empty_tensor_has_no_bins)
{
    struct spread spread = {0};
    double edges[3], counts[2];

    CHECK_INT(spread_bins(&spread, 2, edges, counts), 0);
}
