#include <string.h>

#include "base/base.h"
#include "export/look/look.h"
#include "export/look/tokens.h"
#include "export/page/page_in.h"
#include "export/page/report_in.h"
#include "export/page/report_text.h"
#include "facts/ops_text.h"
#include "facts/run_text.h"
#include "study/activity.h"
#include "text/escape.h"
#include "text/number.h"

#define MOST_SHARES 5   /* parts of a bar; the last one is the rest */
#define DOMINATES   0.7 /* of the whole: such a part is replaced by its own parts */

void report_html(struct out *out, struct str text)
{
    struct buf html = BUF_INIT;

    escape_html(&html, text);
    out_str(out, buf_span(&html));
    buf_release(&html);
}

/* The text in `spare`, as HTML. */
static void put_spare(struct report *r)
{
    report_html(r->out, buf_span(&r->spare));
    buf_clear(&r->spare);
}

void report_put(struct report *r)
{
    out_str(r->out, buf_span(&r->spare));
    buf_clear(&r->spare);
}

/* --- Head and title */

static void write_head(struct report *r)
{
    struct out *out = r->out;
    const char *theme = r->wanted->theme;

    out_text(out, "<!doctype html>\n<html lang=\"en\"");
    if (theme && (strcmp(theme, "light") == 0 || strcmp(theme, "dark") == 0))
        out_printf(out, " data-theme=\"%s\"", theme);
    out_text(out, "><head><meta charset=\"utf-8\">"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                  "'none'; style-src 'unsafe-inline'; script-src 'sha256-");
    look_script_hash(&r->spare, report_js);
    report_put(r);
    out_text(out, "'; base-uri 'none'; form-action 'none'\">"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    page_title(&r->spare, &r->show, r->wanted->title);
    put_spare(r);
    out_text(out, ", torchoscope report</title>\n<style>\n");
    tokens_css(out);
    out_text(out, report_css);
    out_text(out, "</style>\n<script>");
    out_text(out, report_js);
    out_text(out, "</script></head>\n");
}

static const struct page_look plain = {.prefix = ""};

static void write_top(struct report *r)
{
    struct facts facts = {0};

    out_printf(r->out,
               "<body><main><header><div class=\"brand\">%storchoscope "
               "<span>report</span></div><h1>",
               look_logo);
    page_title(&r->spare, &r->show, r->wanted->title);
    put_spare(r);
    out_text(r->out, "</h1><p class=\"dim\">");
    page_origin(&facts, &r->show);
    if (facts.n > 0)
        page_fact(&r->spare, &facts, &facts.at[0], &plain);
    report_put(r);
    out_text(r->out, ".</p></header>\n");
    facts_release(&facts);
}

static void write_figures(struct report *r)
{
    struct facts facts = {0};

    page_figures(&facts, &r->show);
    out_text(r->out, "<div class=\"kf\">");
    for (uint32_t i = 0; i < facts.n; i++) {
        const struct fact *fact = &facts.at[i];

        buf_text(&r->spare, "<div><b>");
        page_group(&r->spare, &facts, fact, 0, &plain);
        buf_text(&r->spare, "</b><span>");
        page_group(&r->spare, &facts, fact, fact_group_length(&facts, fact, 0), &plain);
        buf_text(&r->spare, "</span></div>");
        report_put(r);
    }
    out_text(r->out, "</div>\n");
    facts_release(&facts);
}

/* --- A bar of the largest parts */

struct share {
    uint32_t place; /* NO_PLACE: the rest */
    uint64_t amount;
};

struct shares {
    const struct model *model;
    const uint64_t *amounts; /* by place; NULL: use the parameters in `counts` */
    const struct place_counts *counts;
    uint64_t whole;
    struct share at[MOST_SHARES];
    uint32_t n, parts; /* parts: the total, including those merged into the rest */
};

static uint64_t amount_at(const struct shares *s, uint32_t place)
{
    return s->amounts ? s->amounts[place] : counts_params(s->counts, place);
}

static uint32_t only_part(const struct shares *s, uint32_t place)
{
    uint32_t found = NO_PLACE;

    for (uint32_t c = place_first(s->model, place); c != NO_PLACE;
         c = place_next(s->model, c)) {
        if (amount_at(s, c) == 0)
            continue;
        if (found != NO_PLACE)
            return NO_PLACE;
        found = c;
    }
    return found;
}

static void add_part(struct shares *s, struct share part)
{
    uint32_t i = s->n < MOST_SHARES ? s->n++ : MOST_SHARES;

    s->parts++;
    while (i > 0 && s->at[i - 1].amount < part.amount) {
        if (i < MOST_SHARES)
            s->at[i] = s->at[i - 1];
        i--;
    }
    if (i < MOST_SHARES)
        s->at[i] = part;
}

/* The first place at or below this one that has several parts; NO_PLACE: none. */
static uint32_t first_with_parts(const struct shares *s, uint32_t place)
{
    uint32_t next;

    while ((next = only_part(s, place)) != NO_PLACE)
        place = next;
    for (uint32_t c = place_first(s->model, place); c != NO_PLACE;
         c = place_next(s->model, c))
        if (amount_at(s, c) > 0)
            return place;
    return NO_PLACE;
}

/* The part of `place` with nearly everything, if it has parts itself: its bar would
 * be a single block. NO_PLACE: there is none. */
static uint32_t dominating_part(const struct shares *s, uint32_t place)
{
    for (uint32_t c = place_first(s->model, place); c != NO_PLACE;
         c = place_next(s->model, c))
        if ((double)amount_at(s, c) > DOMINATES * (double)s->whole &&
            !show_is_leaf(s->model, c) && first_with_parts(s, c) != NO_PLACE)
            return c;
    return NO_PLACE;
}

/* The parts directly below the first place that has several; a dominating part is
 * replaced by its own parts. */
static void find_shares(struct shares *s)
{
    uint32_t at = first_with_parts(s, 0);
    uint64_t shown = 0;

    while (at != NO_PLACE) {
        uint32_t inside = dominating_part(s, at);

        for (uint32_t c = place_first(s->model, at); c != NO_PLACE;
             c = place_next(s->model, c))
            if (c != inside && amount_at(s, c) > 0)
                add_part(s, (struct share){c, amount_at(s, c)});
        at = inside == NO_PLACE ? NO_PLACE : first_with_parts(s, inside);
    }
    if (s->parts > MOST_SHARES)
        s->n = MOST_SHARES - 1;
    for (uint32_t i = 0; i < s->n; i++)
        shown += s->at[i].amount;
    if (shown < s->whole && s->n < MOST_SHARES)
        s->at[s->n++] = (struct share){NO_PLACE, s->whole - shown};
}

/* "Conv2d, " after a name that ends in a number, which says nothing alone. */
static void add_class(struct report *r, uint32_t place)
{
    struct str name, class_name;

    if (place == NO_PLACE)
        return;
    name = place_name(r->model, place);
    if (name.len == 0 || name.at[0] < '0' || name.at[0] > '9')
        return;
    if (r->model->kind[place] != PLACE_MODULE)
        return;
    class_name = class_short(place_class(r->model, place));
    escape_terminal(&r->spare, class_name);
    buf_text(&r->spare, class_name.len > 0 ? ", " : "");
}

/* False: it has fewer than two parts, and is not written. */
static bool write_shares(struct report *r, struct shares *s, const char *title,
                         const char *ramp, const char *of,
                         void (*amount)(struct buf *to, uint64_t n))
{
    double whole = 0;

    s->model = r->model;
    find_shares(s);
    if (s->whole == 0 || s->parts < 2)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        whole += (double)s->at[i].amount;
    out_printf(r->out,
               "<h2>%s</h2><div class=\"stack\" role=\"img\" aria-label=\"%s\">", title,
               title);
    for (uint32_t i = 0; i < s->n; i++)
        out_printf(r->out, "<i style=\"width:%.2f%%;background:var(--%s-%u)\"></i>",
                   100 * (double)s->at[i].amount / whole, ramp,
                   (strcmp(ramp, "heat") == 0 ? 8u : 6u) - i);
    out_text(r->out, "</div><div class=\"sl\">");
    for (uint32_t i = 0; i < s->n; i++) {
        out_printf(r->out, "<span><i style=\"background:var(--%s-%u)\"></i><b>", ramp,
                   (strcmp(ramp, "heat") == 0 ? 8u : 6u) - i);
        if (s->at[i].place == NO_PLACE)
            buf_text(&r->spare, "other");
        else
            run_place(&r->spare, &r->show, s->at[i].place);
        put_spare(r);
        out_text(r->out, "</b> ");
        add_class(r, s->at[i].place);
        amount(&r->spare, s->at[i].amount);
        buf_text(&r->spare, ", ");
        run_share(&r->spare, s->at[i].amount, s->whole);
        buf_printf(&r->spare, " of %s", of);
        put_spare(r);
        out_text(r->out, "</span>");
    }
    out_text(r->out, "</div>\n");
    return true;
}

static int find_times(struct report *r, struct err *err)
{
    uint32_t n = r->model->n_places;

    r->time_below = arena_array(&r->arena, n, sizeof *r->time_below);
    if (!r->time_below)
        return arena_err(&r->arena, "the report", err);
    for (uint32_t p = n; p-- > 0;) {
        const struct activity *at = &r->show.activity->at[p];

        if (at->calls > 0)
            r->time_below[p] = at->total_ns;
        if (p > 0)
            r->time_below[r->model->parent[p]] += r->time_below[p];
    }
    return 0;
}

/* The coverage of the FLOPs, below their bar: forward, backward and recomputation. */
static void write_coverage(struct report *r)
{
    struct op_sum sums[OP_PHASES];
    struct facts facts = {0};

    op_use_phases_at(r->run, 0, sums);
    out_text(r->out, "<p class=\"dim\">");
    for (int phase = 0; phase < OP_OPTIMIZER; phase++) {
        if (sums[phase].matrix == 0)
            continue;
        facts_clear(&facts);
        ops_text_flops(&facts, &sums[phase]);
        buf_printf(&r->spare, "%s%s %s", phase > OP_FORWARD ? "; " : "",
                   phase > OP_FORWARD ? op_phase_name((enum op_phase)phase) : "Forward",
                   buf_cstr(&facts.text));
    }
    put_spare(r);
    out_text(r->out,
             ". A multiply-add is two FLOPs; only matrix work is counted.</p>\n");
    facts_release(&facts);
}

static int write_flops(struct report *r, struct err *err)
{
    struct shares shares = {.whole = r->show.ops[0].flops};
    uint64_t *amounts = arena_array(&r->arena, r->model->n_places, sizeof *amounts);

    if (!amounts)
        return arena_err(&r->arena, "the report", err);
    if (shares.whole == 0)
        return 0;
    for (uint32_t p = 0; p < r->model->n_places; p++)
        amounts[p] = r->show.ops[p].flops;
    shares.amounts = amounts;
    if (write_shares(r, &shares, "Where the FLOPs go", "heat", "forward", text_flops))
        write_coverage(r);
    return 0;
}

static int write_bars(struct report *r, struct err *err)
{
    struct shares params = {.counts = &r->session->places,
                            .whole = r->session->total.params};
    struct shares times = {0};

    write_shares(r, &params, "Where the parameters are", "density", "model",
                 text_count);
    if (!r->show.activity)
        return 0;
    if (find_times(r, err) < 0)
        return -1;
    times.amounts = r->time_below;
    times.whole = r->show.activity->total_ns;
    write_shares(r, &times, "Where the time goes", "heat", "forward", run_time);
    return r->show.ops ? write_flops(r, err) : 0;
}

/* --- The graph */

/* A static picture: a box links to its row, and the command opens what is folded. */
static void write_graph(struct report *r)
{
    static const struct picture_inside inside = {
        .variables = "--", .classes = "", .link = "#table"};
    struct page_graph graph;

    page_graph_make(&graph, r->session, &inside);
    if (graph.svg.len > 0 || graph.note.len > 0)
        out_text(r->out, "<h2>Graph</h2>");
    if (graph.note.len > 0) {
        out_text(r->out, "<p class=\"dim\">");
        report_html(r->out, buf_span(&graph.note));
        out_text(r->out, "</p>\n");
    }
    if (graph.svg.len > 0) {
        out_text(r->out, "<div class=\"graph\" tabindex=\"0\" role=\"region\" "
                         "aria-label=\"Graph\">");
        out_str(r->out, buf_span(&graph.svg));
        out_text(r->out, "</div>\n");
    }
    if (graph.svg.len > 0)
        out_text(r->out, "<p class=\"dim\"><span class=\"js\">A click on a box goes "
                         "to its row. </span>");
    else if (graph.command.len > 0)
        out_text(r->out, "<p class=\"dim\">");
    if (graph.command.len > 0) {
        out_text(r->out, "A page in which every box opens: <span class=\"mono\">");
        report_html(r->out, buf_span(&graph.command));
        out_text(r->out, "</span>");
    }
    if (graph.svg.len > 0 || graph.command.len > 0)
        out_text(r->out, "</p>\n");
    page_graph_release(&graph);
}

/* --- The whole */

static void write_foot(struct report *r)
{
    out_text(r->out, "<footer>Made by torchoscope " TORCHOSCOPE_VERSION " from ");
    escape_terminal(&r->spare, r->show.file_name);
    put_spare(r);
    out_text(r->out,
             ". <span class=\"js\">Repeated blocks are folded. A click on a name opens "
             "what is below it, one on its numbers shows details; keys: arrows, Enter, "
             "<kbd>i</kbd> details, <kbd>/</kbd> search. </span>Same numbers as "
             "<span class=\"mono\">torchoscope tree</span>.</footer></main>\n");
}

static int write_page(struct report *r, struct err *err)
{
    write_head(r);
    write_top(r);
    write_figures(r);
    write_graph(r);
    if (write_bars(r, err) < 0 || report_checks(r, err) < 0 ||
        report_find_gradients(r, err) < 0)
        return -1;
    report_static_rows(r);
    write_foot(r);
    if (report_data(r, err) < 0)
        return -1;
    out_text(r->out, "</body></html>\n");
    return 0;
}

int export_report(struct out *out, struct session *session,
                  const struct export_wanted *wanted, struct err *err)
{
    struct report r = {.out = out,
                       .session = session,
                       .model = session->model,
                       .run = session->run,
                       .wanted = wanted};
    int status;

    arena_init(&r.arena, 0);
    status = show_init(&r.show, session, &r.arena, err);
    if (status == 0)
        status = report_measure(&r, err);
    if (status == 0)
        status = report_make_rows(&r, err);
    if (status == 0)
        status = write_page(&r, err);
    facts_release(&r.facts);
    buf_release(&r.spare);
    buf_release(&r.other);
    buf_release(&r.pictures);
    arena_release(&r.arena);
    return status;
}
