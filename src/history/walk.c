#include "history/walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "history/ranks_in.h"

#define ROWS_LIMIT  ((size_t)8 * GIB)
#define HOLD_VISITS 64 /* steps, so that the -wal of a running training is reset */

struct walk_file {
    struct history *history;
    struct rank_numbers series, names;
    uint64_t merged; /* scratch of take_steps() */
};

struct walk_row {
    uint64_t first, last, id;
    uint64_t block;
    uint32_t file, merged, points;
};

/* ---- series and names ---- */

static int open_file(struct history_walk *walk, struct history *history,
                     struct err *err)
{
    walk->n_files = 1;
    walk->files = arena_array(walk->arena, 1, sizeof *walk->files);
    if (!walk->files)
        return arena_err(walk->arena, "a history", err);
    walk->files[0] = (struct walk_file){.history = history};
    if (history_read_series(history, walk->arena, &walk->series, &walk->n_series, err) <
        0)
        return -1;
    return history_read_names(history, walk->arena, &walk->names, &walk->n_names, err);
}

/* Keeps the numbers of series: later queries may number them again. */
static int open_ranks(struct history_walk *walk, struct history_ranks *ranks,
                      struct err *err)
{
    struct rank_lists lists;

    if (history_ranks_lists(ranks, walk->arena, &lists, err) < 0)
        return -1;
    walk->series = lists.series;
    walk->n_series = lists.n_series;
    walk->names = lists.names;
    walk->n_names = lists.n_names;
    walk->n_files = ranks->n;
    walk->files = arena_array(walk->arena, (size_t)ranks->n + 1, sizeof *walk->files);
    if (!walk->files)
        return arena_err(walk->arena, "a history", err);
    for (uint32_t i = 0; i < ranks->n; i++) {
        struct walk_file *file = &walk->files[i];

        *file = (struct walk_file){.history = ranks->files[i]};
        if (rank_numbers_make(&file->series, &ranks->series, i, walk->arena, err) < 0 ||
            rank_numbers_make(&file->names, &ranks->names, i, walk->arena, err) < 0)
            return -1;
    }
    return 0;
}

int history_walk_open(struct history_walk *walk, struct history *history,
                      struct arena *arena, struct err *err)
{
    struct history_ranks *ranks = history_ranks_of(history);
    uint32_t n;
    int status;

    *walk = (struct history_walk){.history = history, .arena = arena, .done = true};
    arena_init(&walk->rows_arena, ROWS_LIMIT);
    status = ranks ? open_ranks(walk, ranks, err) : open_file(walk, history, err);
    if (status < 0)
        return -1;
    n = walk->n_series > walk->n_names ? walk->n_series : walk->n_names;
    walk->slots = arena_array(arena, (size_t)n + 1, sizeof *walk->slots);
    if (!walk->slots)
        return arena_err(arena, "a history", err);
    memset(walk->slots, 0xff, (size_t)n * sizeof *walk->slots);
    return 0;
}

static void let_go(struct history_walk *walk)
{
    if (walk->visited > 0)
        history_let_go(walk->history);
    walk->visited = 0;
}

void history_walk_close(struct history_walk *walk)
{
    let_go(walk);
    arena_release(&walk->rows_arena);
}

/* ---- steps ---- */

