/* Queries of views on a spread: quantiles, ranges, rows of a heat map. */
#include <float.h>
#include <math.h>

#include "measure/spread_in.h"

#define FEW_BINS 16   /* too few for a picture */
#define SNAP     1e-9 /* rows: a place so near to a boundary is on it, but for rounding */

void spread_linear_range(const struct spread *spread, uint32_t b, double *ret_low,
                         double *ret_high)
{
    *ret_low = ldexp((double)(spread->first + b), spread->exponent);
    *ret_high = ldexp((double)(spread->first + b + 1), spread->exponent);
}

void spread_log_range(int32_t key, double *ret_low, double *ret_high)
{
    uint64_t magnitude = (uint64_t)(key < 0 ? -key : key);
    double near, far = spread_double(magnitude << 50);

    near = key == 0 ? 0 : spread_double((magnitude - 1) << 50);
    *ret_low = key < 0 ? -far : near;
    *ret_high = key < 0 ? -near : far;
}

/* The part of a bin that is between min and max. */
static void clip(const struct spread *spread, double *low, double *high)
{
    *low = *low < spread->min ? spread->min : *low;
    *high = *high > spread->max ? spread->max : *high;
}

/* A bin, and how many elements are in lower ones. */
struct ranked_bin {
    double low, high;
    uint64_t before, count;
};

/* The linear bin of the element with this rank, its index in sorted order. */
static uint32_t linear_at(const struct spread *spread, uint64_t rank,
                          struct ranked_bin *ret_found)
{
    uint64_t before = 0;
    uint32_t b = 0;

    for (; b + 1 < spread->n_linear && rank - before >= spread->linear[b]; b++)
        before += spread->linear[b];
    ret_found->before = before;
    ret_found->count = spread->linear[b];
    spread_linear_range(spread, b, &ret_found->low, &ret_found->high);
    clip(spread, &ret_found->low, &ret_found->high);
    return b;
}

static void log_at(const struct spread *spread, uint64_t rank,
                   struct ranked_bin *ret_found)
{
    uint64_t before = 0;
    uint32_t i = 0;

    for (; i + 1 < spread->n_log && rank - before >= spread->log[i].count; i++)
        before += spread->log[i].count;
    ret_found->before = before;
    ret_found->count = spread->log[i].count;
    spread_log_range(spread->log[i].key, &ret_found->low, &ret_found->high);
    clip(spread, &ret_found->low, &ret_found->high);
}

/* The element with this rank is in both bins, so it is where they overlap. The estimate
 * supposes that the elements of the narrower bin are evenly spaced. */
static double ranked(const struct spread *spread, uint64_t rank, double *ret_low,
                     double *ret_high)
{
    struct ranked_bin linear, log, *narrow;
    double low, high, value;

    linear_at(spread, rank, &linear);
    log_at(spread, rank, &log);
    low = linear.low > log.low ? linear.low : log.low;
    high = linear.high < log.high ? linear.high : log.high;
    if (rank == 0 || rank == spread->counted - 1)
        low = high = rank == 0 ? spread->min : spread->max;
    narrow = linear.high - linear.low < log.high - log.low ? &linear : &log;
    value = narrow->low + (narrow->high - narrow->low) *
                              ((double)(rank - narrow->before) + 0.5) /
                              (double)narrow->count;
    *ret_low = low;
    *ret_high = high;
    return value < low ? low : value > high ? high : value;
}

/* floor(share * n), at most `most`. */
static uint64_t part_of(double share, uint64_t n, uint64_t most)
{
    double part = share * (double)n;

    if (!(part > 0))
        return 0;
    return part < (double)most ? (uint64_t)part : most;
}

double spread_quantile(const struct spread *spread, double q, double *ret_low,
                       double *ret_high)
{
    double low = NAN, high = NAN, value = NAN;

    if (spread->counted > 0) {
        uint64_t last = spread->counted - 1;

        value = ranked(spread, part_of(q, last, last), &low, &high);
    }
    if (ret_low)
        *ret_low = low;
    if (ret_high)
        *ret_high = high;
    return value;
}

