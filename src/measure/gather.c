/* Reads elements that are not adjacent; see enum elements_way. */
#include "measure/elements_in.h"

#include <stdlib.h>
#include <string.h>

#include "measure/decode_in.h"

/* With smaller strides (bytes) all bytes are read and elements picked from them: a read
 * per element would touch the same pages at a higher cost. */
#define SPARSE_BYTES 2048

const uint8_t *elements_window(struct elements *e, uint64_t at, size_t n,
                               struct err *err)
{
    size_t want = n > e->read_ahead ? n : e->read_ahead;

    if (e->direct)
        return e->direct + at;
    if (at >= e->window_at && at - e->window_at <= e->window_n &&
        n <= e->window_n - (size_t)(at - e->window_at))
        return e->window + (at - e->window_at);
    if (want > e->readable - at)
        want = (size_t)(e->readable - at);
    e->window_n = 0;
    if (elements_bytes(e, at, e->window, want, err) < 0)
        return NULL;
    e->window_at = at;
    e->window_n = want;
    return e->window;
}

/* Elements in dims first to rank. */
static uint64_t inner_count(const struct elements *e, int first)
{
    uint64_t n = 1;

    for (int i = first; i < e->rank; i++)
        n *= e->dims[i].size;
    return n;
}

/* From the first to the last element of dims first to rank, both included. */
static uint64_t inner_span(const struct elements *e, int first)
{
    uint64_t span = 1;

    for (int i = first; i < e->rank; i++)
        span += (e->dims[i].size - 1) * e->dims[i].stride;
    return span;
}

/* The dimension with the least stride outside those in a group, if all dimensions inside
 * it have at least twice that stride; else -1. */
static int tile_dim(const struct elements *e, int held)
{
    int best = -1;

    for (int i = 0; i < held && i < e->rank - 1; i++)
        if (e->dims[i].stride > 0 &&
            (best < 0 || e->dims[i].stride < e->dims[best].stride))
            best = i;
    if (best < 0)
        return -1;
    for (int i = best + 1; i < e->rank; i++)
        if (e->dims[i].stride < 2 * e->dims[best].stride)
            return -1;
    return best;
}

/* Plan to hold some rows of the result: for each element of the plane inside `dim`, also
 * the bytes that the next rows need. */
static int plan_tile(struct elements *e, int dim, struct err *err)
{
    uint64_t step = e->dims[dim].stride * e->size;
    uint64_t rows, plane = inner_count(e, dim + 1);

    if (step > SPARSE_BYTES || plane > ELEMENTS_TILE / (2 * step))
        return 0;
    rows = ELEMENTS_WINDOW / (plane * step);
    if (rows * step < 64)
        rows = 64 / step;
    if (rows > ELEMENTS_TILE / (plane * step))
        rows = ELEMENTS_TILE / (plane * step);
    if (rows > e->dims[dim].size)
        rows = e->dims[dim].size;
    if (rows < 2)
        return 0;
    e->line = (size_t)((rows - 1) * step + e->size);
    e->tile = malloc((size_t)plane * e->line);
    if (!e->tile)
        return err_set(err, ERR_LIMIT, "no memory to gather a transposed tensor");
    e->way = WAY_TILE;
    e->inner = dim + 1;
    e->inner_n = plane;
    e->tile_rows = rows;
    /* Adjacent lines are read together. */
    if (e->dims[e->rank - 1].stride * e->size > SPARSE_BYTES)
        e->read_ahead = 0;
    return 0;
}

