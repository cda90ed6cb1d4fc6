/* Failures during a training: the training never fails and never waits, and written
 * steps remain. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/live_file.h"
#include "base/test.h"
#include "history/sample_history_in.h"
#include "run/run_file.h"
#include "run/sample_run.h"

#define SERIES 40

static struct history_writer *create(const struct sample_folder *folder)
{
    const struct history_options options = {.codec = &sample_codec, .queue = 32};
    struct history_writer *writer =
        history_writer_create(folder->file, NULL, NULL, &options, NULL);

    CHECK(writer != NULL);
    sample_declare(writer, SERIES);
    return writer;
}

/* The number of steps in a file: 0, 1, ... each with all its points. */
static uint32_t count_steps(const char *path)
{
    const struct history_wanted wanted = {.series = SERIES - 1, .histograms = true};
    struct err err = {0};
    struct history *history = history_open(path, &sample_codec, &err);
    struct history_sample *samples;
    struct arena arena;
    uint32_t n = 0;

    CHECK_STR(err.text, "");
    arena_init(&arena, 0);
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    for (uint32_t i = 0; i < n; i++) {
        CHECK_INT(samples[i].step.first, i);
        sample_check(&samples[i], SERIES - 1);
    }
    CHECK_INT(history_damaged(history), 0);
    history_close(history);
    arena_release(&arena);
    return n;
}

/* Writes endlessly; after each commit, a byte goes to the pipe. */
static void write_until_killed(const struct sample_folder *folder, int pipe_end)
{
    const struct history_options options = {.codec = &sample_codec, .limit = 2 * MIB};
    struct history_writer *writer =
        history_writer_create(folder->file, NULL, NULL, &options, NULL);

    sample_declare(writer, SERIES);
    for (uint64_t i = 0;; i++) {
        sample_write(writer, i, SERIES);
        history_writer_flush(writer);
        if (write(pipe_end, "x", 1) != 1)
            _exit(1);
    }
}

static uint64_t steps_in_all(const char *path)
{
    struct history *history = history_open(path, &sample_codec, NULL);
    const struct history_range range = {0};
    struct history_step *steps;
    struct arena arena;
    uint64_t total = 0;
    uint32_t n;

    CHECK(history != NULL);
    arena_init(&arena, 0);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0);
    for (uint32_t i = 0; i < n; i++)
        total += steps[i].merged;
    CHECK_INT(history_damaged(history), 0);
    history_close(history);
    arena_release(&arena);
    return total;
}

/* Every step whose commit was seen is in the file. */
static void kill_a_writer(unsigned after)
{
    struct sample_folder folder;
    struct history_writer *writer;
    uint64_t seen = 0, found;
    int fds[2], status;
    char byte[64];
    ssize_t got;
    pid_t child;

    sample_folder_make(&folder);
    CHECK(pipe(fds) == 0);
    child = fork();
    if (child == 0)
        write_until_killed(&folder, fds[1]);
    CHECK(child > 0);
    close(fds[1]);
    while (seen < after &&
           (got = read(fds[0], byte, after - seen < 64 ? after - seen : 64)) > 0)
        seen += (uint64_t)got;
    /* At some moment within the next transactions. */
    for (volatile unsigned i = 0; i < after % 7 * 90000; i++)
        ;
    kill(child, SIGKILL);
    CHECK(waitpid(child, &status, 0) == child);
    while ((got = read(fds[0], byte, sizeof byte)) > 0)
        seen += (uint64_t)got;
    close(fds[0]);
    found = steps_in_all(folder.file);
    CHECK(found == seen || found == seen + 1);
    /* It can be continued, and then becomes one file. */
    writer = history_writer_resume(folder.file, NULL, NULL);
    CHECK(writer != NULL);
    sample_declare(writer, SERIES);
    sample_write(writer, found, SERIES);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(steps_in_all(folder.file), found + 1);
    CHECK_INT(sample_folder_count(&folder), 1);
    sample_folder_remove(&folder);
}

TEST(a_killed_writer_loses_no_committed_step)
{
    const char *rounds = getenv("HISTORY_ROUNDS"); /* more for a soak */
    unsigned n = rounds ? (unsigned)strtoul(rounds, NULL, 10) : 50;

    for (unsigned i = 0; i < n; i++)
        kill_a_writer(1 + i * 37 % 190);
}

/* Runs body() in a child, because it limits the process. */
static void in_child(void (*body)(const struct sample_folder *folder),
                     const struct sample_folder *folder)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        body(folder);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

