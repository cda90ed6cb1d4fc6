/* tables_in.h - the tables of section `history`: docs/run-file.md in C. */
#ifndef HISTORY_TABLES_IN_H
#define HISTORY_TABLES_IN_H

#include "history/history.h"
#include "run/scope_db.h"

enum history_table {
    HISTORY_TABLE_SERIES,
    HISTORY_TABLE_NAME,
    HISTORY_TABLE_SEGMENT,
    HISTORY_TABLE_STEP,
    HISTORY_TABLE_POINT,
    HISTORY_TABLE_SCALAR,
    HISTORY_TABLE_ALARM,
    HISTORY_TABLE_NOTE,
    HISTORY_TABLES
};

struct history_columns {
    const char *name;
    const struct file_column *columns;
    int n;
};
extern const struct history_columns history_tables[HISTORY_TABLES];

struct history_name_row {
    struct str name;
};

/* Points and scalars are clustered by step: id = block << 24 | series. */
#define HISTORY_SERIES_BITS 24
#define HISTORY_SERIES_MOST ((uint32_t)1 << HISTORY_SERIES_BITS)
#define HISTORY_BLOCK_MOST  ((uint64_t)1 << 38)
#define HISTORY_STEP_MOST   ((uint64_t)1 << 62) /* of step numbers and their ids */

static inline int64_t history_point_id(uint64_t block, uint32_t series)
{
    return (int64_t)(block << HISTORY_SERIES_BITS | series);
}

/* Turns an empty database into a .scope file without a model or a run. */
int history_file_create(sqlite3 *db, struct err *err);
/* Is it the name of a history in memory (place.c)? SQLite opens it as a URI. */
bool history_is_memory(const char *path);
/* Creates all tables and the row in `section`. Inside a transaction. */
int history_tables_create(sqlite3 *db, struct err *err);
/* Checks that all tables of the section exist as specified. ERR_NOT_FOUND: no such
 * section; ERR_UNSUPPORTED: a newer version; ERR_FORMAT: damaged. */
int history_tables_check(sqlite3 *db, const char *path, struct err *err);

/* Statements; NULL with `err` set on failure. `where` follows "SELECT ... FROM table". */
sqlite3_stmt *history_prepare_insert(sqlite3 *db, enum history_table table,
                                     struct err *err);
sqlite3_stmt *history_prepare_select(sqlite3 *db, enum history_table table,
                                     const char *where, struct err *err);

/* Inserts a row; returns SQLite's status. For points and scalars use
 * history_put_point() and history_put_scalar(), which omit redundant columns. */
int history_put(sqlite3_stmt *stmt, enum history_table table, int64_t id,
                const void *row);
int history_put_point(sqlite3_stmt *stmt, uint64_t block,
                      const struct history_point *point);
int history_put_scalar(sqlite3_stmt *stmt, uint64_t block,
                       const struct history_scalar *scalar);

/* Reads the current row of a select; false if it is invalid. Texts stay valid until the
 * next step of the statement. Points and scalars get their series or name from the
 * id. */
bool history_get(sqlite3_stmt *stmt, enum history_table table, int64_t *ret_id,
                 void *ret_row);

/* Completes a point after reading: its series and the omitted numbers. False if it is
 * invalid. */
bool history_point_check(int64_t id, struct history_point *point);

/* Sets `err` to SQLite's error; returns -1. */
int history_sql_err(sqlite3 *db, const char *path, struct err *err);
int history_exec(sqlite3 *db, const char *path, const char *sql, struct err *err);
/* Runs a statement without parameters and returns its number, or -1. */
int64_t history_ask(sqlite3 *db, const char *sql);

#endif
