#include "read/file/zip_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define ONES  0x0101010101010101u
#define HIGHS 0x8080808080808080u

#define RUN_LEAST  64 /* shorter runs go into the table */
#define RUN_DIGITS 9

#define FLAG_ENCRYPTED   0x0001
#define FLAG_PATCH       0x0020
#define FLAG_STRONG      0x0040
#define FLAG_HIDDEN      0x2000
#define FLAGS_WE_DISLIKE (FLAG_ENCRYPTED | FLAG_PATCH | FLAG_STRONG | FLAG_HIDDEN)

/* ---- names ---- */

/* Eight characters in ASCII lower case. */
static uint64_t fold_word(uint64_t word)
{
    uint64_t low = word & ~HIGHS;
    uint64_t from_a = low + ONES * (0x80 - 'A');
    uint64_t beyond_z = low + ONES * (0x7f - 'Z');

    return word | (((from_a ^ beyond_z) & ~word & HIGHS) >> 2);
}

/* A hash that ignores case. */
static uint64_t folded_hash(struct str name)
{
    uint64_t hash = name.len;
    size_t at = 0;
    uint64_t word;

    for (; name.len - at >= 8; at += 8) {
        memcpy(&word, name.at + at, 8);
        hash = hash_mix(hash, fold_word(word));
    }
    word = 0;
    if (name.len > at)
        memcpy(&word, name.at + at, name.len - at);
    return hash_mix(hash, fold_word(word));
}

static bool same_folded(struct str a, struct str b)
{
    return str_eq(a, b) || (a.len == b.len && str_starts_word(a, b));
}

/* The slot of the name, or the free one where it belongs. The half of the hash in a
 * slot avoids most comparisons of names. */
static uint64_t *find_slot(const struct zip *zip, struct str name, uint64_t hash)
{
    uint32_t i = (uint32_t)hash & zip->mask;

    for (; zip->slots[i]; i = (i + 1) & zip->mask)
        if (zip->slots[i] >> 32 == hash >> 32 &&
            same_folded(zip->entries[(uint32_t)zip->slots[i] - 1].name, name))
            break;
    return &zip->slots[i];
}

/* Split a name into its head and the number at its end, which has no leading zeros.
 * False: there is no such number. */
static bool split_number(struct str name, struct str *ret_head, uint32_t *ret_number)
{
    size_t len = name.len;
    uint32_t number = 0;

    while (len > 0 && name.at[len - 1] >= '0' && name.at[len - 1] <= '9')
        len--;
    if (len == name.len || name.len - len > RUN_DIGITS ||
        (name.at[len] == '0' && name.len - len > 1))
        return false;
    for (size_t i = len; i < name.len; i++)
        number = number * 10 + (uint32_t)(name.at[i] - '0');
    *ret_head = str_head(name, len);
    *ret_number = number;
    return true;
}

/* The entry of the run with this name, or -1. Most runs have no gaps: try the entry at
 * that distance first. */
static int64_t find_in_run(const struct zip *zip, struct str name)
{
    uint32_t low = zip->run, high = zip->run + zip->n_run, middle, number, here;
    struct str head;

    if (zip->n_run == 0 || !split_number(name, &head, &number) ||
        !same_folded(head, zip->run_head))
        return -1;
    split_number(zip->entries[low].name, &head, &here);
    middle = number - here < high - low ? low + (number - here) : low;
    while (low < high) {
        split_number(zip->entries[middle].name, &head, &here);
        if (here == number)
            return middle;
        if (here < number)
            low = middle + 1;
        else
            high = middle;
        middle = low + (high - low) / 2;
    }
    return -1;
}

int64_t zip_find_name(const struct zip *zip, struct str name)
{
    int64_t in_run = find_in_run(zip, name);

    if (in_run >= 0 || !zip->slots)
        return in_run;
    return (int64_t)(uint32_t)*find_slot(zip, name, folded_hash(name)) - 1;
}

int64_t zip_find_str(const struct zip *zip, struct str record)
{
    char name[ZIP_NAME_MAX];

    if (record.len > sizeof name || zip->root.len > sizeof name - record.len)
        return -1;
    if (zip->root.len > 0)
        memcpy(name, zip->root.at, zip->root.len);
    if (record.len > 0)
        memcpy(name + zip->root.len, record.at, record.len);
    return zip_find_name(zip, str_span(name, zip->root.len + record.len));
}

