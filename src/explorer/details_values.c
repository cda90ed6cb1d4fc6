/* Details: measurements of the values of tensors. */
#include "explorer/details_in.h"
#include "facts/statistics.h"
#include "rows/run_words.h"
#include "text/text.h"

void details_measured(struct details *d, const struct measured *measured)
{
    struct buf *text = &d->facts.text;

    measured_text(text, d->explorer, measured);
    fact_end(&d->facts, measured->spoilt > 0 ? "✗ values" : "values",
             measured->spoilt > 0 ? COLOUR_ALARM : COLOUR_NONE)
        ->target = measured->spoilt > 0 ? measured->first : NO_TARGET;
}

/* "-0.5444 … 0.4808   mean -0.01096   std 0.0888", as far as measured. */
static void add_extremes(struct facts *facts, const struct stats *stats)
{
    if (!stats_measured(stats))
        return;
    buf_text(&facts->text, fact_is_empty(facts) ? "" : ";   ");
    statistics_min(facts, stats);
    if (stats_finite(stats) < 2)
        return;
    buf_text(&facts->text, " … ");
    statistics_max(facts, stats);
    buf_text(&facts->text, "   mean ");
    statistics_real(facts, "mean", stats->mean);
    buf_text(&facts->text, "   std ");
    statistics_real(facts, "std", stats_std(stats));
}

void details_tensor_values(struct details *d, uint32_t tensor)
{
    const struct model *model = d->show->model;
    const struct stats *stats = session_known(d->show->session, tensor);
    bool spoilt = measured_spoilt(d->explorer, tensor), busy = false;
    const char *why = session_why(d->show->session, tensor);
    struct buf *text = &d->facts.text;

    if (stats) {
        statistics_not_finite(&d->facts, stats->nan, stats->pos_inf + stats->neg_inf);
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
