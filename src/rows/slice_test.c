#include "rows/slice.h"

#include <string.h>

#include "base/test.h"
#include "session/sample_session.h"

static const int64_t shape[3] = {4, 5, 6};

static int parse(struct slice *slice, const char *text)
{
    return slice_parse(slice, str_of(text), shape, 3, NULL);
}

static void check_dim(const struct slice *slice, int dim, int64_t start, int64_t step,
                      uint64_t n)
{
    CHECK_INT(slice->dims[dim].start, start);
    CHECK_INT(slice->dims[dim].step, step);
    CHECK_INT(slice->dims[dim].n, n);
}

TEST(a_slice_is_parsed_like_numpy)
{
    struct slice slice;

    CHECK(parse(&slice, "[1, 2:4]") == 0);
    CHECK(slice.dims[0].single && !slice.dims[1].single);
    check_dim(&slice, 0, 1, 1, 1);
    check_dim(&slice, 1, 2, 1, 2);
    check_dim(&slice, 2, 0, 1, 6);
    CHECK_INT(slice.n, 12);
    CHECK(parse(&slice, "..., -1") == 0);
    check_dim(&slice, 2, 5, 1, 1);
    CHECK(parse(&slice, "::-1") == 0);
    check_dim(&slice, 0, 3, -1, 4);
    CHECK(parse(&slice, "[-3:100:2]") == 0);
    check_dim(&slice, 0, 1, 2, 2);
    CHECK(parse(&slice, "2:2") == 0 && slice.n == 0);
    CHECK(parse(&slice, "[]") == 0 && slice.n == 120);
    CHECK(parse(&slice, "...") == 0 && slice.n == 120);
}

TEST(invalid_slices_are_refused_with_a_reason)
{
    static const char *const bad[] = {"4",           "-5",  "1,2,3,4", "x",   "1:2:3:4",
                                      "..., ..., 1", "::0", "1:b",     "1,,", "[1"};
    struct slice slice;
    struct err err = {0};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err.text[0] = '\0';
        CHECK(slice_parse(&slice, str_of(bad[i]), shape, 3, &err) < 0);
        CHECK(err.code == ERR_USAGE && err.text[0]);
    }
}

TEST(cells_come_in_the_order_of_the_slice)
{
    struct session *session = sample_session();
    const struct model *model = session->model;
    const struct tensor *tensor =
        place_tensor(model, sample_place(session, "a.weight"));
    struct cells cells;
    struct slice slice;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(slice_parse(&slice, STR("::-1, ::-2"), tensor_shape(model, tensor), 2,
                      NULL) == 0);
    CHECK(cells_read(model, tensor, &slice, &arena, NULL, &cells, NULL) == 0);
    CHECK(cells.kind == CELL_REAL && cells.n == 4);
    CHECK(cells.reals[0] == -6 && cells.reals[1] == 4);
    CHECK(cells.reals[2] == 3 && cells.reals[3] == 1);
    arena_release(&arena);
    session_close(session);
}

TEST(a_scalar_integer_is_one_cell)
{
    struct session *session = sample_session();
    const struct model *model = session->model;
    const struct tensor *tensor = place_tensor(model, sample_place(session, "b.count"));
    struct cells cells;
    struct slice slice;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(slice_all(&slice, NULL, 0, NULL) == 0);
    CHECK(cells_read(model, tensor, &slice, &arena, NULL, &cells, NULL) == 0);
    CHECK(cells.kind == CELL_INT && cells.n == 1 && cells.integers[0] == 7);
    arena_release(&arena);
    session_close(session);
}

TEST(a_plane_is_the_last_two_dimensions_and_the_first_index_of_others)
{
    struct slice slice;
    struct buf text = BUF_INIT;
    int down, across;

    CHECK(parse(&slice, "[]") == 0);
    slice_plane(&slice, &down, &across);
    CHECK(down == 1 && across == 2 && slice.dims[0].single);
    CHECK_INT(slice.n, 30);
    slice_text(&text, &slice, shape);
    CHECK_STR(buf_cstr(&text), "[0, :, :]");
    buf_clear(&text);
    CHECK(parse(&slice, "[::-1, 3, 1:6:2]") == 0);
    slice_plane(&slice, &down, &across);
    CHECK(down == 0 && across == 2);
    slice_text(&text, &slice, shape);
    CHECK_STR(buf_cstr(&text), "[3::-1, 3, 1:7:2]");
    CHECK(parse(&slice, "[1, 2, 3]") == 0);
    slice_plane(&slice, &down, &across);
    CHECK(down == -1 && across == -1 && slice.n == 1);
    buf_release(&text);
}

/* A plane read as a matrix has the values of the slice. */
static void check_matrix(const struct session *session, uint32_t place,
                         const char *text)
{
    const struct tensor *tensor = place_tensor(session->model, place);
    struct slice_matrix matrix;
    struct slice slice, whole;
    struct cells expected, got;
    struct arena arena;
    int down, across;

    arena_init(&arena, 0);
    CHECK_INT(slice_parse(&slice, str_of(text), tensor_shape(session->model, tensor),
                          tensor->rank, NULL),
              0);
    slice_plane(&slice, &down, &across);
    slice_matrix_init(&matrix, session->model, tensor, &slice, down, across);
    CHECK_INT(slice_all(&whole, matrix.dims, 2, NULL), 0);
    CHECK_INT(cells_read(session->model, tensor, &slice, &arena, NULL, &expected, NULL),
              0);
    CHECK_INT(
        cells_read(&matrix.model, &matrix.tensor, &whole, &arena, NULL, &got, NULL), 0);
    CHECK_INT(got.n, expected.n);
    for (uint64_t r = 0; r < matrix.rows; r++)
        for (uint64_t c = 0; c < matrix.columns; c++) {
            uint64_t row = matrix.flip_rows ? matrix.rows - 1 - r : r;
            uint64_t column = matrix.flip_columns ? matrix.columns - 1 - c : c;

            CHECK_NEAR(got.reals[r * matrix.columns + c],
                       expected.reals[row * matrix.columns + column], 0);
        }
    arena_release(&arena);
}

TEST(a_plane_is_a_separate_matrix)
{
    static const char *const slices[] = {"[]",        "[1]",          "[:, 2]",
                                         "[::-1]",    "[:, ::-2]",    "[-1, 2:0:-1]",
                                         "[0:1, 1:]", "[1::-1, ::-1]"};
    struct session *session = sample_session();

    for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++)
        check_matrix(session, sample_place(session, "a.weight"), slices[i]);
    session_close(session);
}
