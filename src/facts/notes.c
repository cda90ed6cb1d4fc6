#include "facts/notes.h"

#include <inttypes.h>

#include "facts/statistics.h"
#include "text/escape.h"

const char *note_sign(enum colour role)
{
    switch (role) {
    case COLOUR_ALARM:
        return "✗";
    case COLOUR_WARNING:
        return "!";
    case COLOUR_GOOD:
        return "✓";
    default:
        return "-";
    }
}

enum colour note_role(enum severity severity)
{
    static const enum colour roles[] = {[SEVERITY_NOTE] = COLOUR_DIM,
                                        [SEVERITY_WARNING] = COLOUR_WARNING,
                                        [SEVERITY_ALARM] = COLOUR_ALARM};

    return roles[severity];
}

void notes_print(const struct pen *pen, const struct facts *notes)
{
    struct buf line = BUF_INIT;

    for (uint32_t i = 0; i < notes->n; i++) {
        buf_clear(&line);
        buf_printf(&line, "%s ", note_sign(notes->at[i].role));
        buf_str(&line, fact_group_text(notes, &notes->at[i], 0));
        pen_line(pen, &line, notes->at[i].role);
    }
    buf_release(&line);
}

struct fact *note_finding(struct facts *to, const struct model *model,
                          const struct finding *finding)
{
    static const char *const labels[] = {[SEVERITY_NOTE] = "- found",
                                         [SEVERITY_WARNING] = "! found",
                                         [SEVERITY_ALARM] = "✗ found"};
    bool placed = finding->place < model->n_places;
    struct buf name = BUF_INIT;
    struct fact *fact;

    if (placed && !finding->named)
        place_path(model, finding->place, &name);
    if (name.len > 0) {
        fact_text(to, "place", buf_span(&name));
        buf_text(&to->text, ": ");
    }
    escape_terminal(&to->text, str_of(finding->text));
    fact = fact_end_as(to, finding_name(finding->code), labels[finding->severity],
                       note_role(finding->severity));
    fact->target = placed ? finding->place : NO_TARGET;
    buf_release(&name);
    return fact;
}

void note_global(struct facts *to, const struct model *model, uint32_t global,
                 enum severity severity)
{
    buf_text(&to->text,
             severity == SEVERITY_ALARM ? "a load would run " : "needs the code of ");
    fact_text(to, "global", model_string(model, model->pickle.globals[global].name));
    fact_end(to, "global", note_role(severity));
}

void note_tensor(struct facts *to, const struct show *show, uint32_t tensor)
{
    const struct stats *stats = session_known(show->session, tensor);

    fact_place(to, "place", show, show->model->tensors[tensor].place);
    buf_text(&to->text, " has ");
    statistics_not_finite(to, stats->nan, stats->pos_inf + stats->neg_inf);
    fact_end_as(to, "not_finite", "✗ values", COLOUR_ALARM);
}

void training_alarm_text(struct buf *to, const struct history_alarm *alarm, bool ranked)
{
    buf_printf(to, "step %" PRIu64 ": ", alarm->step);
    if (ranked)
        buf_printf(to, "rank %" PRIu32 ": ", alarm->rank);
    buf_str(to, alarm->name.len > 0 ? alarm->name : alarm->kind);
    buf_text(to, ": ");
    buf_str(to, alarm->text.len > 0 ? alarm->text : alarm->kind);
    if (alarm->line.len > 0) {
        buf_text(to, " (");
        buf_str(to, alarm->line);
        buf_char(to, ')');
    }
}

void note_training(struct facts *to, const struct history_alarm *alarm, bool ranked)
{
    struct buf text = BUF_INIT;

    training_alarm_text(&text, alarm, ranked);
    escape_terminal(&to->text, buf_span(&text));
    fact_end(to, "training", note_role((enum severity)alarm->severity));
    buf_release(&text);
}

void notes_findings(struct facts *to, const struct model *model, uint32_t place,
                    uint32_t most)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < model->n_findings && n < most; i++) {
        struct fact *fact;

        if (model->findings[i].place != place && place != 0)
            continue;
        fact = note_finding(to, model, &model->findings[i]);
        if (n++ > 0)
            fact->label = note_sign(fact->role);
    }
}
