/* From blocks to statistics: each block goes through a kernel; if its result is not
 * sound, the block is repeated in doubles. Then the blocks are merged. */
#include "measure/stats_in.h"

#include <math.h>
#include <string.h>

#include "measure/decode_in.h"
#include "measure/small_float_in.h"

#define NOT_HERE SIZE_MAX

/* One part being added. The indices of min and max are looked up once, at the end, in
 * the block that held them. */
struct adding {
    const struct stats_part *part;
    struct stats *stats;
    double min, max; /* so far, including earlier parts */
    int64_t int_min, int_max;
    size_t min_block, max_block; /* first element of their block, or NOT_HERE */
    float shift;                 /* of the next run */
    bool begun;                  /* a run was measured */
};

/* Are the sums precise enough? Not if an element was not finite or too large, if the
 * squares are too small for float32, or if subtracting the mean leaves mostly rounding.
 * Where many elements are equal, as after relu, every addition in float32 rounds the
 * same way, so most of the squares must remain. */
static bool is_sound(const struct block *block, enum load load, double m2)
{
    if (!isfinite(block->squares))
        return false;
    if (block->min == block->max)
        return true;
    if (load < LOAD_F64 && block->squares < 1e-28)
        return false;
    return m2 >= (load < LOAD_F64 ? 0.75 : 0.01) * block->squares;
}

/* Kernels give the range of 64-bit integers as integers, of others as doubles; fill in
 * the other one. */
static void complete_range(struct block *block, enum stats_kind kind, enum load load)
{
    if (load == LOAD_U64) {
        block->min = (double)(uint64_t)block->int_min;
        block->max = (double)(uint64_t)block->int_max;
    } else if (load == LOAD_I64) {
        block->min = (double)block->int_min;
        block->max = (double)block->int_max;
    } else if (kind != STATS_REAL) {
        block->int_min = (int64_t)block->min;
        block->int_max = (int64_t)block->max;
    }
}

static double block_m2(const struct block *block, size_t n)
{
    double m2 = block->squares - block->sum * (block->sum / (double)n);

    if (block->squares < 0) /* see sum_huge() */
        return block->squares;
    if (!isfinite(block->squares))
        return INFINITY;
    return m2 > 0 ? m2 : 0;
}

/* Merge a block of n finite elements; it begins at element `first`. */
static void join_block(struct adding *adding, const struct block *block, size_t n,
                       size_t first)
{
    struct stats *stats = adding->stats;

    stats_join(stats, n, block->shift + block->sum / (double)n, block_m2(block, n));
    stats->count += n;
    stats->zeros += block->zeros;
    if (isnan(adding->min) || stats_below(stats->kind, block->min, block->int_min,
                                          adding->min, adding->int_min)) {
        adding->min = block->min;
        adding->int_min = block->int_min;
        adding->min_block = first;
    }
    if (isnan(adding->max) || stats_below(stats->kind, adding->max, adding->int_max,
                                          block->max, block->int_max)) {
        adding->max = block->max;
        adding->int_max = block->int_max;
        adding->max_block = first;
    }
}

/* Count the non-finite values and move the others to the front; returns how many. */
static size_t drop_non_finite(struct stats *stats, double *reals, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (isfinite(reals[i])) {
            reals[kept++] = reals[i];
            continue;
        }
        stats->count++;
        if (isnan(reals[i]))
            stats->nan++;
        else
            *(reals[i] > 0 ? &stats->pos_inf : &stats->neg_inf) += 1;
    }
    return kept;
}

static void to_reals(const struct stats_part *part, size_t first, size_t n,
                     double reals[BLOCK])
{
    enum load load = stats_load(part->dtype);
    const char *at = (const char *)part->at + elements_size(part->dtype, first);

    if (load < LOAD_COUNT && part->kernels->widen[load])
        part->kernels->widen[load](at, n, reals);
    else
        decode_reals(part->dtype, part->at, first, n, reals);
}

/* The first element is far from the mean: swap it with the nearest one. */
static void sum_from_middle(const struct kernels *kernels, double *reals, size_t n,
                            struct block *block)
{
    double mean = block->shift + block->sum / (double)n, real;
    size_t nearest = 0;

    for (size_t i = 1; i < n; i++)
        if (fabs(reals[i] - mean) < fabs(reals[nearest] - mean))
            nearest = i;
    real = reals[nearest];
    reals[nearest] = reals[0];
    reals[0] = real;
    kernels->sums[LOAD_F64](reals, n, block);
}

/* Finite doubles whose squares overflow: sum them scaled by 2^-540, and store m2 as in
 * struct stats. */
static void sum_huge(const struct kernels *kernels, double *reals, size_t n,
                     struct block *block)
{
    struct block small;

