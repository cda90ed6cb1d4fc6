/* out.h - output of text to a file descriptor (buffered) or a buf.
 * A failed write (a closed pipe, a full disk) sets `bad`, keeps errno in `error` and
 * drops the rest; check once, at the end. */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

struct out {
    int fd;           /* -1 when writing to `into` */
    struct buf *into; /* borrowed */
    struct buf hold;  /* not yet written to fd */
    bool bad;
    int error;
};

void out_init_fd(struct out *out, int fd); /* borrows fd */
void out_init_buf(struct out *out, struct buf *into);
int out_flush(struct out *out);   /* -1 if any output was lost */
int out_release(struct out *out); /* flushes; the same result */

void out_add(struct out *out, const void *at, size_t len);
void out_str(struct out *out, struct str s);
void out_text(struct out *out, const char *text);
void out_char(struct out *out, char c);
void out_printf(struct out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