int64_t zip_find(const struct zip *zip, const char *record)
{
    return zip_find_str(zip, str_of(record));
}

struct str zip_record(const struct zip *zip, uint32_t entry)
{
    struct str name = zip->entries[entry].name;

    return str_starts(name, zip->root) ? str_from(name, zip->root.len) : name;
}

/* ---- one entry ---- */

static void refuse(struct zip *zip, struct zip_entry *entry, enum finding_code code,
                   const char *why)
{
    entry->bad = true;
    build_finding(zip->build, code, SEVERITY_ALARM, FINDING_NOWHERE,
                  "entry %.*s %s; its content is not shown", STR_ARG(entry->name), why);
}

static const char *method_name(uint16_t method)
{
    switch (method) {
    case 9:
        return "deflate64";
    case 12:
        return "bzip2";
    case 14:
        return "lzma";
    case 93:
        return "zstd";
    case 95:
        return "xz";
    case 99:
        return "AES encryption";
    default:
        return "an unknown method";
    }
}

static void check_method(struct zip *zip, struct zip_entry *entry)
{
    if (entry->method == ZIP_STORED && entry->packed != entry->size && !entry->bad)
        refuse(zip, entry, FINDING_SIZE_MISMATCH,
               "is not compressed, but has two different sizes");
    if (entry->method == ZIP_STORED || entry->method == ZIP_DEFLATED)
        return;
    entry->bad = true;
    build_finding(zip->build, FINDING_UNSUPPORTED, SEVERITY_WARNING, FINDING_NOWHERE,
                  "entry %.*s is compressed with %s (method %u), which neither PyTorch "
                  "nor torchoscope supports",
                  STR_ARG(entry->name), method_name(entry->method), entry->method);
}

static void check_flags(struct zip *zip, struct zip_entry *entry)
{
    if (entry->flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_HIDDEN))
        refuse(zip, entry, FINDING_ENCRYPTED, "is marked as encrypted");
    else
        refuse(zip, entry, FINDING_ZIP_TRICK, "is marked as a patch of another file");
}

/* Does one of the parts between slashes equal ".."? */
static bool climbs(struct str name)
{
    struct str part;

    while (str_split(&name, '/', &part))
        if (str_is(part, ".."))
            return true;
    return false;
}

/* Names are only shown: nothing is unpacked to disk. So these are findings, and the
 * content stays readable. */
static void check_name(struct zip *zip, const struct zip_entry *entry)
{
    struct str name = entry->name;
    bool absolute, climbs_out, backslash;
    const char *what = NULL;
    enum finding_code code = FINDING_UNSAFE_PATH;

    if (name.len == 0) {
        build_finding(zip->build, FINDING_ZIP_TRICK, SEVERITY_WARNING, FINDING_NOWHERE,
                      "an entry at byte %" PRIu64 " has no name", entry->header_at);
        return;
    }
    absolute = name.at[0] == '/' || (name.len > 1 && name.at[1] == ':');
    climbs_out = str_find(name, STR("..")) >= 0 && climbs(name);
    backslash = memchr(name.at, '\\', name.len) != NULL;
    zip->backslashes |= backslash;
    zip->leads_out |= absolute || climbs_out || backslash;
    if (memchr(name.at, 0, name.len)) {
        what = "has a NUL byte in its name: programs disagree on where it ends";
        code = FINDING_ZIP_TRICK;
    } else if (absolute) {
        what = "has an absolute path as its name";
    } else if (climbs_out) {
        what = "has a name that leads out of its folder";
    } else if (backslash) {
        what = "has a backslash in its name, which some programs take for a slash";
        code = FINDING_ZIP_TRICK;
    }
    if (what)
        build_finding(zip->build, code, SEVERITY_WARNING, FINDING_NOWHERE,
                      "entry %.*s %s", STR_ARG(name), what);
}

/* The least offset at which the entry can end: header, name and payload. */
static uint64_t least_end(const struct zip_entry *entry)
{
    uint64_t end;

    if (__builtin_add_overflow(entry->header_at, ZIP_LOCAL_SIZE + entry->name.len,
                               &end) ||
        __builtin_add_overflow(end, entry->packed, &end))
        return UINT64_MAX;
    return end;
}

