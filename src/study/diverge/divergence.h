/* divergence.h - finds where the results of two recordings begin to differ: the same
 * model in another precision, on another device, compiled, or ported.
 *
 *   divergence.h         the result; divergence_make()
 *   divergence.c         compares results; the first and the largest that differ
 *   divergence_list.c    lists the results to compare, in order
 *   divergence_begins.c  where errors begin; divergence_inputs.c  inputs of a result
 *   divergence_calls.c   matches calls
 *   divergence_ops.c     matches operations
 *   divergence_values.c  the difference of two values, the tolerance
 *   divergence_places.c  sums at and below each place
 *   parting.h            the same for two training runs, by step
 *   sequence.h           a common subsequence of two long sequences
 *
 * Calls are matched by name (the diff of both models handles prefixes and renamings),
 * the rest in order by class and shapes. Operations are matched by data flow: same
 * kind, matching inputs; the rest in order by name and shapes, finally by shapes alone.
 *
 * The *distance* of two values compares them as a whole, relative to the larger root
 * mean square (RMS) of the two, so that tiny values raise no alarm. It is the largest
 * of
 *   - the RMS of all differences, divided by the RMS of the value;
 *   - the largest difference of an element, divided by DIVERGENCE_PEAK times the RMS.
 *
 * Without elements, the differences of mean, standard deviation and norm replace the
 * first, those of minimum and maximum the second: they are lower bounds. The distance
 * is infinite if NaN or infinities are on one side only or the numbers of elements
 * differ.
 *
 * "Left" is the first recording. Nothing here writes text. */
#ifndef STUDY_DIVERGE_DIVERGENCE_H
#define STUDY_DIVERGE_DIVERGENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/work.h"
#include "run/run.h"
#include "study/diff/diff.h"

/* A single element may differ by this many times the tolerance. Rounding an element of
 * 5 RMS costs 5 times the average rounding. */
#define DIVERGENCE_PEAK 16

enum divergence_how {
    DIVERGENCE_NOT,        /* not compared: see `why` */
    DIVERGENCE_ELEMENTS,   /* both are kept whole */
    DIVERGENCE_STATISTICS, /* a lower bound of the distance */
    DIVERGENCE_SHAPE,      /* other numbers of elements */
};

/* A value of a run, of a module or an operation. */
struct divergence_value {
    bool of_op;
    uint32_t at; /* in run->values, or in run->ops->values; or RUN_NONE */
};

struct divergence_amount {
    uint8_t how;     /* enum divergence_how */
    double distance; /* see above; may be infinite; NaN: not compared */
    double max_abs;  /* the largest difference of two elements; from statistics: of
                        minimum or maximum; NaN: unknown */
    double max_rel;  /* the same, divided by the RMS */
    double mean;     /* DIVERGENCE_ELEMENTS: RMS of the differences; else NaN */
    double scale;    /* the larger of both RMS */
    bool not_finite; /* NaN or infinities differ in number */
    const char *why; /* a constant; DIVERGENCE_NOT */
};

enum divergence_what {
    DIVERGENCE_INPUT,     /* an argument of a pass: `at` is its call */
    DIVERGENCE_OP,        /* a result of an operation: `at` is the op */
    DIVERGENCE_CALL,      /* a result of a module: `at` is its call */
    DIVERGENCE_GRADIENT,  /* the gradient of a module's argument: `at` is its call */
    DIVERGENCE_PARAMETER, /* the gradient of a parameter: `at` is an index in
                             run->params */
};

/* One result of both runs. */
struct divergence_result {
    uint8_t what;  /* enum divergence_what */
    uint8_t phase; /* enum op_phase */
    bool beyond;   /* beyond the tolerance */
    bool random;   /* made by an operation or module that draws random numbers */
    uint32_t at[2];
    uint32_t place[2]; /* of the module, or of the parameter; NO_PLACE: outside */
    uint32_t path[2];  /* string ids: the path of a module's result, "" for a single
                          result */
    uint16_t output;   /* index of an operation's result */
    uint32_t step;     /* on the left */
    struct divergence_value value[2];
    struct divergence_amount by;
    double tolerance;
    /* Distances of its inputs, set for results beyond the tolerance; NaN: none was
     * compared. */
    double inputs;     /* the largest distance of an argument */
    double parameters; /* the largest distance of a parameter */
    bool begins;       /* an error begins here: its arguments were compared and are much
                          closer than the result; for a module, the results inside it
                          agree */
    bool differs;      /* a module that contains results beyond the tolerance */
    bool inside;       /* a module that contains unmatched calls */
    bool calls;        /* a module that calls others */
};

