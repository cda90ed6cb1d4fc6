/* An HDF5 file, of Keras or any other. Wrong checksums are only findings, so mutations
 * reach the content. */
#include <stdint.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    everything_of(data, size, "input.h5");
    return 0;
}
