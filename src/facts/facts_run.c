/* What a recording is. */
#include "facts/facts.h"
#include "facts/performance.h"
#include "facts/run_text.h"
#include "text/escape.h"

#define MOST_SLOW 5

/* "torch 2.13.0": a fact that is a text. */
static void add_text(struct file_facts *facts, const char *name, const char *key)
{
    struct str text = STR("");

    run_fact(facts->show->session->run, key, &text);
    if (text.len == 0)
        return;
    buf_printf(&facts->to->text, "%s%s", fact_is_empty(facts->to) ? "" : ", ", name);
    escape_terminal(&facts->to->text, text);
}

/* Each part of a list becomes a fact; only the first has the label. */
static void tell_list(struct file_facts *facts, const struct facts *list, uint32_t i,
                      const char *label)
{
    if (i >= list->n)
        return;
    for (uint32_t k = 0; k < list->at[i].n;
         k += fact_group_length(list, &list->at[i], k)) {
        buf_str(&facts->to->text, fact_group_text(list, &list->at[i], k));
        fact_end(facts->to, k == 0 ? label : "", COLOUR_NONE);
    }
}

int facts_run(struct file_facts *facts, struct err *err)
{
    const struct show *show = facts->show;
    struct facts slow = {0};
    int status = -1;

    add_text(facts, "", "when");
    add_text(facts, "torch ", "torch");
    add_text(facts, "Python ", "python");
    add_text(facts, "mode ", "mode");
    fact_end(facts->to, "recorded", COLOUR_NONE);
    run_passes(&facts->to->text, show);
    fact_end(facts->to, "run", COLOUR_NONE);
    buf_text(&facts->to->text, "recording added ");
    run_cost(&facts->to->text, facts->show->session->run);
    fact_end(facts->to, "cost", COLOUR_NONE);
    if (performance_slowest(&slow, show, MOST_SLOW, err) == 0) {
        tell_list(facts, &slow, 0, "slowest");
        tell_list(facts, &slow, 1, "by class");
        status = 0;
    }
    facts_release(&slow);
    if (status < 0)
        return -1;
    performance_measured(&facts->to->text, show);
    fact_end(facts->to, "measured", COLOUR_NONE);
    return 0;
}
