/* The files of a run folder: rank0.scope, rank1.scope, ... A rank's file appears when its
 * first step ends, so the folder is listed again from time to time. */
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "history/ranks_in.h"

#define RANKS_MOST 4096u
#define NONE_HERE  ": holds no history of a training run (rank0.scope, ...)"

/* Parses the number in "rank12.scope"; false for other names. */
static bool rank_in(struct str name, uint64_t *ret_rank)
{
    uint64_t rank = 0;

    if (name.len < 11 || name.len > 20 || !str_is(str_head(name, 4), "rank") ||
        !str_ends(name, STR(".scope")))
        return false;
    for (size_t i = 4; i < name.len - 6; i++) {
        if (name.at[i] < '0' || name.at[i] > '9')
            return false;
        rank = rank * 10 + (uint64_t)(name.at[i] - '0');
    }
    *ret_rank = rank;
    return true;
}

bool history_ranks_names_file(struct str name)
{
    uint64_t rank;

    return rank_in(name, &rank);
}

static bool rank_of(const struct folder_entry *entry, uint64_t *ret_rank)
{
    return entry->is_file && rank_in(entry->name, ret_rank);
}

const char *history_ranks_first(const char *path, struct arena *arena, struct err *err)
{
    const struct folder_entry *first = NULL;
    uint64_t rank, least = 0;
    struct folder folder;
    const char *found;

    if (folder_open(&folder, path, arena, err) < 0)
        return NULL;
    for (uint32_t i = 0; i < folder.n; i++)
        if (rank_of(&folder.entries[i], &rank) && (!first || rank < least)) {
            first = &folder.entries[i];
            least = rank;
        }
    folder_close(&folder);
    if (!first) {
        err_set_about(err, ERR_NOT_FOUND, path, NONE_HERE);
        return NULL;
    }
    found = arena_printf(arena, "%s/%.*s", path, STR_ARG(first->name));
    if (!found)
        arena_err(arena, path, err);
    return found;
}

bool history_ranks_is(const char *path)
{
    struct arena arena;
    bool found;

    if (!path_is_folder(path))
        return false;
    arena_init(&arena, 0);
    found = history_ranks_first(path, &arena, NULL) != NULL;
    arena_release(&arena);
    return found;
}

/* Where a rank is in the sorted list, or belongs. */
static uint32_t position_of(const struct history_ranks *ranks, uint64_t rank)
{
    uint32_t low = 0, high = ranks->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (ranks->numbers[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_open(const struct history_ranks *ranks, uint64_t rank)
{
    uint32_t at = position_of(ranks, rank);

    return at < ranks->n && ranks->numbers[at] == rank;
}

/* Takes the history. */
static bool insert(struct history_ranks *ranks, struct history *history, uint64_t rank)
{
    uint32_t room = ranks->room, at = position_of(ranks, rank), after = ranks->n - at;

    if (!buf_grow_array(&ranks->files, ranks->n, &room, sizeof *ranks->files) ||
        !buf_grow_array(&ranks->numbers, ranks->n, &ranks->room,
                        sizeof *ranks->numbers)) {
        history_close(history);
        return false;
    }
    memmove(ranks->files + at + 1, ranks->files + at, after * sizeof *ranks->files);
    memmove(ranks->numbers + at + 1, ranks->numbers + at,
            after * sizeof *ranks->numbers);
    ranks->files[at] = history;
    ranks->numbers[at] = rank;
    ranks->n++;
    ranks->series.n = ranks->names.n = 0; /* their tables cover fewer files */
    return true;
}

/* Skips a file that cannot be opened: another rank may be creating it. */
static void open_all(struct history_ranks *ranks, const struct folder *folder,
                     struct arena *arena)
{
    bool go = true;

    for (uint32_t i = 0; go && i < folder->n && ranks->n < RANKS_MOST; i++) {
        const struct folder_entry *entry = &folder->entries[i];
        struct history *history = NULL;
        uint64_t rank;
        char *file;

        if (!rank_of(entry, &rank) || is_open(ranks, rank))
            continue;
        file = arena_printf(arena, "%s/%.*s", ranks->folder, STR_ARG(entry->name));
        if (file)
            history = history_open(file, ranks->codec, NULL);
        if (history)
            go = insert(ranks, history, rank);
    }
}

int history_ranks_find(struct history_ranks *ranks, struct err *err)
{
    struct folder folder;
    struct arena arena;
    int status;

    arena_init(&arena, 0);
    status = folder_open(&folder, ranks->folder, &arena, err);
    if (status == 0) {
        open_all(ranks, &folder, &arena);
        folder_close(&folder);
    }
    arena_release(&arena);
    return status;
}

struct history_ranks *history_ranks_open(const char *folder,
                                         const struct history_codec *codec,
                                         struct err *err)
{
    struct history_ranks *ranks = calloc(1, sizeof *ranks);

    if (ranks)
        ranks->folder = strdup(folder);
    if (!ranks || !ranks->folder) {
        free(ranks);
        err_set_about(err, ERR_LIMIT, folder, ": no memory left");
        return NULL;
    }
    ranks->codec = codec ? codec : &history_spreads;
    arena_init(&ranks->series.arena, 0);
    arena_init(&ranks->names.arena, 0);
    if (history_ranks_find(ranks, err) == 0 && ranks->n > 0)
        return ranks;
    if (err && !err->code)
        err_set_about(err, ERR_NOT_FOUND, folder, NONE_HERE);
    history_ranks_close(ranks);
    return NULL;
}

void history_ranks_close(struct history_ranks *ranks)
{
    if (!ranks)
        return;
    for (uint32_t i = 0; i < ranks->n; i++)
        history_close(ranks->files[i]);
    free(ranks->files);
    free(ranks->numbers);
    arena_release(&ranks->series.arena);
    arena_release(&ranks->names.arena);
    free(ranks->folder);
    free(ranks);
}

int history_ranks_hold(struct history_ranks *ranks, struct err *err)
{
    history_ranks_find(ranks, NULL);
    for (uint32_t i = 0; i < ranks->n; i++)
        if (history_hold(ranks->files[i], err) < 0) {
            while (i-- > 0)
                history_let_go(ranks->files[i]);
            return -1;
        }
    return 0;
}

void history_ranks_let_go(struct history_ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->n; i++)
        history_let_go(ranks->files[i]);
}

uint32_t history_ranks_count(const struct history_ranks *ranks)
{
    return ranks->n;
}

struct history *history_ranks_at(struct history_ranks *ranks, uint32_t i)
{
    return i < ranks->n ? ranks->files[i] : NULL;
}

uint64_t history_ranks_number(const struct history_ranks *ranks, uint32_t i)
{
    return i < ranks->n ? ranks->numbers[i] : i;
}

uint64_t history_ranks_damaged(const struct history_ranks *ranks)
{
    uint64_t damaged = 0;

    for (uint32_t i = 0; i < ranks->n; i++)
        damaged += history_damaged(ranks->files[i]);
    return damaged;
}
