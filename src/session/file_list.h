/* file_list.h - the model files below a folder, for a person to choose from: found one
 * after the other by a thread, so that nobody waits; another thread judges them, those
 * on the screen first. Formats are told by the readers' own look at a file's head.
 * Links to folders are not followed, so no walk is endless; hidden folders are left
 * out. A folder that is one model (an index, or a set of shards) is one row. Used by
 * one thread. */
#ifndef SESSION_FILE_LIST_H
#define SESSION_FILE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "study/safety/verdict.h"

enum file_state {
    FILE_PENDING, /* nobody looked into it yet */
    FILE_JUDGED,  /* its verdict is known */
    FILE_TROUBLE, /* it cannot be opened: `why` */
};

struct file_row {
    const char *path;   /* for session_open() */
    struct str name;    /* the same below the folder; of a folder it ends in '/' */
    const char *format; /* "torch zip"; "": none that is known */
    uint64_t size;      /* of all its files */
    int64_t mtime_ns;   /* of the newest of them */
    uint32_t shards;    /* of a folder that is one model; else 0 */
    uint8_t state;      /* enum file_state */
    uint8_t verdict;    /* enum verdict; of FILE_TROUBLE: inconclusive */
    bool findings;      /* `check` has something to say of it, whatever the verdict */
    bool damaged;       /* it is cut short, or parts of it cannot be read */
    uint64_t params;    /* if it is FILE_JUDGED */
    const char *why;    /* of FILE_TROUBLE; of a damaged one the first such finding */
    uint32_t number;    /* by which it is known: 0 is what was found first */
};

struct file_list;

/* Begin to look. NULL: the folder itself cannot be read, or no thread can be had. */
struct file_list *file_list_new(const char *folder, struct err *err);
void file_list_free(struct file_list *list); /* stops; NULL is allowed */
/* Is this folder one model, so that there is nothing to choose? */
bool file_list_is_model(const char *folder);

/* Take what was found since; true: the rows are others now. */
bool file_list_poll(struct file_list *list);
/* Readable when there is something to take, for poll(2). */
int file_list_fd(const struct file_list *list);

/* What was taken, in the order in which it was found; good until the next poll. The
 * index of a row is its number. */
uint32_t file_list_n(const struct file_list *list);
const struct file_row *file_list_at(const struct file_list *list, uint32_t number);

/* These rows are on the screen: judge them first. */
void file_list_want(struct file_list *list, const uint32_t *numbers, uint32_t n);

struct file_list_facts {
    uint32_t folders;    /* looked into */
    uint32_t unreadable; /* folders that could not be */
    uint32_t found;      /* rows, whatever the filter says */
    uint32_t skipped;    /* other files, neither by name nor by content a model */
    bool walking;        /* more may be found */
    bool full;           /* there are more than we list */
};
struct file_list_facts file_list_facts(const struct file_list *list);

/* How many files are of which verdict; as `check` of a folder counts them. */
struct file_counts {
    uint32_t verdicts[4];   /* by enum verdict */
    uint32_t safe_findings; /* safe ones that have findings */
    uint32_t pending;       /* not judged yet */
    uint32_t damaged;
};
void file_counts_add(struct file_counts *counts, const struct file_row *row);

/* Is it a file that people take for a model by its name? Such are never skipped. */
bool file_is_model_name(struct str name);
/* "model-00002-of-00005.safetensors", "model.safetensors.index.json" */
bool file_is_shard(struct str name);
bool file_is_index(struct str name);

#endif
