#include "base/json_write.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_locale_in.h"

/* Whole numbers below this are printed as digits directly. */
#define MANY 1e15

static int whole_text(double value, char to[32])
{
    return snprintf(to, 32, "%s%lld.0", signbit(value) ? "-" : "",
                    (long long)fabs(value));
}

/* ---- few digits, without printf and strtod: eight times as fast ---- */

#define FEW 6 /* digits */

/* Powers of ten that a double holds exactly. */
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The value as digits * 10^-power, if it is the double nearest to that. */
static bool few_digits(double value, long *ret_digits, int *ret_exponent)
{
    int exponent = (int)floor(log10(value)), power = FEW - 1 - exponent;
    double digits;

    if (abs(power) >= (int)(sizeof tens / sizeof *tens))
        return false;
    digits = rint(power >= 0 ? value * tens[power] : value / tens[-power]);
    if ((power >= 0 ? digits / tens[power] : digits * tens[-power]) != value)
        return false;
    *ret_digits = (long)digits;
    *ret_exponent = exponent;
    /* log10() may be off by one at a power of ten. */
    if (*ret_digits >= 1000000) {
        *ret_digits /= 10;
        ++*ret_exponent;
    }
    return *ret_digits >= 100000;
}

/* As "%.15g". Returns 0 if it takes more digits. */
static int few_text(double value, char to[32])
{
    char digits[FEW], *at = to;
    int exponent, n = FEW;
    long rest;

    if (!isfinite(value) || value == 0 || !few_digits(fabs(value), &rest, &exponent))
        return 0;
    for (int i = FEW; i-- > 0; rest /= 10)
        digits[i] = (char)('0' + rest % 10);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    if (exponent >= FEW)
        return 0;
    if (signbit(value))
        *at++ = '-';
    if (exponent >= 0 && n <= exponent + 1)
        return 0; /* whole */
    if (exponent < -4) {
        *at++ = digits[0];
        if (n > 1) {
            *at++ = '.';
            memcpy(at, digits + 1, (size_t)n - 1);
            at += n - 1;
        }
        *at++ = 'e';
        *at++ = '-';
        *at++ = (char)('0' + -exponent / 10);
        *at++ = (char)('0' + -exponent % 10);
    } else if (exponent < 0) {
        memcpy(at, "0.000", 5);
        at += 1 - exponent;
        memcpy(at, digits, (size_t)n);
        at += n;
    } else {
        memcpy(at, digits, (size_t)exponent + 1);
        at += exponent + 1;
        *at++ = '.';
        memcpy(at, digits + exponent + 1, (size_t)(n - exponent - 1));
        at += n - exponent - 1;
    }
    *at = '\0';
    return (int)(at - to);
}

int real_text(double value, char to[32])
{
    /* 15 digits always round-trip, so fewer need no trial: %g drops trailing zeros.
     * Below DBL_MIN doubles have fewer digits. */
    int digits = fabs(value) < DBL_MIN ? 1 : 15;
    locale_t before;
    int len;

    if (fabs(value) < MANY && value == floor(value))
        return whole_text(value, to);
    len = few_text(value, to);
    if (len > 0)
        return len;
    before = plain_locale_enter();
    do
        len = snprintf(to, 32, "%.*g", digits, value);
    while (digits++ < 17 && strtod(to, NULL) != value);
    plain_locale_leave(before);
    /* Whole numbers keep a ".0", so that every reader parses them as reals. */
    if (!strpbrk(to, ".e"))
        len += snprintf(to + len, 32 - (size_t)len, ".0");
    return len;
}
