#include "session/pair.h"

#include "base/test.h"
#include "session/sample_session.h"

static const struct diff_wanted all = {.values = true};

TEST(a_pair_of_sessions_is_compared_and_closed)
{
    struct pair *pair = pair_of(sample_session(), sample_session(), &all, NULL, NULL);

    CHECK(pair);
    CHECK_INT(pair->diff.total.states[DIFF_SAME], 4);
    CHECK_INT(pair->diff.total.states[DIFF_UNREAD], 1);
    CHECK(pair->diff.left == pair->left->model);
    pair_close(pair);
}

TEST(a_cancelled_pair_is_incomplete_and_marked)
{
    struct err err = {0};
    struct work work;
    struct pair *pair;

    work_init(&work);
    atomic_store(&work.cancel, 1);
    pair = pair_of(sample_session(), sample_session(), &all, &work, &err);
    CHECK(pair);
    CHECK_INT(err.code, ERR_CANCELLED);
    CHECK(!pair->diff.complete);
    pair_close(pair);
}

TEST(a_pair_needs_both_files)
{
    struct err err = {0};

    CHECK(!pair_open("/nowhere/a.pth", "/nowhere/b.pth", &all, NULL, &err));
    CHECK_INT(err.code, ERR_IO);
    pair_close(NULL);
}
