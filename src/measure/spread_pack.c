/* The packed form of a spread; docs/run-file.md describes it. */
#include <endian.h>
#include <math.h>

#include "measure/spread_in.h"

/* How min and max are stored: the first byte. */
enum range_form { FORM_EMPTY, FORM_FLOAT, FORM_DOUBLE };

/* A forecast of the log bins from the linear bins: those far from 0 nest in them. Both
 * sides compute it, and only the differences are stored. */
struct forecast {
    struct spread_bin bins[SPREAD_LINEAR]; /* sorted by key */
    uint32_t n;
    int32_t first, last; /* all keys that may have a count */
};

/* The number of linear bins from this one on that share a log bin: those whose top three
 * bits are equal. 1 near 0, where they do not nest. */
static uint32_t shared_bins(int64_t index, uint32_t most)
{
    uint64_t magnitude = (uint64_t)(index < 0 ? ~index : index), low, n;

    if (magnitude < SPREAD_NESTS)
        return 1;
    low = ((uint64_t)1 << (61 - __builtin_clzll(magnitude))) - 1;
    n = (index < 0 ? magnitude & low : ~magnitude & low) + 1;
    return n < most ? (uint32_t)n : most;
}

static void forecast_make(struct forecast *f, const struct spread *spread)
{
    uint32_t b = 0;

    f->n = 0;
    while (b < spread->n_linear) {
        int64_t index = spread->first + b;
        uint32_t end = b + shared_bins(index, spread->n_linear - b);
        uint64_t count = 0;
        int32_t key;

        for (; b < end; b++)
            count += spread->linear[b];
        if ((index < 0 ? ~index : index) < SPREAD_NESTS || count == 0)
            continue;
        key = spread_key_of_index(index, spread->exponent);
        if (f->n == 0 || f->bins[f->n - 1].key != key)
            f->bins[f->n++] = (struct spread_bin){.key = key};
        f->bins[f->n - 1].count += count;
    }
    f->first = spread_key(spread->min);
    f->last = spread_key(spread->max);
    if (f->n > 0 && f->bins[0].key < f->first)
        f->first = f->bins[0].key;
    if (f->n > 0 && f->bins[f->n - 1].key > f->last)
        f->last = f->bins[f->n - 1].key;
}

/* Numbers in groups of 3 bits, each in half a byte whose highest bit means that another
 * one follows. Up to HALVES of them are converted at once, without a branch for each. */
#define HALVES    15u
#define FOLLOWED  0x8888888888888888u
#define GROUPS(n) ((uint64_t)1 << 3 * (n)) /* numbers of n groups are below */

/* The groups of a number below GROUPS(16), each in half a byte. */
static uint64_t spread_groups(uint64_t x)
{
    x = (x & 0xffffff) | (x << 8 & 0x00ffffff00000000);
    x = (x & 0x00000fff00000fff) | (x << 4 & 0x0fff00000fff0000);
    x = (x & 0x003f003f003f003f) | (x << 2 & 0x3f003f003f003f00);
    return (x & 0x0707070707070707) | (x << 1 & 0x7070707070707070);
}

/* And back; ignores the highest bits of the halves. */
static uint64_t join_groups(uint64_t x)
{
    x = (x & 0x0707070707070707) | (x >> 1 & 0x3838383838383838);
    x = (x & 0x003f003f003f003f) | (x >> 2 & 0x0fc00fc00fc00fc0);
    x = (x & 0x00000fff00000fff) | (x >> 4 & 0x00fff00000fff000);
    return (x & 0xffffff) | (x >> 8 & 0xffffff000000);
}

struct packer {
    struct buf *to;
    uint64_t zeros;  /* differences of 0 that are not yet written */
    uint32_t halves; /* in bytes[], which are not yet in `to` */
    uint8_t bytes[256 + 2 * sizeof(uint64_t)];
};

