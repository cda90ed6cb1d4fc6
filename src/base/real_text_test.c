#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/test.h"

static void check_text(double value, const char *expected)
{
    char text[32];

    CHECK_INT(real_text(value, text), strlen(expected));
    CHECK_STR(text, expected);
}

TEST(reals_have_the_shortest_text_and_stay_reals)
{
    check_text(0, "0.0");
    check_text(-0.0, "-0.0");
    check_text(3, "3.0");
    check_text(-12345, "-12345.0");
    check_text(0.1, "0.1");
    check_text(0.1 + 0.2, "0.30000000000000004");
    check_text((double)0.1f, "0.10000000149011612");
    check_text(1.0 / 3, "0.3333333333333333");
    check_text(-1.5e-7, "-1.5e-07");
    check_text(1e20, "1e+20");
    check_text(999999999999999, "999999999999999.0");
    check_text(1e15, "1e+15");
    check_text(1234567890123456, "1234567890123456.0");
    check_text(9007199254740992, "9007199254740992.0");
    check_text(DBL_MAX, "1.7976931348623157e+308");
    check_text(DBL_MIN, "2.2250738585072014e-308");
    check_text(DBL_TRUE_MIN, "5e-324");
    check_text(-DBL_TRUE_MIN * 3, "-1.5e-323");
}

TEST(every_real_reads_back_and_is_json)
{
    uint64_t bits = 1;
    int i;

    for (i = 0; i < 20000; i++) {
        struct json_read json;
        double value;
        char text[32];

        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        real_text(value, text);
        CHECK(strtod(text, NULL) == value);
        json_read_init(&json, str_of(text), NULL);
        CHECK(json_next(&json) == JSON_NUMBER && json_next(&json) == JSON_END);
        CHECK(strpbrk(text, ".e"));
    }
}

TEST(reals_have_a_point_in_every_locale)
{
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        SKIP("no German locale here");
    check_text(0.5, "0.5");
    setlocale(LC_NUMERIC, "C");
}
