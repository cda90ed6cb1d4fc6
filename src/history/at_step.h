/* at_step.h - the numbers of every place of the model at one logged step: norms of its
 * parameters and of their gradients, how far the optimizer moved them, norm of its
 * result. Reads the points of that step once. The tree, panel 7 and the pages take these
 * numbers from here. */
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

/* Of one parameter or of several together: of a module, all at and below it. Norms are
 * those of all elements as one vector. NaN or infinite if an element is. */
struct step_numbers {
    double of[STEP_NUMBERS];
    unsigned known; /* bits 1 << enum step_number */
    /* Private, for the ratio of several: how many have one, norms of the updates and of
     * the parameters; `apart`: one is unknown. */
    uint32_t parts;
    bool apart;
    double update, moved;
    /* Private, for the share that is not finite: elements of the parameters by kind, the
     * largest share of its own results and gradients. And for dead units:
     * of results at and below it. */
    uint64_t seen[HISTORY_PARAM_KINDS], bad[HISTORY_PARAM_KINDS];
    bool has_own;
    double own_bad;
    double dead, units;
};

/* The place that a series is about: of a parameter, the tensor; by name if its number
 * does not fit; or NO_PLACE. */
uint32_t at_step_place(const struct history *history, const struct model *model,
                       const struct history_series *series);

/* Takes the numbers of a point of this kind. */
void step_numbers_take(struct step_numbers *to, enum history_kind kind,
                       const struct history_point *point);
/* After all points of a parameter, and before it is added. */
void step_numbers_close(struct step_numbers *param);
/* Adds the parameters of `from`; not its result. */
void step_numbers_add(struct step_numbers *to, const struct step_numbers *from);
/* False: not known, or not logged in this step. */
bool step_number(const struct step_numbers *numbers, enum step_number which,
                 double *ret_value);
/* The share of elements that are not finite: the largest of the parameters at and below
 * the place, of their gradients, of their updates (all of a kind together), and of the
 * place's own results and gradients. -Inf in a result does not count: masks have it.
 * False: nothing was looked at. */
bool step_bad(const struct step_numbers *numbers, double *ret_share);
/* STEP_DEAD; of a module without units of its own, of all units below it. */
bool step_dead(const struct step_numbers *numbers, double *ret_share);

/* A further place of a tied tensor. Modules above it have the numbers of the tensor too,
 * up to the first one that has an earlier place of it below: each tensor counts once. */
struct step_tie {
    uint32_t place, first; /* the tensor's first place */
    uint32_t top;          /* the nearest place above with an earlier one below it */
};

int step_ties_list(const struct model *model, struct arena *arena,
                   struct step_tie **ret_ties, uint32_t *ret_n, struct err *err);

#define STEP_NEWEST UINT64_MAX

#define STEP_SCALARS 16

struct at_step {
    uint64_t asked;           /* the step number, or STEP_NEWEST */
    struct history_step step; /* the newest with points at or before it; `merged` is 0
                                 if there is none */
    unsigned known;           /* of any place */
    struct step_scalar {      /* scalars of the newest step at or before it */
        char name[40];        /* cut */
        double value;
    } scalars[STEP_SCALARS];
    uint32_t n_scalars;
    struct step_numbers *at; /* by place */
    uint32_t n;
    uint8_t phase; /* enum history_phase */
};

/* A number, or "newest". */
int at_step_parse(struct str text, uint64_t *ret_step, struct err *err);

/* In the arena. Steps of evaluation are used if no step of training was logged. */
int at_step_read(struct history *history, const struct model *model, uint64_t step,
                 struct arena *arena, struct at_step *ret_numbers, struct err *err);

/* Its value, or false. */
bool at_step_scalar(const struct at_step *numbers, const char *name, double *ret_value);

/* "step 1200", "step 1190, the newest logged at or before 1200", "steps 1184 to 1199,
 * merged" */
void at_step_text(struct buf *to, const struct at_step *numbers);

#endif
