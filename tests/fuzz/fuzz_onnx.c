/* An ONNX file. An input without an ONNX header becomes the bytes of the graph, so that
 * most mutations reach the graph. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes a length as a varint; returns the number of bytes. */
static size_t put_length(uint8_t *to, size_t length)
{
    size_t n = 0;

    for (; length > 127; length >>= 7)
        to[n++] = (uint8_t)(length & 127) | 128;
    to[n++] = (uint8_t)length;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t head[] = {0x08, 0x0a, 0x12, 0x01, 'f',
                                   0x42, 0x02, 0x10, 0x15, 0x3a};
    uint8_t *copy;
    size_t n = sizeof head;

    if (size > 0 && data[0] == 0x08) {
        everything_of(data, size, "input.onnx");
        return 0;
    }
    copy = malloc(sizeof head + 10 + size);
    if (!copy)
        abort();
    memcpy(copy, head, sizeof head);
    n += put_length(copy + n, size);
    if (size > 0)
        memcpy(copy + n, data, size);
    everything_of(copy, n + size, "input.onnx");
    free(copy);
    return 0;
}
