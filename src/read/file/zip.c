#include "read/file/zip_in.h"

#include <inttypes.h>

#include "base/base.h"
#include "base/bytes.h"

#define CENTRAL_SIGN   0x02014b50u /* "PK\1\2" */
#define CENTRAL_SIZE   46
#define END_SIGN       0x06054b50u /* "PK\5\6" */
#define END_SIZE       22
#define END64_SIGN     0x06064b50u /* "PK\6\6" */
#define END64_SIZE     56
#define LOCATOR_SIGN   0x07064b50u /* "PK\6\7" */
#define LOCATOR_SIZE   20
#define TAIL_MAX       (END_SIZE + 65535) /* the end record with its longest comment */
#define DIRECTORY_MAX  (256 * MIB)
#define SPLIT_SIGN     0x08074b50u /* "PK\7\8" */
#define EXTRA_ZIP64    1
#define END_CANDIDATES 8 /* limit for the end signatures to try */

/* An end record of either kind. */
struct end {
    uint64_t at;    /* of the 32-bit end record */
    uint64_t limit; /* the directory must end here or before */
    uint64_t entries, size, offset;
    uint64_t trailing; /* bytes after the record and its comment */
    uint64_t missing;  /* bytes that its comment lacks */
    uint64_t shift;    /* bytes before the archive */
    bool disks;        /* marked as split over several files */
    bool disagree;     /* the 64-bit record contradicts the 32-bit one */
    bool lost_zip64;   /* the locator points to no 64-bit record */
};

static uint16_t u16_at(const char *at)
{
    return (uint16_t)((uint8_t)at[0] | (uint8_t)at[1] << 8);
}

static uint32_t u32_at(const char *at)
{
    return u16_at(at) | (uint32_t)u16_at(at + 2) << 16;
}

bool zip_looks_like(struct str head)
{
    uint32_t sign = head.len >= 4 ? u32_at(head.at) : 0;

    return sign == ZIP_LOCAL_SIGN || sign == END_SIGN ||
           (sign == SPLIT_SIGN && head.len >= 8 &&
            u32_at(head.at + 4) == ZIP_LOCAL_SIGN);
}

/* ---- the end records ---- */

/* Read the 64-bit end record at `at`. False: none. */
static bool read_end64(struct blob *blob, uint64_t at, struct end *end)
{
    uint8_t bytes[END64_SIZE];
    struct bytes in;
    uint32_t disk, start_disk;
    uint64_t here, entries, size, offset;

    if (at > blob->size || blob->size - at < END64_SIZE ||
        blob_read(blob, at, bytes, sizeof bytes, NULL) < 0)
        return false;
    in = bytes_of(bytes, sizeof bytes);
    if (bytes_u32(&in) != END64_SIGN)
        return false;
    bytes_skip(&in, 8 + 2 + 2);
    disk = bytes_u32(&in);
    start_disk = bytes_u32(&in);
    here = bytes_u64(&in);
    entries = bytes_u64(&in);
    size = bytes_u64(&in);
    offset = bytes_u64(&in);
    /* Fields of the short record that are not all ones must be equal. */
    end->disagree = (end->entries != 0xffff && end->entries != entries) ||
                    (end->size != UINT32_MAX && end->size != size) ||
                    (end->offset != UINT32_MAX && end->offset != offset);
    end->disks = end->disks || disk || start_disk || here != entries;
    end->entries = entries;
    end->size = size;
    end->offset = offset;
    end->limit = at;
    return true;
}

/* Follow the locator before the end record, if there is one. The 64-bit record takes
 * precedence over the short one, as in torch. */
