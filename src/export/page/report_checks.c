/* The list of checks: the verdict, the numbers, findings of the file, notes of the run.
 */
#include <ctype.h>

#include "base/base.h"
#include "export/page/page_in.h"
#include "export/page/report_in.h"
#include "facts/facts.h"
#include "facts/notes.h"
#include "facts/run_text.h"
#include "facts/summary.h"

#define MOST_FINDINGS 20
#define MOST_GLOBALS  12
#define MOST_MEASURED                                                                  \
    (512 * MIB) /* largest total size of values to read for a
                                   * report */

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

/* --- The verdict */

/* ": os.system (runs a shell command), ...": the globals with this trust. */
static void add_globals(struct facts *to, const struct report *r, enum trust trust)
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
        buf_text(&to->text, n > 1 ? ", " : ": ");
        fact_text(to, "global", name);
        if (*about)
            buf_printf(&to->text, " (%s)", about);
    }
    if (n > MOST_GLOBALS) {
        buf_text(&to->text, " and ");
        fact_count(to, "more", n - MOST_GLOBALS);
        buf_text(&to->text, " more");
    }
}

static void check_verdict(struct facts *to, const struct report *r)
{
    enum verdict verdict = r->session->verdict.verdict;
    struct file_facts facts = {.show = &r->show, .to = to};
    size_t begin = to->text.len;

    facts_meaning(&facts);
    if (to->text.len > begin) /* a label and its full stop precede it */
        to->text.at[begin] = (char)toupper((unsigned char)to->text.at[begin]);
    if (verdict == VERDICT_NEEDS_CODE)
        add_globals(to, r, TRUST_UNKNOWN);
    else if (verdict == VERDICT_UNSAFE)
        add_globals(to, r, TRUST_DANGER);
    fact_end_as(to, "safety", summary_verdict_name(verdict),
                summary_verdict_colour(verdict));
}

/* --- Numbers */

static void add_bad(struct facts *to, const struct report *r, uint32_t bad,
                    uint32_t first)
{
    buf_text(&to->text, " in ");
    fact_plural(to, "tensors", bad, "tensor: ", "tensors, the first: ");
    if (first == NO_PLACE)
        return;
    fact_figure(to);
    run_place(&to->text, &r->show, first);
    fact_named(to, "first", FIGURE_PLACE, first);
}

/* Are all measured values finite? */
static void check_numbers(struct facts *to, const struct report *r)
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
    if (bad > 0) {
        run_not_finite(&to->text, nan, inf);
        add_bad(to, r, bad, first);
    } else if (known > 0) {
        buf_text(&to->text, "No NaN or infinity in ");
        fact_plural(to, "tensors", known, "tensor", "tensors");
        buf_text(&to->text, ", ");
        fact_plural(to, "values", values, "value", "values");
    } else if (!r->run && r->model->n_tensors > 0) {
        buf_text(&to->text, "The values were not read; run torchoscope stats");
    }
    fact_end(to, "Numbers",
             bad > 0     ? COLOUR_ALARM
             : known > 0 ? COLOUR_GOOD
                         : COLOUR_DIM);
}

/* --- All of them */

static int make_checks(struct facts *to, struct report *r, struct err *err)
{
    if (session_judged(r->session))
        check_verdict(to, r);
    check_numbers(to, r);
    if (page_notes(to, &r->show, MOST_FINDINGS, err) < 0)
        return -1;
    if (r->show.activity && !notes_alarmed(r->show.activity)) {
        buf_text(&to->text, "No NaN or infinity was seen in what ran");
        fact_end(to, "Run", COLOUR_GOOD);
    }
    return 0;
}

/* A label is written in bold, as the heading of its sentence. */
static void write_check(struct report *r, const struct facts *facts,
                        const struct fact *fact)
{
    struct page_look look = {.prefix = "", .links = r->model};
    bool sign = fact->role == COLOUR_WARNING || fact->role == COLOUR_ALARM;

    buf_printf(&r->spare, "<li class=\"%s\">", page_class(fact->role));
    if (sign)
        buf_text(&r->spare,
                 "<svg class=\"i\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">"
                 "<path d=\"M7 2l5.5 10h-11z\"/>"
                 "<path d=\"M7 6v2.6M7 10.4v.1\"/></svg>");
    buf_text(&r->spare, "<span>");
    if (fact->label)
        buf_printf(&r->spare, "<b>%s.</b> ", fact->label);
    page_fact(&r->spare, facts, fact, &look);
    buf_text(&r->spare, fact->label ? ".</span></li>\n" : "</span></li>\n");
    report_put(r);
}

int report_checks(struct report *r, struct err *err)
{
    struct facts facts = {0};
    int status = make_checks(&facts, r, err);

    out_text(r->out, "<h2>Checks</h2><ul class=\"ck\">\n");
    for (uint32_t i = 0; i < facts.n; i++)
        write_check(r, &facts, &facts.at[i]);
    out_text(r->out, "</ul>\n");
    facts_release(&facts);
    return status;
}
