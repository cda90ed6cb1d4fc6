#include "rows/grid.h"

#include <math.h>

#include "base/test.h"

static void check_grid(const char *text, const struct cells *cells,
                       const int64_t *shape, int rank, unsigned columns,
                       const char *expected)
{
    struct buf got = BUF_INIT;
    struct slice slice;

    if (text)
        CHECK(slice_parse(&slice, str_of(text), shape, rank, NULL) == 0);
    else
        CHECK(grid_first(&slice, shape, rank, NULL) == 0);
    CHECK_INT(slice.n, cells->n);
    grid_text(&got, &slice, cells, shape, columns, false);
    CHECK_STR(buf_cstr(&got), expected);
    buf_release(&got);
}

TEST(the_first_values_are_two_rows_of_five)
{
    static const int64_t shape[2] = {120, 400};
    double reals[10] = {-0.0413, -0.0039, -0.0560, -0.0473, 0.0020,
                        0.1060,  -0.0584, -0.0717, -0.2136, -0.1777};
    struct cells cells = {CELL_REAL, 10, reals, NULL};

    check_grid(NULL, &cells, shape, 2, 0,
               "[0, 0:5]  -0.0413  -0.0039  -0.0560  -0.0473   0.0020 …\n"
               "[1, 0:5]   0.1060  -0.0584  -0.0717  -0.2136  -0.1777 …\n");
}

TEST(small_and_large_values_share_an_exponent_format)
{
    static const int64_t shape[1] = {3};
    double small[3] = {1e-6, -2.5e-7, NAN}, large[3] = {123456, 0, -INFINITY};
    struct cells cells = {CELL_REAL, 3, small, NULL};

    check_grid(":", &cells, shape, 1, 0, "[0:3]   1.000e-06  -2.500e-07         NaN\n");
    cells.reals = large;
    check_grid(":", &cells, shape, 1, 0, "[0:3]  1.235e+05  0.000e+00       -Inf\n");
}

TEST(long_rows_wrap)
{
    static const int64_t shape[1] = {6};
    int64_t integers[6] = {1, 20, 300, 4, 5, 6};
    struct cells cells = {CELL_INT, 6, NULL, integers};

    check_grid(":", &cells, shape, 1, 18,
               "[0:2]    1   20\n[2:4]  300    4\n[4:6]    5    6\n");
}

TEST(a_column_runs_along_its_line)
{
    static const int64_t shape[2] = {4, 3};
    int64_t bools[2] = {1, 0};
    struct cells cells = {CELL_BOOL, 2, NULL, bools};

    check_grid("3:0:-2, 1", &cells, shape, 2, 0, "[3:0:-2, 1]   True  False\n");
}

TEST(complex_and_large_unsigned_values_are_written_whole)
{
    static const int64_t shape[1] = {1};
    double pair[2] = {1.5, -2};
    int64_t all = -1;
    struct cells complex_cells = {CELL_COMPLEX, 1, pair, NULL};
    struct cells unsigned_cells = {CELL_UINT, 1, NULL, &all};

    check_grid(":", &complex_cells, shape, 1, 0, "[0:1]  1.5000-2.0000j\n");
    check_grid("0", &unsigned_cells, shape, 1, 0, "[0]  18446744073709551615\n");
}
