/* A file becomes a run. Nothing in it is believed: the schema must be ours to the
 * letter, so that no other SQL is ever run, and every number is checked. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/blob.h"
#include "base/folder.h"
#include "run/file_in.h"

#define HEAD 100 /* bytes of an SQLite header */

struct run_source {
    sqlite3 *db;
    pthread_mutex_t lock; /* of the blob: panels and threads ask */
    sqlite3_blob *blob;   /* the part that was read last; or NULL */
    uint32_t *parts;      /* first part of each kept value */
};

static const char *no_memory = "it needs more memory than the file's size allows";

/* ---- what kind of file ---- */

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool head_is(const uint8_t *head)
{
    return memcmp(head, "SQLite format 3", 16) == 0 &&
           big_endian(head + 68) == SCOPE_APPLICATION;
}

static bool head_read(const char *path, uint8_t *head, uint64_t *ret_size,
                      struct err *err)
{
    struct blob *blob = blob_open_file(path, err);
    bool good = false;

    if (!blob)
        return false;
    if (blob->size < HEAD)
        err_set(err, ERR_FORMAT, "%s: not a recording: it is too short", path);
    else
        good = blob_read(blob, 0, head, HEAD, err) == 0;
    *ret_size = blob->size;
    blob_close(blob);
    return good;
}

bool run_file_is(const char *path)
{
    uint8_t head[HEAD];
    uint64_t size;

    return !path_is_folder(path) && head_read(path, head, &size, NULL) && head_is(head);
}

static int head_check(const char *path, const uint8_t *head, struct err *err)
{
    if (!head_is(head))
        return err_set(err, ERR_FORMAT, "%s: not a recording of torchoscope", path);
    if (big_endian(head + 60) != SCOPE_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: a recording of version %u, and this torchoscope reads "
                       "version %u",
                       path, big_endian(head + 60), SCOPE_VERSION);
    return 0;
}

/* ---- the run's tables ---- */

static const char *take_meta(struct scope_read *read, uint32_t i, void *row)
{
    const struct meta_row *meta = row;
    struct run *run = read->run;
    uint64_t number = (uint64_t)meta->number;
    struct str name;

    (void)i;
    if (str_is(meta->key, "wall_ns"))
        run->wall_ns = number;
    else if (str_is(meta->key, "own_ns"))
        run->own_ns = number;
    else if (str_is(meta->key, "hooks_ns"))
        run->hooks_ns = number;
    else if (str_is(meta->key, "partial") && number)
        read->build.model->partial = true;
    if (!str_is(meta->key, "name"))
        return NULL;
    name = arena_str(&run->arena, meta->text);
    if (!name.at)
        return no_memory;
    run->name = name.at;
    return NULL;
}

static const char *take_string(struct scope_read *read, uint32_t i, void *row)
{
    if (intern_add(&read->run->strings, ((const struct text_row *)row)->text) != i)
        return "a text that is there already";
    return NULL;
}

static const char *take_plain(struct scope_read *read, uint32_t i, void *row)
{
    return scope_take_plain(read, &read->run->plain, i, row);
}

static const char *take_fact(struct scope_read *read, uint32_t i, void *row)
{
    read->run->facts[i] = *(const struct model_fact *)row;
    read->run->n_facts++;
    return NULL;
}

static const char *take_device(struct scope_read *read, uint32_t i, void *row)
{
    read->run->devices[i] = ((const struct name_row *)row)->name;
    read->run->n_devices++;
    return NULL;
}

static const char *take_stats(struct scope_read *read, uint32_t i, void *row)
{
    const struct stats *stats = row;

    if (stats->kind > STATS_UINT)
        return "kind";
    read->run->stats[i] = *stats;
    read->run->n_stats++;
    return NULL;
}