/* The elements that a view leaves out at each end. */
static uint64_t tail_of(double share, uint64_t n)
{
    return part_of((1 - share) / 2, n, (n - 1) / 2);
}

void spread_middle(const struct spread *spread, double share, double *ret_low,
                   double *ret_high)
{
    double unused;
    uint64_t tail;

    *ret_low = *ret_high = NAN;
    if (spread->counted == 0)
        return;
    tail = tail_of(share, spread->counted);
    ranked(spread, tail, ret_low, &unused);
    ranked(spread, spread->counted - 1 - tail, &unused, ret_high);
}

bool spread_prefers_log(const struct spread *spread)
{
    struct ranked_bin unused;
    uint64_t tail;
    uint32_t low, high;

    if (spread->n_linear <= SPREAD_LINEAR / 2) /* nothing, a constant, or a few ulps */
        return false;
    tail = tail_of(0.98, spread->counted);
    low = linear_at(spread, tail, &unused);
    high = linear_at(spread, spread->counted - 1 - tail, &unused);
    return high - low + 1 < FEW_BINS;
}

/* The logarithm of a magnitude, which may be the infinite edge of the last bin. */
static double log_scale(double magnitude)
{
    return log2(fmin(magnitude, DBL_MAX));
}

/* Where a value is on the scale of an axis. */
static double scale_of(const struct spread_axis *axis, double value)
{
    double magnitude = fabs(value);

    if (axis->least <= 0)
        return value / 2; /* so that differences do not overflow */
    if (magnitude < axis->least)
        return value / axis->least / 2;
    magnitude = log_scale(magnitude) - log_scale(axis->least) + 0.5;
    return value < 0 ? -magnitude : magnitude;
}

double spread_axis_place(const struct spread_axis *axis, double value)
{
    double low = scale_of(axis, axis->low), high = scale_of(axis, axis->high);

    return (scale_of(axis, value) - low) / (high - low);
}

double spread_axis_value(const struct spread_axis *axis, double place)
{
    double low = scale_of(axis, axis->low), high = scale_of(axis, axis->high);
    double scale = low + (high - low) * place, magnitude;

    if (axis->least <= 0)
        return scale * 2;
    if (fabs(scale) <= 0.5)
        return scale * 2 * axis->least;
    magnitude = fmin(exp2(fabs(scale) - 0.5 + log_scale(axis->least)), DBL_MAX);
    return scale < 0 ? -magnitude : magnitude;
}

/* The magnitude below which `tail` of the elements other than 0 are, as the edge of a
 * log bin. Walks from 0 to both sides. */
static double least_magnitude(const struct spread *spread, double share)
{
    uint64_t other = spread->counted, tail, sum = 0;
    uint32_t up = 0, down;
    int32_t key = 0;

    while (up < spread->n_log && spread->log[up].key < 0)
        up++;
    down = up;
    if (up < spread->n_log && spread->log[up].key == 0)
        other -= spread->log[up++].count;
    if (other == 0)
        return 1;
    tail = tail_of(share, other);
    while (sum <= tail && (up < spread->n_log || down > 0)) {
        int32_t above = up < spread->n_log ? spread->log[up].key : INT32_MAX;
        int32_t below = down > 0 ? -spread->log[down - 1].key : INT32_MAX;

        key = above < below ? above : below;
        sum += key == above ? spread->log[up++].count : spread->log[--down].count;
    }
    return spread_double(key > 1 ? (uint64_t)(key - 1) << 50 : 1);
}

