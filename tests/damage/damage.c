/* damage.c - truncates files at every byte, flips bytes, and reads the result.
 *
 *     damage [--stride N] [--flips N] [--seed N] [--case FILE] FILE...
 *
 * Each case is read from memory of exactly its size, so that the sanitizer detects
 * overruns, and everything is queried. A case that takes over 10 s of CPU time,
 * allocates more than 64 MB + 8 times its size at once, or leaks memory ends the
 * program with status 1. FILE holds the current case; it is shared memory and survives
 * a crash. Prints one line for each file: cases, the slowest in milliseconds, the
 * largest in kilobytes. */
#define _GNU_SOURCE /* mremap() */
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "everything.h"

#define LIMIT_MS    10000
#define LIMIT_BYTES ((size_t)64 << 20)
#define CASE_SIZE   4096

struct damage {
    size_t stride;  /* between two cuts */
    unsigned flips; /* damaged copies of each file */
    uint64_t seed;
    char *under_way; /* CASE_SIZE bytes of text */
    unsigned cases;
    unsigned worst_ms;
    size_t worst_bytes;
};

/* --- memory in use: the linker wraps malloc, mmap and related functions */

static atomic_size_t in_use, most_in_use;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *at);
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd,
                    off_t from);
void *__real_mremap(void *at, size_t before, size_t size, int flags, ...);
int __real_munmap(void *at, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *at);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
                    off_t from);
void *__wrap_mremap(void *at, size_t before, size_t size, int flags, ...);
int __wrap_munmap(void *at, size_t size);

static void take(size_t size)
{
    size_t now = atomic_fetch_add(&in_use, size) + size;
    size_t most = atomic_load(&most_in_use);

    while (now > most && !atomic_compare_exchange_weak(&most_in_use, &most, now))
        continue;
}

static void give(size_t size)
{
    atomic_fetch_sub(&in_use, size);
}

static void *taken(void *at)
{
    take(at ? malloc_usable_size(at) : 0);
    return at;
}

