/* What a recording is. */
#include "show/facts.h"
#include "show/performance.h"
#include "show/run_text.h"
#include "text/escape.h"

#define MOST_SLOW 5

/* "torch 2.13.0": a fact that is a text. */
static void add_text(struct facts *facts, const char *name, const char *key)
{
    struct str text = STR("");

    run_fact(facts->show->session->run, key, &text);
    if (text.len == 0)
        return;
    buf_printf(&facts->line, "%s%s", facts->line.len > 0 ? ", " : "", name);
    escape_terminal(&facts->line, text);
}

/* Each line of what was written becomes one of ours; only the first has the label. */
static void tell_lines(struct facts *facts, const char *label)
{
    struct buf all = facts->line;
    struct str rest = buf_span(&all), line;

    facts->line = (struct buf)BUF_INIT;
    while (rest.len > 0 && str_split(&rest, '\n', &line)) {
        buf_str(&facts->line, line);
        facts->tell(facts, label, COLOUR_NONE);
        label = "";
    }
    buf_release(&all);
}

int facts_run(struct facts *facts, struct err *err)
{
    const struct show *show = facts->show;

    add_text(facts, "", "when");
    add_text(facts, "torch ", "torch");
    add_text(facts, "Python ", "python");
    add_text(facts, "mode ", "mode");
    if (facts->line.len > 0)
        facts->tell(facts, "recorded", COLOUR_NONE);
    run_passes(&facts->line, show);
    facts->tell(facts, "run", COLOUR_NONE);
    buf_text(&facts->line, "recording added ");
    run_cost(&facts->line, facts->show->session->run);
    facts->tell(facts, "cost", COLOUR_NONE);
    if (performance_slowest(&facts->line, show, MOST_SLOW, "\n", err) < 0)
        return -1;
    tell_lines(facts, "slowest");
    if (performance_classes(&facts->line, show, MOST_SLOW, "\n", err) < 0)
        return -1;
    tell_lines(facts, "by class");
    performance_measured(&facts->line, show);
    facts->tell(facts, "measured", COLOUR_NONE);
    return 0;
}
