#include "export/page/notebook_in.h"

#include <string.h>

#include "base/base.h"
#include "export/page/notebook_text.h"
#include "export/page/tokens.h"
#include "facts/run_text.h"
#include "facts/summary.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/width.h"

#define TITLE_CELLS 200
#define NOTE_CELLS  500
#define MOST_NOTES  20

void notebook_html(struct buf *to, struct str text, size_t cells)
{
    struct buf cut = BUF_INIT;

    text_cut(&cut, text, cells, "…");
    escape_html(to, buf_span(&cut));
    buf_release(&cut);
}

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
    notebook_html(&n->page, buf_span(&n->spare), cells);
    buf_clear(&n->spare);
}

/* --- The style */

/* The colours that notebook.css uses, as variables of its own. */
static void add_colours(struct buf *to, bool dark)
{
    static const char *const used[] = {
        "surface",   "line",        "line2",       "text",       "text2",
        "text3",     "accent",      "alarm",       "alarm-soft", "warn",
        "warn-soft", "good",        "good-soft",   "g1",         "sunken",
        "density-5", "f-conv",      "f-linear",    "f-norm",     "f-activation",
        "f-pool",    "f-attention", "f-embedding", "f-view",     "f-elementwise",
        "f-loss",    "f-other",     "on-alarm",
    };

    buf_printf(to, "{color-scheme:%s;--ts-time:%s", dark ? "dark" : "light",
               dark ? "#D9772B" : "#EF861B");
    for (size_t i = 0; i < COUNT_OF(used); i++)
        for (size_t t = 0; t < n_tokens; t++)
            if (strcmp(tokens[t].name, used[i]) == 0)
                buf_printf(to, ";--ts-%s:%s", used[i],
                           dark ? tokens[t].dark : tokens[t].light);
    buf_text(to, "}\n");
}

/* Dark as the notebook is: JupyterLab, VS Code, Colab and pages of documentation tell
 * it of themselves; elsewhere it is as the reader's system says. */
static void add_style(struct buf *to, const char *theme)
{
    buf_text(to, "<style>\n.torchoscope");
    add_colours(to, false);
    if (theme) { /* of this one alone, wherever it stands */
        buf_printf(to, ".torchoscope.ts-%s.ts-%s", theme, theme);
        add_colours(to, strcmp(theme, "dark") == 0);
    } else {
        buf_text(to, "@media screen and (prefers-color-scheme:dark){.torchoscope");
        add_colours(to, true);
        buf_text(to, "}\n[data-jp-theme-light=true] .torchoscope,"
                     ".vscode-light .torchoscope,html[theme=light] .torchoscope,"
                     "[data-theme=light] .torchoscope");
        add_colours(to, false);
        buf_text(to, "@media screen{[data-jp-theme-light=false] .torchoscope,"
                     ".vscode-dark .torchoscope,html[theme=dark] .torchoscope,"
                     "[data-theme=dark] .torchoscope");
        add_colours(to, true);
        buf_text(to, "}\n");
    }
    buf_text(to, notebook_css);
    buf_text(to, "</style>\n");
}

/* --- Title */

static void add_pill(struct notebook *n)
{
    enum verdict verdict = n->session->verdict.verdict;
    const char *kind = verdict == VERDICT_SAFE     ? "good"
                       : verdict == VERDICT_UNSAFE ? "alarm"
                                                   : "warn";

    if (!session_judged(n->session))
        return;
    buf_printf(&n->page, " <span class=\"ts-pill ts-%s\">", kind);
    summary_verdict(&n->spare, &n->printed.show);
    notebook_put(n, TITLE_CELLS);
    buf_text(&n->page, "</span>");
}

static bool is_named_for_class(const struct notebook *n)
{
    return n->model->kind[0] == PLACE_MODULE && place_class(n->model, 0).len > 0;
}

static void add_title(struct notebook *n)
{
    if (n->wanted->title)
        escape_terminal(&n->spare, str_of(n->wanted->title));
    else if (is_named_for_class(n))
        escape_terminal(&n->spare, class_short(place_class(n->model, 0)));
    else
        escape_terminal(&n->spare, n->printed.show.file_name);
}

/* "resnet50.pth, 97.8MB, torch zip, read without running anything in it" */
static void add_facts(struct notebook *n)
{
    const struct model *model = n->model;
    struct str text = STR("");

    if (model->n_files > 0 && model->file_bytes > 0) {
        if (is_named_for_class(n)) {
            escape_terminal(&n->spare, n->printed.show.file_name);
            buf_text(&n->spare, ", ");
        }
        text_bytes(&n->spare, model->file_bytes);
        buf_text(&n->spare, ", ");
    }
    buf_text(&n->spare, n->session->run ? "recording" : model->format);
    if (model->n_files > 1)
        buf_printf(&n->spare, ", %u files", (unsigned)model->n_files);
    if (n->session->run) {
        run_fact(n->session->run, "torch", &text);
        buf_text(&n->spare, text.len > 0 ? ", torch " : "");
        escape_terminal(&n->spare, text);
        text = STR("");
        run_fact(n->session->run, "input", &text);
        buf_text(&n->spare, text.len > 0 ? ", " : "");
        escape_terminal(&n->spare, text);
    } else if (model->n_files > 0) {
        buf_text(&n->spare, ", read without running anything in it");
    }
    buf_text(&n->spare, model->partial ? ", incomplete" : "");
}

