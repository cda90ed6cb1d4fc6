#include "base/live_file.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/str.h"

#define LIVE_MOST    64
#define FORK_WAIT_MS 200

static struct {
    struct file_key key;
    unsigned forks; /* of the process that writes it */
    bool used;
} files[LIVE_MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint forks;
static atomic_uint n_files; /* used ones, inherited ones too */

/* Held for reading while SQLite is in use, for writing across a fork. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
static bool gate_held; /* by the fork in progress, under `lock` */

/* The lock is held across a fork, so that the child gets a consistent list and a free
 * lock. */
static void before_fork(void)
{
    struct timespec until = clock_later(CLOCK_REALTIME, FORK_WAIT_MS);
    bool held;

    held = pthread_rwlock_timedwrlock(&gate, &until) == 0;
    /* The same lock order as in code that adds a file inside the gate. */
    pthread_mutex_lock(&lock);
    gate_held = held;
}

static void after_fork(void)
{
    bool held = gate_held;

    pthread_mutex_unlock(&lock);
    if (held)
        pthread_rwlock_unlock(&gate);
}

static void in_child(void)
{
    atomic_fetch_add(&forks, 1);
    /* The threads that held it do not exist here. */
    pthread_rwlock_init(&gate, NULL);
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

void live_file_enter(void)
{
    pthread_once(&once, watch_forks);
    pthread_rwlock_rdlock(&gate);
}

void live_file_leave(void)
{
    pthread_rwlock_unlock(&gate);
}

unsigned live_file_forks(void)
{
    return atomic_load(&forks);
}

bool live_file_key(const char *path, struct file_key *ret_key)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return false;
    *ret_key = (struct file_key){info.st_dev, info.st_ino};
    return true;
}

/* The index of a file, or LIVE_MOST. Inherited entries count if `inherited` is set. */
static int find(const struct file_key *key, bool inherited)
{
    int i = 0;

    while (i < LIVE_MOST && !(files[i].used && files[i].key.device == key->device &&
                              files[i].key.inode == key->inode &&
                              (files[i].forks != live_file_forks()) == inherited))
        i++;
    return i;
}

int live_file_add(const char *path, struct err *err)
{
    struct file_key key;
    int free_at = 0, status = 0;

    pthread_once(&once, watch_forks);
    if (!live_file_key(path, &key))
        return err_set_errno(err, path);
    pthread_mutex_lock(&lock);
    while (free_at < LIVE_MOST && files[free_at].used &&
           files[free_at].forks == live_file_forks())
        free_at++;
    if (find(&key, false) < LIVE_MOST) {
        status =
            err_set_about(err, ERR_USAGE, path, ": this process writes it already");
    } else if (free_at == LIVE_MOST) {
        status = err_set_about(err, ERR_LIMIT, path,
                               ": this process writes %d files already", LIVE_MOST);
    } else {
        if (!files[free_at].used)
            atomic_fetch_add(&n_files, 1);
        files[free_at].key = key;
        files[free_at].forks = live_file_forks();
        files[free_at].used = true;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void live_file_remove(const struct file_key *key)
{
    int at;

    pthread_mutex_lock(&lock);
    at = find(key, false);
    if (at < LIVE_MOST) {
        files[at].used = false;
        atomic_fetch_sub(&n_files, 1);
    }
    pthread_mutex_unlock(&lock);
}

static bool is_file_listed(int dir_fd, const char *path, bool inherited)
{
    struct file_key key;
    struct stat info;
    bool is;

    if (fstatat(dir_fd, path, &info, 0) < 0)
        return false;
    key = (struct file_key){info.st_dev, info.st_ino};
    pthread_mutex_lock(&lock);
    is = find(&key, inherited) < LIVE_MOST;
    pthread_mutex_unlock(&lock);
    return is;
}

/* SQLite locks the index of its log ("-shm"), too. */
static bool is_listed(int dir_fd, const char *path, bool inherited)
{
    static const char *const beside[] = {"-shm", "-wal", "-journal"};
    struct str name = str_of(path);
    char file[PATH_MAX];

    if (atomic_load(&n_files) == 0)
        return false;
    if (is_file_listed(dir_fd, path, inherited))
        return true;
    for (size_t i = 0; i < COUNT_OF(beside); i++) {
        size_t len = name.len - strlen(beside[i]);

        if (!str_ends(name, str_of(beside[i])) || len >= sizeof file)
            continue;
        memcpy(file, path, len);
        file[len] = '\0';
        return is_file_listed(dir_fd, file, inherited);
    }
    return false;
}

bool live_file_is(const char *path)
{
    return is_listed(AT_FDCWD, path, false);
}

bool live_file_is_at(int dir_fd, const char *path)
{
    return is_listed(dir_fd, path, false);
}

bool live_file_inherited(const char *path)
{
    return is_listed(AT_FDCWD, path, true);
}
