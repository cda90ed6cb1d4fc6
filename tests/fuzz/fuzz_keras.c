/* A model of Keras without weights: the input is its configuration. An archive is built
 * around it, and everything is queried. */
#include <stdint.h>
#include <stdlib.h>

#include "../damage/everything.h"
#include "stored.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct stored_member parts[2] = {{"metadata.json", "{}", 2},
                                           {"config.json", data, size}};
    size_t n;
    uint8_t *zip = stored_zip(parts, 2, &n);

    everything_of(zip, n, "m.keras");
    free(zip);
    return 0;
}
