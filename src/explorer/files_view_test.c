#include "rows/files_view.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "explorer/files_text.h"
#include "history/writer.h"

static char here[64];
static struct files_view *view;

static const char *path_of(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", here, name);
    return path;
}

/* `day`: the modification time. */
static void put(const char *name, const void *bytes, size_t n, int day)
{
    struct timespec when[2] = {{1600000000 + day * 86400, 0},
                               {1600000000 + day * 86400, 0}};
    FILE *file = fopen(path_of(name), "wb");

    CHECK(file);
    CHECK(fwrite(bytes, 1, n, file) == n);
    fclose(file);
    CHECK(utimensat(AT_FDCWD, path_of(name), when, 0) == 0);
}

/* A safetensors file with one parameter of `values` bytes, the last `missing` cut
 * off. */
static void put_model(const char *name, int values, int missing, int day)
{
    char bytes[1024] = {0}, header[128];
    int n = snprintf(
        header, sizeof header,
        "{\"w.weight\":{\"dtype\":\"U8\",\"shape\":[%d],\"data_offsets\":[0,%d]}}",
        values, values);

    bytes[0] = (char)n;
    memcpy(bytes + 8, header, (size_t)n);
    put(name, bytes, (size_t)(8 + n + values - missing), day);
}

static void scan(void)
{
    view = files_view_new(here, NULL);
    CHECK(view);
    for (int round = 0; round < 5000 && !files_view_ready(view); round++) {
        struct pollfd ready = {files_view_fd(view), POLLIN, 0};

        poll(&ready, 1, 50);
        files_view_poll(view);
    }
    CHECK(files_view_ready(view));
}

static void begin(void)
{
    static const char evil[] = "\x80\x02"
                               "cposix\nsystem\nX\x02\0\0\0idq\0\x85R.";
    static const char code[] = "\x80\x02"
                               "c__main__\nNet\n)\x81.";

    snprintf(here, sizeof here, "/tmp/torchoscope-view-XXXXXX");
    CHECK(mkdtemp(here));
    mkdir(path_of("sub"), 0700);
    put_model("step2.safetensors", 100, 0, 3);
    put_model("step10.safetensors", 20, 0, 2);
    put_model("sub/Cut.safetensors", 300, 1, 1);
    put("evil.pkl", evil, sizeof evil - 1, 4);
    put("net.pkl", code, sizeof code - 1, 5);
    put("empty.pth", "", 0, 6);
    scan();
}

static void end(void)
{
    char command[128];

    files_view_free(view);
    snprintf(command, sizeof command, "rm -rf '%s'", here);
    CHECK(system(command) == 0);
}

/* The first letters of all visible names. */
static const char *shown(void)
{
    static char text[128];
    size_t n = 0;

    for (uint32_t i = 0; i < files_view_n(view); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s", i ? " " : "",
                              STR_ARG(str_head(files_view_at(view, i)->name, 5)));
    text[n] = '\0';
    return text;
}

static const char *sorted(enum files_sort sort, bool reverse)
{
    files_view_sort(view, sort, reverse);
    return shown();
}

static const char *filtered(const char *text)
{
    CHECK(files_view_filter(view, str_of(text), NULL) == 0);
    return shown();
}

static const char *line(unsigned width, uint32_t at)
{
    static char text[512];
    struct lines lines = {0};
    struct buf plain = BUF_INIT;

    files_lines(&lines, view, 0, 0, width, 20);
    CHECK(at < lines.n);
    line_plain(&plain, &lines, at);
    snprintf(text, sizeof text, "%s", buf_cstr(&plain));
    buf_release(&plain);
    lines_release(&lines);
    return text;
}

