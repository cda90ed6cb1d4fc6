/* The loss, gradients and dead layers, compared with the last steps. Thresholds are far
 * beyond healthy trainings, because false alarms make users ignore all alarms. */
#include <math.h>

#include "judge/judge_in.h"
#include "study/family.h"
#include "text/number.h"

#define ENOUGH        20   /* values needed for a median */
#define LOSS_TIMES    10.0 /* a spike, in medians */
#define GRAD_TIMES    20.0 /* an exploding gradient, in medians */
#define GRAD_RATIO    0.05 /* ... if the update ratio is at least this */
#define GRAD_TIMES_BY 50.0 /* ... if updates are unknown */
#define VANISHED      1e-7 /* of the largest gradient, per element */
#define VANISHED_FOR  20   /* logged steps in a row */
#define DEAD_FOR      10
#define QUIET         20 /* logged steps between alarms about exploding gradients */

/* A number rounded to an integer: "15 times" */
static void add_times(struct judge *judge, double times)
{
    if (times < 1e6)
        text_commas(&judge->text, (uint64_t)(times + 0.5));
    else
        text_real(&judge->text, times);
    judge_add(judge, " times");
}

/* ---- the loss */

/* A loss near 0 varies by large factors, so a spike must also be large compared with
 * the first losses. */
static bool is_spike(const struct judge *judge, double loss, double median)
{
    return recent_count(&judge->losses) >= ENOUGH && median > 0 &&
           loss > LOSS_TIMES * median && loss > judge->first_loss / 2 &&
           (loss > 3 * recent_max(&judge->losses) || loss > 3 * judge->first_loss);
}

void judge_losses(struct judge *judge, uint64_t number, double loss)
{
    double median = recent_median(&judge->losses);

    if (!isfinite(loss))
        return;
    if (is_spike(judge, loss, median)) {
        if (!judge->spiked) {
            judge_say(judge, "%s", "");
            text_real(&judge->text, loss);
            judge_add(judge, ", ");
            add_times(judge, loss / median);
            judge_add(judge, " the median of the last %u steps",
                      recent_count(&judge->losses));
            judge_give(judge, number, SEVERITY_WARNING, "spike", NO_PLACE, STR("loss"),
                       NULL, STR(""));
        }
        judge->spiked = true;
    } else if (!(loss > 3 * median)) {
        judge->spiked = false;
    }
    recent_add(&judge->losses, loss);
    if (judge->losses.n == 5)
        judge->first_loss = recent_median(&judge->losses);
}

/* ---- gradients */

static void take_ratios(struct judge *judge, const struct judge_step *step)
{
    for (uint32_t i = 0; i < judge->n_tensors; i++)
        judge->params[i].ratio = NAN;
    for (uint32_t i = 0; i < step->n_updates; i++)
        if (step->updates[i].tensor < judge->n_tensors)
            judge->params[step->updates[i].tensor].ratio =
                (float)step->updates[i].ratio;
}

static bool explodes(const struct judge_param *param, double norm)
{
    double ratio = (double)param->ratio;

    if (recent_count(&param->norms) < ENOUGH || !(param->median > 0) ||
        norm < GRAD_TIMES * (double)param->median || param->exploded)
        return false;
    if (isnan(ratio))
        return norm > GRAD_TIMES_BY * (double)param->median &&
               norm > 10 * (double)param->early;
    return ratio > GRAD_RATIO && ratio > 5 * recent_median(&param->ratios);
}

static void report_exploding(struct judge *judge, const struct judge_step *step,
                             uint32_t tensor, double norm, uint32_t others)
{
    const struct model *model = step->run->model;
    uint32_t place = judge_place_of(model, tensor);
    double ratio = (double)judge->params[tensor].ratio;

    judge_say(judge, "‖grad‖ ");
    text_real(&judge->text, norm);
    judge_add(judge, ", ");
    add_times(judge, norm / (double)judge->params[tensor].median);
    judge_add(judge, " its median");
    if (!isnan(ratio)) {
        judge_add(judge, "; update/w ");
        text_real(&judge->text, ratio);
    }
    if (!isnan(ratio) && !isnan(step->lr)) {
        judge_add(judge, " at lr ");
        text_real(&judge->text, step->lr);
    }
    if (others > 0) {
        judge_add(judge, "; also ");
        text_plural(&judge->text, others, "other parameter", "other parameters");
    }
    judge_give(judge, step->number, SEVERITY_WARNING, "gradient", place,
               judge_place_name(judge, model, place), NULL, STR(""));
}

static void report_vanishing(struct judge *judge, const struct judge_step *step,
                             uint32_t tensor, double share, uint32_t others)
{
    const struct model *model = step->run->model;
    uint32_t place = judge_place_of(model, tensor);

    judge_say(judge, "vanishing gradient: per element ");
    text_real(&judge->text, share);
    judge_add(judge, " of the largest, for %d logged steps", VANISHED_FOR);
    if (others > 0) {
        judge_add(judge, "; also ");
        text_plural(&judge->text, others, "other parameter", "other parameters");
    }
    judge_give(judge, step->number, SEVERITY_WARNING, "vanishing", place,
               judge_place_name(judge, model, place), NULL, STR(""));
}

