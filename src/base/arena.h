/* arena.h - memory that lives and dies at once, with a limit.
 * Nothing in an arena is freed by itself. What grows by what a file or a hook says
 * comes from an arena, so that its limit holds whatever the file claims: a spent arena
 * gives NULL (or -1), never ends the process. Memory is zeroed and aligned for any
 * type. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct arena_block;
struct arena {
    struct arena_block *small; /* the chunk that small things are cut from */
    struct arena_block *large; /* things of 64 KiB and more, each by itself */
    size_t used;               /* bytes asked of the system so far */
    size_t limit;              /* what `used` may not pass */
    bool spent;                /* some request was refused */
};

/* A new arena holds nothing; a limit of 0 means "no limit of our own". */
void arena_init(struct arena *arena, size_t limit);
void arena_release(struct arena *arena);

void *arena_alloc(struct arena *arena, size_t size);
void *arena_array(struct arena *arena, size_t n, size_t item); /* checks n * item */

/* The same for a thing of 64 KiB or more of which only parts will be touched: what is
 * not costs nothing. */
void *arena_sparse(struct arena *arena, size_t size);

/* The first `n` bytes of a thing of 64 KiB or more are not needed any longer: what of
 * them is whole pages goes back to the system. They may not be looked at again. */
void arena_drop(void *at, size_t n);
/* The same for the bytes from `from` up to `to`. */
void arena_drop_part(void *at, size_t from, size_t to);

/* Use such bytes again, for something else: what they are now is not known. */
void arena_reuse_part(void *at, size_t from, size_t to);

/* Copies that end in NUL as well. `at` is NULL when the arena is spent. */
struct str arena_str(struct arena *arena, struct str s);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Make room for one more item in a growing array of `n` items:
 *     if (arena_room(a, &list->items, list->n, &list->room, sizeof *list->items) < 0)
 *         return -1;
 *     list->items[list->n++] = item;
 * `at` is the address of the array's pointer (which may be NULL at first). The array
 * doubles, above 4 MiB it grows by a quarter; one of 64 KiB or more moves without
 * leaving its old self behind. */
int arena_room(struct arena *arena, void *at, size_t n, uint32_t *room, size_t item);

/* Make room for `n` items at once where that is a lot: for an array that is still empty
 * and will hold about so many. What nobody touches costs nothing, and what need not
 * grow is not moved. Only a hint: small arrays, and what the limit would not allow
 * three times over, grow by themselves. */
void arena_reserve(struct arena *arena, void *at, size_t n, uint32_t *room,
                   size_t item);

/* Let an array (not NULL) have twice as many items: for tables whose size is a power of
 * two. */
int arena_double(struct arena *arena, void *at, uint32_t *room, size_t item);

/* Say that the arena is spent: "WHAT needs more than LIMIT of memory". Returns -1. */
int arena_err(const struct arena *arena, const char *what, struct err *err);

#endif
