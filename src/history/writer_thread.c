/* The thread of a writer: one transaction per step. A failure loses that step; the
 * thread retries with later ones at growing intervals and reports the problem once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/base.h"
#include "base/clock.h"
#include "history/writer_in.h"

#define WAIT_LEAST_NS 250000000u
#define WAIT_MOST_NS  30000000000u
#define ROW_BYTES     140 /* of a point without its histogram, with page overhead */

/* ---- what the file holds ---- */

uint64_t history_writer_bytes(const struct history_writer *writer)
{
    struct stat info;
    uint64_t bytes = 0;

    if (!writer->db)
        return 0;
    if (history_is_memory(writer->file))
        return (uint64_t)history_ask(writer->db, "PRAGMA page_count") *
               (uint64_t)writer->page;
    /* stat() opens nothing, so the locks of the file stay. */
    if (stat(writer->file, &info) == 0)
        bytes += (uint64_t)info.st_size;
    if (stat(writer->wal_path, &info) == 0)
        bytes += (uint64_t)info.st_size;
    return bytes;
}

int history_writer_load_steps(struct history_writer *writer, struct err *err)
{
    sqlite3_stmt *stmt =
        history_prepare_select(writer->db, HISTORY_TABLE_STEP, "ORDER BY id", err);
    struct history_step step = {0};
    int status = SQLITE_ERROR;
    int64_t id;

    writer->n_steps = 0;
    writer->n_logged = 0;
    while (stmt && (status = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (!history_get(stmt, HISTORY_TABLE_STEP, &id, &step) ||
            step.id < writer->n_logged ||
            !buf_grow_array(&writer->steps, writer->n_steps, &writer->steps_room,
                            sizeof step))
            break;
        writer->steps[writer->n_steps++] = step;
        writer->n_logged = step.id + step.merged;
    }
    sqlite3_finalize(stmt);
    if (status == SQLITE_DONE)
        return 0;
    return err_set_about(err, ERR_FORMAT, writer->path,
                         ": its steps are damaged; start a new history");
}

/* The largest id of a table + 1. */
static int64_t next_id(sqlite3 *db, const char *table)
{
    char sql[80];

    snprintf(sql, sizeof sql, "SELECT max(id) FROM %s NOT INDEXED", table);
    return history_ask(db, sql) + 1;
}

int history_writer_load(struct history_writer *writer, struct err *err)
{
    int64_t point = next_id(writer->db, "history_point");
    int64_t scalar = next_id(writer->db, "history_scalar");
    uint64_t newest = (uint64_t)(point > scalar ? point : scalar);

    writer->next_alarm = next_id(writer->db, "history_alarm");
    writer->next_note = next_id(writer->db, "history_note");
    writer->segment = (uint32_t)next_id(writer->db, "history_segment");
    writer->next_block = (newest >> HISTORY_SERIES_BITS) + 1;
    writer->page = history_ask(writer->db, "PRAGMA page_size");
    writer->base =
        (uint64_t)(history_ask(writer->db, "PRAGMA page_count") * writer->page);
    if (history_writer_load_steps(writer, err) < 0)
        return -1;
    for (uint32_t i = 0; i < writer->n_steps; i++)
        if (writer->next_block <= writer->steps[i].block)
            writer->next_block = writer->steps[i].block + 1;
    return 0;
}

/* ---- one transaction ---- */

/* Writes points in the order of series. */
static int write_points(struct history_writer *writer,
                        const struct history_message *message)
{
    int status = SQLITE_OK;

    for (uint32_t i = 0; i < message->n_points && status == SQLITE_OK; i++)
        status = history_put_point(writer->insert[HISTORY_TABLE_POINT],
                                   message->step.block, &message->points[i]);
    return status;
}

static int write_scalars(struct history_writer *writer,
                         const struct history_message *message)
{
    int status = SQLITE_OK;

    for (uint32_t i = 0; i < message->n_scalars && status == SQLITE_OK; i++)
        status = history_put_scalar(writer->insert[HISTORY_TABLE_SCALAR],
                                    message->step.block, &message->scalars[i]);
    return status;
}

/* Writes series and names that were declared since the last step. Each is copied under
 * the lock, its text stays where it is. */
static int write_declared(struct history_writer *writer,
                          const struct history_message *message)
{
    int status = SQLITE_OK;

    for (uint32_t i = writer->series_written; i < message->n_series; i++) {
        struct history_series series;

        pthread_mutex_lock(&writer->lock);
        series = writer->series[i];
        pthread_mutex_unlock(&writer->lock);
        if (status == SQLITE_OK)
            status = history_put(writer->insert[HISTORY_TABLE_SERIES],
                                 HISTORY_TABLE_SERIES, i, &series);
    }
    for (uint32_t i = writer->names_written; i < message->n_names; i++) {
        struct history_name_row name;

        pthread_mutex_lock(&writer->lock);
        name.name = writer->names.names[i];
        pthread_mutex_unlock(&writer->lock);
        if (status == SQLITE_OK)
            status = history_put(writer->insert[HISTORY_TABLE_NAME], HISTORY_TABLE_NAME,
                                 i, &name);
    }
    return status;
}

static int write_segment(struct history_writer *writer, const struct history_step *step)
{
    const struct history_step *newest =
        writer->n_steps ? &writer->steps[writer->n_steps - 1] : NULL;
    struct history_segment segment = {.first = step->first,
                                      .wall_ns = step->wall_ns,
                                      .rank = writer->options.rank,
                                      .ranks = writer->options.ranks,
                                      .text = writer->options.text};

    if (writer->segment_written)
        return SQLITE_OK;
    if (newest) {
        segment.gap_steps = (int64_t)step->first - (int64_t)newest->last - 1;
        if (step->wall_ns > newest->last_ns)
            segment.gap_ns = step->wall_ns - newest->last_ns;
    }
    return history_put(writer->insert[HISTORY_TABLE_SEGMENT], HISTORY_TABLE_SEGMENT,
                       writer->segment, &segment);
}

static int write_texts(struct history_writer *writer,
                       const struct history_message *message)
{
    int status = SQLITE_OK;

    for (uint32_t i = 0; i < message->n_alarms && status == SQLITE_OK; i++)
        status = history_put(writer->insert[HISTORY_TABLE_ALARM], HISTORY_TABLE_ALARM,
                             writer->next_alarm + i, &message->alarms[i]);
    for (uint32_t i = 0; i < message->n_notes && status == SQLITE_OK; i++)
        status = history_put(writer->insert[HISTORY_TABLE_NOTE], HISTORY_TABLE_NOTE,
                             writer->next_note + i, &message->notes[i]);
    return status;
}

/* An estimate of what a step adds to the file. */
static uint64_t step_bytes(const struct history_message *message)
{
    uint64_t bytes = (uint64_t)message->n_points * ROW_BYTES + message->blobs.len;

    bytes += (uint64_t)message->n_scalars * 48 + message->texts.len +
             (uint64_t)message->n_alarms * ROW_BYTES;
    return bytes + bytes / 8 + 64;
}

/* Another process may have continued the file: then this writer must stop. */
static int check_alone(struct history_writer *writer, struct err *err)
{
    sqlite3_stmt *stmt = writer->select[ASK_SEGMENT];
    int64_t newest = -1;

    if (sqlite3_step(stmt) == SQLITE_ROW &&
        sqlite3_column_type(stmt, 0) == SQLITE_INTEGER)
        newest = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    if (newest == (int64_t)writer->segment - !writer->segment_written)
        return 0;
    return err_set_about(err, ERR_CHANGED, writer->path,
                         ": another process continues this history, so this one "
                         "stopped writing");
}

static int write_rows(struct history_writer *writer, struct history_message *message,
                      struct err *err)
{
    struct history_step *step = &message->step;
    int status;

    if (check_alone(writer, err) < 0)
        return -1;
    status = history_fade(writer, step_bytes(message) + 65536);
    step->segment = writer->segment;
    step->id = writer->n_logged;
    step->block = writer->next_block;
    step->points = message->n_points;
    if (status == SQLITE_OK)
        status = write_segment(writer, step);
    if (status == SQLITE_OK)
        status = write_declared(writer, message);
    if (status == SQLITE_OK)
        status = write_points(writer, message);
    if (status == SQLITE_OK)
        status = write_scalars(writer, message);
    if (status == SQLITE_OK)
        status = write_texts(writer, message);
    step->dropped += writer->lost;
    if (status == SQLITE_OK)
        status = history_put(writer->insert[HISTORY_TABLE_STEP], HISTORY_TABLE_STEP,
                             (int64_t)step->id, step);
    step->dropped -= writer->lost;
    if (status == SQLITE_OK)
        return 0;
    return history_sql_err(writer->db, writer->path, err);
}

/* After the commit. */
static void remember(struct history_writer *writer, struct history_message *message)
{
    message->step.dropped += writer->lost;
    writer->lost = 0;
    writer->steps[writer->n_steps++] = message->step;
    writer->n_logged++;
    writer->next_block++;
    writer->segment_written = true;
    writer->series_written = message->n_series;
    writer->names_written = message->n_names;
    writer->next_alarm += message->n_alarms;
    writer->next_note += message->n_notes;
}

/* Is the file still where it was? */
static bool is_there(const struct history_writer *writer)
{
    struct file_key key;

    return history_is_memory(writer->file) ||
           (live_file_key(writer->file, &key) && key.inode == writer->key.inode &&
            key.device == writer->key.device);
}

static int write_step(struct history_writer *writer, struct history_message *message,
                      struct err *err)
{
    if (!is_there(writer))
        return err_set_about(err, ERR_CHANGED, writer->path,
                             ": removed or replaced while it was written. Training "
                             "continues without its history");
    if (!buf_grow_array(&writer->steps, writer->n_steps, &writer->steps_room,
                        sizeof *writer->steps))
        return err_set_about(err, ERR_LIMIT, writer->path, ": no memory left");
    if (history_exec(writer->db, writer->path, "BEGIN IMMEDIATE", err) < 0)
        return -1;
    if (write_rows(writer, message, err) < 0 ||
        history_exec(writer->db, writer->path, "COMMIT", err) < 0)
        return -1;
    remember(writer, message);
    return 0;
}

/* ---- another recording ---- */

static int64_t pages_of(const struct history_writer *writer)
{
    return history_ask(writer->db, "PRAGMA page_count") -
           history_ask(writer->db, "PRAGMA freelist_count");
}

static int replace_run(struct history_writer *writer, struct err *err)
{
    const char *path = writer->path;
    struct err local = {0};

    if (!is_there(writer))
        return err_set_about(err, ERR_CHANGED, path, ": removed or replaced");
    if (history_exec(writer->db, path, "BEGIN IMMEDIATE", err) < 0 ||
        check_alone(writer, err) < 0)
        return -1;
    if (scope_replace_run(writer->db, writer->run, writer->code, &local) < 0)
        return err_set_about(err, local.code, path, ": %s", err_reason(&local));
    return history_exec(writer->db, path, "COMMIT", err);
}

int history_writer_put_run(struct history_writer *writer, struct err *err)
{
    int64_t pages;
    int status;

    if (!writer->db || history_is_memory(writer->file))
        return 0;
    live_file_enter();
    pages = pages_of(writer);
    status = replace_run(writer, err);
    if (status < 0 && !sqlite3_get_autocommit(writer->db))
        sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
    pages = pages_of(writer) - pages;
    if (status == 0 && (pages > 0 || writer->base > (uint64_t)(-pages * writer->page)))
        writer->base += (uint64_t)(pages * writer->page);
    live_file_leave();
    return status;
}

/* ---- failures ---- */

/* Undoes a failed transaction, in the file and in memory. */
static void roll_back(struct history_writer *writer)
{
    for (int i = 0; i < HISTORY_TABLES; i++)
        sqlite3_reset(writer->insert[i]);
    for (int i = 0; i < HISTORY_SELECTS; i++)
        sqlite3_reset(writer->select[i]);
    if (!sqlite3_get_autocommit(writer->db))
        sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
    if (writer->merged > 0 && history_writer_load_steps(writer, NULL) < 0)
        writer->wait_ns = UINT64_MAX;
    writer->merged = 0;
}

/* The error for the user: what happened and what to do. */
static void describe(const struct history_writer *writer, int status, uint64_t step,
                     struct err *err)
{
    const char *path = writer->path;

    if (err->code != ERR_IO)
        return;
    switch (status & 0xff) {
    case SQLITE_FULL:
        err_set_about(err, ERR_IO, path,
                      ": the disk is full. Training continues, but its history stopped "
                      "at step %llu. Free some space to resume it.",
                      (unsigned long long)step);
        break;
    case SQLITE_READONLY:
        err_set_about(
            err, ERR_IO, path,
            ": cannot be written any more (read-only). Training continues, but "
            "its history stopped at step %llu.",
            (unsigned long long)step);
        break;
    default:
        err_set_about(err, ERR_IO, path,
                      ": %s. Training continues, but its history stopped at step %llu.",
                      sqlite3_errmsg(writer->db), (unsigned long long)step);
    }
}

static void fail_step(struct history_writer *writer,
                      const struct history_message *message, struct err *err)
{
    describe(writer, sqlite3_extended_errcode(writer->db), message->step.first, err);
    roll_back(writer);
    writer->lost += 1 + message->step.dropped;
    if (err->code == ERR_CHANGED)
        writer->wait_ns = UINT64_MAX;
    else if (writer->wait_ns != UINT64_MAX)
        writer->wait_ns = writer->wait_ns == 0                 ? WAIT_LEAST_NS
                          : writer->wait_ns < WAIT_MOST_NS / 2 ? 2 * writer->wait_ns
                                                               : WAIT_MOST_NS;
    writer->retry_ns =
        writer->wait_ns == UINT64_MAX ? UINT64_MAX : clock_ns() + writer->wait_ns;
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Each page goes to the journal first, then to the file, or the other way round. */
static uint64_t disk_bytes(const struct history_writer *writer)
{
    int pages = 0, most = 0;

    if (!writer->db)
        return 0;
    sqlite3_db_status(writer->db, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &most, 0);
    return 2 * (uint64_t)pages * (uint64_t)writer->page;
}

/* How many steps of this size this writer can add. */
static uint64_t steps_kept(const struct history_writer *writer, uint64_t bytes)
{
    uint64_t taken = writer->base + history_wal_room(writer, bytes);

    return taken < writer->options.limit ? (writer->options.limit - taken) / bytes : 0;
}

/* Updates what the training side sees. */
static void report(struct history_writer *writer, const struct history_message *message,
                   uint64_t ns, const struct err *err)
{
    uint64_t bytes = history_writer_bytes(writer), disk = disk_bytes(writer);
    uint64_t newest = step_bytes(message), keeps = steps_kept(writer, newest);
    struct history_state *state = &writer->state;

    pthread_mutex_lock(&writer->lock);
    state->failed = err->code != ERR_NONE;
    if (state->failed) {
        state->dropped++;
        if (!state->problem[0])
            snprintf(state->problem, sizeof state->problem, "%s", err->text);
    } else {
        state->written++;
        state->merged += writer->merged;
        state->commits_ns += ns;
        if (message->n_points > 0 || state->step_bytes == 0) {
            state->step_bytes = newest;
            state->keeps = keeps;
        }
    }
    state->disk_bytes = disk;
    state->cpu_ns = thread_cpu_ns();
    state->rows = writer->n_steps;
    state->bytes = bytes;
    pthread_mutex_unlock(&writer->lock);
}

/* Without WAL a reader may lock the file briefly: wait for it. */
static bool is_busy(const struct history_writer *writer)
{
    int status = sqlite3_errcode(writer->db) & 0xff;

    return status == SQLITE_BUSY || status == SQLITE_LOCKED;
}

static bool should_stop(struct history_writer *writer)
{
    bool stop;

    pthread_mutex_lock(&writer->lock);
    stop = writer->stop;
    pthread_mutex_unlock(&writer->lock);
    return stop;
}

static void take_step(struct history_writer *writer, struct history_message *message)
{
    struct err err = {0};
    uint64_t began = clock_ns();

    writer->merged = 0;
    if (!writer->db) {
        report(writer, message, 0, &err);
        return;
    }
    if (began < writer->retry_ns &&
        !(writer->wait_ns != UINT64_MAX && should_stop(writer))) {
        writer->lost += 1 + message->step.dropped;
        report(writer, message, 0, &(struct err){.code = ERR_IO});
        return;
    }
    while (write_step(writer, message, &err) < 0) {
        if (err.code == ERR_IO && is_busy(writer) && !should_stop(writer)) {
            roll_back(writer);
            err = (struct err){0};
            continue;
        }
        fail_step(writer, message, &err);
        break;
    }
    if (err.code == ERR_NONE)
        writer->retry_ns = writer->wait_ns = 0;
    report(writer, message, clock_ns() - began, &err);
}

/* A sink that fails loses this step; the first problem is reported. */
static void give_step(struct history_writer *writer,
                      const struct history_message *message)
{
    struct history_state *state = &writer->state;
    struct history_sink *sink;

    pthread_mutex_lock(&writer->lock);
    sink = writer->sinks;
    pthread_mutex_unlock(&writer->lock);
    while (sink) {
        struct err err = {0};
        int failed = history_message_give(writer, message, sink, &err);

        pthread_mutex_lock(&writer->lock);
        if (failed && !state->problem[0])
            snprintf(state->problem, sizeof state->problem, "%s", err.text);
        sink = sink->next;
        pthread_mutex_unlock(&writer->lock);
    }
}

void *history_writer_run(void *user)
{
    struct history_writer *writer = user;
    struct history_message *message;

    while ((message = history_writer_take(writer)) != NULL) {
        history_message_settle(message, writer->options.codec);
        live_file_enter();
        take_step(writer, message);
        live_file_leave();
        give_step(writer, message);
        history_writer_done(writer, message);
    }
    return NULL;
}