/* Where a shape stands in run->dims, put there if it is new; RUN_NONE: spent. */
static uint32_t dims_of(struct scope_read *read, uint32_t shape)
{
    struct run *run = read->run;
    const int64_t *sizes = read->sizes + read->shape_at[shape];

    if (read->shape_dims[shape] != RUN_NONE)
        return read->shape_dims[shape];
    for (int i = 0; i < read->shape_rank[shape]; i++) {
        if (arena_room(&run->arena, &run->dims, run->n_dims, &read->dims_room,
                       sizeof *run->dims) < 0)
            return RUN_NONE;
        run->dims[run->n_dims++] = sizes[i];
    }
    read->shape_dims[shape] = run->n_dims - read->shape_rank[shape];
    return read->shape_dims[shape];
}

static const char *take_value(struct scope_read *read, uint32_t i, void *row)
{
    struct value_row *from = row;
    struct run_value *value = &from->value;

    if (from->shape == UINT32_MAX)
        return "shape";
    value->rank = read->shape_rank[from->shape];
    if (from->strides != UINT32_MAX && read->shape_rank[from->strides] != value->rank)
        return "strides";
    if (value->layout > LAYOUT_WRAPPED)
        return "layout";
    if (value->device > 0 && value->device >= read->run->n_devices)
        return "device";
    value->shape = dims_of(read, from->shape);
    value->strides = RUN_NONE;
    if (from->strides != UINT32_MAX && value->shape != RUN_NONE)
        value->strides = dims_of(read, from->strides);
    if (value->shape == RUN_NONE)
        return no_memory;
    value->kept = RUN_NONE;
    read->run->values[i] = *value;
    read->run->n_values++;
    return NULL;
}

static const char *take_call(struct scope_read *read, uint32_t i, void *row)
{
    struct run_call *call = row;

    if (call->object == NO_OBJECT)
        return "object";
    if (call->parent != RUN_NONE && call->parent >= i)
        return "parent";
    if (call->place == NO_PLACE)
        return "place";
    read->run->calls[i] = *call;
    read->run->n_calls++;
    return NULL;
}

static const char *take_io(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_io *io = row;
    struct run *run = read->run;

    if (io->call == RUN_NONE || (i > 0 && io->call < run->ios[i - 1].call))
        return "call";
    if (io->kind > RUN_GRAD_IN)
        return "kind";
    run->calls[io->call].n_ios++;
    run->ios[i] = *io;
    run->n_ios++;
    return NULL;
}

static const char *take_merged(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_merged *merged = row;
    struct run *run = read->run;
    const struct run_merged *before = i > 0 ? &run->merged[i - 1] : NULL;

    if (merged->object == NO_OBJECT || (before && merged->object < before->object))
        return "object";
    if (before && merged->object == before->object && merged->newest <= before->newest)
        return "newest";
    run->merged[i] = *merged;
    run->n_merged++;
    return NULL;
}

static const char *take_merged_io(struct scope_read *read, uint32_t i, void *row)
{
    const struct merged_io_row *from = row;
    struct run *run = read->run;

    if (from->merged == UINT32_MAX || (i > 0 && from->merged < read->last_merged))
        return "merged";
    if (from->io.kind > RUN_GRAD_IN)
        return "kind";
    read->last_merged = from->merged;
    run->merged[from->merged].n_ios++;
    run->merged_ios[i] = from->io;
    run->n_merged_ios++;
    return NULL;
}

static const char *take_merged_shape(struct scope_read *read, uint32_t i, void *row)
{
    const struct merged_shape_row *from = row;
    struct run *run = read->run;
    struct run_merged_io *io;
    int rank;

    if (from->merged_io == UINT32_MAX || (i > 0 && from->merged_io < read->last_io))
        return "merged_io";
    if (from->shape == UINT32_MAX)
        return "shape";
    io = &run->merged_ios[from->merged_io];
    rank = read->shape_rank[from->shape];
    if (i == 0 || from->merged_io != read->last_io)
        io->shapes = run->n_dims;
    read->last_io = from->merged_io;
    for (int k = -1; k < rank; k++) {
        if (arena_room(&run->arena, &run->dims, run->n_dims, &read->dims_room,
                       sizeof *run->dims) < 0)
            return no_memory;
        run->dims[run->n_dims++] =
            k < 0 ? rank : read->sizes[read->shape_at[from->shape] + (uint32_t)k];
    }
    io->n_shapes++;
    return NULL;
}