/* For children, where CHECK cannot be used. */
#define MUST(condition)                                                                \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
            _exit(1);                                                                  \
        }                                                                              \
    } while (0)

static void fill_the_disk(const struct sample_folder *folder)
{
    const struct rlimit least = {400 * KIB, RLIM_INFINITY};
    struct history_writer *writer = create(folder);
    struct history_state state;
    uint64_t i = 0;

    signal(SIGXFSZ, SIG_IGN); /* writes beyond the limit fail, as on a full disk */
    MUST(setrlimit(RLIMIT_FSIZE, &least) == 0);
    do {
        sample_write(writer, i++, SERIES);
        history_writer_flush(writer);
        history_writer_state(writer, &state);
    } while (!state.failed && i < 10000);
    MUST(state.failed && i < 10000 && state.problem[0]);
    MUST(strstr(state.problem, "Training continues") != NULL);
    MUST(state.written == i - 1 && state.dropped == 1);
    /* The step that failed, and those of the next moments, are lost. */
    sample_write(writer, i++, SERIES);
    history_writer_flush(writer);
    history_writer_state(writer, &state);
    MUST(state.failed && state.dropped == 2);
    MUST(history_writer_close(writer, NULL) < 0);
}

TEST(a_full_disk_loses_only_later_steps)
{
    struct sample_folder folder;

    sample_folder_make(&folder);
    in_child(fill_the_disk, &folder);
    CHECK(count_steps(folder.file) > 5);
    sample_folder_remove(&folder);
}

static void fill_and_free_the_disk(const struct sample_folder *folder)
{
    const struct rlimit least = {400 * KIB, RLIM_INFINITY};
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    struct history_writer *writer = create(folder);
    struct history_state state;
    uint64_t i = 0;

    signal(SIGXFSZ, SIG_IGN);
    MUST(setrlimit(RLIMIT_FSIZE, &least) == 0);
    do {
        sample_write(writer, i++, SERIES);
        history_writer_flush(writer);
        history_writer_state(writer, &state);
    } while (!state.failed && i < 10000);
    MUST(setrlimit(RLIMIT_FSIZE, &all) == 0);
    /* It retries automatically after a while. */
    do {
        sample_write(writer, i++, SERIES);
        history_writer_flush(writer);
        history_writer_state(writer, &state);
    } while (state.failed);
    MUST(state.problem[0] && state.written + state.dropped == i);
    MUST(history_writer_close(writer, NULL) == 0);
}

TEST(writing_resumes_when_there_is_space_again)
{
    const struct history_range range = {0};
    struct sample_folder folder;
    struct history_step *steps;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    in_child(fill_and_free_the_disk, &folder);
    arena_init(&arena, 0);
    history = history_open(folder.file, NULL, NULL);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0);
    CHECK(n > 5 && steps[n - 1].dropped > 0);
    CHECK_INT(steps[n - 1].first, steps[n - 2].first + 1 + steps[n - 1].dropped);
    history_close(history);
    arena_release(&arena);
    CHECK_INT(sample_folder_count(&folder), 1);
    sample_folder_remove(&folder);
}

TEST(a_removed_file_ends_the_history_and_not_the_training)
{
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_state state;
    struct err err = {0};

    sample_folder_make(&folder);
    writer = create(&folder);
    sample_write(writer, 0, SERIES);
    history_writer_flush(writer);
    sample_folder_remove(&folder);
    for (uint64_t i = 1; i < 20; i++)
        sample_write(writer, i, SERIES);
    history_writer_flush(writer);
    history_writer_state(writer, &state);
    CHECK(state.failed && state.written == 1 && state.dropped == 19);
    CHECK(strstr(state.problem, "removed or replaced") != NULL);
    CHECK(history_writer_close(writer, &err) < 0);
    CHECK(strstr(err.text, "removed or replaced") != NULL);
    CHECK(access(folder.path, F_OK) < 0);
}

TEST(a_replaced_file_is_not_written_to)
{
    struct sample_folder folder, other;
    struct history_writer *writer;
    struct history_state state;

    sample_folder_make(&folder);
    sample_folder_make(&other);
    writer = create(&other);
    CHECK(history_writer_close(writer, NULL) == 0);
    writer = create(&folder);
    CHECK(rename(other.file, folder.file) == 0);
    sample_write(writer, 0, SERIES);
    history_writer_flush(writer);
    history_writer_state(writer, &state);
    CHECK(state.failed && state.written == 0);
    CHECK(history_writer_close(writer, NULL) < 0);
    sample_folder_remove(&folder);
    sample_folder_remove(&other);
}