int elements_plan(struct elements *e, struct err *err)
{
    uint64_t room = ELEMENTS_WINDOW / e->size;
    int held = e->rank, dim;

    e->read_ahead = ELEMENTS_WINDOW;
    if (e->bits) {
        e->way = WAY_CODES;
        e->read_ahead = ELEMENTS_WINDOW / 8;
    } else if (e->direct) {
        e->way = WAY_STREAM;
    } else {
        while (held > 0 && inner_span(e, held - 1) <= room)
            held--;
        e->way = held < e->rank ? WAY_GROUPS : WAY_STREAM;
        e->inner = held;
        e->inner_n = inner_count(e, held);
        e->inner_span = inner_span(e, held);
        /* Read ahead only if most of the following bytes are needed. */
        if (e->way == WAY_STREAM &&
            e->dims[e->rank - 1].stride * e->size > SPARSE_BYTES)
            e->read_ahead = 0;
        if (held > 0 && held < e->rank &&
            e->dims[held - 1].stride > e->inner_span + SPARSE_BYTES / e->size)
            e->read_ahead = 0;
        dim = tile_dim(e, held);
        if (dim >= 0 && plan_tile(e, dim, err) < 0)
            return -1;
    }
    if (e->direct)
        return 0;
    e->window = malloc(ELEMENTS_WINDOW);
    return e->window ? 0 : err_set(err, ERR_LIMIT, "no memory to gather a tensor");
}

/* n elements, `step` bytes apart. */
static void copy_strided(uint8_t *to, const uint8_t *from, uint64_t n, uint64_t step,
                         size_t size)
{
    if (step == size) {
        memcpy(to, from, (size_t)n * size);
        return;
    }
    switch (size) {
    case 1:
        for (uint64_t i = 0; i < n; i++)
            to[i] = from[i * step];
        break;
    case 2:
        for (uint64_t i = 0; i < n; i++)
            memcpy(to + i * 2, from + i * step, 2);
        break;
    case 4:
        for (uint64_t i = 0; i < n; i++)
            memcpy(to + i * 4, from + i * step, 4);
        break;
    case 8:
        for (uint64_t i = 0; i < n; i++)
            memcpy(to + i * 8, from + i * step, 8);
        break;
    default:
        for (uint64_t i = 0; i < n; i++)
            memcpy(to + i * size, from + i * step, size);
    }
}

/* The storage offset of element `at` of the dims from `first` on, relative to their
 * first element; sets *ret_run to the number that follow along the innermost dim. */
static uint64_t locate(const struct elements *e, int first, uint64_t at,
                       uint64_t *ret_run)
{
    uint64_t place = 0;

    *ret_run = e->rank > first ? e->dims[e->rank - 1].size : 1;
    if (e->rank > first)
        *ret_run -= at % e->dims[e->rank - 1].size;
    for (int i = e->rank - 1; i >= first; i--) {
        place += at % e->dims[i].size * e->dims[i].stride;
        at /= e->dims[i].size;
    }
    return place;
}

/* Elements at to at + n of one group; `base` is its first element. */
static void copy_group(const struct elements *e, const uint8_t *base, uint64_t at,
                       uint64_t n, uint8_t *to)
{
    uint64_t step = e->dims[e->rank - 1].stride * e->size;

    while (n > 0) {
        uint64_t run, place = locate(e, e->inner, at, &run);

        if (run > n)
            run = n;
        copy_strided(to, base + place * e->size, run, step, e->size);
        to += run * e->size;
        at += run;
        n -= run;
    }
}

/* The storage offset of the first element of a group (or plane). */
static uint64_t group_place(const struct elements *e, uint64_t group)
{
    uint64_t place = e->offset;

    for (int i = e->inner - 1; i >= 0; i--) {
        place += group % e->dims[i].size * e->dims[i].stride;
        group /= e->dims[i].size;
    }
    return place;
}

static int gather_groups(struct elements *e, uint64_t at, uint64_t n, uint8_t *to,
                         struct err *err)
{
    while (n > 0) {
        uint64_t inside = at % e->inner_n, part = e->inner_n - inside;
        const uint8_t *base =
            elements_window(e, group_place(e, at / e->inner_n) * e->size,
                            (size_t)(e->inner_span * e->size), err);

        if (!base)
            return -1;
        if (part > n)
            part = n;
        copy_group(e, base, inside, part, to);
        to += part * e->size;
        at += part;
        n -= part;
    }
    return 0;
}

