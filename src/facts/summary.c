#include "facts/summary.h"

#include "text/escape.h"
#include "text/number.h"

static const struct {
    const char *word, *name;
} verdicts[] = {
    [VERDICT_SAFE] = {"✓ SAFE", "SAFE"},
    [VERDICT_NEEDS_CODE] = {"! NEEDS CODE", "NEEDS CODE"},
    [VERDICT_UNSAFE] = {"✗ UNSAFE", "UNSAFE"},
    [VERDICT_INCONCLUSIVE] = {"? INCONCLUSIVE", "INCONCLUSIVE"},
};

const char *summary_verdict_word(enum verdict verdict)
{
    return verdicts[verdict].word;
}

const char *summary_verdict_name(enum verdict verdict)
{
    return verdicts[verdict].name;
}

enum colour summary_verdict_colour(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_SAFE:
        return COLOUR_GOOD;
    case VERDICT_UNSAFE:
        return COLOUR_ALARM;
    default:
        return COLOUR_WARNING;
    }
}

void summary_verdict(struct buf *to, const struct show *show)
{
    const struct verdict_sum *sum = &show->session->verdict;
    const struct pickle_log *log = &show->model->pickle;
    enum trust wanted = TRUST_UNKNOWN;
    uint32_t n = 0;

    if (!session_judged(show->session))
        return;
    buf_text(to, summary_verdict_word(sum->verdict));
    if (sum->verdict == VERDICT_UNSAFE)
        wanted = TRUST_DANGER;
    else if (sum->verdict != VERDICT_NEEDS_CODE)
        return;
    for (uint32_t i = 0; i < log->n_globals; i++) {
        struct str name = model_string(show->model, log->globals[i].name);

        if (name.len == 0 || verdict_judge(show->model, sum, i, NULL) != wanted ||
            n++ > 0)
            continue;
        buf_text(to, ": ");
        escape_terminal(to, name);
    }
    if (n > 1) {
        buf_text(to, " and ");
        text_commas(to, n - 1);
        buf_text(to, " more");
    }
}

void summary_counts(struct buf *to, const struct show *show)
{
    const struct counts *total = &show->session->total;
    const struct model *model = show->model;

    text_plural(to, total->tensors, "tensor", "tensors");
    buf_text(to, ", ");
    text_plural(to, total->params, "parameter", "parameters");
    if (total->stored > total->params) {
        buf_text(to, " (");
        text_commas(to, total->stored);
        buf_text(to, " untied)");
    }
    if (total->trainable || total->frozen) {
        buf_text(to, ", ");
        summary_trainable(to, total);
    }
    if (model->n_files > 1)
        buf_printf(to, ", %s, %u files", model->format, (unsigned)model->n_files);
    else
        buf_printf(to, ", %s%s", model->format,
                   show->activity || model->live ? "" : " file");
    if (model->partial)
        buf_text(to, ", incomplete");
}

void summary_trainable(struct buf *to, const struct counts *counts)
{
    if (counts->trainable == 0 && counts->frozen == 0)
        return;
    if (counts->trainable == counts->params) {
        buf_text(to, "all trainable");
    } else if (counts->frozen == counts->params) {
        buf_text(to, "all frozen");
    } else {
        text_count(to, counts->trainable);
        buf_text(to, " of ");
        text_count(to, counts->params);
        buf_text(to, " trainable");
    }
}

void summary_bytes(struct buf *to, const struct counts *counts)
{
    buf_text(to, counts->buffer_tensors > 0 ? "with buffers" : "of parameters");
    if (counts->other_bytes == 0)
        return;
    buf_text(to, ", ");
    text_bytes(to, counts->other_bytes);
    buf_text(to, " of other tensors");
}
