#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/pages_in.h"

/* The first chunk is small to keep tiny models tiny; each further one doubles, so huge
 * models need few. */
#define FIRST_CHUNK  (16 * KIB)
#define LAST_CHUNK   (1 * MIB)
#define LARGE        (64 * KIB)
#define HUGE         (4 * MIB)
#define RESERVE_MOST (64 * MIB)
#define ALIGN        (_Alignof(max_align_t))
#define FIRST_ROOM   8u

/* Under the address sanitizer, unallocated bytes are poisoned; a gap between
 * allocations catches overruns. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
#include <sanitizer/asan_interface.h>
#define GAP            16u
#define HIDE(at, size) ASAN_POISON_MEMORY_REGION(at, size)
#define SHOW(at, size) ASAN_UNPOISON_MEMORY_REGION(at, size)
#else
#define GAP            0u
#define HIDE(at, size) ((void)(at), (void)(size))
#define SHOW(at, size) ((void)(at), (void)(size))
#endif

/* A block from the system: this header, then `size` usable bytes. */
struct arena_block {
    _Alignas(max_align_t) struct arena_block *next;
    struct arena_block *prev; /* large blocks only: they move */
    size_t size;
    size_t cut; /* chunks only: bytes allocated so far */
};

static char *block_bytes(struct arena_block *block)
{
    return (char *)(block + 1);
}

void arena_init(struct arena *arena, size_t limit)
{
    *arena = (struct arena){.limit = limit ? limit : SIZE_MAX};
}

static void release_blocks(struct arena_block *block)
{
    while (block) {
        struct arena_block *next = block->next;

        pages_free(block, sizeof *block + block->size);
        block = next;
    }
}

void arena_release(struct arena *arena)
{
    release_blocks(arena->small);
    release_blocks(arena->large);
    arena_init(arena, arena->limit);
}

static void *refuse(struct arena *arena)
{
    arena->spent = true;
    return NULL;
}

static size_t bytes_to_limit(const struct arena *arena)
{
    return arena->limit > arena->used ? arena->limit - arena->used : 0;
}

/* Get a block with `size` usable bytes from the system. */
static struct arena_block *take_block(struct arena *arena, size_t size)
{
    size_t left = bytes_to_limit(arena);
    struct arena_block *block;

    if (left < sizeof *block || size > left - sizeof *block)
        return refuse(arena);
    block = pages_alloc(sizeof *block + size);
    if (!block)
        return refuse(arena);
    block->size = size;
    arena->used += sizeof *block + size;
    return block;
}

/* Push a large block onto its list; also relinks one that moved. */
static void link_large(struct arena *arena, struct arena_block *block)
{
    if (block->prev)
        block->prev->next = block;
    else
        arena->large = block;
    if (block->next)
        block->next->prev = block;
}

static void *alloc_large(struct arena *arena, size_t size)
{
    struct arena_block *block = take_block(arena, size);

    if (!block)
        return NULL;
    block->next = arena->large;
    link_large(arena, block);
    return block_bytes(block);
}

/* The size of the next chunk, at least `need` bytes. Near the limit it is whatever
 * remains. */
static size_t next_chunk_size(const struct arena *arena, size_t need)
{
    const struct arena_block *last = arena->small;
    size_t total = last ? 2 * (sizeof *last + last->size) : FIRST_CHUNK;
    size_t left = bytes_to_limit(arena);

    if (total > LAST_CHUNK)
        total = LAST_CHUNK;
    if (total > left)
        total = left;
    if (total < sizeof *last || total - sizeof *last < need)
        return need;
    return total - sizeof *last;
}

static void *alloc_small(struct arena *arena, size_t size, size_t align)
{
    struct arena_block *chunk = arena->small;
    size_t begin = chunk ? (chunk->cut + GAP + align - 1) & ~(align - 1) : 0;

    if (!chunk || begin > chunk->size || size > chunk->size - begin) {
        chunk = take_block(arena, next_chunk_size(arena, size));
        if (!chunk)
            return NULL;
        chunk->next = arena->small;
        arena->small = chunk;
        begin = 0;
        HIDE(block_bytes(chunk), chunk->size);
    }
    chunk->cut = begin + size;
    SHOW(block_bytes(chunk) + begin, size);
    return block_bytes(chunk) + begin;
}

static void *alloc_aligned(struct arena *arena, size_t size, size_t align)
{
    if (size >= LARGE)
        return alloc_large(arena, size);
    return alloc_small(arena, size ? size : 1, align);
}

void *arena_alloc(struct arena *arena, size_t size)
{
    return alloc_aligned(arena, size, ALIGN);
}

void *arena_array(struct arena *arena, size_t n, size_t item)
{
    size_t size;

    if (__builtin_mul_overflow(n, item, &size))
        return refuse(arena);
    return arena_alloc(arena, size);
}

