#include <string.h>

#include "base/base.h"
#include "read/gguf/gguf_in.h"

#define WINDOW (GGUF_STRING + 16)

int gguf_begin(struct gguf_cursor *in, struct blob *blob, struct arena *arena)
{
    *in = (struct gguf_cursor){.blob = blob, .window = arena_alloc(arena, WINDOW)};
    return in->window ? 0 : -1;
}

uint64_t gguf_left(const struct gguf_cursor *in)
{
    return in->blob->size - in->at;
}

/* The next n bytes, at most WINDOW; NULL: the file is too short. */
static const uint8_t *need(struct gguf_cursor *in, size_t n)
{
    size_t want = WINDOW;

    if (in->bad || n > gguf_left(in)) {
        in->bad = true;
        return NULL;
    }
    if (in->at >= in->window_at && in->at + n <= in->window_at + in->window_n)
        return in->window + (in->at - in->window_at);
    if (want > gguf_left(in))
        want = (size_t)gguf_left(in);
    in->window_n = 0;
    if (blob_read(in->blob, in->at, in->window, want, &in->why) < 0) {
        in->bad = true;
        return NULL;
    }
    in->window_at = in->at;
    in->window_n = want;
    return in->window;
}

uint64_t gguf_number(struct gguf_cursor *in, unsigned bytes)
{
    const uint8_t *from = need(in, bytes);
    uint64_t number = 0;

    if (!from)
        return 0;
    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)from[in->big ? bytes - 1 - i : i] << 8 * i;
    in->at += bytes;
    return number;
}

uint32_t gguf_u32(struct gguf_cursor *in)
{
    return (uint32_t)gguf_number(in, 4);
}

uint64_t gguf_count(struct gguf_cursor *in)
{
    return gguf_number(in, in->narrow ? 4 : 8);
}

struct str gguf_string(struct gguf_cursor *in, uint64_t *ret_len)
{
    uint64_t len = gguf_count(in);
    size_t n = len < GGUF_STRING ? (size_t)len : GGUF_STRING;
    const uint8_t *from;

    *ret_len = 0;
    if (len > gguf_left(in))
        in->bad = true;
    from = need(in, n);
    if (!from)
        return STR("");
    in->at += len;
    *ret_len = len;
    return str_span((const char *)from, n);
}

void gguf_skip(struct gguf_cursor *in, uint64_t n)
{
    if (n > gguf_left(in))
        in->bad = true;
    if (!in->bad)
        in->at += n;
}