static void flush_halves(struct packer *p)
{
    buf_add(p->to, p->bytes, (p->halves + 1) / 2);
    p->halves = 0;
}

/* Append n halves, at most HALVES; those above are 0. */
static void put_halves(struct packer *p, uint64_t halves, uint32_t n)
{
    uint8_t *at = p->bytes + p->halves / 2;

    if (p->halves & 1)
        halves = halves << 4 | (*at & 15);
    halves = htole64(halves);
    memcpy(at, &halves, sizeof halves);
    p->halves += n;
    if (p->halves >= 2 * 256) {
        buf_add(p->to, p->bytes, 256);
        memmove(p->bytes, p->bytes + 256, 2 * sizeof halves);
        p->halves -= 2 * 256;
    }
}

static void put_number(struct packer *p, uint64_t number)
{
    uint32_t groups;

    if (number < GROUPS(1)) {
        put_halves(p, number, 1);
        return;
    }
    for (; number >= GROUPS(HALVES); number >>= 3 * HALVES)
        put_halves(p, spread_groups(number & (GROUPS(HALVES) - 1)) | FOLLOWED >> 4,
                   HALVES);
    groups = (uint32_t)(66 - __builtin_clzll(number | 1)) / 3;
    put_halves(
        p, spread_groups(number) | (FOLLOWED & (((uint64_t)1 << 4 * (groups - 1)) - 1)),
        groups);
}

static void put_zeros(struct packer *p)
{
    if (p->zeros > 0) {
        put_number(p, 0);
        put_number(p, p->zeros - 1);
    }
    p->zeros = 0;
}

/* The difference of two counts, modulo 2^64; small ones of either sign are short. */
static void put_difference(struct packer *p, uint64_t difference)
{
    uint64_t sign = difference >> 63 ? UINT64_MAX : 0;

    if (difference == 0) {
        p->zeros++;
        return;
    }
    put_zeros(p);
    put_number(p, difference << 1 ^ sign);
}

static void put_log(struct packer *p, const struct spread *spread)
{
    struct forecast f;
    uint32_t i = 0, j = 0;
    int32_t key;

    forecast_make(&f, spread);
    for (key = f.first; i < spread->n_log || j < f.n; key++) {
        int32_t own = i < spread->n_log ? spread->log[i].key : INT32_MAX;
        int32_t expected = j < f.n ? f.bins[j].key : INT32_MAX;
        int32_t next = own < expected ? own : expected;

        p->zeros += (uint64_t)(next - key);
        key = next;
        put_difference(p, (key == own ? spread->log[i].count : 0) -
                              (key == expected ? f.bins[j].count : 0));
        i += key == own;
        j += key == expected;
    }
    put_zeros(p);
}

static void put_value(struct buf *to, double value, enum range_form form)
{
    float single = (float)value;

    if (form == FORM_FLOAT)
        buf_add(to, &single, sizeof single);
    else
        buf_add(to, &value, sizeof value);
}

static bool is_float(double value)
{
    return fabs(value) <= 0x1.fffffep127 && (double)(float)value == value;
}

void spread_pack(const struct spread *spread, struct buf *to)
{
    struct packer p;
    enum range_form form = spread->counted == 0 ? FORM_EMPTY
                           : is_float(spread->min) && is_float(spread->max)
                               ? FORM_FLOAT
                               : FORM_DOUBLE;

    buf_char(to, (char)form);
    if (form != FORM_EMPTY) {
        put_value(to, spread->min, form);
        put_value(to, spread->max, form);
    }
    p.to = to;
    p.zeros = p.halves = 0;
    put_number(&p, spread->of);
    put_number(&p, spread->of - spread->seen);
    put_number(&p, spread->seen - spread->counted);
    if (form != FORM_EMPTY) {
        for (uint32_t b = 0; b < spread->n_linear; b++)
            put_difference(&p, spread->linear[b] - (b ? spread->linear[b - 1] : 0));
        put_zeros(&p);
        put_log(&p, spread);
    }
    flush_halves(&p);
}

