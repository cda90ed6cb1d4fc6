#include "cli/speak.h"

#include <inttypes.h>

#include "show/run_text.h"
#include "show/summary.h"
#include "text/escape.h"
#include "text/glyph.h"

void speak_text(struct cli *cli, const struct buf *text, enum colour role)
{
    struct buf fit = BUF_INIT;

    out_text(&cli->out, colour_begin(role, cli->colour));
    if (cli->ascii)
        glyph_to_ascii(&fit, text->at, text->len);
    else if (cli->isolate)
        escape_isolate(&fit, buf_span(text));
    out_str(&cli->out, cli->ascii || cli->isolate ? buf_span(&fit) : buf_span(text));
    buf_release(&fit);
    out_text(&cli->out, colour_end(role, cli->colour));
}

void speak_findings(struct cli *cli, const struct model *model, uint32_t most)
{
    struct buf line = BUF_INIT;
    uint32_t shown = model->n_findings < most ? model->n_findings : most;

    for (uint32_t i = 0; i < shown; i++) {
        const struct finding *finding = &model->findings[i];

        buf_clear(&line);
        buf_printf(&line, "%s ", summary_finding_sign(finding->severity));
        escape_terminal(&line, str_of(finding->text));
        speak_text(cli, &line, summary_finding_colour(finding->severity));
        out_char(&cli->out, '\n');
    }
    if (shown < model->n_findings)
        out_printf(&cli->out, "%" PRIu32 " more: --json lists them all\n",
                   model->n_findings - shown);
    buf_release(&line);
}

int speak_run_notes(struct cli *cli, const struct show *show, struct arena *arena,
                    struct err *err)
{
    struct run_lines lines = {0};
    struct buf line = BUF_INIT;

    if (!show->activity)
        return 0;
    if (run_notes(&lines, show, arena, err) < 0)
        return -1;
    for (uint32_t i = 0; i < lines.n; i++) {
        buf_clear(&line);
        buf_printf(&line, "%s %s", summary_finding_sign(lines.at[i].severity),
                   lines.at[i].text);
        speak_text(cli, &line, summary_finding_colour(lines.at[i].severity));
        out_char(&cli->out, '\n');
    }
    buf_release(&line);
    return 0;
}

int speak_status(const struct show *show)
{
    const struct session *session = show->session;
    const struct model *model = session->model;

    if (show->activity && run_alarmed(show->activity))
        return STATUS_FINDINGS;
    if (session->verdict.verdict == VERDICT_UNSAFE ||
        session->verdict.verdict == VERDICT_INCONCLUSIVE)
        return STATUS_FINDINGS;
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].severity != SEVERITY_NOTE)
            return STATUS_FINDINGS;
    return STATUS_FINE;
}
