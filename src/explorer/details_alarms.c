/* Details: what was found at a place, by the reader and in a run. */
#include "explorer/details_in.h"
#include "facts/check_text.h"
#include "facts/run_text.h"
#include "facts/statistics.h"
#include "facts/summary.h"
#include "text/text.h"

#define MOST_FINDINGS 50

/* Those of the file as a whole stand at the root, which also lists the others. */
void details_findings(struct details *d, uint32_t place)
{
    const struct model *model = d->show->model;
    static const char *const labels[][2] = {[SEVERITY_NOTE] = {"- found", "-"},
                                            [SEVERITY_WARNING] = {"! found", "!"},
                                            [SEVERITY_ALARM] = {"✗ found", "✗"}};
    uint32_t n = 0;

    for (uint32_t i = 0; i < model->n_findings && n < MOST_FINDINGS; i++) {
        const struct finding *finding = &model->findings[i];

        if (finding->place != place && place != 0)
            continue;
        check_finding(&d->facts.text, model, finding);
        fact_end(&d->facts, labels[finding->severity][n++ > 0],
                 summary_finding_colour(finding->severity))
            ->target = finding->place == FINDING_NOWHERE ? NO_TARGET : finding->place;
    }
}

/* --- Values */

void details_measured(struct details *d, const struct measured *measured)
{
    struct buf *text = &d->facts.text;

    measured_text(text, d->explorer, measured);
    fact_end(&d->facts, measured->spoilt > 0 ? "✗ values" : "values",
             measured->spoilt > 0 ? COLOUR_ALARM : COLOUR_NONE)
        ->target = measured->spoilt > 0 ? measured->first : NO_TARGET;
}

/* "-0.5444 … 0.4808   mean -0.01096   std 0.0888", as far as they were measured. */
static void add_extremes(struct facts *facts, const struct stats *stats)
{
    struct buf *to = &facts->text;

    if (!stats_measured(stats))
        return;
    buf_text(to, fact_is_empty(facts) ? "" : ";   ");
    statistics_extreme(to, stats, false);
    if (stats_finite(stats) < 2)
        return;
    buf_text(to, " … ");
    statistics_extreme(to, stats, true);
    buf_text(to, "   mean ");
    text_real_long(to, stats->mean);
    buf_text(to, "   std ");
    text_real_long(to, stats_std(stats));
}

void details_tensor_values(struct details *d, uint32_t tensor)
{
    const struct model *model = d->show->model;
    const struct stats *stats = session_known(d->show->session, tensor);
    bool spoilt = measured_spoilt(d->explorer, tensor), busy = false;
    const char *why = session_why(d->show->session, tensor);
    struct buf *text = &d->facts.text;

    if (stats) {
        run_not_finite(text, stats->nan, stats->pos_inf + stats->neg_inf);
        add_extremes(&d->facts, stats);
    } else {
        if (!why && d->explorer->jobs)
            jobs_numbers(d->explorer->jobs, tensor, &busy, &why);
        if (!why && tensor_readable(model, &model->tensors[tensor], &why)) {
            busy |= d->explorer->jobs && jobs_measuring(d->explorer->jobs);
            why = busy ? "being measured" : "not measured; 4 measures them";
        }
        buf_text(text, why ? why : "");
    }
    fact_end(&d->facts, spoilt ? "✗ values" : "values",
             spoilt ? COLOUR_ALARM : COLOUR_NONE);
}

/* --- What raised */

static uint32_t weight_of(const struct model *model, uint32_t place)
{
    for (uint32_t p = place_first(model, place); p != NO_PLACE;
         p = place_next(model, p))
        if (model->kind[p] == PLACE_TENSOR && str_is(place_name(model, p), "weight"))
            return p;
    return NO_PLACE;
}

