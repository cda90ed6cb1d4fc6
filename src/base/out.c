#include "base/out.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/out_in.h"

void out_init_fd(struct out *out, int fd)
{
    *out = (struct out){.fd = fd};
}

void out_init_buf(struct out *out, struct buf *into)
{
    *out = (struct out){.fd = -1, .into = into};
}

static void give_up(struct out *out, int error)
{
    if (!out->bad)
        out->error = error;
    out->bad = true;
}

/* Retry after this errno? If another program made the terminal or pipe non-blocking,
 * wait until it is writable. */
static bool may_retry(int fd, int error)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};

    if (error == EINTR)
        return true;
    if (error != EAGAIN && error != EWOULDBLOCK)
        return false;
    return poll(&wait, 1, -1) >= 0 || errno == EINTR;
}

static void write_all(struct out *out, const char *at, size_t len)
{
    while (len > 0 && !out->bad) {
        ssize_t n = write(out->fd, at, len);

        if (n >= 0) {
            at += n;
            len -= (size_t)n;
        } else if (!may_retry(out->fd, errno)) {
            give_up(out, errno);
        }
    }
}

static void write_hold(struct out *out)
{
    write_all(out, out->hold.at, out->hold.len);
    buf_clear(&out->hold);
}

/* Copy the buf's out-of-memory state. */
static void look_at(struct out *out, const struct buf *buf)
{
    if (buf->bad)
        give_up(out, ENOMEM);
}

int out_flush(struct out *out)
{
    if (!out->into)
        write_hold(out);
    return out->bad ? -1 : 0;
}

int out_release(struct out *out)
{
    int result = out_flush(out);

    buf_release(&out->hold);
    return result;
}

/* The buf for the next `len` bytes; NULL: write them to the file directly. */
static struct buf *buf_for(struct out *out, size_t len)
{
    if (out->into)
        return out->into;
    if (len >= OUT_HOLD - out->hold.len)
        write_hold(out);
    return len >= OUT_HOLD ? NULL : &out->hold;
}

void out_add(struct out *out, const void *at, size_t len)
{
    struct buf *buf;

    if (out->bad || len == 0)
        return;
    buf = buf_for(out, len);
    if (!buf) {
        write_all(out, at, len);
        return;
    }
    buf_add(buf, at, len);
    look_at(out, buf);
}

char *out_make_space(struct out *out, size_t n)
{
    struct buf *buf = out->bad ? NULL : buf_for(out, n);
    size_t len;

    if (!buf)
        return NULL;
    if (n < buf->room - buf->len)
        return buf->at + buf->len;
    /* The out's own buffer is allocated at full size; a caller's buf grows as
     * needed. */
    len = buf->len;
    buf_fill(buf, '\0', out->into ? n : OUT_HOLD - 1 - len);
    look_at(out, buf);
    if (out->bad)
        return NULL;
    buf->len = len;
    return buf->at + len;
}

void out_str(struct out *out, struct str s)
{
    out_add(out, s.at, s.len);
}

void out_text(struct out *out, const char *text)
{
    out_str(out, str_of(text));
}

void out_char(struct out *out, char c)
{
    out_add(out, &c, 1);
}

void out_printf(struct out *out, const char *format, ...)
{
    struct buf *buf = out_buf(out);
    va_list args;

    if (out->bad)
        return;
    va_start(args, format);
    buf_vprintf(buf, format, args);
    va_end(args);
    look_at(out, buf);
    if (!out->into && buf->len >= OUT_HOLD)
        write_hold(out);
}
