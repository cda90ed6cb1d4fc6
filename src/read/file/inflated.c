#include "read/file/inflated_in.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/base.h"

#define WINDOW      (64 * KIB)
#define DICTIONARY  (32 * KIB)
#define POINTS_MOST 128
#define SPACING                                                                        \
    MIB /* initial distance of the points; doubled when there are too many */

enum { GZIP_HEADER_CRC = 2, GZIP_EXTRA = 4, GZIP_NAME = 8, GZIP_COMMENT = 16 };

/* A checkpoint, where unpacking can restart. */
struct point {
    uint64_t in, out; /* offsets of the packed and unpacked bytes */
    uint8_t bits;     /* bits of the packed byte before `in` that are not used yet */
    uint32_t n;       /* bytes of the dictionary */
    uint8_t *dictionary;
};

struct inflated {
    struct blob blob;
    struct packed_part part;
    struct point points[POINTS_MOST];
    uint32_t n_points;
    uint64_t spacing;

    pthread_mutex_t lock; /* protects all members below */
    z_stream stream;
    bool live;        /* the stream is open */
    bool ended;       /* all members were unpacked */
    uint64_t in, out; /* offsets of the next bytes; `in` is after the window */
    uint32_t sum;     /* while opening: the checksum so far of this member */
    uint64_t member;  /* ... and where its output begins */
    uint8_t window[WINDOW];
};

uint64_t inflated_most(uint64_t packed)
{
    return packed > 2 * MIB ? packed * 128 : 256 * MIB;
}

enum packing packing_of(struct str head)
{
    const uint8_t *at = (const uint8_t *)head.at;

    if (head.len < 3)
        return PACKING_NONE;
    if (at[0] == 0x1f && at[1] == 0x8b && at[2] == 8)
        return PACKING_GZIP;
    if ((at[0] & 0x8f) == 8 && (at[0] >> 4) <= 7 && (at[0] * 256 + at[1]) % 31 == 0 &&
        !(at[1] & 0x20))
        return PACKING_ZLIB;
    return PACKING_NONE;
}

/* ---- packed bytes ---- */

/* Read more packed bytes, if none are left in the window. */
static int refill(struct inflated *self, struct err *err)
{
    uint64_t left = self->part.size - self->in;
    size_t n = left < WINDOW ? (size_t)left : WINDOW;

    if (self->stream.avail_in > 0 || n == 0)
        return 0;
    if (blob_read(self->part.blob, self->part.at + self->in, self->window, n, err) < 0)
        return -1;
    self->in += n;
    self->stream.next_in = self->window;
    self->stream.avail_in = (uInt)n;
    return 0;
}

/* The offset of the next packed byte. */
static uint64_t packed_at(const struct inflated *self)
{
    return self->in - self->stream.avail_in;
}

/* The next packed byte; -1: there is none. */
static int take_byte(struct inflated *self)
{
    if (refill(self, NULL) < 0 || self->stream.avail_in == 0)
        return -1;
    self->stream.avail_in--;
    return *self->stream.next_in++;
}

static uint64_t take_number(struct inflated *self, int n, bool *bad)
{
    uint64_t value = 0;

    for (int i = 0; i < n; i++) {
        int byte = take_byte(self);

        *bad |= byte < 0;
        value |= (uint64_t)(byte < 0 ? 0 : byte) << 8 * i;
    }
    return value;
}

/* Skip a text that ends in a zero byte. */
static void skip_text(struct inflated *self, bool *bad)
{
    int byte;

    while ((byte = take_byte(self)) > 0)
        ;
    *bad |= byte < 0;
}

/* Skip the header of a member. False: there is none. */
static bool skip_header(struct inflated *self)
{
    bool bad = false;
    uint64_t flags;

    if (self->part.packing == PACKING_DEFLATE)
        return true;
    if (self->part.packing == PACKING_ZLIB) {
        take_number(self, 2, &bad);
        return !bad;
    }
    if (take_number(self, 2, &bad) != 0x8b1f || take_number(self, 1, &bad) != 8)
        return false;
    flags = take_number(self, 1, &bad);
    take_number(self, 6, &bad);
    for (uint64_t n = flags & GZIP_EXTRA ? take_number(self, 2, &bad) : 0; n > 0; n--)
        take_number(self, 1, &bad);
    if (flags & GZIP_NAME)
        skip_text(self, &bad);
    if (flags & GZIP_COMMENT)
        skip_text(self, &bad);
    if (flags & GZIP_HEADER_CRC)
        take_number(self, 2, &bad);
    return !bad;
}

/* ---- starting and restarting ---- */

static int out_of_memory(const struct inflated *self, struct err *err)
{
    return err_set_about(err, ERR_LIMIT, self->blob.name, ": out of memory");
}

static int begin_stream(struct inflated *self, struct err *err)
{
    memset(&self->stream, 0, sizeof self->stream);
    if (inflateInit2(&self->stream, -MAX_WBITS) != Z_OK)
        return out_of_memory(self, err);
    self->live = true;
    self->ended = false;
    return 0;
}

