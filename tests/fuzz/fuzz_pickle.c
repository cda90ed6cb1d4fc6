/* A bare pickle: the pickle machine, the values and tensors built from its graph, the
 * log. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Prefix a pickle header, so that no mutation is detected as another format. */
    uint8_t *pickle = malloc(size + 2);

    if (!pickle)
        abort();
    memcpy(pickle, "\x80\x02", 2);
    if (size > 0)
        memcpy(pickle + 2, data, size);
    everything_of(pickle, size + 2, "input.pkl");
    free(pickle);
    return 0;
}
