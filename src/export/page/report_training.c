/* The section about a training run: what it came to, its curves as static drawings, the
 * alarms. The heat maps of modules are made by the script (report_training.js) from the
 * same JSON document that `torchoscope export -o run.history.json` writes. */
#include <inttypes.h>
#include <math.h>

#include "base/base.h"
#include "export/export.h"
#include "export/look/look.h"
#include "export/page/page_chart.h"
#include "export/page/page_in.h"
#include "export/page/report_in.h"
#include "facts/facts.h"
#include "text/escape.h"
#include "text/number.h"

#define CHART_COLUMNS 400
#define MOST_CHARTS   24
#define MOST_ALARMS   200u /* as in the JSON document */
#define CHARTS_LIMIT  (256 * MIB)

struct report_training {
    struct report *r;
    struct history *history;
    struct arena arena;
    struct history_grid grids[HISTORY_PHASES];
    struct page_steps steps;
    struct str *names;
    uint32_t n_names;
    uint32_t charts, left_out; /* drawn, and not */
    struct err *err;
};

static const struct page_look plain = {.prefix = ""};

/* ---- the charts ---- */

static void find_range(struct report_training *self)
{
    self->steps.first = UINT64_MAX;
    for (int phase = 0; phase < HISTORY_PHASES; phase++) {
        const struct history_grid *grid = &self->grids[phase];

        if (grid->columns == 0)
            continue;
        if (grid->first[0] < self->steps.first)
            self->steps.first = grid->first[0];
        for (uint32_t i = 0; i < grid->columns; i++)
            if (grid->last[i] > self->steps.last)
                self->steps.last = grid->last[i];
    }
    if (self->steps.first == UINT64_MAX)
        self->steps.first = 0;
}

static int read_lists(struct report_training *self)
{
    struct history_segment *segments;
    struct history_alarm *alarms;

    for (int phase = 0; phase < HISTORY_PHASES; phase++)
        if (history_grid_make(&self->grids[phase], self->history,
                              (enum history_phase)phase, CHART_COLUMNS, &self->arena,
                              self->err) < 0)
            return -1;
    if (history_read_segments(self->history, &self->arena, &segments,
                              &self->steps.n_segments, self->err) < 0 ||
        history_read_alarms(self->history, 0, UINT16_MAX, &self->arena, &alarms,
                            &self->steps.n_alarms, self->err) < 0 ||
        history_read_names(self->history, &self->arena, &self->names, &self->n_names,
                           self->err) < 0)
        return -1;
    self->steps.segments = segments;
    self->steps.alarms = alarms;
    find_range(self);
    return 0;
}

/* "evaluation, newest 0.012" */
static void add_note(struct buf *to, const struct history_grid *grid,
                     const struct history_scalar *const *row, uint32_t last)
{
    size_t from;

    buf_text(to, grid->phase == HISTORY_EVAL ? "evaluation, newest " : "newest ");
    from = to->len;
    text_real(to, row[last]->last);
    page_minus(to, from);
}

/* One chart, if the scalar has values in this phase. */
static int put_chart(struct report_training *self, uint32_t name, uint8_t phase,
                     struct buf *to)
{
    const struct history_grid *grid = &self->grids[phase];
    const struct history_scalar **row;
    struct buf note = BUF_INIT;
    uint32_t last = HISTORY_NONE;
    struct page_chart chart = {.steps = &self->steps, .grid = grid};

    if (history_grid_scalars(grid, self->history, name, &self->arena, &row, self->err) <
        0)
        return -1;
    for (uint32_t i = 0; i < grid->columns; i++)
        last = row[i] ? i : last;
    if (last == HISTORY_NONE)
        return 0;
    if (self->charts >= MOST_CHARTS) {
        self->left_out++;
        return 0;
    }
    add_note(&note, grid, row, last);
    chart.row = row;
    chart.name = self->names[name];
    chart.note = buf_cstr(&note);
    chart.large = self->charts == 0;
    chart.linear = page_chart_order(chart.name) == CHART_RATES;
    chart.number = name;
    page_chart(to, &chart);
    buf_release(&note);
    self->charts++;
    return 0;
}

static int put_charts(struct report_training *self)
{
    struct buf html = BUF_INIT;
    int status = 0;

    for (int order = 0; order < CHART_ORDERS && status == 0; order++)
        for (uint32_t i = 0; i < self->n_names && status == 0; i++)
            for (uint8_t phase = 0; phase < HISTORY_PHASES && status == 0; phase++)
                if ((int)page_chart_order(self->names[i]) == order)
                    status = put_chart(self, i, phase, &html);
    if (status == 0 && self->charts > 0) {
        out_text(self->r->out, "<div class=\"charts\">");
        out_str(self->r->out, buf_span(&html));
        out_text(self->r->out, "</div>\n");
    } else if (status == 0) {
        out_text(self->r->out,
                 "<p><b>No scalars logged.</b> <span class=\"dim\">Log them in the "
                 "training loop:</span> <span class=\"mono\">w.log(loss=loss)</span>"
                 "</p>\n");
    }
    if (self->left_out > 0)
        out_printf(self->r->out,
                   "<p class=\"dim\">%" PRIu32 " more scalars are not drawn; <span "
                   "class=\"mono\">torchoscope export -o run.history.json</span> has "
                   "them.</p>\n",
                   self->left_out);
    buf_release(&html);
    return status;
}

