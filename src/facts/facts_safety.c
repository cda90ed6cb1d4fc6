/* Facts about the safety of loading the file. */
#include "base/base.h"
#include "facts/facts.h"
#include "facts/summary.h"

/* "; they build tensors, dicts": the purpose of most globals. */
static void add_built(struct file_facts *facts)
{
    static const struct {
        const char *about, *built;
    } kinds[] = {{verdict_builds_tensor, "tensors"}, {verdict_builds_dict, "dicts"}};
    const struct pickle_log *log = &facts->show->model->pickle;
    int n = 0;

    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (uint32_t i = 0; i < log->n_globals; i++) {
            const char *about;

            verdict_judge(facts->show->model, &facts->show->session->verdict, i,
                          &about);
            if (about != kinds[k].about)
                continue;
            buf_printf(&facts->to->text, "%s%s", n++ == 0 ? "; they build " : ", ",
                       kinds[k].built);
            break;
        }
}

void facts_meaning(struct file_facts *facts)
{
    const struct verdict_sum *sum = &facts->show->session->verdict;

    switch (sum->verdict) {
    case VERDICT_SAFE:
        if (facts->show->model->pickle.n_streams == 0) {
            buf_text(&facts->to->text, "the format holds no code");
        } else if (sum->known == 0) {
            buf_text(&facts->to->text, "it names nothing that a load would call");
        } else {
            fact_plural(facts->to, "globals", sum->known, "global", "globals");
            buf_text(&facts->to->text, ", all on the allow-list");
            add_built(facts);
        }
        break;
    case VERDICT_NEEDS_CODE:
        fact_plural(facts->to, "globals", sum->unknown, "global", "globals");
        buf_text(&facts->to->text, " outside the allow-list; nothing of them was run");
        break;
    case VERDICT_UNSAFE:
        buf_text(&facts->to->text,
                 "a plain load would run something; torchoscope ran nothing");
        break;
    case VERDICT_INCONCLUSIVE:
        buf_text(&facts->to->text, "it could not be decoded to its end");
        break;
    }
}

void facts_safety(struct file_facts *facts)
{
    enum verdict verdict = facts->show->session->verdict.verdict;

    buf_printf(&facts->to->text, "%s: ", summary_verdict_word(verdict));
    facts_meaning(facts);
    fact_end(facts->to, "safety", summary_verdict_colour(verdict));
}

/* "✗ UNSAFE  a plain torch.load() would run a program. torchoscope ran nothing." */
void facts_verdict(struct file_facts *facts)
{
    static const char *const meanings[] = {
        [VERDICT_SAFE] = "builds tensors, dicts and plain values only.",
        [VERDICT_NEEDS_CODE] = "names classes outside the allow-list. torchoscope ran "
                               "nothing of them; their data is shown.",
        [VERDICT_UNSAFE] = "a plain torch.load() would run something. torchoscope ran "
                           "nothing.",
        [VERDICT_INCONCLUSIVE] =
            "it could not be decoded to its end, so it is not called safe.",
    };
    const struct verdict_sum *sum = &facts->show->session->verdict;

    buf_text(&facts->to->text,
             sum->verdict == VERDICT_UNSAFE && sum->runs
                 ? "a plain torch.load() would run a program. torchoscope ran nothing."
                 : meanings[sum->verdict]);
    fact_part(facts->to, COLOUR_NONE);
    fact_end_as(facts->to, "safety", summary_verdict_word(sum->verdict),
                summary_verdict_colour(sum->verdict));
}
