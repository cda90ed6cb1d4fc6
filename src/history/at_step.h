/* at_step.h - the numbers of every place of the model at one logged step: norms of its
 * parameters and their gradients, the update ratio, the norm of its result. Reads the
 * points of that step once. The tree, panel 7 and the pages take these numbers from
 * here. */
#ifndef HISTORY_AT_STEP_H
#define HISTORY_AT_STEP_H

#include "history/reader.h"
#include "model/model.h"

enum step_number {
    STEP_GRADIENT,    /* L2 norm of the gradients of the parameters */
    STEP_WEIGHT,      /* L2 norm of the parameters */
    STEP_RATIO,       /* norm of their update / their norm */
    STEP_OUTPUT,      /* L2 norm of the result of a module */
    STEP_GRAD_OUTPUT, /* and of its gradient */
    STEP_DEAD,        /* share of units that are 0 for all inputs */
    STEP_NUMBERS
};

extern const struct step_word {
    const char *key, *word; /* for programs, for people */
} step_words[STEP_NUMBERS];

/* The numbers of one parameter, or of a module: of all parameters at and below it
 * together. A norm treats all their elements as one vector; it is NaN or infinite if an
 * element is. */
struct step_numbers {
    double of[STEP_NUMBERS];
    unsigned known; /* bits 1 << enum step_number */
    /* Private, for the ratio of several parameters: the number that have one, the norms
     * of their updates and of the parameters; `apart`: one is unknown. */
    uint32_t parts;
    bool apart;
    double update, moved;
    /* Private, for the non-finite share: elements of the parameters by kind, the
     * largest share of its own results and gradients; for dead units: sums over the
     * results at and below it. */
    uint64_t seen[HISTORY_PARAM_KINDS], bad[HISTORY_PARAM_KINDS];
    bool has_own;
    double own_bad;
    double dead, units;
};

/* The place that a series is about (for a parameter: the tensor), looked up by name if
 * its place index does not match; or NO_PLACE. */
uint32_t at_step_place(const struct history *history, const struct model *model,
                       const struct history_series *series);

/* Adds the numbers of a point of this kind. */
void step_numbers_take(struct step_numbers *to, enum history_kind kind,
                       const struct history_point *point);
/* Call it after the last point of a parameter, before step_numbers_add(). */
void step_numbers_close(struct step_numbers *param);
/* Adds the parameters of `from`, but not its result. */
void step_numbers_add(struct step_numbers *to, const struct step_numbers *from);
/* False: not known, or not logged in this step. */
bool step_number(const struct step_numbers *numbers, enum step_number which,
                 double *ret_value);
/* The share of non-finite elements: the largest of five shares, of the parameters at
 * and below the place, their gradients, their updates (each kind counted together), and
 * the place's own results and result gradients. -Inf in a result does not count,
 * because masks use it. False: nothing was measured. */
bool step_bad(const struct step_numbers *numbers, double *ret_share);
/* STEP_DEAD; for a module without units of its own: of all units below it. */
bool step_dead(const struct step_numbers *numbers, double *ret_share);

/* A further place of a tied tensor. Modules above it include the tensor's numbers too,
 * up to the first module that contains an earlier place of it, so each tensor counts
 * once. */
struct step_tie {
    uint32_t place, first; /* the tensor's first place */
    uint32_t top;          /* the nearest ancestor that contains an earlier place */
};

int step_ties_list(const struct model *model, struct arena *arena,
                   struct step_tie **ret_ties, uint32_t *ret_n, struct err *err);

#define STEP_NEWEST UINT64_MAX

#define STEP_SCALARS 16

struct at_step {
    uint64_t asked;           /* the step number, or STEP_NEWEST */
    struct history_step step; /* the newest with points at or before `asked`; `merged`
                                 is 0 if there is none */
    unsigned known;           /* in any place */
    struct step_scalar {      /* scalars of the newest step at or before `asked` */
        char name[40];        /* cut */
        double value;
    } scalars[STEP_SCALARS];
    uint32_t n_scalars;
    struct step_numbers *at; /* by place */
    uint32_t n;
    uint8_t phase; /* enum history_phase */
};

/* Parses a step number or "newest". */
int at_step_parse(struct str text, uint64_t *ret_step, struct err *err);

/* Allocates in the arena. Uses evaluation steps if no training step was logged. */
int at_step_read(struct history *history, const struct model *model, uint64_t step,
                 struct arena *arena, struct at_step *ret_numbers, struct err *err);

/* The value of a scalar; false if it was not logged. */
bool at_step_scalar(const struct at_step *numbers, const char *name, double *ret_value);

/* "step 1200", "step 1190, the newest logged at or before 1200", "steps 1184 to 1199,
 * merged" */
void at_step_text(struct buf *to, const struct at_step *numbers);

#endif
