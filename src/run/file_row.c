/* Writes rows to SQLite, and reads them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/file_in.h"

#define LOOK_EVERY 4096u /* rows between checks for cancellation */

int table_columns(enum scope_table table)
{
    int n = 0;

    while (n < COLUMNS_MOST && scope_tables[table].columns[n].name)
        n++;
    return n;
}

void table_sql(enum scope_table table, int columns, struct buf *to)
{
    columns_create(scope_tables[table].name, scope_tables[table].columns, columns, to);
}

uint32_t table_none(unsigned refers)
{
    switch (refers) {
    case TABLE_MODEL_STRING:
    case TABLE_RUN_STRING:
    case TABLE_MODEL_PLAIN:
    case TABLE_RUN_PLAIN:
        return 0;
    default:
        return UINT32_MAX;
    }
}

/* ---- writing ---- */

static int say(sqlite3 *db, const char *what, struct err *err)
{
    return err_set(err, ERR_IO, "%s: %s", what, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare_insert(sqlite3 *db, enum scope_table table)
{
    const struct file_table *t = &scope_tables[table];
    struct buf sql = BUF_INIT;
    sqlite3_stmt *stmt = NULL;

    columns_insert(t->name, t->columns, table_columns(table), &sql);
    if (!sql.bad)
        sqlite3_prepare_v2(db, sql.at, -1, &stmt, NULL);
    buf_release(&sql);
    return stmt;
}

int table_write(sqlite3 *db, enum scope_table table, uint32_t n, get_row *get,
                void *user, struct work *work, struct err *err)
{
    const struct file_table *t = &scope_tables[table];
    sqlite3_stmt *stmt = prepare_insert(db, table);
    int n_columns = table_columns(table);
    union any_row row;
    int status = stmt ? 0 : say(db, t->name, err);

    for (uint32_t i = 0; i < n && status == 0; i++) {
        if (i % LOOK_EVERY == 0 && work_cancelled(work)) {
            status = err_set(err, ERR_CANCELLED, "stopped");
            break;
        }
        memset(&row, 0, sizeof row);
        get(user, i, &row);
        if (columns_put(stmt, t->columns, n_columns, i, &row) != SQLITE_OK)
            status = say(db, t->name, err);
    }
    sqlite3_finalize(stmt);
    return status;
}

/* ---- reading ---- */

void scope_damaged(struct scope_read *read, enum scope_table table, uint32_t row,
                   const char *why)
{
    char text[200];

    if (scope_tables[table].section != SECTION_OPS) {
        build_finding(&read->build, FINDING_DAMAGED, SEVERITY_ALARM, 0,
                      "table %s, row %u: %s; the rows after it are skipped",
                      scope_tables[table].name, row, why);
        return;
    }
    snprintf(text, sizeof text, "table %s, row %u: %s", scope_tables[table].name, row,
             why);
    scope_drop_ops(read, text);
}

static void leads_nowhere(struct scope_read *read, enum scope_table table)
{
    char text[100];

    snprintf(text, sizeof text, "table %s: %u dangling references",
             scope_tables[table].name, read->astray);
    if (scope_tables[table].section == SECTION_OPS)
        scope_drop_ops(read, text);
    else
        build_finding(&read->build, FINDING_DAMAGED, SEVERITY_ALARM, 0, "%s", text);
}

/* Reads one column of a row; a dangling reference becomes an absent one. False: the
 * value does not fit. */
static bool get_column(struct scope_read *read, sqlite3_stmt *stmt, int at,
                       const struct file_column *column, void *row)
{
    bool absent = sqlite3_column_type(stmt, at) == SQLITE_NULL;
    uint32_t number;

    if (!column_get(stmt, at, column, row))
        return false;
    if (column->type != COLUMN_U32 || column->refers == REFERS_NOT)
        return true;
    memcpy(&number, (char *)row + column->offset, sizeof number);
    if (!absent && number < read->n[column->refers])
        return true;
    read->astray += !absent;
    number = table_none(column->refers);
    memcpy((char *)row + column->offset, &number, sizeof number);
    return true;
}

static const char *get_row_of(struct scope_read *read, sqlite3_stmt *stmt,
                              enum scope_table table, uint32_t i, void *row)
{
    const struct file_column *columns = scope_tables[table].columns;

    memset(row, 0, sizeof(union any_row));
    if (sqlite3_column_int64(stmt, 0) != i)
        return "its number is not the next one";
    for (int k = 0; k < read->columns[table]; k++)
        if (!get_column(read, stmt, k + 1, &columns[k], row))
            return columns[k].name;
    for (int k = read->columns[table]; k < table_columns(table); k++)
        if (columns[k].type == COLUMN_U32)
            memcpy((char *)row + columns[k].offset,
                   &(uint32_t){table_none(columns[k].refers)}, sizeof(uint32_t));
    return NULL;
}

uint32_t table_rows(struct scope_read *read, enum scope_table table)
{
    char sql[80];
    sqlite3_stmt *stmt = NULL;
    int64_t most = -1;

    snprintf(sql, sizeof sql, "SELECT max(id) FROM %s NOT INDEXED",
             scope_tables[table].name);
    if (sqlite3_prepare_v2(read->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW &&
        sqlite3_column_type(stmt, 0) == SQLITE_INTEGER)
        most = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    /* A row takes at least four bytes of the file. */
    if (most < 0 || (uint64_t)most >= read->size / 4 || most >= UINT32_MAX - 1)
        return 0;
    return (uint32_t)most + 1;
}

static const char *step_error(struct scope_read *read)
{
    return read->build.model->arena.spent || read->run->arena.spent
               ? "it needs more memory than the file's size allows"
               : sqlite3_errmsg(read->db);
}

void table_read(struct scope_read *read, enum scope_table table, take_row *take)
{
    const struct file_table *t = &scope_tables[table];
    sqlite3_stmt *stmt = NULL;
    struct buf sql = BUF_INIT;
    const char *why = NULL;
    union any_row row;
    uint32_t i = 0;
    int status = SQLITE_ERROR;

    read->astray = 0;
    columns_select(t->name, t->columns, read->columns[table], &sql);
    buf_text(&sql, " ORDER BY id");
    if (!sql.bad)
        status = sqlite3_prepare_v2(read->db, sql.at, -1, &stmt, NULL);
    while (status == SQLITE_OK || status == SQLITE_ROW) {
        if (i % LOOK_EVERY == 0 && work_cancelled(read->work)) {
            read->cancelled = true;
            break;
        }
        status = sqlite3_step(stmt);
        if (status != SQLITE_ROW)
            break;
        why = i < read->rows[table] ? get_row_of(read, stmt, table, i, &row)
                                    : "more rows than the table declares";
        if (!why)
            why = take(read, i, &row);
        if (why)
            break;
        read->n[table] = ++i;
    }
    if (!why && status != SQLITE_DONE && !read->cancelled)
        why = step_error(read);
    if (why)
        scope_damaged(read, table, i, why);
    else if (read->astray)
        leads_nowhere(read, table);
    sqlite3_finalize(stmt);
    buf_release(&sql);
}