static void follow_locator(struct blob *blob, struct end *end)
{
    uint8_t bytes[LOCATOR_SIZE];
    struct bytes in;
    uint64_t at;

    if (end->at < LOCATOR_SIZE ||
        blob_read(blob, end->at - LOCATOR_SIZE, bytes, sizeof bytes, NULL) < 0)
        return;
    in = bytes_of(bytes, sizeof bytes);
    if (bytes_u32(&in) != LOCATOR_SIGN)
        return;
    bytes_skip(&in, 4);
    at = bytes_u64(&in);
    if (at < end->at && read_end64(blob, at, end))
        return;
    /* With bytes before the archive, offsets are wrong; but the record still precedes
     * its locator. */
    if (end->at >= LOCATOR_SIZE + END64_SIZE &&
        read_end64(blob, end->at - LOCATOR_SIZE - END64_SIZE, end))
        return;
    end->lost_zip64 = true;
}

/* Is there a directory (perhaps an empty one) at `at`? */
static bool directory_begins(struct blob *blob, const struct end *end, uint64_t at)
{
    char bytes[4];

    if (at > end->limit || end->size > end->limit - at)
        return false;
    if (end->size == 0)
        return true;
    return end->size >= CENTRAL_SIZE && blob_read(blob, at, bytes, 4, NULL) == 0 &&
           u32_at(bytes) == CENTRAL_SIGN;
}

/* Parse the end record at `at`, whose bytes are in `in`. False: no directory. */
static bool read_end(struct blob *blob, uint64_t at, struct bytes in, struct end *end)
{
    uint16_t disk, start_disk, here, comment;
    uint64_t behind = blob->size - at - END_SIZE;

    *end = (struct end){.at = at, .limit = at};
    bytes_skip(&in, 4);
    disk = bytes_u16(&in);
    start_disk = bytes_u16(&in);
    here = bytes_u16(&in);
    end->entries = bytes_u16(&in);
    end->size = bytes_u32(&in);
    end->offset = bytes_u32(&in);
    comment = bytes_u16(&in);
    end->disks = (disk && disk != 0xffff) || (start_disk && start_disk != 0xffff) ||
                 here != end->entries;
    end->trailing = behind > comment ? behind - comment : 0;
    end->missing = behind < comment ? comment - behind : 0;
    follow_locator(blob, end);
    if (directory_begins(blob, end, end->offset))
        return true;
    if (end->size == 0 || end->size > end->limit ||
        end->limit - end->size < end->offset)
        return false;
    end->shift = end->limit - end->size - end->offset;
    return directory_begins(blob, end, end->offset + end->shift);
}

/* Find the end record: the last signature with a directory, as in torch. Programs
 * disagree if the comment of an earlier one reaches exactly to the end of the file;
 * *ret_second is then its offset, else 0. */
static bool find_end(struct blob *blob, struct str tail, struct end *ret_end,
                     uint64_t *ret_second)
{
    uint64_t base = blob->size - tail.len;
    struct end end;
    int tried = 0;
    bool found = false;

    for (size_t i = tail.len - END_SIZE + 1; i-- > 0 && tried < END_CANDIDATES;) {
        ptrdiff_t hit = str_find_last_char(str_head(tail, i + 1), 'P');

        if (hit < 0)
            break;
        i = (size_t)hit;
        if (u32_at(tail.at + i) != END_SIGN)
            continue;
        tried++;
        if (!read_end(blob, base + i, bytes_of(tail.at + i, tail.len - i), &end))
            continue;
        if (!found)
            *ret_end = end;
        else if (end.trailing == 0 && end.missing == 0)
            *ret_second = end.at;
        found = true;
    }
    return found;
}

