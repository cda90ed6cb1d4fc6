#include "text/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "text/escape.h"

/* Appends printf's output; a decimal comma of the locale becomes a point. */
static void add_printed(struct buf *to, char *text)
{
    char *comma = strchr(text, ',');

    if (comma)
        *comma = '.';
    buf_text(to, text);
}

static void add_fixed(struct buf *to, double value, int decimals)
{
    char text[400]; /* the largest double has 309 digits */

    snprintf(text, sizeof(text), "%.*f", decimals, value);
    add_printed(to, text);
}

/* Writes the decimal digits of n so that they end at `end`; returns their start. */
static char *write_digits(char *end, uint64_t n)
{
    do {
        *--end = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return end;
}

#define QUICK_DIGITS 6 /* limit of digits written without printf */

/* A fast "%.*g". False: use printf, because the number is large or small, or so close to
 * halfway between two roundings that further digits decide. */
static bool add_quick(struct buf *to, double value, int digits)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    double most = powers[digits], scaled = fabs(value);
    int point = digits; /* digits before the point; negative: zeros after it */
    char text[24], *end = text + sizeof(text), *at;
    uint64_t n;

    if (!(scaled >= 1e-3 && scaled < most))
        return false;
    while (point > digits - 9 && scaled * powers[digits - point + 1] < most)
        point--;
    scaled *= powers[digits - point]; /* rounded once: wrong by 1e-10 at most */
    n = (uint64_t)(scaled + 0.5);
    if (fabs(scaled - floor(scaled) - 0.5) < 1e-6 || (double)n >= most)
        return false;
    for (; n % 10 == 0 && digits > point && digits > 1; digits--)
        n /= 10;
    at = write_digits(end, n);
    buf_text(to, signbit(value) ? "-" : "");
    if (point <= 0) {
        buf_text(to, "0.");
        buf_fill(to, '0', (size_t)-point);
        point = 0;
    }
    buf_add(to, at, (size_t)point);
    if (point > 0 && at + point < end)
        buf_char(to, '.');
    buf_add(to, at + point, (size_t)(end - at - point));
    return true;
}

static void add_general(struct buf *to, double value, int digits)
{
    char text[64];

    if (digits <= QUICK_DIGITS && add_quick(to, value, digits))
        return;
    snprintf(text, sizeof(text), "%.*g", digits, value);
    add_printed(to, text);
}

static void add_number(struct buf *to, uint64_t n)
{
    char text[20];
    char *at = write_digits(text + sizeof(text), n);

    buf_add(to, at, (size_t)(text + sizeof(text) - at));
}

static void add_tenths(struct buf *to, uint64_t tenths)
{
    add_number(to, tenths / 10);
    buf_char(to, '.');
    buf_char(to, (char)('0' + tenths % 10));
}

void text_count(struct buf *to, uint64_t n)
{
    uint64_t unit = 1000000000;
    char letter = 'B';
    uint64_t step, rest;

    if (n < 1000) {
        add_number(to, n);
        return;
    }
    if (n < 1000000) {
        unit = 1000;
        letter = 'K';
    } else if (n < 1000000000) {
        unit = 1000000;
        letter = 'M';
    }
    step = unit / 10;
    rest = n % step;
    /* Halfway between two texts, the output of "%.1f" depends on the binary form of the
     * quotient; the golden vectors expect that. */
    if (rest * 2 == step)
        add_fixed(to, (double)n / (double)unit, 1);
    else
        add_tenths(to, n / step + (rest * 2 > step));
    buf_char(to, letter);
}

void text_flops(struct buf *to, uint64_t flops)
{
    static const char letters[] = "KMGTPE";
    uint64_t unit = 1000;
    int letter = 0;

    if (flops < 1000) {
        add_number(to, flops);
        return;
    }
    while (letters[letter + 1] && flops / unit >= 1000) {
        unit *= 1000;
        letter++;
    }
    add_tenths(to, flops / (unit / 10) + (flops % (unit / 10) * 2 >= unit / 10));
    buf_char(to, letters[letter]);
}

void text_commas(struct buf *to, uint64_t n)
{
    char text[20];
    char *end = text + sizeof(text);
    char *at = write_digits(end, n);

    while (at < end) {
        buf_char(to, *at++);
        if (at < end && (end - at) % 3 == 0)
            buf_char(to, ',');
    }
}

void text_plural(struct buf *to, uint64_t n, const char *one, const char *many)
{
    text_commas(to, n);
    buf_printf(to, " %s", n == 1 ? one : many);
}

static const char byte_units[7][3] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};

/* The largest unit that is not larger than `bytes`. */
static unsigned byte_unit(uint64_t bytes)
{
    unsigned unit = 0;

    while (unit < 6 && bytes >> (10 * (unit + 1)) > 0)
        unit++;
    return unit;
}

/* Tenths of a unit (KB or larger). Rounds half to even, like "%.1f": these quotients are
 * exact in binary. */
static uint64_t byte_tenths(uint64_t bytes, unsigned unit)
{
    uint64_t half = UINT64_C(1) << (10 * unit - 1);
    uint64_t rest = bytes & ((half << 1) - 1);
    uint64_t tenths = (bytes >> (10 * unit)) * 10 + (rest * 10 >> (10 * unit));

    rest = rest * 10 & ((half << 1) - 1);
    return tenths + (rest > half || (rest == half && (tenths & 1)));
}

void text_bytes(struct buf *to, uint64_t bytes)
{
    unsigned unit = byte_unit(bytes);
    uint64_t tenths = unit > 0 ? byte_tenths(bytes, unit) : 0;

    if (tenths >= 10240 && unit < 6) { /* 1024.0KB */
        tenths = 10;
        unit++;
    }
    if (unit == 0)
        add_number(to, bytes);
    else
        add_tenths(to, tenths);
    buf_text(to, byte_units[unit]);
}

