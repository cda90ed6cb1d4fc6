/* Any bytes as a file: whichever reader knows them, and everything one may ask then.
 * The seeds are torch files of all ages. */
#include <stdint.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    everything_of(data, size, "input.pt");
    return 0;
}
