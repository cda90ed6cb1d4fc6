#include "web/shelf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/folder.h"
#include "history/ranks.h"
#include "read/read.h"
#include "web/shelf_in.h"

#define BUSY_TRIES 40
#define BUSY_MS    250 /* of each */

/* ---- beginning and ending ---- */

struct shelf *shelf_new(struct err *err)
{
    struct shelf *shelf = calloc(1, sizeof *shelf);

    if (!shelf) {
        err_set(err, ERR_LIMIT, "no memory left");
        return NULL;
    }
    arena_init(&shelf->arena, GIB);
    pthread_mutex_init(&shelf->lock, NULL);
    pthread_mutex_init(&shelf->looking, NULL);
    name_map_init(&shelf->ids, &shelf->arena);
    shelf->news = 1;
    return shelf;
}

void shelf_free(struct shelf *shelf)
{
    if (!shelf)
        return;
    for (uint32_t i = 0; i < shelf->n_folders; i++)
        file_list_free(shelf->folders[i].list);
    for (uint32_t i = 0; i < shelf->n; i++) {
        struct shelf_item *item = shelf->items[i];

        if (!item->borrowed)
            session_close(item->session);
        source_close(item->asks);
        shared_release(&item->shared);
        pthread_mutex_destroy(&item->lock);
    }
    pthread_mutex_destroy(&shelf->lock);
    pthread_mutex_destroy(&shelf->looking);
    arena_release(&shelf->arena);
    free(shelf);
}

/* ---- items ---- */

/* Two files with the same name: the second one is named by its path. */
static struct str unique_id(struct shelf *shelf, const struct export_shelf_file *facts)
{
    struct str id = facts->file;
    uint32_t at;

    if (name_map_find(&shelf->ids, id, &at) && facts->path)
        id = str_of(facts->path);
    for (unsigned i = 2; name_map_find(&shelf->ids, id, &at); i++)
        id = str_of(arena_printf(&shelf->arena, "%.*s#%u", STR_ARG(facts->file), i));
    return arena_str(&shelf->arena, id);
}

static bool copy_texts(struct arena *arena, struct export_shelf_file *facts)
{
    bool has_path = facts->path != NULL;

    facts->name = arena_str(arena, facts->name);
    facts->path = has_path ? arena_str(arena, str_of(facts->path)).at : NULL;
    return facts->file.at && facts->name.at && (facts->path || !has_path);
}

struct shelf_item *shelf_put(struct shelf *shelf, const struct export_shelf_file *facts)
{
    struct shelf_item *item = arena_alloc(&shelf->arena, sizeof *item);
    uint32_t at;

    if (!item || arena_room(&shelf->arena, &shelf->items, shelf->n, &shelf->room,
                            sizeof *shelf->items) < 0)
        return NULL;
    item->facts = *facts;
    item->facts.file = unique_id(shelf, facts);
    item->number = shelf->n;
    if (!copy_texts(&shelf->arena, &item->facts) ||
        name_map_add(&shelf->ids, item->facts.file, &at) != 1)
        return NULL;
    pthread_mutex_init(&item->lock, NULL);
    shelf->items[shelf->n++] = item;
    shelf_changed(shelf, item);
    return item;
}

void shelf_changed(struct shelf *shelf, struct shelf_item *item)
{
    item->facts.version++;
    item->changed = ++shelf->news;
}

static int no_memory(struct err *err)
{
    return err_set(err, ERR_LIMIT, "no memory is left for the list of files");
}

static int add_folder(struct shelf *shelf, const char *path, struct err *err)
{
    struct file_list *list = file_list_new(path, err);
    int status;

    if (!list)
        return -1;
    pthread_mutex_lock(&shelf->lock);
    status = arena_room(&shelf->arena, &shelf->folders, shelf->n_folders,
                        &shelf->folders_room, sizeof *shelf->folders);
    if (status == 0)
        shelf->folders[shelf->n_folders++] = (struct shelf_folder){.list = list};
    shelf->searching = true;
    pthread_mutex_unlock(&shelf->lock);
    if (status == 0)
        return 0;
    file_list_free(list);
    return no_memory(err);
}

