/* file_list_in.h - what the two threads of a list of files share. */
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
    pthread_mutex_t lock; /* over all up to `told` */
    pthread_cond_t more;  /* there is something to judge */
    struct arena arena;   /* rows and their texts */
    struct file_row *rows;
    uint32_t n, room;
    uint32_t *wanted; /* numbers of rows on the screen, first those wanted most */
    uint32_t n_wanted, wanted_room;
    struct file_list_facts facts;
    uint64_t told_ns; /* when it was last told that there is something new */
    bool news, told;
    bool ending;

    struct work work; /* cancelled to end */
    int read_fd, write_fd;
    char *folder;

    /* Of the owner alone: what was taken. */
    struct file_row *taken;
    uint32_t n_taken, taken_room;
};

/* The walker's thread: look into folder after folder. */
void file_walk(struct file_list *list);
/* A model was found; the texts are copied. With the lock not held. */
void file_list_found(struct file_list *list, const char *path,
                     const struct file_row *row);
/* There is something new; the lock is held. Of many that come one behind the other not
 * every one is told: the last is. */
void file_list_tell(struct file_list *list, bool at_once);

#endif
