/* An HDF5 file: a model of Keras, or any other. Wrong checksums are findings only, so
 * mutations reach everything behind them. */
#include <stdint.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    everything_of(data, size, "input.h5");
    return 0;
}
