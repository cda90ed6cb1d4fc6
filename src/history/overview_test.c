/* Modules over steps: the same numbers as at_step.h, the worst of a column, of ranks. */
#include "history/overview.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "history/ranks.h"
#include "history/sample_history_in.h"
#include "run/sample_run.h"

struct overview_sample {
    struct sample_folder folder;
    struct run *run;
    struct history_writer *writer;
    struct history *history;
    struct overview *overview;
    struct arena arena;
    struct history_grid grid;
    struct overview_table table;
};

static void sample_begin(struct overview_sample *s,
                         const struct history_options *options)
{
    *s = (struct overview_sample){.run = sample_run(1)};
    sample_folder_make(&s->folder);
    s->writer = history_writer_create(s->folder.file, s->run, NULL, options, NULL);
    CHECK(s->writer != NULL);
    arena_init(&s->arena, 0);
}

static void sample_end(struct overview_sample *s)
{
    overview_free(s->overview);
    history_close(s->history);
    history_writer_close(s->writer, NULL);
    arena_release(&s->arena);
    run_free(s->run);
    sample_folder_remove(&s->folder);
}

static void sample_open(struct overview_sample *s, const char *path)
{
    if (s->writer)
        CHECK_INT(history_writer_close(s->writer, NULL), 0);
    s->writer = NULL;
    s->history = history_open(path, NULL, NULL);
    CHECK(s->history != NULL);
    s->overview = overview_new(s->history, s->run->model);
    CHECK(s->overview != NULL);
}

static void put_point(struct history_writer *writer, const struct model *model,
                      const char *name, enum history_kind kind, float value,
                      double ratio, double dead)
{
    const float values[4] = {value, value, value, value};
    struct history_series series = {.place = place_find(model, str_of(name)),
                                    .kind = (uint8_t)kind,
                                    .name = str_of(name)};
    struct history_point point = {.merged = 1};

    point.series = history_writer_series(writer, &series);
    stats_init(&point.stats, DTYPE_FLOAT32);
    stats_add(&point.stats, NULL, DTYPE_FLOAT32, values, 4, 0, MEASURE_EXACT);
    if (ratio >= 0)
        point.extra[EXTRA_RATIO] = history_number_of(ratio);
    if (dead >= 0) {
        point.extra[EXTRA_DEAD] = history_number_of(dead);
        point.units = 8;
    }
    history_writer_point(writer, &point);
}

/* Gradients g and 2 g, ratios of 0.002 and `ratio`, dead units of `list`. */
static void put_step(struct history_writer *writer, const struct model *model,
                     uint64_t number, float g, double ratio, unsigned flags)
{
    history_writer_begin(writer, number, HISTORY_TRAIN, (number + 1) * 1000000000u);
    put_point(writer, model, "a", HISTORY_OUTPUT, 1, -1, -1);
    put_point(writer, model, "list", HISTORY_OUTPUT, 1, -1, (double)(number % 8));
    put_point(writer, model, "a.weight", HISTORY_PARAM, 3, -1, -1);
    put_point(writer, model, "a.weight", HISTORY_GRAD_PARAM, g, -1, -1);
    put_point(writer, model, "a.bias", HISTORY_PARAM, 4, -1, -1);
    put_point(writer, model, "a.bias", HISTORY_GRAD_PARAM, 2 * g, -1, -1);
    put_point(writer, model, "a.weight", HISTORY_UPDATE, 1, 0.002, -1);
    put_point(writer, model, "a.bias", HISTORY_UPDATE, 1, ratio, -1);
    history_writer_end(writer, flags);
    history_writer_flush(writer);
}

static void read_columns(struct overview_sample *s, uint32_t columns, uint64_t rank,
                         uint64_t most)
{
    const struct history_steady steady = {.most = columns, .points = true};
    const struct overview_wanted wanted = {
        .grid = &s->grid, .rank = rank, .most = most};
    struct err err = {0};

    CHECK_INT(history_grid_steady(&s->grid, s->history, &steady, &s->arena, NULL), 0);
    CHECK_INT(overview_read(s->overview, &wanted, &s->arena, &s->table, &err), 0);
    CHECK_STR(err.text, "");
}

