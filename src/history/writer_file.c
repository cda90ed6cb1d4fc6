/* Creates, continues and closes the file of a writer. While a connection exists, only
 * SQLite may open the file in this process (base/live_file.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/background.h"
#include "base/base.h"
#include "base/whole_file.h"
#include "history/writer_in.h"
#include "run/run_file.h"

#define LIMIT_DEFAULT  (256 * MIB)
#define LIMIT_LEAST    1000000u
#define STEPS_DEFAULT  32768u
#define STEPS_LEAST    64u
#define QUEUE_DEFAULT  256
#define QUEUE_BYTES    (64 * MIB)
#define DECLARED_BYTES (256 * MIB) /* of series and names */
#define ALARMS_MOST    10000u
#define BUSY_MS        5000
#define LEAVE_MS       1000
#define LEAVE_PAUSE_MS 5

/* ---- a writer without its file ---- */

static char *joined(const char *path, const char *suffix)
{
    size_t size = strlen(path) + strlen(suffix) + 1;
    char *text = malloc(size);

    if (text)
        snprintf(text, size, "%s%s", path, suffix);
    return text;
}

static void set_options(struct history_writer *writer,
                        const struct history_options *options)
{
    struct history_options *to = &writer->options;

    if (options)
        *to = *options;
    if (to->limit == 0)
        to->limit = LIMIT_DEFAULT;
    if (to->limit < LIMIT_LEAST)
        to->limit = LIMIT_LEAST;
    if (to->steps == 0)
        to->steps = STEPS_DEFAULT;
    if (to->steps < STEPS_LEAST)
        to->steps = STEPS_LEAST;
    if (to->queue == 0)
        to->queue = QUEUE_DEFAULT;
    if (to->queue_bytes == 0)
        to->queue_bytes = QUEUE_BYTES;
    if (!to->codec)
        to->codec = &history_spreads;
    to->text = arena_str(&writer->arena, to->text);
}

static void free_names(struct history_writer *writer)
{
    free(writer->path);
    free(writer->file);
    free(writer->wal_path);
    history_chunk_free(writer->chunk);
}

static struct history_writer *
writer_new(const char *path, const struct history_options *options, struct err *err)
{
    struct history_writer *writer = calloc(1, sizeof *writer);

    if (writer) {
        writer->path = strdup(path ? path : "");
        if (path)
            writer->file =
                history_is_memory(path) ? strdup(path) : realpath(path, NULL);
        writer->wal_path = writer->file ? joined(writer->file, "-wal") : NULL;
        writer->chunk = history_chunk_new();
    }
    if (!writer || !writer->path || !writer->chunk ||
        (path && (!writer->file || !writer->wal_path))) {
        if (writer && writer->path && path && !writer->file)
            err_set_errno(err, path);
        else
            err_set_about(err, ERR_LIMIT, path ? path : "history", ": no memory left");
        if (writer)
            free_names(writer);
        free(writer);
        return NULL;
    }
    writer->forks = live_file_forks();
    writer->last = &writer->first;
    arena_init(&writer->arena, DECLARED_BYTES);
    map_init(&writer->by_key, &writer->arena);
    name_map_init(&writer->names, &writer->arena);
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->change, NULL);
    set_options(writer, options);
    return writer;
}

static void close_database(struct history_writer *writer)
{
    for (int i = 0; i < HISTORY_TABLES; i++)
        sqlite3_finalize(writer->insert[i]);
    for (int i = 0; i < HISTORY_SELECTS; i++)
        sqlite3_finalize(writer->select[i]);
    sqlite3_close(writer->db);
}

static void close_sinks(struct history_writer *writer)
{
    while (writer->sinks) {
        struct history_sink *sink = writer->sinks;

        writer->sinks = sink->next;
        if (sink->kind->close)
            sink->kind->close(sink);
    }
}

static void writer_free(struct history_writer *writer)
{
    struct history_message *message;

    if (!writer)
        return;
    close_sinks(writer);
    while (writer->first) {
        message = writer->first;
        writer->first = message->next;
        history_message_free(message);
    }
    history_message_free(writer->building);
    history_message_free(writer->spare);
    close_database(writer);
    if (writer->key.inode)
        live_file_remove(&writer->key);
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->change);
    buf_release(&writer->scratch);
    arena_release(&writer->arena);
    free(writer->steps);
    free_names(writer);
    free(writer);
}

/* ---- a new file ---- */

static int add_history(const char *path, const char *shown, bool empty, struct err *err)
{
    sqlite3 *db = NULL;
    struct err local = {0};
    int status = -1;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        history_sql_err(db, path, &local);
    else if (history_exec(db, path, "BEGIN", &local) == 0 &&
             (!empty || history_file_create(db, &local) == 0) &&
             history_tables_create(db, &local) == 0 &&
             history_exec(db, path, "COMMIT", &local) == 0)
        status = 0;
    sqlite3_close(db);
    if (status < 0)
        err_set_about(err, local.code, shown, ": %s", err_reason(&local));
    return status;
}

