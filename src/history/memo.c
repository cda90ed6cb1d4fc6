#include "history/memo.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define MEMO_SERIES 64u        /* that are kept */
#define MEMO_LIMIT  (64 * MIB) /* of one series */

struct memo_series {
    struct arena arena;
    uint64_t used; /* query counter: the least recently used entry is replaced first */
    uint64_t width;
    uint64_t *first; /* step numbers at which its columns begin */
    uint32_t series, columns;
    size_t size; /* of its arena when it was read whole */
    const struct history_point **points;
};

struct history_memo {
    struct history *history;
    struct memo_series at[MEMO_SERIES];
    uint64_t questions;
};

struct history_memo *history_memo_new(struct history *history)
{
    struct history_memo *memo = calloc(1, sizeof *memo);

    if (memo)
        memo->history = history;
    return memo;
}

void history_memo_free(struct history_memo *memo)
{
    if (!memo)
        return;
    for (uint32_t i = 0; i < MEMO_SERIES; i++)
        arena_release(&memo->at[i].arena);
    free(memo);
}

/* The one of this series, or the one to replace. */
static struct memo_series *find(struct history_memo *memo, uint32_t series,
                                uint64_t from)
{
    struct memo_series *oldest = &memo->at[0];

    for (uint32_t i = 0; i < MEMO_SERIES; i++) {
        struct memo_series *at = &memo->at[i];

        if (at->columns > 0 && at->series == series && at->first[0] == from)
            return at;
        if (at->used < oldest->used)
            oldest = at;
    }
    return oldest;
}

/* Do its columns begin at the same steps as the grid's? */
static bool is_prefix(const struct memo_series *kept, const struct history_grid *grid,
                      uint32_t series)
{
    return kept->columns > 0 && kept->series == series && kept->width == grid->width &&
           kept->columns <= grid->columns && kept->arena.used <= 4 * kept->size &&
           memcmp(kept->first, grid->first, kept->columns * sizeof *kept->first) == 0;
}

/* Reads columns from `at` on and appends them to the cached ones. */
static int read_columns(struct history_memo *memo, struct memo_series *to,
                        const struct history_grid *grid, uint32_t at, struct err *err)
{
    size_t n = (size_t)grid->columns + 1;
    const struct history_point **points, **row;
    struct history_grid rest = *grid;
    uint64_t *first = arena_array(&to->arena, n, sizeof *first);

    rest.columns -= at;
    rest.first += at;
    rest.last += at;
    points = arena_array(&to->arena, n, sizeof *points);
    if (!first || !points)
        return arena_err(&to->arena, "the series", err);
    if (history_grid_points(&rest, memo->history, to->series, &to->arena, &row, err) <
        0)
        return -1;
    if (at > 0)
        memcpy(points, to->points, at * sizeof *points);
    memcpy(points + at, row, rest.columns * sizeof *points);
    memcpy(first, grid->first, grid->columns * sizeof *first);
    to->points = points;
    to->first = first;
    to->columns = grid->columns;
    return 0;
}

static int read_whole(struct history_memo *memo, struct memo_series *to,
                      const struct history_grid *grid, uint32_t series, struct err *err)
{
    int status;

    arena_release(&to->arena);
    *to = (struct memo_series){
        .series = series, .width = grid->width, .used = memo->questions};
    arena_init(&to->arena, MEMO_LIMIT);
    status = read_columns(memo, to, grid, 0, err);
    to->size = to->arena.used;
    return status;
}

int history_memo_points(struct history_memo *memo, const struct history_grid *grid,
                        uint32_t series, const struct history_point *const **ret_points,
                        struct err *err)
{
    struct memo_series *kept =
        find(memo, series, grid->columns > 0 ? grid->first[0] : 0);
    int status;

    kept->used = ++memo->questions;
    if (is_prefix(kept, grid, series))
        status = read_columns(memo, kept, grid, kept->columns - 1, err);
    else
        status = read_whole(memo, kept, grid, series, err);
    if (status < 0)
        kept->columns = 0;
    else
        *ret_points = kept->points;
    return status;
}