/* A finite range that is not empty. */
static void open_range(struct spread_axis *axis)
{
    axis->low = axis->low < -DBL_MAX ? -DBL_MAX : axis->low;
    axis->high = axis->high > DBL_MAX ? DBL_MAX : axis->high;
    if (axis->low < axis->high)
        return;
    axis->high += axis->high == 0 ? 0.5 : fabs(axis->high) / 2;
    axis->low -= axis->low == 0 ? 0.5 : fabs(axis->low) / 2;
    axis->low = axis->low < -DBL_MAX ? -DBL_MAX : axis->low;
    axis->high = axis->high > DBL_MAX ? DBL_MAX : axis->high;
}

struct spread_axis spread_axis_of(const struct spread *spread, bool logarithmic,
                                  double share)
{
    struct spread_axis axis = {0};
    double unused;

    if (spread->counted > 0)
        spread_middle(spread, share, &axis.low, &axis.high);
    if (logarithmic) {
        axis.least = least_magnitude(spread, share);
        spread_log_range(spread_key(axis.low), &axis.low, &unused);
        spread_log_range(spread_key(axis.high), &unused, &axis.high);
    }
    if (axis.high == 0 && axis.low == 0 && logarithmic)
        axis = (struct spread_axis){-axis.least, axis.least, axis.least};
    open_range(&axis);
    return axis;
}

/* Rows to fill, and whether every bin was certainly inside one. */
struct filling {
    const struct spread_axis *axis;
    double *rows, n, below, above;
    bool closed; /* the bin being added includes its upper edge */
    bool exact;
};

/* A value's place in rows; places far outside stay finite. */
static double row_of(const struct filling *f, double value)
{
    return fmax(-1e300, fmin(1e300, spread_axis_place(f->axis, value) * f->n));
}

/* Rounding must not cut a sliver off a bin. */
static double snapped(double place)
{
    double whole = nearbyint(place);

    return fabs(place - whole) < SNAP ? whole : place;
}

/* ---- which side of a boundary, in exact arithmetic ---- */

enum boundary_side { BELOW = -1, ON, ABOVE, UNSURE };

static enum boundary_side side_of(double a, double b)
{
    return a < b ? BELOW : a > b ? ABOVE : ON;
}

/* Is a - b exact? */
static bool is_exact(double a, double b)
{
    double difference = a - b, rest = difference - a;

    return isfinite(difference) && a - (difference - rest) == 0 && b + rest == 0;
}

/* Compares (value - low) * n with (high - low) * i. */
static enum boundary_side side_of_fraction(double value, double low, double high,
                                           double n, double i)
{
    double left = (value - low) * n, right = (high - low) * i;

    if (!is_exact(value, low) || !is_exact(high, low) || !isfinite(left) ||
        !isfinite(right))
        return UNSURE;
    if (left != right)
        return side_of(left, right);
    return side_of(fma(value - low, n, -left), fma(high - low, i, -right));
}

static bool is_power_of_two(double magnitude)
{
    int exponent;

    return frexp(magnitude, &exponent) == 0.5;
}

/* Is scale_of() exact? */
static bool has_exact_scale(const struct spread_axis *axis, double value)
{
    return axis->least <= 0 ||
           (is_power_of_two(axis->least) &&
            (fabs(value) < axis->least || is_power_of_two(fabs(value))));
}

/* On which side of boundary i of the rows is a value? */
static enum boundary_side side_of_boundary(const struct filling *f, double value,
                                           double i)
{
    const struct spread_axis *axis = f->axis;

    if (i <= 0)
        return side_of(value, axis->low);
    if (i >= f->n)
        return side_of(value, axis->high);
    if (!has_exact_scale(axis, value) || !has_exact_scale(axis, axis->low) ||
        !has_exact_scale(axis, axis->high))
        return UNSURE;
    return side_of_fraction(scale_of(axis, value), scale_of(axis, axis->low),
                            scale_of(axis, axis->high), f->n, i);
}

/* ---- bins into rows ---- */

static void add_piece(struct filling *f, double at, double count)
{
    if (at < 0)
        f->below += count;
    else if (at > f->n)
        f->above += count;
    else
        f->rows[(uint32_t)(at < f->n ? at : f->n - 1)] += count;
}