static int make_file(const char *path, const struct run *run, struct source *code,
                     struct err *err)
{
    struct err local = {0}; /* it may name the temporary file */
    struct whole_file file;

    if (whole_file_begin(&file, path, err) < 0)
        return -1;
    if (file.direct) {
        whole_file_drop(&file);
        return err_set_about(err, ERR_USAGE, path, ": not a regular file");
    }
    if ((run && run_file_write(run, code, file.name, NULL, &local) < 0) ||
        add_history(file.name, path, !run, &local) < 0) {
        whole_file_drop(&file);
        return err_set_about(err, local.code, path, ": %s", err_reason(&local));
    }
    scope_remove_journals(file.path);
    return whole_file_keep(&file, err);
}

/* ---- the connection ---- */

static int prepare_all(struct history_writer *writer, struct err *err)
{
    static const char *const sql[HISTORY_SELECTS] = {
        [DELETE_POINTS] = "DELETE FROM history_point WHERE id BETWEEN ?1 AND ?2",
        [DELETE_SCALARS] = "DELETE FROM history_scalar WHERE id BETWEEN ?1 AND ?2",
        [DELETE_STEP] = "DELETE FROM history_step WHERE id BETWEEN ?1 AND ?2",
        [ASK_PAGES] = "PRAGMA page_count",
        [ASK_FREE] = "PRAGMA freelist_count",
        [ASK_SEGMENT] = "SELECT max(id) FROM history_segment NOT INDEXED",
    };

    for (int i = 0; i < HISTORY_TABLES; i++) {
        writer->insert[i] = history_prepare_insert(writer->db, i, err);
        if (!writer->insert[i])
            return -1;
    }
    writer->select[SELECT_POINTS] = history_prepare_select(
        writer->db, HISTORY_TABLE_POINT, "WHERE id BETWEEN ?1 AND ?2", err);
    writer->select[SELECT_SCALARS] =
        history_prepare_select(writer->db, HISTORY_TABLE_SCALAR, "WHERE id = ?1", err);
    if (!writer->select[SELECT_POINTS] || !writer->select[SELECT_SCALARS])
        return -1;
    for (int i = 0; i < HISTORY_SELECTS; i++)
        if (sql[i] && sqlite3_prepare_v2(writer->db, sql[i], -1, &writer->select[i],
                                         NULL) != SQLITE_OK)
            return history_sql_err(writer->db, writer->path, err);
    return 0;
}

