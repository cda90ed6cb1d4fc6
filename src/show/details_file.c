/* Details of the root: what the file or recording is. */
#include "show/details_in.h"
#include "show/facts.h"
#include "show/run_text.h"
#include "text/text.h"

static void tell(struct facts *facts, const char *label, enum colour role)
{
    details_line(facts->user, label, role, str_trim(buf_span(&facts->line)), NO_TARGET);
    buf_clear(&facts->line);
}

/* "not measured; 4 measures this row, :stats all (97.7MB)": how much is known of the
 * values, and how to know the rest. */
static void tell_values(struct facts *facts)
{
    const struct session *session = facts->show->session;
    const struct model *model = session->model;
    uint32_t known = 0, spoilt = 0, left = 0;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < model->n_tensors; i++) {
        const struct stats *stats = session_known(session, i);

        known += stats != NULL;
        spoilt += stats && stats->nan + stats->pos_inf + stats->neg_inf > 0;
        if (stats || !tensor_readable(model, &model->tensors[i], NULL))
            continue;
        left++;
        bytes += tensor_bytes(&model->tensors[i]);
    }
    if (known + left == 0)
        return;
    if (known == 0) {
        buf_text(&facts->line, "not measured");
    } else {
        facts_number(&facts->line, known, "tensor", "tensors");
        buf_text(&facts->line, " measured");
    }
    if (spoilt > 0) {
        buf_text(&facts->line, ", NaN or Inf in ");
        text_commas(&facts->line, spoilt);
    }
    if (left > 0) {
        buf_text(&facts->line, known == 0 ? "; 4 measures this row, :stats all ("
                                          : "; :stats measures all (");
        text_bytes(&facts->line, bytes);
        buf_char(&facts->line, ')');
    }
    facts->tell(facts, "values", spoilt > 0 ? COLOUR_ALARM : COLOUR_NONE);
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
        details_line(d,
                     alarms  ? "✗ alarm"
                     : first ? "notes"
                             : "",
                     alarms ? COLOUR_ALARM : COLOUR_NONE, str_of(notes.at[i].text),
                     alarms && place != NO_PLACE ? place : NO_TARGET);
        first = false;
    }
    arena_release(&arena);
}

void details_file(struct details *d)
{
    struct facts facts = {
        .show = d->show, .tell = tell, .user = d, .all = "info --json", .brief = true};
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
    tell_values(&facts);
    if (d->roomy)
        facts_memory(&facts);
    if (d->show->activity)
        facts_run(&facts, NULL);
    tell_notes(d, false);
    if (judged && safe && d->roomy)
        facts_globals(&facts);
    facts_metadata(&facts);
    buf_release(&facts.line);
}
