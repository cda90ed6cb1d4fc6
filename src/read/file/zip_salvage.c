/* zip_salvage.c - archives whose end is missing: an interrupted download, a full disk.
 * Walks the local headers from the front. torch writes them without sizes, so an entry
 * ends at a data descriptor with exactly the number of bytes since its begin; failing
 * that, at the next header of the same folder. Every byte is read once. */
#include "read/file/zip_in.h"

#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "base/bytes.h"
#include "base/work.h"

#define WINDOW          (256 * KIB)
#define CENTRAL_SIGN    0x02014b50u /* "PK\1\2" */
#define DESCRIPTOR_SIGN 0x08074b50u /* "PK\7\8" */
#define FLAG_DESCRIPTOR 8
#define EXTRA_ZIP64     1
#define SEARCH_MAX      (4 * GIB)  /* bytes searched for signatures */
#define UNPACK_MAX      (16 * MIB) /* of an entry whose size is not known */

struct scan {
    struct zip *zip;
    uint8_t *window; /* WINDOW bytes of the file from window_at on */
    uint64_t window_at;
    size_t window_len;
    uint64_t searched;
};

/* The n bytes at `at`. NULL: beyond the end, or a read error (then `err` is set). */
static const uint8_t *peek(struct scan *scan, uint64_t at, size_t n, struct err *err)
{
    struct blob *blob = scan->zip->blob;
    size_t want = WINDOW;

    if (at > blob->size || n > blob->size - at)
        return NULL;
    if (at >= scan->window_at && at - scan->window_at + n <= scan->window_len)
        return scan->window + (at - scan->window_at);
    if (want > blob->size - at)
        want = (size_t)(blob->size - at);
    scan->window_len = 0;
    if (blob_read(blob, at, scan->window, want, err) < 0)
        return NULL;
    scan->window_at = at;
    scan->window_len = want;
    return scan->window;
}

static uint32_t sign_at(const uint8_t *at)
{
    struct bytes in = bytes_of(at, 4);

    return bytes_u32(&in);
}

/* Find the next "PK" and two small bytes, from `from` on. 1: found, 0: none, -1: failed
 * or cancelled. */
static int next_sign(struct scan *scan, uint64_t from, uint64_t *ret_at,
                     struct err *err)
{
    struct build *build = scan->zip->build;
    const uint8_t *front;

    while ((front = peek(scan, from, 4, err)) != NULL) {
        const uint8_t *end = scan->window + scan->window_len;
        const uint8_t *hit = front;

        while ((hit = memchr(hit, 'P', (size_t)(end - hit) - 3)) != NULL) {
            if (hit[1] == 'K' && hit[2] < 9 && hit[3] < 9) {
                *ret_at = scan->window_at + (uint64_t)(hit - scan->window);
                scan->searched += *ret_at - from;
                return 1;
            }
            if (end - ++hit < 4)
                break;
        }
        scan->searched += (uint64_t)(end - front) - 3;
        from += (uint64_t)(end - front) - 3;
        if (!work_step(build->work, 0))
            return err_set(err, ERR_CANCELLED, "stopped");
        if (scan->searched > SEARCH_MAX)
            return 0;
    }
    return err && err->code != ERR_NONE ? -1 : 0;
}

/* The local header at `at` and its name. False: none, or incomplete. */
static bool header_at(struct scan *scan, uint64_t at, struct zip_local *local,
                      struct str *ret_name, struct err *err)
{
    const uint8_t *bytes = peek(scan, at, ZIP_LOCAL_SIZE, err);

    if (!bytes || !zip_local_parse(bytes, local) || local->name_len == 0 ||
        local->name_len > ZIP_NAME_MAX)
        return false;
    bytes = peek(scan, at, ZIP_LOCAL_SIZE + (size_t)local->name_len, err);
    if (!bytes)
        return false;
    *ret_name = str_span(bytes + ZIP_LOCAL_SIZE, local->name_len);
    return true;
}

/* The length of the descriptor at `at` if it fits an entry of `d` packed bytes, or 0. */
static uint64_t descriptor_fits(struct scan *scan, uint64_t at, uint64_t d,
                                struct zip_entry *entry)
{
    bool stored = entry->method == ZIP_STORED;
    const uint8_t *bytes = peek(scan, at, 16, NULL);
    struct bytes in;
    uint32_t crc, packed, size;
    uint64_t packed64, size64;