static void end_stream(struct inflated *self)
{
    if (self->live)
        inflateEnd(&self->stream);
    self->live = false;
}

/* Restart at a point. */
static int begin_at(struct inflated *self, const struct point *point, struct err *err)
{
    int byte;

    end_stream(self);
    if (begin_stream(self, err) < 0)
        return -1;
    self->in = point->in - (point->bits ? 1 : 0);
    self->out = point->out;
    if (point->bits) {
        byte = take_byte(self);
        if (byte < 0)
            return err_set_about(err, ERR_CHANGED, self->blob.name,
                                 " changed while it was open. Open it again");
        inflatePrime(&self->stream, point->bits, byte >> (8 - point->bits));
    }
    if (point->n > 0)
        inflateSetDictionary(&self->stream, point->dictionary, point->n);
    return 0;
}

/* Skip the checksum of a member and begin the next. While opening, *ret_bad: it is wrong.
 */
static void end_member(struct inflated *self, bool *ret_bad)
{
    bool bad = false;
    uint64_t sum, size;

    if (self->part.packing == PACKING_GZIP) {
        sum = take_number(self, 4, &bad);
        size = take_number(self, 4, &bad);
        *ret_bad |= bad || sum != self->sum ||
                    size != ((self->out - self->member) & UINT32_MAX);
    } else if (self->part.packing == PACKING_ZLIB) {
        sum = take_number(self, 4, &bad); /* big-endian */
        *ret_bad |= bad || __builtin_bswap32((uint32_t)sum) != self->sum;
    }
    self->ended = true;
    if (bad || self->part.packing != PACKING_GZIP || refill(self, NULL) < 0)
        return;
    /* Another member needs a magic; it may be split between two windows. */
    if (self->stream.avail_in > 0 && self->stream.next_in[0] == 0x1f) {
        uint64_t at = packed_at(self);

        if (skip_header(self)) {
            self->ended = inflateReset(&self->stream) != Z_OK;
            self->member = self->out;
            self->sum = 0;
        } else {
            self->in = at; /* trailing bytes */
            self->stream.avail_in = 0;
        }
    }
}

/* One call of inflate(), for up to n bytes. 1: a member has ended. */
static int step(struct inflated *self, void *to, size_t n, int flush, size_t *ret_got,
                struct err *err)
{
    z_stream *stream = &self->stream;
    int status;

    *ret_got = 0;
    if (refill(self, err) < 0)
        return -1;
    stream->next_out = to;
    stream->avail_out = (uInt)n;
    status = inflate(stream, flush);
    *ret_got = n - stream->avail_out;
    self->out += *ret_got;
    if (status == Z_STREAM_END)
        return 1;
    if (status == Z_BUF_ERROR && packed_at(self) == self->part.size)
        return err_set(err, ERR_FORMAT, "the compressed data is truncated");
    if (status != Z_OK && status != Z_BUF_ERROR)
        return err_set(
            err, ERR_FORMAT, "the compressed data is damaged at byte %" PRIu64 " (%s)",
            packed_at(self), stream->msg ? stream->msg : "not a deflate stream");
    return 0;
}

/* ---- reading ---- */

/* Move to the unpacked byte `at` or some byte before it. */
static int move_near(struct inflated *self, uint64_t at, struct err *err)
{
    const struct point *best = &self->points[0];

    for (uint32_t i = 1; i < self->n_points && self->points[i].out <= at; i++)
        best = &self->points[i];
    if (self->live && self->out <= at && self->out >= best->out)
        return 0;
    return begin_at(self, best, err);
}

/* Unpack n bytes, or skip them (`to` is NULL). */
static int go_on(struct inflated *self, uint8_t *to, uint64_t n, struct err *err)
{
    uint8_t dropped[16 * 1024];
    struct err why = {0};
    bool bad = false;
    size_t got;

    while (n > 0 && !self->ended) {
        size_t most = to || n < sizeof dropped ? n : sizeof dropped;
        int status = step(self, to ? to : dropped, most < GIB ? most : GIB, Z_NO_FLUSH,
                          &got, &why);

        n -= got;
        to = to ? to + got : NULL;
        if (status < 0)
            return err_set_about(err, ERR_CHANGED, self->blob.name, ": %s", why.text);
        if (status == 1)
            end_member(self, &bad);
    }
    if (n > 0)
        return err_set_about(err, ERR_CHANGED, self->blob.name,
                             " changed while it was open. Open it again");
    return 0;
}

static int inflated_read(struct blob *blob, uint64_t at, void *to, size_t n,
                         struct err *err)
{
    struct inflated *self = (struct inflated *)blob;
    int status;

    if (n == 0)
        return 0;
    pthread_mutex_lock(&self->lock);
    status = move_near(self, at, err);
    if (status == 0)
        status = go_on(self, NULL, at - self->out, err);
    if (status == 0)
        status = go_on(self, to, n, err);
    if (status < 0)
        end_stream(self);
    pthread_mutex_unlock(&self->lock);
    return status;
}

static int inflated_changed(struct blob *blob)
{
    return blob_changed(((struct inflated *)blob)->part.blob);
}

