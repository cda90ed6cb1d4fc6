/* Files that are damaged or made to harm. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/blob.h"
#include "base/test.h"
#include "history/sample_history_in.h"

#define SERIES 3
#define STEPS  12

static void write_sample(const char *path)
{
    const struct history_options options = {.codec = &sample_codec, .queue = 64};
    struct history_writer *writer =
        history_writer_create(path, NULL, NULL, &options, NULL);

    CHECK(writer != NULL);
    sample_declare(writer, SERIES);
    for (uint64_t i = 0; i < STEPS; i++)
        sample_write(writer, i, SERIES);
    history_writer_begin(writer, STEPS, HISTORY_TRAIN, 1);
    history_writer_alarm(
        writer, &(struct history_alarm){.kind = STR("nan"), .text = STR("an alarm")});
    history_writer_note(writer, STR("a note"));
    history_writer_end(writer, 0);
    CHECK(history_writer_close(writer, NULL) == 0);
}

/* Reads everything; returns how many points there are. */
static uint32_t read_all(struct history *history)
{
    struct history_wanted wanted = {.histograms = true};
    struct history_segment *segments;
    struct history_series *series;
    struct history_sample *samples;
    struct history_alarm *alarms;
    struct history_step newest;
    struct history_note *notes;
    struct arena arena;
    uint32_t n_series = 0, n = 0, points = 0;

    arena_init(&arena, 16 << 20);
    (void)history_read_series(history, &arena, &series, &n_series, NULL);
    for (; wanted.series < n_series && wanted.series < 8; wanted.series++) {
        wanted.most = wanted.series % 2 ? 0 : 5;
        if (history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0)
            points += n;
    }
    (void)history_read_segments(history, &arena, &segments, &n, NULL);
    (void)history_read_alarms(history, 0, 10, &arena, &alarms, &n, NULL);
    (void)history_read_notes(history, 0, 10, &arena, &notes, &n, NULL);
    (void)history_newest(history, &newest, NULL);
    arena_release(&arena);
    return points;
}

/* Changes a sample with SQL. Opens it; NULL: refused with `err`. */
static struct history *changed(const struct sample_folder *folder, const char *sql,
                               struct err *err)
{
    char *message = NULL;
    sqlite3 *db;

