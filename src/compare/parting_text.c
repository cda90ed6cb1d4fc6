#include "compare/parting_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "compare/divergence_text.h"
#include "facts/statistics.h"
#include "text/text.h"

static uint64_t first_step(const struct parting *parting)
{
    if (!parting->scalar_differs)
        return parting->tensor_step;
    if (!parting->tensor_differs)
        return parting->scalar_step;
    return parting->tensor_step < parting->scalar_step ? parting->tensor_step
                                                       : parting->scalar_step;
}

static void add_within(struct facts *to, const struct parting *parting)
{
    if (parting->tolerance <= 0)
        return;
    buf_text(&to->text, " within ");
    divergence_distance(&to->text, parting->tolerance);
}

void parting_sentence(struct facts *to, const struct parting *parting)
{
    if (parting->common == 0) {
        buf_text(&to->text, "the runs have no step in common that could be compared");
        fact_end(to, "training", COLOUR_WARNING);
    } else if (parting_agrees(parting)) {
        buf_text(&to->text, "equal");
        add_within(to, parting);
        buf_text(&to->text, " over ");
        fact_plural(to, "steps", parting->common, "common step", "common steps");
        fact_end(to, "training", COLOUR_GOOD);
    } else {
        buf_text(&to->text, "the runs part at step ");
        fact_count(to, "step", first_step(parting));
        fact_end(to, "training", COLOUR_WARNING);
    }
}

/* ---- the tensor ---- */

static const char *kind_words(uint8_t kind)
{
    static const char *const words[HISTORY_KINDS] = {
        [HISTORY_INPUT] = "input",
        [HISTORY_OUTPUT] = "output",
        [HISTORY_GRAD_INPUT] = "gradient of its input",
        [HISTORY_GRAD_OUTPUT] = "gradient of its output",
        [HISTORY_PARAM] = "parameter",
        [HISTORY_GRAD_PARAM] = "gradient",
        [HISTORY_UPDATE] = "update",
        [HISTORY_GRAD_INPUT_NORM] = "norms of the gradient of its input",
        [HISTORY_GRAD_OUTPUT_NORM] = "norms of the gradient of its output",
    };

    return words[kind % HISTORY_KINDS];
}

static void tensor_fact(struct facts *to, const struct parting *parting)
{
    const struct history_series *tensor = &parting->tensor;

    if (tensor->name.len > 0)
        fact_text(to, "name", tensor->name);
    else
        buf_text(&to->text, "the model");
    buf_printf(&to->text, "  %s", kind_words(tensor->kind));
    if (tensor->path.len > 0) {
        buf_char(&to->text, ' ');
        escape_terminal(&to->text, tensor->path);
    }
    if (tensor->call > 0)
        buf_printf(&to->text, "  call %u", (unsigned)tensor->call + 1);
    if (tensor->phase == HISTORY_EVAL)
        buf_text(&to->text, "  in evaluation");
    buf_text(&to->text, "  step ");
    fact_count(to, "step", parting->tensor_step);
    fact_end(to, "first", COLOUR_WARNING);
}

static void together_fact(struct facts *to, const struct parting *parting)
{
    if (parting->together < 2)
        return;
    fact_plural(to, "series", parting->together - 1, "other series differs",
                "other series differ");
    buf_text(&to->text, " in this step, of ");
    fact_count(to, "all", parting->series);
    fact_end(to, "", COLOUR_DIM);
}

static bool not_finite(const struct stats *stats)
{
    return stats_finite(stats) < stats->count;
}

static void apart_fact(struct facts *to, const struct parting *parting)
{
    if (parting->stats[0].count != parting->stats[1].count) {
        fact_count(to, "left", parting->stats[0].count);
        buf_text(&to->text, " and ");
        fact_count(to, "right", parting->stats[1].count);
        buf_text(&to->text, " elements");
    } else if (isinf(parting->distance)) {
        buf_text(&to->text, "NaN or infinities on one side");
    } else if (parting->distance > 0) {
        buf_text(&to->text, "at least ");
        divergence_distance(&to->text, parting->distance);
        buf_text(&to->text, " of the RMS  (by statistics)");
    } else {
        buf_text(&to->text, "only the histograms differ");
    }
    fact_end(to, "apart", COLOUR_NONE);
}

/* ---- the rest ---- */

