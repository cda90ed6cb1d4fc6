#include "session/pair.h"

#include <stdlib.h>

#include "base/base.h"

/* A diff grows with the places of both models, which are limited themselves. */
#define PAIR_LIMIT (4 * GIB)

static int compare_results(struct pair *pair, const struct diff_wanted *wanted,
                           struct work *work, struct err *err)
{
    const struct divergence_wanted results = {.tolerance = wanted->distance};
    const struct run *left = pair->left->run, *right = pair->right->run;
    struct divergence *divergence;

    if (!left || !right || wanted->no_results)
        return 0;
    divergence = arena_alloc(&pair->arena, sizeof *divergence);
    if (!divergence)
        return arena_err(&pair->arena, "a comparison", err);
    if (divergence_make(divergence, left, right, &pair->diff, &results, &pair->arena,
                        work, err) < 0) {
        pair->diff.complete = false;
        return -1;
    }
    pair->divergence = divergence;
    return 0;
}

/* Two training runs, step by step. */
static int compare_training(struct pair *pair, const struct diff_wanted *wanted,
                            struct work *work, struct err *err)
{
    struct history *left = pair->left->history, *right = pair->right->history;
    struct parting *parting;

    if (!left || !right || wanted->no_results)
        return 0;
    parting = arena_alloc(&pair->arena, sizeof *parting);
    if (!parting)
        return arena_err(&pair->arena, "a comparison", err);
    if (parting_make(parting, left, right, wanted->distance, &pair->arena, work, err) <
        0) {
        pair->diff.complete = false;
        return -1;
    }
    pair->parting = parting;
    return 0;
}

bool pair_has_results(const struct pair *pair)
{
    return pair->divergence &&
           (pair->divergence->first != RUN_NONE || divergence_agrees(pair->divergence));
}

const struct divergence_sum *pair_results(const struct pair *pair, uint32_t node)
{
    const struct divergence_sum *sum =
        pair_has_results(pair) ? divergence_at(pair->divergence, &pair->diff, node)
                               : NULL;

    return sum && sum->results > 0 ? sum : NULL;
}

bool pair_equal(const struct pair *pair)
{
    if (pair->parting && pair->parting->common > 0)
        return parting_agrees(pair->parting);
    return pair_has_results(pair) ? divergence_agrees(pair->divergence)
                                  : diff_equal(&pair->diff);
}

struct pair *pair_on(struct session *left, struct session *right,
                     const struct diff_wanted *wanted, struct work *work,
                     struct err *err)
{
    struct pair *pair = calloc(1, sizeof *pair);
    struct diff_wanted models = *wanted;
    struct err local = {0};

    if (!pair) {
        err_set(err, ERR_LIMIT, "no memory left");
        return NULL;
    }
    pair->left = left;
    pair->right = right;
    pair->borrowed = true;
    arena_init(&pair->arena, PAIR_LIMIT);
    if (left->run && right->run)
        models.values = false;
    if (diff_make(&pair->diff, left->model, right->model, &models, &pair->arena, work,
                  &local) == 0 &&
        compare_results(pair, wanted, work, &local) == 0 &&
        compare_training(pair, wanted, work, &local) == 0)
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
