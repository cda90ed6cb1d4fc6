/* source.h - who answers about bytes: a file reader's storages now, recordings and live
 * Python objects later. Session, measure and the views work on all of them alike. */
#ifndef MODEL_SOURCE_H
#define MODEL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct source;
struct source_ops {
    /* Copy n bytes of the model's storage `storage` from byte `at` on (inside its
     * size). The bytes are as the storage holds them (its byte order, its packing). */
    int (*bytes)(struct source *source, uint32_t storage, uint64_t at, void *to,
                 size_t n, struct err *err);
    /* The storage's bytes in memory, if they lie there anyway; else NULL. May be NULL.
     */
    const void *(*direct)(struct source *source, uint32_t storage);
    /* 1 if what is behind this source changed since it was read. May be NULL. */
    int (*changed)(struct source *source);
    void (*close)(struct source *source);
};

struct source {
    const struct source_ops *ops;
    bool any_thread; /* may be asked by any thread; else only by its owner */
};

int source_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                 size_t n, struct err *err);
const void *source_direct(struct source *source, uint32_t storage);
bool source_changed(struct source *source);
void source_close(struct source *source); /* NULL is allowed */

#endif
