#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/elements.h"
#include "measure/spread_in.h"
#include "measure/spread_test_in.h"

/* The bytes of a spread, read again from memory of exactly their size. */
static int unpack(const struct buf *packed, size_t len, struct spread *ret_spread,
                  struct err *err)
{
    uint8_t *copy = malloc(len + 1);
    int status;

    CHECK(copy != NULL);
    memcpy(copy + 1, packed->at, len);
    status = spread_unpack(bytes_of(copy + 1, len), ret_spread, err);
    free(copy);
    return status;
}

/* It must round-trip; none of its prefixes is a spread. */
static void check_packing(const struct spread *spread)
{
    struct buf packed = BUF_INIT;
    struct spread again = {0};
    struct err err = {0};

    spread_pack(spread, &packed);
    CHECK(!packed.bad && unpack(&packed, packed.len, &again, NULL) == 0);
    CHECK(spread_equal(spread, &again));
    for (size_t len = 0; len < packed.len; len++) {
        err.code = ERR_NONE;
        CHECK(unpack(&packed, len, &again, &err) < 0);
        CHECK_INT(err.code, ERR_FORMAT);
    }
    buf_char(&packed, 0);
    CHECK(unpack(&packed, packed.len, &again, NULL) < 0);
    CHECK(spread_equal(spread, &again)); /* failures leave it unchanged */
    buf_release(&packed);
    spread_release(&again);
}

TEST(a_packed_spread_reads_back_and_is_refused_if_truncated)
{
    static const enum dtype types[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_BFLOAT16,
                                       DTYPE_INT8, DTYPE_INT64};
    static const size_t sizes[] = {0, 1, 2, 7, 100, 3000};
    struct spread_counter *counter = spread_counter_new(NULL);
    uint8_t *room = malloc(3000 * 8);
    uint64_t state = 0x9e3779b97f4a7c15u;
    struct spread spread = {0};

    CHECK(counter != NULL && room != NULL);
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (int flavour = 0; flavour < SPREAD_TEST_FLAVOURS; flavour++)
            for (size_t i = 0; i < COUNT_OF(sizes); i++) {
                spread_test_fill(types[t], (enum flavour_of_spread)flavour, room,
                                 sizes[i], &state);
                CHECK(spread_of(counter, types[t], room, sizes[i], SPREAD_ALL, &spread,
                                NULL) == 0);
                check_packing(&spread);
                spread.of += UINT64_MAX / 2; /* it is a sample now */
                check_packing(&spread);
            }
    spread_release(&spread);
    free(room);
    spread_counter_free(counter);
}

/* Counts near 2^64, whose differences do not fit into 63 bits. */
TEST(a_packed_spread_may_have_counts_of_64_bits)
{
    struct spread_bin log[2] = {{spread_key(1), 1}, {spread_key(3), UINT64_MAX - 2}};
    struct spread spread = {.of = UINT64_MAX,
                            .seen = UINT64_MAX - 1,
                            .counted = UINT64_MAX - 1,
                            .min = 1,
                            .max = 3,
                            .exponent = -5,
                            .first = 32,
                            .n_linear = 65,
                            .log = log,
                            .n_log = 2};

    spread.linear[0] = 1;
    spread.linear[64] = UINT64_MAX - 2;
    check_packing(&spread);
}

TEST(a_sample_of_a_bell_takes_less_than_200_bytes)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    float *x = malloc(40000 * sizeof *x);
    uint64_t state = 88172645463325252u;
    struct buf packed = BUF_INIT;
    struct spread spread = {0};

    CHECK(counter != NULL && x != NULL);
    spread_test_fill(DTYPE_FLOAT32, SPREAD_TEST_BELL, x, 40000, &state);
    CHECK(spread_of(counter, DTYPE_FLOAT32, x, 40000, SPREAD_SOME, &spread, NULL) == 0);
    spread_pack(&spread, &packed);
    CHECK(packed.len > 100 && packed.len < 200);
    buf_clear(&packed);
    spread_test_fill(DTYPE_FLOAT32, SPREAD_TEST_CONSTANT, x, 40000, &state);
    CHECK(spread_of(counter, DTYPE_FLOAT32, x, 40000, SPREAD_SOME, &spread, NULL) == 0);
    spread_pack(&spread, &packed);
    CHECK(packed.len < 32);
    buf_release(&packed);
    spread_release(&spread);
    free(x);
    spread_counter_free(counter);
}

