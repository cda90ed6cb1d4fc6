/* The thread that searches folders. */
#include <string.h>

#include "base/base.h"
#include "base/folder.h"
#include "history/ranks.h"
#include "read/read.h"
#include "run/run_file.h"
#include "session/file_list_in.h"

struct waiting {
    const char *path;
    uint32_t depth;
};

/* Folders to search, in the order of discovery: those near the top come first. */
struct file_walk {
    struct file_list *list;
    struct arena arena; /* the queue and its paths */
    struct waiting *queue;
    uint32_t n, room, next;
};

bool file_is_shard(struct str name)
{
    ptrdiff_t of = str_find(name, STR("-of-"));
    struct str rest = str_from(name, (size_t)(of + 4));

    return of > 0 && name.at[of - 1] >= '0' && name.at[of - 1] <= '9' && rest.len > 0 &&
           rest.at[0] >= '0' && rest.at[0] <= '9';
}

bool file_is_index(struct str name)
{
    return str_ends(name, STR(".index.json"));
}

bool file_is_model_name(struct str name)
{
    static const char *const tails[] = {
        ".pt",      ".pth",         ".bin",      ".ckpt",     ".pkl",
        ".pickle",  ".joblib",      ".dill",     ".th",       ".t7",
        ".tar",     ".safetensors", ".zip",      ".7z",       ".gz",
        ".tgz",     ".bz2",         ".xz",       ".zst",      ".rar",
        ".npy",     ".npz",         ".onnx",     ".gguf",     ".ggml",
        ".h5",      ".hdf5",        ".keras",    ".pt2",      ".pte",
        ".ptl",     ".ptc",         ".mar",      ".nemo",     ".model",
        ".distcp",  ".pb",          ".tflite",   ".litertlm", ".task",
        ".params",  ".caffemodel",  ".mlmodel",  ".msgpack",  ".index.json",
        ".torch",   ".pyt",         ".weights",  ".p",        ".checkpoint",
        ".pdmodel", ".pdiparams",   ".pdparams",
    };
    char lower[32];
    struct str end = str_from(name, name.len > 31 ? name.len - 31 : 0);

    for (size_t i = 0; i < end.len; i++)
        lower[i] =
            (char)(end.at[i] >= 'A' && end.at[i] <= 'Z' ? end.at[i] + 32 : end.at[i]);
    for (size_t i = 0; i < COUNT_OF(tails); i++)
        if (str_ends(str_span(lower, end.len), str_of(tails[i])))
            return true;
    return false;
}

static char *join(struct arena *arena, const char *folder, struct str name)
{
    bool slash = str_ends(str_of(folder), STR("/"));

    return arena_printf(arena, "%s%s%.*s", folder, slash ? "" : "/", STR_ARG(name));
}

static void add_folder(struct file_walk *walk, const char *folder, struct str name,
                       uint32_t depth)
{
    const char *path = join(&walk->arena, folder, name);

    if (!path || depth > FILE_LIST_DEPTH ||
        arena_room(&walk->arena, &walk->queue, walk->n, &walk->room,
                   sizeof *walk->queue) < 0)
        return;
    walk->queue[walk->n++] = (struct waiting){path, depth};
}

/* Adds a set of shards and its index as one row, for the folder. False: none. */
static bool add_set(struct file_walk *walk, const char *path,
                    const struct folder *folder)
{
    struct file_row row = {.format = "shards"};
    bool index = false;

    for (uint32_t i = 0; i < folder->n; i++) {
        const struct folder_entry *entry = &folder->entries[i];

        if (!entry->is_file)
            continue;
        index |= file_is_index(entry->name);
        if (!file_is_shard(entry->name))
            continue;
        row.shards++;
        row.size += entry->size;
        if (entry->mtime_ns > row.mtime_ns)
            row.mtime_ns = entry->mtime_ns;
    }
    if (row.shards == 0 || (!index && row.shards < 2))
        return false;
    file_list_found(walk->list, path, &row);
    return true;
}

