#include "run/budget.h"

#define AIM          0.95 /* of the share: a pass may cost more than expected */
#define LATEST       0.25 /* weight of the latest pass in the moving averages */
#define DOWN_AFTER   2    /* consecutive passes that were too expensive */
#define UP_AFTER     16   /* consecutive passes with room for a richer mode */
#define UP_BELOW     0.7  /* ... which must cost less than this part of the allowance */
#define SAVED_PASSES 64   /* limit of the savings, in allowances of one pass */
#define RATE         0.1  /* ns per measured byte, before anything better is known */
#define NEARLY       1.25 /* full statistics may cost this factor more than sampled */

void budget_init(struct budget *budget, double share)
{
    *budget = (struct budget){.share = share > 0 ? share : 0};
}

static double allowance(const struct budget *budget)
{
    return AIM * budget->share * budget->user;
}

/* The mode of a recorded pass. If passes are skipped, full statistics are kept where
 * they cost hardly more: where the number of layers dominates the cost. */
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

/* Estimates the cost of each mode from the first recorded pass: bytes that are not
 * measured cost nothing, the rest is the same in all modes. */
static void guess_costs(struct budget *budget, const struct budget_pass *pass)
{
    double bytes = RATE * (double)pass->bytes, own = (double)pass->own_ns;

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

/* Updates the cost of the pass's mode, and of the other modes by the same factor, so
 * that they follow a model that becomes slower. */
static void learn_costs(struct budget *budget, const struct budget_pass *pass)
{
    double before, now, own = pass->own_ns > 0 ? (double)pass->own_ns : 1;

    if (budget->cost[BUDGET_FULL] <= 0) {
        guess_costs(budget, pass);
        return;
    }
    before = budget->cost[pass->mode];
    /* A higher cost counts at once, a lower one gradually. */
    now = own > before ? own : before + LATEST * (own - before);
    for (int mode = 0; mode < BUDGET_SKIP; mode++)
        budget->cost[mode] *= now / before;
}

/* The richest mode that costs at most this part of a pass's allowance. */
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

void budget_report(struct budget *budget, const struct budget_pass *pass)
{
    double user = (double)pass->user_ns, most;

    budget->passes[pass->mode]++;
    budget->user_ns += pass->user_ns;
    budget->own_ns += pass->own_ns;
    budget->user =
        budget->user > 0 ? budget->user + LATEST * (user - budget->user) : user;
    budget->earned += AIM * budget->share * user - (double)pass->own_ns;
    if (pass->mode < BUDGET_SKIP)
        learn_costs(budget, pass);
    if (budget->cost[BUDGET_FULL] > 0)
        choose_level(budget);
    /* Savings are limited, but always cover two full passes. */
    most = SAVED_PASSES * allowance(budget);
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
    if (budget->passes[BUDGET_SKIP])
        return "every k-th pass";
    if (budget->passes[BUDGET_GUARD])
        return "guard";
    return budget->passes[BUDGET_SAMPLED] ? "sampled" : "full";
}

const char *budget_mode_name(enum budget_mode mode)
{
    static const char *const names[BUDGET_MODES] = {"full", "sampled", "guard",
                                                    "not recorded"};

    return (unsigned)mode < BUDGET_MODES ? names[mode] : "";
}
