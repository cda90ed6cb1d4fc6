/* A TorchScript archive. Checksums and sizes make zips hard to mutate, so the input is
 * text with separators, from which an archive is built: data.pkl, the code of one file,
 * the constants. Then everything is queried. */
#define _GNU_SOURCE /* memmem */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../damage/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARTS 4

static const char *const names[PARTS] = {"m/data.pkl", "m/constants.pkl",
                                         "m/code/__torch__.py", "m/data/0"};
static const char separator[] = "\n----\n";

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

/* The CRC 0 is almost always wrong; that gives a finding, but the bytes are still
 * read. */
static void put_header(struct archive *to, const char *name, size_t size, bool central)
{
    put(to, central ? 0x02014b50 : 0x04034b50, 4);
    put(to, 20, central ? 4 : 2);
    put(to, 0, 8); /* flags, method, time, date */
    put(to, 0, 4);
    put(to, size, 4);
    put(to, size, 4);
    put(to, strlen(name), 2);
    put(to, 0, 2);
}

static void put_end(struct archive *to, size_t directory, unsigned n)
{
    size_t end = to->n;

    put(to, 0x06054b50, 4);
    put(to, 0, 4);
    put(to, n, 2);
    put(to, n, 2);
    put(to, end - directory, 4);
    put(to, directory, 4);
    put(to, 0, 2);
}

/* Cut the part before the next separator off the input. */
static size_t next_part(const uint8_t **at, size_t *size, const uint8_t **ret_part)
{
    const uint8_t *end = memmem(*at, *size, separator, sizeof separator - 1);
    size_t n = end ? (size_t)(end - *at) : *size;
    size_t skip = end ? n + sizeof separator - 1 : n;

    *ret_part = *at;
    *at += skip;
    *size -= skip;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct archive zip = {malloc(size + 1024), 0};
    size_t places[PARTS], sizes[PARTS], directory;

    if (!zip.at)
        abort();
    for (int i = 0; i < PARTS; i++) {
        const uint8_t *part;

        sizes[i] = next_part(&data, &size, &part);
        places[i] = zip.n;
        put_header(&zip, names[i], sizes[i], false);
        put_bytes(&zip, names[i], strlen(names[i]));
        put_bytes(&zip, part, sizes[i]);
    }
    directory = zip.n;
    for (int i = 0; i < PARTS; i++) {
        put_header(&zip, names[i], sizes[i], true);
        put(&zip, 0, 8); /* comment, disk, attributes */
        put(&zip, 0, 2);
        put(&zip, places[i], 4);
        put_bytes(&zip, names[i], strlen(names[i]));
    }
    put_end(&zip, directory, PARTS);
    everything_of(zip.at, zip.n, "m.pt");
    free(zip.at);
    return 0;
}
