/* torch_records_in.h - the storages of a torch zip: one record FOLDER/KEY each, written
 * by torch.save() and torch.jit.save(). */
#ifndef READ_TORCH_TORCH_RECORDS_IN_H
#define READ_TORCH_TORCH_RECORDS_IN_H

#include "base/map.h"
#include "read/file/input_in.h"
#include "read/pickle/pickle_in.h"

struct torch_records {
    struct zip *zip;
    struct build *build;
    const char *folder;   /* "data/" */
    uint32_t place;       /* for findings: the root of the file's tree */
    uint32_t *storage_of; /* by entry: its storage + 1 */
    uint32_t next;        /* the entry after the last one that was found */
    struct map missing;   /* hash of a missing record -> its storage */
    bool big_endian;
    /* Not NULL: the zip is the part of this blob that begins at `base`; stored records
     * become storages of the whole blob, so the part can be closed. */
    struct blob *whole;
    uint64_t base;
};

/* `folder` is a literal and ends in '/'. Reads the byte order. */
int torch_records_init(struct torch_records *records, struct input *input,
                       struct build *build, const char *folder, struct err *err);

/* The storage of a persistent id; the callback of struct torch_dialect. */
uint32_t torch_records_storage(void *user, const struct pickle *pickle,
                               node_id persistent);

/* Add the facts about the container: entries, root, protocol, version. */
void torch_records_facts(struct torch_records *records, const struct pickle *pickle);

/* At the end, adds a finding about the readable part of a truncated file. */
void torch_records_finish(struct torch_records *records);

/* Find pickles in the archive that torch.load() ignores: a second data.pkl, which other
 * programs may load, or one under any other name. Each is a finding, and is run into
 * the pickle log. */
void torch_records_others(struct torch_records *records);

/* Run the pickle in a record. 1: no such record. */
int torch_records_pickle(struct torch_records *records, const char *record,
                         struct pickle *pickle, struct err *err);

#endif
