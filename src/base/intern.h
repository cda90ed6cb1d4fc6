/* intern.h - strings as dense numbers: equal strings have the same id. Id 0 is the
 * empty string. The bytes are in the arena, never move and end in NUL. Each string
 * takes six extra bytes: its offset, its length, and the NUL. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct intern {
    struct arena *arena; /* borrowed; holds the strings */
    struct arena *table; /* borrowed; holds the slots */
    uint32_t *at;        /* by id: its piece and its offset in it */
    uint32_t n, room;
    char **pieces; /* blocks of text */
    uint32_t n_pieces, pieces_room;
    uint32_t piece, cut; /* the piece being filled, and how far */
    uint64_t *slots;     /* hash table: half of the hash and id + 1; 0: free */
    uint32_t mask;
};

#define INTERN_NONE UINT32_MAX /* no such string; the arena is spent */

int intern_init(struct intern *intern, struct arena *arena);
/* With the hash table in another arena, which may be released first, after
 * intern_seal(): then strings can be read by id, but not added or found. */
int intern_init_apart(struct intern *intern, struct arena *arena, struct arena *table);
void intern_seal(struct intern *intern);
uint32_t intern_add(struct intern *intern, struct str s); /* its id, existing or new */
uint32_t intern_find(const struct intern *intern, struct str s); /* or INTERN_NONE */
struct str intern_str(const struct intern *intern, uint32_t id);

#endif