    if (!bytes)
        return 0;
    in = bytes_of(bytes + 4, 12);
    crc = bytes_u32(&in);
    packed = bytes_u32(&in);
    size = bytes_u32(&in);
    if (packed == d && (!stored || size == d)) {
        entry->crc = crc;
        entry->size = size;
        return 16;
    }
    bytes = peek(scan, at, 24, NULL);
    if (!bytes)
        return 0;
    in = bytes_of(bytes + 8, 16);
    packed64 = bytes_u64(&in);
    size64 = bytes_u64(&in);
    if (packed64 != d || (stored && size64 != d))
        return 0;
    entry->crc = crc;
    entry->size = size64;
    return 24;
}

/* Is there a header of the archive's folder at `at`: the next entry, or the directory?
 * Content may contain a signature by chance, but not with this folder's name. */
static bool next_begins(struct scan *scan, uint64_t at)
{
    struct str root = scan->zip->root, name;
    struct zip_local local;
    const uint8_t *bytes = peek(scan, at, 4, NULL);

    if (bytes && sign_at(bytes) == CENTRAL_SIGN) {
        bytes = peek(scan, at, 46 + root.len, NULL);
        return bytes && str_starts(str_span(bytes + 46, root.len), root);
    }
    return header_at(scan, at, &local, &name, NULL) && str_starts(name, root);
}

/* An entry without its end: only the number of packed bytes is known. */
static void mark_cut(struct zip_entry *entry, uint64_t packed)
{
    entry->cut = true;
    entry->packed = packed;
    entry->size = packed;
    if (entry->method == ZIP_DEFLATED)
        entry->size = packed < UNPACK_MAX / 1032 ? packed * 1032 : UNPACK_MAX;
}

/* Find the end of an entry whose header has no size. *ret_next is the offset after it.
 */
static int search_end(struct scan *scan, struct zip_entry *entry, uint64_t data_at,
                      uint64_t *ret_next, struct err *err)
{
    uint64_t at = data_at;
    int found;

    while ((found = next_sign(scan, at, &at, err)) > 0) {
        const uint8_t *bytes = peek(scan, at, 4, err);
        uint64_t length = 0;

        if (!bytes)
            return -1;
        if (sign_at(bytes) == DESCRIPTOR_SIGN)
            length = descriptor_fits(scan, at, at - data_at, entry);
        if (length > 0) {
            entry->packed = at - data_at;
            *ret_next = at + length;
            return 0;
        }
        if (next_begins(scan, at)) {
            mark_cut(entry, at - data_at);
            *ret_next = at;
            return 0;
        }
        at++;
    }
    if (found < 0)
        return -1;
    mark_cut(entry, scan->zip->blob->size - data_at);
    *ret_next = scan->zip->blob->size;
    return 0;
}

/* Read the 64-bit sizes in the extra field: unpacked, then packed. Without them the
 * entry extends to the end of the file. */
static void take_large_sizes(struct scan *scan, struct zip_entry *entry, uint64_t at,
                             size_t len)
{
    const uint8_t *bytes = peek(scan, at, len, NULL);
    struct bytes in = bytes_of(bytes, bytes ? len : 0);

    entry->packed = UINT64_MAX;
    while (bytes_left(&in) >= 4) {
        uint16_t id = bytes_u16(&in);
        struct str body = bytes_take(&in, bytes_u16(&in));
        struct bytes from = bytes_of(body.at, body.len);

        if (id != EXTRA_ZIP64 || body.len < 16)
            continue;
        entry->size = bytes_u64(&from);
        entry->packed = bytes_u64(&from);
        return;
    }
}

/* Read the sizes in the header, where most other programs write them. */
static void take_sizes(struct scan *scan, struct zip_entry *entry,
                       const struct zip_local *local, uint64_t data_at,
                       uint64_t *ret_next)
{
    uint64_t left = scan->zip->blob->size - data_at;

    entry->crc = local->crc;
    entry->packed = local->packed;
    entry->size = local->size;
    if (local->packed == UINT32_MAX)
        take_large_sizes(scan, entry, data_at - local->extra_len, local->extra_len);
    if (entry->packed > left)
        mark_cut(entry, left);
    *ret_next = data_at + entry->packed;
}