/* Findings about the end records. */
static void judge_end(struct zip *zip, const struct end *end, uint64_t second)
{
    struct build *build = zip->build;
    const char *name = zip->blob->name;
    uint64_t directory_end = end->offset + end->shift + end->size;

    if (second)
        build_finding(
            build, FINDING_ZIP_TRICK, SEVERITY_ALARM, FINDING_NOWHERE,
            "%s has two end records, at bytes %" PRIu64 " and %" PRIu64
            ", the later one in the comment of the earlier: programs disagree "
            "on which one to use; PyTorch and torchoscope use the later one",
            name, second, end->at);
    if (end->trailing)
        build_finding(build, FINDING_TRAILING, SEVERITY_WARNING, FINDING_NOWHERE,
                      "%s has %" PRIu64 " bytes after the end of the archive", name,
                      end->trailing);
    if (end->missing)
        build_finding(build, FINDING_TRUNCATED, SEVERITY_WARNING, FINDING_NOWHERE,
                      "the comment of the archive %s lacks its last %" PRIu64 " bytes",
                      name, end->missing);
    if (end->disagree)
        build_finding(build, FINDING_ZIP_TRICK, SEVERITY_ALARM, FINDING_NOWHERE,
                      "the two end records of %s contradict each other; the 64-bit one "
                      "counts",
                      name);
    if (end->lost_zip64)
        build_finding(build, FINDING_DAMAGED, SEVERITY_WARNING, FINDING_NOWHERE,
                      "%s has a locator at byte %" PRIu64
                      " that points to no 64-bit end record",
                      name, end->at - LOCATOR_SIZE);
    if (end->disks)
        build_finding(build, FINDING_UNSUPPORTED, SEVERITY_WARNING, FINDING_NOWHERE,
                      "%s is marked as one part of a split archive", name);
    if (end->shift)
        build_finding(build, FINDING_ZIP_TRICK, SEVERITY_WARNING, FINDING_NOWHERE,
                      "%" PRIu64 " bytes before the archive in %s: PyTorch does not "
                      "read it as a zip file, other programs do",
                      end->shift, name);
    if (directory_end < end->limit)
        build_finding(build, FINDING_HOLE, SEVERITY_WARNING, FINDING_NOWHERE,
                      "%s has %" PRIu64
                      " bytes between its directory and the end record",
                      name, end->limit - directory_end);
}

/* ---- the directory ---- */

/* Read the fields that do not fit 32 bits from the zip64 extra field, which has only
 * those, in this order. False: one is missing. */
static bool read_extra(struct zip_entry *entry, struct str extra)
{
    struct bytes in = bytes_of(extra.at, extra.len);
    uint64_t *fields[] = {&entry->size, &entry->packed, &entry->header_at};

    while (bytes_left(&in) >= 4) {
        uint16_t id = bytes_u16(&in);
        struct str body = bytes_take(&in, bytes_u16(&in));
        struct bytes from = bytes_of(body.at, body.len);

        if (in.bad || id != EXTRA_ZIP64)
            continue;
        for (size_t i = 0; i < COUNT_OF(fields); i++)
            if (*fields[i] == UINT32_MAX)
                *fields[i] = bytes_u64(&from);
        return !from.bad;
    }
    return false;
}

/* Read the next record of the directory. False: at its end, or no record. The fixed part
 * is checked once and read by offsets, for speed. */
static bool read_entry(struct zip *zip, struct bytes *in, struct zip_entry *entry)
{
    const char *fixed = bytes_take(in, CENTRAL_SIZE).at;
    struct str extra;

    if (in->bad || u32_at(fixed) != CENTRAL_SIGN)
        return false;
    *entry = (struct zip_entry){
        .flags = u16_at(fixed + 8),
        .method = u16_at(fixed + 10),
        .crc = u32_at(fixed + 16),
        .packed = u32_at(fixed + 20),
        .size = u32_at(fixed + 24),
        .header_at = u32_at(fixed + 42),
    };
    entry->name = bytes_take(in, u16_at(fixed + 28));
    extra = bytes_take(in, u16_at(fixed + 30));
    bytes_skip(in, u16_at(fixed + 32));
    if (in->bad)
        return false;
    if ((entry->packed == UINT32_MAX || entry->size == UINT32_MAX ||
         entry->header_at == UINT32_MAX) &&
        !read_extra(entry, extra)) {
        entry->bad = true;
        build_finding(zip->build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "entry %.*s lacks its 64-bit sizes", STR_ARG(entry->name));
    }
    if (__builtin_add_overflow(entry->header_at, zip->shift, &entry->header_at))
        entry->header_at = UINT64_MAX;
    return true;
}