void *__wrap_malloc(size_t size)
{
    return taken(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return taken(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    size_t before = old ? malloc_usable_size(old) : 0;
    void *at = __real_realloc(old, size);

    if (at)
        give(before);
    return taken(at);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return taken(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *at)
{
    give(at ? malloc_usable_size(at) : 0);
    __real_free(at);
}

void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
                    off_t from)
{
    void *made = __real_mmap64(at, size, protection, flags, fd, from);

    take(made != MAP_FAILED ? size : 0);
    return made;
}

void *__wrap_mremap(void *at, size_t before, size_t size, int flags, ...)
{
    void *made = __real_mremap(at, before, size, flags);

    if (made != MAP_FAILED) {
        give(before);
        take(size);
    }
    return made;
}

int __wrap_munmap(void *at, size_t size)
{
    give(size);
    return __real_munmap(at, size);
}

/* --- one case */

/* CPU time of all threads, which does not depend on the machine's load. */
static unsigned processor_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (unsigned)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

static void give_up(const struct damage *damage, const char *what, size_t got)
{
    fprintf(stderr, "%s: %s: %zu\n", damage->under_way, what, got);
    exit(1);
}

/* Read `size` bytes at `from` as a file, from a copy of exactly that size. */
static void run_case(struct damage *damage, const uint8_t *from, size_t size,
                     const char *name)
{
    uint8_t *copy = malloc(size ? size : 1);
    size_t before = in_use, peak;
    unsigned begin = processor_ms(), took;

    if (!copy)
        abort();
    memcpy(copy, from, size);
    most_in_use = in_use;
    everything_of(copy, size, name);
    took = processor_ms() - begin;
    peak = most_in_use - before;
    if (in_use != before)
        give_up(damage, "bytes left behind", in_use - before);
    if (took > LIMIT_MS)
        give_up(damage, "milliseconds of processor time are too many", took);
    if (peak > LIMIT_BYTES + 8 * size)
        give_up(damage, "bytes at once are too many", peak);
    free(copy);
    damage->cases++;
    if (took > damage->worst_ms)
        damage->worst_ms = took;
    if (peak > damage->worst_bytes)
        damage->worst_bytes = peak;
}

/* --- making cases */

/* xorshift64*: small and portable. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

/* One small mutation: change a byte or a bit, make a number huge, zero or repeat a
 * range. */
static void hurt(uint8_t *bytes, size_t size, uint64_t *state)
{
    static const uint8_t sharp[] = {0, 1, 0x7f, 0x80, 0xff, '(', '.', 'R', '\n', '/'};
    size_t at = draw(state) % size;
    size_t n = 1 + draw(state) % 8;

    if (n > size - at)
        n = size - at;
    switch (draw(state) % 6) {
    case 0:
        bytes[at] ^= (uint8_t)(1u << draw(state) % 8);
        break;
    case 1:
        bytes[at] = (uint8_t)draw(state);
        break;
    case 2:
        bytes[at] = sharp[draw(state) % sizeof sharp];
        break;
    case 3:
        memset(bytes + at, 0xff, n);
        break;
    case 4:
        memset(bytes + at, 0, n);
        break;
    default:
        memmove(bytes + at, bytes + draw(state) % (size - n + 1), n);
        break;
    }
}

static void run_flips(struct damage *damage, const uint8_t *bytes, size_t size,
                      const char *name)
{
    uint8_t *hurt_bytes = malloc(size);

    if (!hurt_bytes)
        abort();
    for (unsigned i = 0; i < damage->flips; i++) {
        uint64_t state = (damage->seed + i + 1) * 0x9e3779b97f4a7c15u;
        unsigned times = 1 + (unsigned)(draw(&state) % 4);

        snprintf(damage->under_way, CASE_SIZE, "%s, damage %u of seed %llu", name, i,
                 (unsigned long long)damage->seed);
        memcpy(hurt_bytes, bytes, size);
        for (unsigned k = 0; k < times; k++)
            hurt(hurt_bytes, size, &state);
        run_case(damage, hurt_bytes, size, name);
    }
    free(hurt_bytes);
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t size = 0, room = 0;

    if (!file) {
        perror(path);
        exit(2);
    }
    for (;;) {
        size_t got;

        room = room ? 2 * room : 65536;
        bytes = realloc(bytes, room);
        if (!bytes)
            abort();
        got = fread(bytes + size, 1, room - size, file);
        size += got;
        if (size < room)
            break;
    }
    fclose(file);
    *ret_size = size;
    return bytes;
}

static void run_file(struct damage *damage, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t size;
    uint8_t *bytes = read_file(path, &size);

    damage->cases = damage->worst_ms = 0;
    damage->worst_bytes = 0;
    snprintf(damage->under_way, CASE_SIZE, "%s, whole", name);
    run_case(damage, bytes, size, name);
    for (size_t cut = 0; damage->stride && cut < size; cut += damage->stride) {
        snprintf(damage->under_way, CASE_SIZE, "%s, cut at %zu", name, cut);
        run_case(damage, bytes, cut, name);
    }
    if (size > 0)
        run_flips(damage, bytes, size, name);
    free(bytes);
    printf("%s %u %u %zu\n", name, damage->cases, damage->worst_ms,
           damage->worst_bytes / 1024);
    fflush(stdout);
}

/* Map the file that holds the current case, shared with other processes. */
static char *open_case(const char *path)
{
    FILE *file = fopen(path, "w+");
    char *text;

    if (!file || ftruncate(fileno(file), CASE_SIZE) < 0) {
        perror(path);
        exit(2);
    }
    text = mmap(NULL, CASE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    fclose(file);
    return text == MAP_FAILED ? NULL : text;
}

int main(int argc, char **argv)
{
    static char text[CASE_SIZE];
    struct damage damage = {.stride = 1, .flips = 200, .seed = 1, .under_way = text};
    int i = 1;

    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--stride") == 0)
            damage.stride = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--flips") == 0)
            damage.flips = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            damage.seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--case") == 0)
            damage.under_way = open_case(argv[i + 1]);
    }
    if (!damage.under_way)
        return 2;
    for (; i < argc; i++)
        run_file(&damage, argv[i]);
    return 0;
}
