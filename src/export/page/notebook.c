#include "export/page/notebook_in.h"

#include <string.h>

#include "base/base.h"
#include "export/look/tokens.h"
#include "export/page/notebook_text.h"
#include "export/page/page_in.h"
#include "facts/summary.h"

#define TEXT_CELLS 500
#define MOST_NOTES 20

bool notebook_shows(const struct notebook *n, const char *id)
{
    const struct column *wanted = column_find(str_of(id));

    for (size_t i = 0; i < n->printed.n_columns; i++)
        if (n->printed.chosen && n->printed.columns[i] == wanted)
            return true;
    return !n->printed.chosen;
}

void notebook_put(struct notebook *n, size_t cells)
{
    page_html(&n->page, buf_span(&n->spare), cells);
    buf_clear(&n->spare);
}

/* --- The style */

static void add_colour(struct buf *to, const char *name, bool dark)
{
    for (size_t t = 0; t < n_tokens; t++)
        if (strcmp(tokens[t].name, name) == 0)
            buf_printf(to, ";--ts-%s:%s", name,
                       dark ? tokens[t].dark : tokens[t].light);
}

/* The colours that notebook.css uses, and those of a graph, as CSS variables. */
static void add_colours(struct buf *to, bool graph, bool dark)
{
    static const char *const used[] = {
        "surface",   "line",        "line2",       "text",       "text2",
        "text3",     "accent",      "alarm",       "alarm-soft", "warn",
        "warn-soft", "good",        "good-soft",   "g1",         "sunken",
        "density-5", "f-conv",      "f-linear",    "f-norm",     "f-activation",
        "f-pool",    "f-attention", "f-embedding", "f-view",     "f-elementwise",
        "f-loss",    "f-other",     "on-alarm",
    };
    static const char *const drawn[] = {
        "edge",    "nodeline",    "g2",          "g3",     "g4",
        "t-conv",  "t-linear",    "t-norm",      "t-pool", "t-activation",
        "t-view",  "t-attention", "t-embedding", "t-loss", "t-elementwise",
        "t-other",
    };

    buf_printf(to, "{color-scheme:%s;--ts-time:%s", dark ? "dark" : "light",
               dark ? "#D9772B" : "#EF861B");
    for (size_t i = 0; i < COUNT_OF(used); i++)
        add_colour(to, used[i], dark);
    for (size_t i = 0; graph && i < COUNT_OF(drawn); i++)
        add_colour(to, drawn[i], dark);
    buf_text(to, "}\n");
}

/* Follows the notebook's theme: JupyterLab, VS Code, Colab and documentation pages
 * declare it; elsewhere the reader's system decides. */
static void add_style(struct buf *to, bool graph, const char *theme)
{
    buf_text(to, "<style>\n.torchoscope");
    add_colours(to, graph, false);
    if (theme) { /* only for this one, whatever the notebook's theme */
        buf_printf(to, ".torchoscope.ts-%s.ts-%s", theme, theme);
        add_colours(to, graph, strcmp(theme, "dark") == 0);
    } else {
        buf_text(to, "@media screen and (prefers-color-scheme:dark){.torchoscope");
        add_colours(to, graph, true);
        buf_text(to, "}\n[data-jp-theme-light=true] .torchoscope,"
                     ".vscode-light .torchoscope,html[theme=light] .torchoscope,"
                     "[data-theme=light] .torchoscope");
        add_colours(to, graph, false);
        buf_text(to, "@media screen{[data-jp-theme-light=false] .torchoscope,"
                     ".vscode-dark .torchoscope,html[theme=dark] .torchoscope,"
                     "[data-theme=dark] .torchoscope");
        add_colours(to, graph, true);
        buf_text(to, "}\n");
    }
    buf_text(to, notebook_css);
    buf_text(to, "</style>\n");
}

/* --- Title, key figures, notes */

static const struct page_look look = {.prefix = "ts-", .cells = TEXT_CELLS};

static void add_pill(struct notebook *n)
{
    if (!session_judged(n->session))
        return;
    buf_printf(&n->page, " <span class=\"ts-pill ts-%s\">",
               page_class(summary_verdict_colour(n->session->verdict.verdict)));
    summary_verdict(&n->spare, &n->printed.show);
    notebook_put(n, TEXT_CELLS);
    buf_text(&n->page, "</span>");
}

static void write_title(struct notebook *n)
{
    struct facts facts = {0};

    buf_text(&n->page, "<div class=\"ts-title\"><strong>");
    page_title(&n->spare, &n->printed.show, n->wanted->title);
    notebook_put(n, TEXT_CELLS);
    buf_text(&n->page, "</strong>");
    add_pill(n);
    buf_text(&n->page, "</div>\n<div class=\"ts-facts\">");
    page_origin(&facts, &n->printed.show);
    if (facts.n > 0)
        page_fact(&n->page, &facts, &facts.at[0], &look);
    buf_text(&n->page, "</div>\n");
    facts_release(&facts);
}

