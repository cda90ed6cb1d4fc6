/* A history that is being written: readers, threads, forks, the queue. */
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/live_file.h"
#include "base/test.h"
#include "history/sample_history_in.h"
#include "history/writer_in.h"
#include "run/run_file.h"

#define SERIES 20

static struct history_writer *create(const struct sample_folder *folder, uint32_t queue)
{
    const struct history_options options = {
        .codec = &sample_codec, .queue = queue, .limit = 4 * MIB};
    struct history_writer *writer =
        history_writer_create(folder->file, NULL, NULL, &options, NULL);

    CHECK(writer != NULL);
    sample_declare(writer, SERIES);
    return writer;
}

/* The rows of steps, their points checked; -1: failed. */
static int read_steps(const char *path)
{
    const struct history_wanted wanted = {.series = SERIES - 1, .histograms = true};
    struct history *history = history_open(path, &sample_codec, NULL);
    struct history_sample *samples = NULL;
    struct arena arena;
    uint32_t n = 0;
    int status = -1;

    arena_init(&arena, 0);
    if (history &&
        history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0 &&
        history_damaged(history) == 0)
        status = (int)n;
    history_close(history);
    arena_release(&arena);
    return status;
}

TEST(another_process_reads_while_it_is_written)
{
    struct sample_folder folder;
    struct history_writer *writer;
    int status = 0, fds[2];
    pid_t child;
    char byte;

    sample_folder_make(&folder);
    CHECK(pipe(fds) == 0);
    child = fork(); /* before there is a writer, so that the child has none */
    if (child == 0) {
        int before = 0, now = 0;

        if (read(fds[0], &byte, 1) != 1)
            _exit(2);
        while (now < 300 && now >= before) {
            before = now;
            now = read_steps(folder.file);
        }
        _exit(now < 300);
    }
    writer = create(&folder, 8);
    sample_write(writer, 0, SERIES);
    CHECK(write(fds[1], "x", 1) == 1);
    for (uint64_t i = 1; i < 300; i++) {
        sample_write(writer, i, SERIES);
        history_writer_flush(writer);
        CHECK(read_steps(folder.file) == (int)i + 1); /* and so does this one */
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(sample_folder_count(&folder), 1);
    close(fds[0]);
    close(fds[1]);
    sample_folder_remove(&folder);
}

/* Keeps a connection to the file, with `fds` to the writer, until the writer has moved
 * the -wal into the file, and a little longer, so that the writer fails at first. */
static void read_until_the_wal_is_empty(const struct sample_folder *folder,
                                        const int fds[2])
{
    struct buf wal = BUF_INIT;
    sqlite3 *db = NULL;
    struct stat info;
    char byte;

    buf_printf(&wal, "%s-wal", folder->file);
    if (wal.bad || read(fds[0], &byte, 1) != 1 ||
        sqlite3_open_v2(folder->file, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_exec(db, "SELECT 1 FROM history_step", NULL, NULL, NULL) != SQLITE_OK ||
        write(fds[1], "x", 1) != 1)
        _exit(2);
    while (stat(wal.at, &info) == 0 && info.st_size > 0)
        ;
    usleep(20000);
    sqlite3_close(db);
    _exit(0);
}

TEST(a_reader_in_another_process_that_exits_leaves_one_file)
{
    struct sample_folder folder;
    struct history_writer *writer;
    int status = 0, to[2], from[2];
    pid_t child;
    char byte;

    sample_folder_make(&folder);
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    child = fork();
    if (child == 0)
        read_until_the_wal_is_empty(&folder, (int[2]){to[0], from[1]});
    writer = create(&folder, 8);
    sample_write(writer, 0, SERIES);
    history_writer_flush(writer);
    CHECK(write(to[1], "x", 1) == 1 && read(from[0], &byte, 1) == 1);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK_INT(sample_folder_count(&folder), 1);
    for (int i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
    sample_folder_remove(&folder);
}

TEST(an_open_reader_does_not_keep_the_writer_from_closing)
{
    const struct history_range range = {0};
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_step *steps;
    struct history *history;
    struct arena arena;
    uint32_t n = 0;

    sample_folder_make(&folder);
    writer = create(&folder, 8);
    sample_write(writer, 0, SERIES);
    history_writer_flush(writer);
    arena_init(&arena, 0);
    history = history_open(folder.file, NULL, NULL);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0 && n == 1);
    sample_write(writer, 1, SERIES);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(sample_folder_count(&folder), 1);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0 && n == 2);
    /* It follows when the run is resumed. */
    writer = history_writer_resume(folder.file, NULL, NULL);
    CHECK(writer != NULL);
    sample_write(writer, 2, SERIES);
    history_writer_flush(writer);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0 && n == 3);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(sample_folder_count(&folder), 1);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(a_live_file_is_registered_until_it_is_closed)
{
    struct sample_folder folder;
    struct history_writer *writer;
    struct err err = {0};

    sample_folder_make(&folder);
    writer = create(&folder, 8);
    CHECK(live_file_is(folder.file));
    CHECK(!history_writer_resume(folder.file, NULL, &err) && err.code == ERR_USAGE);
    CHECK(!history_writer_create(folder.file, NULL, NULL, NULL, &err));
    CHECK_INT(err.code, ERR_USAGE);
    CHECK(live_file_is(folder.file));
    CHECK(!run_file_is(folder.file)); /* opens nothing */
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK(run_file_is(folder.file));
    CHECK(!live_file_is(folder.file));
    sample_folder_remove(&folder);
}

TEST(a_forked_process_does_not_write)
{
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_state state;
    struct err err = {0};
    int status = 0;
    pid_t child;

    sample_folder_make(&folder);
    writer = create(&folder, 8);
    sample_write(writer, 0, SERIES);
    history_writer_flush(writer);
    child = fork();
    if (child == 0) {
        sample_write(writer, 1, SERIES);
        history_writer_flush(writer);
        history_writer_state(writer, &state);
        if (state.written || history_writer_series(writer, NULL) != HISTORY_NONE ||
            history_open(folder.file, NULL, &err) || err.code != ERR_USAGE)
            _exit(1);
        _exit(history_writer_close(writer, NULL) != 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    sample_write(writer, 1, SERIES);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(read_steps(folder.file), 2);
    sample_folder_remove(&folder);
}

static void *keep_writing(void *user)
{
    struct history_writer *writer = user;
    struct history_state state;
    uint64_t i = 0;

    do {
        sample_write(writer, i++, SERIES);
        history_writer_state(writer, &state);
    } while (state.written < 4000);
    return NULL;
}

/* A child that inherited a held SQLite lock would wait for it forever. */
TEST(a_process_that_is_forked_during_a_transaction_can_use_sqlite)
{
    struct sample_folder folder;
    struct history_writer *writer;
    pthread_t thread;

    sample_folder_make(&folder);
    writer = create(&folder, 8);
    CHECK(pthread_create(&thread, NULL, keep_writing, writer) == 0);
    for (int i = 0; i < 150; i++) {
        int status = 0;
        pid_t child = fork();

        if (child == 0) {
            sqlite3 *db = NULL;

            alarm(100);
            _exit(sqlite3_open(":memory:", &db) != SQLITE_OK ||
                  sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL) != SQLITE_OK);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_INT(status, 0);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(history_writer_close(writer, NULL) == 0);
    sample_folder_remove(&folder);
}

/* Holds the write lock of the file, so that the thread has to wait. */
static sqlite3 *hold(const char *path)
{
    sqlite3 *db;

    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    return db;
}

TEST(a_full_queue_drops_whole_steps_and_counts_them)
{
    const struct history_range range = {0};
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_alarm *alarms;
    struct history_state state;
    struct history_step *steps;
    struct history *history;
    uint32_t n, dropped = 0;
    struct arena arena;
    sqlite3 *db;

    sample_folder_make(&folder);
    writer = create(&folder, 4);
    sample_write(writer, 0, SERIES);
    history_writer_flush(writer);
    db = hold(folder.file);
    for (uint64_t i = 1; i < 50; i++) {
        history_writer_begin(writer, i, HISTORY_TRAIN, 0);
        history_writer_alarm(writer, &(struct history_alarm){.text = STR("alarm")});
        history_writer_scalar(writer, 0, (double)i);
        history_writer_end(writer, 0);
    }
    history_writer_state(writer, &state);
    CHECK(state.dropped == 44 ||
          state.dropped == 45); /* 4 wait, one is being written */
    sqlite3_close(db);
    history_writer_flush(writer);
    sample_write(writer, 50, SERIES);
    CHECK(history_writer_close(writer, NULL) == 0);
    arena_init(&arena, 0);
    history = history_open(folder.file, NULL, NULL);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0);
    CHECK_INT(n, 51 - state.dropped);
    for (uint32_t i = 0; i < n; i++)
        dropped += steps[i].dropped;
    CHECK_INT(dropped, state.dropped);
    /* No alarm is lost with its step. */
    CHECK(history_read_alarms(history, 0, 100, &arena, &alarms, &n, NULL) == 0);
    CHECK_INT(n, 49);
    CHECK_INT(alarms[48].step, 49);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

/* ---- threads, also under TSan ---- */

static void *add_points(void *user)
{
    struct history_writer *writer = user;
    struct history_point point;
    uint32_t counts[SAMPLE_BINS];

    for (uint64_t i = 0; i < 200; i++) {
        for (uint32_t k = 0; k < SERIES; k++) {
            sample_point(k, i, i, &point, counts);
            history_writer_point(writer, &point);
        }
        history_writer_series(
            writer, &(struct history_series){.call = (uint32_t)i, .name = STR("more")});
        history_writer_scalar(writer, 0, 1);
    }
    return NULL;
}

static void *keep_reading(void *user)
{
    for (int i = 0; i < 30; i++)
        if (read_steps(user) < 0)
            return user;
    return NULL;
}

TEST(threads_write_and_read_one_history)
{
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_state state;
    pthread_t threads[3];
    void *failed;

    sample_folder_make(&folder);
    writer = create(&folder, 8);
    CHECK(pthread_create(&threads[0], NULL, add_points, writer) == 0);
    CHECK(pthread_create(&threads[1], NULL, add_points, writer) == 0);
    CHECK(pthread_create(&threads[2], NULL, keep_reading, folder.file) == 0);
    for (uint64_t i = 0; i < 100; i++) {
        sample_write(writer, i, SERIES);
        history_writer_flush(writer);
        history_writer_state(writer, &state);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_join(threads[i], &failed) == 0);
        CHECK(failed == NULL);
    }
    CHECK_INT(state.written, 100);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(read_steps(folder.file), 100);
    CHECK_INT(sample_folder_count(&folder), 1);
    sample_folder_remove(&folder);
}

TEST(threads_close_a_history_with_a_full_queue)
{
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_state state;

    sample_folder_make(&folder);
    writer = create(&folder, 64);
    for (uint64_t i = 0; i < 40; i++)
        sample_write(writer, i, SERIES);
    history_writer_state(writer, &state);
    CHECK_INT(state.dropped, 0);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(read_steps(folder.file), 40);
    sample_folder_remove(&folder);
}

/* ---- file systems ---- */

TEST(network_file_systems_get_no_wal)
{
    CHECK(history_wal_works_on(0xEF53) && history_wal_works_on(0x01021994));
    CHECK(!history_wal_works_on(0x6969) && !history_wal_works_on(0xFF534D42));
    CHECK(!history_wal_works_on(0x65735546) && !history_wal_works_on(0x0BD00BD0));
    CHECK(!history_wal_works("/nowhere"));
}
