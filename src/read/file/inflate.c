#include "read/file/inflate_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/base.h"

#define WINDOW (64 * KIB)

struct inflate {
    struct blob *blob; /* borrowed */
    uint64_t at, left; /* the packed bytes that are not read yet */
    uint64_t size, done;
    z_stream stream;
    bool ended; /* the stream has reached its end marker */
    uint8_t window[WINDOW];
};

struct inflate *inflate_open(struct blob *blob, uint64_t at, uint64_t packed,
                             uint64_t size, struct err *err)
{
    struct inflate *in = calloc(1, sizeof *in);

    if (!in || inflateInit2(&in->stream, -MAX_WBITS) != Z_OK) {
        free(in);
        err_set_about(err, ERR_LIMIT, blob->name, ": out of memory");
        return NULL;
    }
    in->blob = blob;
    in->at = at;
    in->left = packed;
    in->size = size;
    return in;
}

void inflate_close(struct inflate *in)
{
    if (!in)
        return;
    inflateEnd(&in->stream);
    free(in);
}

uint64_t inflate_done(const struct inflate *in)
{
    return in->done;
}

/* Read the next packed bytes into the window, if it is empty. */
static int refill(struct inflate *in, struct err *err)
{
    size_t n = in->left < WINDOW ? (size_t)in->left : WINDOW;

    if (in->stream.avail_in > 0 || n == 0)
        return 0;
    if (blob_read(in->blob, in->at, in->window, n, err) < 0)
        return -1;
    in->at += n;
    in->left -= n;
    in->stream.next_in = in->window;
    in->stream.avail_in = (uInt)n;
    return 0;
}

/* Unpack up to n bytes and add their number to `done`; fewer only at the end of the
 * stream or where it is truncated. */
static int unpack(struct inflate *in, uint8_t *to, size_t n, struct err *err)
{
    z_stream *stream = &in->stream;

    while (n > 0 && !in->ended) {
        uInt piece = n < 64 * MIB ? (uInt)n : (uInt)(64 * MIB);
        int status;

        if (refill(in, err) < 0)
            return -1;
        stream->next_out = to;
        stream->avail_out = piece;
        status = inflate(stream, Z_NO_FLUSH);
        piece -= stream->avail_out;
        in->done += piece;
        to += piece;
        n -= piece;
        if (status == Z_STREAM_END)
            in->ended = true;
        else if (status == Z_BUF_ERROR && in->left == 0 && stream->avail_in == 0)
            return 0;
        else if (status != Z_OK && status != Z_BUF_ERROR)
            return err_set_about(
                err, ERR_FORMAT, in->blob->name,
                ": damaged compressed data before byte %" PRIu64 " (%s)", in->at,
                stream->msg ? stream->msg : "not a deflate stream");
    }
    return 0;
}

int inflate_read(struct inflate *in, void *to, size_t n, struct err *err)
{
    uint64_t before = in->done;

    if (n > in->size - (before < in->size ? before : in->size))
        return err_set_about(err, ERR_FORMAT, in->blob->name,
                             ": read beyond the declared unpacked size");
    if (unpack(in, to, n, err) < 0)
        return -1;
    if (in->done - before < n)
        return err_set_about(err, ERR_FORMAT, in->blob->name,
                             ": the compressed data ends after %" PRIu64 " of %" PRIu64
                             " bytes",
                             in->done, in->size);
    return 0;
}

bool inflate_has_more(struct inflate *in)
{
    uint64_t before = in->done;
    uint8_t byte;
    bool more = unpack(in, &byte, 1, NULL) == 0 && in->done > before;

    in->done = before;
    return more;
}

const char *inflate_library(void)
{
    return zlibVersion();
}

bool inflate_zlib(const void *packed, size_t n, void *to, size_t size)
{
    uLongf got = size;
    uLong used = n;

    return uncompress2(to, &got, packed, &used) == Z_OK && got == size;
}