/* The invariants that every reader of a spread relies on. */
static void check_sound(const struct spread *spread)
{
    uint64_t linear = 0, log = 0;

    CHECK(spread->counted <= spread->seen && spread->seen <= spread->of);
    CHECK(spread->n_linear <= SPREAD_LINEAR && spread->n_log <= 2 * SPREAD_KEYS + 1);
    CHECK((spread->n_linear == 0) == (spread->counted == 0));
    CHECK(isfinite(spread->min) && spread->min <= spread->max);
    for (uint32_t b = 0; b < spread->n_linear; b++)
        linear += spread->linear[b];
    for (uint32_t i = 0; i < spread->n_log; i++) {
        log += spread->log[i].count;
        CHECK(spread->log[i].count > 0);
        CHECK(i == 0 || spread->log[i].key > spread->log[i - 1].key);
    }
    CHECK(linear == spread->counted && log == spread->counted);
}

TEST(damaged_bytes_are_refused_or_give_another_valid_spread)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    uint64_t state = 0x2545f4914f6cdd1du;
    struct buf packed = BUF_INIT;
    struct spread spread = {0}, other = {0};
    float x[1000];
    uint32_t sound = 0;

    CHECK(counter != NULL);
    for (int round = 0; round < 60000; round++) {
        if (round % 1000 == 0) {
            uint64_t flavour = test_random(&state) % SPREAD_TEST_FLAVOURS;
            uint64_t n = round % 2000 ? 5 : 1000;

            spread_test_fill(DTYPE_FLOAT32, (enum flavour_of_spread)flavour, x, n,
                             &state);
            CHECK(spread_of(counter, DTYPE_FLOAT32, x, n, SPREAD_ALL, &spread, NULL) ==
                  0);
        }
        buf_clear(&packed);
        spread_pack(&spread, &packed);
        for (uint64_t i = test_random(&state) % 3; i < 3; i++)
            packed.at[test_random(&state) % packed.len] ^=
                (char)(1 << test_random(&state) % 8);
        if (unpack(&packed, packed.len, &other, NULL) == 0) {
            check_sound(&other);
            check_packing(&other);
            sound++;
        }
    }
    CHECK(sound > 0);
    buf_release(&packed);
    spread_release(&spread);
    spread_release(&other);
    spread_counter_free(counter);
}

/* The example of docs/run-file.md. */
TEST(the_packed_form_is_the_documented_one)
{
    static const uint8_t expected[] = {1,    0,    0,    0x80, 0xbf, 0,
                                       0,    0x80, 0x3f, 0x03, 0x21, 0x01,
                                       0x7d, 0x22, 0x01, 0xf8, 0xff, 0x01};
    static const float x[3] = {-1, 1, NAN};
    struct spread_counter *counter = spread_counter_new(NULL);
    struct buf packed = BUF_INIT;
    struct spread spread = {0};

    CHECK(counter != NULL);
    CHECK(spread_of(counter, DTYPE_FLOAT32, x, 3, SPREAD_ALL, &spread, NULL) == 0);
    spread_pack(&spread, &packed);
    CHECK_INT(packed.len, sizeof expected);
    CHECK_MEM(packed.at, expected, sizeof expected);
    buf_release(&packed);
    spread_release(&spread);
    spread_counter_free(counter);
}

TEST(the_log_bin_of_a_linear_bin_is_that_of_its_lowest_magnitude)
{
    static const int64_t indices[] = {
        4, 5, 6, 7, 64, 127, 128, 255, ((int64_t)1 << 53) - 1};

    for (int32_t k = -1074; k <= 1018; k++)
        for (size_t i = 0; i < COUNT_OF(indices); i++) {
            double magnitude = ldexp((double)indices[i], k);

            if (isinf(magnitude))
                continue;
            CHECK_INT(spread_key_of_index(indices[i], k), spread_key(magnitude));
            CHECK_INT(spread_key_of_index(~indices[i], k), -spread_key(magnitude));
        }
}
