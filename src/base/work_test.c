#include "base/work.h"

#include <stddef.h>
#include <unistd.h>

#include "base/test.h"

static void count_call(struct work *work)
{
    ++*(int *)work->user;
}

TEST(work_that_nobody_watches_goes_on)
{
    CHECK(work_step(NULL, 5));
    CHECK(!work_cancelled(NULL));
}

TEST(steps_add_up_until_somebody_cancels)
{
    struct work work;

    work_init(&work);
    CHECK(work_step(&work, 5) && work_step(&work, 7));
    CHECK_INT(work.done, 12);
    work.cancel = 1;
    CHECK(!work_step(&work, 1) && work_cancelled(&work));
    CHECK_INT(work.done, 13);
}

TEST(progress_is_told_every_fifty_milliseconds_at_most)
{
    struct work work;
    int calls = 0;

    work_init(&work);
    work.progress = count_call;
    work.user = &calls;
    CHECK(work_step(&work, 1) && work_step(&work, 1));
    CHECK_INT(calls, 0);
    usleep(60000);
    CHECK(work_step(&work, 1) && work_step(&work, 1));
    CHECK(calls == 1);
    usleep(60000);
    CHECK(work_step(&work, 1));
    CHECK(calls == 2);
}
