#include "history/walk.h"

#include "base/test.h"
#include "history/sample_history_in.h"
#include "history/summary.h"

#define STEPS 40

/* Ranks 0 and 1 measure two and three series; rank 1 has logged fewer steps. Scalars are
 * in the row of their step and, if `apart`, in another one. */
static struct history *write_ranks(const struct sample_folder *folder, bool apart)
{
    struct history *history;

    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct history_options options = {
            .codec = &sample_codec, .rank = rank, .ranks = 2};
        struct history_writer *writer = sample_rank_writer(folder, &options);

        sample_declare(writer, 2 + rank);
        for (uint64_t i = 0; i < STEPS - 3 * rank; i++) {
            sample_write(writer, i, 2 + rank);
            if (apart) {
                history_writer_begin(writer, i, HISTORY_TRAIN, (i + 1) * 1000000000u);
                history_writer_scalar(writer, 0, (double)(i + rank));
                history_writer_end(writer, 0);
            }
            history_writer_flush(writer);
        }
        CHECK(history_writer_close(writer, NULL) == 0);
    }
    history = history_open(folder->path, &sample_codec, NULL);
    CHECK(history != NULL);
    return history;
}

TEST(a_walk_visits_each_step_of_all_ranks_once)
{
    struct sample_folder folder;
    struct history_walk walk;
    struct history *history;
    struct arena arena;
    uint64_t number = 0;

    sample_folder_make(&folder);
    history = write_ranks(&folder, false);
    arena_init(&arena, 0);
    CHECK(history_walk_open(&walk, history, &arena, NULL) == 0);
    CHECK(walk.n_series == 3 && walk.n_names == 1);
    CHECK(history_walk_begin(&walk, HISTORY_TRAIN, NULL) == 0);
    CHECK(walk.steps == STEPS && walk.merged == 0);
    for (; !walk.done; history_walk_next(&walk), number++) {
        uint32_t both = number < STEPS - 3, n_points, n_scalars;
        struct history_scalar *scalars;
        struct history_point *points;

        CHECK_INT(walk.number, number);
        CHECK(history_walk_points(&walk, true, &arena, &points, &n_points, NULL) == 0);
        CHECK_INT(n_points, 2 + both);
        for (uint32_t i = 0; i < n_points; i++) {
            CHECK_INT(points[i].merged, i < 2 && both ? 2 : 1);
            CHECK(points[i].stats.min == (double)(number + points[i].series));
        }
        CHECK(history_walk_scalars(&walk, &arena, &scalars, &n_scalars, NULL) == 0);
        CHECK(n_scalars == 1 && scalars[0].last == 1.0 / (double)(number + 1));
        CHECK_INT(scalars[0].number.n, 1 + both);
    }
    CHECK_INT(number, STEPS);
    CHECK(history_walk_begin(&walk, HISTORY_EVAL, NULL) == 0);
    CHECK(walk.done && walk.steps == 0);
    history_walk_close(&walk);
    arena_release(&arena);
    history_close(history);
    sample_folder_remove(&folder);
}

TEST(scalars_in_a_row_of_their_own_belong_to_their_step)
{
    struct history_summary sum;
    struct history_scalar *scalars;
    struct sample_folder folder;
    struct history_walk walk;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    history = write_ranks(&folder, true);
    arena_init(&arena, 0);
    CHECK(history_summarise(history, &sum, NULL) == 0);
    CHECK_INT(sum.phases[HISTORY_TRAIN].steps, STEPS);
    CHECK(history_walk_open(&walk, history, &arena, NULL) == 0);
    CHECK(history_walk_begin(&walk, HISTORY_TRAIN, NULL) == 0);
    CHECK(walk.steps == STEPS && walk.merged == 0);
    for (int i = 0; i < 5; i++)
        history_walk_next(&walk);
    CHECK(history_walk_scalars(&walk, &arena, &scalars, &n, NULL) == 0);
    /* The mean of two ranks and of the two values that each has logged. */
    CHECK(n == 1 && scalars[0].number.n == 4);
    CHECK_NEAR(scalars[0].last, (1.0 / 6 + 5 + 1.0 / 6 + 6) / 4, 1e-12);
    history_walk_close(&walk);
    arena_release(&arena);
    history_close(history);
    sample_folder_remove(&folder);
}

TEST(holding_a_folder_holds_its_files)
{
    struct history_range range = {0};
    struct history_step *steps;
    struct sample_folder folder;
    struct history *history;
    struct arena arena;
    uint64_t rows;
    uint32_t n;

    sample_folder_make(&folder);
    history = write_ranks(&folder, false);
    arena_init(&arena, 0);
    CHECK(history_hold(history, NULL) == 0);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0);
    rows = history_rows_read(history);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0);
    CHECK_INT(n, STEPS);
    CHECK_INT(history_rows_read(history), rows); /* cached */
    history_let_go(history);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0);
    CHECK(history_rows_read(history) > rows);
    arena_release(&arena);
    history_close(history);
    sample_folder_remove(&folder);
}
