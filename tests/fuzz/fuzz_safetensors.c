/* A safetensors file. The length field is corrected, so that most mutations reach the
 * header's text; inputs of odd size keep theirs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The header ends at the last '}' of the input. */
static uint64_t header_length(const uint8_t *data, size_t size)
{
    while (size > 8 && data[size - 1] != '}')
        size--;
    return size > 8 ? size - 8 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t length = header_length(data, size);
    uint8_t *copy;

    if (size < 8 || size % 2 == 1 || length == 0) {
        everything_of(data, size, "input.safetensors");
        return 0;
    }
    copy = malloc(size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    for (int i = 0; i < 8; i++)
        copy[i] = (uint8_t)(length >> 8 * i);
    everything_of(copy, size, "input.safetensors");
    free(copy);
    return 0;
}
