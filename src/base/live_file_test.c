#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/live_file.h"
#include "base/test.h"

static const char *a_file(char *path)
{
    int fd;

    memcpy(path, "/tmp/torchoscope_live_XXXXXX", 29);
    fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    return path;
}

TEST(a_live_file_is_recognised_by_all_its_names)
{
    char path[40], other[60];
    struct file_key key;
    struct err err = {0};

    a_file(path);
    CHECK(!live_file_is(path));
    CHECK(live_file_add(path, NULL) == 0 && live_file_key(path, &key));
    CHECK(live_file_is(path) && !live_file_inherited(path));
    strcpy(other, path); /* NOLINT: it fits */
    strcat(other, ".link");
    CHECK(symlink(path, other) == 0);
    CHECK(live_file_is(other));
    CHECK(live_file_add(other, &err) < 0 && err.code == ERR_USAGE);
    unlink(other);
    CHECK(link(path, other) == 0 && live_file_is(other));
    unlink(other);
    unlink(path);
    CHECK(!live_file_is(path));
    live_file_remove(&key);
}

TEST(files_that_sqlite_keeps_beside_a_live_file_are_live)
{
    static const char *const beside[] = {"-shm", "-wal", "-journal"};
    char path[40], other[60];
    struct file_key key;

    CHECK(live_file_add(a_file(path), NULL) == 0 && live_file_key(path, &key));
    for (size_t i = 0; i < 3; i++) {
        snprintf(other, sizeof other, "%s%s", path, beside[i]);
        CHECK(live_file_is(other));
    }
    CHECK(!live_file_is("-shm"));
    snprintf(other, sizeof other, "%s-shm.pt", path);
    CHECK(!live_file_is(other));
    live_file_remove(&key);
    snprintf(other, sizeof other, "%s-shm", path);
    CHECK(!live_file_is(other));
    unlink(path);
}

TEST(a_removed_file_is_no_longer_live)
{
    char path[40];
    struct file_key key;

    CHECK(live_file_add(a_file(path), NULL) == 0 && live_file_key(path, &key));
    live_file_remove(&key);
    CHECK(!live_file_is(path));
    CHECK(live_file_add(path, NULL) == 0);
    live_file_remove(&key);
    unlink(path);
    CHECK(live_file_add(path, NULL) < 0);
}

TEST(a_forked_process_inherits_no_live_file)
{
    char path[40];
    struct file_key key;
    unsigned forks = live_file_forks();
    int status = 0;
    pid_t child;

    CHECK(live_file_add(a_file(path), NULL) == 0 && live_file_key(path, &key));
    child = fork();
    if (child == 0)
        _exit(live_file_is(path) || !live_file_inherited(path) ||
              live_file_forks() != forks + 1 || live_file_add(path, NULL) < 0 ||
              !live_file_is(path));
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(live_file_is(path) && live_file_forks() == forks);
    live_file_remove(&key);
    unlink(path);
}
