#include "export/page/page_in.h"

#include <string.h>

#include "facts/notes.h"
#include "facts/ops_text.h"
#include "facts/run_text.h"
#include "facts/summary.h"
#include "study/activity.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/width.h"

/* --- Title and origin */

static bool is_named_for_class(const struct model *model)
{
    return model->kind[0] == PLACE_MODULE && place_class(model, 0).len > 0;
}

void page_title(struct buf *to, const struct show *show, const char *title)
{
    const struct run *run = show->session->run;

    if (title && *title)
        escape_terminal(to, str_of(title));
    else if (run && run->name && *run->name)
        escape_terminal(to, str_of(run->name));
    else if (is_named_for_class(show->model))
        escape_terminal(to, class_short(place_class(show->model, 0)));
    else
        escape_terminal(to, show->file_name);
}

/* ", torch 2.13.0": the text under `key` in the recording. */
static bool add_run_text(struct facts *to, const struct run *run, const char *before,
                         const char *key)
{
    struct str text = STR("");

    run_fact(run, key, &text);
    if (text.len == 0)
        return false;
    buf_text(&to->text, before);
    fact_text(to, key, text);
    return true;
}

/* The input given to summary(), else the input of the first call. */
static void add_input(struct facts *to, const struct run *run)
{
    uint32_t value = run->n_calls > 0 ? activity_value(run, 0, RUN_IN) : RUN_NONE;

    if (add_run_text(to, run, ", ", "input") || value == RUN_NONE)
        return;
    buf_text(&to->text, ", first input ");
    run_shape(&to->text, run, value);
    buf_printf(&to->text, " %s", dtype_name(run->values[value].dtype));
}

void page_origin(struct facts *to, const struct show *show)
{
    const struct model *model = show->model;
    const struct run *run = show->session->run;

    if (model->n_files > 0 && model->file_bytes > 0) {
        fact_text(to, "file", show->file_name);
        buf_text(&to->text, ", ");
        fact_bytes(to, "size", model->file_bytes);
        buf_text(&to->text, ", ");
    }
    buf_text(&to->text, run ? "recording" : model->format ? model->format : "");
    if (model->n_files > 1) {
        buf_text(&to->text, ", ");
        fact_plural(to, "files", model->n_files, "file", "files");
    }
    if (run) {
        add_run_text(to, run, ", ", "when");
        add_run_text(to, run, ", torch ", "torch");
        add_run_text(to, run, ", statistics ", "mode");
        add_input(to, run);
    } else if (model->n_files > 0) {
        buf_text(&to->text, ", read without running anything in it");
    }
    buf_text(&to->text, model->partial ? ", incomplete" : "");
    fact_end(to, "origin", COLOUR_NONE);
}

/* --- Key figures */

/* Ends the number; what it counts is appended next. */
static void end_number(struct facts *to, const char *name, struct figure *figure)
{
    fact_value(to, name, figure);
    fact_part(to, COLOUR_NONE);
}

static void add_time(struct facts *to, const char *name, uint64_t ns)
{
    struct figure figure = fact_figure(to);

    figure_time(&figure, ns);
    end_number(to, name, &figure);
}

static void run_figures(struct facts *to, const struct show *show)
{
    bool least;
    uint64_t backward = run_backward(show, 0, &least);

    add_time(to, "forward", show->activity->total_ns);
    if (fact_is_empty(to))
        return;
    buf_text(&to->text, "forward, ");
    fact_plural(to, "passes", show->activity->passes, "pass", "passes");
    fact_end(to, "time", COLOUR_NONE);
    add_time(to, "backward", backward);
    if (!fact_is_empty(to))
        buf_text(&to->text, least ? "backward, at least" : "backward");
    fact_end(to, "backward", COLOUR_NONE);
}

/* "8.2G", "FLOPs by 54 of 175 operations, all matrix work" */
static void flops_figure(struct facts *to, const struct op_sum *sum)
{
    struct figure figure = fact_figure(to);

    if (sum->flops == 0)
        return;
    buf_text(&to->text, sum->matrix_unknown > 0 ? "≥" : "");
    figure_flops(&figure, sum->flops);
    end_number(to, "flops", &figure);
    buf_text(&to->text, "FLOPs forward ");
    ops_text_coverage(to, sum);
    fact_end(to, "flops", COLOUR_NONE);
}

static uint32_t count_leaves(const struct model *model)
{
    uint32_t n = 0;

    for (uint32_t p = 0; p < model->n_places; p++)
        n += model->kind[p] == PLACE_MODULE && show_is_leaf(model, p);
    return n;
}

