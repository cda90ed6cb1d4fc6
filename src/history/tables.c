/* THE TABLE of tables of section `history`, and their rows. */
#include "history/tables_in.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

#define IN(row, member, sql_name, type)                                                \
    {                                                                                  \
        sql_name, offsetof(struct row, member), COLUMN_##type, 0                       \
    }
#define STATS_COLUMNS(row)                                                             \
    IN(row, stats.count, "count", U64), IN(row, stats.nan, "nan", U64),                \
        IN(row, stats.pos_inf, "pos_inf", U64),                                        \
        IN(row, stats.neg_inf, "neg_inf", U64), IN(row, stats.zeros, "zeros", U64),    \
        IN(row, stats.kind, "kind", U32), IN(row, stats.min, "min", REAL),             \
        IN(row, stats.max, "max", REAL), IN(row, stats.int_min, "int_min", U64),       \
        IN(row, stats.int_max, "int_max", U64), IN(row, stats.min_at, "min_at", U64),  \
        IN(row, stats.max_at, "max_at", U64), IN(row, stats.mean, "mean", REAL),       \
        IN(row, stats.m2, "m2", REAL), IN(row, stats.sampled, "sampled", BOOL)
#define NUMBER_COLUMNS(row, member, name)                                              \
    IN(row, member.n, name "n", U32), IN(row, member.bad, name "bad", U32),            \
        IN(row, member.sum, name "sum", REAL), IN(row, member.min, name "min", REAL),  \
        IN(row, member.max, name "max", REAL)

static const struct file_column series_columns[] = {
    IN(history_series, place, "place", U32), IN(history_series, call, "call", U32),
    IN(history_series, kind, "kind", U8),    IN(history_series, phase, "phase", U8),
    IN(history_series, name, "name", TEXT),  IN(history_series, path, "path", TEXT),
};
static const struct file_column name_columns[] = {
    IN(history_name_row, name, "name", TEXT),
};
static const struct file_column segment_columns[] = {
    IN(history_segment, first, "first", U64),
    IN(history_segment, wall_ns, "wall_ns", U64),
    IN(history_segment, gap_ns, "gap_ns", U64),
    IN(history_segment, gap_steps, "gap_steps", U64),
    IN(history_segment, rank, "rank", U32),
    IN(history_segment, ranks, "ranks", U32),
    IN(history_segment, text, "text", TEXT),
};
static const struct file_column step_columns[] = {
    IN(history_step, block, "block", U64),
    IN(history_step, segment, "segment", U32),
    IN(history_step, phase, "phase", U8),
    IN(history_step, first, "first", U64),
    IN(history_step, last, "last", U64),
    IN(history_step, merged, "merged", U32),
    IN(history_step, wall_ns, "wall_ns", U64),
    IN(history_step, last_ns, "last_ns", U64),
    IN(history_step, flags, "flags", U32),
    IN(history_step, skipped, "skipped", U32),
    IN(history_step, dropped, "dropped", U32),
    IN(history_step, points, "points", U32),
};
/* The histogram is last: a reader that does not want it never reads its bytes. */
static const struct file_column point_columns[] = {
    IN(history_point, merged, "merged", U32),
    STATS_COLUMNS(history_point),
    IN(history_point, units, "units", U64),
    NUMBER_COLUMNS(history_point, extra[EXTRA_RATIO], "ratio_"),
    NUMBER_COLUMNS(history_point, extra[EXTRA_NORM], "norm_"),
    NUMBER_COLUMNS(history_point, extra[EXTRA_DEAD], "dead_"),
    NUMBER_COLUMNS(history_point, extra[EXTRA_SATURATED], "saturated_"),
    IN(history_point, histogram, "histogram", BLOB),
};
static const struct file_column scalar_columns[] = {
    NUMBER_COLUMNS(history_scalar, number, ""),
    IN(history_scalar, last, "last", REAL),
};
static const struct file_column alarm_columns[] = {
    IN(history_alarm, step, "step", U64),   IN(history_alarm, wall_ns, "wall_ns", U64),
    IN(history_alarm, place, "place", U32), IN(history_alarm, severity, "severity", U8),
    IN(history_alarm, kind, "code", TEXT),  IN(history_alarm, name, "name", TEXT),
    IN(history_alarm, line, "line", TEXT),  IN(history_alarm, text, "text", TEXT),
    STATS_COLUMNS(history_alarm),
};
static const struct file_column note_columns[] = {
    IN(history_note, step, "step", U64),
    IN(history_note, wall_ns, "wall_ns", U64),
    IN(history_note, text, "text", TEXT),
};

