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
    const struct file_table *t = &scope_tables[table];

    buf_printf(to, "CREATE TABLE %s(id INTEGER PRIMARY KEY", t->name);
    for (int i = 0; i < columns; i++) {
        uint8_t type = t->columns[i].type;

        /* A REAL column would lose the sign of zero, so it has no type. */
        buf_printf(to, ", %s%s", t->columns[i].name,
                   type == COLUMN_REAL                           ? ""
                   : type == COLUMN_BLOB                         ? " BLOB"
                   : type == COLUMN_TEXT || type == COLUMN_DTYPE ? " TEXT"
                                                                 : " INTEGER");
    }
    buf_text(to, ")");
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

static struct str within(struct str text)
{
    return str_head(text, SCOPE_TEXT_MOST);
}

static int bind_span(sqlite3_stmt *stmt, int at, struct str span, bool text)
{
    const char *bytes = span.at ? span.at : "";

    if (text)
        return sqlite3_bind_text(stmt, at, bytes, (int)within(span).len, SQLITE_STATIC);
    return sqlite3_bind_blob(stmt, at, bytes, (int)within(span).len, SQLITE_STATIC);
}

static int bind(sqlite3_stmt *stmt, int at, const struct file_column *column,
                const void *row)
{
    const char *from = (const char *)row + column->offset;
    uint16_t u16;
    uint32_t u32;
    int64_t i64;
    double real;
    struct str span;

    switch ((enum column_type)column->type) {
    case COLUMN_U8:
        return sqlite3_bind_int(stmt, at, *(const uint8_t *)from);
    case COLUMN_I8:
        return sqlite3_bind_int(stmt, at, *(const int8_t *)from);
    case COLUMN_BOOL:
        return sqlite3_bind_int(stmt, at, *(const bool *)from);
    case COLUMN_U16:
        memcpy(&u16, from, sizeof u16);
        return sqlite3_bind_int(stmt, at, u16);
    case COLUMN_U32:
        memcpy(&u32, from, sizeof u32);
        if (u32 == UINT32_MAX)
            return sqlite3_bind_null(stmt, at);
        return sqlite3_bind_int64(stmt, at, u32);
    case COLUMN_U64:
        memcpy(&i64, from, sizeof i64);
        return sqlite3_bind_int64(stmt, at, i64);
    case COLUMN_FLOPS:
        memcpy(&i64, from, sizeof i64);
        if (i64 == OP_NO_FLOPS)
            return sqlite3_bind_null(stmt, at);
        return sqlite3_bind_int64(stmt, at, i64);
    case COLUMN_REAL:
        memcpy(&real, from, sizeof real);
        return sqlite3_bind_double(stmt, at, real);
    case COLUMN_DTYPE:
        return bind_span(stmt, at, str_of(dtype_name(*(const uint8_t *)from)), true);
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        memcpy(&span, from, sizeof span);
        return bind_span(stmt, at, span, column->type == COLUMN_TEXT);
    }
    return SQLITE_MISUSE;
}

