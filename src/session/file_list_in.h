/* file_list_in.h - internals of file_list.h, shared by its threads. */
#ifndef SESSION_FILE_LIST_IN_H
#define SESSION_FILE_LIST_IN_H

#include <pthread.h>

#include "base/arena.h"
#include "base/work.h"
#include "session/file_list.h"

#define FILE_LIST_MOST  100000u
#define FILE_LIST_DEPTH 64

struct file_list {
    pthread_t walker, judge;
    pthread_mutex_t lock; /* protects the members up to `ending` */
    pthread_cond_t more;  /* there is something to judge */
    struct arena arena;   /* rows and their texts */
    struct file_row *rows;
    uint32_t n, room;
    uint32_t *wanted; /* numbers of rows on the screen, the most important first */
    uint32_t n_wanted, wanted_room;
    struct file_list_facts facts;
    uint64_t notified_ns; /* time of the last notification */
    bool news, notified;
    bool ending;

    struct work work; /* cancelled to end */
    int read_fd, write_fd;
    char *folder;

    /* Used by the owner only: the rows taken. */
    struct file_row *taken;
    uint32_t n_taken, taken_room;
};

/* The walker's thread: searches the folders. */
void file_walk(struct file_list *list);
/* Adds a model; copies the texts. The lock is not held. */
void file_list_found(struct file_list *list, const char *path,
                     const struct file_row *row);
/* Notifies the owner; the lock is held. Notifications in quick succession are combined.
 */
void file_list_notify(struct file_list *list, bool at_once);

#endif
