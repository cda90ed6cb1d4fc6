#include "base/json_write.h"

#include <float.h>
#include <math.h>
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

int real_text(double value, char to[32])
{
    /* 15 digits always round-trip, so fewer need no trial: %g drops trailing zeros.
     * Below DBL_MIN doubles have fewer digits. */
    int digits = fabs(value) < DBL_MIN ? 1 : 15;
    locale_t before;
    int len;

    if (fabs(value) < MANY && value == floor(value))
        return whole_text(value, to);
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