TEST(training_runs_show_steps_loss_and_worst_alarm)
{
    struct history_writer *writer;
    bool named = false;

    snprintf(here, sizeof here, "/tmp/torchoscope-view-XXXXXX");
    CHECK(mkdtemp(here));
    put_model("net.safetensors", 100, 0, 3);
    writer = history_writer_create(path_of("run.scope"), NULL, NULL,
                                   &(struct history_options){0}, NULL);
    for (uint64_t i = 0; i < 3; i++) {
        history_writer_begin(writer, i, HISTORY_TRAIN, 1000000000);
        history_writer_scalar(writer, history_writer_name(writer, STR("loss")), 0.5);
        history_writer_end(writer, 0);
    }
    history_writer_begin(writer, 3, HISTORY_TRAIN, 1000000000);
    history_writer_alarm(writer, &(struct history_alarm){.place = HISTORY_NONE,
                                                         .severity = SEVERITY_WARNING,
                                                         .kind = STR("loss-spike")});
    history_writer_end(writer, 0);
    CHECK_INT(history_writer_close(writer, NULL), 0);
    scan();
    CHECK(strstr(line(120, 0), "training"));
    CHECK(!strstr(line(60, 0), "training")); /* names come first */
    for (uint32_t i = 1; i <= files_view_n(view); i++)
        named |= strstr(line(120, i), "run.scope") &&
                 strstr(line(120, i), " ! 4 steps, loss 0.5 ");
    CHECK(named);
    end();
}

TEST(files_are_sorted_newest_first_or_as_requested)
{
    enum files_sort sort;
    struct err err = {0};

    begin();
    CHECK_STR(shown(), "empty net.p evil. step2 step1 sub/C");
    CHECK_STR(sorted(FILES_CHANGED, true), "sub/C step1 step2 evil. net.p empty");
    CHECK_STR(sorted(FILES_NAME, false), "empty evil. net.p step2 step1 sub/C");
    CHECK_STR(sorted(FILES_SIZE, false), "sub/C step2 step1 evil. net.p empty");
    CHECK_STR(sorted(FILES_SIZE, true), "empty net.p evil. step1 step2 sub/C");
    CHECK_STR(sorted(FILES_VERDICT, false), "evil. net.p empty sub/C step2 step1");
    /* Files with an unknown number of parameters are last in both directions. */
    CHECK_STR(sorted(FILES_PARAMS, false), "sub/C step2 step1 evil. net.p empty");
    CHECK_STR(sorted(FILES_PARAMS, true), "evil. net.p step1 step2 sub/C empty");
    CHECK(files_sort_by_word(STR("Bytes"), &sort, &err) == 0 && sort == FILES_SIZE);
    CHECK(files_sort_by_word(STR("time"), &sort, &err) < 0);
    CHECK(files_sort_by_word(STR("verdit"), &sort, &err) < 0);
    CHECK(strstr(err.text, "did you mean verdict?"));
    end();
}

TEST(files_are_filtered_by_verdict_and_by_search_patterns)
{
    static const char *const expected[][2] = {
        {"unsafe", "evil."},
        {"needs code", "net.p"},
        {"inconclusive", "empty"},
        {"safe", "step2 step1 sub/C"},
        {"damaged", "sub/C"},
        {"not a model", "empty"},
        {"UNSAFE|damaged", "evil. sub/C"},
        {"!safe", "empty net.p evil."},
        {"/safe/", "step2 step1 sub/C"}, /* matches .safetensors */
        {"step", "step2 step1"},
        {"STEP", ""}, /* a capital makes it case-sensitive */
        {"Cut", "sub/C"},
        {"step2|net", "net.p step2"},
        {"/^.*\\.pk?l$/", "net.p evil."},
        {"*.pkl", "net.p evil."},
        {"Cut*", "sub/C"}, /* the file's own name, without the folder */
        {"!step", "empty net.p evil. sub/C"},
        {"", "empty net.p evil. step2 step1 sub/C"},
    };
    struct err err = {0};

    begin();
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        CHECK_STR(filtered(expected[i][0]), expected[i][1]);
    CHECK_STR(filtered("damaged"), "sub/C");
    CHECK(files_view_filter(view, STR("/[/"), &err) < 0);
    CHECK_INT(err.code, ERR_USAGE);
    CHECK_STR(shown(), "sub/C");
    CHECK(str_is(files_view_filtered(view), "damaged"));
    CHECK_INT(files_view_counts(view).verdicts[VERDICT_SAFE], 1);
    end();
}

