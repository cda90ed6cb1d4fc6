/* A GGUF file. Four bytes become its magic, so that no mutation loses it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy;

    if (size < 8)
        return 0;
    copy = malloc(size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    memcpy(copy, "GGUF", 4);
    everything_of(copy, size, "input.gguf");
    free(copy);
    return 0;
}
