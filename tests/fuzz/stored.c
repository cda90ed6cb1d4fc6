#include "stored.h"

#include <stdlib.h>
#include <string.h>

#define HEADERS 256 /* bytes for both headers of a member, with its name twice */

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

static void put_header(struct archive *to, const struct stored_member *member,
                       int central)
{
    put(to, central ? 0x02014b50 : 0x04034b50, 4);
    put(to, 20, central ? 4 : 2);
    put(to, 0, 8);
    put(to, 0, 4);
    put(to, member->size, 4);
    put(to, member->size, 4);
    put(to, strlen(member->name), 2);
    put(to, 0, 2);
}

uint8_t *stored_zip(const struct stored_member *members, int n, size_t *ret_size)
{
    size_t room = HEADERS, end, place = 0;
    struct archive zip = {0};

    for (int i = 0; i < n; i++)
        room += members[i].size + HEADERS;
    zip.at = malloc(room);
    if (!zip.at)
        abort();
    for (int i = 0; i < n; i++) {
        put_header(&zip, &members[i], 0);
        put_bytes(&zip, members[i].name, strlen(members[i].name));
        put_bytes(&zip, members[i].at, members[i].size);
    }
    end = zip.n;
    for (int i = 0; i < n; i++) {
        put_header(&zip, &members[i], 1);
        put(&zip, 0, 8);
        put(&zip, 0, 2);
        put(&zip, place, 4);
        put_bytes(&zip, members[i].name, strlen(members[i].name));
        place += 30 + strlen(members[i].name) + members[i].size;
    }
    *ret_size = zip.n;
    put(&zip, 0x06054b50, 4);
    put(&zip, 0, 4);
    put(&zip, (uint64_t)n, 2);
    put(&zip, (uint64_t)n, 2);
    put(&zip, *ret_size - end, 4);
    put(&zip, end, 4);
    put(&zip, 0, 2);
    *ret_size = zip.n;
    return zip.at;
}