static int say(sqlite3 *db, const char *what, struct err *err)
{
    return err_set(err, ERR_IO, "%s: %s", what, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare_insert(sqlite3 *db, const struct file_table *table)
{
    struct buf sql = BUF_INIT;
    sqlite3_stmt *stmt = NULL;

    buf_printf(&sql, "INSERT INTO %s VALUES(?", table->name);
    for (int i = 0; i < COLUMNS_MOST && table->columns[i].name; i++)
        buf_text(&sql, ",?");
    buf_text(&sql, ")");
    if (!sql.bad)
        sqlite3_prepare_v2(db, sql.at, -1, &stmt, NULL);
    buf_release(&sql);
    return stmt;
}

static int write_row(sqlite3_stmt *stmt, const struct file_table *table, uint32_t i,
                     const void *row)
{
    int status = sqlite3_bind_int64(stmt, 1, i);

    for (int k = 0; k < COLUMNS_MOST && table->columns[k].name; k++)
        if (status == SQLITE_OK)
            status = bind(stmt, k + 2, &table->columns[k], row);
    if (status == SQLITE_OK && sqlite3_step(stmt) == SQLITE_DONE)
        return sqlite3_reset(stmt) == SQLITE_OK ? 0 : -1;
    return -1;
}

int table_write(sqlite3 *db, enum scope_table table, uint32_t n, get_row *get,
                void *user, struct work *work, struct err *err)
{
    const struct file_table *t = &scope_tables[table];
    sqlite3_stmt *stmt = prepare_insert(db, t);
    union any_row row;
    int status = stmt ? 0 : say(db, t->name, err);

    for (uint32_t i = 0; i < n && status == 0; i++) {
        if (i % LOOK_EVERY == 0 && work_cancelled(work)) {
            status = err_set(err, ERR_CANCELLED, "stopped");
            break;
        }
        memset(&row, 0, sizeof row);
        get(user, i, &row);
        if (write_row(stmt, t, i, &row) < 0)
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
                      "table %s, row %u: %s; what follows in it is left out",
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

    snprintf(text, sizeof text, "table %s: %u numbers lead nowhere",
             scope_tables[table].name, read->astray);
    if (scope_tables[table].section == SECTION_OPS)
        scope_drop_ops(read, text);
    else
        build_finding(&read->build, FINDING_DAMAGED, SEVERITY_ALARM, 0, "%s", text);
}

/* Is the number between 0 and the largest value of the column? */
static bool fits(int64_t number, uint64_t most, uint64_t *ret)
{
    *ret = (uint64_t)number;
    return number >= 0 && (uint64_t)number <= most;
}

static bool get_u32(struct scope_read *read, sqlite3_stmt *stmt, int at,
                    const struct file_column *column, uint32_t *ret)
{
    uint64_t number;

    *ret = table_none(column->refers);
    if (sqlite3_column_type(stmt, at) == SQLITE_NULL)
        return true;
    if (!fits(sqlite3_column_int64(stmt, at), UINT32_MAX, &number))
        return false;
    if (column->refers == REFERS_NOT || number < read->n[column->refers])
        *ret = (uint32_t)number;
    else
        read->astray++;
    return true;
}

static struct str get_span(sqlite3_stmt *stmt, int at, bool text)
{
    const void *bytes = text ? (const void *)sqlite3_column_text(stmt, at)
                             : sqlite3_column_blob(stmt, at);

    return str_span(bytes, bytes ? (size_t)sqlite3_column_bytes(stmt, at) : 0);
}

/* Reads one column of a row; false: the value does not fit. */
static bool get_column(struct scope_read *read, sqlite3_stmt *stmt, int at,
                       const struct file_column *column, void *row)
{
    char *to = (char *)row + column->offset;
    int64_t number = sqlite3_column_int64(stmt, at);
    uint64_t u64;
    uint32_t u32;
    bool good;
    double real;
    struct str span;

    switch ((enum column_type)column->type) {
    case COLUMN_U8:
        good = fits(number, UINT8_MAX, &u64);
        *(uint8_t *)to = (uint8_t)u64;
        return good;
    case COLUMN_U16:
        good = fits(number, UINT16_MAX, &u64);
        memcpy(to, &(uint16_t){(uint16_t)u64}, sizeof(uint16_t));
        return good;
    case COLUMN_I8:
        *(int8_t *)to = (int8_t)number;
        return number >= -1 && number <= 1;
    case COLUMN_BOOL:
        *(bool *)to = number != 0;
        return number == 0 || number == 1;
    case COLUMN_U32:
        good = get_u32(read, stmt, at, column, &u32);
        memcpy(to, &u32, sizeof u32);
        return good;
    case COLUMN_U64:
        memcpy(to, &number, sizeof number);
        return true;
    case COLUMN_FLOPS:
        good = number >= 0;
        if (sqlite3_column_type(stmt, at) == SQLITE_NULL)
            number = OP_NO_FLOPS;
        memcpy(to, &number, sizeof number);
        return good;
    case COLUMN_REAL:
        real = sqlite3_column_type(stmt, at) == SQLITE_NULL
                   ? NAN
                   : sqlite3_column_double(stmt, at);
        memcpy(to, &real, sizeof real);
        return true;
    case COLUMN_DTYPE:
        *(uint8_t *)to = (uint8_t)dtype_by_name(get_span(stmt, at, true));
        return true;
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        span = get_span(stmt, at, column->type == COLUMN_TEXT);
        memcpy(to, &span, sizeof span);
        return true;
    }
    return false;
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
    buf_text(&sql, "SELECT id");
    for (int k = 0; k < read->columns[table]; k++)
        buf_printf(&sql, ", %s", t->columns[k].name);
    buf_printf(&sql, " FROM %s NOT INDEXED ORDER BY id", t->name);
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
                                    : "more rows than there are";
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
