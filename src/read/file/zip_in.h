/* zip_in.h - the entries of a zip archive, from its central directory.
 * Strict, and never stopped by one bad entry: each oddity becomes a finding. Local
 * headers are looked at only when an entry is opened; sizes never come from them. A zip
 * lives in the build's scratch arena: it is gone once the model is finished, and what
 * the model's source needs of it is copied (file_source_in.h).
 *
 *   zip.c          the end records and the directory
 *   zip_check.c    finding entries by name; duplicates, overlaps, names that trick
 *   zip_data.c     one entry: its local header, its bytes
 *   zip_salvage.c  archives whose end is missing */
#ifndef READ_FILE_ZIP_IN_H
#define READ_FILE_ZIP_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/blob.h"
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
    bool bad;    /* its data must not be given out: it overlaps, is encrypted, ... */
    bool cut;    /* salvaged, and its end is not there: size and crc are not known */
    bool looked; /* its local header was compared with the directory */
};

struct zip {
    struct blob *blob;   /* borrowed */
    struct build *build; /* takes the findings */
    struct zip_entry *entries;
    uint32_t n, room;
    struct str root; /* text before the first '/' of the first entry, with the '/'; or
                        empty */
    uint64_t directory_at; /* no entry may reach beyond; of a salvaged one, the end */
    uint64_t shift;        /* bytes before the archive that its offsets do not count */
    bool salvaged;         /* there was no directory: see zip_salvage() */
    bool backslashes;      /* some name has one */
    /* Entries that follow each other as "archive/data/0", "archive/data/1", ..., their
     * numbers growing, need no table: there are a hundred thousand of them. */
    struct str run_head; /* "archive/data/" */
    uint32_t run, n_run; /* the first of them; how many */
    uint64_t *slots;     /* the others, a hash table by folded name: half the hash, then
                            entry + 1; 0 is free */
    uint32_t mask;
};

/* Does this look like the front of a zip? */
bool zip_looks_like(struct str head);

/* Read the directory. NULL without an error in `err` (its code stays ERR_NONE) means:
 * not a zip, or its end is not there (a cut file): then zip_salvage() may help. */
struct zip *zip_open(struct blob *blob, struct build *build, struct err *err);
/* A zip whose end is missing: walk the local headers from the front. NULL without an
 * error: not a single entry. */
struct zip *zip_salvage(struct blob *blob, struct build *build, struct err *err);

/* The entry with this name below the root folder, as torch looks it up: ignoring case,
 * the first of several. Or -1. */
int64_t zip_find(const struct zip *zip, const char *record);
int64_t zip_find_str(const struct zip *zip, struct str record);

/* The same by the whole name, root folder included. */
int64_t zip_find_name(const struct zip *zip, struct str name);

/* The name of an entry without the root folder. */
struct str zip_record(const struct zip *zip, uint32_t entry);

/* Where the payload begins; checks the local header. */
int zip_data_at(struct zip *zip, uint32_t entry, uint64_t *ret_at, struct err *err);

/* The unpacked bytes of an entry of at most `limit` bytes, in the arena; the checksum
 * is checked (a wrong one is a finding; torch loads such files). An entry that is
 * damaged or cut gives what can be had of it, with a finding. */
int zip_load(struct zip *zip, uint32_t entry, uint64_t limit, struct build *build,
             struct arena *arena, struct str *ret_bytes, struct err *err);

/* Say that an entry's bytes have another checksum than the archive says. */
void zip_wrong_checksum(struct build *build, const struct zip_entry *entry,
                        uint32_t crc);

/* ---- for the zip_*.c files and the model's source ---- */

#define ZIP_LOCAL_SIGN 0x04034b50u /* "PK\3\4" */
#define ZIP_LOCAL_SIZE 30
#define ZIP_NAME_MAX   4096
#define ZIP_ENTRIES    1000000 /* more are left out */

/* The fixed part of a local header; false if there is none in these 30 bytes. */
struct zip_local {
    uint16_t flags, method, name_len, extra_len;
    uint32_t crc, packed, size;
};
bool zip_local_parse(const uint8_t bytes[ZIP_LOCAL_SIZE], struct zip_local *ret_local);

/* Where the payload of the local header at `header_at` begins. */
int zip_payload_at(struct blob *blob, uint64_t header_at, struct zip_local *ret_local,
                   uint64_t *ret_at, struct err *err);

/* What is left to do once the entries are known: root, index, duplicates, overlaps. */
int zip_check(struct zip *zip, struct err *err);
/* What may be wrong with one entry by itself; it may become bad. */
void zip_check_entry(struct zip *zip, struct zip_entry *entry);

#endif
