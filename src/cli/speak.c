#include "cli/speak.h"

#include "facts/notes.h"
#include "facts/printed.h"

void speak_text(struct cli *cli, const struct buf *text, enum colour role)
{
    struct pen pen = cli_pen(cli);

    pen_text(&pen, text, role);
}

void speak_facts(struct cli *cli, const struct facts *facts, unsigned label_cells)
{
    struct pen pen = cli_pen(cli);
    struct facts_look look = {.width = cli->columns, .indent = label_cells};
    struct lines lines = {0};

    if (look.width <= 2 * label_cells)
        look.width = 0;
    facts_lines(&lines, facts, &look);
    lines_print(&lines, &pen);
    lines_release(&lines);
}

void speak_findings(struct cli *cli, const struct model *model, uint32_t most)
{
    struct pen pen = cli_pen(cli);

    printed_findings(&pen, model, most);
}

int speak_run_notes(struct cli *cli, const struct show *show, struct err *err)
{
    struct pen pen = cli_pen(cli);

    return printed_run_notes(&pen, show, err);
}

int speak_status(const struct show *show)
{
    const struct session *session = show->session;
    const struct model *model = session->model;

    if (show->activity &&
        (notes_alarmed(show->activity) || notes_gradient_alarmed(show)))
        return STATUS_FINDINGS;
    if (session->verdict.verdict == VERDICT_UNSAFE ||
        session->verdict.verdict == VERDICT_INCONCLUSIVE)
        return STATUS_FINDINGS;
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].severity != SEVERITY_NOTE)
            return STATUS_FINDINGS;
    return STATUS_FINE;
}
