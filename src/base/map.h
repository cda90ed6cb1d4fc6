/* map.h - a hash table from u64 to u32, in an arena.
 * For keys that are not numbers, use their 64-bit hash and look whether the thing found
 * is the one meant; if it is not, try hash + 1, and so on. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct map_slot;
struct map {
    struct arena *arena; /* borrowed */
    struct map_slot *slots;
    uint32_t n, mask;
};

void map_init(struct map *map, struct arena *arena);
bool map_find(const struct map *map, uint64_t key, uint32_t *ret_value);
int map_put(struct map *map, uint64_t key, uint32_t value); /* -1: arena spent */

#endif
