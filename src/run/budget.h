/* budget.h - keeps the cost of recording below a share of the user's time. Pure
 * arithmetic without a clock. The caller reports the cost of each pass; the budget
 * decides how to record the next one. It falls back from full statistics to sampled
 * ones, to counting NaN and infinities only, and then to recording every k-th pass. It
 * returns to a richer mode after a delay, so that it does not oscillate.
 *
 * Each pass earns its share of time. A pass is recorded only if the time earned so far
 * covers its expected cost. The first pass is always recorded, because its cost is
 * unknown. */
#ifndef RUN_BUDGET_H
#define RUN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum budget_mode {
    BUDGET_FULL,
    BUDGET_SAMPLED,
    BUDGET_GUARD,
    BUDGET_SKIP, /* the pass is not recorded */
    BUDGET_MODES
};

struct budget_pass {
    enum budget_mode mode; /* how it was recorded */
    uint64_t user_ns;      /* without the cost of recording */
    uint64_t own_ns;       /* cost of recording, with torch's hooked path */
    uint64_t bytes;        /* measured */
};

struct budget {
    double share;             /* allowed: 0.03 */
    double earned;            /* ns that may be spent; negative: debt */
    double user;              /* expected ns of the next pass */
    double cost[BUDGET_SKIP]; /* expected ns, by mode; 0: unknown */
    enum budget_mode level;   /* SKIP: every mode is too expensive for every pass */
    uint32_t over, under;     /* consecutive passes that suggest a poorer, richer
                                 mode */
    uint64_t passes[BUDGET_MODES];
    uint64_t user_ns, own_ns; /* so far */
};

/* A share of 1 or more means no limit. */
void budget_init(struct budget *budget, double share);

/* How to record the next pass. */
enum budget_mode budget_next(const struct budget *budget);
/* Reports the cost of a pass. */
void budget_report(struct budget *budget, const struct budget_pass *pass);
/* Reports a cost outside of passes, such as start-up: the next passes pay for it. */
void budget_owe(struct budget *budget, uint64_t own_ns);

/* Cost so far: own / user; 0 before the first pass. */
double budget_cost(const struct budget *budget);
/* The poorest mode used so far: "full", "sampled", "guard", "every k-th pass". */
const char *budget_fell_back(const struct budget *budget);
const char *budget_mode_name(enum budget_mode mode); /* "full", ..., "not recorded" */

#endif
