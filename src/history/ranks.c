/* Reads several histories as one. Takes all rows of a series from each file, merges
 * those that overlap, then neighbours until there are few enough. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "history/ranks_in.h"

/* ---- series and names of all ---- */

/* Begins a table of all files that are open. */
static void begin_table(const struct history_ranks *ranks, struct rank_table *table)
{
    arena_release(&table->arena);
    *table = (struct rank_table){.files = ranks->n};
    arena_init(&table->arena, 0);
}

/* Adds a key of file `rank`; copies it to the arena of the map if it is new. Returns
 * whether it is, or -1. */
static int add_key(struct rank_table *table, struct name_map *keys, struct str key,
                   uint32_t rank, uint32_t number)
{
    size_t width = table->files * sizeof *table->of;
    int added = 0;
    uint32_t at;

    if (!name_map_find(keys, key, &at)) {
        key = arena_str(keys->map.arena, key);
        added = key.at ? name_map_add(keys, key, &at) : -1;
    }
    if (added < 0 || (added && arena_room(&table->arena, &table->of, table->n,
                                          &table->room, width) < 0))
        return -1;
    if (added) {
        memset(table->of + (size_t)at * table->files, 0xff, width);
        table->n++;
    }
    table->of[(size_t)at * table->files + rank] = number;
    return added;
}

/* The series of all files, while they are numbered. */
struct all_series {
    struct history_ranks *ranks;
    struct arena *arena;
    struct history_series *at;
    uint32_t n, room;
    struct name_map keys;
    struct buf key;
};

static int add_series(struct all_series *all, const struct history_series *series,
                      uint32_t rank, uint32_t number)
{
    int added;

    buf_clear(&all->key);
    buf_printf(&all->key, "%u %u %u %zu ", series->kind, series->phase, series->call,
               series->name.len);
    buf_str(&all->key, series->name);
    buf_str(&all->key, series->path);
    added = all->key.bad ? -1
                         : add_key(&all->ranks->series, &all->keys, buf_span(&all->key),
                                   rank, number);
    if (added <= 0)
        return added;
    if (arena_room(all->arena, &all->at, all->n, &all->room, sizeof *all->at) < 0)
        return -1;
    all->at[all->n] = *series;
    all->at[all->n].name = arena_str(all->arena, series->name);
    all->at[all->n].path = arena_str(all->arena, series->path);
    return all->at[all->n].name.at && all->at[all->n++].path.at ? 0 : -1;
}

/* The lists of one file are in `scratch`. */
static int number_series(struct all_series *all, uint32_t rank, struct arena *scratch,
                         struct err *err)
{
    struct history_series *some;
    uint32_t n;

