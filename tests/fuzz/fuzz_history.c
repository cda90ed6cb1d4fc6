/* The history of a training run. The file header (format, application, version) is
 * corrected, so that most mutations reach the tables; inputs of odd size keep theirs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "history/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

volatile uint64_t fuzz_history_seen; /* keeps the compiler from dropping the reads */

/* Any two packed histograms merge: the bytes of both. */
static int merge(struct str a, struct str b, struct buf *ret_packed)
{
    if (a.len + b.len > 1000)
        return -1;
    buf_str(ret_packed, a);
    buf_str(ret_packed, b);
    return 0;
}

static uint64_t touch(struct str text)
{
    uint64_t sum = text.len;

    for (size_t i = 0; i < text.len; i++)
        sum += (uint8_t)text.at[i];
    return sum;
}

static void read_lists(struct history *history, struct arena *arena)
{
    struct history_segment *segments;
    struct history_alarm *alarms;
    struct history_note *notes;
    struct history_step newest;
    struct str *names;
    uint32_t n = 0;

    if (history_read_names(history, arena, &names, &n, NULL) == 0)
        for (uint32_t i = 0; i < n; i++)
            fuzz_history_seen += touch(names[i]);
    if (history_read_segments(history, arena, &segments, &n, NULL) == 0)
        for (uint32_t i = 0; i < n; i++)
            fuzz_history_seen += touch(segments[i].text) + segments[i].first;
    if (history_read_alarms(history, 0, 50, arena, &alarms, &n, NULL) == 0)
        for (uint32_t i = 0; i < n; i++)
            fuzz_history_seen += touch(alarms[i].text) + touch(alarms[i].line);
    if (history_read_notes(history, 0, 50, arena, &notes, &n, NULL) == 0)
        for (uint32_t i = 0; i < n; i++)
            fuzz_history_seen += touch(notes[i].text);
    if (history_newest(history, &newest, NULL) == 0)
        fuzz_history_seen += newest.first + newest.merged;
}

static void read_series(struct history *history, struct arena *arena, uint32_t most)
{
    struct history_wanted wanted = {.most = most, .histograms = true};
    struct history_scalar_sample *scalars;
    struct history_sample *samples;
    struct history_series *series;
    uint32_t n_series = 0, n = 0;

    if (history_read_series(history, arena, &series, &n_series, NULL) < 0)
        return;
    for (uint32_t i = 0; i < n_series && i < 4; i++) {
        fuzz_history_seen += touch(series[i].name) + touch(series[i].path);
        wanted.series = i;
        wanted.range.phase = series[i].phase;
        if (history_read_points(history, &wanted, arena, &samples, &n, NULL) == 0)
            for (uint32_t k = 0; k < n; k++)
                fuzz_history_seen +=
                    touch(samples[k].point.histogram) + samples[k].point.stats.count;
        if (history_read_scalars(history, &wanted, arena, &scalars, &n, NULL) == 0)
            for (uint32_t k = 0; k < n; k++)
                fuzz_history_seen += scalars[k].scalar.number.n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct history_codec codec = {.merge = merge};
    struct history *history;
    struct arena arena;
    uint8_t *copy;

    if (size < 100)
        return 0;
    copy = malloc(size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (size % 2 == 0) {
        memcpy(copy, "SQLite format 3", 16);
        memcpy(copy + 60, "\0\0\0\2", 4);
        memcpy(copy + 68, "TSCP", 4);
    }
    arena_init(&arena, (size_t)64 << 20);
    history = history_open_memory(copy, size, "input.scope", &codec, NULL);
    if (history) {
        read_lists(history, &arena);
        read_series(history, &arena, 0);
        read_series(history, &arena, 2);
        fuzz_history_seen += history_damaged(history);
    }
    history_close(history);
    arena_release(&arena);
    free(copy);
    return 0;
}
