/* sample_in.h - the elements in a sample of a tensor: one of each stride, at a position
 * inside the stride that changes from one to the next.
 *
 * Of n elements in C order, sample i of m takes one of the elements from floor(i * n /
 * m) up to floor((i + 1) * n / m), at the fraction u of that range, u = frac(i * i * c)
 * with c = 0x9e3779b1 / 2^32. The positions depend on n and m only: a parameter, its
 * gradient and its update are sampled at the same elements, on every step, rank and
 * device. Without u, a stride of a multiple of 9 would sample one tap of all 3x3
 * kernels. The square keeps u from moving in step with rows and channels, which frac(i
 * * c) does; it looks random to chi-square tests over both, and costs two additions. */
#ifndef MEASURE_SAMPLE_IN_H
#define MEASURE_SAMPLE_IN_H

#include <stdint.h>

#define SAMPLE_MIX 0x9e3779b1u

struct sample_places {
    uint64_t m, at, stride, rest, sum; /* at = floor(i * n / m), sum = i * rest % m */
    uint32_t share, more;              /* u and the next difference, times 2^32 */
};

/* Begin with sample 0 of m; 0 < m <= n. */
static inline struct sample_places sample_places_begin(uint64_t n, uint64_t m)
{
    return (struct sample_places){
        .m = m, .stride = n / m, .rest = n % m, .more = SAMPLE_MIX};
}

/* The position of the next one. Also beyond strides of 2^32 it is inside its stride. */
static inline uint64_t sample_places_next(struct sample_places *s)
{
    uint64_t stride = s->stride, place;

    s->sum += s->rest;
    if (s->sum >= s->m) {
        s->sum -= s->m;
        stride++;
    }
    place = s->at + (s->share * stride >> 32);
    s->at += stride;
    s->share += s->more;
    s->more += 2 * SAMPLE_MIX;
    return place;
}

#endif