static int read_rows(struct history_walk *walk, uint32_t file, uint8_t phase,
                     uint32_t *room, struct arena *scratch, struct err *err)
{
    const struct history_range range = {.phase = phase};
    struct arena *arena = &walk->rows_arena;
    struct history_step *steps;
    uint32_t n;

    if (history_read_steps(walk->files[file].history, &range, scratch, &steps, &n,
                           err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        const struct history_step *step = &steps[i];

        if (arena_room(arena, &walk->rows, walk->n_rows, room, sizeof *walk->rows) < 0)
            return arena_err(arena, "the steps", err);
        walk->rows[walk->n_rows++] =
            (struct walk_row){step->first, step->last,   step->id,    step->block,
                              file,        step->merged, step->points};
    }
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct walk_row *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* The rows from `from` on that overlap. *ret_single: they are of one step. */
static uint32_t overlap_end(const struct history_walk *walk, uint32_t from,
                            bool *ret_single)
{
    uint64_t first = walk->rows[from].first, last = first;
    bool single = true;
    uint32_t i = from;

    for (; i < walk->n_rows && walk->rows[i].first <= last; i++) {
        const struct walk_row *row = &walk->rows[i];

        single =
            single && row->merged == 1 && row->first == first && row->last == first;
        last = row->last > last ? row->last : last;
    }
    *ret_single = single;
    return i;
}

/* Steps of several ranks are the same steps: the rank with the most of them counts. */
static uint64_t count_merged(struct history_walk *walk, uint32_t from, uint32_t end)
{
    uint64_t most = 0;

    for (uint32_t i = from; i < end; i++) {
        struct walk_file *file = &walk->files[walk->rows[i].file];

        file->merged += walk->rows[i].merged;
        most = file->merged > most ? file->merged : most;
    }
    for (uint32_t i = from; i < end; i++)
        walk->files[walk->rows[i].file].merged = 0;
    return most;
}

/* Keeps the rows of steps that were not merged, in place. A step may have several rows
 * in one file: scalars may have a separate one. */
static void take_steps(struct history_walk *walk)
{
    uint32_t n = 0, end;
    bool single;

    for (uint32_t i = 0; i < walk->n_rows; i = end) {
        end = overlap_end(walk, i, &single);
        if (single) {
            walk->steps++;
            while (i < end)
                walk->rows[n++] = walk->rows[i++];
        } else {
            walk->merged += count_merged(walk, i, end);
        }
    }
    walk->steps += walk->merged;
    walk->n_rows = n;
}

static void find_end(struct history_walk *walk)
{
    walk->done = walk->first == walk->n_rows;
    if (walk->done)
        return;
    walk->number = walk->rows[walk->first].first;
    for (walk->end = walk->first;
         walk->end < walk->n_rows && walk->rows[walk->end].first == walk->number;)
        walk->end++;
}

int history_walk_begin(struct history_walk *walk, uint8_t phase, struct err *err)
{
    struct arena scratch;
    uint32_t room = 0;
    int status = 0;

    let_go(walk);
    arena_release(&walk->rows_arena);
    arena_init(&walk->rows_arena, ROWS_LIMIT);
    walk->rows = NULL;
    walk->n_rows = walk->first = walk->end = 0;
    walk->steps = walk->merged = 0;
    for (uint32_t i = 0; status == 0 && i < walk->n_files; i++) {
        arena_init(&scratch, 0);
        status = read_rows(walk, i, phase, &room, &scratch, err);
        arena_release(&scratch);
    }
    if (status < 0)
        return -1;
    if (walk->n_rows > 1)
        qsort(walk->rows, walk->n_rows, sizeof *walk->rows, by_number);
    take_steps(walk);
    find_end(walk);
    return 0;
}

void history_walk_next(struct history_walk *walk)
{
    walk->first = walk->end;
    find_end(walk);
    if (walk->visited > 0 && ++walk->visited > HOLD_VISITS)
        let_go(walk);
}

/* ---- the rows of a step ---- */

static int hold(struct history_walk *walk, struct err *err)
{
    if (walk->visited > 0)
        return 0;
    if (history_hold(walk->history, err) < 0)
        return -1;
    walk->visited = 1;
    return 0;
}

/* By series of a file: its index here; HISTORY_NONE: declared meanwhile. */
static uint32_t index_of(const struct history_walk *walk,
                         const struct rank_numbers *numbers, uint32_t own, uint32_t n)
{
    uint32_t index = history_ranks_of(walk->history) ? rank_number(numbers, own) : own;

    return index < n ? index : HISTORY_NONE;
}

struct walk_points {
    struct history_walk *walk;
    struct history_point *at;
    uint32_t n, room;
    bool histograms;
    struct arena *arena;
    struct buf scratch;
    struct err *err;
};

/* A file may have logged a step twice: the later row replaces the earlier one. */
static int add_points(struct walk_points *to, const struct walk_row *row)
{
    struct history_walk *walk = to->walk;
    const struct walk_file *file = &walk->files[row->file];
    const struct history_step step = {.block = row->block};
    struct history_point *points;
    uint32_t n;

    if (history_read_step_points(file->history, &step, to->histograms, to->arena,
                                 &points, &n, to->err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t series =
            index_of(walk, &file->series, points[i].series, walk->n_series);
        uint32_t *slot;

        if (series == HISTORY_NONE)
            continue;
        slot = &walk->slots[series];
        points[i].series = series;
        if (*slot == HISTORY_NONE) {
            if (arena_room(to->arena, &to->at, to->n, &to->room, sizeof *to->at) < 0)
                return arena_err(to->arena, "a step", to->err);
            *slot = to->n++;
            to->at[*slot] = points[i];
        } else if (walk->n_files == 1) {
            to->at[*slot] = points[i];
        } else {
            history_point_merge(&to->at[*slot], &points[i], &history_spreads,
                                &to->scratch);
        }
    }
    return 0;
}

int history_walk_points(struct history_walk *walk, bool histograms, struct arena *arena,
                        struct history_point **ret_points, uint32_t *ret_n,
                        struct err *err)
{
    struct walk_points to = {.walk = walk,
                             .histograms =
                                 histograms && !history_ranks_of(walk->history),
                             .arena = arena,
                             .err = err};
    int status = hold(walk, err);

    for (uint32_t i = walk->first; status == 0 && i < walk->end; i++)
        if (walk->rows[i].points > 0)
            status = add_points(&to, &walk->rows[i]);
    for (uint32_t i = 0; i < to.n; i++)
        walk->slots[to.at[i].series] = HISTORY_NONE;
    buf_release(&to.scratch);
    if (status < 0)
        return -1;
    *ret_points = to.at;
    *ret_n = to.n;
    return 0;
}

struct walk_scalars {
    struct history_walk *walk;
    struct history_scalar *at; /* (names) */
    uint32_t *values;          /* (names) whose mean is `last` */
    uint32_t n;
    struct arena *arena;
    struct err *err;
};

static void add_scalar(struct walk_scalars *to, uint32_t name,
                       const struct history_scalar *scalar)
{
    uint32_t *slot = &to->walk->slots[name];
    struct history_scalar *sum;

    if (*slot == HISTORY_NONE || to->walk->n_files == 1) {
        *slot = *slot == HISTORY_NONE ? to->n++ : *slot;
        to->at[*slot] = *scalar;
        to->at[*slot].name = name;
        to->values[*slot] = 1;
        return;
    }
    sum = &to->at[*slot];
    history_number_merge(&sum->number, &scalar->number);
    to->values[*slot]++;
    if (sum->last != scalar->last)
        sum->last += (scalar->last - sum->last) / to->values[*slot];
}

static int add_scalars(struct walk_scalars *to, const struct walk_row *row)
{
    struct history_walk *walk = to->walk;
    const struct walk_file *file = &walk->files[row->file];
    const struct history_step step = {.block = row->block};
    struct history_scalar *scalars;
    uint32_t n;

    if (history_read_step_scalars(file->history, &step, to->arena, &scalars, &n,
                                  to->err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t name = index_of(walk, &file->names, scalars[i].name, walk->n_names);

        if (name != HISTORY_NONE)
            add_scalar(to, name, &scalars[i]);
    }
    return 0;
}

int history_walk_scalars(struct history_walk *walk, struct arena *arena,
                         struct history_scalar **ret_scalars, uint32_t *ret_n,
                         struct err *err)
{
    struct walk_scalars to = {.walk = walk, .arena = arena, .err = err};
    int status = hold(walk, err);

    to.at = arena_array(arena, (size_t)walk->n_names + 1, sizeof *to.at);
    to.values = arena_array(arena, (size_t)walk->n_names + 1, sizeof *to.values);
    if (status == 0 && (!to.at || !to.values))
        status = arena_err(arena, "a step", err);
    for (uint32_t i = walk->first; status == 0 && i < walk->end; i++)
        status = add_scalars(&to, &walk->rows[i]);
    for (uint32_t i = 0; i < to.n; i++)
        walk->slots[to.at[i].name] = HISTORY_NONE;
    if (status < 0)
        return -1;
    *ret_scalars = to.at;
    *ret_n = to.n;
    return 0;
}
