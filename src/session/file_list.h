/* file_list.h - the model files below a folder, for a chooser. One thread finds them,
 * another judges them, visible rows first. Formats are detected by content, by the
 * readers. Links to folders are not followed; hidden folders are skipped. A folder that
 * is one model (an index, or a set of shards) is one row. All functions are for the
 * owner's thread. */
#ifndef SESSION_FILE_LIST_H
#define SESSION_FILE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "study/safety/verdict.h"

enum file_state {
    FILE_PENDING, /* not judged yet */
    FILE_JUDGED,  /* has a verdict */
    FILE_TROUBLE, /* cannot be opened: see `why` */
};

struct file_row {
    const char *path;    /* for session_open() */
    struct str name;     /* relative to the folder; of a folder it ends in '/' */
    const char *format;  /* "torch zip"; "": unknown */
    uint64_t size;       /* of all its files */
    int64_t mtime_ns;    /* of the newest file */
    uint32_t shards;     /* of a folder that is one model; else 0 */
    uint8_t state;       /* enum file_state */
    uint8_t verdict;     /* enum verdict; FILE_TROUBLE: inconclusive */
    bool findings;       /* `check` reports findings, whatever the verdict */
    bool damaged;        /* truncated, or partly unreadable */
    uint64_t params;     /* if FILE_JUDGED */
    uint8_t has;         /* enum session_has */
    bool trained;        /* has the history of a training run; at the time of
                            judging: */
    bool has_loss;       /* the newest loss is known */
    uint8_t alarm;       /* enum severity: the worst; SEVERITY_NOTE: none */
    uint64_t steps;      /* of training, logged ones */
    uint64_t evals;      /* of evaluation */
    double loss;         /* the newest */
    const char *capsule; /* see session_capsule(); NULL: not a capsule */
    const char *why;     /* of FILE_TROUBLE the error; if damaged, the first finding */
    uint32_t number;     /* its index, in the order of finding */
};

struct file_list;

/* Starts the search. NULL: the folder cannot be read, or no thread can be started. */
struct file_list *file_list_new(const char *folder, struct err *err);
void file_list_free(struct file_list *list); /* stops it; NULL is allowed */
/* In a Hugging Face cache, the files are in `blobs`, and snapshots link to them under
 * their real names. Is this entry such a folder, whose files would be found twice? */
struct folder;
struct folder_entry;
bool file_list_is_blobs(const struct folder *folder, const struct folder_entry *entry);
/* Is this folder one model? */
bool file_list_is_model(const char *folder);

/* Takes new results; true: the rows changed. */
bool file_list_poll(struct file_list *list);
/* For poll(2): readable when there are new results. */
int file_list_fd(const struct file_list *list);

/* The rows taken so far, in the order of finding; valid until the next poll. The index
 * of a row is its number. */
uint32_t file_list_n(const struct file_list *list);
const struct file_row *file_list_at(const struct file_list *list, uint32_t number);

/* Marks rows as visible: they are judged first. */
void file_list_want(struct file_list *list, const uint32_t *numbers, uint32_t n);

struct file_list_facts {
    uint32_t folders;    /* searched */
    uint32_t unreadable; /* folders */
    uint32_t found;      /* rows, before filtering */
    uint32_t trained;    /* judged files that are training runs */
    uint32_t skipped;    /* other files: not a model by name or content */
    bool walking;        /* the search is not finished */
    bool full;           /* the limit of rows was reached */
};
struct file_list_facts file_list_facts(const struct file_list *list);

/* The number of files by verdict, counted as by `check`. */
struct file_counts {
    uint32_t verdicts[4];   /* by enum verdict */
    uint32_t safe_findings; /* safe files with findings */
    uint32_t pending;       /* not judged yet */
    uint32_t damaged;
};
void file_counts_add(struct file_counts *counts, const struct file_row *row);

/* Is it a model by its name? Such files are never skipped. */
bool file_is_model_name(struct str name);
/* "model-00002-of-00005.safetensors", "model.safetensors.index.json" */
bool file_is_shard(struct str name);
bool file_is_index(struct str name);

#endif