    if (history_read_series(all->ranks->files[rank], scratch, &some, &n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (add_series(all, &some[i], rank, i) < 0)
            return arena_err(all->arena, "the list of series", err);
    return 0;
}

static int number_names(struct history_ranks *ranks, struct name_map *keys,
                        uint32_t rank, struct arena *scratch, struct err *err)
{
    struct str *some;
    uint32_t n;

    if (history_read_names(ranks->files[rank], scratch, &some, &n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (add_key(&ranks->names, keys, some[i], rank, i) < 0)
            return arena_err(keys->map.arena, "the list of scalars", err);
    return 0;
}

static int list_series(struct history_ranks *ranks, struct arena *arena,
                       struct history_series **ret_series, uint32_t *ret_n,
                       struct err *err)
{
    struct all_series all = {.ranks = ranks, .arena = arena, .key = BUF_INIT};
    struct arena scratch;
    int status = 0;

    name_map_init(&all.keys, arena);
    begin_table(ranks, &ranks->series);
    for (uint32_t rank = 0; status == 0 && rank < ranks->n; rank++) {
        arena_init(&scratch, 0);
        status = number_series(&all, rank, &scratch, err);
        arena_release(&scratch);
    }
    buf_release(&all.key);
    if (status == 0) {
        *ret_series = all.at;
        *ret_n = all.n;
    }
    return status;
}

static int list_names(struct history_ranks *ranks, struct arena *arena,
                      struct str **ret_names, uint32_t *ret_n, struct err *err)
{
    struct name_map keys;
    struct arena scratch;
    int status = 0;

    name_map_init(&keys, arena);
    begin_table(ranks, &ranks->names);
    for (uint32_t rank = 0; status == 0 && rank < ranks->n; rank++) {
        arena_init(&scratch, 0);
        status = number_names(ranks, &keys, rank, &scratch, err);
        arena_release(&scratch);
    }
    if (status == 0) {
        *ret_names = keys.names;
        *ret_n = keys.n;
    }
    return status;
}

int history_ranks_series(struct history_ranks *ranks, struct arena *arena,
                         struct history_series **ret_series, uint32_t *ret_n,
                         struct err *err)
{
    history_ranks_find(ranks, NULL);
    return list_series(ranks, arena, ret_series, ret_n, err);
}

int history_ranks_names(struct history_ranks *ranks, struct arena *arena,
                        struct str **ret_names, uint32_t *ret_n, struct err *err)
{
    history_ranks_find(ranks, NULL);
    return list_names(ranks, arena, ret_names, ret_n, err);
}

int history_ranks_lists(struct history_ranks *ranks, struct arena *arena,
                        struct rank_lists *ret_lists, struct err *err)
{
    struct rank_lists lists;

    history_ranks_find(ranks, NULL);
    if (list_series(ranks, arena, &lists.series, &lists.n_series, err) < 0 ||
        list_names(ranks, arena, &lists.names, &lists.n_names, err) < 0)
        return -1;
    *ret_lists = lists;
    return 0;
}

int rank_numbers_make(struct rank_numbers *numbers, const struct rank_table *table,
                      uint32_t file, struct arena *arena, struct err *err)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < table->n; i++) {
        uint32_t own = table->of[(size_t)i * table->files + file];

        n = own != HISTORY_NONE && own >= n ? own + 1 : n;
    }
    numbers->n = n;
    numbers->at = arena_array(arena, (size_t)n + 1, sizeof *numbers->at);
    if (!numbers->at)
        return arena_err(arena, "the history", err);
    memset(numbers->at, 0xff, (size_t)n * sizeof *numbers->at);
    for (uint32_t i = 0; i < table->n; i++) {
        uint32_t own = table->of[(size_t)i * table->files + file];

        if (own != HISTORY_NONE)
            numbers->at[own] = i;
    }
    return 0;
}

/* Numbers the series (names), unless this one has a number already. */
static int know_series(struct history_ranks *ranks, uint32_t number, struct err *err)
{
    struct history_series *series;
    struct arena arena;
    uint32_t n;
    int status = 0;

    arena_init(&arena, 0);
    if (number >= ranks->series.n)
        status = history_ranks_series(ranks, &arena, &series, &n, err);
    arena_release(&arena);
    return status;
}

static int know_names(struct history_ranks *ranks, uint32_t number, struct err *err)
{
    struct arena arena;
    struct str *names;
    uint32_t n;
    int status = 0;

    arena_init(&arena, 0);
    if (number >= ranks->names.n)
        status = history_ranks_names(ranks, &arena, &names, &n, err);
    arena_release(&arena);
    return status;
}

/* ---- points of all ---- */

/* A row of one file; for a scalar, `scalar` is used instead of the point. */
struct rank_row {
    struct history_sample sample;
    struct history_scalar scalar;
    uint32_t rank;
    uint32_t values; /* whose mean is scalar.last */
};

struct rank_rows {
    struct history_ranks *ranks;
    const struct history_wanted *wanted;
    struct arena *arena;
    struct rank_row *at;
    uint32_t n, room;
    bool scalars;
};

static int read_rank(struct rank_rows *rows, uint32_t rank,
                     struct history_wanted *wanted, struct err *err)
{
    struct history *history = rows->ranks->files[rank];
    struct history_scalar_sample *scalars = NULL;
    struct history_sample *samples = NULL;
    uint32_t n = 0;
    int status =
        rows->scalars
            ? history_read_scalars(history, wanted, rows->arena, &scalars, &n, err)
            : history_read_points(history, wanted, rows->arena, &samples, &n, err);

    for (uint32_t i = 0; status == 0 && i < n; i++) {
        struct rank_row row = {.rank = rank, .values = 1};

        if (arena_room(rows->arena, &rows->at, rows->n, &rows->room, sizeof row) < 0)
            return arena_err(rows->arena, "the history", err);
        if (rows->scalars) {
            row.sample.step = scalars[i].step;
            row.scalar = scalars[i].scalar;
        } else {
            row.sample = samples[i];
        }
        rows->at[rows->n++] = row;
    }
    return status;
}

/* By step, then by rank: the result does not depend on the order of reading. */
static int by_step(const void *a, const void *b)
{
    const struct rank_row *x = a, *y = b;

    if (x->sample.step.first != y->sample.step.first)
        return x->sample.step.first < y->sample.step.first ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int read_ranks(struct rank_rows *rows, const struct rank_table *table,
                      struct err *err)
{
    struct history_wanted wanted = *rows->wanted;

    if (wanted.series >= table->n)
        return err_set(err, ERR_NOT_FOUND, "no such series");
    wanted.most = 0;
    wanted.first = NULL;
    for (uint32_t rank = 0; rank < table->files; rank++) {
        wanted.series = table->of[(size_t)rows->wanted->series * table->files + rank];
        if (wanted.series != HISTORY_NONE && read_rank(rows, rank, &wanted, err) < 0)
            return -1;
    }
    if (rows->n > 1)
        qsort(rows->at, rows->n, sizeof *rows->at, by_step);
    return 0;
}

void history_ranks_join(struct history_step *to, const struct history_step *from,
                        bool same)
{
    uint32_t merged = to->merged, skipped = to->skipped;

    history_step_merge(to, from);
    if (!same)
        return;
    to->merged = merged > from->merged ? merged : from->merged;
    to->skipped = skipped > from->skipped ? skipped : from->skipped;
}

/* The newest value of a step is the mean of those of its ranks. */
static void join_last(struct rank_row *to, const struct rank_row *from, bool same)
{
    to->values = same ? to->values + 1 : 1;
    if (!same)
        to->scalar.last = from->scalar.last;
    else if (to->scalar.last != from->scalar.last)
        to->scalar.last += (from->scalar.last - to->scalar.last) / to->values;
}

static int join(struct rank_rows *rows, struct rank_row *to,
                const struct rank_row *from, struct buf *scratch, struct err *err)
{
    /* Steps of several ranks are the same steps, not more of them. */
    bool same = to->rank != from->rank;

    history_ranks_join(&to->sample.step, &from->sample.step, same);
    if (rows->scalars) {
        history_number_merge(&to->scalar.number, &from->scalar.number);
        join_last(to, from, same);
        return 0;
    }
    history_point_merge(&to->sample.point, &from->sample.point, rows->ranks->codec,
                        scratch);
    to->sample.point.histogram = arena_str(rows->arena, to->sample.point.histogram);
    return to->sample.point.histogram.at ? 0
                                         : arena_err(rows->arena, "the history", err);
}

/* Merges rows that overlap, in place. */
static int join_overlaps(struct rank_rows *rows, struct buf *scratch, struct err *err)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < rows->n; i++) {
        struct rank_row *last = n ? &rows->at[n - 1] : NULL;

        if (last && rows->at[i].sample.step.first <= last->sample.step.last) {
            if (join(rows, last, &rows->at[i], scratch, err) < 0)
                return -1;
        } else {
            rows->at[n++] = rows->at[i];
        }
    }
    rows->n = n;
    return 0;
}

/* Merges the rows of each group that the caller chose, in place. */
static int join_chosen(struct rank_rows *rows, struct buf *scratch, struct err *err)
{
    const struct history_wanted *wanted = rows->wanted;
    uint32_t n = 0, group = 0, last = 0;

    for (uint32_t i = 0; i < rows->n; i++) {
        while (group + 1 < wanted->n_first &&
               wanted->first[group + 1] <= rows->at[i].sample.step.first)
            group++;
        if (n > 0 && group == last) {
            rows->at[i].rank = rows->at[n - 1].rank; /* other steps */
            if (join(rows, &rows->at[n - 1], &rows->at[i], scratch, err) < 0)
                return -1;
        } else {
            rows->at[n++] = rows->at[i];
            last = group;
        }
    }
    rows->n = n;
    return 0;
}

/* Merges neighbours to as many as wanted, in place. */
static int join_neighbours(struct rank_rows *rows, struct buf *scratch, struct err *err)
{
    uint32_t most = rows->wanted->most, n = rows->n;

    if (rows->wanted->first)
        return join_chosen(rows, scratch, err);
    if (most == 0 || most >= n)
        return 0;
    for (uint32_t group = 0; group < most; group++) {
        uint32_t begin = (uint32_t)((uint64_t)group * n / most);
        uint32_t end = (uint32_t)((uint64_t)(group + 1) * n / most);

        rows->at[group] = rows->at[begin];
        for (uint32_t i = begin + 1; i < end; i++) {
            rows->at[i].rank = rows->at[group].rank; /* other steps */
            if (join(rows, &rows->at[group], &rows->at[i], scratch, err) < 0)
                return -1;
        }
    }
    rows->n = most;
    return 0;
}

static int read_rows(struct rank_rows *rows, const struct rank_table *table,
                     struct err *err)
{
    struct buf scratch = BUF_INIT;
    int status = read_ranks(rows, table, err);

