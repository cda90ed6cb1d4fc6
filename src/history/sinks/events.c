/* TensorBoard's event file: a record for each step, an Event with a Summary of all its
 * scalars and histograms. Field numbers are those of event.proto, summary.proto and
 * tensor.proto. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "history/sinks/events_in.h"
#include "history/sinks/proto_in.h"
#include "history/sinks/sinks.h"
#include "history/sinks/step_file_in.h"
#include "measure/spread.h"

/* TensorBoard draws 30 bins unless asked for more. */
#define EVENT_BINS 64

enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_GRAPH = 4 };
enum { EVENT_SUMMARY = 5, SUMMARY_VALUE = 1 };
enum { IN_TAG = 1, IN_FLOAT = 2, IN_HISTOGRAM = 5, IN_TENSOR = 8 };
enum { IN_METADATA = 9 };
enum { HISTOGRAM_MIN = 1, HISTOGRAM_MAX, HISTOGRAM_NUM, HISTOGRAM_SUM };
enum { HISTOGRAM_SQUARES = 5, HISTOGRAM_LIMITS, HISTOGRAM_COUNTS };

struct events_sink {
    struct history_sink base;
    struct step_file file;
    struct buf event, records, tag;
    size_t summary; /* where it begins in `event` */
    uint8_t phase;  /* of the current step */
    uint32_t values;
    struct spread spread;
};

static struct events_sink *events_of(struct history_sink *sink)
{
    return (struct events_sink *)sink;
}

/* ---- values ---- */

static void add_number(struct events_sink *sink, double number)
{
    size_t at = proto_begin(&sink->event, SUMMARY_VALUE);

    proto_str(&sink->event, IN_TAG, buf_span(&sink->tag));
    proto_f32(&sink->event, IN_FLOAT, (float)number);
    proto_end(&sink->event, at);
    sink->values++;
}

/* Sum and squares are those of all elements, scaled to what was counted. */
static void add_histogram(struct events_sink *sink, const struct stats *stats)
{
    double edges[EVENT_BINS + 1], counts[EVENT_BINS];
    double counted = (double)sink->spread.counted, l2 = stats_l2(stats);
    double share = stats->count > 0 ? counted / (double)stats->count : 0;
    uint32_t n = spread_bins(&sink->spread, EVENT_BINS, edges, counts);
    struct buf *to = &sink->event;
    size_t value, histogram;

    if (n == 0)
        return;
    value = proto_begin(to, SUMMARY_VALUE);
    proto_str(to, IN_TAG, buf_span(&sink->tag));
    histogram = proto_begin(to, IN_HISTOGRAM);
    proto_f64(to, HISTOGRAM_MIN, sink->spread.min);
    proto_f64(to, HISTOGRAM_MAX, sink->spread.max);
    proto_f64(to, HISTOGRAM_NUM, counted);
    proto_f64(to, HISTOGRAM_SUM, stats->mean * counted);
    proto_f64(to, HISTOGRAM_SQUARES, l2 * l2 * share);
    proto_f64s(to, HISTOGRAM_LIMITS, edges + 1, n);
    proto_f64s(to, HISTOGRAM_COUNTS, counts, n);
    proto_end(to, histogram);
    proto_end(to, value);
    sink->values++;
}

static void add_point(struct history_sink *base, const struct history_series *series,
                      const struct history_point *point)
{
    const struct history_number *ratio = &point->extra[EXTRA_RATIO];
    struct events_sink *sink = events_of(base);
    struct str packed = point->histogram;

    buf_clear(&sink->tag);
    history_series_tag(series, &sink->tag);
    if (packed.len > 0 && stats_measured(&point->stats) &&
        spread_unpack(bytes_of(packed.at, packed.len), &sink->spread, NULL) == 0)
        add_histogram(sink, &point->stats);
    if (ratio->n > 0) {
        buf_clear(&sink->tag);
        history_scalar_tag(STR("update_ratio/"), series->phase, &sink->tag);
        buf_str(&sink->tag, series->name);
        add_number(sink, history_number_mean(ratio));
    }
}

static void add_scalar(struct history_sink *base, struct str name,
                       const struct history_scalar *scalar)
{
    struct events_sink *sink = events_of(base);

    buf_clear(&sink->tag);
    history_scalar_tag(name, sink->phase, &sink->tag);
    add_number(sink, scalar->last);
}

