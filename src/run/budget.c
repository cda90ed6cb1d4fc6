#include "run/budget.h"

#define AIM         0.95 /* of what is allowed: a step may cost more than expected */
#define LATEST      0.25 /* the weight of the latest step in what is expected */
#define DOWN_AFTER  2    /* steps in a row that were too dear */
#define UP_AFTER    16   /* steps in a row that leave room */
#define UP_BELOW    0.7  /* ... which is so much of what a step earns */
#define SAVED_STEPS 64   /* what is earned beyond this is forgone */
#define RATE        0.1  /* ns for a byte measured, while nothing better is known */
#define NEARLY      1.25 /* a richer mode is worth this */

void budget_init(struct budget *budget, double share)
{
    *budget = (struct budget){.share = share > 0 ? share : 0};
}

static double allowance(const struct budget *budget)
{
    return AIM * budget->share * budget->user;
}

/* In which mode steps are recorded when not all of them can be: where the number of
 * layers is what costs, full statistics cost hardly more. */
static enum budget_mode mode_of_level(const struct budget *budget)
{
    if (budget->level != BUDGET_SKIP)
        return budget->level;
    return budget->cost[BUDGET_FULL] <= NEARLY * budget->cost[BUDGET_SAMPLED]
               ? BUDGET_FULL
               : BUDGET_SAMPLED;
}

enum budget_mode budget_next(const struct budget *budget)
{
    enum budget_mode mode = mode_of_level(budget);

    if (budget->share >= 1 || budget->cost[BUDGET_FULL] <= 0)
        return BUDGET_FULL;
    if (budget->earned + allowance(budget) < budget->cost[mode])
        return BUDGET_SKIP;
    return mode;
}

/* What the modes would cost, from the first step that was recorded: bytes that are not
 * measured cost nothing, the rest is the same in all. */
static void guess_costs(struct budget *budget, const struct budget_step *step)
{
    double bytes = RATE * (double)step->bytes, own = (double)step->own_ns;

    if (bytes > 0.9 * own)
        bytes = 0.9 * own;
    if (own < 1)
        own = 1;
    budget->cost[BUDGET_FULL] = own;
    budget->cost[BUDGET_SAMPLED] = own - bytes * 7 / 8;
    budget->cost[BUDGET_GUARD] = own - bytes / 2;
    if (budget->cost[BUDGET_GUARD] < budget->cost[BUDGET_SAMPLED])
        budget->cost[BUDGET_SAMPLED] = budget->cost[BUDGET_GUARD];
}

/* A recorded step tells the cost of its mode; what is expected of the others changes by
 * the same factor, so that a model that becomes slower is noticed in all of them. */
static void learn_costs(struct budget *budget, const struct budget_step *step)
{
    double before, now, own = step->own_ns > 0 ? (double)step->own_ns : 1;

    if (budget->cost[BUDGET_FULL] <= 0) {
        guess_costs(budget, step);
        return;
    }
    before = budget->cost[step->mode];
    /* What became dearer counts at once, what became cheaper only in time. */
    now = own > before ? own : before + LATEST * (own - before);
    for (int mode = 0; mode < BUDGET_SKIP; mode++)
        budget->cost[mode] *= now / before;
}

/* The richest mode that each step can pay for, with a margin below `part` of it. */
static enum budget_mode affordable(const struct budget *budget, double part)
{
    for (int mode = 0; mode < BUDGET_SKIP; mode++)
        if (budget->cost[mode] <= part * allowance(budget))
            return (enum budget_mode)mode;
    return BUDGET_SKIP;
}

static void choose_level(struct budget *budget)
{
    enum budget_mode able = affordable(budget, 1),
                     richer = affordable(budget, UP_BELOW);

    budget->over = able > budget->level ? budget->over + 1 : 0;
    budget->under = richer < budget->level ? budget->under + 1 : 0;
    if (budget->over >= DOWN_AFTER) {
        budget->level = able;
        budget->over = 0;
    } else if (budget->under >= UP_AFTER) {
        budget->level = richer;
        budget->under = 0;
    }
}

void budget_told(struct budget *budget, const struct budget_step *step)
{
    double user = (double)step->user_ns, most;

    budget->steps[step->mode]++;
    budget->user_ns += step->user_ns;
    budget->own_ns += step->own_ns;
    budget->user =
        budget->user > 0 ? budget->user + LATEST * (user - budget->user) : user;
    budget->earned += AIM * budget->share * user - (double)step->own_ns;
    if (step->mode < BUDGET_SKIP)
        learn_costs(budget, step);
    if (budget->cost[BUDGET_FULL] > 0)
        choose_level(budget);
    /* What is saved pays for one dear step, or for some of the usual kind. */
    most = SAVED_STEPS * allowance(budget);
    if (most < 2 * budget->cost[BUDGET_FULL])
        most = 2 * budget->cost[BUDGET_FULL];
    if (budget->earned > most)
        budget->earned = most;
}

void budget_owe(struct budget *budget, uint64_t own_ns)
{
    budget->own_ns += own_ns;
    budget->earned -= (double)own_ns;
}

double budget_cost(const struct budget *budget)
{
    return budget->user_ns ? (double)budget->own_ns / (double)budget->user_ns : 0;
}

const char *budget_fell_back(const struct budget *budget)
{
    if (budget->steps[BUDGET_SKIP])
        return "every k-th step";
    if (budget->steps[BUDGET_GUARD])
        return "guard";
    return budget->steps[BUDGET_SAMPLED] ? "sampled" : "full";
}

const char *budget_mode_name(enum budget_mode mode)
{
    static const char *const names[BUDGET_MODES] = {"full", "sampled", "guard",
                                                    "not recorded"};

    return (unsigned)mode < BUDGET_MODES ? names[mode] : "";
}
