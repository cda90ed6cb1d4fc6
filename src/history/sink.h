/* sink.h - other places that get the steps of a writer: an event file, a table, Python.
 *
 * A sink sees each step once, with each series and each scalar at most once. The writer's
 * thread calls it (history_writer_add()), or history_writer_show() at once. */
#ifndef HISTORY_SINK_H
#define HISTORY_SINK_H

#include "base/err.h"
#include "history/history.h"

struct history_sink;

struct history_sink_kind {
    const char *name;
    /* Of a step: begin; its points, scalars and alarms; end. `step` has no id and block.
     * What is passed is borrowed, and valid until end() returns. */
    void (*begin)(struct history_sink *sink, const struct history_step *step);
    void (*point)(struct history_sink *sink, const struct history_series *series,
                  const struct history_point *point);
    void (*scalar)(struct history_sink *sink, struct str name,
                   const struct history_scalar *scalar);
    void (*alarm)(struct history_sink *sink, const struct history_alarm *alarm);
    /* -1: the step is lost, and `err` says why. Later steps are tried again. */
    int (*end)(struct history_sink *sink, struct err *err);
    void (*close)(struct history_sink *sink); /* frees it; may be NULL */
};

/* The first member of every sink. */
struct history_sink {
    const struct history_sink_kind *kind;
    struct history_sink *next; /* of the writer */
};

/* What other programs call a series: kind, name of the place, path, call if not the
 * first. "output/layer1.0.conv1", "output/lstm/[1]/call_2"; of evaluation with "eval/" in
 * front. The root is "(root)". */
void history_series_tag(const struct history_series *series, struct buf *to);
/* The same of a scalar: "loss", "eval/loss". */
void history_scalar_tag(struct str name, uint8_t phase, struct buf *to);

#endif