#define COLUMNS(name) name##_columns, COUNT_OF(name##_columns)
const struct history_columns history_tables[HISTORY_TABLES] = {
    [HISTORY_TABLE_SERIES] = {"history_series", COLUMNS(series)},
    [HISTORY_TABLE_NAME] = {"history_name", COLUMNS(name)},
    [HISTORY_TABLE_SEGMENT] = {"history_segment", COLUMNS(segment)},
    [HISTORY_TABLE_STEP] = {"history_step", COLUMNS(step)},
    [HISTORY_TABLE_POINT] = {"history_point", COLUMNS(point)},
    [HISTORY_TABLE_SCALAR] = {"history_scalar", COLUMNS(scalar)},
    [HISTORY_TABLE_ALARM] = {"history_alarm", COLUMNS(alarm)},
    [HISTORY_TABLE_NOTE] = {"history_note", COLUMNS(note)},
};

/* ---- SQL ---- */

int history_sql_err(sqlite3 *db, const char *path, struct err *err)
{
    return err_set_about(err, ERR_IO, path, ": %s",
                         db ? sqlite3_errmsg(db) : "no memory left");
}

int history_exec(sqlite3 *db, const char *path, const char *sql, struct err *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return history_sql_err(db, path, err);
    return 0;
}

int64_t history_ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t number = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW &&
        sqlite3_column_type(stmt, 0) == SQLITE_INTEGER)
        number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return number;
}

static sqlite3_stmt *prepare(sqlite3 *db, struct buf *sql, const char *table,
                             struct err *err)
{
    sqlite3_stmt *stmt = NULL;

    if (sql->bad || sqlite3_prepare_v2(db, sql->at, -1, &stmt, NULL) != SQLITE_OK)
        history_sql_err(db, table, err);
    buf_release(sql);
    return stmt;
}

sqlite3_stmt *history_prepare_insert(sqlite3 *db, enum history_table table,
                                     struct err *err)
{
    const struct history_columns *t = &history_tables[table];
    struct buf sql = BUF_INIT;

    columns_insert(t->name, t->columns, t->n, &sql);
    return prepare(db, &sql, t->name, err);
}

sqlite3_stmt *history_prepare_select(sqlite3 *db, enum history_table table,
                                     const char *where, struct err *err)
{
    const struct history_columns *t = &history_tables[table];
    struct buf sql = BUF_INIT;

    columns_select(t->name, t->columns, t->n, &sql);
    buf_printf(&sql, " %s", where);
    return prepare(db, &sql, t->name, err);
}

/* ---- the schema ---- */

/* The tables of the file itself, identical to those that run/ writes. */
static const struct file_column section_columns[] = {{"name", 0, COLUMN_TEXT, 0},
                                                     {"version", 0, COLUMN_U32, 0}};
static const struct file_column meta_columns[] = {{"key", 0, COLUMN_TEXT, 0},
                                                  {"number", 0, COLUMN_U64, 0},
                                                  {"text", 0, COLUMN_TEXT, 0}};

