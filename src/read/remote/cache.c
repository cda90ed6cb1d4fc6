#include "read/remote/cache_in.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/folder.h"
#include "base/sha256.h"

#define MOST_BYTES (256 * MIB) /* on disk, in all */
#define ABOUT_SIZE (FETCH_VERSION + 32)
#define SUM_SIZE   16 /* digits of the digest at the end of a block */

/* ---- folders ---- */

/* The folder that holds those of all files; NULL: none. */
static char *root_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct buf path = BUF_INIT;

    if (cache && cache[0] == '/')
        buf_printf(&path, "%s/torchoscope/http", cache);
    else if (home && home[0] == '/')
        buf_printf(&path, "%s/.cache/torchoscope/http", home);
    if (path.len == 0 || path.bad) {
        buf_release(&path);
        return NULL;
    }
    return path.at;
}

static bool make_folders(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static void digest(struct str text, char hex[65])
{
    struct sha256 sha;

    sha256_init(&sha);
    sha256_add(&sha, text.at, text.len);
    sha256_hex(&sha, hex);
}

/* ---- small files, written atomically ---- */

static bool read_file(const char *folder, const char *name, void *to, size_t n)
{
    struct buf path = BUF_INIT;
    ssize_t got = -1;
    char more;
    int fd;

    buf_printf(&path, "%s/%s", folder, name);
    fd = path.bad ? -1 : open(path.at, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        got = read(fd, to, n);
        if (got == (ssize_t)n && read(fd, &more, 1) != 0)
            got = -1;
        close(fd);
    }
    buf_release(&path);
    return got == (ssize_t)n;
}

static bool write_all(int fd, const void *at, size_t n)
{
    const char *next = at;

    while (n > 0) {
        ssize_t wrote = write(fd, next, n);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        next += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

static void write_file(const char *folder, const char *name, const void *at, size_t n,
                       const void *behind, size_t n_behind)
{
    struct buf path = BUF_INIT, temporary = BUF_INIT;
    bool fine;
    int fd;

    buf_printf(&path, "%s/%s", folder, name);
    buf_printf(&temporary, "%s/%s.XXXXXX", folder, name);
    fd = path.bad || temporary.bad ? -1 : mkstemp(temporary.at);
    if (fd >= 0) {
        fine = write_all(fd, at, n) && write_all(fd, behind, n_behind);
        fine &= close(fd) == 0;
        if (!fine || rename(temporary.at, path.at) < 0)
            unlink(temporary.at);
    }
    buf_release(&path);
    buf_release(&temporary);
}

/* ---- deleting old folders ---- */

/* Bytes of the files in a folder; with `remove`, they and it are removed. */
static uint64_t sweep(const char *path, bool remove)
{
    struct folder folder;
    struct arena arena;
    uint64_t bytes = 0;

    arena_init(&arena, 64 * MIB);
    if (folder_open(&folder, path, &arena, NULL) == 0) {
        for (uint32_t i = 0; i < folder.n; i++) {
            bytes += folder.entries[i].size;
            if (remove && folder.entries[i].is_file)
                unlinkat(folder.fd, folder.entries[i].name.at, 0);
        }
        folder_close(&folder);
    }
    arena_release(&arena);
    if (remove)
        rmdir(path);
    return bytes;
}

/* The number of the least recently used folder except `kept`, or -1. */
static int64_t oldest(const struct folder *root, const char *kept, const bool *gone)
{
    int64_t found = -1;

    for (uint32_t i = 0; i < root->n; i++) {
        const struct folder_entry *entry = &root->entries[i];

        if (entry->is_folder && !gone[i] && !str_ends(str_of(kept), entry->name) &&
            (found < 0 || entry->mtime_ns < root->entries[found].mtime_ns))
            found = i;
    }
    return found;
}

/* Removes folders until the rest is small enough. */
static void prune(const char *root_path, const char *kept)
{
    struct folder root;
    struct arena arena;
    uint64_t bytes = 0;
    uint64_t *sizes;
    bool *gone;

    arena_init(&arena, 64 * MIB);
    if (folder_open(&root, root_path, &arena, NULL) < 0) {
        arena_release(&arena);
        return;
    }
    sizes = arena_array(&arena, root.n + 1, sizeof *sizes);
    gone = arena_array(&arena, root.n + 1, sizeof *gone);
    for (uint32_t i = 0; sizes && i < root.n; i++) {
        char *path = arena_printf(&arena, "%s/%s", root_path, root.entries[i].name.at);

        sizes[i] = path ? sweep(path, false) : 0;
        bytes += sizes[i];
    }
    while (sizes && gone && bytes > MOST_BYTES) {
        int64_t i = oldest(&root, kept, gone);
        char *path =
            i < 0 ? NULL
                  : arena_printf(&arena, "%s/%s", root_path, root.entries[i].name.at);

        if (!path)
            break;
        gone[i] = true;
        bytes -= sizes[i];
        sweep(path, true);
    }
    folder_close(&root);
    arena_release(&arena);
}

/* "about" holds the size of the file and its version: "123\n"etag"". */
static void read_about(struct remote_cache *cache)
{
    char about[ABOUT_SIZE] = "";
    struct str text, total;

    if (!read_file(cache->folder, "about", about, sizeof about))
        return;
    about[sizeof about - 1] = '\0';
    text = str_of(about);
    if (str_split(&text, '\n', &total) && str_to_u64(total, &cache->total) &&
        cache->total > 0 && text.len > 0 && text.len < FETCH_VERSION)
        snprintf(cache->version, sizeof cache->version, "%.*s", STR_ARG(text));
}

void remote_cache_open(struct remote_cache *cache, const char *url)
{
    char *root = root_folder(), hex[65];
    struct buf path = BUF_INIT;

    *cache = (struct remote_cache){0};
    if (!root)
        return;
    digest(str_of(url), hex);
    buf_printf(&path, "%s/%.32s", root, hex);
    if (!path.bad && make_folders(path.at)) {
        cache->folder = path.at;
        utimensat(AT_FDCWD, cache->folder, NULL, 0); /* used now */
        prune(root, cache->folder);
        read_about(cache);
    } else {
        buf_release(&path);
    }
    free(root);
}

void remote_cache_close(struct remote_cache *cache)
{
    free(cache->folder);
    *cache = (struct remote_cache){0};
}

void remote_cache_set(struct remote_cache *cache, const char *version, uint64_t total)
{
    char about[ABOUT_SIZE] = "";

    if (!cache->folder ||
        (strcmp(cache->version, version) == 0 && cache->total == total))
        return;
    sweep(cache->folder, true);
    snprintf(cache->version, sizeof cache->version, "%s", version);
    cache->total = total;
    if (!version[0] || mkdir(cache->folder, 0700) < 0) {
        remote_cache_close(cache); /* without a version, nothing is cached */
        return;
    }
    snprintf(about, sizeof about, "%llu\n%s", (unsigned long long)total, version);
    write_file(cache->folder, "about", about, sizeof about, NULL, 0);
}

/* ---- blocks ---- */

/* The digest covers the bytes, the block's number and the version. */
static void sum_of(const struct remote_cache *cache, uint64_t block, const void *at,
                   size_t n, char hex[65])
{
    struct sha256 sha;
    uint64_t numbers[2] = {block, cache->total};

    sha256_init(&sha);
    sha256_add(&sha, cache->version, strlen(cache->version));
    sha256_add(&sha, numbers, sizeof numbers);
    sha256_add(&sha, at, n);
    sha256_hex(&sha, hex);
}

bool remote_cache_get(const struct remote_cache *cache, uint64_t block, void *to,
                      size_t n)
{
    char *bytes, name[32], hex[65];
    bool fine;

    if (!cache->folder || !cache->version[0])
        return false;
    bytes = malloc(n + SUM_SIZE);
    snprintf(name, sizeof name, "%llu", (unsigned long long)block);
    fine = bytes && read_file(cache->folder, name, bytes, n + SUM_SIZE);
    if (fine) {
        sum_of(cache, block, bytes, n, hex);
        fine = memcmp(bytes + n, hex, SUM_SIZE) == 0;
    }
    if (fine)
        memcpy(to, bytes, n);
    free(bytes);
    return fine;
}

void remote_cache_put(const struct remote_cache *cache, uint64_t block, const void *at,
                      size_t n)
{
    char name[32], hex[65];

    if (!cache->folder || !cache->version[0])
        return;
    sum_of(cache, block, at, n, hex);
    snprintf(name, sizeof name, "%llu", (unsigned long long)block);
    write_file(cache->folder, name, at, n, hex, SUM_SIZE);
}
