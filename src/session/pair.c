#include "session/pair.h"

#include <stdlib.h>

#include "base/base.h"

/* A diff grows with the places of both models, which are limited themselves. */
#define PAIR_LIMIT (4 * GIB)

struct pair *pair_on(struct session *left, struct session *right,
                     const struct diff_wanted *wanted, struct work *work,
                     struct err *err)
{
    struct pair *pair = calloc(1, sizeof *pair);
    struct err local = {0};

    if (!pair) {
        err_set(err, ERR_LIMIT, "no memory left");
        return NULL;
    }
    pair->left = left;
    pair->right = right;
    pair->borrowed = true;
    arena_init(&pair->arena, PAIR_LIMIT);
    if (diff_make(&pair->diff, left->model, right->model, wanted, &pair->arena, work,
                  &local) == 0)
        return pair;
    err_copy(err, &local);
    if (local.code == ERR_CANCELLED)
        return pair;
    pair_close(pair);
    return NULL;
}

struct pair *pair_of(struct session *left, struct session *right,
                     const struct diff_wanted *wanted, struct work *work,
                     struct err *err)
{
    struct pair *pair = pair_on(left, right, wanted, work, err);

    if (pair) {
        pair->borrowed = false;
    } else {
        session_close(left);
        session_close(right);
    }
    return pair;
}

struct pair *pair_open(const char *left, const char *right,
                       const struct diff_wanted *wanted, struct work *work,
                       struct err *err)
{
    struct session *a, *b;

    a = session_open(left, work, err);
    if (!a)
        return NULL;
    b = session_open(right, work, err);
    if (!b) {
        session_close(a);
        return NULL;
    }
    return pair_of(a, b, wanted, work, err);
}

void pair_close(struct pair *pair)
{
    if (!pair)
        return;
    if (!pair->borrowed) {
        session_close(pair->left);
        session_close(pair->right);
    }
    arena_release(&pair->arena);
    free(pair);
}
