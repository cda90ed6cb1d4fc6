/* torch_records_in.h - the storages of a torch zip: one record FOLDER/KEY for each.
 * torch.save and torch.jit.save both write them so. */
#ifndef READ_TORCH_TORCH_RECORDS_IN_H
#define READ_TORCH_TORCH_RECORDS_IN_H

#include "base/map.h"
#include "read/file/input_in.h"
#include "read/pickle/pickle_in.h"

struct torch_records {
    struct zip *zip;
    struct build *build;
    const char *folder;   /* "data/" */
    uint32_t place;       /* where findings belong: the root of the file's tree */
    uint32_t *storage_of; /* by entry: its storage + 1 */
    uint32_t next;        /* the entry behind the last one that was found */
    struct map missing;   /* hash of a record that is not there -> its storage */
    bool big_endian;
};

/* `folder` is a literal and ends in '/'. Looks up the byte order. */
int torch_records_init(struct torch_records *records, struct input *input,
                       struct build *build, const char *folder, struct err *err);

/* The storage that a persistent id names; for struct torch_dialect. */
uint32_t torch_records_storage(void *user, const struct pickle *pickle,
                               node_id persistent);

/* Say what is worth knowing of the container: entries, root, protocol, version. */
void torch_records_facts(struct torch_records *records, const struct pickle *pickle);

/* When all is read: of a file that was cut short, how much of it is there. */
void torch_records_finish(struct torch_records *records);

/* Pickles in the archive that torch.load() leaves alone: a second data.pkl, which other
 * programs take for the first, or one under any other name. Each is a finding, and is
 * run into the pickle log. */
void torch_records_others(struct torch_records *records);

/* Run the pickle in a record. 1: there is no such record. */
int torch_records_pickle(struct torch_records *records, const char *record,
                         struct pickle *pickle, struct err *err);

#endif
