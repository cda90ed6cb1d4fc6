/* shelf_in.h - items and their locks. A thread that has an item's lock may take the
 * shelf's, never the other way round (except by trylock). */
#ifndef WEB_SHELF_IN_H
#define WEB_SHELF_IN_H

#include <pthread.h>

#include "base/map.h"
#include "export/export.h"
#include "session/file_list.h"
#include "web/shelf.h"

#define SHELF_OPEN 8u /* sessions that stay open */

/* The newest answers about a file, for other clients (shared.c). */
#define SHARED_ANSWERS 16
struct shared_answers {
    struct {
        uint64_t version; /* of the file */
        struct buf key, body;
    } at[SHARED_ANSWERS];
    unsigned next; /* the oldest */
};

struct shelf_item {
    uint32_t number;
    pthread_mutex_t lock; /* protects the session, `stamp`, `live` and `shared` */
    struct session *session;
    uint64_t stamp; /* of the file version that the session has read */
    bool borrowed;
    struct shelf_live live; /* shown by the session; owner NULL: a file */
    struct source *asks;    /* the session's; NULL: no session was made yet */
    struct model view;      /* live.model with that source */
    uint64_t steps;         /* owner_steps() when the session was made */
    struct shared_answers shared;
    /* The shelf's lock protects the rest. */
    struct export_shelf_file facts;
    bool asked;             /* named by the user, not found in a folder */
    bool open;              /* has a session */
    uint64_t used;          /* value of shelf.takes when last taken */
    uint64_t changed;       /* the number of its newest change */
    uint64_t seen;          /* stamp of the file at the last look */
    struct shelf_live next; /* replaces `live` at the next question; owner NULL: none */
    struct owner *owner;    /* of the live model; NULL: a file */
    uint64_t seen_steps;    /* owner_steps() at the last look */
    int writer; /* process that writes the run on this machine; 0: unknown */
};

struct shelf_folder {
    struct file_list *list;
    uint32_t *items; /* by row */
    uint32_t n, room;
};

struct shelf {
    pthread_mutex_t looking; /* for shelf_look(): protects folders[].list */
    pthread_mutex_t lock;    /* protects the rest */
    struct arena arena;
    struct shelf_item **items;
    uint32_t n, room;
    struct name_map ids;
    struct shelf_folder *folders;
    uint32_t n_folders, folders_room;
    uint32_t n_open;
    uint64_t takes, news, looked_ns;
    bool searching; /* some folder */
};

/* A hash of sizes and times of a file and its -wal; for a folder of ranks, of all its
 * files; 0: it was removed. */
uint64_t shelf_stamp(const char *path);

/* Adds an item with a copy of the texts in `facts` and a unique id. Call it with the
 * lock held. NULL: no memory is left. */
struct shelf_item *shelf_put(struct shelf *shelf,
                             const struct export_shelf_file *facts);
/* Marks an item as changed. Call it with the lock held. */
void shelf_changed(struct shelf *shelf, struct shelf_item *item);
/* Makes the session of a live item. Call it with the item's lock held. */
int shelf_open_live(struct shelf *shelf, struct shelf_item *item, struct err *err);
void shelf_close_live(struct shelf_item *item);
/* Updates the facts of an item from its session. Call it with the item's lock held. */
void shelf_learn(struct shelf *shelf, struct shelf_item *item);
/* Updates the facts of a run from a summary. Call it with the lock held. */
void shelf_learn_training(struct shelf_item *item,
                          const struct history_summary *summary);
/* Updates whether a process is writing this run. Call it with the lock held. */
void shelf_learn_live(struct shelf_item *item);
/* Appends the answer to the same request that was made for this version of the file;
 * false: there is none. Call it with the item's lock held. */
bool shared_find(struct shelf *shelf, struct shelf_item *item, struct str key,
                 struct buf *to);
/* Keeps an answer in place of the oldest one. Sessions that were lent to the shelf
 * may change at any time: their answers are not kept. Call it with the item's lock held. */
void shared_keep(struct shelf *shelf, struct shelf_item *item, struct str key,
                 struct str body);
void shared_release(struct shared_answers *shared);

/* The process in the newest segment, if it runs on this machine; 0: unknown. */
int shelf_writer(struct history *history);

#endif
