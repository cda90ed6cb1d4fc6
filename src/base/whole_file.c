#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/live_file.h"

static void release(struct whole_file *file)
{
    if (!file->direct)
        free((char *)(uintptr_t)file->name);
    free(file->path);
    *file = (struct whole_file){.fd = -1};
}

/* Create an empty temporary file in the same folder, with default permissions. */
static int open_temporary(struct whole_file *file, struct err *err)
{
    struct buf name = BUF_INIT;

    for (int i = 0; i < 100; i++) {
        buf_clear(&name);
        buf_printf(&name, "%s.%ld.%d.tmp", file->path, (long)getpid(), i);
        if (name.bad)
            break;
        file->fd = open(buf_cstr(&name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd >= 0 || errno != EEXIST)
            break;
    }
    if (file->fd < 0)
        err_set_errno(err, file->path);
    else
        file->name = strdup(buf_cstr(&name));
    buf_release(&name);
    return file->fd < 0 ? -1 : 0;
}

static int open_direct(struct whole_file *file, struct err *err)
{
    file->direct = true;
    file->name = file->path;
    file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
    return file->fd < 0 ? err_set_errno(err, file->path) : 0;
}

int whole_file_begin(struct whole_file *file, const char *path, struct err *err)
{
    struct stat there;
    bool exists = stat(path, &there) == 0;
    int status;

    *file = (struct whole_file){.fd = -1};
    if (exists && live_file_is(path))
        return err_set_about(err, ERR_USAGE, path,
                             ": this process is still writing it. Close it first.");
    file->path = exists ? realpath(path, NULL) : strdup(path);
    if (!file->path)
        return err_set_errno(err, path);
    if (exists && !S_ISREG(there.st_mode))
        status = open_direct(file, err);
    else
        status = open_temporary(file, err);
    if (status == 0 && !file->name)
        status = err_set_about(err, ERR_LIMIT, path, ": no memory left");
    if (status == 0 && exists && !file->direct)
        fchmod(file->fd, there.st_mode & 07777); /* best effort */
    if (status < 0) {
        if (file->fd >= 0)
            close(file->fd);
        release(file);
    }
    return status;
}

/* Flush the directory entry. A failure here loses nothing. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

int whole_file_keep(struct whole_file *file, struct err *err)
{
    if (file->direct) {
        whole_file_drop(file);
        return 0;
    }
    if (fsync(file->fd) < 0 || rename(file->name, file->path) < 0) {
        err_set_errno(err, file->path);
        whole_file_drop(file);
        return -1;
    }
    close(file->fd);
    sync_folder(file->path);
    release(file);
    return 0;
}

int whole_file_end(struct whole_file *file, struct out *out, const char *path,
                   int status, struct err *err)
{
    if (out_release(out) < 0 && status == 0) {
        errno = out->error;
        status = err_set_errno(err, path);
    }
    if (status == 0)
        return whole_file_keep(file, err);
    whole_file_drop(file);
    return status;
}

void whole_file_drop(struct whole_file *file)
{
    close(file->fd);
    if (!file->direct)
        unlink(file->name);
    release(file);
}