static uint32_t row_of(const struct overview_sample *s, const char *name)
{
    uint32_t place = place_find(s->run->model, str_of(name)), row = 0;

    while (row < s->table.n && s->table.places[row] != place)
        row++;
    return row;
}

static float cell(const struct overview_sample *s, const char *name, uint32_t column,
                  enum overview_number which)
{
    uint32_t row = row_of(s, name);

    CHECK(row < s->table.n);
    return s->table.cells[(size_t)row * s->table.columns + column].of[which];
}

static const struct history_options plain = {.queue = 1000};

TEST(every_column_of_one_step_has_the_numbers_of_that_step)
{
    static const enum step_number same[] = {
        [OVERVIEW_GRADIENT] = STEP_GRADIENT, [OVERVIEW_RATIO] = STEP_RATIO};
    struct overview_sample s;

    sample_begin(&s, &plain);
    for (uint64_t i = 0; i < 6; i++)
        put_step(s.writer, s.run->model, i, (float)i + 1, 0.001 * (double)(i + 1), 0);
    sample_open(&s, s.folder.file);
    read_columns(&s, 10, OVERVIEW_ALL_RANKS, 0);
    CHECK_INT(s.grid.columns, 6);
    CHECK_INT(s.grid.width, 1);
    CHECK_INT(s.table.unread, 0);
    CHECK(!s.table.has_bad && !s.table.ranks);
    /* `list` has units, the root is above parameters; others have neither. */
    CHECK(row_of(&s, "list") < s.table.n && row_of(&s, "") == 0);
    for (uint32_t m = 0; m < s.table.n; m++)
        for (uint32_t i = 0; i < 6; i++) {
            const struct overview_cell *got =
                &s.table.cells[(size_t)m * s.table.columns + i];
            struct at_step at;
            double value;

            CHECK_INT(at_step_read(s.history, s.run->model, i, &s.arena, &at, NULL), 0);
            for (size_t k = 0; k < COUNT_OF(same); k++) {
                if (step_number(&at.at[s.table.places[m]], same[k], &value))
                    CHECK_NEAR((double)got->of[k], value, 1e-6 * value);
                else
                    CHECK(isnan(got->of[k]));
            }
            if (step_dead(&at.at[s.table.places[m]], &value))
                CHECK_NEAR((double)got->of[OVERVIEW_DEAD], value, 1e-6);
            else
                CHECK(isnan(got->of[OVERVIEW_DEAD]));
            CHECK(got->of[OVERVIEW_BAD] == 0);
        }
    CHECK(cell(&s, "list", 3, OVERVIEW_DEAD) == 3.0f / 8);
    CHECK(cell(&s, "", 3, OVERVIEW_DEAD) == 3.0f / 8); /* of all units below */
    sample_end(&s);
}

/* tail.weight is a.weight. */
TEST(the_row_of_a_module_with_tied_parameters_names_their_owner)
{
    struct overview_sample s;

    sample_begin(&s, &plain);
    for (uint64_t step = 0; step < 3; step++)
        put_step(s.writer, s.run->model, step, (float)(step + 1), 0.5, 0);
    sample_open(&s, s.folder.file);
    read_columns(&s, 10, OVERVIEW_ALL_RANKS, 0);
    CHECK_INT(s.table.tied[row_of(&s, "tail")], place_find(s.run->model, STR("a")));
    CHECK_INT(s.table.tied[row_of(&s, "a")], NO_PLACE);
    CHECK_INT(s.table.tied[row_of(&s, "")], NO_PLACE);
    CHECK_NEAR(cell(&s, "tail", 2, OVERVIEW_GRADIENT), 6, 1e-5);
    CHECK_NEAR(cell(&s, "tail", 2, OVERVIEW_RATIO), 0.002, 1e-8);
    CHECK_NEAR(cell(&s, "", 2, OVERVIEW_GRADIENT), hypot(6, 12), 1e-5);
    sample_end(&s);
}

