/* Kept values stay in their file: the run keeps it open and reads them on demand. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "run/file_in.h"

struct run_source {
    sqlite3 *db;
    pthread_mutex_t lock; /* protects `blob`: any thread may read */
    sqlite3_blob *blob;   /* the part read last, or NULL */
    uint32_t *parts;      /* first part of each kept value */
};

int scope_keep_source(struct scope_read *read, struct err *err)
{
    struct run_source *source;

    if (read->run->n_kept == 0)
        return 0;
    source = calloc(1, sizeof *source);
    if (!source)
        return err_set_about(err, ERR_LIMIT, read->path, ": no memory left");
    *source = (struct run_source){.db = read->db, .parts = read->parts};
    pthread_mutex_init(&source->lock, NULL);
    read->db = NULL;
    read->run->source = source;
    return 0;
}

void run_source_close(struct run_source *source)
{
    if (!source)
        return;
    sqlite3_blob_close(source->blob);
    sqlite3_close(source->db);
    pthread_mutex_destroy(&source->lock);
    free(source);
}

/* Copies bytes of one part. */
static int part_bytes(struct run_source *source, uint32_t part, size_t at, void *to,
                      size_t n, struct err *err)
{
    int status = source->blob ? sqlite3_blob_reopen(source->blob, part)
                              : sqlite3_blob_open(source->db, "main", "kept_part",
                                                  "data", part, 0, &source->blob);

    if (status == SQLITE_OK && (uint64_t)sqlite3_blob_bytes(source->blob) < at + n)
        return err_set(err, ERR_FORMAT, "a kept value is cut short in the recording");
    if (status == SQLITE_OK)
        status = sqlite3_blob_read(source->blob, to, (int)n, (int)at);
    if (status == SQLITE_OK)
        return 0;
    /* A blob handle stays invalid after an error: open a new one next time. */
    sqlite3_blob_close(source->blob);
    source->blob = NULL;
    return err_set(err, ERR_FORMAT,
                   "a kept value cannot be read from the recording: %s",
                   sqlite3_errmsg(source->db));
}

int run_kept_bytes(const struct run *run, uint32_t kept, uint64_t at, void *to,
                   size_t n, struct err *err)
{
    const struct run_kept *value;

    if (kept >= run->n_kept || at > run->kept[kept].bytes ||
        n > run->kept[kept].bytes - at)
        return err_set(err, ERR_USAGE, "bytes beyond the end of a kept value");
    value = &run->kept[kept];
    if (value->at) {
        memcpy(to, (const char *)value->at + at, n);
        return 0;
    }
    while (n > 0) {
        uint32_t part = run->source->parts[kept] + (uint32_t)(at / SCOPE_PART);
        size_t inside = (size_t)(at % SCOPE_PART);
        size_t now = n < SCOPE_PART - inside ? n : SCOPE_PART - inside;

        int status;

        pthread_mutex_lock(&run->source->lock);
        status = part_bytes(run->source, part, inside, to, now, err);
        pthread_mutex_unlock(&run->source->lock);
        if (status < 0)
            return -1;
        to = (char *)to + now;
        at += now;
        n -= now;
    }
    return 0;
}