static void write_title(struct notebook *n)
{
    buf_text(&n->page, "<div class=\"ts-title\"><strong>");
    add_title(n);
    notebook_put(n, TITLE_CELLS);
    buf_text(&n->page, "</strong>");
    add_pill(n);
    buf_text(&n->page, "</div>\n<div class=\"ts-facts\">");
    add_facts(n);
    notebook_put(n, TITLE_CELLS);
    buf_text(&n->page, "</div>\n");
}

/* --- Key figures: the number is in `spare`, then what it counts */

static void begin_figure(struct notebook *n)
{
    buf_text(&n->page, "<div><b>");
    notebook_put(n, TITLE_CELLS);
    buf_text(&n->page, "</b> <span>");
}

static void end_figure(struct notebook *n)
{
    notebook_put(n, TITLE_CELLS);
    buf_text(&n->page, "</span></div>");
}

static void write_times(struct notebook *n)
{
    const struct activities *all = n->printed.show.activity;

    run_time(&n->spare, all->total_ns);
    if (n->spare.len > 0) {
        begin_figure(n);
        buf_text(&n->spare, "forward, ");
        text_plural(&n->spare, all->passes, "pass", "passes");
        end_figure(n);
    }
    run_time(&n->spare, all->backward_ns);
    if (n->spare.len > 0) {
        begin_figure(n);
        buf_text(&n->spare, "backward");
        end_figure(n);
    }
}

static void write_figures(struct notebook *n)
{
    const struct counts *total = &n->session->total;

    buf_text(&n->page, "<div class=\"ts-figures\">");
    if (notebook_shows(n, "params")) {
        text_count(&n->spare, total->params);
        begin_figure(n);
        buf_text(&n->spare, "parameters");
        if (total->trainable > 0 || total->frozen > 0)
            buf_text(&n->spare, ", ");
        summary_trainable(&n->spare, total);
        end_figure(n);
    }
    if (notebook_shows(n, "memory")) {
        text_bytes(&n->spare, total->bytes);
        begin_figure(n);
        summary_bytes(&n->spare, total);
        end_figure(n);
    }
    if (n->printed.show.activity && notebook_shows(n, "time"))
        write_times(n);
    text_commas(&n->spare, total->modules > 0 ? total->modules : total->tensors);
    begin_figure(n);
    if (total->modules > 0)
        buf_text(&n->spare, total->modules == 1 ? "module" : "modules");
    else
        buf_text(&n->spare, total->tensors == 1 ? "tensor" : "tensors");
    end_figure(n);
    buf_text(&n->page, "</div>\n");
}

/* --- Notes: what was met in the file, alarms and gaps of the run */

/* The note is in `spare`. */
static void write_note(struct notebook *n, enum severity severity)
{
    static const char *const kinds[] = {[SEVERITY_NOTE] = "note",
                                        [SEVERITY_WARNING] = "warn",
                                        [SEVERITY_ALARM] = "alarm"};

    buf_printf(&n->page, "<li class=\"ts-%s\">", kinds[severity]);
    notebook_put(n, NOTE_CELLS);
    buf_text(&n->page, "</li>");
}

static int write_notes(struct notebook *n, struct err *err)
{
    const struct model *model = n->model;
    struct run_lines lines = {0};
    uint32_t all, shown = 0;

    if (n->printed.show.activity &&
        run_notes(&lines, &n->printed.show, &n->printed.arena, err) < 0)
        return -1;
    all = lines.n + model->n_findings;
    if (all == 0)
        return 0;
    buf_text(&n->page, "<ul class=\"ts-notes ts-l\">");
    for (uint32_t i = 0; i < lines.n && shown < MOST_NOTES; i++, shown++) {
        buf_text(&n->spare, lines.at[i].text);
        write_note(n, lines.at[i].severity);
    }
    for (uint32_t i = 0; i < model->n_findings && shown < MOST_NOTES; i++, shown++) {
        escape_terminal(&n->spare, str_of(model->findings[i].text));
        write_note(n, model->findings[i].severity);
    }
    if (shown < all) {
        text_commas(&n->spare, all - shown);
        buf_text(&n->spare, " more");
        write_note(n, SEVERITY_NOTE);
    }
    buf_text(&n->page, "</ul>\n");
    return 0;
}

/* --- All together */

static const char ending[] = "</div>\n";

static int write_page(struct notebook *n, struct err *err)
{
    const char *theme = n->wanted->theme;
    uint32_t place = n->wanted->place;

    if (theme && strcmp(theme, "light") != 0 && strcmp(theme, "dark") != 0)
        theme = NULL;
    buf_printf(&n->page, "<div class=\"torchoscope%s%s\">\n", theme ? " ts-" : "",
               theme ? theme : "");
    add_style(&n->page, theme);
    if (place > 0 && place < n->model->n_places &&
        n->model->kind[place] == PLACE_TENSOR) {
        if (notebook_tensor(n, place, err) < 0)
            return -1;
    } else {
        write_title(n);
        write_figures(n);
        if (write_notes(n, err) < 0 || notebook_rows(n, sizeof(ending), err) < 0)
            return -1;
    }
    buf_text(&n->page, ending);
    return 0;
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
        status = err_set(err, ERR_LIMIT, "there is no memory for the page");
    if (status == 0)
        out_str(out, buf_span(&n.page));
    buf_release(&n.page);
    buf_release(&n.spare);
    printed_end(&n.printed);
    return status;
}
