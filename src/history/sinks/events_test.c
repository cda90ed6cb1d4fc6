/* Event files byte by byte. tests/python/watch_sinks_test.py opens them with
 * TensorBoard. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/test.h"
#include "history/sample_history_in.h"
#include "history/sinks/proto_in.h"
#include "history/sinks/sinks.h"
#include "measure/spread.h"

/* The only file in a folder, with its content. */
static void read_only_file(const char *folder, struct buf *ret_content)
{
    struct dirent *entry;
    DIR *dir = opendir(folder);
    char path[512], bytes[4096];
    int files = 0;

    CHECK(dir != NULL);
    while (dir && (entry = readdir(dir)) != NULL) {
        FILE *file;
        size_t n;

        if (entry->d_name[0] == '.')
            continue;
        files++;
        CHECK(strncmp(entry->d_name, "events.out.tfevents.", 20) == 0);
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        file = fopen(path, "rb");
        while ((n = fread(bytes, 1, sizeof bytes, file)) > 0)
            buf_add(ret_content, bytes, n);
        fclose(file);
    }
    closedir(dir);
    CHECK_INT(files, 1);
}

/* The next record; checks its length and the checksum of its content. */
static struct str next_record(struct buf *content, size_t *at)
{
    struct buf again = BUF_INIT;
    struct str found = {0};
    uint64_t n = 0;

    CHECK(*at + 16 <= content->len);
    for (int i = 7; i >= 0; i--)
        n = n << 8 | (uint8_t)content->at[*at + (size_t)i];
    CHECK(n <= content->len - *at - 16);
    found = str_span(content->at + *at + 12, n);
    record_add(&again, found);
    CHECK(memcmp(again.at, content->at + *at, again.len) == 0);
    *at += again.len;
    buf_release(&again);
    return found;
}

static void pack(const double *x, uint64_t n, struct buf *to)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    struct spread spread = {0};

    CHECK(spread_of(counter, DTYPE_FLOAT64, x, n, SPREAD_ALL, &spread, NULL) == 0);
    spread_pack(&spread, to);
    spread_release(&spread);
    spread_counter_free(counter);
}

static const struct history_series weight = {.kind = HISTORY_PARAM,
                                             .name = {.at = "0.weight", .len = 8}};

/* A step with a scalar and a histogram of 0, 1, 2, 4. */
static int give_step(struct history_sink *sink, uint64_t number, struct err *err)
{
    const double x[] = {0, 1, 2, 4};
    const struct history_step step = {.first = number, .wall_ns = 1500000000u};
    const struct history_scalar loss = {.last = 0.5};
    struct history_point point = {.merged = 1};
    struct buf packed = BUF_INIT;
    int status;

    pack(x, 4, &packed);
    stats_init(&point.stats, DTYPE_FLOAT64);
    stats_add(&point.stats, NULL, DTYPE_FLOAT64, x, 4, 0, MEASURE_EXACT);
    point.histogram = buf_span(&packed);
    sink->kind->begin(sink, &step);
    sink->kind->point(sink, &weight, &point);
    sink->kind->scalar(sink, STR("loss"), &loss);
    status = sink->kind->end(sink, err);
    buf_release(&packed);
    return status;
}

TEST(an_event_file_begins_with_its_version_and_has_a_record_for_each_step)
{
    static const char version[] = "\x1a\x0d"
                                  "brain.Event:2";
    static const char head[] = "\x09\x00\x00\x00\x00\x00\x00\xf8\x3f" /* 1.5 s */
                               "\x10\x07"                             /* step 7 */
                               "\x2a";                                /* summary */
    static const char tag[] = "\x0a\x0eparam/0.weight\x2a";
    static const char numbers[] = "\x09\0\0\0\0\0\0\0\0"     /* min 0 */
                                  "\x11\0\0\0\0\0\0\x10\x40" /* max 4 */
                                  "\x19\0\0\0\0\0\0\x10\x40" /* num 4 */
                                  "\x21\0\0\0\0\0\0\x1c\x40" /* sum 7 */
                                  "\x29\0\0\0\0\0\0\x35\x40\x32" /* squares 21 */;
    static const char loss[] = "\x0a\x0b\x0a\x04loss\x15\0\0\0\x3f";
    struct buf content = BUF_INIT;
    struct sample_folder folder;
    struct history_sink *sink;
    struct err err = {0};
    struct str event;
    size_t at = 0;

    sample_folder_make(&folder);
    sink = events_sink_open(folder.path, NULL, &err);
    CHECK_STR(err.text, "");
    CHECK(give_step(sink, 7, &err) == 0);
    sink->kind->begin(sink, &(struct history_step){0}); /* an empty step has none */
    CHECK(sink->kind->end(sink, &err) == 0);
    sink->kind->close(sink);

    read_only_file(folder.path, &content);
    event = next_record(&content, &at);
    CHECK_INT(event.len, 9 + sizeof version - 1);
    CHECK(memcmp(event.at + 9, version, sizeof version - 1) == 0);
    event = next_record(&content, &at);
    CHECK_INT(at, content.len);
    CHECK(memcmp(event.at, head, sizeof head - 1) == 0);
    CHECK(str_find(event, str_span(tag, sizeof tag - 1)) >= 0);
    CHECK(str_find(event, str_span(numbers, sizeof numbers - 1)) >= 0);
    CHECK(memcmp(event.at + event.len - sizeof loss + 1, loss, sizeof loss - 1) == 0);
    buf_release(&content);
    sample_folder_remove(&folder);
}

/* A limit on file sizes (setrlimit) simulates a full disk. */
TEST(a_full_disk_loses_steps_but_never_leaves_a_partial_one)
{
    struct rlimit limit, small;
    struct buf content = BUF_INIT;
    struct sample_folder folder;
    struct history_sink *sink;
    struct err err = {0};
    size_t at = 0;
    int records = 0;

    sample_folder_make(&folder);
    sink = events_sink_open(folder.path, NULL, &err);
    CHECK(give_step(sink, 1, &err) == 0);
    read_only_file(folder.path, &content);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){content.len + 40, limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    CHECK(give_step(sink, 2, &err) < 0);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_DFL);
    CHECK(strstr(err.text, "events.out.tfevents.") != NULL);
    CHECK(give_step(sink, 3, &err) == 0);
    sink->kind->close(sink);

    buf_clear(&content);
    read_only_file(folder.path, &content);
    for (; at < content.len; records++)
        next_record(&content, &at);
    CHECK_INT(records, 3); /* the version, steps 1 and 3 */
    buf_release(&content);
    sample_folder_remove(&folder);
}

TEST(two_event_files_of_one_second_have_different_names)
{
    struct sample_folder folder;
    struct history_sink *sinks[3];
    struct err err = {0};

    sample_folder_make(&folder);
    for (int i = 0; i < 3; i++) {
        sinks[i] = events_sink_open(folder.path, NULL, &err);
        CHECK_STR(err.text, "");
    }
    CHECK_INT(sample_folder_count(&folder), 3);
    for (int i = 0; i < 3; i++)
        sinks[i]->kind->close(sinks[i]);
    sample_folder_remove(&folder);
    CHECK(events_sink_open("/nowhere/at/all", NULL, &err) == NULL);
    CHECK(strstr(err.text, "/nowhere/at/all") != NULL);
}
