/* Details of the root: the file or recording. */
#include "explorer/details_in.h"
#include "facts/facts.h"
#include "facts/notes.h"
#include "text/text.h"

/* How many values were measured, and how to measure the rest. Enter goes to the first
 * non-finite one. */
static void add_values(struct details *d)
{
    struct measured measured;

    measured_below(&measured, d->explorer, 0);
    details_measured(d, &measured);
}

static struct file_facts file_of(struct details *d)
{
    return (struct file_facts){.show = d->show,
                               .to = &d->facts,
                               .all = "info --json",
                               .brief = true,
                               .cells =
                                   d->width > d->indent ? d->width - d->indent : 1};
}

void details_safety(struct details *d)
{
    struct file_facts facts = file_of(d);

    facts_verdict(&facts);
    facts_calls(&facts);
    facts_globals(&facts);
    if (d->show->session->verdict.verdict == VERDICT_UNSAFE &&
        d->show->session->total.tensors > 0) {
        buf_text(&d->facts.text, "can be saved without the program:  "
                                 ":export tensors.safetensors");
        fact_end(&d->facts, "tensors", COLOUR_NONE);
    }
}

void details_file(struct details *d)
{
    struct file_facts facts = file_of(d);
    bool judged = session_judged(d->show->session);
    bool safe = d->show->session->verdict.verdict == VERDICT_SAFE;

    if (judged && !safe)
        details_safety(d);
    if (d->show->activity)
        notes_alarms(&d->facts, d->show);
    if (!d->show->model->live || d->show->session->run)
        facts_format(&facts);
    facts_holds(&facts);
    facts_gguf(&facts);
    facts_beside(&facts);
    facts_ends(&facts);
    facts_params(&facts);
    facts_buffers(&facts);
    if (judged && safe)
        facts_safety(&facts);
    facts_trained(&facts);
    explorer_refresh_training(d->explorer);
    facts_history(&facts);
    add_values(d);
    if (d->roomy)
        facts_memory(&facts);
    if (d->show->activity) {
        facts_run(&facts, NULL);
        notes_gaps(&d->facts, d->show, NULL);
    }
    if (judged && safe && d->roomy)
        facts_globals(&facts);
    facts_metadata(&facts);
}
