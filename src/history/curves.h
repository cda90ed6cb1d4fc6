/* curves.h - how training went at one place of the model: a few curves over steps, the
 * distribution of its gradients (or values) over steps, and the latest alarms, limited
 * to the columns of a screen. A column covers the same steps in every curve.
 *
 * Curves own nothing: they can be copied, and computed by a thread with its own
 * reader. */
#ifndef HISTORY_CURVES_H
#define HISTORY_CURVES_H

#include "history/summary.h"
#include "model/model.h"

#define CURVES_COLUMNS 240
#define CURVES_ROWS    12 /* of the heat map */
#define CURVES_MOST    8
#define CURVES_ALARMS  32
#define CURVES_READS   1600 /* approximate limit of points read per series */

enum curve_role {
    CURVE_LOSS,
    CURVE_GRADIENT,
    /* of all parameters at and below the place, */ CURVE_WEIGHT, /* as in at_step.h */
    CURVE_RATIO,
    CURVE_OUTPUT, /* norm of the result of a module */
    CURVE_GRAD_OUTPUT,
    CURVE_RATE,   /* learning rate */
    CURVE_SCALAR, /* any other scalar */
};

enum curve_state { CURVE_NOTHING, CURVE_FINITE, CURVE_BAD };

struct curve {
    uint8_t role;                  /* enum curve_role */
    char name[40];                 /* of the scalar or parameter, cut */
    uint8_t state[CURVES_COLUMNS]; /* enum curve_state; CURVE_BAD: NaN or infinite */
    double at[CURVES_COLUMNS];     /* mean of the column's steps */
    uint8_t now_state;             /* state of `now` */
    double now;                    /* at the newest step that has this number */
};

/* Counts of magnitudes: row 0 holds the largest. */
struct curves_heat {
    uint8_t kind; /* enum history_kind of its series; HISTORY_KINDS: no series */
    char name[120];
    uint32_t rows;
    int top;       /* row r holds 2^(top - r * each) up to 2^(top - (r - 1) * each) */
    uint32_t each; /* powers of two in a row */
    bool zeros;    /* the last row counts zeros */
    uint8_t state[CURVES_COLUMNS];
    float share[CURVES_ROWS][CURVES_COLUMNS]; /* of the column's elements */
};

struct curves_alarm {
    uint64_t step;
    uint32_t place; /* or HISTORY_NONE */
    uint8_t severity;
    char kind[24], name[120], line[120], text[400]; /* cut */
};

struct curves {
    uint32_t columns;
    uint64_t first[CURVES_COLUMNS], last[CURVES_COLUMNS]; /* step numbers */
    uint8_t phase;                                        /* enum history_phase */
    struct curve at[CURVES_MOST];
    uint32_t n;
    uint32_t each; /* steps read per column; 0: all */
    struct curves_heat heat;
    struct curves_alarm alarms[CURVES_ALARMS];
    uint32_t n_alarms, earlier_alarms; /* in `alarms`, and older ones */
};

enum curves_view { CURVES_GRADIENTS, CURVES_VALUES, CURVES_VIEWS };

struct curves_wanted {
    uint32_t place;
    uint32_t columns; /* at most CURVES_COLUMNS */
    uint32_t rows;    /* of the heat map, at most CURVES_ROWS; 0: none */
    uint32_t view;    /* enum curves_view: of the heat map */
};

/* A place without series of its own gets the curves of the run. On failure the content
 * of *ret_curves is undefined. */
int curves_read(struct history *history, const struct model *model,
                const struct curves_wanted *wanted, struct curves *ret_curves,
                struct err *err);

/* The column that holds a step, or the nearest; 0 if there is none. */
uint32_t curves_column(const struct curves *curves, uint64_t step);

#endif