void zip_check_entry(struct zip *zip, struct zip_entry *entry)
{
    check_name(zip, entry);
    if (entry->flags & FLAGS_WE_DISLIKE)
        check_flags(zip, entry);
    if (entry->method != ZIP_DEFLATED)
        check_method(zip, entry);
    if (least_end(entry) > zip->directory_at && !entry->bad)
        refuse(zip, entry, FINDING_DAMAGED, "reaches beyond the archive's directory");
}

/* ---- all entries ---- */

/* Does any folder have a file that only PyTorch writes? */
static bool is_of_torch(const struct zip *zip)
{
    for (uint32_t i = 0; i < zip->n; i++) {
        struct str name = zip->entries[i].name;

        if (str_ends(name, STR("data.pkl")) || str_ends(name, STR("constants.pkl")) ||
            str_ends(name, STR("model.json")))
            return true;
    }
    return false;
}

/* The root folder is that of the first entry, as in torch. Only PyTorch files have a
 * single root: other archives have several folders. */
static void find_root(struct zip *zip)
{
    ptrdiff_t slash = zip->n > 0 ? str_find_char(zip->entries[0].name, '/') : -1;

    zip->root =
        slash >= 0 ? str_head(zip->entries[0].name, (size_t)slash + 1) : STR("");
    if (zip->root.len == 0 || !is_of_torch(zip))
        return;
    for (uint32_t i = 1; i < zip->n; i++) {
        if (str_starts(zip->entries[i].name, zip->root))
            continue;
        build_finding(zip->build, FINDING_ZIP_TRICK, SEVERITY_WARNING, FINDING_NOWHERE,
                      "entry %.*s is outside the archive's folder %.*s: PyTorch "
                      "refuses such files or ignores the entry",
                      STR_ARG(zip->entries[i].name), STR_ARG(zip->root));
        return;
    }
}

/* Does another entry have this name if backslashes are slashes? */
static bool twin_by_slash(const struct zip *zip, struct str name)
{
    char slashed[ZIP_NAME_MAX];

    if (name.len == 0 || name.len > sizeof slashed || !memchr(name.at, '\\', name.len))
        return false;
    for (size_t i = 0; i < name.len; i++)
        slashed[i] = name.at[i] == '\\' ? '/' : name.at[i];
    return zip_find_name(zip, str_span(slashed, name.len)) >= 0;
}

static void say_duplicate(struct zip *zip, uint32_t entry, const char *how)
{
    build_finding(zip->build, FINDING_DUPLICATE, SEVERITY_ALARM, FINDING_NOWHERE,
                  "entry %" PRIu32 ", %.*s, has the name of an earlier one%s: PyTorch "
                  "reads the first, other programs the last",
                  entry, STR_ARG(zip->entries[entry].name), how);
}

static void index_name(struct zip *zip, uint32_t entry, uint64_t hash)
{
    struct str name = zip->entries[entry].name;
    uint64_t *slot = find_slot(zip, name, hash);

    if (!*slot)
        *slot = (hash & ~(uint64_t)UINT32_MAX) | (entry + 1);
    else
        say_duplicate(zip, entry,
                      str_eq(zip->entries[(uint32_t)*slot - 1].name, name)
                          ? ""
                          : ", ignoring case");
}

/* Find the longest run. Its names differ, as their numbers increase. */
static void find_run(struct zip *zip)
{
    struct str head = {0}, next;
    uint32_t first = 0, last = 0, number;

    for (uint32_t i = 0; i < zip->n; i++) {
        if (!split_number(zip->entries[i].name, &next, &number)) {
            head.at = NULL;
            continue;
        }
        if (!head.at || number <= last || !str_eq(next, head))
            first = i;
        head = next;
        last = number;
        if (i + 1 - first > zip->n_run && i + 1 - first >= RUN_LEAST) {
            zip->run = first;
            zip->n_run = i + 1 - first;
            zip->run_head = head;
        }
    }
}

/* Are all names of the run unique in the archive? */
static bool run_is_alone(const struct zip *zip)
{
    for (uint32_t i = 0; i < zip->n; i++) {
        if (i == zip->run)
            i += zip->n_run;
        if (i < zip->n && find_in_run(zip, zip->entries[i].name) >= 0)
            return false;
    }
    return true;
}

