/* Sums over one chunk. compare_reals() is fast: it assumes that all values are finite;
 * if its sums show otherwise, the chunk is done again value by value. */
#include <math.h>
#include <string.h>

#include "measure/compare_in.h"
#include "measure/decode_in.h"
#include "measure/kernels_in.h"

/* Vectors of four doubles; the compiler maps them to the instruction set. */
#define LANES 4
#define SUMS  2 /* independent sums, so that additions overlap */
typedef double lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t masks __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

struct sums {
    lanes squares, left_squares, right_squares, left, right, max;
    masks different, beyond; /* negative counts */
};

/* Compiled for several instruction sets. */
#define INLINE static inline __attribute__((always_inline))

INLINE void add_lanes(struct sums *sums, const double *left_at, const double *right_at,
                      struct tolerance tolerance, double *distance)
{
    lanes left = *(const lanes *)left_at, right = *(const lanes *)right_at;
    lanes d = left - right, a = (lanes)((masks)d & INT64_MAX);
    lanes size = (lanes)((masks)left & INT64_MAX);
    masks more = a > sums->max;

    sums->squares += d * d;
    sums->left_squares += left * left;
    sums->right_squares += right * right;
    sums->left += left;
    sums->right += right;
    sums->max = (lanes)(((masks)a & more) | ((masks)sums->max & ~more));
    sums->different += a != 0;
    sums->beyond += a > tolerance.absolute + tolerance.relative * size;
    *(lanes *)distance = a;
}

/* All but the last few pairs of a chunk; returns how many were added. */
INLINE size_t add_finite(struct compare_chunk *chunk, struct tolerance tolerance,
                         struct sums ret_sums[SUMS])
{
    struct sums sums[SUMS] = {0};
    size_t i = 0;

    for (; i + SUMS * LANES <= chunk->n; i += SUMS * LANES)
        for (size_t k = 0; k < SUMS; k++) {
            size_t at = i + k * LANES;

            add_lanes(&sums[k], chunk->left + at, chunk->right + at, tolerance,
                      chunk->distance + at);
        }
    memcpy(ret_sums, sums, sizeof sums);
    return i;
}

static size_t add_plain(struct compare_chunk *chunk, struct tolerance tolerance,
                        struct sums ret_sums[SUMS])
{
    return add_finite(chunk, tolerance, ret_sums);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static size_t add_avx2(struct compare_chunk *chunk,
                                                       struct tolerance tolerance,
                                                       struct sums ret_sums[SUMS])
{
    return add_finite(chunk, tolerance, ret_sums);
}

static bool has_avx2(void)
{
    return kernels_best() == &kernels_avx2 || kernels_best() == &kernels_avx512;
}
#else
#define add_avx2 add_plain

static bool has_avx2(void)
{
    return false;
}
#endif

static void join_sums(const struct sums *sums, struct compared *part)
{
    for (int i = 0; i < LANES; i++) {
        part->squares += sums->squares[i];
        part->left_squares += sums->left_squares[i];
        part->right_squares += sums->right_squares[i];
        part->left_sum += sums->left[i];
        part->right_sum += sums->right[i];
        part->different += (uint64_t)-sums->different[i];
        part->beyond += (uint64_t)-sums->beyond[i];
        part->max_abs = fmax(part->max_abs, sums->max[i]);
    }
}

/* One pair of any reals. `rest` is added to their difference. */
static double add_pair(struct compared *part, double left, double right, double rest,
                       struct tolerance tolerance)
{
    double distance = fabs(left - right + rest);

    if (isfinite(left) && isfinite(right)) {
        part->squares += distance * distance;
        part->left_squares += left * left;
        part->right_squares += right * right;
        part->left_sum += left;
        part->right_sum += right;
        part->finite++;
        part->max_abs = fmax(part->max_abs, distance);
        part->different += distance != 0;
        part->beyond += distance > tolerance.absolute + tolerance.relative * fabs(left);
        return distance;
    }
    if (left != right && !(isnan(left) && isnan(right))) {
        part->different++;
        part->beyond++;
        part->one_sided++;
    }
    return -1;
}

static void add_carefully(struct compare_chunk *chunk, size_t first,
                          struct tolerance tolerance, struct compared *part)
{
    for (size_t i = first; i < chunk->n; i++)
        chunk->distance[i] =
            add_pair(part, chunk->left[i], chunk->right[i], 0, tolerance);
}

void compare_reals(struct compare_chunk *chunk, struct tolerance tolerance,
                   struct compared *ret_part)
{
    struct compared part = {0};
    struct sums sums[SUMS];
    size_t done = has_avx2() ? add_avx2(chunk, tolerance, sums)
                             : add_plain(chunk, tolerance, sums);

    for (int k = 0; k < SUMS; k++)
        join_sums(&sums[k], &part);
    part.finite = done;
    if (!isfinite(part.squares) || !isfinite(part.left_squares)) {
        part = (struct compared){0};
        done = 0;
    }
    add_carefully(chunk, done, tolerance, &part);
    *ret_part = part;
}

void compare_wide(struct compare_chunk *chunk, struct tolerance tolerance,
                  struct compared *ret_part)
{
    struct compared part = {0};

    for (size_t i = 0; i < chunk->n; i++)
        chunk->distance[i] =
            add_pair(&part, chunk->left[i], chunk->right[i],
                     chunk->left_rest[i] - chunk->right_rest[i], tolerance);
    *ret_part = part;
}

/* Like torch, a complex number is NaN if one of its parts is. */
static double add_complex(struct compared *part, const double *left,
                          const double *right, struct tolerance tolerance)
{
    bool left_nan = isnan(left[0]) || isnan(left[1]);
    bool right_nan = isnan(right[0]) || isnan(right[1]);
    double distance;

    if (isfinite(left[0]) && isfinite(left[1]) && isfinite(right[0]) &&
        isfinite(right[1])) {
        distance = decode_absolute(left[0] - right[0], left[1] - right[1]);
        part->squares += distance * distance;
        part->left_squares += left[0] * left[0] + left[1] * left[1];
        part->right_squares += right[0] * right[0] + right[1] * right[1];
        part->finite++;
        part->max_abs = fmax(part->max_abs, distance);
        part->different += distance != 0;
        part->beyond += distance > tolerance.absolute +
                                       decode_absolute(tolerance.relative * left[0],
                                                       tolerance.relative * left[1]);
        return distance;
    }
    if (!(left_nan && right_nan) && (left[0] != right[0] || left[1] != right[1])) {
        part->different++;
        part->beyond++;
        part->one_sided++;
    }
    return -1;
}

void compare_complex(struct compare_chunk *chunk, struct tolerance tolerance,
                     struct compared *ret_part)
{
    struct compared part = {0};

    for (size_t i = 0; i < chunk->n; i++)
        chunk->distance[i] =
            add_complex(&part, chunk->left + 2 * i, chunk->right + 2 * i, tolerance);
    *ret_part = part;
}

void compare_decode(enum dtype dtype, const void *at, size_t first, size_t n,
                    double *to)
{
    const char *bytes = at;

    switch (dtype) {
    case DTYPE_FLOAT32:
        kernels_best()->widen[LOAD_F32](bytes + 4 * first, n, to);
        break;
    case DTYPE_FLOAT16:
        kernels_best()->widen[LOAD_F16](bytes + 2 * first, n, to);
        break;
    case DTYPE_BFLOAT16:
        kernels_best()->widen[LOAD_BF16](bytes + 2 * first, n, to);
        break;
    default:
        elements_decode(dtype, at, first, n, to);
    }
}
