/* Threads ask, the owner answers. */
#include <stdatomic.h>
#include <string.h>

#include "base/background.h"
#include "base/base.h"
#include "base/test.h"
#include "session/sample_session.h"
#include "web/owner.h"

/* A live model whose one storage holds the number of the step. */
static atomic_uint step, reads, forgets;

static int live_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                      size_t n, struct err *err)
{
    (void)source;
    (void)at;
    if (storage == 1)
        return err_set(err, ERR_CHANGED, "it was deleted");
    atomic_fetch_add(&reads, 1);
    memset(to, (int)atomic_load(&step), n);
    return 0;
}

static int live_attributes(struct source *source, const struct attribute_of *what,
                           struct arena *arena, struct attribute **ret_attributes,
                           uint32_t *ret_n, struct err *err)
{
    (void)source;
    (void)err;
    *ret_attributes = arena_array(arena, 1, sizeof **ret_attributes);
    *ret_n = what->place;
    return 0;
}

static void live_forget(struct source *source)
{
    (void)source;
    atomic_fetch_add(&forgets, 1);
}

static const struct source_ops live_ops = {
    .bytes = live_bytes, .attributes = live_attributes, .forget = live_forget};

struct stage {
    struct session *session;
    struct owner *owner;
    struct source live, *asks;
    pthread_t thread;
    atomic_bool done;
    int status;
    char got;
    struct err err;
};

static void stage_begin(struct stage *s)
{
    *s = (struct stage){.session = sample_session(), .live = {.ops = &live_ops}};
    s->owner = owner_new();
    CHECK(s->owner);
    s->asks = owner_source_new(s->owner, s->session->model, &s->live);
    CHECK(s->asks);
    atomic_store(&step, 0);
    atomic_store(&reads, 0);
    atomic_store(&forgets, 0);
}

static void stage_end(struct stage *s)
{
    source_close(s->asks);
    owner_end(s->owner);
    owner_free(s->owner);
    session_close(s->session);
}

static void *read_storage(void *user)
{
    struct stage *s = user;

    owner_source_begin(s->asks);
    s->status = source_bytes(s->asks, 0, 4, &s->got, 1, &s->err);
    owner_source_end(s->asks);
    atomic_store(&s->done, true);
    return NULL;
}

/* Reads on another thread, while the owner answers after each step. */
static void read_in_training(struct stage *s)
{
    atomic_store(&s->done, false);
    CHECK(background_start(&s->thread, read_storage, s));
    while (!atomic_load(&s->done)) {
        atomic_fetch_add(&step, 1);
        owner_answer(s->owner, atomic_load(&step));
    }
    pthread_join(s->thread, NULL);
}

TEST(the_owner_answers_on_its_own_thread_with_the_number_of_its_step)
{
    struct owner_age age;
    struct stage s;

    stage_begin(&s);
    for (int i = 0; i < 50; i++) {
        read_in_training(&s);
        age = owner_source_age(s.asks);
        CHECK_INT(s.status, 0);
        CHECK(age.used && !age.old);
        CHECK_INT((unsigned char)s.got, age.step & 0xff);
        CHECK_INT(atomic_load(&reads), i + 1);
    }
    stage_end(&s);
}

TEST(without_an_answer_the_newest_copy_is_used_and_marked_as_old)
{
    struct owner_age age;
    struct stage s;
    uint64_t before;

    stage_begin(&s);
    CHECK(read_storage(&s) == NULL);
    CHECK_INT(s.status, -1);
    CHECK_INT(s.err.code, ERR_LIMIT);
    read_in_training(&s);
    before = owner_source_age(s.asks).step;
    atomic_fetch_add(&step, 1);
    CHECK(read_storage(&s) == NULL);
    age = owner_source_age(s.asks);
    CHECK_INT(s.status, 0);
    CHECK(age.old && age.step == before);
    stage_end(&s);
}

static void *ask_attributes(void *user)
{
    const struct attribute_of what = {.place = 3, .attribute = NO_ATTRIBUTE};
    struct attribute *found = NULL;
    struct stage *s = user;
    struct arena arena;
    uint32_t n = 0;

    arena_init(&arena, 0);
    s->status = source_attributes(s->asks, &what, &arena, &found, &n, &s->err);
    s->got = (char)n;
    arena_release(&arena);
    atomic_store(&s->done, true);
    return NULL;
}

TEST(attributes_are_requested_and_released_later_once)
{
    struct stage s;

    stage_begin(&s);
    CHECK(background_start(&s.thread, ask_attributes, &s));
    while (!atomic_load(&s.done))
        owner_answer(s.owner, OWNER_NO_STEP);
    pthread_join(s.thread, NULL);
    CHECK_INT(s.status, 0);
    CHECK_INT(s.got, 3);
    source_forget(s.asks);
    source_forget(s.asks);
    owner_answer(s.owner, OWNER_NO_STEP);
    owner_answer(s.owner, OWNER_NO_STEP);
    CHECK_INT(atomic_load(&forgets), 1);
    CHECK_INT(owner_steps(s.owner), 0);
    stage_end(&s);
}

TEST(errors_of_the_owner_are_returned_and_its_end_ends_the_wait)
{
    struct stage s;
    char got;

    stage_begin(&s);
    owner_end(s.owner);
    owner_source_begin(s.asks);
    CHECK_INT(source_bytes(s.asks, 0, 0, &got, 1, &s.err), -1);
    CHECK_INT(s.err.code, ERR_LIMIT);
    CHECK(!owner_answers_here(s.owner));
    stage_end(&s);
}

TEST(a_source_that_any_thread_may_read_sends_no_requests)
{
    struct stage s;
    char got = 0;

    stage_begin(&s);
    s.live.any_thread = true;
    atomic_store(&step, 7);
    CHECK_INT(source_bytes(s.asks, 0, 0, &got, 1, NULL), 0);
    CHECK_INT(got, 7);
    CHECK(!owner_source_age(s.asks).used);
    stage_end(&s);
}
