/* The history of a training run. The file header (format, application, version) is
 * corrected, so that most mutations reach the tables; inputs of odd size keep theirs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "history/memo.h"
#include "history/overview.h"
#include "model/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

volatile uint64_t fuzz_history_seen; /* keeps the compiler from dropping the reads */

/* Any packed histograms merge: the bytes of all. */
static int merge(const struct str *parts, uint32_t n, struct buf *ret_packed)
{
    size_t len = 0;

    for (uint32_t i = 0; i < n; i++)
        len += parts[i].len;
    if (len > 1000)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        buf_str(ret_packed, parts[i]);
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

/* A model with the names of the sample. */
static const struct model *make_model(void)
{
    static const char *const names[] = {"0", "1", "2"};
    const struct model *model = NULL;
    struct build build;
    uint32_t layer;

    if (build_init(&build, "input.scope", 1 << 20, NULL, NULL) < 0)
        return NULL;
    build_set_kind(&build, 0, PLACE_MODULE);
    layer = build_child(&build, 0, PLACE_MODULE, STR("layer"));
    for (int i = 0; i < 3; i++)
        build_child(&build, layer, PLACE_MODULE, str_of(names[i]));
    model = build_finish(&build, NULL);
    build_release(&build);
    return model;
}

/* Modules by column, twice: the second time from the cache. */
static void read_modules(struct history *history, const struct model *model,
                         struct arena *arena, uint8_t phase)
{
    const struct history_steady steady = {
        .phase = (enum history_phase)phase, .most = 3, .points = true};
    struct overview *overview = overview_new(history, model);
    struct history_grid grid;
    struct overview_table table;
    struct close_up close;

    for (int i = 0; overview && i < 2; i++) {
        const struct overview_wanted wanted = {
            .grid = &grid, .rank = OVERVIEW_ALL_RANKS, .most = i == 0 ? 4 : 0};

        if (history_grid_steady(&grid, history, &steady, arena, NULL) < 0 ||
            overview_read(overview, &wanted, arena, &table, NULL) < 0)
            break;
        fuzz_history_seen += table.n * table.columns + table.unread;
        if (overview_close_up(overview, &table, phase, table.first_bad,
                              OVERVIEW_ALL_RANKS, arena, &close, NULL) == 0)
            fuzz_history_seen += close.n;
    }
    overview_free(overview);
}

/* Series in steady columns, with their shades. */
static void read_columns(struct history *history, struct arena *arena, uint8_t phase)
{
    const struct history_steady steady = {.phase = (enum history_phase)phase,
                                          .most = 3};
    const struct history_shading how = {.rows = 4, .clip = 0.01, .axis = AXIS_LOG};
    struct history_memo *memo = history_memo_new(history);
    const struct history_point *const *points;
    struct history_shades shades;
    struct history_grid grid;

    for (uint32_t i = 0; memo && i < 3; i++)
        if (history_grid_steady(&grid, history, &steady, arena, NULL) == 0 &&
            history_memo_points(memo, &grid, i % 2, &points, NULL) == 0 &&
            history_shades_make(&shades, points, grid.columns, &how, arena, NULL) == 0)
            fuzz_history_seen += shades.rows + grid.columns;
    history_memo_free(memo);
}

/* Packed histograms as stored in the file. */
static void read_as_shown(const uint8_t *data, size_t size, struct arena *arena)
{
    struct history *history =
        history_open_memory(data, size, "input.scope", NULL, NULL);
    const struct model *model = history ? make_model() : NULL;
    struct at_step at;

    for (uint8_t phase = 0; model && phase < HISTORY_PHASES; phase++) {
        read_modules(history, model, arena, phase);
        read_columns(history, arena, phase);
    }
    if (model && at_step_read(history, model, STEP_NEWEST, arena, &at, NULL) == 0)
        fuzz_history_seen += at.known;
    model_free(model);
    history_close(history);
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
    read_as_shown(copy, size, &arena);
    arena_release(&arena);
    free(copy);
    return 0;
}
