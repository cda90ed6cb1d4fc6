/* Is it safe, are its numbers sound, what was met in the file, what went wrong in the
 * run. */
#include <string.h>

#include "base/base.h"
#include "export/page/report_in.h"
#include "facts/run_text.h"
#include "facts/summary.h"
#include "text/escape.h"
#include "text/number.h"

#define MOST_FINDINGS 20
#define MOST_GLOBALS  12
#define MOST_MEASURED (512 * MIB) /* of values that are read for a report */

int report_measure(struct report *r, struct err *err)
{
    const struct model *model = r->model;
    uint64_t bytes = 0;
    uint32_t *tensors;

    for (uint32_t t = 0; t < model->n_tensors; t++)
        bytes += tensor_bytes(&model->tensors[t]);
    if (r->run || bytes > MOST_MEASURED)
        return 0;
    tensors = arena_array(&r->arena, model->n_tensors + 1, sizeof *tensors);
    if (!tensors)
        return arena_err(&r->arena, "the report", err);
    for (uint32_t t = 0; t < model->n_tensors; t++)
        tensors[t] = t;
    return session_stats_many(r->session, tensors, model->n_tensors, r->wanted->work,
                              err);
}

/* --- One line */

static const char *const kinds[] = {
    [SEVERITY_NOTE] = "note", [SEVERITY_WARNING] = "warn", [SEVERITY_ALARM] = "alarm"};

/* `kind`: good, note, warn, alarm. The bold word may be NULL; the rest is in spare. */
static void write_line(struct report *r, const char *kind, const char *word)
{
    out_printf(r->out, "<li class=\"%s\">", kind);
    if (strcmp(kind, "warn") == 0 || strcmp(kind, "alarm") == 0)
        out_text(r->out, "<svg class=\"i\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">"
                         "<path d=\"M7 2l5.5 10h-11z\"/>"
                         "<path d=\"M7 6v2.6M7 10.4v.1\"/></svg>");
    out_text(r->out, "<span>");
    if (word)
        out_printf(r->out, "<b>%s.</b> ", word);
    report_html(r->out, buf_span(&r->spare));
    out_text(r->out, "</span></li>\n");
    buf_clear(&r->spare);
}

/* --- The verdict */

/* "os.system (runs a shell command), ...": those that are judged so. */
static void add_globals(struct report *r, enum trust trust)
{
    const struct pickle_log *log = &r->model->pickle;
    uint32_t n = 0;

    for (uint32_t i = 0; i < log->n_globals; i++) {
        struct str name = model_string(r->model, log->globals[i].name);
        const char *about = "";

        if (name.len == 0 ||
            verdict_judge(r->model, &r->session->verdict, i, &about) != trust ||
            n++ >= MOST_GLOBALS)
            continue;
        buf_text(&r->spare, n > 1 ? ", " : ": ");
        escape_terminal(&r->spare, name);
        if (*about)
            buf_printf(&r->spare, " (%s)", about);
    }
    if (n > MOST_GLOBALS) {
        buf_text(&r->spare, " and ");
        text_commas(&r->spare, n - MOST_GLOBALS);
        buf_text(&r->spare, " more");
    }
    buf_char(&r->spare, '.');
}

static void write_safe(struct report *r)
{
    uint32_t known = r->session->verdict.known;

    if (r->model->pickle.n_streams == 0) {
        buf_text(&r->spare, "The format holds no code.");
    } else if (known == 0) {
        buf_text(&r->spare, "It names nothing that a load would call.");
    } else {
        text_plural(&r->spare, known, "global", "globals");
        buf_text(&r->spare, known == 1 ? " in the pickle, on the allow-list"
                                       : " in the pickle, all on the allow-list");
        add_globals(r, TRUST_KNOWN);
    }
    write_line(r, "good", "SAFE");
}

static void write_verdict(struct report *r)
{
    switch (r->session->verdict.verdict) {
    case VERDICT_SAFE:
        write_safe(r);
        break;
    case VERDICT_NEEDS_CODE:
        buf_text(&r->spare, "Loading it would need code that is not on the allow-list");
        add_globals(r, TRUST_UNKNOWN);
        write_line(r, "warn", "NEEDS CODE");
        break;
    case VERDICT_UNSAFE:
        buf_text(&r->spare, "A plain load would run something");
        add_globals(r, TRUST_DANGER);
        write_line(r, "alarm", "UNSAFE");
        break;
    case VERDICT_INCONCLUSIVE:
        buf_text(&r->spare, "It could not be decoded to the end.");
        write_line(r, "warn", "INCONCLUSIVE");
        break;
    }
}

/* --- Numbers */

static void add_bad(struct report *r, uint32_t bad, uint64_t nan, uint64_t inf)
{
    run_not_finite(&r->spare, nan, inf);
    buf_text(&r->spare, " in ");
    text_plural(&r->spare, bad, "tensor: ", "tensors, the first: ");
}

/* What is known of the values of parameters, buffers and other tensors. */
static void write_numbers(struct report *r)
{
    uint64_t values = 0, nan = 0, inf = 0;
    uint32_t known = 0, bad = 0, first = NO_PLACE;

    for (uint32_t t = 0; t < r->model->n_tensors; t++) {
        const struct stats *stats = session_known(r->session, t);

        if (!stats)
            continue;
        known++;
        values += stats->count;
        nan += stats->nan;
        inf += stats->pos_inf + stats->neg_inf;
        if (stats_finite(stats) == stats->count || bad++ > 0)
            continue;
        first = r->model->tensors[t].place;
    }
    if (known == 0) {
        if (r->run || r->model->n_tensors == 0)
            return;
        buf_text(&r->spare, "The values were not read; torchoscope stats does.");
        write_line(r, "note", "Numbers");
        return;
    }
    if (bad > 0) {
        add_bad(r, bad, nan, inf);
        if (first != NO_PLACE)
            run_place(&r->spare, &r->show, first);
    } else {
        buf_text(&r->spare, "No NaN or infinity in ");
        text_plural(&r->spare, known, "tensor", "tensors");
        buf_text(&r->spare, ", ");
        text_plural(&r->spare, values, "value", "values");
    }
    buf_char(&r->spare, '.');
    write_line(r, bad > 0 ? "alarm" : "good", "Numbers");
}

/* --- All of them */

static void write_findings(struct report *r)
{
    uint32_t n = r->model->n_findings;

    for (uint32_t i = 0; i < n && i < MOST_FINDINGS; i++) {
        escape_terminal(&r->spare, str_of(r->model->findings[i].text));
        write_line(r, kinds[r->model->findings[i].severity], NULL);
    }
    if (n > MOST_FINDINGS) {
        text_commas(&r->spare, n - MOST_FINDINGS);
        buf_text(&r->spare, " more; torchoscope info --json lists them all.");
        write_line(r, "note", NULL);
    }
}

int report_checks(struct report *r, struct err *err)
{
    struct run_lines lines = {0};

    if (r->show.activity && run_notes(&lines, &r->show, &r->arena, err) < 0)
        return -1;
    out_text(r->out, "<h2>Checks</h2><ul class=\"ck\">\n");
    if (session_judged(r->session))
        write_verdict(r);
    write_numbers(r);
    write_findings(r);
    for (uint32_t i = 0; i < lines.n; i++) {
        buf_text(&r->spare, lines.at[i].text);
        write_line(r, kinds[lines.at[i].severity], NULL);
    }
    if (r->show.activity && !run_alarmed(r->show.activity)) {
        buf_text(&r->spare, "No NaN or infinity was seen in what ran.");
        write_line(r, "good", "Run");
    }
    out_text(r->out, "</ul>\n");
    return 0;
}
