/* An exported program: the input is the JSON of the program, a separator, the JSON of its
 * weights. An archive is built of them, and everything is queried. */
#define _GNU_SOURCE /* memmem */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARTS 4

static const char separator[] = "\n----\n";
static const char *const names[PARTS] = {"m/archive_format", "m/models/model.json",
                                         "m/data/weights/model_weights_config.json",
                                         "m/data/weights/weight_0"};

struct archive {
    uint8_t *at;
    size_t n;
};

static void put(struct archive *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to->at[to->n++] = (uint8_t)(value >> 8 * i);
}

static void put_bytes(struct archive *to, const void *at, size_t n)
{
    if (n > 0)
        memcpy(to->at + to->n, at, n);
    to->n += n;
}

/* A header without a checksum, which is only a finding. */
static void put_header(struct archive *to, const char *name, size_t size, int central)
{
    put(to, central ? 0x02014b50 : 0x04034b50, 4);
    put(to, 20, central ? 4 : 2);
    put(to, 0, 8);
    put(to, 0, 4);
    put(to, size, 4);
    put(to, size, 4);
    put(to, strlen(name), 2);
    put(to, 0, 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t weight[64];
    const uint8_t *cut = memmem(data, size, separator, sizeof separator - 1);
    size_t first = cut ? (size_t)(cut - data) : size;
    size_t skip = cut ? first + sizeof separator - 1 : size;
    const void *parts[PARTS] = {"pt2", data, data + skip, weight};
    size_t sizes[PARTS] = {3, first, size - skip, sizeof weight}, places[PARTS];
    struct archive zip = {malloc(size + 2048), 0};
    size_t directory, end;

    if (!zip.at)
        abort();
    for (int i = 0; i < PARTS; i++) {
        places[i] = zip.n;
        put_header(&zip, names[i], sizes[i], 0);
        put_bytes(&zip, names[i], strlen(names[i]));
        put_bytes(&zip, parts[i], sizes[i]);
    }
    directory = zip.n;
    for (int i = 0; i < PARTS; i++) {
        put_header(&zip, names[i], sizes[i], 1);
        put(&zip, 0, 8);
        put(&zip, 0, 2);
        put(&zip, places[i], 4);
        put_bytes(&zip, names[i], strlen(names[i]));
    }
    end = zip.n;
    put(&zip, 0x06054b50, 4);
    put(&zip, 0, 4);
    put(&zip, PARTS, 2);
    put(&zip, PARTS, 2);
    put(&zip, end - directory, 4);
    put(&zip, directory, 4);
    put(&zip, 0, 2);
    everything_of(zip.at, zip.n, "m.pt2");
    free(zip.at);
    return 0;
}
