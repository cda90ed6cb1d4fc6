/* Answers that several clients request: each is made once for a version of its file. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "web/shelf_in.h"

#define MOST_BYTES ((size_t)1 * MIB) /* of one answer */

static void drop(struct shared_answers *shared, unsigned i)
{
    buf_release(&shared->at[i].key);
    buf_release(&shared->at[i].body);
}

void shared_release(struct shared_answers *shared)
{
    for (unsigned i = 0; i < SHARED_ANSWERS; i++)
        drop(shared, i);
}

/* Numbers that were measured meanwhile may be part of later answers. */
static uint64_t count_measured(const struct session *session)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < session->model->n_tensors; i++)
        n += session_known(session, i) != NULL;
    return n;
}

static uint64_t version_of(const struct shelf_item *item, bool live)
{
    uint64_t version = hash_mix(item->stamp, (uint64_t)(uintptr_t)item->live.run);

    version = hash_mix(version, item->live.labels != NULL);
    return hash_mix(hash_mix(version, live), count_measured(item->session));
}

static uint64_t version_now(struct shelf *shelf, const struct shelf_item *item)
{
    bool live;

    pthread_mutex_lock(&shelf->lock);
    live = item->facts.live;
    pthread_mutex_unlock(&shelf->lock);
    return version_of(item, live);
}

bool shared_find(struct shelf *shelf, struct shelf_item *item, struct str key,
                 struct buf *to)
{
    struct shared_answers *shared = &item->shared;
    uint64_t version;

    if (item->borrowed)
        return false;
    version = version_now(shelf, item);
    for (unsigned i = 0; i < SHARED_ANSWERS; i++)
        if (shared->at[i].version == version && shared->at[i].key.len > 0 &&
            str_eq(buf_span(&shared->at[i].key), key)) {
            buf_str(to, buf_span(&shared->at[i].body));
            return true;
        }
    return false;
}

void shared_keep(struct shelf *shelf, struct shelf_item *item, struct str key,
                 struct str body)
{
    struct shared_answers *shared = &item->shared;
    unsigned i = shared->next;

    if (item->borrowed || body.len > MOST_BYTES)
        return;
    shared->next = (i + 1) % SHARED_ANSWERS;
    drop(shared, i);
    shared->at[i].version = version_now(shelf, item);
    buf_str(&shared->at[i].key, key);
    buf_str(&shared->at[i].body, body);
    if (shared->at[i].key.bad || shared->at[i].body.bad)
        drop(shared, i);
}