/* Put the entries from `begin` to `end` into the index, which keeps the first of those
 * with the same name. Slots are prefetched in batches, as the table may be larger than
 * the cache. */
static void index_entries(struct zip *zip, uint32_t begin, uint32_t end)
{
    uint64_t hashes[32];

    for (uint32_t i = begin; i < end; i += COUNT_OF(hashes)) {
        uint32_t n = end - i < COUNT_OF(hashes) ? end - i : COUNT_OF(hashes);

        for (uint32_t k = 0; k < n; k++) {
            hashes[k] = folded_hash(zip->entries[i + k].name);
            __builtin_prefetch(&zip->slots[(uint32_t)hashes[k] & zip->mask]);
        }
        for (uint32_t k = 0; k < n; k++)
            index_name(zip, i + k, hashes[k]);
    }
}

static int index_names(struct zip *zip, struct err *err)
{
    struct arena *arena = &zip->build->scratch;
    uint32_t size = 16;

    find_run(zip);
    if (!run_is_alone(zip))
        zip->run = zip->n_run = 0;
    while (size < 2 * (zip->n - zip->n_run))
        size *= 2;
    zip->slots = arena_array(arena, size, sizeof *zip->slots);
    if (!zip->slots)
        return arena_err(arena, zip->blob->name, err);
    zip->mask = size - 1;
    index_entries(zip, 0, zip->run);
    index_entries(zip, zip->run + zip->n_run, zip->n);
    for (uint32_t i = 0; zip->backslashes && i < zip->n; i++)
        if (twin_by_slash(zip, zip->entries[i].name))
            say_duplicate(zip, i, ", with slashes for backslashes");
    return 0;
}

struct zip_check_position {
    uint64_t at;
    uint32_t entry;
};

static int by_position(const void *a, const void *b)
{
    const struct zip_check_position *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static bool in_order(const struct zip *zip)
{
    for (uint32_t i = 1; i < zip->n; i++)
        if (least_end(&zip->entries[i - 1]) > zip->entries[i].header_at)
            return false;
    return true;
}

/* No two entries may share bytes, as a small file could otherwise claim any amount of
 * content. The later one of two in the file is marked as bad. */
static int check_overlaps(struct zip *zip, struct err *err)
{
    struct arena *arena = &zip->build->scratch;
    struct zip_check_position *order;
    struct zip_entry *last;

    if (in_order(zip))
        return 0;
    order = arena_array(arena, zip->n, sizeof *order);
    if (!order)
        return arena_err(arena, zip->blob->name, err);
    for (uint32_t i = 0; i < zip->n; i++)
        order[i] = (struct zip_check_position){zip->entries[i].header_at, i};
    qsort(order, zip->n, sizeof *order, by_position);
    last = &zip->entries[order[0].entry];
    for (uint32_t i = 1; i < zip->n; i++) {
        struct zip_entry *entry = &zip->entries[order[i].entry];

        if (least_end(last) <= entry->header_at) {
            last = entry;
            continue;
        }
        entry->bad = true;
        build_finding(zip->build, FINDING_OVERLAP, SEVERITY_ALARM, FINDING_NOWHERE,
                      "entry %.*s at byte %" PRIu64 " overlaps entry %.*s; its content "
                      "is not shown",
                      STR_ARG(entry->name), entry->header_at, STR_ARG(last->name));
    }
    return 0;
}

static void check_front(struct zip *zip)
{
    uint64_t first = UINT64_MAX;

    for (uint32_t i = 0; i < zip->n && !zip->behind; i++)
        if (zip->entries[i].header_at < first)
            first = zip->entries[i].header_at;
    if (zip->n > 0 && first > zip->shift && first != UINT64_MAX)
        build_finding(zip->build, FINDING_HOLE, SEVERITY_WARNING, FINDING_NOWHERE,
                      "%s has %" PRIu64 " bytes before its first entry",
                      zip->blob->name, first - zip->shift);
}

int zip_check(struct zip *zip, struct err *err)
{
    find_root(zip);
    check_front(zip);
    if (index_names(zip, err) < 0)
        return -1;
    return check_overlaps(zip, err);
}
