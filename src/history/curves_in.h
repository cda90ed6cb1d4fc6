/* curves_in.h - shared by curves*.c. */
#ifndef HISTORY_CURVES_IN_H
#define HISTORY_CURVES_IN_H

#include "history/curves.h"

#define CURVES_PARAMS 24

/* The series of a parameter, from HISTORY_PARAM on. */
struct curves_param {
    uint32_t of[HISTORY_PARAM_KINDS];
};

/* The series of a place: indices, or HISTORY_NONE. */
struct curves_series {
    uint32_t param, grad_param; /* of its own weight, or another parameter */
    uint32_t output, grad_output;
    struct curves_param params[CURVES_PARAMS]; /* all at and below it */
    uint32_t n_params;                         /* 0: none, or too many to sum */
    struct history_series *all;
    uint32_t n;
};
int curves_find(struct history *history, const struct model *model, uint32_t place,
                uint8_t phase, struct arena *arena, struct curves_series *ret_series,
                struct err *err);

/* Converts the histograms of samples to rows. `columns` holds the column of each
 * sample. */
int curves_heat(struct curves_heat *heat, const struct history_sample *samples,
                const uint32_t *columns, uint32_t n, uint32_t most_rows,
                struct err *err);

/* Copies a name, truncated between characters. */
void curves_copy(char *to, size_t room, struct str from);

#endif