TEST(a_cell_shows_the_worst_of_its_steps)
{
    /* Of a.weight 0.002 in each step, so a's ratio is near that of the bias. */
    static const double ratios[] = {0.001, 0.0008, 0.0009, 1e-5, 0.001, 0.2, 0.001, 0};
    struct overview_sample s;

    sample_begin(&s, &plain);
    for (uint64_t i = 0; i < 8; i++)
        put_step(s.writer, s.run->model, i, i == 2 ? 50 : 1, ratios[i], 0);
    sample_open(&s, s.folder.file);
    read_columns(&s, 2, OVERVIEW_ALL_RANKS, 0);
    CHECK_INT(s.grid.columns, 2);
    CHECK_INT(s.grid.width, 4);
    CHECK_NEAR((double)cell(&s, "a", 0, OVERVIEW_GRADIENT), 50 * sqrt(20), 1e-3);
    CHECK_NEAR((double)cell(&s, "a", 1, OVERVIEW_GRADIENT), sqrt(20), 1e-5);
    CHECK_NEAR((double)cell(&s, "a", 1, OVERVIEW_RATIO), hypot(0.002 * 6, 0.2 * 8) / 10,
               1e-6);
    CHECK(cell(&s, "list", 0, OVERVIEW_DEAD) == 3.0f / 8);
    CHECK(cell(&s, "list", 1, OVERVIEW_DEAD) == 7.0f / 8);
    sample_end(&s);
}

TEST(the_worse_of_two_numbers_depends_on_their_kind)
{
    CHECK(overview_worse(OVERVIEW_GRADIENT, 1, 2));
    CHECK(!overview_worse(OVERVIEW_GRADIENT, 2, 2));
    CHECK(overview_worse(OVERVIEW_GRADIENT, 2, INFINITY));
    CHECK(overview_worse(OVERVIEW_GRADIENT, NAN, 0));
    CHECK(!overview_worse(OVERVIEW_GRADIENT, 0, NAN));
    CHECK(overview_worse(OVERVIEW_RATIO, 1e-3f, 1e-4f));
    CHECK(overview_worse(OVERVIEW_RATIO, 2e-3f, 1e-4f));
    CHECK(!overview_worse(OVERVIEW_RATIO, 1e-1f, 1e-4f));
    CHECK(overview_worse(OVERVIEW_RATIO, 1e-1f, 0));
    CHECK(overview_worse(OVERVIEW_RATIO, 0, INFINITY));
}

TEST(non_finite_values_have_a_first_step_and_a_close_up)
{
    struct overview_sample s;
    struct close_up close;
    uint32_t row;

    sample_begin(&s, &plain);
    for (uint64_t i = 0; i < 30; i++)
        put_step(s.writer, s.run->model, 2 * i, i >= 20 ? NAN : 1, 0.001,
                 i == 3 ? HISTORY_SKIPPED : 0);
    sample_open(&s, s.folder.file);
    read_columns(&s, 8, OVERVIEW_ALL_RANKS, 0);
    CHECK(s.table.has_bad && s.table.first_bad == 40);
    CHECK_INT(s.grid.columns, 8);
    CHECK(cell(&s, "a", 4, OVERVIEW_BAD) == 0);
    CHECK(cell(&s, "a", 5, OVERVIEW_BAD) == 1);
    CHECK(isinf(cell(&s, "", 5, OVERVIEW_GRADIENT)));
    CHECK(cell(&s, "list", 5, OVERVIEW_BAD) == 0);
    CHECK_INT(overview_close_up(s.overview, &s.table, HISTORY_TRAIN, 40,
                                OVERVIEW_ALL_RANKS, &s.arena, &close, NULL),
              0);
    CHECK_INT(close.n, CLOSE_UP);
    CHECK_INT(close.first[0], 20);
    CHECK_INT(close.first[10], 40);
    row = row_of(&s, "a");
    for (uint32_t i = 0; i < CLOSE_UP; i++) {
        CHECK_INT(close.states[row][i], i < 10 ? CLOSE_UP_FINITE : CLOSE_UP_BAD);
        CHECK_INT(close.states[row_of(&s, "list")][i], CLOSE_UP_FINITE);
    }
    /* At an end of the run there are fewer steps on one side. */
    CHECK_INT(overview_close_up(s.overview, &s.table, HISTORY_TRAIN, 58,
                                OVERVIEW_ALL_RANKS, &s.arena, &close, NULL),
              0);
    CHECK(close.n == CLOSE_UP && close.last[CLOSE_UP - 1] == 58);
    CHECK_INT(overview_close_up(s.overview, &s.table, HISTORY_TRAIN, 0,
                                OVERVIEW_ALL_RANKS, &s.arena, &close, NULL),
              0);
    CHECK(close.n == CLOSE_UP && close.first[0] == 0);
    sample_end(&s);
}

