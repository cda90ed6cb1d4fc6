/* intern.h - strings as dense numbers: the same bytes always get the same id.
 * Id 0 is the empty string. The bytes live in the arena and end in NUL. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct intern {
    struct arena *arena; /* borrowed */
    struct str *strs;    /* by id */
    uint32_t n, room;
    uint64_t *slots; /* hash table: half of the hash, and id + 1; 0 is free */
    uint32_t mask;
};

#define INTERN_NONE UINT32_MAX /* no such string; the arena is spent */

int intern_init(struct intern *intern, struct arena *arena);
uint32_t intern_add(struct intern *intern, struct str s); /* its id, old or new */
uint32_t intern_find(const struct intern *intern, struct str s); /* or INTERN_NONE */
struct str intern_str(const struct intern *intern, uint32_t id);

#endif