/* Adds the files of all ranks of a training run as one row. False: none. */
static bool add_ranks(struct file_walk *walk, const char *path,
                      const struct folder *folder)
{
    struct file_row row = {.format = "training"};
    bool any = false;

    for (uint32_t i = 0; i < folder->n; i++) {
        const struct folder_entry *entry = &folder->entries[i];

        if (!entry->is_file || !history_ranks_names_file(entry->name))
            continue;
        any = true;
        row.size += entry->size;
        if (entry->mtime_ns > row.mtime_ns)
            row.mtime_ns = entry->mtime_ns;
    }
    if (any)
        file_list_found(walk->list, path, &row);
    return any;
}

static void add_file(struct file_walk *walk, const char *path,
                     const struct folder_entry *entry, struct arena *scratch)
{
    struct file_row row = {.size = entry->size, .mtime_ns = entry->mtime_ns};
    const char *file;

    file = join(scratch, path, entry->name);
    if (!file)
        return;
    row.format = run_file_is(file) ? "recording" : read_format(file);
    if (!row.format && !file_is_model_name(entry->name)) {
        const char *kind = read_kind(file);

        /* Other files are only counted; files that cannot be opened get a row. */
        if (kind && strcmp(kind, "model") != 0) {
            pthread_mutex_lock(&walk->list->lock);
            walk->list->facts.skipped++;
            pthread_mutex_unlock(&walk->list->lock);
            return;
        }
    }
    row.format = row.format ? row.format : "";
    file_list_found(walk->list, file, &row);
}

bool file_list_is_blobs(const struct folder *folder, const struct folder_entry *entry)
{
    bool snapshots = false;

    if (!entry->is_folder || !str_is(entry->name, "blobs"))
        return false;
    for (uint32_t i = 0; i < folder->n; i++)
        snapshots |= folder->entries[i].is_folder &&
                     str_is(folder->entries[i].name, "snapshots");
    return snapshots;
}

static void look_into(struct file_walk *walk, struct waiting at)
{
    struct arena scratch;
    struct folder folder;
    bool set, ranks, opened;

    arena_init(&scratch, GIB);
    opened = folder_open(&folder, at.path, &scratch, NULL) == 0;
    pthread_mutex_lock(&walk->list->lock);
    walk->list->facts.folders += opened;
    walk->list->facts.unreadable += !opened;
    pthread_mutex_unlock(&walk->list->lock);
    if (!opened)
        goto out;
    set = add_set(walk, at.path, &folder);
    ranks = add_ranks(walk, at.path, &folder);
    for (uint32_t i = 0; i < folder.n && !work_cancelled(&walk->list->work); i++) {
        const struct folder_entry *entry = &folder.entries[i];

        if (file_list_is_blobs(&folder, entry))
            continue;
        if (entry->is_folder && !entry->is_link && entry->name.at[0] != '.')
            add_folder(walk, at.path, entry->name, at.depth + 1);
        else if (entry->is_file &&
                 !(set && (file_is_shard(entry->name) || file_is_index(entry->name))) &&
                 !(ranks && history_ranks_names_file(entry->name)))
            add_file(walk, at.path, entry, &scratch);
    }
    folder_close(&folder);

out:
    arena_release(&scratch);
}

void file_walk(struct file_list *list)
{
    struct file_walk walk = {.list = list};

    arena_init(&walk.arena, GIB);
    add_folder(&walk, list->folder, STR(""), 0);
    while (walk.next < walk.n && !work_cancelled(&list->work) &&
           !file_list_facts(list).full)
        look_into(&walk, walk.queue[walk.next++]);
    arena_release(&walk.arena);
}

bool file_list_is_model(const char *path)
{
    struct arena scratch;
    struct folder folder;
    uint32_t shards = 0, others = 0;
    bool index = false;

    if (history_ranks_is(path))
        return true;
    arena_init(&scratch, GIB);
    if (folder_open(&folder, path, &scratch, NULL) == 0) {
        for (uint32_t i = 0; i < folder.n; i++) {
            index |= file_is_index(folder.entries[i].name);
            shards += file_is_shard(folder.entries[i].name);
            others +=
                folder.entries[i].is_folder && folder.entries[i].name.at[0] != '.';
        }
        folder_close(&folder);
    }
    arena_release(&scratch);
    return others == 0 && (shards > 1 || (index && shards > 0));
}