struct unpacker {
    const uint8_t *at;
    size_t next, end; /* half bytes */
    bool bad;         /* a number of more than 64 bits, or none */
    uint64_t zeros;   /* differences of 0 that were announced */
};

static struct unpacker unpacker_of(struct bytes in)
{
    struct str rest = bytes_take(&in, bytes_left(&in));

    return (struct unpacker){.at = (const uint8_t *)rest.at, .end = 2 * rest.len};
}

/* A number with any number of groups, or one near the end. */
static uint64_t take_long_number(struct unpacker *u)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 66 && u->next < u->end; shift += 3) {
        unsigned bits = u->at[u->next / 2] >> 4 * (u->next % 2) & 15;

        u->next++;

        if (shift == 63 && (bits & 7) > 1)
            break;
        number |= (uint64_t)(bits & 7) << shift;
        if (!(bits & 8))
            return number;
    }
    u->bad = true;
    return 0;
}

static inline uint64_t take_number(struct unpacker *u)
{
    uint64_t halves, last;
    unsigned shift;

    if (u->end - u->next < 2 * sizeof halves)
        return take_long_number(u);
    memcpy(&halves, u->at + u->next / 2, sizeof halves);
    halves = le64toh(halves) >> 4 * (u->next % 2);
    if (!(halves & 8)) {
        u->next++;
        return halves & 7;
    }
    last = ~halves & FOLLOWED >> 4; /* the highest half may be missing */
    if (last == 0)
        return take_long_number(u);
    shift = (unsigned)__builtin_ctzll(last) + 1;
    u->next += shift / 4;
    return join_groups(halves & (((uint64_t)1 << shift) - 1));
}

/* The next difference; 0 also begins a run, whose rest is in `zeros`. */
static uint64_t take_difference(struct unpacker *u)
{
    uint64_t number = take_number(u);

    if (number == 0)
        u->zeros = take_number(u);
    return number >> 1 ^ (number & 1 ? UINT64_MAX : 0);
}

/* Are the counts in `sum` with this one still at most `most`? */
static bool add_count(uint64_t *sum, uint64_t count, uint64_t most)
{
    if (count > most - *sum)
        return false;
    *sum += count;
    return true;
}

static bool take_linear(struct unpacker *u, struct spread *spread)
{
    uint64_t sum = 0, count = 0;

    for (uint32_t b = 0; b < spread->n_linear; b++) {
        if (u->zeros > 0)
            u->zeros--;
        else
            count += take_difference(u);
        if (!add_count(&sum, count, spread->counted))
            return false;
        spread->linear[b] = count;
    }
    return u->zeros == 0 && sum == spread->counted && spread->linear[0] > 0 &&
           spread->linear[spread->n_linear - 1] > 0;
}

static int add_bin(struct spread *spread, int32_t key, uint64_t count, uint64_t *sum,
                   struct err *err)
{
    if (count == 0)
        return 0;
    if (!add_count(sum, count, spread->counted))
        return err_set(err, ERR_FORMAT, "a histogram with more counts than elements");
    if (spread->n_log == spread->log_room &&
        spread_log_room(spread, spread->n_log + 1, err) < 0)
        return -1;
    spread->log[spread->n_log++] = (struct spread_bin){key, count};
    return 0;
}

/* One difference, or a run of zeros, at a time; in a run only forecast bins have
 * counts. */
