#include "study/diverge/parting.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "history/writer.h"

/* ---- two histories ---- */

/* The behaviour of one run: values begin to differ at a step, in one series. */
struct sample_run_of {
    uint64_t steps, every; /* every: logged steps are multiples of it */
    uint32_t series;       /* whose values change */
    uint64_t from;
    double change;
    double loss_change; /* from the same step on */
    bool scalars_apart; /* in a separate row, as log() writes them after the step */
    bool with_extra;    /* one more series and scalar */
    uint32_t rows;      /* most rows of steps; 0: no limit */
    uint32_t rank;      /* whose values change, of several */
};

#define RANKS 3

/* As watch() numbers them: calls as they begin, parameters afterwards. */
static const struct history_series declared[] = {
    {.kind = HISTORY_INPUT, .name = {"", 0}},
    {.kind = HISTORY_OUTPUT, .name = {"", 0}},
    {.kind = HISTORY_GRAD_OUTPUT, .name = {"", 0}},
    {.kind = HISTORY_OUTPUT, .name = {"a", 1}},
    {.kind = HISTORY_GRAD_OUTPUT, .name = {"a", 1}},
    {.kind = HISTORY_INPUT, .name = {"b", 1}},
    {.kind = HISTORY_OUTPUT, .name = {"b", 1}},
    {.kind = HISTORY_OUTPUT, .name = {"b.inner", 7}},
    {.kind = HISTORY_PARAM, .name = {"a.weight", 8}},
    {.kind = HISTORY_GRAD_PARAM, .name = {"a.weight", 8}},
    {.kind = HISTORY_GRAD_PARAM, .name = {"b.weight", 8}},
};
enum {
    ROOT_IN,
    ROOT_OUT,
    ROOT_GRAD,
    A_OUT,
    A_GRAD,
    B_IN,
    B_OUT,
    INNER_OUT,
    A_WEIGHT,
    A_WEIGHT_GRAD,
    B_WEIGHT_GRAD,
    SERIES
};

static bool is_forward(uint32_t series)
{
    return declared[series].kind <= HISTORY_OUTPUT;
}

static void add_point(struct history_writer *writer, uint32_t series, double value)
{
    float elements[2] = {(float)value, 1};
    struct history_point point = {.series = series, .merged = 1};

    stats_init(&point.stats, DTYPE_FLOAT32);
    stats_add(&point.stats, NULL, DTYPE_FLOAT32, elements, 2, 0, MEASURE_EXACT);
    history_writer_point(writer, &point);
}

static void add_step(struct history_writer *writer, const struct sample_run_of *run,
                     uint64_t number)
{
    bool changed = number >= run->from;

    history_writer_begin(writer, number, HISTORY_TRAIN, (number + 1) * 1000000000u);
    for (uint32_t i = 0; i < SERIES + (run->with_extra ? 1u : 0u); i++)
        /* Results of calls follow from the one that changed. */
        add_point(writer, i,
                  (double)number + i +
                      (changed && (i == run->series ||
                                   (is_forward(run->series) && i == ROOT_OUT))
                           ? run->change
                           : 0));
    if (run->scalars_apart) {
        history_writer_end(writer, 0);
        history_writer_begin(writer, number, HISTORY_TRAIN, (number + 1) * 1000000000u);
    }
    history_writer_scalar(
        writer, 0, 1.0 / (double)(number + 1) + (changed ? run->loss_change : 0));
    history_writer_end(writer, 0);
    history_writer_flush(writer);
}

static void write_file(const char *path, const struct sample_run_of *run, uint32_t rank)
{
    struct history_options options = {.steps = run->rows, .rank = rank, .ranks = RANKS};
    struct history_writer *writer =
        history_writer_create(path, NULL, NULL, &options, NULL);

    CHECK(writer);
    for (uint32_t i = 0; i < SERIES; i++)
        CHECK_INT(history_writer_series(writer, &declared[i]), i);
    CHECK_INT(history_writer_name(writer, STR("loss")), 0);
    if (run->with_extra) {
        CHECK_INT(history_writer_series(
                      writer, &(struct history_series){.kind = HISTORY_UPDATE,
                                                       .name = STR("b.weight")}),
                  SERIES);
        CHECK_INT(history_writer_name(writer, STR("accuracy")), 1);
    }
    for (uint64_t i = 0; i < run->steps; i++)
        add_step(writer, run, i * (run->every ? run->every : 1));
    CHECK_INT(history_writer_close(writer, NULL), 0);
}