/* Fetch the lines of the tile that holds element `at`. */
static int fill_tile(struct elements *e, uint64_t at, struct err *err)
{
    const struct elements_dim *dim = &e->dims[e->inner - 1];
    uint64_t group = at / e->inner_n, row = group % dim->size;
    uint64_t back = row % e->tile_rows, rows = dim->size - (row - back);
    uint64_t base = group_place(e, group - back);
    size_t line;

    if (rows > e->tile_rows)
        rows = e->tile_rows;
    line = (size_t)((rows - 1) * dim->stride + 1) * e->size;
    e->tile_n = 0;
    for (uint64_t i = 0; i < e->inner_n; i++) {
        uint64_t run, place = base + locate(e, e->inner, i, &run);
        const uint8_t *from = elements_window(e, place * e->size, line, err);

        if (!from)
            return -1;
        memcpy(e->tile + i * e->line, from, line);
    }
    e->tile_at = (group - back) * e->inner_n;
    e->tile_n = rows * e->inner_n;
    return 0;
}

static int gather_tile(struct elements *e, uint64_t at, uint64_t n, uint8_t *to,
                       struct err *err)
{
    uint64_t step = e->dims[e->inner - 1].stride * e->size;

    while (n > 0) {
        uint64_t row, inside, part;

        if (at < e->tile_at || at - e->tile_at >= e->tile_n)
            if (fill_tile(e, at, err) < 0)
                return -1;
        row = (at - e->tile_at) / e->inner_n;
        inside = (at - e->tile_at) % e->inner_n;
        part = e->inner_n - inside;
        if (part > n)
            part = n;
        copy_strided(to, e->tile + inside * e->line + row * step, part, e->line,
                     e->size);
        to += part * e->size;
        at += part;
        n -= part;
    }
    return 0;
}

static int gather_stream(struct elements *e, uint64_t at, uint64_t n, uint8_t *to,
                         struct err *err)
{
    uint64_t step = e->dims[e->rank - 1].stride * e->size;
    uint64_t most = step > SPARSE_BYTES ? 1 : ELEMENTS_WINDOW / (step + e->size);

    while (n > 0) {
        uint64_t run, place = e->offset + locate(e, 0, at, &run);
        const uint8_t *from;

        if (run > n)
            run = n;
        if (!e->direct && run > most)
            run = most;
        from = elements_window(e, place * e->size, (size_t)((run - 1) * step) + e->size,
                               err);
        if (!from)
            return -1;
        copy_strided(to, from, run, step, e->size);
        to += run * e->size;
        at += run;
        n -= run;
    }
    return 0;
}

int elements_code(struct elements *e, uint64_t place, uint8_t *ret_code,
                  struct err *err)
{
    uint64_t bit = place * e->bits;
    size_t bytes = (bit % 8 + e->bits + 7) / 8;
    const uint8_t *from = elements_window(e, bit / 8, bytes, err);

    if (!from)
        return -1;
    *ret_code = (uint8_t)((from[0] | (bytes > 1 ? from[1] << 8 : 0)) >> bit % 8 &
                          ((1 << e->bits) - 1));
    return 0;
}

static int gather_codes(struct elements *e, uint64_t at, uint64_t n, uint8_t *to,
                        struct err *err)
{
    uint8_t codes[1024]; /* a whole number of packed blocks */

    for (size_t part; n > 0; n -= part, at += part, to += part * e->bits / 8) {
        part = n < sizeof codes ? (size_t)n : sizeof codes;
        for (size_t i = 0; i < part; i++) {
            uint64_t run, place = e->offset + locate(e, 0, at + i, &run);

            if (elements_code(e, place, &codes[i], err) < 0)
                return -1;
        }
        decode_pack(e->bits, codes, part, to);
    }
    return 0;
}

int elements_gather(struct elements *e, uint64_t n, uint8_t *to, struct err *err)
{
    switch (e->way) {
    case WAY_GROUPS:
        return gather_groups(e, e->at, n, to, err);
    case WAY_TILE:
        return gather_tile(e, e->at, n, to, err);
    case WAY_CODES:
        return gather_codes(e, e->at, n, to, err);
    default:
        return gather_stream(e, e->at, n, to, err);
    }
}