/* A bin so narrow that both of its edges are at boundary i. */
static void add_narrow(struct filling *f, double low, double high, double i,
                       double count)
{
    enum boundary_side from = side_of_boundary(f, low, i),
                       to = side_of_boundary(f, high, i);
    bool ends = to == ON && (!f->closed || i == f->n);

    if (from == ABOVE && i == f->n)
        add_piece(f, i + 1, count);
    else if (to == BELOW || (ends && low < high))
        add_piece(f, i - 0.5, count);
    else {
        add_piece(f, i, count);
        f->exact &= from == ABOVE || (from == ON && (i < f->n || low == high));
    }
}

/* Divide a bin from row place a to b at the boundaries of rows. */
static void divide(struct filling *f, double a, double b, double count)
{
    double from = a;

    f->exact = false;
    while (from < b) {
        double to = from < 0 ? 0 : from >= f->n ? b : floor(from) + 1;

        to = to < b ? to : b;
        add_piece(f, from < f->n ? (from + to) / 2 : f->n + 1,
                  (to - from) / (b - a) * count);
        from = to;
    }
}

/* Does the bin certainly not reach over a boundary that one of its edges is at? */
static bool stays(const struct filling *f, double low, double a, double high, double b)
{
    enum boundary_side from = ON, to = ON;

    if (a == floor(a) && a >= 0 && a <= f->n)
        from = side_of_boundary(f, low, a);
    if (b == floor(b) && b >= 0 && b <= f->n)
        to = side_of_boundary(f, high, b);
    if (to == ON && b == floor(b) && b >= 0 && b < f->n && f->closed)
        return false; /* elements at the edge are in the next row */
    return (from == ON || from == ABOVE) && (to == ON || to == BELOW);
}

static void add_bin(struct filling *f, double low, double high, double count)
{
    double a = snapped(row_of(f, low)), b = snapped(row_of(f, high));

    if (a == b && a == floor(a) && a >= 0 && a <= f->n) {
        add_narrow(f, low, high, a, count);
        return;
    }
    f->exact &= stays(f, low, a, high, b);
    if (!(a < b))
        add_piece(f, a, count);
    else if (b <= 0 || a >= f->n || (a >= 0 && b <= floor(a) + 1))
        add_piece(f, a >= f->n ? f->n + 1 : (a + b) / 2, count);
    else
        divide(f, a, b, count);
}

/* Does the axis exclude so much that few linear bins are left? */
static bool is_zoomed(const struct spread *spread, const struct spread_axis *axis)
{
    return (spread->min < axis->low || spread->max > axis->high) &&
           axis->high / 2 - axis->low / 2 < ldexp(FEW_BINS / 2, spread->exponent);
}

bool spread_rows(const struct spread *spread, const struct spread_axis *axis,
                 double *rows, uint32_t n, double *ret_below, double *ret_above)
{
    struct filling f = {.axis = axis, .rows = rows, .n = n, .exact = true};
    double low, high;

    memset(rows, 0, n * sizeof *rows);
    if (axis->least > 0 || is_zoomed(spread, axis))
        for (uint32_t i = 0; i < spread->n_log; i++) {
            spread_log_range(spread->log[i].key, &low, &high);
            if (axis->least <= 0)
                clip(spread, &low, &high);
            f.closed = spread->log[i].key < 0
                           ? axis->least <= 0 /* as the rows */
                           : i + 1 == spread->n_log && high == spread->max;
            add_bin(&f, low, high, (double)spread->log[i].count);
        }
    else
        for (uint32_t b = 0; b < spread->n_linear; b++) {
            spread_linear_range(spread, b, &low, &high);
            clip(spread, &low, &high);
            f.closed = b + 1 == spread->n_linear; /* up to the largest element */
            if (spread->linear[b] > 0)
                add_bin(&f, low, high, (double)spread->linear[b]);
        }
    if (ret_below)
        *ret_below = f.below;
    if (ret_above)
        *ret_above = f.above;
    return f.exact;
}