static const char *shared_memory(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

struct two_runs {
    char path[2][96];
    bool ranks; /* folders of RANKS files */
    struct history *history[2];
    struct arena arena;
    struct parting parting;
};

static void rank_path(const struct two_runs *both, int side, uint32_t rank,
                      char path[160])
{
    snprintf(path, 160, "%s/rank%u.scope", both->path[side], rank);
}

/* Writes a run: one file, or a folder in which the values of one rank change. */
static void write_run(struct two_runs *both, int side, const struct sample_run_of *run)
{
    struct sample_run_of plain = *run;
    char path[160];
    int fd;

    snprintf(both->path[side], sizeof both->path[side], "%s/torchoscope_parting_XXXXXX",
             shared_memory());
    if (both->ranks) {
        CHECK(mkdtemp(both->path[side]));
        plain.from = UINT64_MAX;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            rank_path(both, side, rank, path);
            write_file(path, rank == run->rank ? run : &plain, rank);
        }
    } else {
        fd = mkstemp(both->path[side]);
        CHECK(fd >= 0);
        close(fd);
        write_file(both->path[side], run, 0);
    }
    both->history[side] = history_open(both->path[side], NULL, NULL);
    CHECK(both->history[side]);
}

static void compare_runs(struct two_runs *both, const struct sample_run_of *left,
                         const struct sample_run_of *right, double tolerance)
{
    write_run(both, 0, left);
    write_run(both, 1, right);
    arena_init(&both->arena, GIB);
    CHECK_INT(parting_make(&both->parting, both->history[0], both->history[1],
                           tolerance, &both->arena, NULL, NULL),
              0);
}

static void compare(struct two_runs *both, const struct sample_run_of *left,
                    const struct sample_run_of *right, double tolerance)
{
    both->ranks = false;
    compare_runs(both, left, right, tolerance);
}

static void compare_ranks(struct two_runs *both, const struct sample_run_of *left,
                          const struct sample_run_of *right)
{
    both->ranks = true;
    compare_runs(both, left, right, 0);
}

static void drop(struct two_runs *both)
{
    char path[160];

    for (int side = 0; side < 2; side++) {
        history_close(both->history[side]);
        for (uint32_t rank = 0; both->ranks && rank < RANKS; rank++) {
            rank_path(both, side, rank, path);
            unlink(path);
        }
        remove(both->path[side]);
    }
    arena_release(&both->arena);
}

static void check_name(const struct parting *parting, uint32_t series)
{
    CHECK(parting->tensor_differs);
    CHECK_INT(parting->tensor.kind, declared[series].kind);
    CHECK(str_eq(parting->tensor.name, declared[series].name));
}

/* ---- tests ---- */

TEST(equal_runs_are_equal_over_their_common_steps)
{
    struct two_runs both;

    compare(&both, &(struct sample_run_of){.steps = 6, .from = UINT64_MAX},
            &(struct sample_run_of){.steps = 9, .from = UINT64_MAX, .with_extra = true},
            0);
    CHECK(parting_agrees(&both.parting));
    CHECK_INT(both.parting.common, 6);
    CHECK_INT(both.parting.with_tensors, 6);
    CHECK_INT(both.parting.first, 0);
    CHECK_INT(both.parting.last, 5);
    CHECK_INT(both.parting.steps[1], 9);
    CHECK_INT(both.parting.series, SERIES);
    CHECK_INT(both.parting.only_series[0], 0);
    CHECK_INT(both.parting.only_series[1], 1);
    CHECK_INT(both.parting.only_scalars[1], 1);
    drop(&both);
}

TEST(the_first_step_and_the_first_tensor_in_the_order_of_execution)
{
    static const uint32_t changed[] = {INNER_OUT, A_OUT,         B_IN,   A_GRAD,
                                       A_WEIGHT,  B_WEIGHT_GRAD, ROOT_IN};
    struct sample_run_of plain = {.steps = 8, .from = UINT64_MAX};

    for (size_t i = 0; i < COUNT_OF(changed); i++) {
        struct sample_run_of other = {
            .steps = 8, .from = 5, .series = changed[i], .change = 0.5};
        struct two_runs both;

        compare(&both, &plain, &other, 0);
        CHECK(!parting_agrees(&both.parting) && !both.parting.scalar_differs);
        CHECK_INT(both.parting.tensor_step, 5);
        check_name(&both.parting, changed[i]);
        /* The result of the model differs too. */
        CHECK_INT(both.parting.together, is_forward(changed[i]) ? 2 : 1);
        CHECK(both.parting.stats[0].mean != both.parting.stats[1].mean);
        drop(&both);
    }
}

TEST(a_scalar_that_differs_alone)
{
    struct two_runs both;

    compare(&both, &(struct sample_run_of){.steps = 5, .from = UINT64_MAX},
            &(struct sample_run_of){
                .steps = 5, .from = 3, .loss_change = 1, .scalars_apart = true},
            0);
    CHECK(!both.parting.tensor_differs && both.parting.scalar_differs);
    CHECK_INT(both.parting.scalar_step, 3);
    CHECK(str_is(both.parting.scalar, "loss"));
    CHECK_INT(both.parting.steps[1], 5);
    CHECK(both.parting.values[0] == 0.25 && both.parting.values[1] == 1.25);
    drop(&both);
}

