/* A flatbuffer: TFLite or ExecuTorch, by the identifier in it. */
#include <stdint.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    everything_of(data, size, "input.tflite");
    return 0;
}
