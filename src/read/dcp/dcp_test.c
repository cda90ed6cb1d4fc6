#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/dcp/dcp_in.h"
#include "read/file/file_source_in.h"
#include "read/file/test_zip_in.h"

#define ROWS    6
#define COLUMNS 9

/* A matrix of 6 x 9 numbers, split into boxes with one storage each. */
struct cut {
    struct build build;
    struct dcp_whole whole;
    struct dcp_box boxes[8];
    int64_t dims[8][6]; /* offsets, sizes, strides */
    uint16_t content[8][ROWS * COLUMNS];
};

static uint16_t number_at(int64_t row, int64_t column)
{
    return (uint16_t)(100 * row + column);
}

static void begin_cut(struct cut *c)
{
    memset(c, 0, sizeof *c);
    CHECK(build_init(&c->build, "x", 0, NULL, NULL) == 0);
    build_file(&c->build, STR("__0_0.distcp"), 0);
    c->whole = (struct dcp_whole){.dtype = DTYPE_UINT16,
                                  .rank = 2,
                                  .shape = {ROWS, COLUMNS},
                                  .numel = ROWS * COLUMNS,
                                  .boxes = c->boxes};
}

static void drop_cut(struct cut *c)
{
    build_release(&c->build);
}

/* Add a box; `turned`: its elements are in column order. */
static void add_box(struct cut *c, int64_t row, int64_t column, int64_t rows,
                    int64_t columns, bool turned)
{
    uint32_t n = c->whole.n++;
    int64_t *dims = c->dims[n];
    struct dcp_box *box = &c->boxes[n];
    struct str bytes = str_span(c->content[n], (size_t)(rows * columns) * 2);

    dims[0] = row;
    dims[1] = column;
    dims[2] = rows;
    dims[3] = columns;
    dims[4] = turned ? 1 : columns;
    dims[5] = turned ? rows : 1;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < columns; k++)
            c->content[n][r * dims[4] + k * dims[5]] = number_at(row + r, column + k);
    *box = (struct dcp_box){.offsets = dims,
                            .sizes = dims + 2,
                            .strides = dims + 4,
                            .numel = (uint64_t)(rows * columns)};
    box->storage =
        file_source_bytes(&c->build, bytes, &(struct storage){.bytes = bytes.len});
}

/* Checks every window of the assembled tensor. */
static void check_windows(struct cut *c)
{
    uint32_t node = build_node(&c->build, 0, PLACE_VALUE, STR("t"));
    struct source *source;
    uint8_t whole[ROWS * COLUMNS * 2], got[sizeof whole];
    uint32_t storage;

    for (int i = 0; i < ROWS * COLUMNS; i++) {
        uint16_t number = number_at(i / COLUMNS, i % COLUMNS);

        memcpy(whole + 2 * i, &number, 2);
    }
    CHECK(dcp_assemble(&c->build, &c->whole, true, node, STR("t"), NULL) == 0);
    source = c->build.model->source;
    storage = c->build.model->tensors[build_tensor_at(&c->build, node)].storage;
    for (size_t at = 0; at < sizeof whole; at++)
        for (size_t n = 1; at + n <= sizeof whole; n += 1 + n / 3) {
            memset(got, 0, sizeof got);
            CHECK(source_bytes(source, storage, at, got, n, NULL) == 0);
            CHECK_MEM(got, whole + at, n);
        }
}

TEST(boxes_of_rows_columns_and_grids_are_assembled)
{
    static const int64_t cuts[][4][4] = {
        {{0, 0, 2, 9}, {2, 0, 3, 9}, {5, 0, 1, 9}, {6, 0, 0, 9}},
        {{0, 0, 6, 4}, {0, 4, 6, 1}, {0, 5, 6, 4}, {0, 9, 6, 0}},
        {{3, 5, 3, 4}, {0, 5, 3, 4}, {3, 0, 3, 5}, {0, 0, 3, 5}},
    };

    for (size_t i = 0; i < COUNT_OF(cuts); i++)
        for (int turned = 0; turned < 2; turned++) {
            struct cut *c = malloc(sizeof *c);

            CHECK(c != NULL);
            begin_cut(c);
            for (int k = 0; k < 4; k++)
                add_box(c, cuts[i][k][0], cuts[i][k][1], cuts[i][k][2], cuts[i][k][3],
                        turned);
            check_windows(c);
            drop_cut(c);
            free(c);
        }
}

TEST(overlapping_boxes_and_holes_are_findings)
{
    struct dcp dcp = {.looks_left = 100};
    struct cut c;

    begin_cut(&c);
    dcp.build = &c.build;
    add_box(&c, 0, 0, 3, 9, false);
    CHECK(!dcp_check_boxes(&dcp, &c.whole, 0, STR("t")));
    CHECK_INT(test_findings(&c.build, FINDING_MISSING_RECORD), 1);
    add_box(&c, 2, 0, 4, 9, false);
    CHECK(!dcp_check_boxes(&dcp, &c.whole, 0, STR("t")));
    CHECK_INT(test_findings(&c.build, FINDING_OVERLAP), 1);
    c.dims[1][0] = 3;
    c.dims[1][2] = 3;
    c.boxes[1].numel = 27;
    CHECK(dcp_check_boxes(&dcp, &c.whole, 0, STR("t")));
    CHECK_INT(test_findings(&c.build, FINDING_OVERLAP), 1);
    drop_cut(&c);
}

TEST(comparing_many_boxes_stops_at_a_limit)
{
    enum { MANY = 3000 };
    struct dcp dcp = {.looks_left = 10000};
    struct dcp_box *boxes = calloc(MANY, sizeof *boxes);
    int64_t *dims = calloc(4 * MANY, sizeof *dims);
    struct dcp_whole whole = {.dtype = DTYPE_UINT8,
                              .rank = 2,
                              .shape = {1, 1},
                              .numel = MANY,
                              .boxes = boxes,
                              .n = MANY};
    struct build build;

    CHECK(boxes && dims && build_init(&build, "x", 0, NULL, NULL) == 0);
    dcp.build = &build;
    /* Empty in one dimension: none overlap, and sorting cannot separate them. */
    for (int i = 0; i < MANY; i++) {
        dims[4 * i + 2] = 1;
        boxes[i] = (struct dcp_box){.offsets = dims + 4 * i, .sizes = dims + 4 * i + 2};
    }
    whole.numel = 0;
    dcp_check_boxes(&dcp, &whole, 0, STR("t"));
    CHECK_INT(test_findings(&build, FINDING_LIMIT), 1);
    CHECK_INT(dcp.looks_left, 0);
    build_release(&build);
    free(boxes);
    free(dims);
}

TEST(the_bytes_before_the_first_missing_box_can_be_read)
{
    uint32_t node, id;
    struct cut c;

    begin_cut(&c);
    add_box(&c, 0, 0, 2, 9, false);
    add_box(&c, 2, 0, 4, 9, false);
    c.boxes[1].storage = NO_STORAGE;
    node = build_node(&c.build, 0, PLACE_VALUE, STR("t"));
    CHECK(dcp_assemble(&c.build, &c.whole, true, node, STR("t"), NULL) == 0);
    id = c.build.model->tensors[build_tensor_at(&c.build, node)].storage;
    CHECK_INT(c.build.model->storages[id].flags, STORAGE_PARTLY);
    CHECK_INT(storage_have(c.build.model, &c.build.model->storages[id]), 36);
    drop_cut(&c);
}
