/* A zip archive: its directory, each entry's header and bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "base/blob.h"
#include "model/build.h"
#include "read/file/zip_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_entries(struct zip *zip, struct build *build)
{
    struct arena arena;

    arena_init(&arena, (size_t)16 << 20);
    for (uint32_t i = 0; i < zip->n && i < 1000; i++) {
        struct str record = zip_record(zip, i), bytes;
        uint64_t at;

        (void)zip_find_str(zip, record);
        (void)zip_data_at(zip, i, &at, NULL);
        if (zip_load(zip, i, 1 << 20, build, &arena, &bytes, NULL) < 0)
            continue;
        /* Touch both ends, so that the sanitizer detects an invalid span. */
        if (bytes.len > 0 && bytes.at[0] == bytes.at[bytes.len - 1])
            (void)zip_find_str(zip, bytes);
    }
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct blob *blob = blob_open_memory(data, size, "input.zip", NULL);
    struct build build;
    struct err err = {0};
    struct zip *zip;

    if (!blob)
        abort();
    if (build_init(&build, "input.zip", (size_t)64 << 20, NULL, NULL) < 0)
        abort();
    zip = zip_open(blob, &build, &err);
    if (!zip && err.code == ERR_NONE)
        zip = zip_salvage(blob, &build, &err);
    if (zip)
        read_entries(zip, &build);
    build_release(&build);
    blob_close(blob);
    return 0;
}
