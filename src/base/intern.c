#include "base/intern.h"

#include <string.h>

#define FIRST_SLOTS 64u

/* The slot that holds `s`, or the free one where it belongs. */
static uint32_t *find_slot(const struct intern *intern, struct str s)
{
    uint32_t i = (uint32_t)str_hash(s) & intern->mask;

    while (intern->slots[i] && !str_eq(intern->strs[intern->slots[i] - 1], s))
        i = (i + 1) & intern->mask;
    return &intern->slots[i];
}

int intern_init(struct intern *intern, struct arena *arena)
{
    *intern = (struct intern){.arena = arena, .mask = FIRST_SLOTS - 1};
    intern->slots = arena_array(arena, FIRST_SLOTS, sizeof *intern->slots);
    if (!intern->slots)
        return -1;
    return intern_add(intern, STR("")) == 0 ? 0 : -1;
}

/* Double the table where it stands and put all ids back. */
static int grow_slots(struct intern *intern)
{
    uint32_t room = intern->mask + 1, id;

    if (arena_room(intern->arena, &intern->slots, room, &room, sizeof *intern->slots) <
        0)
        return -1;
    memset(intern->slots, 0, room * sizeof *intern->slots);
    intern->mask = room - 1;
    for (id = 0; id < intern->n; id++)
        *find_slot(intern, intern->strs[id]) = id + 1;
    return 0;
}

uint32_t intern_add(struct intern *intern, struct str s)
{
    uint32_t *slot = find_slot(intern, s);
    struct str copy;

    if (*slot)
        return *slot - 1;
    /* At most half of the slots are taken: most searches end at the first. */
    if (intern->n >= intern->mask / 2) {
        if (intern->mask >= UINT32_MAX / 4 || grow_slots(intern) < 0)
            return INTERN_NONE;
        slot = find_slot(intern, s);
    }
    if (arena_room(intern->arena, &intern->strs, intern->n, &intern->room,
                   sizeof *intern->strs) < 0)
        return INTERN_NONE;
    copy = arena_str(intern->arena, s);
    if (!copy.at)
        return INTERN_NONE;
    intern->strs[intern->n] = copy;
    *slot = ++intern->n;
    return intern->n - 1;
}

uint32_t intern_find(const struct intern *intern, struct str s)
{
    uint32_t id = *find_slot(intern, s);

    return id ? id - 1 : INTERN_NONE;
}

struct str intern_str(const struct intern *intern, uint32_t id)
{
    return id < intern->n ? intern->strs[id] : STR("");
}
