/* sink.h - other consumers of a writer's steps: event files, CSV tables, Python.
 *
 * A sink gets each step once, with each series and scalar at most once. It is called by
 * the writer's thread (history_writer_add()) or at once by history_writer_show(). */
#ifndef HISTORY_SINK_H
#define HISTORY_SINK_H

#include "base/err.h"
#include "history/history.h"

struct history_sink;

struct history_sink_kind {
    const char *name;
    /* Called for each step: begin; its points, scalars and alarms; end. `step` has no
     * id and block. Arguments are borrowed and stay valid until end() returns. */
    void (*begin)(struct history_sink *sink, const struct history_step *step);
    void (*point)(struct history_sink *sink, const struct history_series *series,
                  const struct history_point *point);
    void (*scalar)(struct history_sink *sink, struct str name,
                   const struct history_scalar *scalar);
    void (*alarm)(struct history_sink *sink, const struct history_alarm *alarm);
    /* -1: the step is lost, and `err` says why. Later steps are still passed on. */
    int (*end)(struct history_sink *sink, struct err *err);
    void (*close)(struct history_sink *sink); /* frees it; may be NULL */
};

/* The first member of every sink. */
struct history_sink {
    const struct history_sink_kind *kind;
    struct history_sink *next; /* of the writer */
};

/* The tag of a series for other programs: kind, name of the place, path, call index if
 * not 0. "output/layer1.0.conv1", "output/lstm/[1]/call_2"; "eval/" is prepended for
 * evaluation. The root is "(root)". */
void history_series_tag(const struct history_series *series, struct buf *to);
/* The tag of a scalar: "loss", "eval/loss". */
void history_scalar_tag(struct str name, uint8_t phase, struct buf *to);

#endif
