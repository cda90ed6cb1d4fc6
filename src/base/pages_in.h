/* pages_in.h - zeroed memory from the system, for arenas.
 * Large blocks are pages of their own: they come zeroed, grow by moving no bytes, and
 * ask for huge pages, since a tree of a million places otherwise spends half of its
 * time on page faults. The size must be given again to grow or free. */
#ifndef BASE_PAGES_IN_H
#define BASE_PAGES_IN_H

#include <stddef.h>

void *pages_alloc(size_t size); /* NULL: there is none */
/* At least as large as before; what is new is zeroed. NULL: the old block stays. */
void *pages_grow(void *at, size_t before, size_t size);
void pages_free(void *at, size_t size);
/* Only parts of a block will be touched: no huge pages. */
void pages_sparse(void *at, size_t size);
/* What stands from byte `from` up to `to` of a block is not needed any longer. */
void pages_drop(void *at, size_t size, size_t from, size_t to);

#endif