static const char *take_param(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_param *param = row;

    if (param->tensor == NO_OBJECT)
        return "tensor";
    if (param->value == RUN_NONE)
        return "value";
    read->run->params[i] = *param;
    read->run->n_params++;
    return NULL;
}

static const char *take_gap(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_gap *gap = row;

    if (gap->kind >= RUN_GAP_COUNT)
        return "kind";
    read->run->gaps[i] = *gap;
    read->run->n_gaps++;
    return NULL;
}

static const char *take_kept(struct scope_read *read, uint32_t i, void *row)
{
    const struct kept_row *from = row;
    uint64_t parts =
        from->kept.bytes / SCOPE_PART + (from->kept.bytes % SCOPE_PART > 0);
    struct run *run = read->run;

    if (from->kept.value == RUN_NONE || run->values[from->kept.value].kept != RUN_NONE)
        return "value";
    if (from->part > read->rows[TABLE_KEPT_PART] ||
        parts > read->rows[TABLE_KEPT_PART] - from->part)
        return "part";
    run->values[from->kept.value].kept = i;
    run->kept[i] = (struct run_kept){from->kept.value, from->kept.bytes, NULL};
    read->parts[i] = from->part;
    run->n_kept++;
    return NULL;
}

/* ---- all of it ---- */

static bool room(struct scope_read *read, enum scope_table table, void *at, size_t item)
{
    void *array = arena_array(&read->run->arena, (size_t)read->rows[table] + 1, item);

    memcpy(at, &array, sizeof array);
    if (!array)
        scope_damaged(read, table, 0, no_memory);
    return array != NULL;
}

#define READ_INTO(table, array, take)                                                  \
    do {                                                                               \
        if (room(read, table, &(array), sizeof *(array)))                              \
            table_read(read, table, take);                                             \
    } while (0)

/* Where the ios of each call begin. */
static void place_ios(struct run *run)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        run->calls[i].ios = at;
        at += run->calls[i].n_ios;
    }
    at = 0;
    for (uint32_t i = 0; i < run->n_merged; i++) {
        run->merged[i].ios = at;
        at += run->merged[i].n_ios;
    }
}

static void read_run(struct scope_read *read)
{
    struct run *run = read->run;

    table_read(read, TABLE_META, take_meta);
    table_read(read, TABLE_RUN_STRING, take_string);
    if (scope_room_for_plain(read, TABLE_RUN_PLAIN))
        table_read(read, TABLE_RUN_PLAIN, take_plain);
    READ_INTO(TABLE_RUN_FACT, run->facts, take_fact);
    READ_INTO(TABLE_DEVICE, run->devices, take_device);
    READ_INTO(TABLE_STATS, run->stats, take_stats);
    /* The sizes of a scalar are an address too. */
    if (arena_room(&run->arena, &run->dims, 0, &read->dims_room, sizeof *run->dims) < 0)
        return;
    READ_INTO(TABLE_VALUE, run->values, take_value);
    READ_INTO(TABLE_CALL, run->calls, take_call);
    READ_INTO(TABLE_IO, run->ios, take_io);
    READ_INTO(TABLE_MERGED, run->merged, take_merged);
    READ_INTO(TABLE_MERGED_IO, run->merged_ios, take_merged_io);
    READ_INTO(TABLE_MERGED_SHAPE, read->no_rows, take_merged_shape);
    READ_INTO(TABLE_PARAM, run->params, take_param);
    READ_INTO(TABLE_GAP, run->gaps, take_gap);
    if (room(read, TABLE_KEPT, &read->parts, sizeof *read->parts))
        READ_INTO(TABLE_KEPT, run->kept, take_kept);
    place_ios(run);
}