    if (status == 0)
        status = join_overlaps(rows, &scratch, err);
    if (status == 0)
        status = join_neighbours(rows, &scratch, err);
    buf_release(&scratch);
    return status;
}

int history_ranks_points(struct history_ranks *ranks,
                         const struct history_wanted *wanted, struct arena *arena,
                         struct history_sample **ret_samples, uint32_t *ret_n,
                         struct err *err)
{
    struct rank_rows rows = {.ranks = ranks, .wanted = wanted, .arena = arena};
    struct history_sample *samples;

    if (know_series(ranks, wanted->series, err) < 0 ||
        read_rows(&rows, &ranks->series, err) < 0)
        return -1;
    samples = arena_array(arena, (size_t)rows.n + 1, sizeof *samples);
    if (!samples)
        return arena_err(arena, "the history", err);
    for (uint32_t i = 0; i < rows.n; i++) {
        samples[i] = rows.at[i].sample;
        samples[i].point.series = wanted->series;
    }
    *ret_samples = samples;
    *ret_n = rows.n;
    return 0;
}

int history_ranks_scalars(struct history_ranks *ranks,
                          const struct history_wanted *wanted, struct arena *arena,
                          struct history_scalar_sample **ret_samples, uint32_t *ret_n,
                          struct err *err)
{
    struct rank_rows rows = {
        .ranks = ranks, .wanted = wanted, .arena = arena, .scalars = true};
    struct history_scalar_sample *samples;

    if (know_names(ranks, wanted->series, err) < 0 ||
        read_rows(&rows, &ranks->names, err) < 0)
        return -1;
    samples = arena_array(arena, (size_t)rows.n + 1, sizeof *samples);
    if (!samples)
        return arena_err(arena, "the history", err);
    for (uint32_t i = 0; i < rows.n; i++) {
        samples[i].step = rows.at[i].sample.step;
        samples[i].scalar = rows.at[i].scalar;
        samples[i].scalar.name = wanted->series;
    }
    *ret_samples = samples;
    *ret_n = rows.n;
    return 0;
}
