#include "base/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/live_file.h"

/* Allocate a blob of `size` bytes (a struct that begins with struct blob), followed by
 * a copy of its name. */
static void *new_blob(size_t size, const struct blob_ops *ops, const char *name,
                      uint64_t n_bytes, struct err *err)
{
    size_t name_size = strlen(name) + 1;
    struct blob *blob = calloc(1, size + name_size);

    if (!blob) {
        err_set_about(err, ERR_LIMIT, name, ": out of memory");
        return NULL;
    }
    blob->ops = ops;
    blob->name = memcpy((char *)blob + size, name, name_size);
    blob->size = n_bytes;
    return blob;
}

/* ---- files ---- */

struct file_blob {
    struct blob blob;
    int fd;
    struct stat seen; /* as of opening */
};

static int file_read(struct blob *blob, uint64_t at, void *to, size_t n,
                     struct err *err)
{
    struct file_blob *file = (struct file_blob *)blob;
    char *next = to;

    while (n > 0) {
        ssize_t got = pread(file->fd, next, n, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, blob->name);
        if (got == 0)
            return err_set_about(err, ERR_CHANGED, blob->name,
                                 " became shorter while it was open: %zu bytes at byte "
                                 "%" PRIu64 " are missing. Open it again",
                                 n, at);
        next += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

static int file_changed(struct blob *blob)
{
    struct file_blob *file = (struct file_blob *)blob;
    struct stat now;

    if (fstat(file->fd, &now) < 0)
        return 1;
    return now.st_size != file->seen.st_size || now.st_ino != file->seen.st_ino ||
           now.st_mtim.tv_sec != file->seen.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != file->seen.st_mtim.tv_nsec;
}

static void file_close(struct blob *blob)
{
    struct file_blob *file = (struct file_blob *)blob;

    close(file->fd);
    free(file);
}

static const struct blob_ops file_ops = {file_read, file_changed, file_close};

static const char *kind_of(mode_t mode)
{
    if (S_ISFIFO(mode))
        return "a FIFO";
    if (S_ISSOCK(mode))
        return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode))
        return "a device";
    return "something else";
}

static int refuse_kind(mode_t mode, const char *shown, struct err *err)
{
    if (S_ISDIR(mode))
        return err_set_about(err, ERR_IO, shown, " is a folder");
    return err_set_about(err, ERR_IO, shown, " is not a regular file (%s)",
                         kind_of(mode));
}

/* The system's message for a socket ("No such device or address") is misleading. */
static int open_failed(int dir_fd, const char *path, const char *shown, struct err *err)
{
    int error = errno;
    struct stat seen;

    if (error == ENXIO && fstatat(dir_fd, path, &seen, 0) == 0)
        return refuse_kind(seen.st_mode, shown, err);
    errno = error;
    return err_set_errno(err, shown);
}

static struct blob *open_file(int dir_fd, const char *path, const char *shown,
                              int flags, struct err *err)
{
    struct file_blob *file;
    struct stat seen;
    int fd;

    if (live_file_is_at(dir_fd, path)) {
        err_set_about(err, ERR_CHANGED, shown,
                      ": this process is still writing it. Open it in another process, "
                      "or close it first.");
        return NULL;
    }
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    if (fd < 0) {
        open_failed(dir_fd, path, shown, err);
        return NULL;
    }
    if (fstat(fd, &seen) < 0) {
        err_set_errno(err, shown);
        goto fail;
    }
    if (!S_ISREG(seen.st_mode)) {
        refuse_kind(seen.st_mode, shown, err);
        goto fail;
    }
    file = new_blob(sizeof *file, &file_ops, shown, (uint64_t)seen.st_size, err);
    if (!file)
        goto fail;
    file->fd = fd;
    file->seen = seen;
    return &file->blob;

fail:
    close(fd);
    return NULL;
}

struct blob *blob_open_file(const char *path, struct err *err)
{
    return open_file(AT_FDCWD, path, path, 0, err);
}

struct blob *blob_open_at(int dir_fd, const char *name, const char *shown,
                          struct err *err)
{
    if (!folder_name_is_plain(str_of(name))) {
        err_set_about(err, ERR_FORMAT, shown,
                      ": \"%s\" is not the name of a file in this folder", name);
        return NULL;
    }
    return open_file(dir_fd, name, shown, 0, err);
}

/* Is the entry `name` a symbolic link? Says so. */
static bool refuse_link(int dir_fd, const char *name, const char *shown,
                        struct err *err)
{
    struct stat seen;

    if (fstatat(dir_fd, name, &seen, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(seen.st_mode))
        return false;
    err_set_about(err, ERR_FORMAT, shown,
                  ": %s is a symbolic link, which could lead out of the folder", name);
    return true;
}

/* The last step: the file itself, without following a link. */
static struct blob *open_plain(int dir_fd, const char *name, const char *shown,
                               struct err *err)
{
    struct blob *blob;

