#include "base/work.h"

#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/test.h"

static void count_call(struct work *work)
{
    ++*(int *)work->user;
}

TEST(work_without_a_callback_continues)
{
    CHECK(work_step(NULL, 5));
    CHECK(!work_cancelled(NULL));
}

TEST(steps_add_up_until_cancelled)
{
    struct work work;

    work_init(&work);
    CHECK(work_step(&work, 5) && work_step(&work, 7));
    CHECK_INT(work.done, 12);
    work.cancel = 1;
    CHECK(!work_step(&work, 1) && work_cancelled(&work));
    CHECK_INT(work.done, 13);
}

TEST(a_thread_that_waits_is_stopped_by_the_work_it_entered)
{
    struct work outer, inner, *before;

    work_init(&outer);
    work_init(&inner);
    CHECK(work_wait());
    before = work_enter(&outer);
    CHECK(!before && work_wait());
    inner.cancel = 1;
    before = work_enter(&inner);
    CHECK(before == &outer && !work_wait());
    work_leave(before);
    CHECK(work_wait());
    work_leave(NULL);
    outer.cancel = 1;
    CHECK(work_wait());
}

TEST(progress_is_reported_every_fifty_milliseconds_at_most)
{
    struct work work;
    int calls = 0;
    uint64_t began = clock_ns();

    work_init(&work);
    work.progress = count_call;
    work.user = &calls;
    CHECK(work_step(&work, 1));
    CHECK_INT(calls, 0); /* the first call only starts the interval */
    for (int i = 1; i <= 2; i++) {
        int before = calls;

        usleep(60000);
        CHECK(work_step(&work, 1));
        CHECK_INT(calls, before + 1);
        /* A busy machine may wait longer between two reports, never shorter. */
        for (int k = 0; k < 1000; k++)
            CHECK(work_step(&work, 1));
        CHECK((uint64_t)calls <= (clock_ns() - began) / 50000000u);
    }
}
