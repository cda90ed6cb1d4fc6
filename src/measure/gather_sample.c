/* A sample of the elements of a tensor, whatever its strides. */
#include <stdlib.h>
#include <string.h>

#include "measure/decode_in.h"
#include "measure/elements_in.h"

int elements_sample_begin(struct elements_sample *sample, struct elements *e,
                          uint64_t m, struct err *err)
{
    sample->e = e;
    sample->places = sample_places_begin(e->end, m);
    e->read_ahead = 0;
    if (e->direct || e->window)
        return 0;
    e->window = malloc(ELEMENTS_WINDOW);
    return e->window ? 0 : err_set(err, ERR_LIMIT, "no memory to gather a tensor");
}

/* The offset of the next element in the storage; advances. 32-bit divisions are several
 * times as fast as 64-bit ones on many processors. */
static uint64_t next_place(struct elements_sample *s)
{
    const struct elements *e = s->e;
    uint64_t place = e->offset, at = sample_places_next(&s->places);
    int d = e->rank - 1;

    for (; d > 0 && at > UINT32_MAX; d--) {
        place += at % e->dims[d].size * e->dims[d].stride;
        at /= e->dims[d].size;
    }
    for (; d > 0 && at >= e->dims[d].size; d--) {
        uint32_t rest = (uint32_t)at, size = (uint32_t)e->dims[d].size;

        place += rest % size * e->dims[d].stride;
        at = rest / size;
    }
    return d < 0 ? place : place + at * e->dims[d].stride;
}

static int next_codes(struct elements_sample *s, size_t n, uint8_t *to, struct err *err)
{
    uint8_t codes[1024]; /* a whole number of packed blocks */

    for (size_t done = 0; done < n; done += sizeof codes) {
        size_t part = n - done < sizeof codes ? n - done : sizeof codes;

        for (size_t i = 0; i < part; i++)
            if (elements_code(s->e, next_place(s), &codes[i], err) < 0)
                return -1;
        decode_pack(s->e->bits, codes, part, to + done * s->e->bits / 8);
    }
    return 0;
}

int elements_sample_next(struct elements_sample *s, size_t n, uint8_t *to,
                         struct err *err)
{
    size_t size = s->e->size;

    if (s->e->bits)
        return next_codes(s, n, to, err);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *from = elements_window(s->e, next_place(s) * size, size, err);

        if (!from)
            return -1;
        memcpy(to + i * size, from, size);
    }
    elements_finish(s->e, to, n * size);
    return 0;
}
