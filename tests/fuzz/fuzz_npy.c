/* An array of numpy: the input is the text of its header, up to the end of the line,
 * and its elements. Magic and length come before it. A zip (.npz) is used unchanged. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t magic[] = "\x93NUMPY\x01";
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    size_t length = end ? (size_t)(end - data) + 1 : size, head = 10;
    uint8_t *copy;

    if (size >= 2 && memcmp(data, "PK", 2) == 0) {
        everything_of(data, size, "input.npz");
        return 0;
    }
    copy = malloc(head + size);
    if (!copy)
        abort();
    memcpy(copy, magic, sizeof magic);
    copy[8] = (uint8_t)length;
    copy[9] = (uint8_t)(length >> 8);
    if (size)
        memcpy(copy + head, data, size);
    everything_of(copy, head + size, "input.npy");
    free(copy);
    return 0;
}
