/* A step on its way to sinks: each series and each scalar once. */
#include "history/sink.h"

#include <stdlib.h>
#include <string.h>

#include "history/writer_in.h"

void history_scalar_tag(struct str name, uint8_t phase, struct buf *to)
{
    if (phase == HISTORY_EVAL)
        buf_text(to, "eval/");
    buf_str(to, name);
}

void history_series_tag(const struct history_series *series, struct buf *to)
{
    history_scalar_tag(str_of(history_kind_name(series->kind)), series->phase, to);
    buf_char(to, '/');
    buf_str(to, series->name.len ? series->name : STR("(root)"));
    if (series->path.len) {
        buf_char(to, '/');
        buf_str(to, series->path);
    }
    if (series->call > 0)
        buf_printf(to, "/call_%u", series->call);
}

/* ---- equal series and names become one ---- */

static int by_series(const void *a, const void *b)
{
    const struct history_point *left = a, *right = b;

    return (left->series > right->series) - (left->series < right->series);
}

static int by_name(const void *a, const void *b)
{
    const struct history_scalar *left = a, *right = b;

    return (left->name > right->name) - (left->name < right->name);
}

/* Merges the points of one series, at points[i] and after it, into `to`. Returns the
 * index after them. A merged histogram is appended to `merged`, and its address is NULL
 * until place_merged(). */
static uint32_t merge_points(const struct history_message *message, uint32_t i,
                             const struct history_codec *codec,
                             struct history_point *to, struct buf *merged)
{
    const struct history_point *points = message->points;
    struct buf scratch[2] = {BUF_INIT, BUF_INIT};
    uint32_t first = i, at = 0;

    for (*to = points[i++]; i < message->n_points && points[i].series == to->series;
         at = !at)
        history_point_merge(to, &points[i++], codec, &scratch[at]);
    if (i > first + 1 && to->histogram.len > 0) {
        buf_str(merged, to->histogram);
        to->histogram.at = NULL;
    }
    buf_release(&scratch[0]);
    buf_release(&scratch[1]);
    return i;
}

static void place_merged(struct history_message *message)
{
    const char *at = message->merged.at;

    for (uint32_t i = 0; i < message->n_points; i++) {
        struct str *histogram = &message->points[i].histogram;

        if (histogram->at)
            continue;
        if (message->merged.bad)
            histogram->len = 0;
        histogram->at = histogram->len ? at : "";
        at += histogram->len;
    }
}

void history_message_settle(struct history_message *message,
                            const struct history_codec *codec)
{
    struct history_scalar *scalars = message->scalars;
    uint32_t n = 0;

    if (message->n_points > 1)
        qsort(message->points, message->n_points, sizeof *message->points, by_series);
    for (uint32_t i = 0; i < message->n_points;) {
        struct history_point point;

        i = merge_points(message, i, codec, &point, &message->merged);
        message->points[n++] = point;
    }
    message->n_points = n;
    place_merged(message);

    if (message->n_scalars > 1)
        qsort(scalars, message->n_scalars, sizeof *scalars, by_name);
    n = 0;
    for (uint32_t i = 0; i < message->n_scalars; i++) {
        if (n > 0 && scalars[n - 1].name == scalars[i].name) {
            history_number_merge(&scalars[n - 1].number, &scalars[i].number);
            scalars[n - 1].last = scalars[i].last;
        } else {
            scalars[n++] = scalars[i];
        }
    }
    message->n_scalars = n;
}

/* ---- handing a step over ---- */

/* Series and names may be declared meanwhile, so each is copied under the lock. Its
 * text does not move. */
static void give_points(struct history_writer *writer,
                        const struct history_message *message,
                        struct history_sink *sink)
{
    for (uint32_t i = 0; i < message->n_points; i++) {
        struct history_series series;

        pthread_mutex_lock(&writer->lock);
        series = writer->series[message->points[i].series];
        pthread_mutex_unlock(&writer->lock);
        sink->kind->point(sink, &series, &message->points[i]);
    }
    for (uint32_t i = 0; i < message->n_scalars; i++) {
        struct str name;

        pthread_mutex_lock(&writer->lock);
        name = writer->names.names[message->scalars[i].name];
        pthread_mutex_unlock(&writer->lock);
        sink->kind->scalar(sink, name, &message->scalars[i]);
    }
}

int history_message_give(struct history_writer *writer,
                         const struct history_message *message,
                         struct history_sink *sink, struct err *err)
{
    sink->kind->begin(sink, &message->step);
    give_points(writer, message, sink);
    for (uint32_t i = 0; i < message->n_alarms; i++)
        sink->kind->alarm(sink, &message->alarms[i]);
    return sink->kind->end(sink, err);
}