/* As few digits as show that they differ. */
static void add_value(struct facts *to, const char *name, double value, double other)
{
    struct figure figure = {0};
    char text[32], others[32];

    snprintf(text, sizeof text, "%.6g", value);
    snprintf(others, sizeof others, "%.6g", other);
    if (!isfinite(value) || strcmp(text, others) != 0) {
        statistics_real(to, name, value);
        return;
    }
    figure = fact_figure(to);
    real_text(value, text);
    buf_text(figure.text, text);
    figure.kind = FIGURE_REAL;
    figure.real = value;
    fact_value(to, name, &figure);
}

static void scalar_fact(struct facts *to, const struct parting *parting)
{
    if (!parting->scalar_differs) {
        if (parting->common == 0 || parting->scalars == 0)
            return;
        fact_plural(to, "count", parting->scalars, "scalar agrees", "scalars agree");
        fact_end(to, "scalars", COLOUR_NONE);
        return;
    }
    fact_text(to, "name", parting->scalar);
    buf_text(&to->text, " differs first at step ");
    fact_count(to, "step", parting->scalar_step);
    if (parting->scalar_phase == HISTORY_EVAL)
        buf_text(&to->text, " of evaluation");
    buf_text(&to->text, ": ");
    add_value(to, "left", parting->values[0], parting->values[1]);
    buf_text(&to->text, " → ");
    add_value(to, "right", parting->values[1], parting->values[0]);
    fact_end(to, "scalars", COLOUR_WARNING);
}

/* "left has 2 series, right 1 scalar that the other lacks" */
static void only_fact(struct facts *to, const struct parting *parting)
{
    static const char *const sides[] = {"left", "right"};
    bool some = false;

    for (int side = 0; side < 2; side++) {
        uint32_t series = parting->only_series[side];
        uint32_t scalars = parting->only_scalars[side];

        if (series + scalars == 0)
            continue;
        buf_printf(&to->text, "%s%s has ", some ? "; " : "", sides[side]);
        some = true;
        if (series > 0)
            fact_count(to, side ? "right_series" : "left_series", series);
        buf_text(&to->text, series > 0 ? " series" : "");
        buf_text(&to->text, series > 0 && scalars > 0 ? " and " : "");
        if (scalars > 0)
            fact_plural(to, side ? "right_scalars" : "left_scalars", scalars, "scalar",
                        "scalars");
        buf_text(&to->text, " that the other lacks");
    }
    if (some)
        fact_end(to, "", COLOUR_DIM);
}

static void steps_fact(struct facts *to, const struct parting *parting)
{
    if (parting->common > 0) {
        fact_plural(to, "common", parting->common, "common step, ", "common steps, ");
        fact_count(to, "first", parting->first);
        buf_text(&to->text, " to ");
        fact_count(to, "last", parting->last);
        buf_text(&to->text, "; ");
    }
    buf_text(&to->text, "left has ");
    fact_count(to, "left", parting->steps[0]);
    buf_text(&to->text, ", right ");
    fact_count(to, "right", parting->steps[1]);
    if (parting_agrees(parting) && parting->series > 0 &&
        parting->with_tensors < parting->common) {
        buf_text(&to->text, "; tensors at ");
        fact_count(to, "with_tensors", parting->with_tensors);
        buf_text(&to->text, " of them");
    }
    fact_end(to, "steps", COLOUR_NONE);
    if (parting->merged[0] + parting->merged[1] > 0) {
        fact_count(to, "left_merged", parting->merged[0]);
        buf_text(&to->text, " on the left and ");
        fact_count(to, "right_merged", parting->merged[1]);
        buf_text(&to->text, " on the right were merged with their neighbours and are "
                            "not compared");
        fact_end(to, "", COLOUR_DIM);
    }
}

void parting_facts(struct facts *to, const struct parting *parting)
{
    parting_sentence(to, parting);
    if (parting->tensor_differs) {
        tensor_fact(to, parting);
        together_fact(to, parting);
        for (int side = 0; side < 2; side++) {
            divergence_numbers(to, &parting->stats[side]);
            fact_end(to, side ? "right" : "left",
                     not_finite(&parting->stats[side]) ? COLOUR_ALARM : COLOUR_NONE);
        }
        apart_fact(to, parting);
    }
    scalar_fact(to, parting);
    steps_fact(to, parting);
    only_fact(to, parting);
}
