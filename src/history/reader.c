/* Connections of a reader. Only SQLite opens the file, never open(): this process may be
 * the one that writes it (base/live_file.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/folder.h"
#include "base/live_file.h"
#include "history/ranks_in.h"
#include "history/reader_in.h"

#define BUSY_MS    3000
#define HELD_LIMIT (64 * MIB)

union history_row {
    struct history_series series;
    struct history_name_row name;
    struct history_segment segment;
    struct history_step step;
    struct history_point point;
    struct history_scalar scalar;
    struct history_alarm alarm;
    struct history_note note;
};

/* ---- opening ---- */

static int open_uri(struct history *history, const char *query, struct err *err)
{
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX;
    struct buf uri = BUF_INIT;
    int status = 0;

    if (history_is_memory(history->path))
        buf_text(&uri, history->path);
    else
        scope_uri(history->path, query, &uri);
    if (uri.bad || sqlite3_open_v2(uri.at, &history->db, flags, NULL) != SQLITE_OK)
        status = history_sql_err(history->db, history->path, err);
    buf_release(&uri);
    if (status == 0) {
        scope_make_careful(history->db);
        sqlite3_busy_timeout(history->db, BUSY_MS);
    }
    return status;
}

static void close_database(struct history *history)
{
    sqlite3_close(history->db);
    history->db = NULL;
}

static bool can_read(struct history *history)
{
    return sqlite3_exec(history->db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) ==
           SQLITE_OK;
}

/* Is the -wal empty? Then the file alone is complete. */
static bool has_no_wal(const struct history *history)
{
    struct buf name = BUF_INIT;
    struct stat info;
    bool none;

    buf_printf(&name, "%s-wal", history->path);
    none = !name.bad && (stat(name.at, &info) < 0 || info.st_size == 0);
    buf_release(&name);
    return none;
}

static int open_file(struct history *history, struct err *err)
{
    if (live_file_inherited(history->path))
        return err_set_about(err, ERR_USAGE, history->path,
                             ": the process that forked this one writes it; open it in "
                             "another process");
    if (open_uri(history, "mode=ro", err) < 0)
        return -1;
    if (can_read(history))
        return 0;
    /* A file in WAL mode needs a writable folder, unless the writer has exited and the
     * -wal is empty. */
    if ((sqlite3_errcode(history->db) & 0xff) == SQLITE_CANTOPEN &&
        has_no_wal(history)) {
        close_database(history);
        if (open_uri(history, "mode=ro&immutable=1", err) < 0)
            return -1;
        if (can_read(history))
            return 0;
    }
    return err_set_about(
        err,
        (sqlite3_errcode(history->db) & 0xff) == SQLITE_NOTADB ? ERR_FORMAT : ERR_IO,
        history->path, ": %s", sqlite3_errmsg(history->db));
}

