#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int add_entry(struct folder *folder, uint32_t *room, const char *name,
                     struct arena *arena)
{
    struct folder_entry entry = {.name = arena_str(arena, str_of(name))};
    struct stat seen;

    if (!entry.name.at)
        return -1;
    /* A broken link is neither file nor folder, but is listed. */
    if (fstatat(folder->fd, name, &seen, 0) == 0) {
        entry.size = (uint64_t)seen.st_size;
        entry.mtime_ns =
            (int64_t)seen.st_mtim.tv_sec * 1000000000 + seen.st_mtim.tv_nsec;
        entry.is_folder = S_ISDIR(seen.st_mode);
        entry.is_file = S_ISREG(seen.st_mode);
    }
    entry.is_link = fstatat(folder->fd, name, &seen, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISLNK(seen.st_mode);
    if (arena_room(arena, &folder->entries, folder->n, room, sizeof entry) < 0)
        return -1;
    folder->entries[folder->n++] = entry;
    return 0;
}

static int read_entries(struct folder *folder, DIR *dir, const char *path,
                        struct arena *arena, struct err *err)
{
    uint32_t room = 0;

    for (;;) {
        const struct dirent *next;

        errno = 0;
        next = readdir(dir);
        if (!next)
            return errno ? err_set_errno(err, path) : 0;
        if (!folder_name_is_plain(str_of(next->d_name)))
            continue;
        if (add_entry(folder, &room, next->d_name, arena) < 0)
            return arena_err(arena, path, err);
    }
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct folder_entry *)a)->name,
                   ((const struct folder_entry *)b)->name);
}

int folder_open(struct folder *folder, const char *path, struct arena *arena,
                struct err *err)
{
    int listing; /* a second descriptor, because closedir() closes it */
    DIR *dir;
    int result;

    *folder = (struct folder){.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (folder->fd < 0)
        return err_set_errno(err, path);
    listing = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir = listing < 0 ? NULL : fdopendir(listing);
    if (!dir) {
        result = err_set_errno(err, path);
        if (listing >= 0)
            close(listing);
    } else {
        result = read_entries(folder, dir, path, arena, err);
        closedir(dir);
    }
    if (result < 0)
        folder_close(folder);
    else if (folder->n > 0)
        qsort(folder->entries, folder->n, sizeof *folder->entries, by_name);
    return result;
}

void folder_close(struct folder *folder)
{
    if (folder->fd >= 0)
        close(folder->fd);
    folder->fd = -1;
}

bool folder_name_is_plain(struct str name)
{
    return name.len > 0 && !str_is(name, ".") && !str_is(name, "..") &&
           str_find_char(name, '/') < 0 && str_find_char(name, '\0') < 0;
}

bool path_is_folder(const char *path)
{
    struct stat seen;

    return stat(path, &seen) == 0 && S_ISDIR(seen.st_mode);
}

struct str path_last(const char *path)
{
    struct str s = str_of(path);

    while (s.len > 1 && s.at[s.len - 1] == '/')
        s.len--;
    if (s.len == 1)
        return s; /* "/" is its own last part */
    return str_from(s, (size_t)(str_find_last_char(s, '/') + 1));
}