TEST(a_second_process_that_continues_takes_over)
{
    const struct history_options options = {.codec = &sample_codec};
    struct sample_folder folder;
    struct history_writer *writer, *late;
    struct history_state state;
    int status = 0, fds[2];
    pid_t child;

    sample_folder_make(&folder);
    writer = create(&folder);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK(pipe(fds) == 0);
    child = fork();
    if (child == 0) {
        late = history_writer_resume(folder.file, &options, NULL);
        MUST(late != NULL);
        MUST(write(fds[1], "x", 1) == 1);
        kill(getpid(), SIGSTOP);
        /* Meanwhile the parent has written. */
        sample_write(late, 1, 0);
        history_writer_flush(late);
        history_writer_state(late, &state);
        _exit(!(state.failed && strstr(state.problem, "another process")));
    }
    CHECK(child > 0 && waitpid(child, &status, WUNTRACED) == child &&
          WIFSTOPPED(status));
    writer = history_writer_resume(folder.file, &options, NULL);
    CHECK(writer != NULL);
    sample_declare(writer, SERIES);
    sample_write(writer, 0, SERIES);
    history_writer_flush(writer);
    kill(child, SIGCONT);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(count_steps(folder.file), 1);
    close(fds[0]);
    close(fds[1]);
    sample_folder_remove(&folder);
}

TEST(a_read_only_folder_is_an_error_at_once)
{
    struct err err = {0};

    CHECK(!history_writer_create("/nowhere/run.scope", NULL, NULL, NULL, &err));
    CHECK(err.code == ERR_IO && strstr(err.text, "/nowhere/run.scope") != NULL);
    CHECK(!history_writer_create("/dev/null", NULL, NULL, NULL, &err));
    CHECK_INT(err.code, ERR_USAGE);
}

/* Without write permission; the user may be root here. */
static void read_without_permission(const struct sample_folder *folder)
{
    struct history *history;
    struct err err = {0};

    if (geteuid() == 0)
        MUST(setgid(65534) == 0 && setuid(65534) == 0);
    history = history_open(folder->file, NULL, NULL);
    MUST(history != NULL);
    history_close(history);
    MUST(!history_writer_resume(folder->file, NULL, &err));
    MUST(err.text[0]);
}

TEST(a_finished_history_opens_without_write_permission)
{
    struct sample_folder folder;
    struct history_writer *writer;

    sample_folder_make(&folder);
    writer = create(&folder);
    sample_write(writer, 0, SERIES);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK(chmod(folder.file, 0444) == 0 && chmod(folder.path, 0555) == 0);
    in_child(read_without_permission, &folder);
    CHECK(chmod(folder.path, 0755) == 0);
    CHECK_INT(sample_folder_count(&folder), 1);
    sample_folder_remove(&folder);
}

/* A file whose writer was killed, with its -wal. */
static void write_and_kill(const struct sample_folder *folder)
{
    int fds[2], status;
    char byte;
    pid_t child;

    CHECK(pipe(fds) == 0);
    child = fork();
    if (child == 0)
        write_until_killed(folder, fds[1]);
    CHECK(child > 0 && read(fds[0], &byte, 1) == 1);
    kill(child, SIGKILL);
    CHECK(waitpid(child, &status, 0) == child);
    close(fds[0]);
    close(fds[1]);
    CHECK(sample_folder_count(folder) > 1);
}

TEST(a_stale_journal_does_not_reach_a_new_file)
{
    struct sample_folder folder;
    struct history_writer *writer;
    struct run *run = sample_run(2), *again;
    struct err err = {0};

    sample_folder_make(&folder);
    write_and_kill(&folder);
    writer = create(&folder);
    CHECK_INT(steps_in_all(folder.file), 0);
    sample_write(writer, 0, SERIES);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(count_steps(folder.file), 1);
    CHECK_INT(sample_folder_count(&folder), 1);
    /* Nor does a recording that replaces it. */
    sample_folder_remove(&folder);
    sample_folder_make(&folder);
    write_and_kill(&folder);
    CHECK(run_file_write(run, NULL, folder.file, NULL, &err) < 0);
    CHECK(strstr(err.text, "the history of a training") != NULL);
    unlink(folder.file); /* its journal stays */
    CHECK(run_file_write(run, NULL, folder.file, NULL, NULL) == 0);
    CHECK_INT(sample_folder_count(&folder), 1);
    again = run_file_read(folder.file, NULL, NULL);
    CHECK(again && again->n_calls == run->n_calls);
    run_free(again);
    run_free(run);
    sample_folder_remove(&folder);
}