TEST(counts_of_files_have_commas)
{
    struct file_counts counts = {.verdicts = {1234, 1, 0, 56789}, .pending = 2000};
    struct buf text = BUF_INIT;

    files_counts(&text, &counts);
    CHECK_STR(buf_cstr(&text), "60,024 files: 1,234 safe, 1 needs code, 0 unsafe, "
                               "56,789 inconclusive, 2,000 not judged yet");
    buf_release(&text);
}

TEST(at_most_two_files_are_marked)
{
    begin();
    CHECK(files_view_mark(view, 3) && files_view_mark(view, 0));
    CHECK(!files_view_mark(view, 1));
    CHECK(files_view_marked(view, 3) && !files_view_marked(view, 1));
    files_view_sort(view, FILES_NAME, true); /* marks belong to files, not rows */
    CHECK_INT(files_view_n_marks(view), 2);
    CHECK(str_is(files_view_mark_at(view, 0)->name, "step2.safetensors"));
    CHECK(str_is(files_view_mark_at(view, 1)->name, "empty.pth"));
    files_view_mark(view, files_view_row(view, files_view_mark_at(view, 0)->number));
    CHECK_INT(files_view_n_marks(view), 1);
    CHECK(str_is(files_view_mark_at(view, 0)->name, "empty.pth"));
    files_view_unmark(view);
    CHECK_INT(files_view_n_marks(view), 0);
    end();
}

TEST(a_name_is_shown_whole_if_it_fits)
{
    const char *name = "a-model-with-a-rather-long-name-step-000100.safetensors";

    begin();
    put_model(name, 1, 0, 9);
    files_view_free(view);
    view = files_view_new(here, NULL);
    while (!files_view_ready(view))
        files_view_poll(view);
    for (unsigned width = 83; width < 200; width++) {
        CHECK(strstr(line(width, 1), name));
        CHECK(strstr(line(width, 1), "SAFE"));
        CHECK_INT(strlen(line(width, 1)) - 4, width); /* ▌ and ✓ take three bytes */
    }
    CHECK(!strstr(line(83, 0), "format") && strstr(line(100, 0), "format"));
    CHECK(strstr(line(200, 0), "params"));
    /* The sort column stays. */
    files_view_sort(view, FILES_PARAMS, false);
    CHECK(strstr(line(83, 0), "params▾"));
    CHECK(strstr(line(48, 0), "params▾") && !strstr(line(48, 0), "size"));
    CHECK(strstr(line(42, 0), "safety") && !strstr(line(42, 0), "params"));
    /* A name that does not fit anyway drops no column. */
    put_model("this-name-is-so-long-that-it-has-no-room-on-a-screen-of-ninety-cells-"
              "whatever-columns-are-gone.safetensors",
              1, 0, 8);
    files_view_sort(view, FILES_CHANGED, false);
    files_view_free(view);
    view = files_view_new(here, NULL);
    while (!files_view_ready(view))
        files_view_poll(view);
    CHECK(strstr(line(100, 0), "format") && strstr(line(100, 1), name));
    end();
}

TEST(a_damaged_file_is_marked_with_any_verdict)
{
    begin();
    put("part.safetensors", "\x40\0\0\0\0\0\0\0{\"w\"", 12, 7);
    files_view_free(view);
    view = files_view_new(here, NULL);
    while (!files_view_ready(view))
        files_view_poll(view);
    CHECK_STR(filtered("damaged"), "part. sub/C");
    CHECK(strstr(line(80, 1), "? damaged"));
    CHECK(strstr(line(80, 2), "✓ SAFE damaged"));
    CHECK_STR(filtered("not a model"), "empty");
    end();
}
