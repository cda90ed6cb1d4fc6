#include "read/file/zip_in.h"

#include <inttypes.h>
#include <zlib.h>

#include "base/base.h"
#include "base/bytes.h"
#include "base/work.h"
#include "read/file/inflate_in.h"

#define FLAGS_ENCRYPTED 0x2041 /* flags that make some programs ask for a password */
#define DEFLATE_RATIO   1032   /* most bytes that a packed byte can unpack to */

bool zip_local_parse(const uint8_t bytes[ZIP_LOCAL_SIZE], struct zip_local *ret_local)
{
    struct bytes in = bytes_of(bytes, ZIP_LOCAL_SIZE);

    if (bytes_u32(&in) != ZIP_LOCAL_SIGN)
        return false;
    bytes_skip(&in, 2);
    ret_local->flags = bytes_u16(&in);
    ret_local->method = bytes_u16(&in);
    bytes_skip(&in, 4);
    ret_local->crc = bytes_u32(&in);
    ret_local->packed = bytes_u32(&in);
    ret_local->size = bytes_u32(&in);
    ret_local->name_len = bytes_u16(&in);
    ret_local->extra_len = bytes_u16(&in);
    return true;
}

int zip_payload_at(struct blob *blob, uint64_t header_at, struct zip_local *ret_local,
                   uint64_t *ret_at, struct err *err)
{
    uint8_t bytes[ZIP_LOCAL_SIZE];
    struct zip_local local;

    if (blob_read(blob, header_at, bytes, sizeof bytes, err) < 0)
        return -1;
    if (!zip_local_parse(bytes, &local))
        return err_set_about(err, ERR_FORMAT, blob->name,
                             ": no zip entry at byte %" PRIu64, header_at);
    *ret_at = header_at + ZIP_LOCAL_SIZE + local.name_len + local.extra_len;
    *ret_local = local;
    return 0;
}

uint64_t zip_finding_entry(const struct zip *zip, const struct zip_entry *entry)
{
    return zip->inner ? 0 : entry->header_at + 1;
}

/* Compare the local header of an entry with the directory, once. The directory wins. */
static void compare(struct zip *zip, struct zip_entry *entry,
                    const struct zip_local *local)
{
    struct build *build = zip->build;
    char name[ZIP_NAME_MAX];
    size_t len = local->name_len < sizeof name ? local->name_len : sizeof name;

    if (entry->looked)
        return;
    entry->looked = true;
    if (blob_read(zip->blob, entry->header_at + ZIP_LOCAL_SIZE, name, len, NULL) == 0 &&
        !str_eq(str_span(name, len), str_head(entry->name, sizeof name)))
        build_finding(
            build, FINDING_ZIP_TRICK, SEVERITY_ALARM, FINDING_NOWHERE,
            "entry %.*s has the name %.*s in its local header: programs disagree on "
            "its name",
            STR_ARG(entry->name), (int)len, name)
            ->entry = zip_finding_entry(zip, entry);
    if ((local->flags & ~entry->flags) & FLAGS_ENCRYPTED)
        build_finding(build, FINDING_ENCRYPTED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "entry %.*s is marked as encrypted in its local header, but not "
                      "in the directory: PyTorch reads it, scanners may give up",
                      STR_ARG(entry->name))
            ->entry = zip_finding_entry(zip, entry);
    if (local->method != entry->method)
        build_finding(
            build, FINDING_ZIP_TRICK, SEVERITY_ALARM, FINDING_NOWHERE,
            "entry %.*s has compression method %u in its local header and %u in the "
            "directory",
            STR_ARG(entry->name), local->method, entry->method)
            ->entry = zip_finding_entry(zip, entry);
}

int zip_data_at(struct zip *zip, uint32_t entry_id, uint64_t *ret_at, struct err *err)
{
    struct zip_entry *entry = &zip->entries[entry_id];
    struct zip_local local;
    uint64_t at;

    if (entry->bad)
        return err_set_about(err, ERR_FORMAT, zip->blob->name,
                             ": entry %.*s is not safe to read", STR_ARG(entry->name));
    if (zip_payload_at(zip->blob, entry->header_at, &local, &at, err) < 0)
        return -1;
    if (!zip->salvaged)
        compare(zip, entry, &local);
    if (at > zip->directory_at || entry->packed > zip->directory_at - at)
        return err_set_about(err, ERR_FORMAT, zip->blob->name,
                             ": entry %.*s reaches into the archive's directory",
                             STR_ARG(entry->name));
    *ret_at = at;
    return 0;
}