static int open_memory(struct history *history, struct err *err)
{
    unsigned char *bytes = (unsigned char *)(uintptr_t)history->memory; /* only read */
    sqlite3_int64 size = (sqlite3_int64)history->memory_size;

    if (sqlite3_open_v2(":memory:", &history->db, SQLITE_OPEN_READWRITE, NULL) !=
            SQLITE_OK ||
        sqlite3_deserialize(history->db, "main", bytes, size, size,
                            SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        return history_sql_err(history->db, history->path, err);
    scope_make_careful(history->db);
    return 0;
}

static int connect(struct history *history, struct err *err)
{
    int status;

    if (!history->memory)
        live_file_key(history->path, &history->key);
    status = history->memory ? open_memory(history, err) : open_file(history, err);
    if (status == 0)
        status = history_tables_check(history->db, history->path, err);
    if (status == 0)
        history->bare = history_ask(history->db, "SELECT 1 FROM section NOT INDEXED "
                                                 "WHERE name = 'model'") != 1;
    if (status < 0)
        close_database(history);
    return status;
}

/* ---- transactions ---- */

static bool is_wal(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    const char *mode = NULL;
    bool wal = false;

    if (sqlite3_prepare_v2(db, "PRAGMA journal_mode", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        mode = (const char *)sqlite3_column_text(stmt, 0);
    wal = mode && strcmp(mode, "wal") == 0;
    sqlite3_finalize(stmt);
    return wal;
}

/* Was the file replaced since it was opened? */
static bool is_replaced(const struct history *history)
{
    struct file_key key;

    return !history->memory && history->db && !history_is_memory(history->path) &&
           (!live_file_key(history->path, &key) || key.inode != history->key.inode ||
            key.device != history->key.device);
}

static int begin(struct history *history, struct err *err)
{
    if (is_replaced(history))
        close_database(history);
    if (!history->db && connect(history, err) < 0)
        return -1;
    if (history_exec(history->db, history->path, "BEGIN", err) < 0)
        return -1;
    history->size = (uint64_t)history_ask(history->db, "PRAGMA page_count") *
                    (uint64_t)history_ask(history->db, "PRAGMA page_size");
    return 0;
}

int history_begin(struct history *history, struct err *err)
{
    int status;

    if (history->held)
        return 0;
    live_file_enter();
    status = begin(history, err);
    if (status < 0)
        live_file_leave();
    return status;
}

int history_end(struct history *history, int status)
{
    if (history->held)
        return status;
    sqlite3_exec(history->db, "COMMIT", NULL, NULL, NULL);
    /* An idle connection would keep the writer from leaving WAL mode. */
    if (!history->memory && is_wal(history->db))
        close_database(history);
    live_file_leave();
    return status;
}

/* A folder has several files: one transaction each. */
int history_hold(struct history *history, struct err *err)
{
    if (history->ranks)
        return history_ranks_hold(history->ranks, err);
    if (history_begin(history, err) < 0)
        return -1;
    if (history->held++ == 0)
        arena_init(&history->kept_arena, HELD_LIMIT);
    return 0;
}

void history_let_go(struct history *history)
{
    if (history->ranks)
        history_ranks_let_go(history->ranks);
    if (history->held == 0 || --history->held > 0)
        return;
    history->n_kept = 0;
    arena_release(&history->kept_arena);
    history_end(history, 0);
}

int history_scan(struct history_scan *scan, sqlite3_stmt *stmt, take_history_row *take)
{
    struct history *history = scan->history;
    int64_t before = -1, id = 0;
    union history_row row;
    bool go = stmt != NULL;
    int status = SQLITE_ERROR;

    while (go && (status = sqlite3_step(stmt)) == SQLITE_ROW) {
        memset(&row, 0, sizeof row);
        history->rows++;
        if (!history_get(stmt, scan->table, &id, &row)) {
            history->damaged++;
            id = sqlite3_column_int64(stmt, 0);
        } else if (id > before) {
            go = take(scan, id, &row);
        }
        /* A damaged tree may contain a cycle. */
        if (id <= before) {
            history->damaged++;
            break;
        }
        before = id;
    }
    if (stmt && ((status & 0xff) == SQLITE_CORRUPT || status == SQLITE_NOMEM))
        history->damaged++;
    else if (stmt && status != SQLITE_DONE && status != SQLITE_ROW)
        go = history_sql_err(history->db, history->path, scan->err) == 0;
    else if (!go && stmt)
        arena_err(scan->arena, history->path, scan->err);
    sqlite3_finalize(stmt);
    return go ? 0 : -1;
}

/* ---- the door ---- */

static struct history *history_new(const char *path, const struct history_codec *codec,
                                   struct err *err)
{
    struct history *history = calloc(1, sizeof *history);

    if (history)
        history->path = strdup(path);
    if (history && history->path) {
        history->codec = codec ? codec : &history_spreads;
        return history;
    }
    free(history);
    err_set_about(err, ERR_LIMIT, path, ": no memory left");
    return NULL;
}

static struct history *check_open(struct history *history, struct err *err)
{
    if (!history)
        return NULL;
    if (history_begin(history, err) == 0) {
        history_end(history, 0);
        return history;
    }
    history_close(history);
    return NULL;
}

struct history *history_open(const char *path, const struct history_codec *codec,
                             struct err *err)
{
    struct history *history = history_new(path, codec, err);

    if (!history || !path_is_folder(path))
        return check_open(history, err);
    history->ranks = history_ranks_open(path, codec, err);
    if (history->ranks)
        return history;
    history_close(history);
    return NULL;
}

struct history *history_open_memory(const void *at, size_t size, const char *name,
                                    const struct history_codec *codec, struct err *err)
{
    struct history *history = history_new(name, codec, err);

    if (history) {
        history->memory = at;
        history->memory_size = size;
    }
    return check_open(history, err);
}

void history_close(struct history *history)
{
    if (!history)
        return;
    history_ranks_close(history->ranks);
    sqlite3_close(history->db);
    free(history->path);
    free(history);
}

bool history_has_model(const struct history *history)
{
    return !history->bare;
}

uint32_t history_place(const struct history *history, uint32_t place)
{
    return history->bare ? HISTORY_NONE : place;
}

uint64_t history_damaged(const struct history *history)
{
    return history->ranks ? history_ranks_damaged(history->ranks) : history->damaged;
}

uint64_t history_rows_read(const struct history *history)
{
    uint64_t rows = history->rows;

    if (history->ranks)
        for (uint32_t i = 0; i < history_ranks_count(history->ranks); i++)
            rows += history_rows_read(history_ranks_at(history->ranks, i));
    return rows;
}

struct history_ranks *history_ranks_of(const struct history *history)
{
    return history->ranks;
}
