/* zip_in.h - the entries of a zip archive, from its central directory. Strict, but
 * continues after a bad entry: each anomaly is a finding. Local headers are read only
 * when an entry is opened; sizes never come from them. A zip lives in the build's
 * scratch arena, until the model is finished; the model's source copies what it needs
 * (file_source_in.h).
 *
 *   zip.c          the end records and the directory
 *   zip_check.c    finds entries by name; duplicates, overlaps, deceptive names
 *   zip_data.c     one entry: its local header and its bytes
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
    bool bad;    /* do not read its data: it overlaps, is encrypted, ... */
    bool cut;    /* salvaged without its end: size and crc are unknown */
    bool looked; /* its local header was compared with the directory */
};

struct zip {
    struct blob *blob;   /* borrowed */
    struct build *build; /* takes the findings */
    struct zip_entry *entries;
    uint32_t n, room;
    struct str root;       /* folder of the first entry with its '/'; or empty */
    uint64_t directory_at; /* entries end here; for a salvaged zip, the end of file */
    uint64_t shift;        /* bytes before the archive, not counted in its offsets */
    bool salvaged;         /* without a directory: see zip_salvage() */
    bool inner;            /* the blob is a part of a file, not a file of the model */
    bool behind;           /* another format is before it: no finding */
    bool backslashes;      /* some name has one */
    bool leads_out;        /* unpacking could write outside the target folder */
    /* Consecutive entries "archive/data/0", "archive/data/1", ... with increasing
     * numbers are found by their number, without a table: there may be 100,000. */
    struct str run_head; /* "archive/data/" */
    uint32_t run, n_run; /* the first one; their number */
    uint64_t *slots;     /* all others, a hash table by lower-case name: half the hash,
                            then entry + 1; 0 is free */
    uint32_t mask;
};

/* Does this look like the beginning of a zip? */
bool zip_looks_like(struct str head);

/* Read the directory. NULL with the code ERR_NONE: not a zip, or its end is missing (a
 * truncated file); then try zip_salvage(). */
struct zip *zip_open(struct blob *blob, struct build *build, struct err *err);
/* The same for a zip that a format keeps behind its own data. */
struct zip *zip_open_behind(struct blob *blob, struct build *build, struct err *err);
/* Find the entries by their local headers, from the front. NULL with the code ERR_NONE:
 * no entry. */
struct zip *zip_salvage(struct blob *blob, struct build *build, struct err *err);

/* The entry with this name below the root folder, as torch looks it up: ignoring case,
 * the first of several. -1: none. */
int64_t zip_find(const struct zip *zip, const char *record);
int64_t zip_find_str(const struct zip *zip, struct str record);

/* The entry with this full name, root folder included. */
int64_t zip_find_name(const struct zip *zip, struct str name);

/* The name of an entry without the root folder. */
struct str zip_record(const struct zip *zip, uint32_t entry);

/* Offset of the payload; checks the local header. */
int zip_data_at(struct zip *zip, uint32_t entry, uint64_t *ret_at, struct err *err);

/* Load the unpacked bytes of an entry of at most `limit` bytes into the arena. A wrong
 * checksum is only a finding, as torch loads such files. A damaged or truncated entry
 * gives the bytes before the damage, and a finding. */
int zip_load(struct zip *zip, uint32_t entry, uint64_t limit, struct build *build,
             struct arena *arena, struct str *ret_bytes, struct err *err);

/* The unpacked bytes of an entry as a blob, which borrows the zip's; the caller passes
 * it to the model's source. A deflated entry is unpacked once to make checkpoints;
 * damage is a finding. */
struct blob *zip_open_member(struct zip *zip, uint32_t entry, struct build *build,
                             struct err *err);

/* Updates the checksum `crc` (0 at first) with n more bytes. */
uint32_t zip_checksum(uint32_t crc, const void *at, size_t n);
/* Add a finding if `crc` is not the checksum that the directory has for the entry. */
void zip_compare_checksum(const struct zip *zip, const struct zip_entry *entry,
                          uint32_t crc);
/* The value of `entry` in a finding about this entry. */
uint64_t zip_finding_entry(const struct zip *zip, const struct zip_entry *entry);

/* ---- for the zip_*.c files and the model's source ---- */

#define ZIP_LOCAL_SIGN 0x04034b50u /* "PK\3\4" */
#define ZIP_LOCAL_SIZE 30
#define ZIP_NAME_MAX   4096
#define ZIP_ENTRIES    1000000 /* limit; more are ignored */

/* The fixed part of a local header; false: the bytes are not a local header. */
struct zip_local {
    uint16_t flags, method, name_len, extra_len;
    uint32_t crc, packed, size;
};
bool zip_local_parse(const uint8_t bytes[ZIP_LOCAL_SIZE], struct zip_local *ret_local);

/* Read the local header at `header_at`; its payload begins at *ret_at. */
int zip_payload_at(struct blob *blob, uint64_t header_at, struct zip_local *ret_local,
                   uint64_t *ret_at, struct err *err);

/* Check all entries: root folder, duplicates, overlaps. Makes the index of names. */
int zip_check(struct zip *zip, struct err *err);
/* Check one entry by itself; may mark it as bad. */
void zip_check_entry(struct zip *zip, struct zip_entry *entry);

#endif
