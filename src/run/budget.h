/* budget.h - how much of the user's time recording may take, and how that is kept.
 * Pure arithmetic with no clock of its own: told what each step took, it decides how
 * the next one is recorded, so that our share of the user's time stays below what was
 * allowed. It falls back from full statistics to sampled ones, to counting NaN and
 * infinities only, and then to recording only every k-th step; it comes back when there
 * is room, but not at once, so that it does not swing.
 *
 * Each step earns its share of time; a step is recorded only when what was earned so
 * far will pay for it. The first step costs what it costs: nothing is known before it.
 */
#ifndef RUN_BUDGET_H
#define RUN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum budget_mode {
    BUDGET_FULL,
    BUDGET_SAMPLED,
    BUDGET_GUARD,
    BUDGET_SKIP, /* this step is not recorded */
    BUDGET_MODES
};

struct budget_step {
    enum budget_mode mode; /* as it was recorded */
    uint64_t user_ns;      /* without us */
    uint64_t own_ns;       /* of ours, torch's hooked path included */
    uint64_t bytes;        /* that were measured */
};

struct budget {
    double share;             /* allowed: 0.03 */
    double earned;            /* ns that may be spent; negative: owed */
    double user;              /* expected of the next step */
    double cost[BUDGET_SKIP]; /* expected, by mode; 0: nothing is known */
    enum budget_mode level;   /* SKIP: no mode can be paid at every step */
    uint32_t over, under;     /* steps in a row that would allow less, or more */
    uint64_t steps[BUDGET_MODES];
    uint64_t user_ns, own_ns; /* so far */
};

/* A share of 1 or more is no limit. */
void budget_init(struct budget *budget, double share);

/* How the next step is to be recorded. */
enum budget_mode budget_next(const struct budget *budget);
/* What a step took. */
void budget_told(struct budget *budget, const struct budget_step *step);
/* What was spent outside of steps, to begin with: the next ones pay for it. */
void budget_owe(struct budget *budget, uint64_t own_ns);

/* Our share so far: own / user; 0 before the first step. */
double budget_cost(const struct budget *budget);
/* The poorest way that was used: "full", "sampled", "guard", "every k-th step". */
const char *budget_fell_back(const struct budget *budget);
const char *budget_mode_name(enum budget_mode mode); /* "full", ..., "not recorded" */

#endif