/* ---- content ---- */

/* How many bytes to allocate: not more than a stream of this length can unpack to. */
static uint64_t plausible_size(const struct zip_entry *entry)
{
    uint64_t most;

    if (entry->method == ZIP_STORED)
        return entry->packed;
    if (__builtin_mul_overflow(entry->packed, (uint64_t)DEFLATE_RATIO, &most))
        return entry->size;
    return entry->size < most ? entry->size : most;
}

/* Unpack in steps, so that it can be cancelled. */
static int unpack(struct inflate *inflate, struct build *build, char *to, uint64_t size,
                  struct err *err)
{
    uint64_t done = 0;

    while (done < size) {
        size_t n = size - done < MIB ? (size_t)(size - done) : MIB;

        if (inflate_read(inflate, to + done, n, err) < 0)
            return -1;
        done += n;
        if (!work_step(build->work, 0))
            return err_set(err, ERR_CANCELLED, "stopped");
    }
    return 0;
}

static int load_deflated(struct zip *zip, const struct zip_entry *entry, uint64_t at,
                         struct build *build, struct arena *arena,
                         struct str *ret_bytes, struct err *err)
{
    uint64_t size = plausible_size(entry);
    struct err why = {0};
    struct inflate *inflate;
    char *to;

    if (size >= SIZE_MAX)
        return err_set_about(err, ERR_LIMIT, zip->blob->name,
                             ": entry %.*s is too large", STR_ARG(entry->name));
    to = arena_alloc(arena, (size_t)size + 1);
    if (!to)
        return arena_err(arena, zip->blob->name, err);
    inflate = inflate_open(zip->blob, at, entry->packed, entry->size, err);
    if (!inflate)
        return -1;
    unpack(inflate, build, to, size, &why);
    *ret_bytes = str_span(to, (size_t)inflate_done(inflate));
    if (why.code == ERR_NONE && inflate_has_more(inflate))
        build_finding(build, FINDING_SIZE_MISMATCH, SEVERITY_ALARM, FINDING_NOWHERE,
                      "entry %.*s unpacks to more than its declared %" PRIu64
                      " bytes; the rest is left out",
                      STR_ARG(entry->name), entry->size)
            ->entry = zip_finding_entry(zip, entry);
    inflate_close(inflate);
    if (why.code == ERR_CANCELLED || why.code == ERR_IO || why.code == ERR_CHANGED)
        return err_copy(err, &why);
    if (!entry->cut && ret_bytes->len < entry->size)
        build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "entry %.*s unpacks to only %zu of its declared %" PRIu64
                      " bytes",
                      STR_ARG(entry->name), ret_bytes->len, entry->size)
            ->entry = zip_finding_entry(zip, entry);
    return 0;
}

uint32_t zip_checksum(uint32_t crc, const void *at, size_t n)
{
    return (uint32_t)crc32_z(crc, at, n);
}

void zip_compare_checksum(const struct zip *zip, const struct zip_entry *entry,
                          uint32_t crc)
{
    if (crc != entry->crc)
        build_finding(zip->build, FINDING_CHECKSUM, SEVERITY_ALARM, FINDING_NOWHERE,
                      "entry %.*s has checksum %08" PRIx32
                      ", the archive says %08" PRIx32 "; PyTorch loads it anyway",
                      STR_ARG(entry->name), crc, entry->crc)
            ->entry = zip_finding_entry(zip, entry);
}

int zip_load(struct zip *zip, uint32_t entry_id, uint64_t limit, struct build *build,
             struct arena *arena, struct str *ret_bytes, struct err *err)
{
    const struct zip_entry *entry = &zip->entries[entry_id];
    struct str bytes;
    uint64_t at;
    int status;

    if (plausible_size(entry) > limit)
        return err_set_about(err, ERR_LIMIT, zip->blob->name,
                             ": entry %.*s has %" PRIu64
                             " bytes; the limit is %" PRIu64,
                             STR_ARG(entry->name), entry->size, limit);
    if (zip_data_at(zip, entry_id, &at, err) < 0)
        return -1;
    if (entry->method == ZIP_STORED)
        status = blob_load(zip->blob, at, entry->packed, arena, &bytes, err);
    else
        status = load_deflated(zip, entry, at, build, arena, &bytes, err);
    if (status < 0)
        return -1;
    if (!entry->cut)
        zip_compare_checksum(zip, entry, zip_checksum(0, bytes.at, bytes.len));
    *ret_bytes = bytes;
    return 0;
}
