#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "history/sample_history_in.h"
#include "history/sinks/sinks.h"

static const char *content(const struct sample_folder *folder, const char *name,
                           char text[2048])
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    file = fopen(path, "r");
    CHECK(file != NULL);
    text[fread(text, 1, 2047, file)] = '\0';
    fclose(file);
    return text;
}

TEST(scalars_and_statistics_become_lines_of_two_tables)
{
    const float x[] = {0, 1, 2, 5};
    const struct history_series series = {.kind = HISTORY_OUTPUT,
                                          .call = 1,
                                          .phase = HISTORY_EVAL,
                                          .name = STR("a,b"),
                                          .path = STR("[0]")};
    const struct history_step step = {
        .first = 12, .wall_ns = 3250000000u, .phase = HISTORY_EVAL};
    struct history_point point = {.merged = 1};
    struct sample_folder folder;
    struct history_sink *sink;
    struct err err = {0};
    char text[2048];

    sample_folder_make(&folder);
    sink = csv_sink_open(folder.path, &err);
    CHECK_STR(err.text, "");
    stats_init(&point.stats, DTYPE_FLOAT32);
    stats_add(&point.stats, NULL, DTYPE_FLOAT32, x, 4, 0, MEASURE_EXACT);
    sink->kind->begin(sink, &step);
    sink->kind->point(sink, &series, &point);
    sink->kind->scalar(sink, STR("loss"), &(struct history_scalar){.last = 0.25});
    sink->kind->scalar(sink, STR("bad"),
                       &(struct history_scalar){.last = -(double)INFINITY});
    CHECK(sink->kind->end(sink, &err) == 0);
    sink->kind->close(sink);
    CHECK_STR(content(&folder, "scalars.csv", text), "step,phase,time,name,value\n"
                                                     "12,eval,3.250,loss,0.25\n"
                                                     "12,eval,3.250,bad,-Infinity\n");
    CHECK_STR(content(&folder, "series.csv", text),
              "step,phase,name,kind,call,path,count,nan,pos_inf,neg_inf,zeros,min,max,"
              "mean,std,l2,sampled,ratio\n"
              "12,eval,\"a,b\",output,1,[0],4,0,0,0,1,0.0,5.0,2.0,2.160246899469287,"
              "5.477225575051661,0,NaN\n");
    CHECK(csv_sink_open(folder.path, &err) == NULL);
    CHECK(strstr(err.text, "scalars.csv: exists already") != NULL);
    sample_folder_remove(&folder);
}
