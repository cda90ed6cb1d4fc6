/* shelf.h - what a server shows: files, folders and open models. Requests name them by
 * id and cannot access anything else: a request never contains a path.
 *
 * Sessions are opened on demand, and once for each file that the user named.
 * shelf_take() gives one thread exclusive use; the eight most recently used stay open.
 * Files that this process writes are only read through SQLite, as session_open() does
 * (base/live_file.h). Any thread may call these functions. */
#ifndef WEB_SHELF_H
#define WEB_SHELF_H

#include "base/json_write.h"
#include "base/work.h"
#include "session/session.h"
#include "web/owner.h"

struct shelf;
struct shelf_item;

struct shelf *shelf_new(struct err *err);
void shelf_free(struct shelf *shelf); /* closes its sessions; accepts NULL */

/* Adds a file, recording or run; a folder is searched in the background unless it is
 * one model or run. Fails if `path` does not exist. */
int shelf_add(struct shelf *shelf, const char *path, struct work *work,
              struct err *err);
/* Adds an open session under this name; borrows it and uses it on other threads. */
int shelf_add_session(struct shelf *shelf, const char *name, struct session *session,
                      struct err *err);

/* A live model, or a recording of one in this process, all borrowed. Data that only its
 * owner may read is requested from the owner (web/owner.h). */
struct shelf_live {
    const char *name;
    struct owner *owner;
    const struct model *model;
    const struct run *run; /* or NULL */
    struct source *source; /* of its values and attributes */
    const char *path;      /* of the .scope file with its history; or NULL */
    const char *labels;    /* "numbers": pages label inputs by number; NULL: by name */
};
/* Returns its item in *ret_item. */
int shelf_add_live(struct shelf *shelf, const struct shelf_live *live,
                   struct shelf_item **ret_item, struct err *err);
/* Replaces what the item shows, for example when a training run gets its file. Never
 * waits for a question. */
int shelf_renew_live(struct shelf *shelf, struct shelf_item *item,
                     const struct shelf_live *live, struct err *err);
/* The age of the values in the current answer. False: the item is not live. */
bool shelf_age(const struct shelf_item *item, struct owner_age *ret_age);

/* The item with this id; an empty id means the only or first one. NULL: none. */
struct shelf_item *shelf_find(struct shelf *shelf, struct str id);
uint32_t shelf_number(const struct shelf_item *item); /* index of the item */
struct shelf_item *shelf_at(struct shelf *shelf, uint32_t number); /* NULL: none */
/* The up-to-date session of an item, for exclusive use until shelf_give(). */
struct session *shelf_take(struct shelf *shelf, struct shelf_item *item,
                           struct work *work, struct err *err);
void shelf_give(struct shelf *shelf, struct shelf_item *item);
/* Takes two different sessions, in an order that cannot deadlock. */
int shelf_take_two(struct shelf *shelf, struct shelf_item *items[2],
                   struct session *ret_sessions[2], struct work *work, struct err *err);

/* Detects changed files, at most four times a second; earlier calls do nothing. Returns
 * the number of the newest change. */
uint64_t shelf_look(struct shelf *shelf);
uint64_t shelf_news(struct shelf *shelf); /* the newest known change */

/* The document `shelf`; since > 0: `news`, only files that changed after that number. */
enum shelf_document { SHELF_ALL, SHELF_NEWS };
void shelf_write(struct shelf *shelf, enum shelf_document what, uint64_t since,
                 struct json *json);

#endif
