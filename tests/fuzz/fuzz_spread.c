/* A packed histogram: if it can be read, it can be viewed, merged and written again. */
#include <stdint.h>
#include <stdlib.h>

#include "measure/spread.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile double fuzz_spread_seen;

static void view(const struct spread *spread)
{
    double rows[40], below, above;

    for (int i = 0; i <= 8; i++) {
        double q = i / 8.0;

        fuzz_spread_seen += spread_quantile(spread, q, &below, &above);
        for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
            struct spread_axis axis = spread_axis_of(spread, logarithmic, q);

            spread_rows(spread, &axis, rows, 40, &below, &above);
            fuzz_spread_seen += rows[i] + below + above;
        }
    }
    fuzz_spread_seen += spread_prefers_log(spread);
}

/* Packing and reading again gives the same histogram. */
static void write_again(const struct spread *spread)
{
    struct buf packed = BUF_INIT;
    struct spread again = {0};

    spread_pack(spread, &packed);
    if (packed.bad ||
        spread_unpack(bytes_of(packed.at, packed.len), &again, NULL) < 0 ||
        !spread_equal(spread, &again))
        abort();
    buf_release(&packed);
    spread_release(&again);
}

/* The input is two histograms; the first byte says where the second begins. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spread a = {0}, b = {0};
    size_t cut;

    if (size == 0)
        return 0;
    cut = 1 + (data[0] < size - 1 ? data[0] : size - 1);
    if (spread_unpack(bytes_of(data + 1, cut - 1), &a, NULL) == 0) {
        write_again(&a);
        view(&a);
    }
    if (spread_unpack(bytes_of(data + cut, size - cut), &b, NULL) == 0) {
        write_again(&b);
        if (spread_merge(&a, &b, NULL) == 0) {
            write_again(&a);
            view(&a);
        }
    }
    spread_release(&a);
    spread_release(&b);
    return 0;
}