/* Compare the directory with the end record. */
static void judge_directory(struct zip *zip, const struct end *end, size_t left)
{
    if (zip->n == ZIP_ENTRIES && left > 0)
        build_finding(zip->build, FINDING_LIMIT, SEVERITY_WARNING, FINDING_NOWHERE,
                      "%s has more than %d entries; the rest is left out",
                      zip->blob->name, ZIP_ENTRIES);
    else if (left > 0)
        build_finding(zip->build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "the directory of %s is truncated or damaged at byte %" PRIu64
                      ", after entry %" PRIu32,
                      zip->blob->name, zip->directory_at + end->size - left, zip->n);
    if (zip->n != end->entries && zip->n < ZIP_ENTRIES)
        build_finding(zip->build, FINDING_ZIP_TRICK, SEVERITY_ALARM, FINDING_NOWHERE,
                      "the end record of %s declares %" PRIu64
                      " entries, the directory has %" PRIu32,
                      zip->blob->name, end->entries, zip->n);
}

static int read_directory(struct zip *zip, struct end *end, struct err *err)
{
    struct arena *arena = &zip->build->scratch;
    uint64_t most;
    struct bytes in;
    struct str all;

    if (end->size > DIRECTORY_MAX) {
        build_finding(zip->build, FINDING_LIMIT, SEVERITY_WARNING, FINDING_NOWHERE,
                      "the directory of %s is %" PRIu64
                      " bytes long; only the first %zu are read",
                      zip->blob->name, end->size, DIRECTORY_MAX);
        end->size = DIRECTORY_MAX;
    }
    if (blob_load(zip->blob, zip->directory_at, end->size, arena, &all, err) < 0)
        return -1;
    /* The declared count is only a hint for the first allocation. */
    most = end->size / CENTRAL_SIZE < end->entries ? end->size / CENTRAL_SIZE
                                                   : end->entries;
    most = most < ZIP_ENTRIES ? most : ZIP_ENTRIES;
    zip->entries = arena_array(arena, most, sizeof *zip->entries);
    if (!zip->entries)
        return arena_err(arena, zip->blob->name, err);
    zip->room = (uint32_t)most;
    in = bytes_of(all.at, all.len);
    while (zip->n < ZIP_ENTRIES && bytes_left(&in) >= CENTRAL_SIZE) {
        struct str left = {(const char *)in.at, bytes_left(&in)};

        if (arena_room(arena, &zip->entries, zip->n, &zip->room, sizeof *zip->entries) <
            0)
            return arena_err(arena, zip->blob->name, err);
        if (!read_entry(zip, &in, &zip->entries[zip->n])) {
            in = bytes_of(left.at, left.len);
            break;
        }
        zip_check_entry(zip, &zip->entries[zip->n++]);
    }
    judge_directory(zip, end, bytes_left(&in));
    return 0;
}

static struct zip *open_zip(struct blob *blob, bool behind, struct build *build,
                            struct err *err)
{
    uint64_t want = blob->size < TAIL_MAX ? blob->size : TAIL_MAX;
    uint64_t second = 0;
    struct str tail;
    struct end end = {0};
    struct zip *zip;

    if (blob->size < END_SIZE)
        return NULL;
    if (blob_load(blob, blob->size - want, want, &build->scratch, &tail, err) < 0)
        return NULL;
    if (!find_end(blob, tail, &end, &second))
        return NULL;
    zip = arena_alloc(&build->scratch, sizeof *zip);
    if (!zip) {
        arena_err(&build->scratch, blob->name, err);
        return NULL;
    }
    zip->blob = blob;
    zip->build = build;
    zip->directory_at = end.offset + end.shift;
    zip->shift = end.shift;
    zip->behind = behind;
    judge_end(zip, &end, second);
    if (read_directory(zip, &end, err) < 0 || zip_check(zip, err) < 0)
        return NULL;
    return zip;
}

struct zip *zip_open(struct blob *blob, struct build *build, struct err *err)
{
    return open_zip(blob, false, build, err);
}

struct zip *zip_open_behind(struct blob *blob, struct build *build, struct err *err)
{
    return open_zip(blob, true, build, err);
}
