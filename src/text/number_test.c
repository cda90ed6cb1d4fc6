#include "text/number.h"

#include <math.h>
#include <stdio.h>

#include "base/base.h"
#include "base/test.h"

static struct buf text = BUF_INIT;

/* The last formatted text. */
static const char *made(void)
{
    static char kept[128];

    CHECK(text.len < sizeof(kept));
    for (size_t i = 0; i <= text.len; i++)
        kept[i] = text.at[i];
    buf_release(&text);
    return kept;
}

TEST(counts_are_those_of_the_seed)
{
    static const struct {
        uint64_t n;
        const char *text;
    } golden[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1.0K"},
        {1050, "1.1K"},
        {999949, "999.9K"},
        {999950, "1000.0K"},
        {1000000, "1.0M"},
        {25557032, "25.6M"},
        {999999999, "1000.0M"},
        {1000000000, "1.0B"},
        {1250, "1.2K"}, /* exact in binary: to even */
        {1150, "1.1K"}, /* a little less in binary */
        {62006, "62.0K"},
        {UINT64_MAX, "18446744073.7B"},
    };

    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        text_count(&text, golden[i].n);
        CHECK_STR(made(), golden[i].text);
    }
}

TEST(flops_have_one_decimal_and_a_letter)
{
    static const struct {
        uint64_t n;
        const char *text;
    } golden[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1.0K"},
        {147456, "147.5K"},
        {231211008, "231.2M"},
        {8178000000, "8.2G"},
        {1250000000000, "1.3T"},
        {UINT64_MAX, "18.4E"},
    };

    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        text_flops(&text, golden[i].n);
        CHECK_STR(made(), golden[i].text);
    }
}

TEST(counts_agree_with_printf_of_the_quotient)
{
    char expected[32];

    for (uint64_t n = 1000; n < 3000000; n += 7) {
        double unit = n < 1000000 ? 1e3 : 1e6;
        char letter = n < 1000000 ? 'K' : 'M';

        snprintf(expected, sizeof(expected), "%.1f%c", (double)n / unit, letter);
        text_count(&text, n);
        CHECK_STR(text.at, expected);
        buf_clear(&text);
    }
    buf_release(&text);
}

TEST(bytes_above_1023_have_one_decimal)
{
    static const struct {
        uint64_t n;
        const char *text;
    } golden[] = {
        {0, "0B"},
        {1023, "1023B"},
        {1024, "1.0KB"},
        {1025, "1.0KB"},
        {1536, "1.5KB"},
        {8 << 20, "8.0MB"},
        {(8 << 20) + 9, "8.0MB"},
        {UINT64_C(1) << 40, "1.0TB"},
        {1023 * 1024 + 900, "1023.9KB"},
        {(1 << 20) - 1, "1.0MB"}, /* not 1024.0KB */
        {(1 << 30) - 1, "1.0GB"},
        {1024 + 256, "1.2KB"}, /* halfway: to even */
        {1024 + 768, "1.8KB"},
        {UINT64_MAX, "16.0EB"},
    };

    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        text_bytes(&text, golden[i].n);
        CHECK_STR(made(), golden[i].text);
    }
}

TEST(bytes_for_rp_are_those_of_the_seed)
{
    static const struct {
        uint64_t n;
        const char *text;
    } golden[] = {
        {0, "0B"},
        {1023, "1023B"},
        {1024, "1KB"},
        {1025, "1.0KB"},
        {1536, "1.5KB"},
        {23675, "23.1KB"},
        {1 << 20, "1MB"},
        {1610612736, "1.5GB"},
        {UINT64_C(1) << 40, "1TB"},
        {(1 << 20) - 1, "1024.0KB"},
        {1024 + 256, "1.2KB"}, /* halfway: to even */
        {1024 + 768, "1.8KB"},
        {UINT64_MAX, "16.0EB"},
    };

    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        text_bytes_rp(&text, golden[i].n);
        CHECK_STR(made(), golden[i].text);
    }
}

TEST(times_are_those_of_the_seed)
{
    static const struct {
        double seconds;
        const char *text;
    } golden[] = {
        {0, "0.0ns"},           {5e-10, "0.5ns"},         {9.999e-7, "999.9ns"},
        {1e-6, "1.00μs"},       {0.00012345, "123.45μs"}, {0.001, "1.00ms"},
        {0.0123456, "12.35ms"}, {0.9999, "999.90ms"},     {1.0, "1.0000s"},
        {9.99999, "10.0000s"},  {10, "10.00s"},           {59.999, "60.00s"},
        {60, "1.0min"},         {3599, "60.0min"},        {3600, "1.0h"},
        {86400, "24.0h"},
    };

    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        text_time(&text, golden[i].seconds);
        CHECK_STR(made(), golden[i].text);
    }
}

