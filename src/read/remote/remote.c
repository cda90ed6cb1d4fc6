#include "read/remote/remote_in.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "base/buf.h"
#include "read/remote/cache_in.h"
#include "read/remote/fetch_in.h"

#define SLOTS       64 /* blocks in memory: 4 MB */
#define MOST_AHEAD  8  /* most blocks that sequential reads fetch in advance */
#define LARGE_READ  (4 * REMOTE_BLOCK)
#define MOST_BLOCKS 64 /* limit of one request, while blocks are cached */

struct remote_slot {
    uint64_t block; /* its number + 1; 0: free */
    char *bytes;
};

struct remote {
    struct blob blob;
    char *url;
    char version[FETCH_VERSION];
    atomic_bool settled;
    pthread_mutex_t lock; /* protects what follows */
    struct fetcher *fetcher;
    struct remote_cache cache;
    struct remote_slot slots[SLOTS];
    uint64_t next;  /* the block after the last request */
    unsigned ahead; /* blocks that the next request fetches in advance */
};

/* ---- addresses ---- */

static size_t scheme_len(const char *path)
{
    return strncasecmp(path, "http://", 7) == 0    ? 7
           : strncasecmp(path, "https://", 8) == 0 ? 8
                                                   : 0;
}

bool remote_is_url(const char *path)
{
    return scheme_len(path) > 0;
}

/* Bytes before the query and the fragment. */
static size_t path_len(const char *url)
{
    return strcspn(url, "?#");
}

const char *remote_shown(const char *url, struct arena *arena)
{
    size_t scheme = scheme_len(url), len = path_len(url);
    const char *host = url + scheme;
    size_t host_len = strcspn(host, "/?#");
    const char *at = memchr(host, '@', host_len);

    while (at && memchr(at + 1, '@', host_len - (size_t)(at + 1 - host)))
        at = memchr(at + 1, '@', host_len - (size_t)(at + 1 - host));
    if (at)
        host = at + 1;
    return arena_printf(arena, "%.*s%.*s", (int)scheme, url, (int)(url + len - host),
                        host);
}

const char *remote_beside(const char *url, struct str name, struct arena *arena)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._~";
    size_t len = path_len(url);
    const char *query = url + len;
    struct buf to = BUF_INIT;
    struct str kept;

    while (len > 0 && url[len - 1] != '/')
        len--;
    buf_add(&to, url, len);
    for (size_t i = 0; i < name.len; i++) {
        if (strchr(plain, name.at[i]) && name.at[i])
            buf_char(&to, name.at[i]);
        else
            buf_printf(&to, "%%%02X", (unsigned)(uint8_t)name.at[i]);
    }
    buf_add(&to, query, strcspn(query, "#"));
    kept = to.bad ? (struct str){0} : arena_str(arena, buf_span(&to));
    buf_release(&to);
    return kept.at;
}

/* ---- blocks; the lock is held ---- */

static size_t block_bytes(const struct remote *r, uint64_t block)
{
    uint64_t left = r->blob.size - block * REMOTE_BLOCK;

    return left < REMOTE_BLOCK ? (size_t)left : REMOTE_BLOCK;
}

static struct remote_slot *slot_of(struct remote *r, uint64_t block)
{
    return &r->slots[block % SLOTS];
}

/* The block, if it is in memory or on disk; else NULL. */
static const char *find_block(struct remote *r, uint64_t block)
{
    struct remote_slot *slot = slot_of(r, block);

    if (slot->block == block + 1)
        return slot->bytes;
    if (!slot->bytes)
        slot->bytes = malloc(REMOTE_BLOCK);
    slot->block = 0;
    if (!slot->bytes ||
        !remote_cache_get(&r->cache, block, slot->bytes, block_bytes(r, block)))
        return NULL;
    slot->block = block + 1;
    return slot->bytes;
}

static void keep_block(struct remote *r, uint64_t block, const char *at)
{
    struct remote_slot *slot = slot_of(r, block);
    size_t n = block_bytes(r, block);

    remote_cache_put(&r->cache, block, at, n);
    if (!slot->bytes)
        slot->bytes = malloc(REMOTE_BLOCK);
    slot->block = slot->bytes ? block + 1 : 0;
    if (slot->bytes)
        memcpy(slot->bytes, at, n);
}

static int ask(struct remote *r, uint64_t at, void *to, size_t n, struct err *err)
{
    struct fetch fetch = {.url = r->url,
                          .shown = r->blob.name,
                          .at = at,
                          .to = to,
                          .n = n,
                          .version = r->version,
                          .size = r->blob.size};

    return fetch_range(r->fetcher, &fetch, err);
}

/* Fetches n blocks from `first` on, and some in advance if this request continues the
 * last one. */