void *arena_sparse(struct arena *arena, size_t size)
{
    void *at = arena_alloc(arena, size);
    struct arena_block *block;

    assert(size >= LARGE);
    if (!at)
        return NULL;
    block = (struct arena_block *)at - 1;
    pages_sparse(block, sizeof *block + block->size);
    return at;
}

void arena_drop_part(void *at, size_t from, size_t to)
{
    struct arena_block *block = (struct arena_block *)at - 1;

    assert(block->size >= LARGE && from <= to && to <= block->size);
    pages_drop(block, sizeof *block + block->size, sizeof *block + from,
               sizeof *block + to);
    HIDE((char *)at + from, to - from);
}

void arena_reuse_part(void *at, size_t from, size_t to)
{
    SHOW((char *)at + from, to - from);
}

void arena_drop(void *at, size_t n)
{
    arena_drop_part(at, 0, n);
}

struct str arena_str(struct arena *arena, struct str s)
{
    char *copy = s.len < SIZE_MAX ? alloc_aligned(arena, s.len + 1, 1) : refuse(arena);

    if (!copy)
        return (struct str){NULL, 0};
    if (s.len > 0)
        memcpy(copy, s.at, s.len);
    return (struct str){copy, s.len};
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    char *text;
    int len;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0)
        return refuse(arena);
    text = alloc_aligned(arena, (size_t)len + 1, 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    return text;
}

/* Grow an allocation that has its own block; the block may move. */
static void *grow_large(struct arena *arena, void *old, size_t size)
{
    struct arena_block *block = (struct arena_block *)old - 1;
    size_t before = block->size;

    if (size - before > bytes_to_limit(arena) || size > SIZE_MAX - sizeof *block)
        return refuse(arena);
    block = pages_grow(block, sizeof *block + before, sizeof *block + size);
    if (!block)
        return refuse(arena);
    block->size = size;
    arena->used += size - before;
    link_large(arena, block);
    return block_bytes(block);
}

/* Grow in place if this is the last allocation of the current chunk and the chunk has
 * room. */
static bool grow_in_chunk(struct arena *arena, char *old, size_t before, size_t size)
{
    struct arena_block *chunk = arena->small;

    if (!chunk || size >= LARGE || old + before != block_bytes(chunk) + chunk->cut)
        return false;
    if (size - before > chunk->size - chunk->cut)
        return false;
    chunk->cut += size - before;
    SHOW(old, size);
    return true;
}

static void *grow(struct arena *arena, void *old, size_t before, size_t size)
{
    void *moved;

    if (before >= LARGE)
        return grow_large(arena, old, size);
    if (before > 0 && grow_in_chunk(arena, old, before, size))
        return old;
    moved = arena_alloc(arena, size);
    if (moved && before > 0)
        memcpy(moved, old, before);
    return moved;
}

/* Grow the array at `at` to `more` items. */
static int grow_array(struct arena *arena, void *at, uint32_t *room, uint32_t more,
                      size_t item)
{
    size_t size;
    void *items;

    if (more <= *room || __builtin_mul_overflow((size_t)more, item, &size)) {
        refuse(arena);
        return -1;
    }
    memcpy(&items, at, sizeof items);
    items = grow(arena, items, *room * item, size);
    if (!items)
        return -1;
    memcpy(at, &items, sizeof items);
    *room = more;
    return 0;
}

int arena_room(struct arena *arena, void *at, size_t n, uint32_t *room, size_t item)
{
    uint64_t more = (uint64_t)*room * 2;

    assert(n <= *room && item > 0);
    if (n < *room)
        return 0;
    if (*room >= HUGE / item)
        more = (uint64_t)*room + *room / 4;
    if (more < FIRST_ROOM)
        more = FIRST_ROOM;
    return grow_array(arena, at, room, more < UINT32_MAX ? (uint32_t)more : UINT32_MAX,
                      item);
}

void arena_reserve(struct arena *arena, void *at, size_t n, uint32_t *room, size_t item)
{
    size_t most = bytes_to_limit(arena) / 3;

    if (most > RESERVE_MOST)
        most = RESERVE_MOST;
    if (n > most / item)
        n = most / item;
    if (*room == 0 && n >= LARGE / item)
        grow_array(arena, at, room, (uint32_t)n, item);
}

int arena_double(struct arena *arena, void *at, uint32_t *room, size_t item)
{
    return grow_array(arena, at, room, *room > UINT32_MAX / 2 ? 0 : *room * 2, item);
}

int arena_err(const struct arena *arena, const char *what, struct err *err)
{
    if (arena->limit == SIZE_MAX)
        return err_set(err, ERR_LIMIT, "%s needs more memory than is available", what);
    if (arena->limit >= MIB)
        return err_set(err, ERR_LIMIT, "%s needs more than %zu MiB of memory", what,
                       arena->limit / MIB);
    return err_set(err, ERR_LIMIT, "%s needs more than %zu bytes of memory", what,
                   arena->limit);
}
