/* An exported program: the input is the JSON of the program, a separator, the JSON of its
 * weights. An archive is built of them, and everything is queried. */
#define _GNU_SOURCE /* memmem */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../damage/everything.h"
#include "stored.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARTS 4

static const char separator[] = "\n----\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t weight[64];
    const uint8_t *cut = memmem(data, size, separator, sizeof separator - 1);
    size_t first = cut ? (size_t)(cut - data) : size;
    size_t skip = cut ? first + sizeof separator - 1 : size, n;
    const struct stored_member parts[PARTS] = {
        {"m/archive_format", "pt2", 3},
        {"m/models/model.json", data, first},
        {"m/data/weights/model_weights_config.json", data + skip, size - skip},
        {"m/data/weights/weight_0", weight, sizeof weight},
    };
    uint8_t *zip = stored_zip(parts, PARTS, &n);

    everything_of(zip, n, "m.pt2");
    free(zip);
    return 0;
}