TEST(steps_that_the_gradient_scaler_skipped_are_not_bad)
{
    struct overview_sample s;

    sample_begin(&s, &plain);
    put_step(s.writer, s.run->model, 0, INFINITY, 0.001, HISTORY_SKIPPED);
    put_step(s.writer, s.run->model, 1, 1, 0.001, 0);
    sample_open(&s, s.folder.file);
    read_columns(&s, 8, OVERVIEW_ALL_RANKS, 0);
    CHECK(!s.table.has_bad);
    CHECK(isnan(cell(&s, "a", 0, OVERVIEW_GRADIENT)));
    CHECK(isnan(cell(&s, "a", 0, OVERVIEW_BAD)));
    CHECK(cell(&s, "a", 1, OVERVIEW_BAD) == 0);
    CHECK(s.grid.skipped[0] == 1 && s.grid.skipped[1] == 0);
    sample_end(&s);
}

/* ---- steps that were merged, steps that come ---- */

TEST(merged_steps_show_the_worst_kept_value)
{
    const struct history_options few = {.queue = 1000, .steps = 64};
    struct history_step *steps;
    struct overview_sample s;
    float worst = 0, dead = 0;
    uint32_t n;

    sample_begin(&s, &few);
    for (uint64_t i = 0; i < 300; i++)
        put_step(s.writer, s.run->model, i, 1, i == 5 ? 0.5 : 0.001, 0);
    sample_open(&s, s.folder.file);
    CHECK_INT(history_read_steps(s.history, &(struct history_range){0}, &s.arena,
                                 &steps, &n, NULL),
              0);
    CHECK(n < 100 && steps[0].merged > 1);
    read_columns(&s, 100, OVERVIEW_ALL_RANKS, 0);
    for (uint32_t i = 0; i < s.grid.columns; i++) {
        worst = fmaxf(worst, cell(&s, "a", i, OVERVIEW_RATIO));
        dead = fmaxf(dead, cell(&s, "list", i, OVERVIEW_DEAD));
        CHECK_NEAR((double)cell(&s, "a", i, OVERVIEW_GRADIENT), sqrt(20), 1e-5);
    }
    CHECK_NEAR((double)worst, hypot(0.002 * 6, 0.5 * 8) / 10, 1e-6);
    CHECK(dead == 7.0f / 8);
    sample_end(&s);
}

