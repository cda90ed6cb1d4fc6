/* buf.h - bytes that grow, on the heap. If memory runs out, `bad` is set and all
 * further bytes are dropped: write everything, then check `bad` once. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf {
    char *at; /* ends in NUL once anything was added */
    size_t len, room;
    bool bad;
};

#define BUF_INIT                                                                       \
    {                                                                                  \
        0                                                                              \
    }

void buf_release(struct buf *buf); /* the buf is empty and usable again */
void buf_clear(struct buf *buf);   /* keeps the memory */
void buf_add(struct buf *buf, const void *at, size_t len);
void buf_str(struct buf *buf, struct str s);
void buf_text(struct buf *buf, const char *text);
void buf_char(struct buf *buf, char c);
void buf_fill(struct buf *buf, char c, size_t n);
void buf_printf(struct buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
struct str buf_span(const struct buf *buf);
const char *buf_cstr(const struct buf *buf); /* never NULL */

/* Make room for item n of the malloc()ed array whose pointer is at `at`, with room for
 * `*room` items of `size` bytes. False: out of memory; the array is unchanged. */
bool buf_grow_array(void *at, uint32_t n, uint32_t *room, size_t size);

#endif
