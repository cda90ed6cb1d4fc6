/* pages_in.h - zeroed memory from the system, for arenas.
 * Large blocks are mapped: they are zeroed, grow without copying, and use huge pages,
 * because page faults would take half of the time of building a million-place tree. The
 * caller passes the size again to grow or free. */
#ifndef BASE_PAGES_IN_H
#define BASE_PAGES_IN_H

#include <stddef.h>

void *pages_alloc(size_t size); /* NULL: out of memory */
/* The new part is zeroed. NULL: out of memory; the old block stays. */
void *pages_grow(void *at, size_t before, size_t size);
void pages_free(void *at, size_t size);
/* No huge pages: only parts of the block will be used. */
void pages_sparse(void *at, size_t size);
/* Return the bytes from `from` up to `to` to the system. */
void pages_drop(void *at, size_t size, size_t from, size_t to);

#endif