TEST(a_tolerance_forgives_small_differences)
{
    struct sample_run_of plain = {.steps = 4, .from = UINT64_MAX};
    struct sample_run_of other = {
        .steps = 4, .from = 2, .series = A_OUT, .change = 1e-3, .loss_change = 1e-4};
    struct two_runs both;

    compare(&both, &plain, &other, 0.01);
    CHECK(parting_agrees(&both.parting));
    drop(&both);
    compare(&both, &plain, &other, 1e-5);
    CHECK(both.parting.tensor_differs && both.parting.scalar_differs);
    CHECK_INT(both.parting.tensor_step, 2);
    drop(&both);
}

TEST(only_steps_with_the_same_number_are_compared)
{
    struct sample_run_of all = {.steps = 10, .from = UINT64_MAX};
    struct two_runs both;

    compare(&both, &all,
            &(struct sample_run_of){
                .steps = 4, .every = 3, .from = 4, .series = A_OUT, .change = 1},
            0);
    CHECK_INT(both.parting.common, 4);
    CHECK_INT(both.parting.tensor_step, 6);
    drop(&both);
}

TEST(merged_steps_are_not_compared)
{
    struct sample_run_of all = {.steps = 100, .from = UINT64_MAX};
    struct sample_run_of merged = {.steps = 100, .from = UINT64_MAX, .rows = 64};
    struct two_runs both;

    compare(&both, &all, &merged, 0);
    CHECK(parting_agrees(&both.parting));
    CHECK(both.parting.merged[1] > 0 && both.parting.merged[0] == 0);
    CHECK_INT(both.parting.common + both.parting.merged[1], 100);
    drop(&both);
}

TEST(runs_without_a_common_step_do_not_agree)
{
    struct two_runs both;

    compare(&both, &(struct sample_run_of){.steps = 3, .from = UINT64_MAX},
            &(struct sample_run_of){0}, 0);
    CHECK(!parting_agrees(&both.parting));
    CHECK_INT(both.parting.common, 0);
    drop(&both);
}

TEST(a_rank_that_differs_is_found)
{
    struct sample_run_of plain = {
        .steps = 8, .from = UINT64_MAX, .scalars_apart = true};
    struct sample_run_of other = {.steps = 8,
                                  .from = 5,
                                  .series = A_OUT,
                                  .change = 0.5,
                                  .scalars_apart = true,
                                  .rank = 2};
    struct two_runs both;

    compare_ranks(&both, &plain, &plain);
    CHECK(parting_agrees(&both.parting));
    CHECK_INT(both.parting.common, 8);
    CHECK_INT(both.parting.with_tensors, 8);
    CHECK_INT(both.parting.steps[0], 8);
    CHECK_INT(both.parting.series, SERIES);
    drop(&both);
    compare_ranks(&both, &plain, &other);
    CHECK_INT(both.parting.tensor_step, 5);
    check_name(&both.parting, A_OUT);
    CHECK_INT(both.parting.stats[0].count, 2 * RANKS);
    CHECK(!both.parting.scalar_differs);
    drop(&both);
    other.change = 0;
    other.loss_change = 1;
    compare_ranks(&both, &plain, &other);
    CHECK(!both.parting.tensor_differs && both.parting.scalar_differs);
    CHECK_INT(both.parting.scalar_step, 5);
    CHECK_NEAR(both.parting.values[1] - both.parting.values[0], 1.0 / RANKS, 1e-12);
    drop(&both);
}

TEST(a_step_that_a_rank_merged_is_not_compared)
{
    struct sample_run_of all = {.steps = 100, .from = UINT64_MAX};
    struct sample_run_of merged = {.steps = 100, .from = UINT64_MAX, .rows = 64};
    struct two_runs both;

    compare_ranks(&both, &all, &merged);
    CHECK(parting_agrees(&both.parting));
    CHECK(both.parting.merged[1] > 0 && both.parting.merged[0] == 0);
    CHECK_INT(both.parting.steps[1], 100);
    CHECK_INT(both.parting.common + both.parting.merged[1], 100);
    drop(&both);
}

/* Rows that a comparison of runs of `steps` steps reads. */
static uint64_t rows_read(uint64_t steps, bool ranks)
{
    struct sample_run_of run = {.steps = steps, .from = UINT64_MAX};
    struct two_runs both = {.ranks = ranks};
    uint64_t rows;

    compare_runs(&both, &run, &run, 0);
    CHECK_INT(both.parting.common, steps);
    rows = history_rows_read(both.history[0]) + history_rows_read(both.history[1]);
    drop(&both);
    return rows;
}

TEST(the_rows_that_a_comparison_reads_are_linear_in_the_steps)
{
    for (int ranks = 0; ranks < 2; ranks++) {
        uint64_t rows = rows_read(100, ranks), more = rows_read(200, ranks);

        CHECK(more <= 2 * rows);
        /* Each point and scalar once per side, the steps for each phase, the lists. */
        CHECK(rows <= 2 * (ranks ? RANKS : 1) * (100 * (SERIES + 3) + 100));
    }
}
