/* Two tables in long form, a line for each number or tensor of a step: names are not
 * known in advance, and a table that only grows can be read at any time. */
#include <math.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "history/sinks/sinks.h"
#include "history/sinks/step_file_in.h"
#include "text/escape.h"

struct csv_sink {
    struct history_sink base;
    struct step_file scalars, series;
    struct buf scalar_lines, series_lines; /* of the current step */
    struct history_step step;
};

static struct csv_sink *csv_of(struct history_sink *sink)
{
    return (struct csv_sink *)sink;
}

/* ---- fields ---- */

static void add_text(struct buf *to, struct str text)
{
    buf_char(to, ',');
    escape_csv(to, text);
}

static void add_count(struct buf *to, uint64_t count)
{
    buf_printf(to, ",%llu", (unsigned long long)count);
}

static void add_real(struct buf *to, double number)
{
    char text[32];

    buf_char(to, ',');
    if (isnan(number))
        buf_text(to, "NaN");
    else if (isinf(number))
        buf_text(to, number > 0 ? "Infinity" : "-Infinity");
    else
        buf_str(to, str_span(text, (size_t)real_text(number, text)));
}

/* Step and phase. */
static void begin_line(const struct csv_sink *sink, struct buf *to)
{
    buf_printf(to, "%llu,%s", (unsigned long long)sink->step.first,
               sink->step.phase == HISTORY_EVAL ? "eval" : "train");
}

/* ---- a step ---- */

static void begin_step(struct history_sink *base, const struct history_step *step)
{
    struct csv_sink *sink = csv_of(base);

    sink->step = *step;
    buf_clear(&sink->scalar_lines);
    buf_clear(&sink->series_lines);
    sink->scalar_lines.bad = sink->series_lines.bad = false;
}

#define SERIES_HEADER                                                                  \
    "step,phase,name,kind,call,path,count,nan,pos_inf,neg_inf,zeros,min,max,mean,std," \
    "l2,sampled,ratio\n"

static void add_point(struct history_sink *base, const struct history_series *series,
                      const struct history_point *point)
{
    const struct stats *stats = &point->stats;
    struct buf *to = &csv_of(base)->series_lines;
    bool known = stats_measured(stats);
    double none = (double)NAN;

    begin_line(csv_of(base), to);
    add_text(to, series->name);
    add_text(to, str_of(history_kind_name(series->kind)));
    add_count(to, series->call);
    add_text(to, series->path);
    add_count(to, stats->count);
    add_count(to, stats->nan);
    add_count(to, stats->pos_inf);
    add_count(to, stats->neg_inf);
    add_count(to, stats->zeros);
    add_real(to, known ? stats->min : none);
    add_real(to, known ? stats->max : none);
    add_real(to, known ? stats->mean : none);
    add_real(to, known ? stats_std(stats) : none);
    add_real(to, known ? stats_l2(stats) : none);
    add_count(to, stats->sampled);
    add_real(to, history_number_mean(&point->extra[EXTRA_RATIO]));
    buf_char(to, '\n');
}

static void add_scalar(struct history_sink *base, struct str name,
                       const struct history_scalar *scalar)
{
    struct csv_sink *sink = csv_of(base);
    struct buf *to = &sink->scalar_lines;

    begin_line(sink, to);
    buf_printf(to, ",%llu.%03llu", (unsigned long long)sink->step.wall_ns / 1000000000u,
               (unsigned long long)sink->step.wall_ns / 1000000u % 1000u);
    add_text(to, name);
    add_real(to, scalar->last);
    buf_char(to, '\n');
}

/* Alarms are sentences, not numbers. */
static void add_alarm(struct history_sink *base, const struct history_alarm *alarm)
{
    (void)base;
    (void)alarm;
}

static int end_step(struct history_sink *base, struct err *err)
{
    struct csv_sink *sink = csv_of(base);
    int status = step_file_add(&sink->scalars, &sink->scalar_lines, err);

    if (step_file_add(&sink->series, &sink->series_lines, err) < 0)
        status = -1;
    return status;
}

/* ---- the files ---- */

static void close_csv(struct history_sink *base)
{
    struct csv_sink *sink = csv_of(base);

    step_file_close(&sink->scalars);
    step_file_close(&sink->series);
    buf_release(&sink->scalar_lines);
    buf_release(&sink->series_lines);
    free(sink);
}

static const struct history_sink_kind csv_kind = {.name = "csv",
                                                  .begin = begin_step,
                                                  .point = add_point,
                                                  .scalar = add_scalar,
                                                  .alarm = add_alarm,
                                                  .end = end_step,
                                                  .close = close_csv};

static int open_table(struct step_file *file, const char *folder, const char *name,
                      const char *header, struct err *err)
{
    struct buf line = BUF_INIT;
    int status;

    if (step_file_open(file, folder, name, err) < 0)
        return -1;
    buf_text(&line, header);
    status = step_file_add(file, &line, err);
    buf_release(&line);
    return status;
}

struct history_sink *csv_sink_open(const char *folder, struct err *err)
{
    struct csv_sink *sink = calloc(1, sizeof *sink);

    if (!sink) {
        err_set(err, ERR_LIMIT, "no memory left");
        return NULL;
    }
    sink->base.kind = &csv_kind;
    sink->scalars.fd = sink->series.fd = -1;
    if (step_file_folder(folder, err) == 0 &&
        open_table(&sink->scalars, folder, "scalars.csv",
                   "step,phase,time,name,value\n", err) == 0 &&
        open_table(&sink->series, folder, "series.csv", SERIES_HEADER, err) == 0)
        return &sink->base;
    close_csv(&sink->base);
    return NULL;
}
