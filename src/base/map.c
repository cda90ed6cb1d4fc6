#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define FIRST_SLOTS 16u

struct map_slot {
    uint64_t key;
    uint32_t value;
    bool taken;
};

void map_init(struct map *map, struct arena *arena)
{
    *map = (struct map){.arena = arena};
}

/* The slot that holds `key`, or the free one for it. */
static struct map_slot *find_slot(const struct map *map, uint64_t key)
{
    uint32_t i = (uint32_t)hash_u64(key) & map->mask;

    while (map->slots[i].taken && map->slots[i].key != key)
        i = (i + 1) & map->mask;
    return &map->slots[i];
}

bool map_find(const struct map *map, uint64_t key, uint32_t *ret_value)
{
    const struct map_slot *slot = map->slots ? find_slot(map, key) : NULL;

    if (!slot || !slot->taken)
        return false;
    *ret_value = slot->value;
    return true;
}

/* Double the table in place (via a temporary copy), so that the arena keeps no old
 * tables. */
static int grow_slots(struct map *map)
{
    uint32_t room = map->mask + 1, i;
    struct map_slot *before = malloc(room * sizeof *before);

    if (!before) {
        map->arena->spent = true;
        return -1;
    }
    memcpy(before, map->slots, room * sizeof *before);
    if (arena_double(map->arena, &map->slots, &room, sizeof *map->slots) < 0) {
        free(before);
        return -1;
    }
    memset(map->slots, 0, room / 2 * sizeof *map->slots);
    map->mask = room - 1;
    for (i = 0; i < room / 2; i++)
        if (before[i].taken)
            *find_slot(map, before[i].key) = before[i];
    free(before);
    return 0;
}

/* Ensure room for one more key; at least half of the slots stay free. */
static int make_room(struct map *map)
{
    if (!map->slots) {
        map->slots = arena_array(map->arena, FIRST_SLOTS, sizeof *map->slots);
        map->mask = FIRST_SLOTS - 1;
        return map->slots ? 0 : -1;
    }
    if (map->n < map->mask / 2)
        return 0;
    if (map->arena->spent) /* do not copy the table again for every key */
        return -1;
    if (map->mask >= UINT32_MAX / 4) {
        map->arena->spent = true;
        return -1;
    }
    return grow_slots(map);
}

int map_put(struct map *map, uint64_t key, uint32_t value)
{
    struct map_slot *slot = map->slots ? find_slot(map, key) : NULL;

    if (!slot || !slot->taken) {
        const struct map_slot *before = map->slots;
        uint32_t mask = map->mask;

        if (make_room(map) < 0)
            return -1;
        if (map->slots != before || map->mask != mask)
            slot = find_slot(map, key);
        map->n++;
    }
    *slot = (struct map_slot){key, value, true};
    return 0;
}

void name_map_init(struct name_map *names, struct arena *arena)
{
    *names = (struct name_map){0};
    map_init(&names->map, arena);
}

/* Find a name. If it is missing, *ret_hash is the first free hash for it. */
static bool find_name(const struct name_map *names, struct str name, uint64_t *ret_hash,
                      uint32_t *ret_index)
{
    *ret_hash = str_hash(name);
    for (; map_find(&names->map, *ret_hash, ret_index); ++*ret_hash)
        if (str_eq(names->names[*ret_index], name))
            return true;
    return false;
}

bool name_map_find(const struct name_map *names, struct str name, uint32_t *ret_index)
{
    uint64_t hash;

    return find_name(names, name, &hash, ret_index);
}

int name_map_add(struct name_map *names, struct str name, uint32_t *ret_index)
{
    uint64_t hash;

    if (find_name(names, name, &hash, ret_index))
        return 0;
    if (arena_room(names->map.arena, &names->names, names->n, &names->room,
                   sizeof *names->names) < 0 ||
        map_put(&names->map, hash, names->n) < 0)
        return -1;
    names->names[names->n] = name;
    *ret_index = names->n++;
    return 1;
}
