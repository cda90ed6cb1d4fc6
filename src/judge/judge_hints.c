/* Hints: nothing is wrong yet, but a change would make training easier. Raised once per
 * place. */
#include <math.h>
#include <string.h>

#include "judge/judge_in.h"
#include "study/family.h"
#include "text/number.h"

#define FAR_INPUT   20.0 /* mean or standard deviation of an input */
#define FAR_FOR     20   /* logged steps in a row */
#define FAR_MEAN    3.0  /* of latents */
#define FAR_STD     5.0
#define COLLAPSED   0.01
#define ONE_INPUT   0.999 /* of the sum of the norms of gradients */
#define MOST_INPUTS 16

static void give_hint(struct judge *judge, const struct judge_step *step,
                      const char *kind, uint32_t place, struct str line)
{
    judge_give(judge, step->number, SEVERITY_NOTE, kind, place,
               judge_place_name(judge, step->run->model, place), NULL, line);
}

/* ---- a final ReLU before a loss that needs negative values */

/* The ReLU whose result is a result of the model; else the model itself. */
static uint32_t final_relu(const struct run *run, uint32_t root)
{
    uint32_t place = run->calls[root].place;

    for (uint32_t c = root + 1; c < run->n_calls; c++) {
        const struct run_call *call = &run->calls[c], *top = &run->calls[root];

        if (!str_is(judge_class(run->model, call->place), "ReLU"))
            continue;
        for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++)
            for (uint32_t k = top->ios; k < top->ios + top->n_ios; k++)
                if (run->ios[i].kind == RUN_OUT && run->ios[k].kind == RUN_OUT &&
                    run->ios[i].value == run->ios[k].value)
                    place = call->place;
    }
    return place;
}

static void hint_relu(struct judge *judge, const struct judge_step *step)
{
    if (!step->relu_loss || judge->reported_relu || step->run->n_calls == 0)
        return;
    judge->reported_relu = true;
    judge_say(judge,
              "a ReLU is the last layer: its outputs are never negative, but the "
              "loss needs negative values");
    give_hint(judge, step, "relu", final_relu(step->run, 0), STR(""));
}

/* ---- inputs far from normalised */

/* Does a layer with weights read these elements unchanged? */
static uint32_t layer_that_reads(const struct run *run, uint32_t value)
{
    for (uint32_t c = 0; c < run->n_calls; c++) {
        const struct run_call *call = &run->calls[c];
        struct str class_name = judge_class(run->model, call->place);
        enum family family = family_of_place(run->model, call->place);

        if (family != FAMILY_CONV && family != FAMILY_LINEAR &&
            !str_is(class_name, "LSTM") && !str_is(class_name, "GRU") &&
            !str_is(class_name, "RNN"))
            continue;
        for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++)
            if (run->ios[i].kind == RUN_IN && run->ios[i].value == value)
                return c;
    }
    return RUN_NONE;
}

static bool is_far(const struct run *run, uint32_t value)
{
    const struct stats *stats = judge_stats(run, value);

    return stats && stats->kind == STATS_REAL && stats_measured(stats) &&
           run->values[value].rank >= 2 && stats->count >= 64 &&
           producer_finite(run, value) &&
           (fabs(stats->mean) >= FAR_INPUT || stats_std(stats) >= FAR_INPUT);
}

static void hint_input(struct judge *judge, const struct judge_step *step,
                       uint32_t value)
{
    const struct run *run = step->run;
    const struct stats *stats = judge_stats(run, value);
    uint32_t reader = layer_that_reads(run, value);
    uint32_t place = reader == RUN_NONE ? NO_PLACE : run->calls[reader].place;

    if (reader == RUN_NONE || judge->places[place].reported & REPORTED_INPUTS)
        return;
    judge->places[place].reported |= REPORTED_INPUTS;
    judge_say(judge, "the model's input is far from normalised: mean ");
    text_real(&judge->text, stats->mean);
    judge_add(judge, ", std ");
    text_real(&judge->text, stats_std(stats));
    judge_add(judge, ", ");
    text_real(&judge->text, stats->min);
    judge_add(judge, " to ");
    text_real(&judge->text, stats->max);
    give_hint(judge, step, "inputs", place, run_string(run, run->calls[reader].line));
}

static void hint_inputs(struct judge *judge, const struct judge_step *step)
{
    const struct run *run = step->run;

    for (uint32_t c = 0; c < run->n_calls; c++) {
        const struct run_call *call = &run->calls[c];

        if (call->parent != RUN_NONE || call->flags & RUN_RECOMPUTED)
            continue;
        for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++)
            if (run->ios[i].kind == RUN_IN && is_far(run, run->ios[i].value))
                hint_input(judge, step, run->ios[i].value);
    }
}

/* ---- latents far from normal */

static bool is_one_of(struct str name, const char *const *names)
{
    for (; *names; names++)
        if (str_is(name, *names))
            return true;
    return false;
}

/* A layer that computes the means of a variational encoder: its sibling computes the
 * variances. */
