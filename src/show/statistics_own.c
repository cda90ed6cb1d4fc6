/* What the Statistics panel remembers. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "show/statistics_in.h"

#define NOW_BYTES   (1 * MIB) /* what is drawn in the frame that asks for it */
#define OWN_MEMORY  (64 * MIB)
#define CANNOT_READ "it cannot be read from the recording"

void own_forget(struct own *own)
{
    arena_release(&own->arena);
    arena_release(&own->blocks_arena);
    arena_init(&own->arena, OWN_MEMORY);
    arena_init(&own->blocks_arena, OWN_MEMORY);
    own->value = RUN_NONE;
    own->has_numbers = own->has_sheet = false;
    own->drawn = NULL;
}

void own_free(struct own *own)
{
    arena_release(&own->arena);
    arena_release(&own->blocks_arena);
    buf_release(&own->aside);
    free(own);
}

const struct numbers *own_numbers(struct own *own, const char **ret_why)
{
    *ret_why = NULL;
    if (own->has_numbers)
        return &own->numbers;
    if (numbers_measure(&own->kept.model, &own->kept.tensor, &numbers_usual,
                        &own->arena, NULL, &own->stats, &own->numbers, NULL) < 0) {
        *ret_why = CANNOT_READ;
        return NULL;
    }
    own->has_numbers = true;
    return &own->numbers;
}

const struct sheet *own_sheet(struct own *own, uint64_t item, uint32_t wide,
                              uint32_t high, const char **ret_why)
{
    if (own->has_sheet && own->item == item && own->sheet.wide == wide &&
        own->sheet.high == high)
        return &own->sheet;
    own->has_sheet = false;
    own->item = item;
    /* Numbers lie there too; they are made again if they are asked for. */
    arena_release(&own->arena);
    arena_init(&own->arena, OWN_MEMORY);
    own->has_numbers = false;
    if (sheet_make(&own->sheet, &own->kept.model, &own->kept.tensor, item, wide, high,
                   &own->arena, NULL) < 0) {
        *ret_why = CANNOT_READ;
        return NULL;
    }
    own->has_sheet = true;
    return &own->sheet;
}

/* ---- pictures ---- */

static const struct blocks *draw_now(struct own *own, const struct model *model,
                                     const struct tensor *tensor,
                                     const struct blocks_wanted *wanted,
                                     const char **ret_why)
{
    if (own->drawn == tensor && memcmp(&own->wanted, wanted, sizeof own->wanted) == 0)
        return &own->blocks;
    own->drawn = NULL;
    arena_release(&own->blocks_arena);
    arena_init(&own->blocks_arena, OWN_MEMORY);
    if (blocks_measure(model, tensor, wanted, &own->blocks_arena, NULL, &own->blocks,
                       NULL) < 0) {
        *ret_why = "no picture: it holds no numbers that can be read";
        return NULL;
    }
    own->drawn = tensor;
    own->wanted = *wanted;
    return &own->blocks;
}

const struct blocks *own_blocks(struct own *own, struct explorer *explorer,
                                const struct model *model, const struct tensor *tensor,
                                uint32_t number, const struct blocks_wanted *wanted,
                                const char **ret_why)
{
    uint64_t bytes = tensor_bytes(tensor);
    const struct blocks *blocks;
    bool busy;

    if (number != NO_TENSOR && !explorer_may_read(explorer, number, ret_why))
        return NULL;
    if (number == NO_TENSOR || !explorer->jobs || bytes <= NOW_BYTES)
        return draw_now(own, model, tensor, wanted, ret_why);
    blocks = jobs_blocks(explorer->jobs, number, wanted, &busy, ret_why);
    if (busy)
        *ret_why = "…";
    return blocks;
}