static void module_figure(struct facts *to, const struct show *show)
{
    uint64_t modules = show->session->total.modules;
    uint64_t tensors = show->session->total.tensors;
    struct figure figure = fact_figure(to);

    figure_exact(&figure, modules > 0 ? modules : tensors);
    end_number(to, modules > 0 ? "modules" : "tensors", &figure);
    if (modules > 1) {
        buf_text(&to->text, "modules, ");
        fact_count(to, "leaves", count_leaves(show->model));
        buf_text(&to->text, " of them leaves");
    } else if (modules == 1) {
        buf_text(&to->text, "module");
    } else {
        buf_text(&to->text, tensors == 1 ? "tensor" : "tensors");
    }
    fact_end(to, modules > 0 ? "modules" : "tensors", COLOUR_NONE);
}

void page_figures(struct facts *to, const struct show *show)
{
    const struct counts *total = &show->session->total;
    struct figure figure = fact_figure(to);

    figure_count(&figure, total->params);
    end_number(to, "params", &figure);
    buf_text(&to->text, "parameters");
    buf_text(&to->text, total->trainable > 0 || total->frozen > 0 ? ", " : "");
    summary_trainable(&to->text, total);
    fact_end(to, "params", COLOUR_NONE);
    figure = fact_figure(to);
    figure_bytes(&figure, total->bytes);
    end_number(to, "memory", &figure);
    summary_bytes(&to->text, total);
    fact_end(to, "memory", COLOUR_NONE);
    if (show->ops)
        flops_figure(to, &show->ops[0]);
    if (show->activity)
        run_figures(to, show);
    module_figure(to, show);
}

/* --- Notes */

int page_notes(struct facts *to, const struct show *show, uint32_t most,
               struct err *err)
{
    uint32_t first = to->n, n = show->model->n_findings;

    if (show->activity && notes_run(to, show, err) < 0)
        return -1;
    notes_findings(to, show->model, 0, most);
    if (n > most) {
        fact_count(to, "more", n - most);
        buf_text(&to->text, " more; torchoscope info --json lists them all");
        fact_end_as(to, "more", NULL, COLOUR_DIM);
    }
    for (; first < to->n; first++)
        to->at[first].label = NULL; /* the CSS class of the item replaces it */
    return 0;
}

/* --- HTML */

void page_html(struct buf *to, struct str text, size_t cells)
{
    struct buf cut = BUF_INIT;

    if (cells > 0)
        text_cut(&cut, text, cells, "…");
    escape_html(to, cells > 0 ? buf_span(&cut) : text);
    buf_release(&cut);
}

const char *page_class(enum colour role)
{
    switch (role) {
    case COLOUR_GOOD:
        return "good";
    case COLOUR_WARNING:
        return "warn";
    case COLOUR_ALARM:
        return "alarm";
    default:
        return "note";
    }
}

static void begin_link(struct buf *to, const struct model *model, uint32_t place)
{
    struct buf path = BUF_INIT, name = BUF_INIT;

    place_path(model, place, &path);
    escape_terminal(&name, buf_span(&path));
    buf_text(to, "<a href=\"#table\" data-name=\"");
    escape_html(to, buf_span(&name));
    buf_text(to, "\">");
    buf_release(&path);
    buf_release(&name);
}

void page_group(struct buf *to, const struct facts *facts, const struct fact *fact,
                uint32_t i, const struct page_look *look)
{
    uint32_t end = i + fact_group_length(facts, fact, i);

    for (; i < end; i++) {
        const struct fact_part *part = &facts->parts[fact->first + i];
        bool link = look->links && part->kind == FIGURE_PLACE;
        bool role = part->role != fact->role && part->role != COLOUR_NONE;
        size_t from;

        if (link)
            begin_link(to, look->links, (uint32_t)part->n);
        else if (role)
            buf_printf(to, "<span class=\"%s%s\">", look->prefix,
                       page_class(part->role));
        from = to->len;
        page_html(to, fact_part_text(facts, part), look->cells);
        if (part->kind == FIGURE_REAL)
            page_minus(to, from);
        buf_text(to, link ? "</a>" : role ? "</span>" : "");
    }
}

void page_fact(struct buf *to, const struct facts *facts, const struct fact *fact,
               const struct page_look *look)
{
    for (uint32_t i = 0; i < fact->n; i += fact_group_length(facts, fact, i)) {
        if (i > 0)
            buf_text(to, look->between ? look->between : "&emsp;");
        page_group(to, facts, fact, i, look);
    }
}

void page_minus(struct buf *to, size_t from)
{
    struct buf drawn = BUF_INIT;

    if (to->len == from || !memchr(to->at + from, '-', to->len - from))
        return;
    for (size_t i = from; i < to->len; i++)
        if (to->at[i] == '-')
            buf_text(&drawn, "−");
        else
            buf_char(&drawn, to->at[i]);
    to->len = from;
    buf_str(to, buf_span(&drawn));
    buf_release(&drawn);
}