/* The schema must be ours and nothing else. */
static int check_schema(struct scope_read *read, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    struct buf sql = BUF_INIT;
    int found = 0, status;
    bool other = false;

    status = sqlite3_prepare_v2(read->db, "SELECT name, sql FROM sqlite_schema", -1,
                                &stmt, NULL);
    while (status == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW && !other) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        const char *text = (const char *)sqlite3_column_text(stmt, 1);
        int i = 0;

        while (i < TABLE_COUNT && (!name || strcmp(name, scope_tables[i].name) != 0))
            i++;
        buf_clear(&sql);
        if (i < TABLE_COUNT)
            table_sql(i, &sql);
        other = i == TABLE_COUNT || !text || strcmp(text, buf_cstr(&sql)) != 0;
        found++;
    }
    sqlite3_finalize(stmt);
    buf_release(&sql);
    if (!other && found == TABLE_COUNT)
        return 0;
    return err_set(err, ERR_FORMAT,
                   "%s: damaged: its tables are not those of a recording%s%s",
                   read->path, status == SQLITE_OK ? "" : ": ",
                   status == SQLITE_OK ? "" : sqlite3_errmsg(read->db));
}

static void make_careful(sqlite3 *db)
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

static int finish_model(struct scope_read *read, struct err *err)
{
    struct model *model = read->build.model;

    scope_mend_values(&model->values, model);
    scope_mend_values(&read->run->plain, model);
    model->format = "recording";
    model->no_values = "values are not in a recording";
    read->run->model = build_finish(&read->build, err);
    if (!read->run->model)
        return -1;
    if (run_seal(read->run) < 0)
        return err_set(err, ERR_LIMIT, "%s: no memory left", read->path);
    return 0;
}

/* The run keeps the database open for the values that were kept. */
static int keep_source(struct scope_read *read, struct err *err)
{
    struct run_source *source;

    if (read->run->n_kept == 0)
        return 0;
    source = calloc(1, sizeof *source);
    if (!source)
        return err_set(err, ERR_LIMIT, "%s: no memory left", read->path);
    *source = (struct run_source){.db = read->db, .parts = read->parts};
    pthread_mutex_init(&source->lock, NULL);
    read->db = NULL;
    read->run->source = source;
    return 0;
}

static int read_tables(struct scope_read *read, struct err *err)
{
    size_t limit = 32 * MIB + 4 * (size_t)read->size;

    if (build_init(&read->build, read->path, limit, read->work, err) < 0)
        return -1;
    read->run = run_new(limit);
    if (!read->run)
        return err_set(err, ERR_LIMIT, "%s: no memory left", read->path);
    for (int i = 0; i < TABLE_COUNT; i++)
        read->rows[i] = table_rows(read, i);
    scope_read_model(read);
    read_run(read);
    build_file(&read->build, str_of(read->path), read->size);
    if (read->cancelled)
        return err_set(err, ERR_CANCELLED, "stopped");
    if (read->n[TABLE_MODEL_PLACE] == 0)
        return err_set(err, ERR_FORMAT, "%s: damaged: %s", read->path,
                       read->build.model->n_findings
                           ? read->build.model->findings[0].text
                           : "it holds no model");
    if (finish_model(read, err) < 0)
        return -1;
    return keep_source(read, err);
}

/* Read the database that is open; closes it. */
static struct run *read_database(struct scope_read *read, struct err *err)
{
    struct run *run = NULL;

    make_careful(read->db);
    if (check_schema(read, err) == 0) {
        if (read_tables(read, err) == 0) {
            run = read->run;
            read->run = NULL;
        }
        run_free(read->run);
        build_release(&read->build);
    }
    sqlite3_close(read->db);
    return run;
}

/* "file:PATH?mode=ro&immutable=1", with all that could mean something else written as
 * %XX. */
static void make_uri(const char *path, struct buf *to)
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
    buf_text(to, "?mode=ro&immutable=1");
}

struct run *run_file_read(const char *path, struct work *work, struct err *err)
{
    struct scope_read read = {.path = path, .work = work};
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX;
    struct buf uri = BUF_INIT;
    struct run *run = NULL;
    uint8_t head[HEAD];

