#include "base/pages_in.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"

static bool all_are(const unsigned char *at, size_t n, int value)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] != value)
            return false;
    return true;
}

TEST(memory_from_the_system_is_zeroed_and_keeps_its_bytes_as_it_grows)
{
    static const size_t sizes[] = {100, 64 * KIB, 1 * MIB, 5 * MIB, 12 * MIB};
    unsigned char *at = pages_alloc(sizes[0]);

    CHECK(at && all_are(at, sizes[0], 0));
    memset(at, 7, sizes[0]);
    for (size_t i = 1; i < COUNT_OF(sizes); i++) {
        at = pages_grow(at, sizes[i - 1], sizes[i]);
        CHECK(at && all_are(at, sizes[i - 1], 7));
        CHECK(all_are(at + sizes[i - 1], sizes[i] - sizes[i - 1], 0));
        memset(at, 7, sizes[i]);
    }
    pages_free(at, sizes[COUNT_OF(sizes) - 1]);
}