    if (refuse_link(dir_fd, name, shown, err))
        return NULL;
    blob = open_file(dir_fd, name, shown, O_NOFOLLOW, err);
    if (blob && ((struct file_blob *)blob)->seen.st_nlink > 1) {
        blob_close(blob);
        err_set_about(err, ERR_FORMAT, shown,
                      " has several hard links: it may be a file of another folder");
        return NULL;
    }
    return blob;
}

/* Enter the folder `name` of dir_fd, which is closed unless it is `keep`. */
static int enter(int dir_fd, int keep, const char *name, const char *shown,
                 struct err *err)
{
    int next = -1;

    if (!refuse_link(dir_fd, name, shown, err)) {
        next = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (next < 0)
            err_set_errno(err, shown);
    }
    if (dir_fd != keep)
        close(dir_fd);
    return next;
}

struct blob *blob_open_beneath(int dir_fd, struct str path, const char *shown,
                               struct err *err)
{
    int at = dir_fd;
    struct blob *blob;
    struct str name;
    char text[NAME_MAX + 1];

    if (path.len == 0)
        path = STR("/"); /* refused */
    while (str_split(&path, '/', &name)) {
        bool last = !path.at;

        if (str_is(name, ".") && !last)
            continue;
        if (!folder_name_is_plain(name) || str_find_char(name, '\\') >= 0 ||
            name.len > NAME_MAX) {
            err_set_about(err, ERR_FORMAT, shown,
                          ": \"%.*s\" is not the name of a file below this folder",
                          STR_ARG(str_head(name, 100)));
            break;
        }
        memcpy(text, name.at, name.len);
        text[name.len] = '\0';
        if (last) {
            blob = open_plain(at, text, shown, err);
            if (at != dir_fd)
                close(at);
            return blob;
        }
        at = enter(at, dir_fd, text, shown, err);
        if (at < 0)
            return NULL;
    }
    if (at != dir_fd)
        close(at);
    return NULL;
}

/* ---- memory ---- */

struct memory_blob {
    struct blob blob;
    const char *at;
};

static int memory_read(struct blob *blob, uint64_t at, void *to, size_t n,
                       struct err *err)
{
    (void)err;
    memcpy(to, ((struct memory_blob *)blob)->at + at, n);
    return 0;
}

static void plain_close(struct blob *blob)
{
    free(blob);
}

static const struct blob_ops memory_ops = {memory_read, NULL, plain_close};

struct blob *blob_open_memory(const void *at, size_t size, const char *name,
                              struct err *err)
{
    struct memory_blob *memory = new_blob(sizeof *memory, &memory_ops, name, size, err);

    if (!memory)
        return NULL;
    memory->at = at;
    return &memory->blob;
}

/* ---- parts ---- */

struct part_blob {
    struct blob blob;
    struct blob *whole;
    uint64_t begin;
};

static int part_read(struct blob *blob, uint64_t at, void *to, size_t n,
                     struct err *err)
{
    struct part_blob *part = (struct part_blob *)blob;

    return blob_read(part->whole, part->begin + at, to, n, err);
}

static int part_changed(struct blob *blob)
{
    return blob_changed(((struct part_blob *)blob)->whole);
}

static const struct blob_ops part_ops = {part_read, part_changed, plain_close};

/* Is the range inside the blob? Written so that no sum can overflow. */
static int check_range(const struct blob *blob, uint64_t at, uint64_t n,
                       struct err *err)
{
    if (at <= blob->size && n <= blob->size - at)
        return 0;
    return err_set_about(err, ERR_FORMAT, blob->name,
                         " has %" PRIu64 " bytes: cannot read %" PRIu64
                         " bytes at byte "
                         "%" PRIu64,
                         blob->size, n, at);
}

struct blob *blob_open_part(struct blob *whole, uint64_t at, uint64_t size,
                            const char *name, struct err *err)
{
    struct part_blob *part;

    if (check_range(whole, at, size, err) < 0)
        return NULL;
    part = new_blob(sizeof *part, &part_ops, name, size, err);
    if (!part)
        return NULL;
    part->whole = whole;
    part->begin = at;
    return &part->blob;
}

/* ---- any blob ---- */

void blob_close(struct blob *blob)
{
    if (blob)
        blob->ops->close(blob);
}

int blob_read(struct blob *blob, uint64_t at, void *to, size_t n, struct err *err)
{
    if (check_range(blob, at, n, err) < 0)
        return -1;
    return n > 0 ? blob->ops->read(blob, at, to, n, err) : 0;
}

int blob_load(struct blob *blob, uint64_t at, uint64_t n, struct arena *arena,
              struct str *ret_bytes, struct err *err)
{
    char *to;

    if (check_range(blob, at, n, err) < 0)
        return -1;
    if (n >= SIZE_MAX)
        return err_set_about(err, ERR_LIMIT, blob->name,
                             " is too large for this machine");
    to = arena_alloc(arena, (size_t)n + 1);
    if (!to)
        return arena_err(arena, blob->name, err);
    if (blob_read(blob, at, to, (size_t)n, err) < 0)
        return -1;
    *ret_bytes = str_span(to, (size_t)n);
    return 0;
}

bool blob_changed(struct blob *blob)
{
    return blob->ops->changed && blob->ops->changed(blob);
}