/* Returns whether the file is now in WAL mode. */
static bool try_wal(struct history_writer *writer)
{
    uint64_t room = writer->options.limit / 16;
    char sql[200];

    if (!history_wal_works(writer->file))
        return false;
    room = room < 128 * KIB ? 128 * KIB : room > 16 * MIB ? 16 * MIB : room;
    snprintf(sql, sizeof sql,
             "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=%u; "
             "PRAGMA journal_size_limit=%u; PRAGMA user_version=%d",
             (unsigned)(room / 2 / 4096), (unsigned)room, SCOPE_VERSION);
    /* Some file systems accept the mode and then fail at the first write. */
    if (sqlite3_exec(writer->db, sql, NULL, NULL, NULL) == SQLITE_OK &&
        access(writer->wal_path, F_OK) == 0)
        return true;
    sqlite3_exec(writer->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    return false;
}

/* The connection to an existing file. */
static int open_file(struct history_writer *writer, struct err *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;

    if (live_file_inherited(writer->file))
        return err_set_about(err, ERR_USAGE, writer->path,
                             ": the process that forked this one writes it");
    if (live_file_add(writer->file, err) < 0)
        return -1;
    live_file_key(writer->file, &writer->key);
    if (sqlite3_open_v2(writer->file, &writer->db, flags, NULL) != SQLITE_OK)
        return history_sql_err(writer->db, writer->path, err);
    if (sqlite3_db_readonly(writer->db, "main") == 1)
        return err_set_about(err, ERR_IO, writer->path, ": cannot be written to");
    return 0;
}

/* A new database in memory. */
static int open_memory(struct history_writer *writer, struct err *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                      SQLITE_OPEN_URI;

    if (sqlite3_open_v2(writer->file, &writer->db, flags, NULL) != SQLITE_OK)
        return history_sql_err(writer->db, writer->path, err);
    if (history_file_create(writer->db, err) < 0)
        return -1;
    return history_tables_create(writer->db, err);
}

static int open_database(struct history_writer *writer, struct err *err)
{
    int status = history_is_memory(writer->file) ? open_memory(writer, err)
                                                 : open_file(writer, err);

    if (status < 0)
        return -1;
    scope_make_careful(writer->db);
    sqlite3_busy_timeout(writer->db, BUSY_MS);
    if (history_tables_check(writer->db, writer->path, err) < 0)
        return -1;
    writer->wal = writer->state.wal = try_wal(writer);
    /* Debian's SQLite overwrites what is deleted, which costs a write per page. */
    if (history_exec(writer->db, writer->path,
                     "PRAGMA synchronous=NORMAL; PRAGMA secure_delete=OFF; "
                     "PRAGMA cache_size=-8000; PRAGMA temp_store=MEMORY",
                     err) < 0)
        return -1;
    if (history_writer_load(writer, err) < 0)
        return -1;
    return prepare_all(writer, err);
}

/* ---- what a continued file declares ---- */

static int load_declared(struct history_writer *writer, struct err *err)
{
    sqlite3_stmt *stmt =
        history_prepare_select(writer->db, HISTORY_TABLE_SERIES, "ORDER BY id", err);
    struct history_series series = {0};
    struct history_name_row name = {{0}};
    bool good = stmt != NULL;
    int64_t id;

    while (good && sqlite3_step(stmt) == SQLITE_ROW)
        good = history_get(stmt, HISTORY_TABLE_SERIES, &id, &series) &&
               history_writer_series(writer, &series) == (uint32_t)id;
    sqlite3_finalize(stmt);
    stmt = good ? history_prepare_select(writer->db, HISTORY_TABLE_NAME, "ORDER BY id",
                                         err)
                : NULL;
    good = stmt != NULL;
    while (good && sqlite3_step(stmt) == SQLITE_ROW)
        good = history_get(stmt, HISTORY_TABLE_NAME, &id, &name) &&
               history_writer_name(writer, name.name) == (uint32_t)id;
    sqlite3_finalize(stmt);
    writer->series_written = writer->n_series;
    writer->names_written = writer->names.n;
    if (good)
        return 0;
    return err_set_about(err, ERR_FORMAT, writer->path,
                         ": its list of series is damaged; start a new history");
}

/* Opens the file and starts the thread; takes the writer, also if it fails. */
static struct history_writer *start(struct history_writer *writer, bool resume,
                                    struct err *err)
{
    int status;

    live_file_enter();
    status = writer->file ? open_database(writer, err) : 0;
    if (status == 0 && resume)
        status = load_declared(writer, err);
    live_file_leave();
    if (status < 0) {
        writer_free(writer);
        return NULL;
    }
    if (writer->next_alarm < ALARMS_MOST)
        writer->alarms_left = ALARMS_MOST - (uint64_t)writer->next_alarm;
    writer->state.rows = writer->n_steps;
    writer->state.bytes = history_writer_bytes(writer);
    if (background_start(&writer->thread, history_writer_run, writer))
        return writer;
    err_set_about(err, ERR_LIMIT, writer->path, ": no thread could be started");
    writer_free(writer);
    return NULL;
}

struct history_writer *history_writer_create(const char *path, const struct run *run,
                                             struct source *code,
                                             const struct history_options *options,
                                             struct err *err)
{
    struct history_writer *writer;

    if (path && make_file(path, run, code, err) < 0)
        return NULL;
    writer = writer_new(path, options, err);
    return writer ? start(writer, false, err) : NULL;
}

struct history_writer *history_writer_resume(const char *path,
                                             const struct history_options *options,
                                             struct err *err)
{
    struct history_writer *writer = writer_new(path, options, err);

    return writer ? start(writer, true, err) : NULL;
}

struct history_writer *history_writer_memory(const struct history_options *options,
                                             struct err *err)
{
    char *name = history_memory_name();
    struct history_writer *writer = name ? writer_new(name, options, err) : NULL;

    if (!name)
        err_set(err, ERR_LIMIT, "no memory left");
    free(name);
    return writer ? start(writer, false, err) : NULL;
}

const char *history_writer_path(const struct history_writer *writer)
{
    return writer->file;
}

/* ---- the end ---- */

/* SQLite does not wait for readers when it leaves WAL mode: it fails, so retry. */
static void leave_wal(struct history_writer *writer)
{
    const struct timespec pause = {.tv_nsec = LEAVE_PAUSE_MS * 1000000};
    int tries = LEAVE_MS / LEAVE_PAUSE_MS;

    while (sqlite3_exec(writer->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) ==
               SQLITE_BUSY &&
           --tries > 0)
        nanosleep(&pause, NULL);
}

/* Merges the -wal into the file. With active readers, as much of the -wal is moved as
 * they allow; if they stay, an empty -wal remains. */
static void finish_file(struct history_writer *writer)
{
    if (!writer->wal)
        return;
    sqlite3_busy_timeout(writer->db, LEAVE_MS);
    sqlite3_exec(writer->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    for (int i = 0; i < HISTORY_TABLES; i++)
        sqlite3_reset(writer->insert[i]);
    leave_wal(writer);
}

int history_writer_close(struct history_writer *writer, struct err *err)
{
    int status = 0;

    if (!history_writer_mine(writer))
        return 0;
    pthread_mutex_lock(&writer->lock);
    writer->stop = true;
    pthread_cond_broadcast(&writer->change);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    live_file_enter();
    finish_file(writer);
    live_file_leave();
    if (writer->state.failed)
        status = err_set(err, ERR_IO, "%s", writer->state.problem);
    writer_free(writer);
    return status;
}
