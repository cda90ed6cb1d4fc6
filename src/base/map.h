/* map.h - hash tables in an arena: from u64 to u32, and from names to indexes. For
 * other keys, use their 64-bit hash and compare the item found; on a collision try hash
 * + 1, and so on. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct map_slot;
struct map {
    struct arena *arena; /* borrowed */
    struct map_slot *slots;
    uint32_t n, mask;
};

void map_init(struct map *map, struct arena *arena);
bool map_find(const struct map *map, uint64_t key, uint32_t *ret_value);
int map_put(struct map *map, uint64_t key, uint32_t value); /* -1: arena spent */

/* Names and their indexes: 0, 1, 2, ... in the order they were added. */
struct name_map {
    struct map map;
    struct str *names; /* by index; borrowed */
    uint32_t n, room;
};

void name_map_init(struct name_map *names, struct arena *arena);
bool name_map_find(const struct name_map *names, struct str name, uint32_t *ret_index);
/* 1: added, 0: already present, -1: the arena is spent. */
int name_map_add(struct name_map *names, struct str name, uint32_t *ret_index);

#endif
