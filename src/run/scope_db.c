/* Columns of rows in SQLite, and careful connections. */
#include "run/scope_db.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/live_file.h"
#include "model/dtype.h"
#include "run/ops.h"

#define BUSY_MS 2000

/* ---- SQL ---- */

void columns_create(const char *table, const struct file_column *columns, int n,
                    struct buf *sql)
{
    buf_printf(sql, "CREATE TABLE %s(id INTEGER PRIMARY KEY", table);
    for (int i = 0; i < n; i++) {
        uint8_t type = columns[i].type;

        /* A REAL column would lose the sign of zero, so it has no type. */
        buf_printf(sql, ", %s%s", columns[i].name,
                   type == COLUMN_REAL                           ? ""
                   : type == COLUMN_BLOB                         ? " BLOB"
                   : type == COLUMN_TEXT || type == COLUMN_DTYPE ? " TEXT"
                                                                 : " INTEGER");
    }
    buf_text(sql, ")");
}

static void list_columns(const struct file_column *columns, int n, struct buf *sql)
{
    buf_text(sql, "id");
    for (int i = 0; i < n; i++)
        buf_printf(sql, ", %s", columns[i].name);
}

void columns_insert(const char *table, const struct file_column *columns, int n,
                    struct buf *sql)
{
    buf_printf(sql, "INSERT INTO %s(", table);
    list_columns(columns, n, sql);
    buf_text(sql, ") VALUES(?");
    for (int i = 0; i < n; i++)
        buf_text(sql, ",?");
    buf_text(sql, ")");
}

void columns_select(const char *table, const struct file_column *columns, int n,
                    struct buf *sql)
{
    buf_text(sql, "SELECT ");
    list_columns(columns, n, sql);
    buf_printf(sql, " FROM %s NOT INDEXED", table);
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

int column_bind(sqlite3_stmt *stmt, int at, const struct file_column *column,
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

int columns_put(sqlite3_stmt *stmt, const struct file_column *columns, int n,
                int64_t id, const void *row)
{
    int status = sqlite3_bind_int64(stmt, 1, id);

    for (int k = 0; k < n && status == SQLITE_OK; k++)
        status = column_bind(stmt, k + 2, &columns[k], row);
    if (status == SQLITE_OK)
        sqlite3_step(stmt);
    /* Resetting returns the error of the last step. */
    return status == SQLITE_OK ? sqlite3_reset(stmt) : status;
}

/* ---- reading ---- */

/* Is the number between 0 and the largest value of the column? */
static bool fits(int64_t number, uint64_t most, uint64_t *ret)
{
    *ret = (uint64_t)number;
    return number >= 0 && (uint64_t)number <= most;
}

static struct str get_span(sqlite3_stmt *stmt, int at, bool text)
{
    const void *bytes = text ? (const void *)sqlite3_column_text(stmt, at)
                             : sqlite3_column_blob(stmt, at);

    return str_span(bytes, bytes ? (size_t)sqlite3_column_bytes(stmt, at) : 0);
}

bool column_get(sqlite3_stmt *stmt, int at, const struct file_column *column, void *row)
{
    char *to = (char *)row + column->offset;
    int64_t number = 0;
    uint64_t u64;
    uint32_t u32;
    bool good;
    double real;
    struct str span;

    if (column->type < COLUMN_REAL)
        number = sqlite3_column_int64(stmt, at);
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
        good = fits(number, UINT32_MAX, &u64);
        u32 = sqlite3_column_type(stmt, at) == SQLITE_NULL ? UINT32_MAX : (uint32_t)u64;
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

/* ---- files that are not trusted ---- */

/* Is it ", name TYPE, name)": further columns, without expressions? */
static bool plain_columns(const char *at)
{
    while (*at == ',') {
        at += at[1] == ' ' ? 2 : 1;
        at += strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
        if (*at == ' ')
            at += 1 + strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    }
    return strcmp(at, ")") == 0;
}

bool scope_sql_is(const char *sql, struct str expected)
{
    return expected.len > 0 && strncmp(sql, expected.at, expected.len - 1) == 0 &&
           plain_columns(sql + expected.len - 1);
}

void scope_make_careful(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)(SCOPE_TEXT_MOST + SCOPE_PART));
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 100000);
    sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 64);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 20);
    sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 25000);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_exec(db, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0", NULL, NULL, NULL);
}

void scope_uri(const char *path, const char *query, struct buf *to)
{
    buf_text(to, "file:");
    for (const char *at = path; *at; at++) {
        unsigned char c = (unsigned char)*at;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' ||
                     (c == '/' && (at == path || at[-1] != '/'));

        if (plain)
            buf_char(to, (char)c);
        else
            buf_printf(to, "%%%02X", c);
    }
    buf_printf(to, "?%s", query);
}

static sqlite3 *open_uri(const char *path, const char *query)
{
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX;
    struct buf uri = BUF_INIT;
    sqlite3 *db = NULL;

    scope_uri(path, query, &uri);
    if (!uri.bad && sqlite3_open_v2(uri.at, &db, flags, NULL) == SQLITE_OK)
        scope_make_careful(db);
    buf_release(&uri);
    return db;
}

static bool has_wal(const char *path)
{
    struct buf name = BUF_INIT;
    struct stat info;
    bool has;

    buf_printf(&name, "%s-wal", path);
    has = !name.bad && stat(name.at, &info) == 0 && info.st_size > 0;
    buf_release(&name);
    return has;
}

sqlite3 *scope_open(const char *path)
{
    sqlite3 *db;

    if (has_wal(path) && !live_file_inherited(path)) {
        db = open_uri(path, "mode=ro");
        sqlite3_busy_timeout(db, BUSY_MS);
        /* The writer may replace the recording: read all of it as it is now. */
        if (sqlite3_exec(db, "BEGIN; SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) ==
            SQLITE_OK)
            return db;
        sqlite3_close(db); /* it needs a folder that can be written to */
    }
    return open_uri(path, "mode=ro&immutable=1");
}

void scope_remove_journals(const char *path)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    struct buf name = BUF_INIT;

    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        buf_clear(&name);
        buf_printf(&name, "%s%s", path, suffixes[i]);
        if (!name.bad)
            unlink(name.at);
    }
    buf_release(&name);
}