    if (!head_read(path, head, &read.size, err) || head_check(path, head, err) < 0)
        return NULL;
    make_uri(path, &uri);
    if (uri.bad || sqlite3_open_v2(uri.at, &read.db, flags, NULL) != SQLITE_OK) {
        err_set(err, ERR_IO, "%s: %s", path,
                read.db ? sqlite3_errmsg(read.db) : "no memory left");
        sqlite3_close(read.db);
    } else {
        run = read_database(&read, err);
    }
    buf_release(&uri);
    return run;
}

struct run *run_file_read_memory(const void *at, size_t size, const char *name,
                                 struct work *work, struct err *err)
{
    struct scope_read read = {.path = name, .work = work, .size = size};
    unsigned char *bytes = (unsigned char *)(uintptr_t)at; /* it is not written to */

    if (size < HEAD) {
        err_set(err, ERR_FORMAT, "%s: not a recording: it is too short", name);
        return NULL;
    }
    if (head_check(name, at, err) < 0)
        return NULL;
    if (sqlite3_open_v2(":memory:", &read.db, SQLITE_OPEN_READWRITE, NULL) !=
            SQLITE_OK ||
        sqlite3_deserialize(read.db, "main", bytes, (sqlite3_int64)size,
                            (sqlite3_int64)size,
                            SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
        err_set(err, ERR_IO, "%s: %s", name,
                read.db ? sqlite3_errmsg(read.db) : "no memory left");
        sqlite3_close(read.db);
        return NULL;
    }
    return read_database(&read, err);
}

/* ---- kept values ---- */

void run_source_close(struct run_source *source)
{
    if (!source)
        return;
    sqlite3_blob_close(source->blob);
    sqlite3_close(source->db);
    pthread_mutex_destroy(&source->lock);
    free(source);
}

/* Copy bytes of one part. */
static int part_bytes(struct run_source *source, uint32_t part, size_t at, void *to,
                      size_t n, struct err *err)
{
    int status = source->blob ? sqlite3_blob_reopen(source->blob, part)
                              : sqlite3_blob_open(source->db, "main", "kept_part",
                                                  "data", part, 0, &source->blob);

    if (status == SQLITE_OK && (uint64_t)sqlite3_blob_bytes(source->blob) < at + n)
        return err_set(err, ERR_FORMAT, "a kept value is cut short in the recording");
    if (status == SQLITE_OK)
        status = sqlite3_blob_read(source->blob, to, (int)n, (int)at);
    if (status == SQLITE_OK)
        return 0;
    /* A handle that failed stays bad: the next read opens a new one. */
    sqlite3_blob_close(source->blob);
    source->blob = NULL;
    return err_set(err, ERR_FORMAT,
                   "a kept value cannot be read from the recording: %s",
                   sqlite3_errmsg(source->db));
}

int run_kept_bytes(const struct run *run, uint32_t kept, uint64_t at, void *to,
                   size_t n, struct err *err)
{
    const struct run_kept *value;

    if (kept >= run->n_kept || at > run->kept[kept].bytes ||
        n > run->kept[kept].bytes - at)
        return err_set(err, ERR_USAGE, "bytes beyond the end of a kept value");
    value = &run->kept[kept];
    if (value->at) {
        memcpy(to, (const char *)value->at + at, n);
        return 0;
    }
    while (n > 0) {
        uint32_t part = run->source->parts[kept] + (uint32_t)(at / SCOPE_PART);
        size_t inside = (size_t)(at % SCOPE_PART);
        size_t now = n < SCOPE_PART - inside ? n : SCOPE_PART - inside;

        int status;

        pthread_mutex_lock(&run->source->lock);
        status = part_bytes(run->source, part, inside, to, now, err);
        pthread_mutex_unlock(&run->source->lock);
        if (status < 0)
            return -1;
        to = (char *)to + now;
        at += now;
        n -= now;
    }
    return 0;
}
