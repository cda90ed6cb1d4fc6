/* torchoscope check: which files of a folder to check. An index, or a folder of shards
 * without one, is checked before its files, which are then not checked again; the same
 * holds for a folder with the files of a training run's ranks. Links to files are
 * followed, because download caches consist of them; links to folders are not, so that
 * the walk ends. */
#include <errno.h>

#include "base/base.h"
#include "base/folder.h"
#include "cli/check_in.h"
#include "history/ranks.h"
#include "session/file_list.h"

static bool is_hidden_folder(const struct folder_entry *entry)
{
    return entry->is_folder && entry->name.at[0] == '.';
}

int check_add_target(struct check_run *run, struct check_target target, struct err *err)
{
    if (arena_room(&run->arena, &run->targets, run->n_targets, &run->targets_room,
                   sizeof target) < 0)
        return arena_err(&run->arena, "the list of files", err);
    run->targets[run->n_targets++] = target;
    return 0;
}

/* ---- one folder ---- */

/* A stack of folders still to visit. */
struct check_walk {
    struct check_run *run;
    const char **folders;
    uint32_t n, room;
    struct err *err;
};

static const char *join(struct check_walk *walk, const char *folder, struct str name)
{
    bool slash = str_ends(str_of(folder), STR("/"));
    const char *path = arena_printf(&walk->run->arena, "%s%s%.*s", folder,
                                    slash ? "" : "/", STR_ARG(name));

    if (!path)
        arena_err(&walk->run->arena, folder, walk->err);
    return path;
}

static int add_file(struct check_walk *walk, const char *folder,
                    const struct folder_entry *entry)
{
    struct check_target target = {.path = join(walk, folder, entry->name),
                                  .found = true,
                                  .no_file = !entry->is_file};

    return target.path ? check_add_target(walk->run, target, walk->err) : -1;
}

/* Is it covered by the folder: the file of a rank in a training run? */
static bool is_rank(const struct folder_entry *entry)
{
    return entry->is_file && history_ranks_names_file(entry->name);
}

static int add_run(struct check_walk *walk, const char *path,
                   const struct folder *folder)
{
    struct check_target target = {.path = path};

    for (uint32_t i = 0; i < folder->n; i++)
        if (is_rank(&folder->entries[i]))
            return check_add_target(walk->run, target, walk->err);
    return 0;
}

/* Indexes first, then possible sets of shards, then all other files. */
static int add_files(struct check_walk *walk, const char *path,
                     const struct folder *folder)
{
    struct check_target set = {.path = path, .found = true, .may_set = true};
    bool index = false, shards = false;

    for (uint32_t i = 0; i < folder->n; i++) {
        const struct folder_entry *entry = &folder->entries[i];

        if (entry->is_folder)
            continue;
        shards |= file_is_shard(entry->name);
        if (!file_is_index(entry->name))
            continue;
        index = true;
        if (add_file(walk, path, entry) < 0)
            return -1;
    }
    if (shards && !index && check_add_target(walk->run, set, walk->err) < 0)
        return -1;
    for (uint32_t i = 0; i < folder->n; i++) {
        const struct folder_entry *entry = &folder->entries[i];

        if (!entry->is_folder && !file_is_index(entry->name) && !is_rank(entry) &&
            add_file(walk, path, entry) < 0)
            return -1;
    }
    return 0;
}

/* Push subfolders in reverse, so that the stack yields them in order. */
static int add_folders(struct check_walk *walk, const char *path,
                       const struct folder *folder)
{
    for (uint32_t i = folder->n; i-- > 0;) {
        const struct folder_entry *entry = &folder->entries[i];
        const char *below, *kind;

        if (!entry->is_folder)
            continue;
        below = join(walk, path, entry->name);
        if (!below)
            return -1;
        kind = is_hidden_folder(entry)             ? "hidden folder"
               : entry->is_link                    ? "link to a folder"
               : file_list_is_blobs(folder, entry) ? "folder of a cache"
                                                   : NULL;
        if (kind) {
            const char *why = arena_printf(&walk->run->arena, "a %s", kind);

            if (!why || check_skip(walk->run, below, kind, why, walk->err) < 0)
                return -1;
            continue;
        }
        if (arena_room(&walk->run->arena, &walk->folders, walk->n, &walk->room,
                       sizeof *walk->folders) < 0)
            return arena_err(&walk->run->arena, path, walk->err);
        walk->folders[walk->n++] = below;
    }
    return 0;
}