/* The statistics of a weight's gradient, or NULL if it is not a weight or was not
 * measured. Vectors (biases, scales) are skipped: they start at 0, so their ratios are
 * meaningless. */
static const struct stats *weight_gradient(const struct run *run,
                                           const struct run_param *param)
{
    const struct stats *stats = param->gradient ? judge_stats(run, param->value) : NULL;

    if (!stats || run->values[param->value].rank < 2 || !stats_measured(stats))
        return NULL;
    return stats;
}

static double per_element(const struct stats *stats)
{
    return stats_l2(stats) / sqrt((double)stats->count);
}

static void judge_vanishing(struct judge *judge, const struct judge_step *step,
                            double largest)
{
    const struct run *run = step->run;
    uint32_t least = RUN_NONE, n = 0;
    double share = 1;

    for (uint32_t i = 0; i < run->n_params; i++) {
        const struct stats *stats = weight_gradient(run, &run->params[i]);
        struct judge_param *param = &judge->params[run->params[i].tensor];
        double rms = stats ? per_element(stats) : 0;

        if (!stats || param->vanished)
            continue;
        param->small =
            rms > 0 && rms < VANISHED * largest ? (uint16_t)(param->small + 1) : 0;
        if (param->small < VANISHED_FOR)
            continue;
        param->vanished = true;
        n++;
        if (rms / largest < share) {
            share = rms / largest;
            least = run->params[i].tensor;
        }
    }
    if (least != RUN_NONE)
        report_vanishing(judge, step, least, share, n - 1);
}

/* Adds a gradient to the state of its parameter. */
static void learn(struct judge_param *param, double norm)
{
    recent_add(&param->norms, norm);
    if (!isnan(param->ratio))
        recent_add(&param->ratios, (double)param->ratio);
    if (param->norms.n % 8 == 0 || param->norms.n == ENOUGH)
        param->median = (float)recent_median(&param->norms);
    if (param->norms.n == ENOUGH)
        param->early = param->median;
    if (norm < 3 * (double)param->median)
        param->exploded = false;
}

void judge_gradients(struct judge *judge, const struct judge_step *step)
{
    const struct run *run = step->run;
    double largest = 0, most = 0, norm_of_worst = 0;
    uint32_t worst = RUN_NONE, n = 0;

    take_ratios(judge, step);
    judge->quiet -= judge->quiet > 0;
    for (uint32_t i = 0; i < run->n_params; i++) {
        const struct stats *stats = weight_gradient(run, &run->params[i]);
        uint32_t tensor = run->params[i].tensor;
        double norm = stats ? stats_l2(stats) : 0;

        if (!stats)
            continue;
        largest = fmax(largest, per_element(stats));
        if (explodes(&judge->params[tensor], norm)) {
            judge->params[tensor].exploded = true;
            n++;
            if (norm / (double)judge->params[tensor].median > most) {
                most = norm / (double)judge->params[tensor].median;
                norm_of_worst = norm;
                worst = tensor;
            }
        }
    }
    if (worst != RUN_NONE && judge->quiet == 0) {
        report_exploding(judge, step, worst, norm_of_worst, n - 1);
        judge->quiet = QUIET;
    }
    for (uint32_t i = 0; i < run->n_params; i++) {
        const struct stats *stats = weight_gradient(run, &run->params[i]);

        if (stats)
            learn(&judge->params[run->params[i].tensor], stats_l2(stats));
    }
    judge_vanishing(judge, step, largest);
}

/* ---- dead layers */

/* Does a ReLU return only zeros for an input that is not all zeros? */
static bool is_dead(const struct run *run, const struct run_call *call)
{
    bool dead = false, given = false;

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        const struct stats *stats = judge_stats(run, run->ios[i].value);

        if (!stats || !stats_measured(stats))
            continue;
        if (run->ios[i].kind == RUN_IN)
            given |= stats->min < 0;
        if (run->ios[i].kind == RUN_OUT)
            dead = stats->count >= 16 && stats->zeros == stats->count;
    }
    return dead && given;
}

void judge_dead(struct judge *judge, const struct judge_step *step)
{
    const struct run *run = step->run;

    for (uint32_t c = 0; c < run->n_calls; c++) {
        const struct run_call *call = &run->calls[c];
        struct judge_place *place = &judge->places[call->place];
        struct str class_name = judge_class(run->model, call->place);

        if (call->flags & RUN_RECOMPUTED || !(call->flags & RUN_TRAINING) ||
            !(str_is(class_name, "ReLU") || str_is(class_name, "ReLU6")))
            continue;
        place->dead = is_dead(run, call) ? (uint16_t)(place->dead + 1) : 0;
        if (place->dead < DEAD_FOR || place->reported & REPORTED_DEAD)
            continue;
        place->reported |= REPORTED_DEAD;
        judge_say(judge, "dead: all of its outputs were 0 in the last %d logged steps",
                  DEAD_FOR);
        judge_give(judge, step->number, SEVERITY_WARNING, "dead", call->place,
                   judge_place_name(judge, run->model, call->place), NULL, STR(""));
    }
}