    for (size_t i = 0; i < n; i++)
        reals[i] *= STATS_SMALLER;
    kernels->sums[LOAD_F64](reals, n, &small);
    if (!is_sound(&small, LOAD_F64, block_m2(&small, n)))
        sum_from_middle(kernels, reals, n, &small);
    block->shift = (small.shift + small.sum / (double)n) / STATS_SMALLER;
    block->sum = 0;
    block->squares = stats_m2_of_small(block_m2(&small, n));
}

/* Measure the block in doubles. `ranged`: the result of a kernel for 64-bit integers,
 * whose range is only exact as integers. */
static void add_doubles(struct adding *adding, size_t first, size_t n,
                        const struct block *ranged)
{
    const struct stats_part *part = adding->part;
    double reals[BLOCK];
    struct block block;

    to_reals(part, first, n, reals);
    part->kernels->sums[LOAD_F64](reals, n, &block);
    if (!isfinite(block.squares)) {
        n = drop_non_finite(adding->stats, reals, n);
        if (n == 0)
            return;
        part->kernels->sums[LOAD_F64](reals, n, &block);
    }
    if (part->mode == MEASURE_GUARD) {
        adding->stats->count += n;
        return;
    }
    if (!isfinite(block.squares))
        sum_huge(part->kernels, reals, n, &block);
    else if (!is_sound(&block, LOAD_F64, block_m2(&block, n)))
        sum_from_middle(part->kernels, reals, n, &block);
    if (ranged) {
        block.int_min = ranged->int_min;
        block.int_max = ranged->int_max;
    }
    complete_range(&block, adding->stats->kind,
                   ranged ? stats_load(part->dtype) : LOAD_F64);
    join_block(adding, &block, n, first);
}

static void add_bins(struct adding *adding, size_t first, size_t n)
{
    const struct stats_part *part = adding->part;
    enum load load = stats_load(part->dtype);
    const char *at = part->at;
    double reals[BLOCK];
    uint16_t bins[BLOCK];
    size_t kept = 0;

    if (load < LOAD_COUNT && part->kernels->bins[load]) {
        part->kernels->bins[load](at + elements_size(part->dtype, first), n, bins);
        tally_add(part->tally, bins, n);
        return;
    }
    decode_reals(part->dtype, part->at, first, n, reals);
    for (size_t i = 0; i < n; i++)
        if (isfinite(reals[i]))
            bins[kept++] = tally_upper(reals[i]);
    tally_add(part->tally, bins, kept);
}

static void guard_block(struct adding *adding, size_t first, size_t n)
{
    const struct stats_part *part = adding->part;
    const char *at = (const char *)part->at + elements_size(part->dtype, first);
    enum load load = stats_load(part->dtype);

    if (adding->stats->kind == STATS_REAL &&
        (load == LOAD_COUNT || !part->kernels->finite[load](at, n)))
        add_doubles(adding, first, n, NULL);
    else
        adding->stats->count += n;
}

static void add_block(struct adding *adding, size_t first, size_t n)
{
    const struct stats_part *part = adding->part;
    const char *at = (const char *)part->at + elements_size(part->dtype, first);
    enum load load = stats_load(part->dtype);
    bool whole = load == LOAD_I64 || load == LOAD_U64;
    struct block block;

    if (load == LOAD_COUNT || (part->mode == MEASURE_EXACT && load < LOAD_F64)) {
        add_doubles(adding, first, n, NULL);
        return;
    }
    part->kernels->sums[load](at, n, &block);
    if (is_sound(&block, load, block_m2(&block, n))) {
        complete_range(&block, adding->stats->kind, load);
        join_block(adding, &block, n, first);
    } else {
        add_doubles(adding, first, n, whole ? &block : NULL);
    }
}

/* Are the sums of a run precise enough? */
static bool run_is_sound(const struct block *run, size_t n)
{
    if (!isfinite(run->squares))
        return false;
    if (run->min == run->max)
        return run->min == run->shift;
    return run->squares >= 1e-26 && block_m2(run, n) >= 0.25 * run->squares;
}

/* Measure a run of whole blocks at once, with its histogram. Weights are centred near
 * zero, so that is the first shift; if it is not precise enough, the mean is used, for
 * the following runs too (therefore the first run is short). If that fails as well, the
 * blocks are measured one by one. */
