/* Live models on the shelf. */
#include "base/base.h"
#include "session/attach.h"
#include "web/shelf_in.h"

/* A word that lives as long as the program. */
static const char *known_labels(const char *labels)
{
    return labels && str_is(str_of(labels), "numbers") ? "numbers" : NULL;
}

static bool copy_live(struct arena *arena, struct shelf_live *to,
                      const struct shelf_live *from)
{
    *to = *from;
    to->labels = known_labels(from->labels);
    to->name = arena_str(arena, str_of(from->name)).at;
    if (from->path)
        to->path = arena_str(arena, str_of(from->path)).at;
    return to->name && (to->path || !from->path);
}

int shelf_add_live(struct shelf *shelf, const struct shelf_live *live,
                   struct shelf_item **ret_item, struct err *err)
{
    struct export_shelf_file facts = {.file = str_of(live->name),
                                      .name = str_of(live->name),
                                      .path = live->path,
                                      .labels = known_labels(live->labels),
                                      .kind = "file"};
    struct shelf_item *item;

    pthread_mutex_lock(&shelf->lock);
    item = shelf_put(shelf, &facts);
    if (item && copy_live(&shelf->arena, &item->next, live)) {
        item->asked = true;
        item->owner = live->owner;
    } else if (item) {
        item->next = (struct shelf_live){0};
        item = NULL;
    }
    pthread_mutex_unlock(&shelf->lock);
    if (!item)
        return err_set(err, ERR_LIMIT, "no memory is left for the list of files");
    if (!shelf_take(shelf, item, NULL, err))
        return -1;
    shelf_give(shelf, item);
    if (ret_item)
        *ret_item = item;
    return 0;
}

int shelf_renew_live(struct shelf *shelf, struct shelf_item *item,
                     const struct shelf_live *live, struct err *err)
{
    struct shelf_live copy;
    bool fine;

    pthread_mutex_lock(&shelf->lock);
    fine = copy_live(&shelf->arena, &copy, live);
    if (fine) {
        item->next = copy;
        item->facts.path = copy.path;
        item->facts.labels = copy.labels;
        /* The page requests again and gets what the run has. */
        item->facts.kind = copy.path ? "run" : copy.run ? "recording" : "file";
        item->facts.has |= copy.path ? SESSION_HISTORY : 0u;
        shelf_changed(shelf, item);
    }
    pthread_mutex_unlock(&shelf->lock);
    return fine ? 0 : err_set(err, ERR_LIMIT, "no memory is left for this run");
}

void shelf_close_live(struct shelf_item *item)
{
    session_close(item->session);
    item->session = NULL;
    source_close(item->asks);
    item->asks = NULL;
}

/* Applies a renewal since the last question. */
static void take_next(struct shelf *shelf, struct shelf_item *item)
{
    struct shelf_live next;

    pthread_mutex_lock(&shelf->lock);
    next = item->next;
    item->next = (struct shelf_live){0};
    pthread_mutex_unlock(&shelf->lock);
    if (!next.owner)
        return;
    shelf_close_live(item);
    item->live = next;
}

static struct session *make_session(struct shelf_item *item, struct err *err)
{
    const struct shelf_live *live = &item->live;
    struct session *session;

    if (!item->asks)
        item->asks = owner_source_new(live->owner, live->model, live->source);
    if (!item->asks) {
        err_set(err, ERR_LIMIT, "no memory left");
        return NULL;
    }
    item->view = *live->model;
    item->view.source = item->asks;
    session = live->run ? session_on_run(live->run, item->asks, err)
                        : session_on(&item->view, err);
    if (session && live->path) {
        session_attach_history(session, live->path);
        session_forget(session); /* discards cached numbers of an earlier step */
    }
    return session;
}

/* Is the session still right? It caches numbers of live values, so it is only kept until
 * the next step if none was read. A history that has grown is read on. */
static bool is_kept(struct shelf_item *item, uint64_t stamp, uint64_t steps)
{
    if (!item->session || !item->asks || owner_source_age(item->asks).used)
        return false;
    if (stamp == item->stamp && (steps == item->steps || item->session->history))
        return true;
    return item->live.path && session_refresh_training(item->session);
}

int shelf_open_live(struct shelf *shelf, struct shelf_item *item, struct err *err)
{
    uint64_t stamp, steps = owner_steps(item->owner);
    bool kept, news;

    take_next(shelf, item);
    stamp = item->live.path ? shelf_stamp(item->live.path) : 0;
    kept = is_kept(item, stamp, steps);
    if (!kept) {
        session_close(item->session);
        item->session = make_session(item, err);
    }
    news = item->session && (!kept || stamp != item->stamp);
    item->stamp = stamp;
    item->steps = steps;
    if (news)
        shelf_learn(shelf, item);
    if (item->session)
        owner_source_begin(item->asks);
    return item->session ? 0 : -1;
}

bool shelf_age(const struct shelf_item *item, struct owner_age *ret_age)
{
    if (!item->asks)
        return false;
    *ret_age = owner_source_age(item->asks);
    return ret_age->used;
}