/* "wants …×2048": the dimension that its weight meets in the input. */
static void wants(struct buf *to, const struct model *model, uint32_t place,
                  const struct tensor *weight)
{
    const int64_t *shape = tensor_shape(model, weight);
    struct str name = class_short(place_class(model, place));
    const struct object *object = place_object(model, place);
    bool transposed = str_find(name, STR("Transpose")) >= 0;
    const struct value *groups;
    uint32_t id;
    int64_t channels;

    if (str_find(name, STR("Conv")) >= 0 && weight->rank > 2) {
        channels = shape[transposed ? 0 : 1];
        if (!transposed && object &&
            value_get(&model->values, object->args, "groups", &id)) {
            groups = value_at(&model->values, id);
            channels *= groups->kind == VALUE_INT ? groups->integer : 1;
        }
        buf_printf(to, "wants …×%lld", (long long)channels);
        for (int i = 2; i < weight->rank; i++)
            buf_text(to, "×…");
    } else if (str_find(name, STR("Linear")) >= 0 && weight->rank == 2) {
        buf_printf(to, "wants …×%lld", (long long)shape[1]);
    } else {
        buf_text(to, "is ");
        text_shape(to, shape, weight->rank);
    }
}

static void raised_lines(struct details *d, uint32_t place)
{
    const struct model *model = d->show->model;
    const struct run *run = d->show->session->run;
    uint32_t call = d->show->activity->at[place].newest, weight, value;
    struct buf *text = &d->facts.text;

    if (run->calls[call].error)
        escape_terminal(text, run_string(run, run->calls[call].error));
    else
        buf_text(text, run->calls[call].flags & RUN_ABORTED ? "it did not come back"
                                                            : "an exception");
    fact_end(&d->facts, "✗ raised", COLOUR_ALARM);
    value = activity_value(run, call, RUN_IN);
    if (value != RUN_NONE) {
        run_shape(text, run, value);
        fact_end(&d->facts, "  got", COLOUR_NONE);
    }
    weight = weight_of(model, place);
    if (weight != NO_PLACE) {
        wants(text, model, place, place_tensor(model, weight));
        fact_end(&d->facts, "  weight", COLOUR_NONE)->target = weight;
    }
    if (run->calls[call].line) {
        escape_terminal(text, run_string(run, run->calls[call].line));
        fact_end(&d->facts, "  called", COLOUR_NONE);
    }
}

/* --- What is not finite */

static void producer_lines(struct details *d, uint32_t place)
{
    const struct activities *all = d->show->activity;
    const struct activity *at = &all->at[place];
    struct buf *text = &d->facts.text;

    if (place == all->first_producer) {
        struct run_lines notes = {0};
        struct arena arena;

        arena_init(&arena, 0);
        /* The first line is about the first NaN, if there is one. */
        if (run_notes(&notes, d->show, &arena, NULL) == 0 && notes.n > 0)
            buf_text(text, notes.at[0].text);
        arena_release(&arena);
    } else {
        buf_text(text, "made ");
        run_not_finite(text, at->nan, at->inf);
        buf_text(text, "; all that went in was finite");
    }
    fact_end(&d->facts, "✗ values", COLOUR_ALARM);
}

/* An alarm of something inside: the first that is met. */
static void below_line(struct details *d, uint32_t place)
{
    const struct activities *all = d->show->activity;
    struct buf *text = &d->facts.text;

    for (uint32_t p = place + 1; p < d->show->model->end[place]; p++) {
        if (!(all->at[p].flags & (ACTIVITY_RAISED | ACTIVITY_PRODUCER)))
            continue;
        run_place(text, d->show, p);
        buf_text(text, all->at[p].flags & ACTIVITY_RAISED ? " raised an exception"
                                                          : " made values that are "
                                                            "not finite");
        fact_end(&d->facts, "! below", COLOUR_WARNING)->target = p;
        break;
    }
}

void details_alarms(struct details *d, uint32_t place)
{
    const struct activity *at;
    struct buf *text = &d->facts.text;

    if (!d->show->activity || d->show->model->kind[place] != PLACE_MODULE)
        return;
    at = &d->show->activity->at[place];
    if (at->flags & ACTIVITY_RAISED && at->newest != RUN_NONE)
        raised_lines(d, place);
    if (at->flags & ACTIVITY_PRODUCER) {
        producer_lines(d, place);
    } else if (at->nan + at->inf > 0) {
        run_not_finite(text, at->nan, at->inf);
        buf_text(text, " in its results, given on");
        fact_end(&d->facts, "values", COLOUR_ALARM)->target =
            d->show->activity->first_producer == NO_PLACE
                ? NO_TARGET
                : d->show->activity->first_producer;
    }
    if (at->flags & ACTIVITY_BELOW)
        below_line(d, place);
}