static void add_run(struct adding *adding, enum load load, size_t first, size_t n)
{
    const struct stats_part *part = adding->part;
    const char *at = (const char *)part->at + elements_size(part->dtype, first);
    const char *next = at + elements_size(part->dtype, n);
    struct tally *tally = part->tally;
    struct block run;

    if (part->mode == MEASURE_SAMPLED && n == BLOCK)
        next = at + elements_size(part->dtype, SAMPLED_OF * BLOCK);
    part->kernels->run[load](at, n, next, adding->shift, tally ? tally->counts : NULL,
                             &run);
    adding->begun = true;
    if (tally)
        tally_counted(tally, n);
    if (!run_is_sound(&run, n) && isfinite(run.squares)) {
        double mean = run.shift + run.sum / (double)n;

        adding->shift = (float)(run.min == run.max ? run.min : mean);
        part->kernels->run[load](at, n, next, adding->shift, NULL, &run);
    }
    if (run_is_sound(&run, n)) {
        join_block(adding, &run, n, first);
        return;
    }
    for (size_t end = first + n; first < end; first += BLOCK)
        add_block(adding, first, BLOCK);
}

/* The number of remaining elements that can be measured as a run; 0 if none. */
static size_t run_length(const struct adding *adding, enum load load, size_t left)
{
    const struct stats_part *part = adding->part;
    size_t most = adding->begun ? RUN : BLOCK;

    if (part->mode == MEASURE_EXACT || part->mode == MEASURE_GUARD ||
        load == LOAD_COUNT || !part->kernels->run[load] ||
        (part->tally && !part->tally->counts))
        return 0;
    return left < most ? left / BLOCK * BLOCK : most;
}

/* The index of the first element with this value, which its block holds. */
static uint64_t place_of(const struct adding *adding, size_t first, double real,
                         int64_t integer)
{
    const struct stats_part *part = adding->part;
    enum load load = stats_load(part->dtype);
    struct wanted wanted = {STATS_REAL, real, integer};
    size_t end = part->first + part->n;

    if (load == LOAD_I64 || load == LOAD_U64)
        wanted.kind = STATS_INT;
    first = stats_find(part->kernels, part->dtype, part->at, first, end, &wanted);
    return part->index + (first - part->first);
}

/* Elements `first` to `end` of the part. */
static void add_span(struct adding *adding, enum load load, size_t first, size_t end)
{
    const struct stats_part *part = adding->part;
    size_t n;

    for (; first < end; first += n) {
        n = run_length(adding, load, end - first);
        if (n > 0) {
            add_run(adding, load, first, n);
            continue;
        }
        n = end - first < BLOCK ? end - first : BLOCK;
        if (part->mode == MEASURE_GUARD)
            guard_block(adding, first, n);
        else
            add_block(adding, first, n);
        if (part->tally)
            add_bins(adding, first, n);
    }
}

/* The next elements of a part to measure: moves *first to them and returns their end, or
 * the end of the part. MEASURE_SAMPLED takes every eighth block of the whole tensor,
 * however it is cut into parts. */
static size_t next_span(const struct stats_part *part, size_t *first)
{
    size_t end = part->first + part->n;
    uint64_t index = part->index + (*first - part->first), skipped;

    if (part->mode != MEASURE_SAMPLED)
        return end;
    if (index / BLOCK % SAMPLED_OF != 0) {
        skipped = SAMPLED_OF * BLOCK - index % (SAMPLED_OF * BLOCK);
        *first = skipped < end - *first ? *first + (size_t)skipped : end;
        index += skipped;
    }
    return end - *first < BLOCK - index % BLOCK
               ? end
               : *first + (size_t)(BLOCK - index % BLOCK);
}

/* Set the indices of min and max. */
static void add_places(const struct adding *adding)
{
    struct stats *stats = adding->stats;

    if (adding->min_block != NOT_HERE)
        stats_lower(stats, adding->min, adding->int_min,
                    place_of(adding, adding->min_block, adding->min, adding->int_min));
    if (adding->max_block != NOT_HERE)
        stats_raise(stats, adding->max, adding->int_max,
                    place_of(adding, adding->max_block, adding->max, adding->int_max));
}

void stats_add_part(struct stats *stats, const struct stats_part *part)
{
    struct adding adding = {
        part,           stats,    stats->min, stats->max, stats->int_min,
        stats->int_max, NOT_HERE, NOT_HERE,   0,          false};
    enum load load = stats_load(part->dtype);
    size_t end;

    for (size_t first = part->first; first < part->first + part->n; first = end) {
        end = next_span(part, &first);
        if (first == end)
            break;
        if (small_float_bits(part->dtype)) {
            struct stats_part span = *part;

            span.first = first;
            span.n = end - first;
            span.index += first - part->first;
            stats_add_codes(stats, &span);
        } else {
            add_span(&adding, load, first, end);
        }
    }
    add_places(&adding);
    stats->sampled = stats->sampled || part->mode == MEASURE_SAMPLED;
    if (part->tally && part->mode == MEASURE_SAMPLED)
        part->tally->histogram->sampled = true;
}
