/* A distributed checkpoint: the input is .metadata, a separator, and __0_0.distcp.
 * Writes both into a folder and reads it with all its values. */
#define _GNU_SOURCE /* memmem */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char separator[] = "\n----\n";
static char folder[] = "/tmp/fuzz_dcp_XXXXXX";

static void path_of(char to[64], const char *name)
{
    snprintf(to, 64, "%s/%s", folder, name);
}

static void drop_folder(void)
{
    char path[64];

    path_of(path, ".metadata");
    unlink(path);
    path_of(path, "__0_0.distcp");
    unlink(path);
    rmdir(folder);
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
    char path[64];
    FILE *file;

    path_of(path, name);
    file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

/* Read all bytes of all storages, in windows of an odd size. */
static void read_values(const struct model *model)
{
    uint8_t window[4099];

    for (uint32_t i = 0; i < model->n_storages; i++) {
        uint64_t have = storage_have(model, &model->storages[i]);

        if (have > 1 << 20)
            have = 1 << 20;
        for (uint64_t at = 0; at < have; at += sizeof window) {
            uint64_t left = have - at;

            source_bytes(model->source, i, at, window,
                         left < sizeof window ? (size_t)left : sizeof window, NULL);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int made;
    const uint8_t *cut = memmem(data, size, separator, sizeof separator - 1);
    size_t first = cut ? (size_t)(cut - data) : size;
    size_t skip = cut ? first + sizeof separator - 1 : size;
    const struct model *model;

    if (!made) {
        if (!mkdtemp(folder))
            abort();
        atexit(drop_folder);
        made = 1;
    }
    write_file(".metadata", data, first);
    write_file("__0_0.distcp", data + skip, size - skip);
    model = read_model(folder, NULL, NULL);
    if (model)
        read_values(model);
    model_free(model);
    return 0;
}