    write_sample(folder->file);
    CHECK(sqlite3_open(folder->file, &db) == SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    sqlite3_exec(db, sql, NULL, NULL, &message);
    CHECK_STR(message, NULL);
    sqlite3_close(db);
    *err = (struct err){0};
    return history_open(folder->file, &sample_codec, err);
}

TEST(only_tables_as_specified_are_read)
{
    static const struct {
        const char *sql;
        enum err_code code;
    } cases[] = {
        {"DROP TABLE history_note", ERR_FORMAT},
        {"DROP TABLE history_point; CREATE VIEW history_point AS SELECT 1 AS id",
         ERR_FORMAT},
        {"ALTER TABLE history_step RENAME COLUMN block TO other", ERR_FORMAT},
        {"ALTER TABLE history_name ADD COLUMN more DEFAULT 5", ERR_FORMAT},
        {"DROP TABLE section", ERR_FORMAT},
        {"PRAGMA application_id = 7", ERR_FORMAT},
        {"UPDATE section SET version = 2", ERR_UNSUPPORTED},
        {"UPDATE section SET version = 'x'", ERR_NOT_FOUND},
        {"UPDATE section SET name = 'geometry'", ERR_NOT_FOUND},
        {"PRAGMA user_version = 3", ERR_UNSUPPORTED},
    };
    struct sample_folder folder;
    struct err err;

    sample_folder_make(&folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(!changed(&folder, cases[i].sql, &err));
        CHECK_INT(err.code, cases[i].code);
        CHECK(err.text[0]);
        CHECK(!history_writer_resume(folder.file, NULL, &err));
        CHECK_INT(err.code, cases[i].code);
    }
    sample_folder_remove(&folder);
}

TEST(additions_of_other_programs_are_ignored)
{
    struct sample_folder folder;
    struct history_writer *writer;
    struct history *history;
    struct err err;

    sample_folder_make(&folder);
    history = changed(&folder,
                      "ALTER TABLE history_step ADD COLUMN more INTEGER;"
                      "CREATE TABLE other(x); CREATE INDEX i ON history_step(block);"
                      "CREATE TRIGGER t AFTER INSERT ON history_step BEGIN "
                      "DELETE FROM history_point; END;"
                      "CREATE VIEW v AS SELECT * FROM history_step",
                      &err);
    CHECK_STR(err.text, "");
    CHECK_INT(read_all(history), 5 + STEPS + 5);
    CHECK_INT(history_damaged(history), 0);
    history_close(history);
    /* Nor does its trigger run when the history is continued. */
    writer = history_writer_resume(folder.file, NULL, &err);
    CHECK_STR(err.text, "");
    sample_declare(writer, SERIES);
    sample_write(writer, STEPS + 1, SERIES);
    CHECK(history_writer_close(writer, NULL) == 0);
    history = history_open(folder.file, &sample_codec, NULL);
    CHECK_INT(read_all(history), 5 + STEPS + 1 + 5);
    history_close(history);
    sample_folder_remove(&folder);
}

TEST(invalid_rows_are_skipped_and_counted)
{
    static const char *const cases[] = {
        "UPDATE history_step SET merged = 0 WHERE id = 3",
        "UPDATE history_step SET phase = 9 WHERE id = 3",
        "UPDATE history_step SET first = 99 WHERE id = 3",
        "UPDATE history_step SET block = -1 WHERE id = 3",
        "UPDATE history_step SET id = -5 WHERE id = 3",
        "UPDATE history_point SET merged = 0",
        "UPDATE history_point SET nan = 5",
        "UPDATE history_point SET min = 1e9",
        "UPDATE history_point SET kind = 7",
        "UPDATE history_point SET ratio_n = -1",
        "UPDATE history_point SET ratio_n = 3",
        "UPDATE history_series SET kind = 200 WHERE id = 1",
        "UPDATE history_series SET id = 77 WHERE id = 1",
        "UPDATE history_alarm SET severity = 9",
    };
    struct sample_folder folder;
    struct history *history;
    struct err err;

    sample_folder_make(&folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        history = changed(&folder, cases[i], &err);
        CHECK_STR(err.text, "");
        CHECK(read_all(history) <= 5 + STEPS + 5);
        CHECK(history_damaged(history) > 0);
        history_close(history);
    }
    /* Numbers and texts of other types are read as SQLite converts them. */
    history = changed(&folder,
                      "UPDATE history_point SET histogram = 'text', mean = 'text';"
                      "UPDATE history_segment SET id = 4000000000",
                      &err);
    read_all(history);
    history_close(history);
    sample_folder_remove(&folder);
}

static void read_bytes(const char *bytes, size_t size)
{
    char *copy = malloc(size ? size : 1); /* exact, so that ASan sees an overrun */
    struct history *history;

    CHECK(copy != NULL);
    memcpy(copy, bytes, size);
    history = history_open_memory(copy, size, "x.scope", &sample_codec, NULL);
    if (history)
        read_all(history);
    history_close(history);
    free(copy);
}

TEST(a_damaged_file_never_crashes)
{
    struct sample_folder folder;
    struct blob *blob;
    uint32_t state = 1;
    char *bytes, *copy;
    size_t size;

    sample_folder_make(&folder);
    write_sample(folder.file);
    blob = blob_open_file(folder.file, NULL);
    CHECK(blob != NULL);
    size = (size_t)blob->size;
    bytes = malloc(size);
    copy = malloc(size);
    CHECK(bytes && copy && blob_read(blob, 0, bytes, size, NULL) == 0);
    blob_close(blob);
    for (size_t cut = 0; cut <= size; cut += cut < 200 ? 1 : 509)
        read_bytes(bytes, cut);
    for (int i = 0; i < 300; i++) {
        memcpy(copy, bytes, size);
        for (int k = 0; k < 20; k++) {
            state = state * 1664525u + 1013904223u;
            copy[100 + (state >> 4) % (size - 100)] = (char)(state >> 24);
        }
        read_bytes(copy, size);
    }
    free(bytes);
    free(copy);
    sample_folder_remove(&folder);
}

TEST(a_history_seed_for_the_fuzz_target_is_written_on_request)
{
    const char *path = getenv("TORCHOSCOPE_SEED");

    if (!path)
        SKIP("TORCHOSCOPE_SEED is not set");
    write_sample(path);
}