int shelf_add(struct shelf *shelf, const char *path, struct work *work, struct err *err)
{
    struct export_shelf_file facts = {
        .file = path_last(path), .name = path_last(path), .path = path, .kind = "file"};
    struct shelf_item *item;
    struct stat info;
    bool first;

    if (read_is_url(path))
        info = (struct stat){0};
    else if (stat(path, &info) < 0)
        return err_set_errno(err, path);
    if (S_ISDIR(info.st_mode) && !file_list_is_model(path) && !history_ranks_is(path))
        return add_folder(shelf, path, err);
    facts.bytes = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    pthread_mutex_lock(&shelf->lock);
    first = shelf->n == 0;
    item = shelf_put(shelf, &facts);
    if (item)
        item->asked = true;
    pthread_mutex_unlock(&shelf->lock);
    if (!item)
        return no_memory(err);
    /* A wrong name fails at once. shelf_look() opens the files later. */
    if (first) {
        if (!shelf_take(shelf, item, work, err))
            return -1;
        shelf_give(shelf, item);
    }
    return 0;
}

/* ---- facts about a file from its session ---- */

static const char *kind_of(const struct session *session)
{
    return session->history ? "run" : session->run ? "recording" : "file";
}

/* A copy; NULL: it is empty. */
static const char *kept_text(struct shelf *shelf, struct str text)
{
    return text.len > 0 ? arena_str(&shelf->arena, text).at : NULL;
}

void shelf_learn(struct shelf *shelf, struct shelf_item *item)
{
    const struct session *session = item->session;
    struct export_shelf_file *facts = &item->facts;
    int writer = session->history ? shelf_writer(session->history) : 0;
    unsigned has = session_has(session);
    bool news;

    pthread_mutex_lock(&shelf->lock);
    /* shelf_look() may have reported this change. */
    news =
        !facts->opened || facts->why || facts->has != has || item->seen != item->stamp;
    facts->opened = true;
    facts->why = NULL;
    facts->kind = kind_of(session);
    facts->format = arena_str(&shelf->arena, str_of(session->model->format)).at;
    if (news)
        facts->capsule = kept_text(shelf, session_capsule(session));
    facts->judged = session_judged(session);
    facts->verdict = (uint8_t)session->verdict.verdict;
    facts->bytes = session->model->file_bytes;
    facts->params = counts_params(&session->places, 0);
    facts->has = has;
    if (session->training) {
        item->writer = writer;
        shelf_learn_training(item, session->training);
        shelf_learn_live(item);
    }
    item->seen = item->stamp;
    if (news)
        shelf_changed(shelf, item);
    pthread_mutex_unlock(&shelf->lock);
}

static void learn_trouble(struct shelf *shelf, struct shelf_item *item,
                          const struct err *why)
{
    struct export_shelf_file *facts = &item->facts;

    pthread_mutex_lock(&shelf->lock);
    if (!facts->why || !str_is(str_of(why->text), facts->why)) {
        facts->opened = true;
        facts->has = 0;
        facts->judged = false;
        facts->why = arena_str(&shelf->arena, str_of(why->text)).at;
        shelf_changed(shelf, item);
    }
    pthread_mutex_unlock(&shelf->lock);
}

int shelf_add_session(struct shelf *shelf, const char *name, struct session *session,
                      struct err *err)
{
    struct export_shelf_file facts = {
        .file = str_of(name), .name = str_of(name), .kind = kind_of(session)};
    struct shelf_item *item;

    pthread_mutex_lock(&shelf->lock);
    item = shelf_put(shelf, &facts);
    if (item) {
        item->asked = item->borrowed = true;
        item->session = session;
    }
    pthread_mutex_unlock(&shelf->lock);
    if (!item)
        return no_memory(err);
    pthread_mutex_lock(&item->lock);
    shelf_learn(shelf, item);
    pthread_mutex_unlock(&item->lock);
    return 0;
}

struct shelf_item *shelf_find(struct shelf *shelf, struct str id)
{
    struct shelf_item *item = NULL;
    uint32_t at;

    pthread_mutex_lock(&shelf->lock);
    if (id.len == 0)
        item = shelf->n > 0 ? shelf->items[0] : NULL;
    else if (name_map_find(&shelf->ids, id, &at))
        item = shelf->items[at];
    pthread_mutex_unlock(&shelf->lock);
    return item;
}

uint32_t shelf_number(const struct shelf_item *item)
{
    return item->number;
}

struct shelf_item *shelf_at(struct shelf *shelf, uint32_t number)
{
    struct shelf_item *item;

    pthread_mutex_lock(&shelf->lock);
    item = number < shelf->n ? shelf->items[number] : NULL;
    pthread_mutex_unlock(&shelf->lock);
    return item;
}

/* ---- sessions ---- */

/* Takes the least recently used session, if it is not in use. Call it with the lock
 * held. */