static int ask_blocks(struct remote *r, uint64_t first, uint64_t n, struct err *err)
{
    uint64_t blocks = (r->blob.size + REMOTE_BLOCK - 1) / REMOTE_BLOCK;
    char *bytes;
    size_t size;
    int status;

    r->ahead = first != r->next ? 0 : r->ahead ? r->ahead * 2 : 1;
    if (r->ahead > MOST_AHEAD)
        r->ahead = MOST_AHEAD;
    if (n + r->ahead <= MOST_BLOCKS)
        n += r->ahead;
    if (n > blocks - first)
        n = blocks - first;
    r->next = first + n;
    size = (size_t)((n - 1) * REMOTE_BLOCK + block_bytes(r, first + n - 1));
    bytes = malloc(size);
    if (!bytes)
        return err_set_about(err, ERR_LIMIT, r->blob.name, ": no memory left");
    status = ask(r, first * REMOTE_BLOCK, bytes, size, err);
    for (uint64_t i = 0; i < n && status == 0; i++)
        keep_block(r, first + i, bytes + i * REMOTE_BLOCK);
    free(bytes);
    return status;
}

/* The number of blocks from `first` up to `last` that are not cached. */
static uint64_t count_missing(struct remote *r, uint64_t first, uint64_t last)
{
    uint64_t n = 1;

    while (n < MOST_BLOCKS && first + n <= last && !find_block(r, first + n))
        n++;
    return n;
}

static int read_blocks(struct remote *r, uint64_t at, char *to, size_t n,
                       struct err *err)
{
    uint64_t last = (at + n - 1) / REMOTE_BLOCK;

    while (n > 0) {
        uint64_t block = at / REMOTE_BLOCK;
        const char *bytes = find_block(r, block);
        size_t from = (size_t)(at % REMOTE_BLOCK), some;

        if (!bytes) {
            if (ask_blocks(r, block, count_missing(r, block, last), err) < 0)
                return -1;
            bytes = find_block(r, block);
            if (!bytes)
                return err_set_about(err, ERR_LIMIT, r->blob.name, ": no memory left");
        }
        some = block_bytes(r, block) - from;
        some = some < n ? some : n;
        memcpy(to, bytes + from, some);
        at += some;
        to += some;
        n -= some;
    }
    return 0;
}

/* ---- the blob ---- */

static int remote_read(struct blob *blob, uint64_t at, void *to, size_t n,
                       struct err *err)
{
    struct remote *r = (struct remote *)blob;
    int status;

    if (n == 0)
        return 0;
    pthread_mutex_lock(&r->lock);
    status = n > LARGE_READ && atomic_load(&r->settled)
                 ? ask(r, at, to, n, err)
                 : read_blocks(r, at, to, n, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

static void remote_close(struct blob *blob)
{
    struct remote *r = (struct remote *)blob;

    for (int i = 0; i < SLOTS; i++)
        free(r->slots[i].bytes);
    remote_cache_close(&r->cache);
    fetcher_free(r->fetcher);
    pthread_mutex_destroy(&r->lock);
    free(r->url);
    free((char *)(uintptr_t)r->blob.name);
    free(r);
}

static const struct blob_ops remote_ops = {.read = remote_read, .close = remote_close};

void remote_settle(struct blob *blob)
{
    if (blob && blob->ops == &remote_ops)
        atomic_store(&((struct remote *)blob)->settled, true);
}

/* ---- opening ---- */

/* Fetches the first block, which gives the size and version of the file. */
static int begin(struct remote *r, struct err *err)
{
    char *first = malloc(REMOTE_BLOCK);
    struct fetch fetch = {.url = r->url,
                          .shown = r->blob.name,
                          .to = first,
                          .n = REMOTE_BLOCK,
                          .version = r->cache.version,
                          .unless = true};
    int status = first
                     ? fetch_range(r->fetcher, &fetch, err)
                     : err_set_about(err, ERR_LIMIT, r->blob.name, ": no memory left");

    if (status == 0 && fetch.same) {
        r->blob.size = r->cache.total;
        memcpy(r->version, r->cache.version, sizeof r->version);
    } else if (status == 0) {
        r->blob.size = fetch.total;
        memcpy(r->version, fetch.new_version, sizeof r->version);
        remote_cache_set(&r->cache, r->version, fetch.total);
        keep_block(r, 0, first);
        r->next = 1;
    }
    free(first);
    return status;
}

static char *shown_of(const char *url)
{
    struct arena arena;
    const char *shown;
    char *kept;

    arena_init(&arena, 0);
    shown = remote_shown(url, &arena);
    kept = shown ? strdup(shown) : NULL;
    arena_release(&arena);
    return kept;
}

struct blob *remote_open(const char *url, struct err *err)
{
    struct remote *r = calloc(1, sizeof *r);

    if (!r) {
        err_set(err, ERR_LIMIT, "no memory left");
        return NULL;
    }
    pthread_mutex_init(&r->lock, NULL);
    r->blob.ops = &remote_ops;
    r->url = strdup(url);
    r->blob.name = shown_of(url);
    if (!r->url || !r->blob.name)
        err_set(err, ERR_LIMIT, "no memory left");
    else
        r->fetcher = fetcher_new(err);
    if (r->fetcher) {
        remote_cache_open(&r->cache, url);
        if (begin(r, err) == 0)
            return &r->blob;
    }
    remote_close(&r->blob);
    return NULL;
}