TEST(column_boundaries_do_not_move_when_steps_are_added)
{
    struct overview_sample s;
    uint64_t first[8];
    uint32_t columns;

    sample_begin(&s, &plain);
    for (uint64_t i = 0; i < 9; i++)
        put_step(s.writer, s.run->model, i, 1, 0.001, 0);
    s.history = history_open(s.folder.file, NULL, NULL); /* while it is written */
    s.overview = overview_new(s.history, s.run->model);
    CHECK(s.history && s.overview);
    read_columns(&s, 8, OVERVIEW_ALL_RANKS, 0);
    CHECK(s.grid.width == 2 && s.grid.columns == 5);
    columns = s.grid.columns;
    for (uint32_t i = 0; i < columns; i++)
        first[i] = s.grid.first[i];
    for (uint64_t i = 9; i < 16; i++) {
        put_step(s.writer, s.run->model, i, i == 15 ? 9 : 1, 0.001, 0);
        read_columns(&s, 8, OVERVIEW_ALL_RANKS, 0);
        CHECK(s.grid.width == 2);
        for (uint32_t k = 0; k < columns; k++)
            CHECK_INT(s.grid.first[k], first[k]);
    }
    CHECK_INT(s.grid.columns, 8);
    CHECK_NEAR((double)cell(&s, "a", 7, OVERVIEW_GRADIENT), 9 * sqrt(20), 1e-4);
    history_grid_since(&s.grid, 12);
    CHECK(s.grid.columns == 2 && s.grid.first[0] == 12);
    put_step(s.writer, s.run->model, 16, 1, 0.001, 0);
    read_columns(&s, 8, OVERVIEW_ALL_RANKS, 0);
    CHECK(s.grid.width == 4 && s.grid.columns == 5);
    sample_end(&s);
}

TEST(a_quick_answer_skips_rows_and_the_next_one_reads_them)
{
    struct overview_sample s;
    uint64_t before;

    sample_begin(&s, &plain);
    for (uint64_t i = 0; i < 64; i++)
        put_step(s.writer, s.run->model, i, 1, 0.001, 0);
    sample_open(&s, s.folder.file);
    read_columns(&s, 4, OVERVIEW_ALL_RANKS, 100);
    before = s.table.unread;
    CHECK(before > 20 && before < 64);
    CHECK_NEAR((double)cell(&s, "a", 3, OVERVIEW_GRADIENT), sqrt(20), 1e-5);
    for (int i = 0; i < 30 && s.table.unread > 0; i++) {
        read_columns(&s, 4, OVERVIEW_ALL_RANKS, 100);
        CHECK(s.table.unread < before);
        before = s.table.unread;
    }
    CHECK_INT(s.table.unread, 0);
    sample_end(&s);
}

/* ---- ranks ---- */

TEST(the_worst_rank_is_shown_and_named)
{
    struct history_options options = {.queue = 1000, .ranks = 2};
    struct overview_sample s;
    char path[120];
    size_t at;

    sample_begin(&s, &plain);
    CHECK_INT(history_writer_close(s.writer, NULL), 0);
    s.writer = NULL;
    unlink(s.folder.file);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct history_writer *writer;

        options.rank = 3 * rank; /* 0 and 3 */
        snprintf(path, sizeof path, "%s/rank%u.scope", s.folder.path, 3 * rank);
        writer = history_writer_create(path, s.run, NULL, &options, NULL);
        CHECK(writer != NULL);
        for (uint64_t i = 0; i < 4; i++)
            put_step(writer, s.run->model, i, rank == i % 2 ? 7 : 1, 0.001, 0);
        CHECK_INT(history_writer_close(writer, NULL), 0);
    }
    sample_open(&s, s.folder.path);
    read_columns(&s, 8, OVERVIEW_ALL_RANKS, 0);
    CHECK(s.table.n_ranks == 2 && s.table.ranks[1] == 3);
    for (uint32_t i = 0; i < 4; i++) {
        at = (size_t)row_of(&s, "a") * s.table.columns + i;
        CHECK_NEAR((double)s.table.cells[at].of[OVERVIEW_GRADIENT], 7 * sqrt(20), 1e-4);
        CHECK_NEAR((double)s.table.least[at].of[OVERVIEW_GRADIENT], sqrt(20), 1e-5);
        CHECK_INT(s.table.worst_rank[at][OVERVIEW_GRADIENT], i % 2);
        CHECK_INT(s.table.least_rank[at][OVERVIEW_GRADIENT], 1 - i % 2);
    }
    read_columns(&s, 8, 3, 0);
    CHECK_NEAR((double)cell(&s, "a", 0, OVERVIEW_GRADIENT), sqrt(20), 1e-5);
    CHECK(overview_read(s.overview,
                        &(struct overview_wanted){.grid = &s.grid, .rank = 1}, &s.arena,
                        &s.table, NULL) < 0);
    sample_end(&s);
}