static int look_into(struct check_walk *walk, const char *path)
{
    struct folder folder;
    struct err why = {0};
    int status;

    if (folder_open(&folder, path, &walk->run->arena, &why) < 0) {
        struct check_target target = {.path = path};

        /* Opening it again reports the error. */
        return check_add_target(walk->run, target, walk->err);
    }
    status = add_run(walk, path, &folder);
    if (status == 0)
        status = add_files(walk, path, &folder);
    if (status == 0)
        status = add_folders(walk, path, &folder);
    folder_close(&folder);
    return status;
}

int check_walk(struct check_run *run, const char *folder, struct err *err)
{
    struct check_walk walk = {.run = run, .err = err};
    struct str path = str_of(folder);
    const char *first;

    while (path.len > 1 && path.at[path.len - 1] == '/')
        path.len--;
    first = arena_printf(&run->arena, "%.*s", STR_ARG(path));
    if (!first ||
        arena_room(&run->arena, &walk.folders, 0, &walk.room, sizeof *walk.folders) < 0)
        return arena_err(&run->arena, folder, err);
    walk.folders[walk.n++] = first;
    while (walk.n > 0) {
        if (work_cancelled(&run->cli->work))
            return err_set(err, ERR_CANCELLED, "stopped");
        if (look_into(&walk, walk.folders[--walk.n]) < 0)
            return -1;
    }
    return 0;
}

/* ---- files already checked ---- */

/* Finds the key of a path. Returns false, and a free key, if it is not in the map. */
static bool find_covered(const struct check_run *run, struct str path,
                         uint64_t *ret_key)
{
    uint32_t index;

    for (*ret_key = str_hash(path); map_find(&run->covered, *ret_key, &index);
         ++*ret_key)
        if (str_eq(run->covered_paths[index], path))
            return true;
    return false;
}

bool check_is_covered(const struct check_run *run, const char *path)
{
    uint64_t key;

    return find_covered(run, str_of(path), &key);
}

int check_cover(struct check_run *run, const struct model *model, struct err *err)
{
    for (uint32_t i = 0; i < model->n_files; i++) {
        struct str name = model_string(model, model->files[i].name);
        uint64_t key;

        if (find_covered(run, name, &key) || str_is(name, model->path))
            continue;
        name = arena_str(&run->arena, name);
        if (!name.at ||
            arena_room(&run->arena, &run->covered_paths, run->n_covered,
                       &run->covered_room, sizeof *run->covered_paths) < 0 ||
            map_put(&run->covered, key, run->n_covered) < 0)
            return arena_err(&run->arena, "the list of files", err);
        run->covered_paths[run->n_covered++] = name;
    }
    return 0;
}

int check_skip(struct check_run *run, const char *path, const char *kind,
               const char *why, struct err *err)
{
    struct arena *arena = &run->arena;
    const char *copy = arena_str(arena, str_of(why)).at;

    if (!copy ||
        arena_room(arena, &run->skipped, run->n_skipped, &run->skipped_room,
                   sizeof *run->skipped) < 0 ||
        arena_room(arena, &run->kinds, run->n_skipped, &run->kinds_room,
                   sizeof *run->kinds) < 0)
        return arena_err(arena, "the list of files", err);
    run->skipped[run->n_skipped] = (struct export_skipped){path, copy};
    run->kinds[run->n_skipped++] = kind;
    return 0;
}
