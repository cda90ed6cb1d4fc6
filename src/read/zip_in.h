/* zip_in.h - the entries of a zip archive, from its central directory.
 * Strict, and never stopped by one bad entry: each oddity becomes a finding. Local
 * headers are looked at only when an entry is opened; sizes never come from them. */
#ifndef READ_ZIP_IN_H
#define READ_ZIP_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/map.h"
#include "base/str.h"
#include "model/build.h"

enum zip_method { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

struct zip_entry {
    struct str name;    /* raw, as in the central directory */
    uint64_t header_at; /* of the local header */
    uint64_t packed;    /* bytes in the archive */
    uint64_t size;      /* bytes unpacked */
    uint32_t crc;
    uint16_t method, flags;
    bool bad; /* its data must not be given out: it overlaps, is encrypted, ... */
};

struct zip {
    struct blob *blob; /* borrowed */
    struct zip_entry *entries;
    uint32_t n;
    struct str root; /* text before the first '/' of the first entry, with the '/'; or
                        empty */
    uint64_t directory_at;
    struct map by_name; /* case-folded hash -> entry */
};

/* Read the directory. NULL without an error in `err` means: not a zip, or its end is not
 * there (a cut file): then zip_salvage() may help. */
struct zip *zip_open(struct blob *blob, struct build *build, struct err *err);
/* A zip whose end is missing: walk the local headers from the front. */
struct zip *zip_salvage(struct blob *blob, struct build *build, struct err *err);

/* The entry with this name below the root folder, as torch looks it up: ignoring case,
 * the first of several. Or -1. */
int64_t zip_find(const struct zip *zip, const char *record);
int64_t zip_find_str(const struct zip *zip, struct str record);

/* The name of an entry without the root folder. */
struct str zip_record(const struct zip *zip, uint32_t entry);

/* Where the payload begins; checks the local header. */
int zip_data_at(struct zip *zip, uint32_t entry, uint64_t *ret_at, struct err *err);

/* The unpacked bytes of an entry of at most `limit` bytes, in the arena; the checksum is
 * checked (a wrong one is a finding; torch loads such files). */
int zip_load(struct zip *zip, uint32_t entry, uint64_t limit, struct build *build,
             struct arena *arena, struct str *ret_bytes, struct err *err);

#endif
