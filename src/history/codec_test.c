#include "base/test.h"
#include "history/sample_history_in.h"
#include "measure/spread.h"

#define STEPS    200
#define ELEMENTS 50

/* The elements of a step. */
static void fill(float *elements, uint64_t step)
{
    for (uint32_t i = 0; i < ELEMENTS; i++)
        elements[i] = (float)((step * 7919 + i * 104729) % 1000) / 100 - (float)step;
}

static void write_spreads(const char *path)
{
    const struct history_options options = {.steps = 64, .queue = 64};
    struct history_writer *writer =
        history_writer_create(path, NULL, NULL, &options, NULL);
    struct spread_counter *counter = spread_counter_new(NULL);
    struct spread spread = {0};
    struct buf packed = BUF_INIT;
    float elements[ELEMENTS];

    CHECK(writer && counter);
    sample_declare(writer, 1);
    for (uint64_t i = 0; i < STEPS; i++) {
        struct history_point point = {0};

        fill(elements, i);
        stats_init(&point.stats, DTYPE_FLOAT32);
        stats_add(&point.stats, NULL, DTYPE_FLOAT32, elements, ELEMENTS, 0,
                  MEASURE_EXACT);
        CHECK(spread_of(counter, DTYPE_FLOAT32, elements, ELEMENTS, SPREAD_ALL, &spread,
                        NULL) == 0);
        buf_clear(&packed);
        spread_pack(&spread, &packed);
        point.histogram = buf_span(&packed);
        history_writer_begin(writer, i, HISTORY_TRAIN, 0);
        history_writer_point(writer, &point);
        history_writer_end(writer, 0);
        history_writer_flush(writer);
    }
    CHECK(history_writer_close(writer, NULL) == 0);
    spread_counter_free(counter);
    spread_release(&spread);
    buf_release(&packed);
}

TEST(spreads_of_merged_steps_are_those_of_all_elements)
{
    static float elements[STEPS * ELEMENTS];
    const struct history_wanted wanted = {.most = 9, .histograms = true};
    struct spread_counter *counter = spread_counter_new(NULL);
    struct spread expected = {0}, got = {0};
    struct history_sample *samples;
    struct sample_folder folder;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    write_spreads(folder.file);
    arena_init(&arena, 0);
    history = history_open(folder.file, NULL, NULL);
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 9);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t first = samples[i].step.first, steps = samples[i].step.merged;

        for (uint64_t k = 0; k < steps; k++)
            fill(elements + k * ELEMENTS, first + k);
        CHECK(spread_of(counter, DTYPE_FLOAT32, elements, steps * ELEMENTS, SPREAD_ALL,
                        &expected, NULL) == 0);
        CHECK(spread_unpack(bytes_of(samples[i].point.histogram.at,
                                     samples[i].point.histogram.len),
                            &got, NULL) == 0);
        CHECK(spread_equal(&got, &expected));
    }
    CHECK(samples[0].step.merged > 16);
    history_close(history);
    arena_release(&arena);
    spread_counter_free(counter);
    spread_release(&expected);
    spread_release(&got);
    sample_folder_remove(&folder);
}
