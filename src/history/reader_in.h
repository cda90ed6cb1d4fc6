/* reader_in.h - internals of a reader, for reader*.c. */
#ifndef HISTORY_READER_IN_H
#define HISTORY_READER_IN_H

#include "base/live_file.h"
#include "history/ranks.h"
#include "history/reader.h"
#include "history/tables_in.h"

struct history {
    struct history_ranks *ranks; /* for a folder: queries go to these; or NULL */
    char *path;
    const struct history_codec *codec;
    const void *memory; /* instead of a file; or NULL */
    size_t memory_size;
    sqlite3 *db;         /* NULL: closed between queries */
    struct file_key key; /* of the open file */
    uint32_t held;       /* history_hold() calls without history_let_go() yet */
    struct held_steps {  /* while held: cached steps of two ranges */
        struct history_range range;
        struct history_step *steps;
        uint32_t n;
    } kept[2];
    uint32_t n_kept;
    struct arena kept_arena;
    bool bare; /* the file has no model, so places mean nothing */
    uint64_t damaged;
    uint64_t rows; /* read so far */
    uint64_t size; /* of the file, in this transaction */
};

/* Begin and end the transaction of a query. history_end() returns `status`, the result
 * of the query. */
int history_begin(struct history *history, struct err *err);
int history_end(struct history *history, int status);

/* Calls take() for each row of a select, with increasing ids; returns 0 or -1. take()
 * returns false if the arena is spent. Takes the statement, which may be NULL with `err`
 * set. */
struct history_scan {
    struct history *history;
    enum history_table table;
    struct arena *arena;
    void *user;
    struct err *err;
};
typedef bool take_history_row(struct history_scan *scan, int64_t id, void *row);
int history_scan(struct history_scan *scan, sqlite3_stmt *stmt, take_history_row *take);

/* The steps of a range, inside a transaction. */
int history_scan_steps(struct history *history, const struct history_range *range,
                       struct arena *arena, struct history_step **ret_steps,
                       uint32_t *ret_n, struct err *err);

#endif