static bool gives_latents(const struct model *model, uint32_t place)
{
    static const char *const means[] = {"mu",    "fc_mu",   "mean", "fc_mean",
                                        "to_mu", "mu_head", NULL};
    static const char *const spreads[] = {"logvar",     "log_var",   "fc_logvar",
                                          "fc_log_var", "to_logvar", "logvar_head",
                                          "fc_var",     "log_sigma", NULL};
    uint32_t up = model->parent[place];

    if (up == NO_PLACE || !is_one_of(place_name(model, place), means))
        return false;
    for (uint32_t p = up + 1; p < model->end[up]; p = model->end[p])
        if (model->kind[p] == PLACE_MODULE && is_one_of(place_name(model, p), spreads))
            return true;
    return false;
}

static bool is_normal(const struct stats *stats)
{
    double std = stats_std(stats);

    return fabs(stats->mean) <= FAR_MEAN && std <= FAR_STD &&
           (std >= COLLAPSED || fabs(stats->mean) >= COLLAPSED);
}

static void hint_latents(struct judge *judge, const struct judge_step *step)
{
    const struct run *run = step->run;

    for (uint32_t c = 0; c < run->n_calls; c++) {
        const struct run_call *call = &run->calls[c];
        struct judge_place *place = &judge->places[call->place];
        const struct stats *stats = NULL;

        if (place->reported & REPORTED_LATENT ||
            !gives_latents(run->model, call->place))
            continue;
        for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++)
            if (run->ios[i].kind == RUN_OUT)
                stats = judge_stats(run, run->ios[i].value);
        if (!stats || !stats_measured(stats) || stats->count < 16)
            continue;
        place->latent = is_normal(stats) ? 0 : (uint16_t)(place->latent + 1);
        if (place->latent < FAR_FOR)
            continue;
        place->reported |= REPORTED_LATENT;
        judge_say(judge, "latents far from normal for %d logged steps: mean ", FAR_FOR);
        text_real(&judge->text, stats->mean);
        judge_add(judge, ", std ");
        text_real(&judge->text, stats_std(stats));
        give_hint(judge, step, "latents", call->place, STR(""));
    }
}

/* ---- one of several inputs with nearly all of the gradient */

struct input_gradients {
    double norms[MOST_INPUTS], each[MOST_INPUTS]; /* each: per element */
    uint32_t paths[MOST_INPUTS];
    uint32_t n;
};

static bool collect(const struct run *run, const struct run_call *call,
                    struct input_gradients *to)
{
    to->n = 0;
    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        const struct stats *stats = run->ios[i].kind == RUN_GRAD_IN
                                        ? judge_stats(run, run->ios[i].value)
                                        : NULL;

        if (run->ios[i].kind != RUN_GRAD_IN)
            continue;
        if (!stats || !stats_measured(stats) || to->n == MOST_INPUTS ||
            stats->count < 16 || run->values[run->ios[i].value].rank < 2 ||
            run->ios[i].flags & RUN_IO_SUMMED || !(stats_l2(stats) > 0))
            return false;
        to->norms[to->n] = stats_l2(stats);
        to->each[to->n] = stats_l2(stats) / sqrt((double)stats->count);
        to->paths[to->n++] = run->ios[i].path;
    }
    return to->n >= 2;
}

/* The input that has nearly all of the gradient, or RUN_NONE. */
static uint32_t only_one(const struct input_gradients *inputs)
{
    double norms = 0, each = 0;

    for (uint32_t i = 0; i < inputs->n; i++) {
        norms += inputs->norms[i];
        each += inputs->each[i];
    }
    for (uint32_t i = 0; i < inputs->n; i++)
        if (inputs->norms[i] > ONE_INPUT * norms && inputs->each[i] > ONE_INPUT * each)
            return i;
    return RUN_NONE;
}

static void hint_one_input(struct judge *judge, const struct judge_step *step,
                           const struct run_call *call)
{
    struct judge_place *place = &judge->places[call->place];
    struct input_gradients inputs;
    uint32_t one;
    struct str path;

    if (place->reported & REPORTED_ONE_INPUT || !collect(step->run, call, &inputs))
        return;
    one = only_one(&inputs);
    place->one_input = one == RUN_NONE ? 0 : (uint16_t)(place->one_input + 1);
    if (place->one_input < FAR_FOR)
        return;
    place->reported |= REPORTED_ONE_INPUT;
    path = run_string(step->run, inputs.paths[one]);
    judge_say(judge,
              "its input %.*s has over 99.9%% of the gradient of its %u inputs, "
              "for %d logged steps",
              (int)path.len, path.at, inputs.n, FAR_FOR);
    give_hint(judge, step, "one-input", call->place, STR(""));
}

void judge_hints(struct judge *judge, const struct judge_step *step)
{
    hint_relu(judge, step);
    hint_inputs(judge, step);
    hint_latents(judge, step);
    for (uint32_t c = 0; c < step->run->n_calls; c++)
        if (!(step->run->calls[c].flags & RUN_RECOMPUTED))
            hint_one_input(judge, step, &step->run->calls[c]);
}
