/* out_in.h - writing directly into the buffer of an out, for the JSON writer, which
 * writes millions of small pieces:
 *
 *     char *to = out_space(out, 20);
 *     if (to)
 *         out_used(out, put_digits(to, value)); */
#ifndef BASE_OUT_IN_H
#define BASE_OUT_IN_H

#include "base/base.h"
#include "base/out.h"

#define OUT_HOLD (64 * KIB)

static inline struct buf *out_buf(struct out *out)
{
    return out->into ? out->into : &out->hold;
}

/* The slow path of out_space(). */
char *out_make_space(struct out *out, size_t n);

/* Space for n bytes; NULL once the out is bad, or if n is not below OUT_HOLD. */
static inline char *out_space(struct out *out, size_t n)
{
    struct buf *buf = out_buf(out);

    if (n < buf->room - buf->len && !buf->bad && !out->bad)
        return buf->at + buf->len;
    return out_make_space(out, n);
}

/* Mark the space up to `end` as written. */
static inline void out_used(struct out *out, const char *end)
{
    struct buf *buf = out_buf(out);

    buf->len = (size_t)(end - buf->at);
    buf->at[buf->len] = '\0';
}

#endif
