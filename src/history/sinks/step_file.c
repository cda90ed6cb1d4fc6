#include "history/sinks/step_file_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int step_file_folder(const char *folder, struct err *err)
{
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        return 0;
    return err_set_errno(err, folder);
}

int step_file_open(struct step_file *file, const char *folder, const char *name,
                   struct err *err)
{
    size_t room = strlen(folder) + strlen(name) + 2;

    *file = (struct step_file){.fd = -1, .path = malloc(room)};
    if (!file->path)
        return err_set(err, ERR_LIMIT, "no memory left");
    snprintf(file->path, room, "%s/%s", folder, name);
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd >= 0)
        return 0;
    if (errno == EEXIST)
        err_set_about(err, ERR_USAGE, file->path, ": exists already");
    else
        err_set_errno(err, file->path);
    step_file_close(file);
    return -1;
}

int step_file_add(struct step_file *file, const struct buf *from, struct err *err)
{
    size_t done = 0;

    if (from->bad)
        return err_set_about(err, ERR_LIMIT, file->path, ": no memory left");
    while (done < from->len) {
        ssize_t n = pwrite(file->fd, from->at + done, from->len - done,
                           (off_t)(file->size + done));

        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            err_set_errno(err, file->path);
            /* If this fails too, the next step overwrites the rest. */
            if (ftruncate(file->fd, (off_t)file->size) < 0)
                errno = 0;
            return -1;
        }
    }
    file->size += done;
    return 0;
}

void step_file_close(struct step_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    file->fd = -1;
    file->path = NULL;
}