int history_file_create(sqlite3 *db, struct err *err)
{
    struct buf sql = BUF_INIT;
    int status = 0;

    buf_printf(&sql, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
               SCOPE_APPLICATION, SCOPE_VERSION);
    columns_create("section", COLUMNS(section), &sql);
    buf_char(&sql, ';');
    columns_create("meta", COLUMNS(meta), &sql);
    if (sql.bad || sqlite3_exec(db, sql.at, NULL, NULL, NULL) != SQLITE_OK)
        status = history_sql_err(db, "section history", err);
    buf_release(&sql);
    return status;
}

int history_tables_create(sqlite3 *db, struct err *err)
{
    struct buf sql = BUF_INIT;
    int status = 0;

    for (int i = 0; i < HISTORY_TABLES; i++) {
        columns_create(history_tables[i].name, history_tables[i].columns,
                       history_tables[i].n, &sql);
        buf_char(&sql, ';');
    }
    buf_printf(&sql,
               "INSERT INTO section(id, name, version) "
               "SELECT coalesce(max(id) + 1, 0), 'history', %d FROM section",
               SCOPE_HISTORY_VERSION);
    if (sql.bad || sqlite3_exec(db, sql.at, NULL, NULL, NULL) != SQLITE_OK)
        status = history_sql_err(db, "section history", err);
    buf_release(&sql);
    return status;
}

static int check_section(sqlite3 *db, const char *path, struct err *err)
{
    int64_t version = history_ask(db, "SELECT version FROM section NOT INDEXED "
                                      "WHERE name = 'history'");

    if (history_ask(db, "PRAGMA application_id") != SCOPE_APPLICATION)
        return err_set_about(err, ERR_FORMAT, path, ": not a recording of torchoscope");
    if (history_ask(db, "PRAGMA user_version") > SCOPE_VERSION ||
        version > SCOPE_HISTORY_VERSION)
        return err_set_about(err, ERR_UNSUPPORTED, path,
                             ": written by a newer torchoscope. Update torchoscope to "
                             "open it.");
    if (version < 1)
        return err_set_about(err, ERR_NOT_FOUND, path,
                             ": a recording without a training history");
    return 0;
}

/* Is the table there, and created by the expected statement? The text of a hostile
 * schema is compared, never run. */
