/* history.h - series over training steps: appended by a thread to a .scope file, queried
 * from it, never loaded whole. docs/run-file.md specifies section `history`.
 *
 * The tour:
 *   writer.h         for the process that trains: never blocks on the disk, never fails
 *     writer.c         a step in the making, and the queue
 *     writer_file.c    creates, continues and closes the file
 *     writer_thread.c  one transaction per step; what happens when it fails
 *     fade.c           merges old steps when the file reaches its limit
 *     place.c          a history without a file; which journal a file system supports
 *   sink.h           other consumers of each step (sinks/: event files, CSV)
 *   parcel.h         points of a step serialised, for rank 0
 *   run_points.h     the recording of one step becomes its points
 *   reader.h         queries, also while the file is being written
 *     reader.c         one short transaction per query
 *     reader_lists.c   series, names, steps, alarms, segments, notes
 *     copy.c           copies the file
 *     reader_points.c  the points of a series, merged to a maximum number
 *     reader_step.c    all points of one step
 *   walk.h           visits all steps in order, for comparisons of whole runs
 *   summary.h        a history in a few numbers
 *   at_step.h        the numbers of all places at one step
 *   curves.h         the curves of one place, in the columns of a screen
 *     curves_find.c    which series belong to a place
 *     curves_heat.c    its histograms over steps as rows of magnitudes
 *   grid.h           every series and scalar in the same few columns
 *   modules.h        gradients and updates of each module in those columns
 *   overview.h       the same, but a column shows the worst of its steps and ranks
 *   numbers_in.h     points of many steps, without distributions
 *   memo.h           cached columns of series, while a run grows
 *   ranks.h          a folder with one file per rank, read as one history
 *   tables_in.h      THE TABLE of tables; checked rows
 *   point.c          merges points (below);  codec.c  merges packed histograms
 *
 * A *step* is one logged step of training, or one pass of evaluation. Old steps are
 * merged with their neighbours: one row of the table then covers several steps. A
 * *series* is one tensor, followed over steps; its *point* holds statistics, a packed
 * histogram and a few numbers. Merged points are exact: they equal the point of all
 * elements together, except for rounding of sums. */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "measure/stats.h"
#include "model/finding.h"

#define HISTORY_NONE UINT32_MAX

enum history_kind { /* of a series; files store these values */
                    HISTORY_INPUT,
                    HISTORY_OUTPUT,
                    HISTORY_GRAD_INPUT,
                    HISTORY_GRAD_OUTPUT,
                    HISTORY_PARAM,
                    HISTORY_GRAD_PARAM,
                    HISTORY_UPDATE, /* what the optimizer added to the parameter */
                    /* The L2 norm of each sample's part of the gradient: one number per
                     * index of the first dimension. */
                    HISTORY_GRAD_INPUT_NORM,
                    HISTORY_GRAD_OUTPUT_NORM,
                    HISTORY_KINDS
};
#define HISTORY_PARAM_KINDS 3 /* from HISTORY_PARAM on */

static inline bool history_kind_is_param(uint8_t kind)
{
    return kind >= HISTORY_PARAM && kind < HISTORY_PARAM + HISTORY_PARAM_KINDS;
}

const char *history_kind_name(uint8_t kind); /* "input", "grad_param", ... */

enum history_phase { HISTORY_TRAIN, HISTORY_EVAL, HISTORY_PHASES };

/* Flags of a step; merged steps have the union. */
#define HISTORY_SKIPPED 1u /* the gradient scaler skipped the optimizer's step */

struct history_series {
    uint32_t place;  /* of the model in the same file, or HISTORY_NONE */
    uint32_t call;   /* call index within a step, from 0; 0 of parameters */
    uint8_t kind;    /* enum history_kind */
    uint8_t phase;   /* enum history_phase */
    struct str name; /* full name of the place or parameter */
    struct str path; /* of the tensor in arguments or results; usually empty */
};

