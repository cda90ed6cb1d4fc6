/* The state of the Statistics panel and its background computations. */
#include <stdlib.h>

#include "base/base.h"
#include "explorer/statistics_in.h"

#define SMALL_BYTES (1 * MIB) /* wait for smaller ones */
#define WAIT_MS     8         /* half a frame */

void own_free(struct own *own)
{
    for (int i = 0; i < OWN_KINDS; i++)
        made_release(&own->made[i]);
    buf_release(&own->aside);
    free(own);
}

/* ---- in the thread ---- */

/* The tensor; `view` is storage for a kept one. */
static const struct tensor *find_tensor(const struct whose *whose,
                                        const struct model **model,
                                        struct kept_view *view, struct err *err)
{
    if (whose->value == RUN_NONE)
        return &(*model)->tensors[whose->tensor];
    if (kept_view_init(view, whose->run, whose->value, err) < 0)
        return NULL;
    *model = &view->model;
    return &view->tensor;
}

/* The arrays of the numbers follow their statistics. */
struct own_made_numbers {
    struct numbers numbers;
    struct stats stats;
};

static int make_numbers(const struct model *model, const void *question,
                        struct arena *arena, struct work *work, const void **ret_made,
                        struct err *err)
{
    const struct whose *whose = question;
    struct own_made_numbers *made = arena_alloc(arena, sizeof *made);
    const struct tensor *tensor;
    struct kept_view view;

    tensor = find_tensor(whose, &model, &view, err);
    if (!tensor)
        return -1;
    if (!made)
        return arena_err(arena, "the numbers", err);
    *ret_made = &made->numbers;
    return numbers_measure(model, tensor, &numbers_usual, arena, work, &made->stats,
                           &made->numbers, err);
}

struct bins_question {
    struct whose whose;
    uint64_t bins;
    double min, max;
};

static int make_bins(const struct model *model, const void *question,
                     struct arena *arena, struct work *work, const void **ret_made,
                     struct err *err)
{
    const struct bins_question *q = question;
    uint64_t *bins = arena_array(arena, q->bins, sizeof *bins);
    const struct tensor *tensor;
    struct kept_view view;

    tensor = find_tensor(&q->whose, &model, &view, err);
    if (!tensor)
        return -1;
    if (!bins)
        return arena_err(arena, "the histogram", err);
    *ret_made = bins;
    return histogram_linear(model, tensor, q->min, q->max, bins, (uint32_t)q->bins,
                            work, err);
}

struct sheet_question {
    struct whose whose;
    uint64_t item;
    uint32_t wide, high;
};

static int make_sheet(const struct model *model, const void *question,
                      struct arena *arena, struct work *work, const void **ret_made,
                      struct err *err)
{
    const struct sheet_question *q = question;
    struct sheet *sheet = arena_alloc(arena, sizeof *sheet);
    const struct tensor *tensor;
    struct kept_view view;

    tensor = find_tensor(&q->whose, &model, &view, err);
    if (!tensor)
        return -1;
    if (!sheet)
        return arena_err(arena, "the pictures", err);
    *ret_made = sheet;
    return sheet_make(sheet, model, tensor, q->item, q->wide, q->high, arena, work,
                      err);
}

struct blocks_question {
    struct whose whose;
    struct blocks_wanted wanted;
};

static int make_blocks(const struct model *model, const void *question,
                       struct arena *arena, struct work *work, const void **ret_made,
                       struct err *err)
{
    const struct blocks_question *q = question;
    struct blocks *blocks = arena_alloc(arena, sizeof *blocks);
    const struct tensor *tensor;
    struct kept_view view;

    tensor = find_tensor(&q->whose, &model, &view, err);
    if (!tensor)
        return -1;
    if (!blocks)
        return arena_err(arena, "the picture", err);
    *ret_made = blocks;
    return blocks_measure(model, tensor, &q->wanted, arena, work, blocks, err);
}

/* ---- requests ---- */

/* The size decides whether to wait for it, and whether it needs the user's request. */
static const void *ask(struct own *own, struct explorer *explorer, int kind,
                       const struct making *making, uint64_t bytes,
                       const char **ret_why)
{
    const struct whose *whose = making->question; /* every question begins with it */
    struct made *made = &own->made[kind];
    const void *at;

    own->busy = false;
    if (whose->value == RUN_NONE
            ? !explorer_may_read(explorer, whose->tensor, ret_why)
            : !explorer_may_read_kept(explorer, whose->value, bytes, ret_why))
        return NULL;
    if (explorer->jobs) {
        at = jobs_made(explorer->jobs, making, bytes > SMALL_BYTES ? 0 : WAIT_MS,
                       &own->busy, ret_why);
        if (own->busy)
            *ret_why = "…";
        return at;
    }
    if (!made_answers(made, making)) {
        made_release(made);
        made_init(made, making);
        made_make(made, explorer->session->model, NULL);
    }
    *ret_why = made->err.code ? made->err.text : NULL;
    return *ret_why ? NULL : made->at;
}

static const struct tensor *tensor_of(const struct own *own,
                                      const struct explorer *explorer,
                                      const struct whose *whose)
{
    return whose->value != RUN_NONE ? &own->kept.tensor
                                    : &explorer->session->model->tensors[whose->tensor];
}

const struct numbers *own_numbers(struct own *own, struct explorer *explorer,
                                  const struct whose *whose, const char **ret_why)
{
    struct making making = {make_numbers, whose, sizeof *whose};

    return ask(own, explorer, OWN_NUMBERS, &making,
               tensor_bytes(tensor_of(own, explorer, whose)), ret_why);
}

const uint64_t *own_bins(struct own *own, struct explorer *explorer,
                         const struct whose *whose, const struct numbers *numbers,
                         const char **ret_why)
{
    struct bins_question q = {*whose, numbers->n_bins, numbers->stats->min,
                              numbers->stats->max};
    struct making making = {make_bins, &q, sizeof q};

    return ask(own, explorer, OWN_BINS, &making,
               tensor_bytes(tensor_of(own, explorer, whose)), ret_why);
}

const struct sheet *own_sheet(struct own *own, struct explorer *explorer,
                              const struct whose *whose, uint64_t item, uint32_t wide,
                              uint32_t high, const char **ret_why)
{
    struct sheet_question q = {*whose, item, wide, high};
    struct making making = {make_sheet, &q, sizeof q};
    const struct tensor *tensor = tensor_of(own, explorer, whose);
    int64_t items = tensor_shape(&own->kept.model, tensor)[0];

    return ask(own, explorer, OWN_SHEET, &making,
               tensor_bytes(tensor) / (uint64_t)(items > 0 ? items : 1), ret_why);
}

const struct blocks *own_blocks(struct own *own, struct explorer *explorer,
                                const struct whose *whose,
                                const struct blocks_wanted *wanted,
                                const char **ret_why)
{
    struct blocks_question q = {*whose, *wanted};
    struct making making = {make_blocks, &q, sizeof q};
    const struct tensor *tensor = tensor_of(own, explorer, whose);
    uint64_t of = tensor->numel > 0 ? tensor->numel : 1;

    return ask(own, explorer, OWN_BLOCKS, &making,
               tensor_bytes(tensor) / of * (wanted->rows * wanted->columns), ret_why);
}
