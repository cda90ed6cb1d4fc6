/* shelf.h - what a server shows: files, folders and open models, each with an id that
 * requests name. Nothing else can be asked for: a request never makes a path.
 *
 * Sessions are opened on demand, and once for each file that the user named. They belong
 * to whoever took them; the eight that were used last stay open. Files that this process
 * writes are read through SQLite only, as session_open() does (base/live_file.h). All
 * functions may be called by any thread. */
#ifndef WEB_SHELF_H
#define WEB_SHELF_H

#include "base/json_write.h"
#include "base/work.h"
#include "session/session.h"
#include "web/owner.h"

struct shelf;
struct shelf_item;

struct shelf *shelf_new(struct err *err);
void shelf_free(struct shelf *shelf); /* closes its sessions; NULL is allowed */

/* A file, recording or run; a folder is searched in the background, unless it is one
 * model or run. Fails if there is nothing at `path`. */
int shelf_add(struct shelf *shelf, const char *path, struct work *work,
              struct err *err);
/* Shows an open session under this name; borrows it, and uses it on other threads. */
int shelf_add_session(struct shelf *shelf, const char *name, struct session *session,
                      struct err *err);

/* A live model, or a recording of one in this process, all borrowed. What only its owner
 * may read is asked of it (web/owner.h). */
struct shelf_live {
    const char *name;
    struct owner *owner;
    const struct model *model;
    const struct run *run; /* or NULL */
    struct source *source; /* knows its values and attributes */
    const char *path;      /* of the .scope file with its history; or NULL */
    const char *labels; /* how a page labels inputs: "numbers"; NULL: by their names */
};
/* Returns its item in *ret_item. */
int shelf_add_live(struct shelf *shelf, const struct shelf_live *live,
                   struct shelf_item **ret_item, struct err *err);
/* From now on the item shows this: a training run whose file has begun, say. Never waits
 * for a question. */
int shelf_renew_live(struct shelf *shelf, struct shelf_item *item,
                     const struct shelf_live *live, struct err *err);
/* How old the values in the answer were that is being given. False: it is no live one. */
bool shelf_age(const struct shelf_item *item, struct owner_age *ret_age);

/* The item with this id; an empty id means the only or first one. NULL: none. */
struct shelf_item *shelf_find(struct shelf *shelf, struct str id);
uint32_t shelf_number(const struct shelf_item *item); /* of the item, from 0 */
struct shelf_item *shelf_at(struct shelf *shelf, uint32_t number); /* NULL: none */
/* The session of an item, for the caller alone until it is given back: as new as the
 * file. */
struct session *shelf_take(struct shelf *shelf, struct shelf_item *item,
                           struct work *work, struct err *err);
void shelf_give(struct shelf *shelf, struct shelf_item *item);
/* Two different ones, in an order that cannot deadlock. */
int shelf_take_two(struct shelf *shelf, struct shelf_item *items[2],
                   struct session *ret_sessions[2], struct work *work, struct err *err);

/* Looks which files changed, at most four times a second; a call that comes sooner does
 * nothing. Returns the number of the newest change. */
uint64_t shelf_look(struct shelf *shelf);
uint64_t shelf_news(struct shelf *shelf); /* the same without looking */

/* The document `shelf`; since > 0: `news`, only files that changed after that number. */
enum shelf_document { SHELF_ALL, SHELF_NEWS };
void shelf_write(struct shelf *shelf, enum shelf_document what, uint64_t since,
                 struct json *json);

#endif
