#include "base/bytes.h"

#include <string.h>

struct bytes bytes_of(const void *at, size_t len)
{
    /* An empty span may be NULL; keep a valid address. */
    const uint8_t *first = at ? at : (const void *)"";

    return (struct bytes){first, first + (at ? len : 0), false};
}

size_t bytes_left(const struct bytes *in)
{
    return in->bad ? 0 : (size_t)(in->end - in->at);
}

/* Skip n bytes and return the first; NULL if fewer remain, and the reader stays bad.
 * Every read below goes through here. */
static const uint8_t *step(struct bytes *in, uint64_t n)
{
    const uint8_t *at = in->at;

    if (in->bad || n > (uint64_t)(in->end - in->at)) {
        in->bad = true;
        return NULL;
    }
    in->at += n;
    return at;
}

uint8_t bytes_u8(struct bytes *in)
{
    const uint8_t *at = step(in, 1);

    return at ? at[0] : 0;
}

uint16_t bytes_u16(struct bytes *in)
{
    const uint8_t *at = step(in, 2);

    return at ? (uint16_t)(at[0] | at[1] << 8) : 0;
}

static uint32_t load_u32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint32_t bytes_u32(struct bytes *in)
{
    const uint8_t *at = step(in, 4);

    return at ? load_u32(at) : 0;
}

uint64_t bytes_u64(struct bytes *in)
{
    const uint8_t *at = step(in, 8);

    return at ? load_u32(at) | (uint64_t)load_u32(at + 4) << 32 : 0;
}

int64_t bytes_i64(struct bytes *in)
{
    return (int64_t)bytes_u64(in);
}

double bytes_f64_big(struct bytes *in)
{
    uint64_t bits = __builtin_bswap64(bytes_u64(in));
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

struct str bytes_take(struct bytes *in, uint64_t n)
{
    const uint8_t *at = step(in, n);

    return at ? str_span(at, (size_t)n) : str_span(NULL, 0);
}

struct str bytes_line(struct bytes *in)
{
    size_t left = bytes_left(in);
    const uint8_t *end = left ? memchr(in->at, '\n', left) : NULL;
    struct str line;

    if (!end) {
        in->bad = true;
        return str_span(NULL, 0);
    }
    line = str_span(in->at, (size_t)(end - in->at));
    in->at = end + 1;
    return line;
}

void bytes_skip(struct bytes *in, uint64_t n)
{
    step(in, n);
}
