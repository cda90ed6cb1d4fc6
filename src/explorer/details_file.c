/* Details of the root: what the file or recording is. */
#include "explorer/details_in.h"
#include "facts/facts.h"
#include "facts/run_text.h"
#include "text/text.h"

/* How much is known of the values, and how to know the rest. Enter goes to the first
 * that is not finite. */
static void tell_values(struct details *d)
{
    struct measured measured;

    measured_below(&measured, d->explorer, 0);
    details_measured(d, &measured);
}

/* What raised and who made the first NaN, or what was not seen. */
static void tell_notes(struct details *d, bool alarms)
{
    const struct activities *all = d->show->activity;
    struct run_lines notes = {0};
    struct arena arena;
    bool first = true;

    if (!all)
        return;
    arena_init(&arena, 0);
    run_notes(&notes, d->show, &arena, NULL);
    for (uint32_t i = 0; i < notes.n; i++) {
        uint32_t place =
            all->first_producer != NO_PLACE ? all->first_producer : all->raised;

        if ((notes.at[i].severity == SEVERITY_ALARM) != alarms)
            continue;
        buf_text(&d->facts.text, notes.at[i].text);
        fact_end(&d->facts,
                 alarms  ? "✗ alarm"
                 : first ? "notes"
                         : "",
                 alarms ? COLOUR_ALARM : COLOUR_NONE)
            ->target = alarms && place != NO_PLACE ? place : NO_TARGET;
        first = false;
    }
    arena_release(&arena);
}

void details_file(struct details *d)
{
    struct file_facts facts = {
        .show = d->show, .to = &d->facts, .all = "info --json", .brief = true};
    bool judged = session_judged(d->show->session);
    bool safe = d->show->session->verdict.verdict == VERDICT_SAFE;

    if (judged && !safe)
        details_safety(d);
    tell_notes(d, true);
    if (!d->show->model->live || d->show->session->run)
        facts_format(&facts);
    facts_holds(&facts);
    facts_params(&facts);
    facts_buffers(&facts);
    if (judged && safe)
        facts_safety(&facts);
    facts_trained(&facts);
    tell_values(d);
    if (d->roomy)
        facts_memory(&facts);
    if (d->show->activity)
        facts_run(&facts, NULL);
    tell_notes(d, false);
    if (judged && safe && d->roomy)
        facts_globals(&facts);
    facts_metadata(&facts);
}
