/* Evenly spaced elements of a tensor, whatever its strides. */
#include <stdlib.h>
#include <string.h>

#include "measure/decode_in.h"
#include "measure/elements_in.h"

int elements_sample_begin(struct elements_sample *sample, struct elements *e,
                          uint64_t m, struct err *err)
{
    uint64_t step = e->end / m;

    sample->e = e;
    sample->m = m;
    sample->rest = e->end % m;
    sample->sum = 0;
    for (int d = e->rank - 1; d >= 0; d--) {
        sample->digits[d] = 0;
        sample->step[d] = step % e->dims[d].size;
        step /= e->dims[d].size;
    }
    e->read_ahead = 0;
    if (e->direct || e->window)
        return 0;
    e->window = malloc(ELEMENTS_WINDOW);
    return e->window ? 0 : err_set(err, ERR_LIMIT, "no memory to gather a tensor");
}

/* The place of the next element in the storage; moves on. */
static uint64_t next_place(struct elements_sample *s)
{
    const struct elements *e = s->e;
    uint64_t place = e->offset, carry;

    s->sum += s->rest;
    carry = s->sum >= s->m;
    s->sum -= carry ? s->m : 0;
    for (int d = e->rank - 1; d >= 0; d--) {
        uint64_t next = s->digits[d] + s->step[d] + carry, size = e->dims[d].size;

        place += s->digits[d] * e->dims[d].stride;
        carry = next >= size;
        s->digits[d] = next - (carry ? size : 0);
    }
    return place;
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
