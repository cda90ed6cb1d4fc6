/* Reads a run from a file, which is not trusted: only tables with the expected columns
 * are read, no SQL of the file is run (file_sections.c), and every number is
 * checked. */
#include <string.h>

#include "base/base.h"
#include "base/blob.h"
#include "base/folder.h"
#include "run/file_in.h"

#define HEAD 100 /* bytes of an SQLite header */

/* ---- format detection ---- */

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
        err_set_about(err, ERR_FORMAT, path, ": not a recording: it is too short");
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

static int head_check(struct scope_read *read, const uint8_t *head, struct err *err)
{
    if (!head_is(head))
        return err_set_about(err, ERR_FORMAT, read->path,
                             ": not a recording of torchoscope");
    read->version = big_endian(head + 60);
    if (read->version >= 1 && read->version <= SCOPE_VERSION)
        return 0;
    return err_set_about(
        err, ERR_UNSUPPORTED, read->path,
        ": a recording of version %u, and this torchoscope reads up to "
        "version %u. Update torchoscope to open it.",
        read->version, SCOPE_VERSION);
}

/* ---- reading ---- */

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
        return err_set_about(err, ERR_LIMIT, read->path, ": no memory left");
    return 0;
}

/* Reports unknown sections. */
static void note_others(struct scope_read *read)
{
    uint32_t before = read->build.model->n_findings;

    if (read->others.len == 0)
        return;
    build_finding(&read->build, FINDING_UNSUPPORTED, SEVERITY_NOTE, FINDING_NOWHERE,
                  "this file also holds %s, which this version of torchoscope does not "
                  "show",
                  buf_cstr(&read->others));
    read->run->other_sections = read->build.model->n_findings > before;
}

static int read_tables(struct scope_read *read, struct err *err)
{
    size_t limit = 32 * MIB + 4 * (size_t)read->size;

    if (build_init(&read->build, read->path, limit, read->work, err) < 0)
        return -1;
    read->run = run_new(limit);
    if (!read->run)
        return err_set_about(err, ERR_LIMIT, read->path, ": no memory left");
    if (scope_check_sections(read, err) < 0)
        return -1;
    for (int i = 0; i < TABLE_COUNT; i++)
        if (read->schema[i] == SCHEMA_GOOD)
            read->rows[i] = table_rows(read, i);
    scope_read_model(read);
    scope_read_run(read);
    scope_read_ops(read);
    build_file(&read->build, str_of(read->path), read->size);
    if (read->cancelled)
        return err_set(err, ERR_CANCELLED, "stopped");
    if (read->n[TABLE_MODEL_PLACE] == 0)
        return err_set_about(err, ERR_FORMAT, read->path, ": damaged: %s",
                             read->build.model->n_findings
                                 ? read->build.model->findings[0].text
                                 : "it holds no model");
    note_others(read);
    if (finish_model(read, err) < 0)
        return -1;
    return scope_keep_source(read, err);
}

/* Reads the open database, and closes it. */
static struct run *read_database(struct scope_read *read, struct err *err)
{
    struct run *run = NULL;

    scope_make_careful(read->db);
    if (read_tables(read, err) == 0) {
        run = read->run;
        read->run = NULL;
    }
    run_free(read->run);
    build_release(&read->build);
    buf_release(&read->others);
    sqlite3_close(read->db);
    return run;
}

/* ---- opening ---- */

struct run *run_file_read(const char *path, struct work *work, struct err *err)
{
    struct scope_read read = {.path = path, .work = work};
    struct run *run = NULL;
    uint8_t head[HEAD];

    if (!head_read(path, head, &read.size, err) || head_check(&read, head, err) < 0)
        return NULL;
    read.db = scope_open(path);
    if (read.db && sqlite3_errcode(read.db) == SQLITE_OK) {
        run = read_database(&read, err);
    } else {
        err_set_about(err, ERR_IO, path, ": %s",
                      read.db ? sqlite3_errmsg(read.db) : "no memory left");
        sqlite3_close(read.db);
    }
    return run;
}

struct run *run_file_read_memory(const void *at, size_t size, const char *name,
                                 struct work *work, struct err *err)
{
    struct scope_read read = {.path = name, .work = work, .size = size};
    unsigned char *bytes = (unsigned char *)(uintptr_t)at; /* it is only read */

    if (size < HEAD) {
        err_set_about(err, ERR_FORMAT, name, ": not a recording: it is too short");
        return NULL;
    }
    if (head_check(&read, at, err) < 0)
        return NULL;
    if (sqlite3_open_v2(":memory:", &read.db, SQLITE_OPEN_READWRITE, NULL) !=
            SQLITE_OK ||
        sqlite3_deserialize(read.db, "main", bytes, (sqlite3_int64)size,
                            (sqlite3_int64)size,
                            SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
        err_set_about(err, ERR_IO, name, ": %s",
                      read.db ? sqlite3_errmsg(read.db) : "no memory left");
        sqlite3_close(read.db);
        return NULL;
    }
    return read_database(&read, err);
}
