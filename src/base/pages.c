#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap() */
#endif
#include "base/pages_in.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* The address sanitizer only checks malloc() memory. */
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
/* Blocks of at least this size are mapped. Smaller ones are cheaper to copy when they
 * grow than to fault in. */
#define MAPPED (128 * KIB)

#if OWN_PAGES
#include <sys/mman.h>
#include <unistd.h>

static void *checked(void *at, size_t size)
{
    if (at == MAP_FAILED)
        return NULL;
    if (size >= 2 * HUGE_PAGE)
        madvise(at, size, MADV_HUGEPAGE); /* optional: only affects speed */
    return at;
}

static void *map_pages(size_t size)
{
    return checked(
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        size);
}

static void *remap_pages(void *at, size_t before, size_t size)
{
    return checked(mremap(at, before, size, MREMAP_MAYMOVE), size);
}

static void unmap_pages(void *at, size_t size)
{
    munmap(at, size);
}

static void sparse_pages(void *at, size_t size)
{
    madvise(at, size, MADV_NOHUGEPAGE);
}

/* Only whole pages can be returned. */
static void drop_pages(char *at, size_t from, size_t to)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from < to)
        madvise(at + from, to - from, MADV_DONTNEED);
}
#else
static void sparse_pages(void *at, size_t size)
{
    (void)at;
    (void)size;
}

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

static void drop_pages(char *at, size_t from, size_t to)
{
    (void)at;
    (void)from;
    (void)to;
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

void pages_sparse(void *at, size_t size)
{
    if (size >= MAPPED)
        sparse_pages(at, size);
}

void pages_drop(void *at, size_t size, size_t from, size_t to)
{
    if (size >= MAPPED)
        drop_pages(at, from, to);
}
