/* Facts about a recording. */
#include "facts/facts.h"
#include "facts/memory_text.h"
#include "facts/ops_text.h"
#include "facts/performance.h"
#include "facts/run_text.h"

#define MOST_SLOW 5

/* "torch 2.13.0": the text stored in the recording under this key. */
static void add_text(struct file_facts *facts, const char *name, const char *key)
{
    struct str text = STR("");

    run_fact(facts->show->session->run, key, &text);
    if (text.len == 0)
        return;
    buf_printf(&facts->to->text, "%s%s", fact_is_empty(facts->to) ? "" : ", ", name);
    fact_text(facts->to, key, text);
}

int facts_run(struct file_facts *facts, struct err *err)
{
    const struct show *show = facts->show;

    add_text(facts, "", "when");
    add_text(facts, "torch ", "torch");
    add_text(facts, "Python ", "python");
    add_text(facts, "mode ", "mode");
    fact_end(facts->to, "recorded", COLOUR_NONE);
    if (run_capsule(facts->to, show->session->run)) {
        fact_end(facts->to, "capsule", COLOUR_ALARM);
        return 0;
    }
    run_passes(facts->to, show);
    fact_end(facts->to, "run", COLOUR_NONE);
    run_cost(facts->to, show->session->run);
    fact_end(facts->to, "cost", COLOUR_NONE);
    if (show->ops) {
        ops_text_flops(facts->to, &show->ops[0]);
        fact_end_as(facts->to, "flops", "FLOPs", COLOUR_NONE);
    }
    if (performance_slowest(facts->to, show, MOST_SLOW, true, err) < 0)
        return -1;
    memory_run(facts->to, show, MOST_SLOW);
    performance_measured(facts->to, show);
    return 0;
}
