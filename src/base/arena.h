/* arena.h - memory that is freed all at once, with a limit.
 * Everything whose size depends on a file or a hook comes from an arena, so that the
 * limit holds whatever the file claims: a spent arena returns NULL (or -1) and never
 * ends the process. Memory is zeroed and aligned for any type. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct arena_block;
struct arena {
    struct arena_block *small; /* the chunk for small allocations */
    struct arena_block *large; /* allocations of 64 KiB and more */
    size_t used;               /* bytes taken from the system */
    size_t limit;              /* the most that `used` may be */
    bool spent;                /* some request was refused */
};

/* A limit of 0 means no limit. */
void arena_init(struct arena *arena, size_t limit);
void arena_release(struct arena *arena);

void *arena_alloc(struct arena *arena, size_t size);
void *arena_array(struct arena *arena, size_t n, size_t item); /* checks n * item */

/* An allocation of 64 KiB or more that will be used in parts only: untouched pages take
 * no memory. */
void *arena_sparse(struct arena *arena, size_t size);

/* Return the first `n` bytes of an allocation of 64 KiB or more to the system, as far
 * as they are whole pages. They must not be read again. */
void arena_drop(void *at, size_t n);
/* The same for the bytes from `from` up to `to`. */
void arena_drop_part(void *at, size_t from, size_t to);

/* Use dropped bytes again; their content is undefined. */
void arena_reuse_part(void *at, size_t from, size_t to);

/* Copies with a NUL at the end. `at` is NULL when the arena is spent. */
struct str arena_str(struct arena *arena, struct str s);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Make room for one more item in a growing array of `n` items:
 *     if (arena_room(a, &list->items, list->n, &list->room, sizeof *list->items) < 0)
 *         return -1;
 *     list->items[list->n++] = item;
 * `at` is the address of the array's pointer (which may be NULL at first). The array
 * doubles, above 4 MiB it grows by a quarter; from 64 KiB on, growing does not waste
 * the old array. */
int arena_room(struct arena *arena, void *at, size_t n, uint32_t *room, size_t item);

/* A hint that an empty array will hold about `n` items: allocates them at once, so that
 * it need not move. Does nothing for small arrays, and at most a third of what is left
 * of the limit. */
void arena_reserve(struct arena *arena, void *at, size_t n, uint32_t *room,
                   size_t item);

/* Double an array that is not NULL: for tables whose size is a power of two. */
int arena_double(struct arena *arena, void *at, uint32_t *room, size_t item);

/* Set the error of a spent arena: "WHAT needs more than LIMIT of memory". Returns -1.
 */
int arena_err(const struct arena *arena, const char *what, struct err *err);

#endif
