/* A history in memory: it is read while it is written, keeps its limit and outlives its
 * writer as long as a reader has it open. */
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "history/sample_history_in.h"

#define SERIES 20

static struct history_writer *create(uint64_t limit)
{
    const struct history_options options = {.codec = &sample_codec, .limit = limit};
    struct history_writer *writer = history_writer_memory(&options, NULL);

    CHECK(writer != NULL);
    sample_declare(writer, SERIES);
    return writer;
}

/* The points of the last series, checked. */
static uint32_t count_points(struct history *history, uint64_t *ret_steps)
{
    const struct history_wanted wanted = {.series = SERIES - 1, .histograms = true};
    struct history_sample *samples = NULL;
    struct arena arena;
    uint32_t n = 0;

    *ret_steps = 0;
    arena_init(&arena, 0);
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    for (uint32_t i = 0; i < n; i++) {
        sample_check(&samples[i], SERIES - 1);
        *ret_steps += samples[i].step.merged;
    }
    arena_release(&arena);
    return n;
}

TEST(a_history_in_memory_is_read_while_it_is_written_and_after)
{
    struct history_writer *writer = create(0), *other = create(0);
    struct history *history;
    uint64_t steps;

    CHECK(strcmp(history_writer_path(writer), history_writer_path(other)) != 0);
    history = history_open(history_writer_path(writer), &sample_codec, NULL);
    CHECK(history != NULL);
    for (uint64_t i = 0; i < 5; i++)
        sample_write(writer, i, SERIES);
    sample_write(other, 0, SERIES);
    history_writer_flush(writer);
    CHECK_INT(count_points(history, &steps), 5);
    sample_write(writer, 5, SERIES);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(count_points(history, &steps), 6);
    history_close(history);
    CHECK(history_writer_close(other, NULL) == 0);
}

TEST(a_history_in_memory_keeps_its_limit)
{
    struct history_writer *writer = create(MIB);
    struct history_state state;
    struct history *history;
    uint64_t steps;

    history = history_open(history_writer_path(writer), &sample_codec, NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        sample_write(writer, i, SERIES);
        history_writer_flush(writer);
    }
    history_writer_state(writer, &state);
    CHECK(state.problem[0] == '\0');
    CHECK(state.merged > 0);
    CHECK(state.bytes > 0 && state.bytes <= MIB);
    CHECK(count_points(history, &steps) < 1000);
    CHECK_INT(steps, 1000);
    CHECK(history_writer_close(writer, NULL) == 0);
    history_close(history);
}