static void inflated_close(struct blob *blob)
{
    struct inflated *self = (struct inflated *)blob;

    end_stream(self);
    for (uint32_t i = 0; i < self->n_points; i++)
        free(self->points[i].dictionary);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static const struct blob_ops inflated_ops = {inflated_read, inflated_changed,
                                             inflated_close};

/* ---- opening ---- */

/* Drop every second point. */
static void thin_out(struct inflated *self)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < self->n_points; i++) {
        if (i % 2 == 0)
            self->points[kept++] = self->points[i];
        else
            free(self->points[i].dictionary);
    }
    self->n_points = kept;
    self->spacing *= 2;
}

static int add_point(struct inflated *self, struct err *err)
{
    struct point point = {.in = packed_at(self),
                          .out = self->out,
                          .bits = (uint8_t)(self->stream.data_type & 7)};
    uInt n = 0;

    if (self->out > 0) {
        point.dictionary = malloc(DICTIONARY);
        if (!point.dictionary ||
            inflateGetDictionary(&self->stream, point.dictionary, &n) != Z_OK) {
            free(point.dictionary);
            return out_of_memory(self, err);
        }
        point.n = n;
    }
    if (self->n_points == POINTS_MOST)
        thin_out(self);
    self->points[self->n_points++] = point;
    return 0;
}

/* Is this a good place for a point: between two blocks, and far from the last one? */
static bool is_place_for_point(const struct inflated *self)
{
    return (self->stream.data_type & 0xc0) == 0x80 && !self->ended &&
           self->out >= self->points[self->n_points - 1].out + self->spacing;
}

static uint32_t sum_more(const struct inflated *self, const uint8_t *at, size_t n)
{
    if (self->part.packing == PACKING_ZLIB)
        return (uint32_t)adler32_z(self->sum, at, n);
    return (uint32_t)crc32_z(self->sum, at, n);
}

/* Unpack everything once. Damage is described in `about`. */
static int scan(struct inflated *self, uint64_t most, struct work *work,
                struct inflated_about *about, struct err *err)
{
    uint8_t *to = malloc(WINDOW);
    struct err why = {0};
    int status = to ? 0 : out_of_memory(self, err);

    while (status == 0 && !self->ended && !about->cut && why.code == ERR_NONE) {
        size_t got;
        int stepped = step(self, to, WINDOW, Z_BLOCK, &got, &why);

        self->sum = sum_more(self, to, got);
        if (stepped == 1)
            end_member(self, &about->bad_sum);
        else if (stepped == 0 && is_place_for_point(self))
            status = add_point(self, err);
        about->cut = self->out > most;
        if (status == 0 && !work_step(work, 0))
            status = err_set(err, ERR_CANCELLED, "stopped");
    }
    free(to);
    if (status < 0 || why.code == ERR_IO || why.code == ERR_CHANGED)
        return status < 0 ? -1 : err_copy(err, &why);
    about->why = why;
    about->size = about->cut ? most : self->out;
    about->used = packed_at(self);
    about->crc = self->sum;
    return 0;
}

struct blob *inflated_open(struct packed_part part, uint64_t most, const char *name,
                           struct work *work, struct inflated_about *ret_about,
                           struct err *err)
{
    size_t name_size = strlen(name) + 1;
    struct inflated *self = calloc(1, sizeof *self + name_size);
    struct inflated_about about = {0};

    if (!self) {
        err_set_about(err, ERR_LIMIT, name, ": out of memory");
        return NULL;
    }
    self->blob.ops = &inflated_ops;
    self->blob.name = memcpy((char *)(self + 1), name, name_size);
    self->part = part;
    self->spacing = SPACING;
    self->sum = part.packing == PACKING_ZLIB ? 1 : 0;
    pthread_mutex_init(&self->lock, NULL);
    if (begin_stream(self, err) < 0)
        goto fail;
    if (!skip_header(self)) {
        err_set_about(err, ERR_FORMAT, name, ": its compressed data has no header");
        goto fail;
    }
    if (add_point(self, err) < 0 || scan(self, most, work, &about, err) < 0)
        goto fail;
    end_stream(self);
    self->blob.size = about.size;
    *ret_about = about;
    return &self->blob;

fail:
    inflated_close(&self->blob);
    return NULL;
}

/* ---- detection ---- */

size_t inflated_front(struct str head, void *to, size_t room)
{
    struct err why = {0};
    struct blob *blob = blob_open_memory(head.at, head.len, "", NULL);
    struct inflated *self = blob ? calloc(1, sizeof *self) : NULL;
    size_t done = 0, got;

    if (!self)
        goto out;
    self->blob.name = "";
    self->part = (struct packed_part){blob, 0, head.len, packing_of(head)};
    if (self->part.packing == PACKING_NONE || begin_stream(self, NULL) < 0)
        goto out;
    if (skip_header(self))
        while (done < room &&
               step(self, (char *)to + done, room - done, Z_NO_FLUSH, &got, &why) == 0)
            done += got;
    done = (size_t)self->out;

out:
    if (self)
        end_stream(self);
    free(self);
    blob_close(blob);
    return done;
}
