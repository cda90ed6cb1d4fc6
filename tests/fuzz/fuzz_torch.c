/* Any bytes as a file: detect the format, read it, and query everything. The seeds are
 * torch files of all versions. */
#include <stdint.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    everything_of(data, size, "input.pt");
    return 0;
}
