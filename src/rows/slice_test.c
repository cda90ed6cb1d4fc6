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

TEST(a_slice_reads_as_numpy_reads_it)
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

TEST(what_is_no_slice_is_refused_with_a_reason)
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