static int add_entry(struct scan *scan, const struct zip_entry *entry, struct err *err)
{
    struct zip *zip = scan->zip;
    struct arena *arena = &zip->build->scratch;

    if (arena_room(arena, &zip->entries, zip->n, &zip->room, sizeof *zip->entries) < 0)
        return arena_err(arena, zip->blob->name, err);
    zip->entries[zip->n] = *entry;
    zip_check_entry(zip, &zip->entries[zip->n++]);
    return 0;
}

/* Read the entry at *at and move past it. 1: an entry, 0: none here, -1: failed. */
static int salvage_entry(struct scan *scan, uint64_t *at, struct err *err)
{
    struct zip *zip = scan->zip;
    struct zip_entry entry = {.header_at = *at};
    uint64_t data_at;
    struct zip_local local;
    struct str name;
    int status = 0;

    if (!header_at(scan, *at, &local, &name, err))
        return err->code != ERR_NONE ? -1 : 0;
    data_at = *at + ZIP_LOCAL_SIZE + local.name_len + local.extra_len;
    if (data_at > zip->blob->size)
        return 0;
    entry.name = arena_str(&zip->build->scratch, name);
    if (!entry.name.at)
        return arena_err(&zip->build->scratch, zip->blob->name, err);
    entry.flags = local.flags;
    entry.method = local.method;
    if (zip->n == 0)
        zip->root = str_head(entry.name, (size_t)(str_find_char(entry.name, '/') + 1));
    if ((local.flags & FLAG_DESCRIPTOR) && local.packed == 0)
        status = search_end(scan, &entry, data_at, at, err);
    else
        take_sizes(scan, &entry, &local, data_at, at);
    if (status < 0 || add_entry(scan, &entry, err) < 0)
        return -1;
    return 1;
}

/* Walk from entry to entry; where there is none, search for the next one. */
static int walk(struct scan *scan, struct err *err)
{
    struct zip *zip = scan->zip;
    uint64_t at = 0;
    int found;

    while (zip->n < ZIP_ENTRIES && scan->searched <= SEARCH_MAX) {
        const uint8_t *bytes;

        found = salvage_entry(scan, &at, err);
        if (found < 0)
            return -1;
        bytes = peek(scan, at, 4, err);
        if (bytes && sign_at(bytes) == CENTRAL_SIGN && next_begins(scan, at)) {
            zip->directory_at = at;
            return 0;
        }
        if (found)
            continue;
        found = next_sign(scan, at + 1, &at, err);
        if (found <= 0)
            return found;
    }
    return 0;
}

static void say_salvaged(struct scan *scan)
{
    struct zip *zip = scan->zip;
    const struct zip_entry *last = &zip->entries[zip->n - 1];

    build_finding(zip->build, FINDING_TRUNCATED, SEVERITY_ALARM, FINDING_NOWHERE,
                  "%s is truncated or damaged: the directory at its end is missing; "
                  "%" PRIu32 " entries were found. Download it again",
                  zip->blob->name, zip->n);
    if (last->cut)
        build_finding(zip->build, FINDING_TRUNCATED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "entry %.*s is truncated after %" PRIu64 " bytes",
                      STR_ARG(last->name), last->packed);
    if (scan->searched > SEARCH_MAX)
        build_finding(zip->build, FINDING_LIMIT, SEVERITY_WARNING, FINDING_NOWHERE,
                      "%s: only the first %zu GiB were searched for entries",
                      zip->blob->name, SEARCH_MAX / GIB);
}

struct zip *zip_salvage(struct blob *blob, struct build *build, struct err *err)
{
    struct arena *arena = &build->scratch;
    struct zip *zip = arena_alloc(arena, sizeof *zip);
    struct scan scan = {.zip = zip, .window = arena_alloc(arena, WINDOW)};
    struct err why = {0};

    if (!zip || !scan.window) {
        arena_err(arena, blob->name, err);
        return NULL;
    }
    zip->blob = blob;
    zip->build = build;
    zip->directory_at = blob->size;
    zip->salvaged = true;
    if (walk(&scan, &why) < 0) {
        err_copy(err, &why);
        return NULL;
    }
    if (zip->n == 0)
        return NULL;
    say_salvaged(&scan);
    return zip_check(zip, err) < 0 ? NULL : zip;
}