/* A number per step, summarised over merged steps. */
struct history_number {
    uint32_t n;           /* finite values; 0: unknown */
    uint32_t bad;         /* NaN and infinities, excluded from the other members */
    double sum, min, max; /* NaN if n is 0 */
};

struct history_number history_number_of(double value);
void history_number_merge(struct history_number *a, const struct history_number *b);
double history_number_mean(const struct history_number *number); /* NaN if n is 0 */

enum history_extra {
    EXTRA_RATIO,     /* norm of the update / norm of the parameter */
    EXTRA_NORM,      /* L2 norm of the whole tensor, if `stats` is a sample */
    EXTRA_DEAD,      /* number of units that are 0 for all inputs of the step */
    EXTRA_SATURATED, /* number of units at the flat ends of their activation */
    EXTRA_COUNT
};

struct history_point {
    uint32_t series;
    uint32_t merged; /* number of measurements in it; 1: not merged */
    struct stats stats;
    struct history_number extra[EXTRA_COUNT];
    uint64_t units;       /* total units, for EXTRA_DEAD; the largest when merged */
    struct str histogram; /* packed by the codec; empty: none */
};

/* Merges packed histograms, whose encoding the rest of this room does not know. */
struct history_codec {
    /* Appends the packed sum of n histograms to an empty buf. Skips damaged ones; -1 if
     * all are damaged. */
    int (*merge)(const struct str *parts, uint32_t n, struct buf *ret_packed);
};

/* The default: packed spreads (measure/spread.h). */
extern const struct history_codec history_spreads;

/* Adds b to a, a point of the same series. Afterwards the histogram of `a` is in
 * `scratch` (cleared first) or is that of `b`; it is empty if both were damaged.
 * `scratch` must not hold the histogram of a or b. */
void history_point_merge(struct history_point *a, const struct history_point *b,
                         const struct history_codec *codec, struct buf *scratch);

/* The L2 norm of the tensor; for merged points, of their mean square. NaN or infinite
 * if an element is. */
double history_point_norm(const struct history_point *point);
/* The update ratio; NaN if a ratio was not finite. False: the point has none. */
bool history_point_ratio(const struct history_point *point, double *ret_ratio);

/* One logged step, or neighbouring ones that were merged. */
struct history_step {
    uint64_t id;          /* index of the first among all logged steps of the file */
    uint64_t block;       /* key of its points */
    uint64_t first, last; /* step numbers of the training loop */
    uint64_t wall_ns;     /* start of the first, in nanoseconds since 1970 */
    uint64_t last_ns;     /* start of the last */
    uint32_t merged;      /* logged steps in it */
    uint32_t segment;
    uint32_t flags;
    uint32_t skipped; /* number of them with HISTORY_SKIPPED */
    uint32_t dropped; /* steps lost just before this one: the queue was full, or the
                         file could not be written */
    uint32_t points;  /* rows of points */
    uint8_t phase;    /* enum history_phase */
};

/* Adds b, which is later, to a. */
void history_step_merge(struct history_step *a, const struct history_step *b);

struct history_scalar {
    uint32_t name;
    struct history_number number;
    double last; /* the newest value, also if it is not finite */
};

struct history_alarm {
    uint64_t step; /* step number */
    uint64_t wall_ns;
    uint32_t place;
    uint32_t rank;    /* rank of its file, when reading a folder; not stored */
    uint8_t severity; /* enum severity */
    struct str kind;  /* "nan" */
    struct str name;  /* of the place */
    struct str line;  /* operation, and source line, if known */
    struct str text;  /* a sentence */
    struct stats stats;
};

/* The steps written by one process: a resumed run has several segments. */
struct history_segment {
    uint64_t first; /* its first step number; a later segment replaces earlier steps
                       from this number on */
    uint64_t wall_ns;
    uint64_t gap_ns;   /* since the newest step of the segment before */
    int64_t gap_steps; /* steps between the two; negative: steps are repeated */
    uint32_t rank, ranks;
    struct str text; /* host and process, for people */
};

struct history_note {
    uint64_t step;
    uint64_t wall_ns;
    struct str text;
};

#endif
