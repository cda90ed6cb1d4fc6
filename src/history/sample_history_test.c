#include "history/sample_history_in.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/test.h"

void sample_counts(struct str packed, uint32_t counts[SAMPLE_BINS])
{
    struct bytes in = bytes_of(packed.at, packed.len);

    for (int i = 0; i < SAMPLE_BINS; i++)
        counts[i] = bytes_u32(&in);
}

static int merge(const struct str *parts, uint32_t n, struct buf *ret_packed)
{
    uint32_t counts[SAMPLE_BINS], sum[SAMPLE_BINS] = {0}, good = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (parts[i].len != sizeof counts)
            continue;
        sample_counts(parts[i], counts);
        for (int k = 0; k < SAMPLE_BINS; k++)
            sum[k] += counts[k];
        good++;
    }
    if (good > 0)
        buf_add(ret_packed, sum, sizeof sum);
    return good > 0 ? 0 : -1;
}

const struct history_codec sample_codec = {.merge = merge};

void sample_folder_make(struct sample_folder *folder)
{
    /* In memory if possible: a disk takes milliseconds for each fsync(). */
    snprintf(folder->path, sizeof folder->path, "%s/torchoscope_history_XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    CHECK(mkdtemp(folder->path) != NULL);
    snprintf(folder->file, sizeof folder->file, "%s/run.scope", folder->path);
}

/* Counts the files in a folder, and removes them. */
static int each_file(const struct sample_folder *folder, int remove)
{
    DIR *dir = opendir(folder->path);
    struct dirent *entry;
    char path[400];
    int n = 0;

    while (dir && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        n++;
        snprintf(path, sizeof path, "%s/%s", folder->path, entry->d_name);
        if (remove)
            unlink(path);
    }
    if (dir)
        closedir(dir);
    return n;
}

int sample_folder_count(const struct sample_folder *folder)
{
    return each_file(folder, 0);
}

void sample_folder_remove(const struct sample_folder *folder)
{
    each_file(folder, 1);
    rmdir(folder->path);
}

struct history_writer *sample_rank_writer(const struct sample_folder *folder,
                                          const struct history_options *options)
{
    struct history_writer *writer;
    char path[120];

    snprintf(path, sizeof path, "%s/rank%u.scope", folder->path, options->rank);
    writer = history_writer_create(path, NULL, NULL, options, NULL);
    CHECK(writer != NULL);
    return writer;
}

void sample_declare(struct history_writer *writer, uint32_t n)
{
    char name[32];

    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "layer.%u", i);
        CHECK_INT(history_writer_series(writer,
                                        &(struct history_series){.place = i,
                                                                 .kind = HISTORY_OUTPUT,
                                                                 .name = str_of(name)}),
                  i);
    }
    CHECK_INT(history_writer_name(writer, STR("loss")), 0);
}

void sample_point(uint32_t k, uint64_t first, uint64_t last,
                  struct history_point *point, uint32_t counts[SAMPLE_BINS])
{
    memset(counts, 0, SAMPLE_BINS * sizeof *counts);
    *point = (struct history_point){
        .series = k, .merged = (uint32_t)(last - first + 1), .units = 4};
    stats_init(&point->stats, DTYPE_FLOAT32);
    for (uint64_t step = first; step <= last; step++) {
        struct history_number ratio = history_number_of(1.0 / (double)(step + k + 1));
        float elements[4];

        for (uint32_t i = 0; i < 4; i++) {
            elements[i] = (float)(step + k + i);
            counts[(step + k + i) % SAMPLE_BINS]++;
        }
        stats_add(&point->stats, NULL, DTYPE_FLOAT32, elements, 4, 0, MEASURE_EXACT);
        history_number_merge(&point->extra[EXTRA_RATIO], &ratio);
    }
    point->histogram = str_span(counts, SAMPLE_BINS * sizeof *counts);
}

void sample_write(struct history_writer *writer, uint64_t number, uint32_t n)
{
    struct history_point point;
    uint32_t counts[SAMPLE_BINS];

    history_writer_begin(writer, number, HISTORY_TRAIN, (number + 1) * 1000000000u);
    for (uint32_t k = 0; k < n; k++) {
        sample_point(k, number, number, &point, counts);
        history_writer_point(writer, &point);
    }
    history_writer_scalar(writer, 0, 1.0 / (double)(number + 1));
    history_writer_end(writer, 0);
}

void sample_check(const struct history_sample *sample, uint32_t k)
{
    const struct history_point *got = &sample->point;
    struct history_point expected;
    uint32_t counts[SAMPLE_BINS];

    sample_point(k, sample->step.first, sample->step.last, &expected, counts);
    CHECK_INT(got->series, k);
    CHECK_INT(got->merged, expected.merged);
    CHECK_INT(sample->step.merged, expected.merged);
    CHECK_INT(got->stats.count, expected.stats.count);
    CHECK_INT(got->stats.zeros, expected.stats.zeros);
    CHECK(got->stats.min == expected.stats.min && got->stats.max == expected.stats.max);
    CHECK_NEAR(got->stats.mean, expected.stats.mean, 1e-11 * (1 + expected.stats.mean));
    CHECK_NEAR(got->stats.m2, expected.stats.m2, 1e-9 * (1 + expected.stats.m2));
    CHECK_INT(got->extra[EXTRA_RATIO].n, expected.merged);
    CHECK(got->extra[EXTRA_RATIO].min == expected.extra[EXTRA_RATIO].min);
    CHECK(got->extra[EXTRA_RATIO].max == expected.extra[EXTRA_RATIO].max);
    CHECK_NEAR(got->extra[EXTRA_RATIO].sum, expected.extra[EXTRA_RATIO].sum, 1e-9);
    CHECK_INT(got->extra[EXTRA_NORM].n, 0);
    CHECK_INT(got->units, 4);
    CHECK_INT(got->histogram.len, sizeof counts);
    CHECK_MEM(got->histogram.at, counts, sizeof counts);
}