struct divergence_input {
    struct str name; /* of the argument; "" if unknown */
    bool parameter;  /* a parameter or buffer of the model */
    struct divergence_value value[2];
    struct divergence_amount by;
};

/* The numbers of items on each side, and how pairs were found. */
struct divergence_matched {
    uint32_t n[2];
    uint32_t by_name;  /* calls: by name, ignoring a prefix; ops: by data flow */
    uint32_t by_rule;  /* calls: a renamed module */
    uint32_t by_order; /* in order, by class or name and shapes */
};
uint32_t divergence_pairs(const struct divergence_matched *matched);

/* Sums at and below a place. */ struct divergence_sum {
    uint32_t results, beyond;
    double farthest; /* the largest distance beyond the tolerance; 0: none */
    bool first;      /* contains the first result beyond the tolerance */
};

struct divergence {
    const struct run *run[2];
    struct divergence_result *results; /* in the order of execution */
    uint32_t n_results;
    uint32_t first;  /* the first result beyond the tolerance, or RUN_NONE */
    uint32_t *later; /* the others beyond it, the largest distance first */
    uint32_t n_later;
    uint32_t beyond, begins;
    double closest;      /* the largest distance within the tolerance; NaN: none */
    double tolerance;    /* as asked for; 0: by dtype */
    uint32_t elements;   /* results compared by elements; the others by statistics */
    uint32_t unmeasured; /* pairs without elements or statistics */
    struct divergence_matched calls, ops;
    struct divergence_sum *sums; /* by place on the left; results outside the model
                                    count for the root */
    uint32_t *call_match[2];     /* by call: the call of the other side, or RUN_NONE */
    uint32_t *op_match[2];       /* by op; NULL: a side has no operations */
    uint32_t merged[2];          /* calls that were merged: not compared */
    uint64_t lost[2];            /* operations that were not recorded */
    /* Private, by value of an operation: the value of the other side; its index in
     * run->values; or RUN_NONE. */
    uint32_t *value_match[2], *module_value[2];
    struct map parameters[2]; /* by tensor and step: index in run->params */
};

struct divergence_wanted {
    double tolerance; /* 0: by the coarser dtype, divergence_tolerance() */
};

/* Compares two runs; `diff` compares their models. The result is in the arena and
 * borrows the runs. Elements are read only of values that both sides keep. */
int divergence_make(struct divergence *divergence, const struct run *left,
                    const struct run *right, const struct diff *diff,
                    const struct divergence_wanted *wanted, struct arena *arena,
                    struct work *work, struct err *err);

/* The inputs of a result: arguments of its operation or module, and the module's
 * parameters if the run has them; for a gradient, the gradients of the module's
 * results. In the arena; NULL: none, or the arena is spent. */
struct divergence_input *divergence_inputs(const struct divergence *divergence,
                                           uint32_t result, struct arena *arena,
                                           uint32_t *ret_n);

/* The sums at and below a node of the diff; NULL if it exists only on the right. */
const struct divergence_sum *divergence_at(const struct divergence *divergence,
                                           const struct diff *diff, uint32_t node);

/* The next unmatched call or operation of one side from `from` on, or RUN_NONE; skips
 * recomputations. */
uint32_t divergence_next_alone(const struct divergence *divergence, bool ops,
                               bool right, uint32_t from);

/* Were results compared, and are all within the tolerance? */
bool divergence_agrees(const struct divergence *divergence);

/* The default tolerance of results computed with this dtype or finer ones; 0: none
 * (integers). */
double divergence_tolerance(enum dtype dtype);

/* The statistics of a value, or NULL; its shape, rank and dtype. */
const struct stats *divergence_stats(const struct run *run,
                                     struct divergence_value value);
const int64_t *divergence_shape(const struct run *run, struct divergence_value value,
                                int *ret_rank);
enum dtype divergence_dtype(const struct run *run, struct divergence_value value);

const char *divergence_what_name(enum divergence_what what); /* "input", "op", ... */
const char *divergence_how_name(enum divergence_how how);    /* "elements", ... */

#endif