void text_bytes_rp(struct buf *to, uint64_t bytes)
{
    unsigned unit = byte_unit(bytes);

    if ((bytes & ((UINT64_C(1) << (10 * unit)) - 1)) == 0)
        add_number(to, bytes >> (10 * unit));
    else
        add_tenths(to, byte_tenths(bytes, unit));
    buf_text(to, byte_units[unit]);
}

void text_time(struct buf *to, double seconds)
{
    static const struct {
        double below, unit;
        int decimals;
        const char *name;
    } ranges[] = {
        {1e-6, 1e-9, 1, "ns"},    {1e-3, 1e-6, 2, "μs"}, {1, 1e-3, 2, "ms"},
        {10, 1, 4, "s"},          {60, 1, 2, "s"},       {3600, 60, 1, "min"},
        {INFINITY, 3600, 1, "h"},
    };
    size_t i = 0;

    while (i < COUNT_OF(ranges) - 1 && !(seconds < ranges[i].below))
        i++;
    /* Small units multiply: 1e-6 / 1e-9 is not quite 1000. */
    if (ranges[i].unit < 1)
        add_fixed(to, seconds * round(1 / ranges[i].unit), ranges[i].decimals);
    else
        add_fixed(to, seconds / ranges[i].unit, ranges[i].decimals);
    buf_text(to, ranges[i].name);
}

void text_percent(struct buf *to, double part, double whole)
{
    double share = whole > 0 ? part * 100 / whole : 0;
    unsigned percent = 0;

    if (share >= 100)
        percent = 100;
    else if (share > 0)
        percent = (unsigned)(share + 0.5);
    if (percent < 10)
        buf_char(to, ' ');
    add_number(to, percent);
    buf_char(to, '%');
}

static bool add_not_finite(struct buf *to, double value)
{
    if (isnan(value))
        buf_text(to, "NaN");
    else if (isinf(value))
        buf_text(to, value > 0 ? "Inf" : "-Inf");
    else
        return false;
    return true;
}

void text_real(struct buf *to, double value)
{
    if (!add_not_finite(to, value))
        add_general(to, value, 4);
}

void text_real_long(struct buf *to, double value)
{
    if (!add_not_finite(to, value))
        add_general(to, value, 6);
}

static void add_signed(struct buf *to, int64_t n)
{
    if (n < 0)
        buf_char(to, '-');
    add_number(to, n < 0 ? (uint64_t)0 - (uint64_t)n : (uint64_t)n);
}

void text_shape(struct buf *to, const int64_t *dims, int rank)
{
    if (rank == 0)
        buf_text(to, "scalar");
    for (int i = 0; i < rank; i++) {
        if (i > 0)
            buf_text(to, "×");
        add_signed(to, dims[i]);
    }
}

void text_open_shape(struct buf *to, const int64_t *dims, int rank)
{
    if (rank == 0)
        buf_text(to, "scalar");
    for (int i = 0; i < rank; i++) {
        if (i > 0)
            buf_text(to, "×");
        if (dims[i] < 0)
            buf_char(to, '?');
        else
            add_signed(to, dims[i]);
    }
}

void text_index(struct buf *to, const int64_t *dims, int rank, uint64_t at)
{
    uint64_t below = 1; /* elements per step of the next dimension */

    for (int i = 1; i < rank; i++)
        below *= dims[i] > 0 ? (uint64_t)dims[i] : 1;
    buf_char(to, '[');
    for (int i = 0; i < rank; i++) {
        if (i > 0) {
            buf_text(to, ", ");
            at %= below;
            below /= dims[i] > 0 ? (uint64_t)dims[i] : 1;
        }
        add_number(to, at / below);
    }
    buf_char(to, ']');
}

#define NO_NUMBER UINT64_MAX /* "cpu" */

/* Splits "cuda:1": returns "cuda" and sets *ret_number to 1. A name without a number is
 * returned whole. */
static struct str device_type(struct str name, uint64_t *ret_number)
{
    ptrdiff_t colon = str_find_last_char(name, ':');
    uint64_t number;

    *ret_number = NO_NUMBER;
    if (colon < 0 || !str_to_u64(str_from(name, (size_t)colon + 1), &number) ||
        number == NO_NUMBER)
        return name;
    *ret_number = number;
    return str_head(name, (size_t)colon);
}

/* By type, then by number; no number comes first. */
static int compare_devices(const void *left, const void *right)
{
    uint64_t a, b;
    int order = str_cmp(device_type(*(const struct str *)left, &a),
                        device_type(*(const struct str *)right, &b));

    if (order != 0)
        return order;
    a++; /* NO_NUMBER becomes 0 */
    b++;
    return a < b ? -1 : a > b;
}

void text_devices(struct buf *to, struct str *names, size_t n)
{
    struct str before = {NULL, 0};
    uint64_t number, last = NO_NUMBER;

    if (n > 1)
        qsort(names, n, sizeof(names[0]), compare_devices);
    for (size_t i = 0; i < n; i++) {
        struct str type = device_type(names[i], &number);
        bool same = i > 0 && str_eq(type, before);
        bool listed = same && last != NO_NUMBER; /* append to a list of numbers */

        if (same && number == last)
            continue;
        if (i > 0)
            buf_char(to, listed ? ',' : '/');
        if (!listed) {
            escape_terminal(to, type);
            buf_text(to, number == NO_NUMBER ? "" : ":");
        }
        if (number != NO_NUMBER)
            add_number(to, number);
        before = type;
        last = number;
    }
}
