#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap() */
#endif
#include "base/pages_in.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* The address sanitizer watches what malloc() gives. */
#if defined(__SANITIZE_ADDRESS__)
#define OWN_PAGES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OWN_PAGES 0
#endif
#endif
#if !defined(OWN_PAGES) && defined(__linux__)
#define OWN_PAGES 1
#elif !defined(OWN_PAGES)
#define OWN_PAGES 0
#endif

#define HUGE_PAGE (2 * MIB)
/* Blocks from this size on are pages of their own: what is smaller is copied when it
 * grows, and each new page of a copy costs more than the copying. */
#define MAPPED (128 * KIB)

#if OWN_PAGES
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The size in whole pages. */
static size_t in_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (size + page - 1) & ~(page - 1);
}

/* Ask for huge pages; without, all is well but slower. The last part of a block that
 * does not fill one is never given one. */
static void want_huge(void *at, size_t size)
{
    if (size >= HUGE_PAGE)
        madvise(at, size, MADV_HUGEPAGE);
}

/* Huge pages begin where their size says: a block that is large enough for one begins
 * there too. */
static void *map_pages(size_t size)
{
    size_t more = size >= HUGE_PAGE ? HUGE_PAGE : 0, skip;
    char *at;

    if (size > SIZE_MAX - 2 * HUGE_PAGE)
        return NULL;
    size = in_pages(size);
    at = mmap(NULL, size + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    if (more == 0)
        return at;
    skip = (size_t)(-(uintptr_t)at & (HUGE_PAGE - 1));
    if (skip > 0)
        munmap(at, skip);
    if (skip < more)
        munmap(at + skip + size, more - skip);
    want_huge(at + skip, size);
    return at + skip;
}

static void *remap_pages(void *at, size_t before, size_t size)
{
    void *moved;

    if (size < HUGE_PAGE) {
        moved = mremap(at, before, size, MREMAP_MAYMOVE);
        return moved == MAP_FAILED ? NULL : moved;
    }
    moved = map_pages(size);
    if (!moved)
        return NULL;
    /* Should this fail, `moved` may be gone or not, and another thread may have got it:
     * it is left alone. */
    if (mremap(at, in_pages(before), in_pages(size), MREMAP_MAYMOVE | MREMAP_FIXED,
               moved) == MAP_FAILED)
        return NULL;
    want_huge(moved, size);
    return moved;
}

static void unmap_pages(void *at, size_t size)
{
    munmap(at, size);
}
#else
static void *map_pages(size_t size)
{
    return calloc(1, size);
}

static void *remap_pages(void *at, size_t before, size_t size)
{
    char *moved = realloc(at, size);

    if (moved)
        memset(moved + before, 0, size - before);
    return moved;
}

static void unmap_pages(void *at, size_t size)
{
    (void)size;
    free(at);
}
#endif

void *pages_alloc(size_t size)
{
    return size >= MAPPED ? map_pages(size) : calloc(1, size);
}

void *pages_grow(void *at, size_t before, size_t size)
{
    void *moved;

    if (before >= MAPPED)
        return remap_pages(at, before, size);
    if (size >= MAPPED) {
        moved = map_pages(size);
        if (!moved)
            return NULL;
        memcpy(moved, at, before);
        free(at);
        return moved;
    }
    moved = realloc(at, size);
    if (moved)
        memset((char *)moved + before, 0, size - before);
    return moved;
}

void pages_free(void *at, size_t size)
{
    if (size >= MAPPED)
        unmap_pages(at, size);
    else
        free(at);
}
