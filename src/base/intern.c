#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64u

/* The slot that holds `s`, or the free one where it belongs. The upper half of the hash
 * says where to look and stands in the slot: other strings are hardly ever looked at.
 */
static uint64_t *find_slot(const struct intern *intern, struct str s, uint64_t hash)
{
    uint32_t i = (uint32_t)(hash >> 32) & intern->mask;

    for (; intern->slots[i]; i = (i + 1) & intern->mask)
        if (intern->slots[i] >> 32 == hash >> 32 &&
            str_eq(intern->strs[(uint32_t)intern->slots[i] - 1], s))
            break;
    return &intern->slots[i];
}

int intern_init_apart(struct intern *intern, struct arena *arena, struct arena *table)
{
    *intern = (struct intern){.arena = arena, .table = table, .mask = FIRST_SLOTS - 1};
    intern->slots = arena_array(table, FIRST_SLOTS, sizeof *intern->slots);
    if (!intern->slots)
        return -1;
    return intern_add(intern, STR("")) == 0 ? 0 : -1;
}

int intern_init(struct intern *intern, struct arena *arena)
{
    return intern_init_apart(intern, arena, arena);
}

void intern_seal(struct intern *intern)
{
    intern->slots = NULL;
    intern->table = NULL;
}

/* Double the table where it stands; what it held waits in a copy meanwhile. The halves
 * of the hashes say where each slot goes: no string is looked at. */
static int grow_slots(struct intern *intern)
{
    uint32_t room = intern->mask + 1, before = room;
    uint64_t *copy;

    if (intern->table->spent)
        return -1; /* it was asked before, for less than this */
    copy = malloc(before * sizeof *copy);
    if (!copy) {
        intern->table->spent = true;
        return -1;
    }
    memcpy(copy, intern->slots, before * sizeof *copy);
    if (arena_double(intern->table, &intern->slots, &room, sizeof *intern->slots) < 0) {
        free(copy);
        return -1;
    }
    memset(intern->slots, 0, before * sizeof *copy);
    intern->mask = room - 1;
    for (uint32_t k = 0; k < before; k++) {
        uint32_t i = (uint32_t)(copy[k] >> 32) & intern->mask;

        while (copy[k] && intern->slots[i])
            i = (i + 1) & intern->mask;
        if (copy[k])
            intern->slots[i] = copy[k];
    }
    free(copy);
    return 0;
}

uint32_t intern_add(struct intern *intern, struct str s)
{
    uint64_t hash = str_hash(s), *slot;
    struct str copy;

    if (!intern->slots)
        return INTERN_NONE;
    slot = find_slot(intern, s, hash);
    if (*slot)
        return (uint32_t)*slot - 1;
    /* At most half of the slots are taken: most searches end at the first. */
    if (intern->n >= intern->mask / 2) {
        if (intern->mask >= UINT32_MAX / 4 || grow_slots(intern) < 0) {
            intern->arena->spent = true;
            return INTERN_NONE;
        }
        slot = find_slot(intern, s, hash);
    }
    if (arena_room(intern->arena, &intern->strs, intern->n, &intern->room,
                   sizeof *intern->strs) < 0)
        return INTERN_NONE;
    copy = arena_str(intern->arena, s);
    if (!copy.at)
        return INTERN_NONE;
    intern->strs[intern->n] = copy;
    *slot = (hash & ~(uint64_t)UINT32_MAX) | ++intern->n;
    return intern->n - 1;
}

uint32_t intern_find(const struct intern *intern, struct str s)
{
    uint32_t id = intern->slots ? (uint32_t)*find_slot(intern, s, str_hash(s)) : 0;

    return id ? id - 1 : INTERN_NONE;
}

struct str intern_str(const struct intern *intern, uint32_t id)
{
    return id < intern->n ? intern->strs[id] : STR("");
}
