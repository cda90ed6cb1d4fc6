/* scope_db.h - what all sections of a .scope file share: columns described by their
 * offset in a row struct, and an SQLite connection that does not trust its file. For
 * rooms that own SQLite: run/ (file_in.h) and history/. */
#ifndef RUN_SCOPE_DB_H
#define RUN_SCOPE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct run;
struct source;

#define SCOPE_APPLICATION     0x54534350
#define SCOPE_VERSION         2 /* of the file */
#define SCOPE_HISTORY_VERSION 1 /* of its section `history` */
#define SCOPE_TEXT_MOST       ((size_t)32 << 20)
#define SCOPE_PART            ((size_t)1 << 20)

enum column_type {
    COLUMN_U8,
    COLUMN_U16,
    COLUMN_U32, /* UINT32_MAX is NULL */
    COLUMN_U64,
    COLUMN_FLOPS, /* int64_t; OP_NO_FLOPS is NULL */
    COLUMN_I8,
    COLUMN_BOOL,
    COLUMN_REAL,  /* NaN is NULL; the types before are integers */
    COLUMN_DTYPE, /* uint8_t; the name of an element type */
    COLUMN_TEXT,  /* struct str, borrowed */
    COLUMN_BLOB,  /* likewise */
};

struct file_column {
    const char *name;
    uint16_t offset; /* in the row */
    uint8_t type;    /* enum column_type */
    uint8_t refers;  /* run/: enum scope_table, or REFERS_NOT */
};

/* SQL about the first n columns of a table, which has a column `id` before them. */
void columns_create(const char *table, const struct file_column *columns, int n,
                    struct buf *sql);
void columns_insert(const char *table, const struct file_column *columns, int n,
                    struct buf *sql);
/* "SELECT id, ... FROM table NOT INDEXED" */
void columns_select(const char *table, const struct file_column *columns, int n,
                    struct buf *sql);

/* Binds a column of a row to parameter `at`; returns SQLite's status. */
int column_bind(sqlite3_stmt *stmt, int at, const struct file_column *column,
                const void *row);
/* Binds `id` and n columns, and inserts the row; returns SQLite's status. */
int columns_put(sqlite3_stmt *stmt, const struct file_column *columns, int n,
                int64_t id, const void *row);
/* Reads result column `at` into the row; false: the value does not fit. Texts and blobs
 * are valid until the next step of the statement. */
bool column_get(sqlite3_stmt *stmt, int at, const struct file_column *column,
                void *row);

/* Is `sql` the expected CREATE statement, optionally with more plain columns at the
 * end? */
bool scope_sql_is(const char *sql, struct str expected);

/* Limits what an untrusted file can do to its connection. */
void scope_make_careful(sqlite3 *db);

/* "file:PATH?QUERY", with special characters of the path as %XX. */
void scope_uri(const char *path, const char *query, struct buf *to);

/* A careful connection for reading a file; close it even if it has an error. NULL: out
 * of memory. It sees the current content including the -wal, if possible: a writer that
 * was killed, or met a full disk, while it moved the -wal into the file leaves a file
 * that is inconsistent without it. */
sqlite3 *scope_open(const char *path);

/* Replaces the recording in a file by another one of the same model: other sections (a
 * history) refer to its places. Runs inside the caller's transaction, which the caller
 * rolls back on failure; errors name no file. `code` as in run_file_write(). */
int scope_replace_run(sqlite3 *db, const struct run *run, struct source *code,
                      struct err *err);

/* Removes the journals of a file that is about to be replaced: SQLite would apply them
 * to the new one. */
void scope_remove_journals(const char *path);

#endif