/* If columns were chosen, only their figures are shown. */
static void write_figures(struct notebook *n)
{
    struct facts facts = {0};

    page_figures(&facts, &n->printed.show);
    buf_text(&n->page, "<div class=\"ts-figures\">");
    for (uint32_t i = 0; i < facts.n; i++) {
        const struct fact *fact = &facts.at[i];
        const char *column = strcmp(fact->id, "backward") == 0 ? "time" : fact->id;

        if (column_find(str_of(column)) && !notebook_shows(n, column))
            continue;
        buf_text(&n->page, "<div><b>");
        page_group(&n->page, &facts, fact, 0, &look);
        buf_text(&n->page, "</b> <span>");
        page_group(&n->page, &facts, fact, fact_group_length(&facts, fact, 0), &look);
        buf_text(&n->page, "</span></div>");
    }
    buf_text(&n->page, "</div>\n");
    facts_release(&facts);
}

static int write_notes(struct notebook *n, struct err *err)
{
    struct facts facts = {0};
    int status = page_notes(&facts, &n->printed.show, MOST_NOTES, err);

    if (facts.n > 0) {
        buf_text(&n->page, "<ul class=\"ts-notes ts-l\">");
        for (uint32_t i = 0; i < facts.n; i++) {
            buf_printf(&n->page, "<li class=\"ts-%s\">", page_class(facts.at[i].role));
            page_fact(&n->page, &facts, &facts.at[i], &look);
            buf_text(&n->page, "</li>");
        }
        buf_text(&n->page, "</ul>\n");
    }
    facts_release(&facts);
    return status;
}

/* --- The graph */

/* Closed at first: it is taller than the rest. */
static void write_graph(struct notebook *n, const struct page_graph *graph)
{
    if (graph->svg.len == 0)
        return;
    buf_text(&n->page, "<details class=\"ts-graph\"><summary>Graph</summary>\n");
    if (graph->note.len > 0) {
        buf_text(&n->page, "<div class=\"ts-facts\">");
        page_html(&n->page, buf_span(&graph->note), TEXT_CELLS);
        buf_text(&n->page, "</div>\n");
    }
    buf_text(&n->page, "<div>");
    buf_str(&n->page, buf_span(&graph->svg));
    buf_text(&n->page, "</div></details>\n");
}

/* --- The whole */

static const char ending[] = "</div>\n";

static int write_model(struct notebook *n, const struct page_graph *graph,
                       struct err *err)
{
    write_title(n);
    write_figures(n);
    if (write_notes(n, err) < 0 || notebook_training(n, err) < 0)
        return -1;
    write_graph(n, graph);
    return notebook_rows(n, sizeof(ending), err);
}

static int write_page(struct notebook *n, struct err *err)
{
    static const struct picture_inside inside = {.variables = "--ts-",
                                                 .classes = "ts-g-"};
    const char *theme = n->wanted->theme;
    uint32_t place = n->wanted->place;
    bool tensor = place > 0 && place < n->model->n_places &&
                  n->model->kind[place] == PLACE_TENSOR;
    struct page_graph graph = {.svg = BUF_INIT};
    int status;

    if (!tensor && !n->printed.chosen) /* a graph is omitted if columns were chosen */
        page_graph_make(&graph, n->session, &inside);
    if (theme && strcmp(theme, "light") != 0 && strcmp(theme, "dark") != 0)
        theme = NULL;
    buf_printf(&n->page, "<div class=\"torchoscope%s%s\">\n", theme ? " ts-" : "",
               theme ? theme : "");
    add_style(&n->page, graph.svg.len > 0, theme);
    status = tensor ? notebook_tensor(n, place, err) : write_model(n, &graph, err);
    page_graph_release(&graph);
    buf_text(&n->page, ending);
    return status;
}

int export_notebook(struct out *out, struct session *session,
                    const struct export_wanted *wanted, struct err *err)
{
    struct notebook n = {.session = session, .model = session->model, .wanted = wanted};
    struct printed_wanted view = wanted->view;
    int status;

    view.depth = view.depth < NOTEBOOK_DEEPEST ? view.depth : NOTEBOOK_DEEPEST;
    status = printed_begin(&n.printed, session, &view, err);
    if (status == 0)
        status = write_page(&n, err);
    if (status == 0 && n.page.bad)
        status = err_set(err, ERR_LIMIT, "out of memory for the page");
    if (status == 0)
        out_str(out, buf_span(&n.page));
    buf_release(&n.page);
    buf_release(&n.spare);
    printed_end(&n.printed);
    return status;
}