/* A tensor of one string, for the text plugin. */
static void add_alarm(struct history_sink *base, const struct history_alarm *alarm)
{
    enum { DTYPE = 1, SHAPE = 2, STRINGS = 8, STRING = 7, PLUGIN = 1, NAME = 1 };
    struct buf *to = &events_of(base)->event;
    size_t value = proto_begin(to, SUMMARY_VALUE), inner, plugin;

    proto_str(to, IN_TAG, STR("alarms"));
    inner = proto_begin(to, IN_TENSOR);
    proto_u64(to, DTYPE, STRING);
    events_shape(to, SHAPE, (const int64_t[]){1}, 1);
    proto_str(to, STRINGS, alarm->text);
    proto_end(to, inner);
    inner = proto_begin(to, IN_METADATA);
    plugin = proto_begin(to, PLUGIN);
    proto_str(to, NAME, STR("text"));
    proto_end(to, plugin);
    proto_end(to, inner);
    proto_end(to, value);
    events_of(base)->values++;
}

/* ---- steps ---- */

static void begin_event(struct events_sink *sink, double seconds)
{
    buf_clear(&sink->event);
    sink->event.bad = false;
    proto_f64(&sink->event, EVENT_TIME, seconds);
}

static void begin_step(struct history_sink *base, const struct history_step *step)
{
    struct events_sink *sink = events_of(base);

    begin_event(sink, (double)step->wall_ns / 1e9);
    proto_u64(&sink->event, EVENT_STEP, step->first);
    sink->summary = proto_begin(&sink->event, EVENT_SUMMARY);
    sink->phase = step->phase;
    sink->values = 0;
}

/* Writes the event to the file. */
static int write_event(struct events_sink *sink, struct err *err)
{
    buf_clear(&sink->records);
    sink->records.bad = sink->event.bad;
    record_add(&sink->records, buf_span(&sink->event));
    return step_file_add(&sink->file, &sink->records, err);
}

static int end_step(struct history_sink *base, struct err *err)
{
    struct events_sink *sink = events_of(base);

    if (sink->values == 0)
        return 0;
    proto_end(&sink->event, sink->summary);
    return write_event(sink, err);
}

/* ---- the file ---- */

static void close_events(struct history_sink *base)
{
    struct events_sink *sink = events_of(base);

    step_file_close(&sink->file);
    buf_release(&sink->event);
    buf_release(&sink->records);
    buf_release(&sink->tag);
    spread_release(&sink->spread);
    free(sink);
}

static const struct history_sink_kind events_kind = {.name = "tensorboard",
                                                     .begin = begin_step,
                                                     .point = add_point,
                                                     .scalar = add_scalar,
                                                     .alarm = add_alarm,
                                                     .end = end_step,
                                                     .close = close_events};

/* TensorBoard finds files by "tfevents" and reads several of a folder in the order of
 * their names. */
static int open_file(struct events_sink *sink, const char *folder, struct err *err)
{
    char host[128] = "localhost", name[256];
    struct err local = {0};

    if (gethostname(host, sizeof host - 1) < 0 || strchr(host, '/'))
        snprintf(host, sizeof host, "localhost");
    for (unsigned n = 0; n < 1000; n++) {
        snprintf(name, sizeof name, "events.out.tfevents.%010lld.%s.%d.%u",
                 (long long)time(NULL), host, (int)getpid(), n);
        if (step_file_open(&sink->file, folder, name, &local) == 0)
            return 0;
        if (local.code != ERR_USAGE)
            break;
    }
    return err_copy(err, &local);
}

static int write_head(struct events_sink *sink, const struct run *run, struct err *err)
{
    double now = (double)time(NULL);
    struct buf graph = BUF_INIT;
    int status;

    begin_event(sink, now);
    proto_str(&sink->event, EVENT_VERSION, STR("brain.Event:2"));
    status = write_event(sink, err);
    if (run && status == 0 && events_graph(run, &graph) == 0 && graph.len > 0) {
        begin_event(sink, now);
        proto_str(&sink->event, EVENT_GRAPH, buf_span(&graph));
        status = write_event(sink, err);
    }
    buf_release(&graph);
    return status;
}

struct history_sink *events_sink_open(const char *folder, const struct run *run,
                                      struct err *err)
{
    struct events_sink *sink = calloc(1, sizeof *sink);

    if (!sink) {
        err_set(err, ERR_LIMIT, "no memory left");
        return NULL;
    }
    sink->base.kind = &events_kind;
    sink->file.fd = -1;
    if (step_file_folder(folder, err) == 0 && open_file(sink, folder, err) == 0 &&
        write_head(sink, run, err) == 0)
        return &sink->base;
    close_events(&sink->base);
    return NULL;
}
