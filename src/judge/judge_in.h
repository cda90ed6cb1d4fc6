/* judge_in.h - shared by the files of this room. */
#ifndef JUDGE_JUDGE_IN_H
#define JUDGE_JUDGE_IN_H

#include "judge/judge.h"
#include "judge/recent.h"
#include "study/producer.h"

/* What has been reported about non-finite values. Returns to SICK_NOT after a few
 * finite steps. */
enum judge_sick { SICK_NOT, SICK_SEEN, SICK_MODULE, SICK_OPERATION };

enum judge_reported { /* by place: alarms that are raised once */
                      REPORTED_DEAD = 1,
                      REPORTED_INPUTS = 2,
                      REPORTED_LATENT = 4,
                      REPORTED_ONE_INPUT = 8,
};

struct judge_place {
    uint8_t reported;   /* enum judge_reported */
    uint16_t dead;      /* logged steps in a row whose results were all 0 */
    uint16_t latent;    /* ... whose latents were far from a normal distribution */
    uint16_t one_input; /* ... in which one input had nearly all of the gradient */
};

struct judge_param {
    struct recent norms, ratios; /* gradient norms; update ratios */
    float median;                /* median of `norms`, updated at intervals */
    float early;                 /* median of the first norms */
    float ratio;                 /* update ratio of this step; NaN: unknown */
    uint16_t small;              /* logged steps in a row with almost no gradient */
    bool exploded, vanished;
};

struct judge {
    struct arena arena; /* of the alarms of this call */
    struct history_alarm *alarms;
    uint32_t n, room;
    struct buf text, name, line;

    uint32_t n_places, n_tensors;
    struct judge_place *places;
    struct judge_param *params;
    uint8_t *masks; /* by place, for producers_find() */

    enum judge_sick sick;
    uint32_t finite;     /* finite logged steps in a row */
    uint64_t healthy_to; /* the newest logged step with finite values, if has_healthy */
    bool has_healthy;
    struct recent losses;
    double first_loss; /* median of the first losses; NaN: not yet known */
    bool spiked;
    uint32_t quiet; /* logged steps without alarms about growing gradients */
    bool reported_relu;
    uint32_t given[3]; /* alarms so far, by severity */
};

/* Discards the alarms of the last call. */
void judge_begin(struct judge *judge);

/* ---- words (judge_words.c) */

/* Begins the text of an alarm in judge->text. */
void judge_say(struct judge *judge, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void judge_add(struct judge *judge, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "NaN", "Inf", "-Inf" */
const char *judge_kind(const struct stats *stats);
/* "3,392 of 32,768" */
void judge_share(struct judge *judge, const struct stats *stats);
/* "(to 1.702e+36)": the largest magnitude of these values; appends nothing without
 * values. */
void judge_magnitude(struct judge *judge, const struct run *run,
                     const struct run_call *call, enum run_io_kind kind);
/* "; 62 NaN gradients followed" */
void judge_followed(struct judge *judge, const struct run *run);
/* The name of a place; for the root, its class. Valid until the next call. */
struct str judge_place_name(struct judge *judge, const struct model *model,
                            uint32_t place);
struct str judge_class(const struct model *model, uint32_t place); /* "BatchNorm2d" */
/* Adds an alarm with judge->text. `stats` may be NULL. */
void judge_give(struct judge *judge, uint64_t number, enum severity severity,
                const char *kind, uint32_t place, struct str name,
                const struct stats *stats, struct str line);

/* The first place of a tensor, or NO_PLACE. */
uint32_t judge_place_of(const struct model *model, uint32_t tensor);
const struct stats *judge_stats(const struct run *run, uint32_t value); /* or NULL */

/* ---- non-finite values: each adds an alarm and returns true if it found the cause */

/* Were parameters not finite when the step began? Then the producer cannot be found. */
bool judge_has_bad_params(const struct run *run);
bool judge_params_bad(struct judge *judge, const struct judge_step *step);
bool judge_forward(struct judge *judge, const struct judge_step *step);
bool judge_bad_loss(struct judge *judge, const struct judge_step *step);
bool judge_backward(struct judge *judge, const struct judge_step *step);
bool judge_optimizer(struct judge *judge, const struct judge_step *step);

/* ---- a healthy step */

void judge_losses(struct judge *judge, uint64_t number, double loss);
void judge_gradients(struct judge *judge, const struct judge_step *step);
void judge_dead(struct judge *judge, const struct judge_step *step);
void judge_hints(struct judge *judge, const struct judge_step *step);

#endif