static struct session *take_oldest(struct shelf *shelf, const struct shelf_item * not )
{
    struct shelf_item *oldest = NULL;
    struct session *session;

    for (uint32_t i = 0; i < shelf->n && shelf->n_open > SHELF_OPEN; i++) {
        struct shelf_item *item = shelf->items[i];

        if (item->open && item != not &&(!oldest || item->used < oldest->used))
            oldest = item;
    }
    if (!oldest || pthread_mutex_trylock(&oldest->lock) != 0)
        return NULL;
    session = oldest->session;
    oldest->session = NULL;
    shared_release(&oldest->shared);
    oldest->open = false;
    shelf->n_open--;
    pthread_mutex_unlock(&oldest->lock);
    return session;
}

static void set_open(struct shelf *shelf, struct shelf_item *item, bool open)
{
    struct session *old = NULL;

    pthread_mutex_lock(&shelf->lock);
    item->used = ++shelf->takes;
    if (open && !item->open)
        shelf->n_open++;
    else if (!open && item->open)
        shelf->n_open--;
    item->open = open;
    if (open)
        old = take_oldest(shelf, item);
    pthread_mutex_unlock(&shelf->lock);
    session_close(old);
}

/* A training run has grown: its reader sees the new steps without reopening. */
static bool is_renewed(struct session *session)
{
    return session->history && history_has_model(session->history) &&
           session_refresh_training(session);
}

static int open_session(struct shelf *shelf, struct shelf_item *item, struct work *work,
                        struct err *err)
{
    struct err why = {0};
    uint64_t stamp = shelf_stamp(item->facts.path);

    if (item->owner)
        return shelf_open_live(shelf, item, err);
    if (item->session && stamp == item->stamp) {
        set_open(shelf, item, true);
        return 0;
    }
    if (!item->session || stamp == 0 || !is_renewed(item->session)) {
        session_close(item->session);
        item->session = session_open(item->facts.path, work, &why);
    }
    item->stamp = stamp;
    set_open(shelf, item, item->session != NULL);
    if (item->session) {
        shelf_learn(shelf, item);
        return 0;
    }
    if (why.code != ERR_CANCELLED)
        learn_trouble(shelf, item, &why);
    return err_copy(err, &why);
}

/* Requests for one file were queued before they get here; those for two files may
 * conflict with others. */
static int lock_item(struct shelf_item *item, struct work *work, struct err *err)
{
    struct timespec until;

    for (unsigned i = 0; i < BUSY_TRIES; i++) {
        until = clock_later(CLOCK_REALTIME, BUSY_MS);
        if (pthread_mutex_timedlock(&item->lock, &until) == 0)
            return 0;
        if (work && work_cancelled(work))
            return err_set(err, ERR_CANCELLED, "stopped");
    }
    return err_set(err, ERR_LIMIT, "%s is busy with another request; try again",
                   item->facts.name.at);
}

struct session *shelf_take(struct shelf *shelf, struct shelf_item *item,
                           struct work *work, struct err *err)
{
    if (lock_item(item, work, err) < 0)
        return NULL;
    if (item->borrowed || open_session(shelf, item, work, err) == 0)
        return item->session;
    pthread_mutex_unlock(&item->lock);
    return NULL;
}

void shelf_give(struct shelf *shelf, struct shelf_item *item)
{
    (void)shelf;
    if (item->asks)
        owner_source_end(item->asks);
    pthread_mutex_unlock(&item->lock);
}

int shelf_take_two(struct shelf *shelf, struct shelf_item *items[2],
                   struct session *ret_sessions[2], struct work *work, struct err *err)
{
    unsigned first = items[0]->number < items[1]->number ? 0 : 1;

    ret_sessions[first] = shelf_take(shelf, items[first], work, err);
    if (!ret_sessions[first])
        return -1;
    ret_sessions[!first] = shelf_take(shelf, items[!first], work, err);
    if (ret_sessions[!first])
        return 0;
    shelf_give(shelf, items[first]);
    return -1;
}

/* ---- the document ---- */

void shelf_write(struct shelf *shelf, enum shelf_document what, uint64_t since,
                 struct json *json)
{
    bool all = what == SHELF_ALL;

    pthread_mutex_lock(&shelf->lock);
    export_shelf_begin(json, all ? "shelf" : "news", shelf->news, !shelf->searching);
    for (uint32_t i = 0; i < shelf->n; i++)
        if (all || shelf->items[i]->changed > since)
            export_shelf_file(json, &shelf->items[i]->facts);
    export_shelf_end(json);
    pthread_mutex_unlock(&shelf->lock);
}
