#include <inttypes.h>

#include "base/base.h"
#include "read/file/inflated_in.h"
#include "read/file/zip_in.h"

/* Findings from opening a deflated entry. */
static void report(struct zip *zip, const struct zip_entry *entry, struct build *build,
                   const struct inflated_about *about)
{
    struct finding *finding = NULL;

    if (about->cut && about->size < entry->size)
        finding = build_finding(
            build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
            "entry %.*s unpacks to %" PRIu64 " times its size or more, which may be "
            "an attack: the rest is left out",
            STR_ARG(entry->name), about->size / (entry->packed ? entry->packed : 1));
    else if (about->cut)
        finding =
            build_finding(build, FINDING_SIZE_MISMATCH, SEVERITY_ALARM, FINDING_NOWHERE,
                          "entry %.*s unpacks to more than its declared %" PRIu64
                          " bytes; the rest is left out",
                          STR_ARG(entry->name), entry->size);
    else if (about->why.code != ERR_NONE)
        finding = build_finding(
            build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
            "entry %.*s: after %" PRIu64 " of %" PRIu64 " bytes, %s",
            STR_ARG(entry->name), about->size, entry->size, about->why.text);
    else if (!entry->cut && about->size != entry->size)
        finding = build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                                "entry %.*s unpacks to only %" PRIu64
                                " of its declared %" PRIu64 " bytes",
                                STR_ARG(entry->name), about->size, entry->size);
    else if (!entry->cut)
        zip_compare_checksum(zip, entry, about->crc);
    if (finding)
        finding->entry = zip_finding_entry(zip, entry);
}

struct blob *zip_open_member(struct zip *zip, uint32_t entry_id, struct build *build,
                             struct err *err)
{
    const struct zip_entry *entry = &zip->entries[entry_id];
    const char *name = arena_printf(&build->scratch, "%s: %.*s", zip->blob->name,
                                    STR_ARG(entry->name));
    uint64_t at, most = inflated_most(entry->packed);
    struct inflated_about about;
    struct blob *blob;

    if (!name) {
        arena_err(&build->scratch, zip->blob->name, err);
        return NULL;
    }
    if (zip_data_at(zip, entry_id, &at, err) < 0)
        return NULL;
    if (entry->method == ZIP_STORED)
        return blob_open_part(zip->blob, at, entry->packed, name, err);
    if (entry->method != ZIP_DEFLATED) {
        err_set_about(err, ERR_UNSUPPORTED, zip->blob->name,
                      ": entry %.*s is compressed with method %u, which is not "
                      "supported",
                      STR_ARG(entry->name), entry->method);
        return NULL;
    }
    if (!entry->cut && entry->size < most)
        most = entry->size;
    blob = inflated_open(
        (struct packed_part){zip->blob, at, entry->packed, PACKING_DEFLATE}, most, name,
        build->work, &about, err);
    if (blob)
        report(zip, entry, build, &about);
    return blob;
}