static bool check_table(sqlite3 *db, const struct history_columns *table)
{
    sqlite3_stmt *stmt = NULL;
    struct buf expected = BUF_INIT;
    const char *found;
    bool good = false;

    columns_create(table->name, table->columns, table->n, &expected);
    if (!expected.bad &&
        sqlite3_prepare_v2(db,
                           "SELECT sql FROM sqlite_schema WHERE name = ?1 AND type = "
                           "'table'",
                           -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_bind_text(stmt, 1, table->name, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW) {
        found = (const char *)sqlite3_column_text(stmt, 0);
        good = found && scope_sql_is(found, buf_span(&expected));
    }
    sqlite3_finalize(stmt);
    buf_release(&expected);
    return good;
}

int history_tables_check(sqlite3 *db, const char *path, struct err *err)
{
    if (sqlite3_exec(db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) != SQLITE_OK)
        return err_set_about(err, ERR_FORMAT, path, ": %s", sqlite3_errmsg(db));
    if (!check_table(db, &(struct history_columns){"section", COLUMNS(section)}))
        return err_set_about(err, ERR_FORMAT, path, ": not a recording of torchoscope");
    if (check_section(db, path, err) < 0)
        return -1;
    for (int i = 0; i < HISTORY_TABLES; i++)
        if (!check_table(db, &history_tables[i]))
            return err_set_about(err, ERR_FORMAT, path,
                                 ": damaged: table %s is missing or has other columns",
                                 history_tables[i].name);
    return 0;
}

/* ---- writing ---- */

int history_put(sqlite3_stmt *stmt, enum history_table table, int64_t id,
                const void *row)
{
    return columns_put(stmt, history_tables[table].columns, history_tables[table].n, id,
                       row);
}

/* A single value is its own extremes: they are not stored. A NULL takes no space. */
static void shorten(struct history_number *number)
{
    if (number->n == 0)
        number->sum = NAN;
    if (number->n <= 1)
        number->min = number->max = NAN;
}

int history_put_point(sqlite3_stmt *stmt, uint64_t block,
                      const struct history_point *point)
{
    struct history_point row = *point;

    for (int i = 0; i < EXTRA_COUNT; i++)
        shorten(&row.extra[i]);
    return history_put(stmt, HISTORY_TABLE_POINT,
                       history_point_id(block, point->series), &row);
}

int history_put_scalar(sqlite3_stmt *stmt, uint64_t block,
                       const struct history_scalar *scalar)
{
    struct history_scalar row = *scalar;

    shorten(&row.number);
    return history_put(stmt, HISTORY_TABLE_SCALAR,
                       history_point_id(block, scalar->name), &row);
}

/* ---- checked reading ---- */

static bool lengthen(struct history_number *number)
{
    if (number->n == 0)
        number->sum = NAN;
    if (number->n <= 1)
        number->min = number->max = number->sum;
    if (number->n == 0)
        return true;
    return number->n != UINT32_MAX && number->bad != UINT32_MAX &&
           number->min <= number->max && !isnan(number->sum);
}

static bool good_stats(const struct stats *stats)
{
    uint64_t rest = stats->count;
    const uint64_t parts[] = {stats->nan, stats->pos_inf, stats->neg_inf, stats->zeros};

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (parts[i] > rest)
            return false;
        rest -= parts[i];
    }
    return stats->count < (uint64_t)1 << 62 && (unsigned)stats->kind <= STATS_UINT &&
           !(stats->min > stats->max);
}

bool history_point_check(int64_t id, struct history_point *point)
{
    bool good = point->merged >= 1 && point->merged != UINT32_MAX;

    point->series = (uint32_t)id & (HISTORY_SERIES_MOST - 1);
    for (int i = 0; i < EXTRA_COUNT; i++)
        good = lengthen(&point->extra[i]) && good;
    return good && good_stats(&point->stats);
}

static bool good_scalar(int64_t id, struct history_scalar *scalar)
{
    scalar->name = (uint32_t)id & (HISTORY_SERIES_MOST - 1);
    return lengthen(&scalar->number);
}

static bool good_step(int64_t id, struct history_step *step)
{
    step->id = (uint64_t)id;
    return step->id < HISTORY_STEP_MOST && step->merged >= 1 &&
           step->merged != UINT32_MAX && step->block < HISTORY_BLOCK_MOST &&
           step->first <= step->last && step->last < HISTORY_STEP_MOST &&
           step->phase < HISTORY_PHASES;
}

static bool good_series(int64_t id, const struct history_series *series)
{
    return id < HISTORY_SERIES_MOST && series->kind < HISTORY_KINDS &&
           series->phase < HISTORY_PHASES;
}

bool history_get(sqlite3_stmt *stmt, enum history_table table, int64_t *ret_id,
                 void *ret_row)
{
    const struct history_columns *t = &history_tables[table];
    int64_t id = sqlite3_column_int64(stmt, 0);

    for (int i = 0; i < t->n; i++)
        if (!column_get(stmt, i + 1, &t->columns[i], ret_row))
            return false;
    *ret_id = id;
    switch (table) {
    case HISTORY_TABLE_POINT:
        return id >= 0 && history_point_check(id, ret_row);
    case HISTORY_TABLE_SCALAR:
        return id >= 0 && good_scalar(id, ret_row);
    case HISTORY_TABLE_STEP:
        return id >= 0 && good_step(id, ret_row);
    case HISTORY_TABLE_SERIES:
        return id >= 0 && good_series(id, ret_row);
    case HISTORY_TABLE_ALARM:
        return id >= 0 && good_stats(&((struct history_alarm *)ret_row)->stats) &&
               ((struct history_alarm *)ret_row)->severity <= SEVERITY_ALARM;
    default:
        return id >= 0;
    }
}