/* ---- alarms ---- */

static void put_alarm(struct report_training *self, uint32_t i)
{
    static const char *const classes[] = {[SEVERITY_NOTE] = "note",
                                          [SEVERITY_WARNING] = "warn",
                                          [SEVERITY_ALARM] = "alarm"};
    const struct history_alarm *alarm = &self->steps.alarms[i];
    struct buf *to = &self->r->spare;

    buf_printf(to,
               "<tr id=\"alarm-%" PRIu32 "\" class=\"%s\"><td><span class=\"pill\">", i,
               classes[alarm->severity % 3]);
    page_html(to, alarm->kind, 40);
    buf_text(to, "</span></td><td class=\"name\"><b>");
    page_html(to, alarm->name, 0);
    buf_text(to, "</b></td><td class=\"what\">");
    page_html(to, alarm->text, 0);
    if (alarm->line.len > 0) {
        buf_text(to, " <span class=\"dim\">");
        page_html(to, alarm->line, 0);
        buf_text(to, "</span>");
    }
    buf_printf(to, "</td><td class=\"num\">step %" PRIu64 "</td><td></td></tr>\n",
               alarm->step);
    report_put(self->r);
}

static void put_alarms(struct report_training *self)
{
    struct report *r = self->r;
    uint32_t n = self->steps.n_alarms, shown = n < MOST_ALARMS ? n : MOST_ALARMS;

    out_text(r->out, "<h3>Alarms</h3>");
    if (n == 0) {
        out_text(r->out, "<p class=\"dim\">No alarm in ");
        text_plural(&r->spare,
                    r->session->training->phases[HISTORY_TRAIN].steps +
                        r->session->training->phases[HISTORY_EVAL].steps,
                    "step", "steps");
        report_put(r);
        out_text(r->out, ".</p>\n");
        return;
    }
    out_text(r->out, "<table class=\"alarms\"><tbody>\n");
    for (uint32_t i = 0; i < shown; i++)
        put_alarm(self, i);
    out_text(r->out, "</tbody></table>\n");
    if (n > shown)
        out_printf(r->out, "<p class=\"dim\">and %" PRIu32 " more</p>\n", n - shown);
}

/* ---- the section ---- */

static void put_facts(struct report *r)
{
    struct facts facts = {0};
    struct file_facts of = {.show = &r->show, .to = &facts};

    facts_history(&of);
    out_text(r->out, "<dl>");
    for (uint32_t i = 0; i < facts.n; i++) {
        out_printf(r->out, "<dt>%s</dt><dd class=\"is-%s\">",
                   facts.at[i].label ? facts.at[i].label : "",
                   page_class(facts.at[i].role));
        page_fact(&r->spare, &facts, &facts.at[i], &plain);
        report_put(r);
        out_text(r->out, "</dd>");
    }
    out_text(r->out, "</dl>\n");
    facts_release(&facts);
}

int report_training(struct report *r, struct err *err)
{
    struct report_training self = {.r = r, .history = r->session->history, .err = err};
    int status;

    if (!self.history && !r->session->history_why)
        return 0;
    out_text(r->out, "<section id=\"training\"><h2>Training</h2>\n");
    put_facts(r);
    if (!self.history) {
        out_text(r->out, "</section>\n");
        return 0;
    }
    arena_init(&self.arena, CHARTS_LIMIT);
    status = read_lists(&self);
    if (status == 0)
        status = put_charts(&self);
    if (status == 0)
        put_alarms(&self);
    arena_release(&self.arena);
    out_text(r->out, "<div id=\"heat\"><noscript><p class=\"dim\">Heat maps of modules "
                     "need JavaScript.</p></noscript></div></section>\n");
    return status;
}

/* The document as it is, except that no character can be taken for markup. */
int report_training_data(struct report *r, struct err *err)
{
    struct export_history_wanted wanted = EXPORT_HISTORY_WANTED;
    struct buf document = BUF_INIT;
    struct json json;
    struct out out;
    int status;

    if (!r->session->history)
        return 0;
    wanted.shown = true;
    out_init_buf(&out, &document);
    json_init_text(&json, &out);
    status = export_history_json(&json, r->session, &wanted, err);
    out_release(&out);
    if (status == 0) {
        out_text(r->out, "<script type=\"application/json\" id=\"history\">");
        look_document(r->out, buf_span(&document));
        out_text(r->out, "</script>\n");
    }
    buf_release(&document);
    return status;
}