/* ---- little, and damaged ---- */

TEST(an_empty_run_has_no_columns)
{
    struct overview_sample s;

    sample_begin(&s, &plain);
    sample_open(&s, s.folder.file);
    read_columns(&s, 8, OVERVIEW_ALL_RANKS, 0);
    CHECK(s.table.n == 0 && s.table.columns == 0 && !s.table.has_bad);
    sample_end(&s);
}

TEST(without_parameters_results_are_used)
{
    struct overview_sample s;

    sample_begin(&s, &plain);
    for (uint64_t i = 0; i < 4; i++) {
        history_writer_begin(s.writer, i, HISTORY_TRAIN, (i + 1) * 1000000000u);
        put_point(s.writer, s.run->model, "list", HISTORY_OUTPUT,
                  i == 2 ? -INFINITY : 1, -1, 4);
        put_point(s.writer, s.run->model, "list", HISTORY_GRAD_OUTPUT,
                  i == 3 ? -INFINITY : 1, -1, -1);
        history_writer_end(s.writer, 0);
    }
    sample_open(&s, s.folder.file);
    read_columns(&s, 8, OVERVIEW_ALL_RANKS, 0);
    CHECK(cell(&s, "list", 1, OVERVIEW_DEAD) == 0.5f);
    CHECK(cell(&s, "list", 2, OVERVIEW_BAD) == 0); /* a mask may have it */
    CHECK(cell(&s, "list", 3, OVERVIEW_BAD) == 1);
    CHECK(s.table.has_bad && s.table.first_bad == 3);
    sample_end(&s);
}

TEST(invalid_rows_are_skipped)
{
    static const char *const changes[] = {
        "UPDATE history_point SET merged = 0",
        "UPDATE history_point SET merged = 4000000000",
        "UPDATE history_point SET nan = 5",
        "UPDATE history_point SET count = -1",
        "UPDATE history_point SET ratio_bad = -1",
        "UPDATE history_point SET mean = 'text', m2 = x'00', count = 'x'",
        "UPDATE history_point SET units = -1, dead_n = 7, dead_sum = 1e300",
        "UPDATE history_step SET merged = 3",
        "UPDATE history_series SET place = 4000000",
        "UPDATE history_series SET kind = 4",
        "DELETE FROM history_series WHERE id = 2",
        "UPDATE history_step SET id = id * 1000000000000, segment = id",
        "UPDATE history_step SET first = 5, last = 5",
    };

    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        struct overview_sample s;
        char *message = NULL;
        struct close_up close;
        sqlite3 *db;

        sample_begin(&s, &plain);
        for (uint64_t k = 0; k < 6; k++)
            put_step(s.writer, s.run->model, k, 1, 0.001, 0);
        CHECK_INT(history_writer_close(s.writer, NULL), 0);
        s.writer = NULL;
        CHECK(sqlite3_open(s.folder.file, &db) == SQLITE_OK);
        sqlite3_exec(db, changes[i], NULL, NULL, &message);
        CHECK_STR(message, NULL);
        sqlite3_close(db);
        sample_open(&s, s.folder.file);
        read_columns(&s, 3, OVERVIEW_ALL_RANKS, 0);
        CHECK(s.table.columns <= 3);
        CHECK_INT(overview_close_up(s.overview, &s.table, HISTORY_TRAIN, 3,
                                    OVERVIEW_ALL_RANKS, &s.arena, &close, NULL),
                  0);
        sample_end(&s);
    }
}
