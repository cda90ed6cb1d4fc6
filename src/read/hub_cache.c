#include "read/hub_cache_in.h"

#include "base/base.h"
#include "base/blob.h"

#define REF_LIMIT 200 /* of the name of a snapshot, a hash */

static bool has_folder(const struct folder *folder, struct str name)
{
    for (uint32_t i = 0; i < folder->n; i++)
        if (folder->entries[i].is_folder && str_eq(folder->entries[i].name, name))
            return true;
    return false;
}

/* The snapshot that refs/main names; empty: none. */
static struct str main_snapshot(const struct folder *folder, struct arena *arena)
{
    struct blob *blob =
        blob_open_beneath(folder->fd, STR("refs/main"), "refs/main", NULL);
    struct str name = STR("");

    if (blob && blob->size <= REF_LIMIT &&
        blob_load(blob, 0, blob->size, arena, &name, NULL) == 0)
        name = str_trim(name);
    blob_close(blob);
    return folder_name_is_plain(name) ? name : STR("");
}

static struct str only_folder(const struct folder *folder)
{
    struct str only = STR("");

    for (uint32_t i = 0; i < folder->n; i++) {
        if (!folder->entries[i].is_folder)
            continue;
        if (only.len > 0)
            return STR("");
        only = folder->entries[i].name;
    }
    return only;
}

const char *hub_cache_snapshot(const struct folder *folder, const char *path,
                               struct arena *arena)
{
    struct folder snapshots;
    struct str name;
    char *at;

    if (!has_folder(folder, STR("blobs")) || !has_folder(folder, STR("snapshots")))
        return NULL;
    at = arena_printf(arena, "%s/snapshots", path);
    if (!at || folder_open(&snapshots, at, arena, NULL) < 0)
        return NULL;
    name = main_snapshot(folder, arena);
    if (name.len == 0 || !has_folder(&snapshots, name))
        name = only_folder(&snapshots);
    folder_close(&snapshots);
    return name.len > 0 ? arena_printf(arena, "%s/%.*s", at, STR_ARG(name)) : NULL;
}
