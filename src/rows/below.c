#include "rows/below.h"

#include "base/base.h"

#define BLOCK 256           /* places per block sum */
#define SUPER (BLOCK * 256) /* places per sum of blocks */
#define FEW   256           /* results for more siblings than this are cached */
#define MEMO  512           /* cached answers; a power of two */

struct below_answer {
    uint64_t key, value; /* key 0: none */
};

/* Sums are computed on first use. */
struct below_index {
    struct below *blocks, *supers;
    bool *block_made, *super_made;
    float *gradients; /* by tensor: norm of its newest gradient, negative: none; or
                         NULL */
    struct below_answer memo[MEMO];
};

/* --- Adding up */

static void add_dtype(struct below *to, uint8_t dtype)
{
    for (uint8_t i = 0; i < to->n_dtypes; i++)
        if (to->dtypes[i] == dtype)
            return;
    if (to->n_dtypes < BELOW_DTYPES)
        to->dtypes[to->n_dtypes++] = dtype;
}

static void add_place(struct below *to, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    const struct tensor *tensor;
    const float *gradients = show->index ? show->index->gradients : NULL;

    if (model->kind[place] != PLACE_TENSOR)
        return;
    tensor = place_tensor(model, place);
    add_dtype(to, tensor->dtype);
    if (tensor->device < BELOW_DEVICES)
        to->devices |= UINT64_C(1) << tensor->device;
    if (gradients && tensor->place == place && gradients[model->object[place]] >= 0) {
        double norm = gradients[model->object[place]];

        to->gradient += norm * norm;
        to->n_gradients++;
    }
    if (tensor->role != ROLE_PARAMETER || !(tensor->flags & TENSOR_GRAD_KNOWN))
        return;
    if (!(tensor->flags & TENSOR_GRAD))
        to->frozen += tensor->numel;
    else if (tensor->place == place)
        to->trainable += tensor->numel;
    else
        to->tied += tensor->numel;
}

static void add_block(struct below *to, const struct below *block)
{
    for (uint8_t i = 0; i < block->n_dtypes; i++)
        add_dtype(to, block->dtypes[i]);
    to->devices |= block->devices;
    to->trainable += block->trainable;
    to->tied += block->tied;
    to->frozen += block->frozen;
    to->gradient += block->gradient;
    to->n_gradients += block->n_gradients;
}

static const struct below *block_at(const struct show *show, uint32_t block)
{
    struct below_index *index = show->index;

    if (!index->block_made[block]) {
        for (uint32_t p = block * BLOCK; p < (block + 1) * BLOCK; p++)
            add_place(&index->blocks[block], show, p);
        index->block_made[block] = true;
    }
    return &index->blocks[block];
}

static const struct below *super_at(const struct show *show, uint32_t super)
{
    struct below_index *index = show->index;

    if (!index->super_made[super]) {
        for (uint32_t b = 0; b < SUPER / BLOCK; b++)
            add_block(&index->supers[super],
                      block_at(show, super * (SUPER / BLOCK) + b));
        index->super_made[super] = true;
    }
    return &index->supers[super];
}

void below_sum(const struct show *show, uint32_t place, struct below *ret_below)
{
    uint32_t end = show->model->end[place], p = place;

    *ret_below = (struct below){0};
    while (p < end) {
        if (show->index && p % SUPER == 0 && end - p >= SUPER) {
            add_block(ret_below, super_at(show, p / SUPER));
            p += SUPER;
        } else if (show->index && p % BLOCK == 0 && end - p >= BLOCK) {
            add_block(ret_below, block_at(show, p / BLOCK));
            p += BLOCK;
        } else {
            add_place(ret_below, show, p++);
        }
    }
}

/* --- The index */

/* The norms of the newest gradients, by tensor. */
static float *find_gradients(const struct show *show, struct arena *arena)
{
    const struct run *run = show->session->run;
    float *norms;

    if (!run || run->n_params == 0)
        return NULL;
    norms = arena_array(arena, show->model->n_tensors, sizeof *norms);
    if (!norms)
        return NULL;
    for (uint32_t i = 0; i < show->model->n_tensors; i++)
        norms[i] = -1;
    for (uint32_t i = 0; i < run->n_params; i++) { /* in order of time */
        const struct run_param *param = &run->params[i];
        uint32_t stats = run->values[param->value].stats;

        if (param->gradient && stats != RUN_NONE)
            norms[param->tensor] = (float)stats_l2(&run->stats[stats]);
    }
    return norms;
}

void below_index(struct show *show, struct arena *arena)
{
    uint32_t n = show->model->n_places;
    struct below_index *index = arena_alloc(arena, sizeof *index);

    if (!index)
        return;
    index->blocks = arena_array(arena, n / BLOCK + 1, sizeof *index->blocks);
    index->supers = arena_array(arena, n / SUPER + 1, sizeof *index->supers);
    index->block_made = arena_array(arena, n / BLOCK + 1, sizeof *index->block_made);
    index->super_made = arena_array(arena, n / SUPER + 1, sizeof *index->super_made);
    if (!index->blocks || !index->supers || !index->block_made || !index->super_made)
        return;
    index->gradients = find_gradients(show, arena);
    show->index = index;
}

/* --- Siblings */

static struct below_answer *answer_at(const struct show *show, unsigned kind,
                                      uint32_t place, uint32_t count, uint64_t *ret_key)
{
    uint64_t key =
        ((uint64_t)place << 32 | count) * BELOW_KINDS + kind + 1; /* never 0 */

    *ret_key = key;
    return &show->index->memo[hash_u64(key) % MEMO];
}

bool below_known(const struct show *show, unsigned kind, uint32_t place, uint32_t count,
                 uint64_t *ret_value)
{
    const struct below_answer *answer;
    uint64_t key;

    if (!show->index)
        return false;
    answer = answer_at(show, kind, place, count, &key);
    if (answer->key == key)
        *ret_value = answer->value;
    return answer->key == key;
}

void below_learn(const struct show *show, unsigned kind, uint32_t place, uint32_t count,
                 uint64_t value)
{
    struct below_answer *answer;
    uint64_t key;

    if (!show->index)
        return;
    answer = answer_at(show, kind, place, count, &key);
    *answer = (struct below_answer){.key = key, .value = value};
}

uint32_t below_members(const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    uint64_t n = 0;

    if (below_known(show, BELOW_MEMBERS, place, 0, &n))
        return (uint32_t)n;
    for (uint32_t c = place_first(model, place); c != NO_PLACE;
         c = place_next(model, c))
        n++;
    if (n > FEW)
        below_learn(show, BELOW_MEMBERS, place, 0, n);
    return (uint32_t)n;
}

uint32_t below_last(const struct show *show, uint32_t place, uint32_t count)
{
    uint32_t last = place;
    uint64_t known;

    if (count > FEW && below_known(show, BELOW_LAST, place, count, &known))
        return (uint32_t)known;
    for (uint32_t i = 1; i < count; i++)
        last = show->model->end[last];
    if (count > FEW)
        below_learn(show, BELOW_LAST, place, count, last);
    return last;
}