TEST(shares_are_rounded_and_kept_between_0_and_100)
{
    static const struct {
        double percent;
        const char *text;
    } golden[] = {
        {-1, " 0%"},   {0.49, " 0%"}, {0.5, " 1%"},  {1, " 1%"},
        {9.49, " 9%"}, {9.99, "10%"}, {71.8, "72%"}, {99.99, "100%"},
        {100, "100%"}, {250, "100%"}, {29, "29%"},
    };

    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        text_percent(&text, golden[i].percent, 100);
        CHECK_STR(made(), golden[i].text);
    }
    text_percent(&text, 3, 0);
    CHECK_STR(made(), " 0%");
    text_percent(&text, NAN, 1);
    CHECK_STR(made(), " 0%");
}

TEST(long_counts_have_commas)
{
    static const struct {
        uint64_t n;
        const char *text;
    } golden[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1,000"},
        {25557032, "25,557,032"},
        {UINT64_MAX, "18,446,744,073,709,551,615"},
    };

    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        text_commas(&text, golden[i].n);
        CHECK_STR(made(), golden[i].text);
    }
}

TEST(reals_have_four_or_six_digits)
{
    text_real(&text, -0.544408);
    CHECK_STR(made(), "-0.5444");
    text_real(&text, 3.1124e-9);
    CHECK_STR(made(), "3.112e-09");
    text_real_long(&text, -0.544408);
    CHECK_STR(made(), "-0.544408");
    text_real(&text, NAN);
    CHECK_STR(made(), "NaN");
    text_real(&text, INFINITY);
    CHECK_STR(made(), "Inf");
    text_real_long(&text, -INFINITY);
    CHECK_STR(made(), "-Inf");
}

/* A number as printf formats it. */
static const char *printed(double value, int digits)
{
    static char words[64];

    snprintf(words, sizeof(words), "%.*g", digits, value);
    return words;
}

TEST(reals_agree_with_printf)
{
    static const double near[] = {
        0,        -0.0,     1,      -1,       10,        100,           999999,
        999999.5, 1e6,      1e-4,   0.001,    0.0009999, 0.1,           0.3,
        0.5,      0.25,     1234.5, 12345.65, 9999.95,   99999.95,      123450,
        100000.5, 0.015625, 2.5,    1.00005,  1.000005,  0.00100000005, 0.99999949999,
        999.9995, 1e300,    5e-324,
    };
    uint64_t state = 1;

    for (size_t i = 0; i < COUNT_OF(near); i++) {
        text_real_long(&text, near[i]);
        CHECK_STR(made(), printed(near[i], 6));
        text_real(&text, near[i]);
        CHECK_STR(made(), printed(near[i], 4));
    }
    for (int i = 0; i < 200000; i++) {
        double value;

        /* Numbers of all sizes from 1e-5 on, half of them with few digits. */
        state = state * 6364136223846793005u + 1442695040888963407u;
        value = (double)(state >> 40) / (i & 1 ? 1 << 24 : 1000) *
                pow(10, (double)(state >> 8 & 15) - 6);
        text_real_long(&text, i & 2 ? -value : value);
        CHECK_STR(made(), printed(i & 2 ? -value : value, 6));
    }
}

TEST(shapes_and_indices_have_no_commas_in_their_numbers)
{
    const int64_t image[] = {3, 224, 224}, matrix[] = {120, 400}, big[] = {50257, -1};

    text_shape(&text, image, 3);
    CHECK_STR(made(), "3×224×224");
    text_shape(&text, big, 2);
    CHECK_STR(made(), "50257×-1");
    text_open_shape(&text, big, 2);
    CHECK_STR(made(), "50257×?");
    text_open_shape(&text, image, 0);
    CHECK_STR(made(), "scalar");
    text_index(&text, matrix, 2, 83 * 400 + 225);
    CHECK_STR(made(), "[83, 225]");
    text_index(&text, image, 3, 224 * 224 * 2 + 224 * 223 + 5);
    CHECK_STR(made(), "[2, 223, 5]");
    text_index(&text, image, 0, 0);
    CHECK_STR(made(), "[]");
}

TEST(the_shape_of_a_scalar_is_a_word)
{
    text_shape(&text, NULL, 0);
    CHECK_STR(made(), "scalar");
}

/* The output for the devices in `list`, separated by blanks. */
static const char *devices(const char *list)
{
    struct str rest = str_of(list), names[8];
    size_t n = 0;

    while (rest.len > 0 && n < COUNT_OF(names) && str_split(&rest, ' ', &names[n]))
        n++;
    text_devices(&text, names, n);
    return made();
}

TEST(devices_of_one_type_share_its_name)
{
    text_devices(&text, NULL, 0);
    CHECK_INT(text.len, 0);
    CHECK_STR(devices("cpu"), "cpu");
    CHECK_STR(devices("cuda:0"), "cuda:0");
    CHECK_STR(devices("cuda:0 cuda:1 cpu"), "cpu/cuda:0,1");
    CHECK_STR(devices("cuda:10 cuda:9 cuda:10"), "cuda:9,10");
    CHECK_STR(devices("cuda:1 cuda xpu:0 meta"), "cuda/cuda:1/meta/xpu:0");
    CHECK_STR(devices("cuda: cuda:x cuda:99999999999999999999"),
              "cuda:/cuda:99999999999999999999/cuda:x");
    CHECK_STR(devices("\x1b:3"), "\\x1b:3");
}