static int take_log(struct unpacker *u, struct spread *spread, struct err *err)
{
    struct forecast f;
    uint64_t sum = 0;
    uint32_t j = 0;

    forecast_make(&f, spread);
    if (spread_log_room(spread, f.n + 32, err) < 0) /* usually enough, in one
                                                       allocation */
        return -1;
    for (int64_t key = f.first; key <= f.last && !u->bad;) {
        uint64_t difference = take_difference(u);
        int64_t end = u->zeros > (uint64_t)(f.last - key) ? f.last + 1
                                                          : key + (int64_t)u->zeros + 1;

        if (u->zeros > (uint64_t)(f.last - key))
            u->bad = true;
        u->zeros = 0;
        if (difference && !(j < f.n && f.bins[j].key == key) &&
            add_bin(spread, (int32_t)key, difference, &sum, err) < 0)
            return -1;
        for (; j < f.n && f.bins[j].key < end; j++)
            if (add_bin(spread, f.bins[j].key, f.bins[j].count + difference, &sum,
                        err) < 0)
                return -1;
        key = end;
    }
    if (u->bad || sum != spread->counted ||
        spread->log[0].key != spread_key(spread->min) ||
        spread->log[spread->n_log - 1].key != spread_key(spread->max))
        return err_set(err, ERR_FORMAT, "a histogram whose counts do not add up");
    return 0;
}

static double take_value(struct bytes *in, unsigned form)
{
    uint32_t bits;
    float single;

    if (form == FORM_DOUBLE)
        return spread_double(bytes_u64(in));
    bits = bytes_u32(in);
    memcpy(&single, &bits, sizeof single);
    return single;
}

/* Min and max, which give the linear bins. */
static int take_range(struct bytes *in, unsigned form, struct spread *spread,
                      struct err *err)
{
    struct spread_window window;
    double min = take_value(in, form), max = take_value(in, form);

    if (in->bad || !isfinite(min) || !isfinite(max) ||
        spread_order(min) > spread_order(max) || spread_bits(min) == SPREAD_SIGN ||
        spread_bits(max) == SPREAD_SIGN)
        return err_set(err, ERR_FORMAT, "a histogram without a valid range");
    window = spread_window_of(min, max);
    spread->min = min;
    spread->max = max;
    spread->exponent = window.exponent;
    spread->first = window.first;
    spread->n_linear = (uint32_t)(window.last - window.first) + 1;
    return 0;
}

/* The counts of all elements; checks that the form fits them. */
static int take_counts(struct unpacker *u, unsigned form, struct spread *spread,
                       struct err *err)
{
    uint64_t left_out, not_finite;

    spread->of = take_number(u);
    left_out = take_number(u);
    not_finite = take_number(u);
    spread->seen = spread->of - left_out;
    spread->counted = spread->seen - not_finite;
    if (u->bad || left_out > spread->of || not_finite > spread->seen ||
        (spread->counted == 0) != (form == FORM_EMPTY))
        return err_set(err, ERR_FORMAT, "a histogram whose counts do not add up");
    return 0;
}

static int unpack(struct bytes in, struct spread *spread, struct err *err)
{
    unsigned form = bytes_u8(&in);
    struct unpacker u;

    if (in.bad || form > FORM_DOUBLE)
        return err_set(err, ERR_FORMAT, "a histogram of an unknown form (%u)", form);
    if (form != FORM_EMPTY && take_range(&in, form, spread, err) < 0)
        return -1;
    u = unpacker_of(in);
    if (take_counts(&u, form, spread, err) < 0)
        return -1;
    if (form != FORM_EMPTY) {
        if (!take_linear(&u, spread))
            return err_set(err, ERR_FORMAT, "a histogram whose counts do not add up");
        if (take_log(&u, spread, err) < 0)
            return -1;
    }
    /* The upper half of the last byte may be unused. */
    if (u.end - u.next > 1 || (u.next < u.end && u.at[u.next / 2] >> 4))
        return err_set(err, ERR_FORMAT, "a histogram followed by other bytes");
    return 0;
}

int spread_unpack(struct bytes in, struct spread *ret_spread, struct err *err)
{
    struct spread spread = {0};

    if (unpack(in, &spread, err) < 0) {
        spread_release(&spread);
        return -1;
    }
    spread_release(ret_spread);
    *ret_spread = spread;
    return 0;
}
