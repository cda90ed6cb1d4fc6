#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64u

void buf_release(struct buf *buf)
{
    free(buf->at);
    *buf = (struct buf)BUF_INIT;
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    if (buf->at)
        buf->at[0] = '\0';
}

/* Ensure room for `more` bytes and a NUL. */
static bool make_room(struct buf *buf, size_t more)
{
    size_t need, room;
    char *at;

    if (buf->bad)
        return false;
    if (buf->room > buf->len && more < buf->room - buf->len)
        return true;
    if (more >= SIZE_MAX / 2 - buf->len) {
        buf->bad = true;
        return false;
    }
    need = buf->len + more + 1;
    room = buf->room < FIRST_ROOM ? FIRST_ROOM : buf->room * 2;
    if (room < need)
        room = need;
    at = realloc(buf->at, room);
    if (!at) {
        buf->bad = true;
        return false;
    }
    buf->at = at;
    buf->room = room;
    return true;
}

void buf_add(struct buf *buf, const void *at, size_t len)
{
    if (!make_room(buf, len))
        return;
    if (len > 0)
        memcpy(buf->at + buf->len, at, len);
    buf->len += len;
    buf->at[buf->len] = '\0';
}

void buf_str(struct buf *buf, struct str s)
{
    buf_add(buf, s.at, s.len);
}

void buf_text(struct buf *buf, const char *text)
{
    buf_str(buf, str_of(text));
}

void buf_char(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}

void buf_fill(struct buf *buf, char c, size_t n)
{
    if (!make_room(buf, n))
        return;
    memset(buf->at + buf->len, c, n);
    buf->len += n;
    buf->at[buf->len] = '\0';
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    buf_vprintf(buf, format, args);
    va_end(args);
}

void buf_vprintf(struct buf *buf, const char *format, va_list args)
{
    va_list again;
    int len;

    if (!make_room(buf, FIRST_ROOM))
        return;
    /* Most texts fit into the free space; longer ones are formatted twice. */
    va_copy(again, args);
    len = vsnprintf(buf->at + buf->len, buf->room - buf->len, format, args);
    if (len >= 0 && (size_t)len >= buf->room - buf->len && make_room(buf, (size_t)len))
        len = vsnprintf(buf->at + buf->len, buf->room - buf->len, format, again);
    va_end(again);
    if (len < 0)
        buf->bad = true;
    if (!buf->bad)
        buf->len += (size_t)len;
    buf->at[buf->len] = '\0';
}

struct str buf_span(const struct buf *buf)
{
    return (struct str){buf->at, buf->len};
}

const char *buf_cstr(const struct buf *buf)
{
    return buf->at ? buf->at : "";
}

bool buf_grow_array(void *at, uint32_t n, uint32_t *room, size_t size)
{
    void **array = at;
    uint32_t more = *room ? *room * 2 : 16;
    void *grown;

    if (n < *room)
        return true;
    if (more < *room || !(grown = realloc(*array, more * size)))
        return false;
    *array = grown;
    *room = more;
    return true;
}
