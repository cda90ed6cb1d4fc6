#include "facts/performance.h"

#include "facts/memory_text.h"
#include "facts/run_text.h"
#include "study/slowest.h"
#include "text/text.h"

#define NAME_CELLS  14
#define VALUE_CELLS 10 /* 306.22μs and two blanks */
#define BAR_CELLS   16

/* ---- one module ---- */

/* Its weight, or another parameter of its own. */
static uint32_t weight_of(const struct model *model, uint32_t place)
{
    uint32_t found = NO_PLACE;

    for (uint32_t p = place_first(model, place); p != NO_PLACE;
         p = place_next(model, p)) {
        if (model->kind[p] != PLACE_TENSOR ||
            place_tensor(model, p)->role != ROLE_PARAMETER)
            continue;
        if (str_is(place_name(model, p), "weight"))
            return p;
        if (found == NO_PLACE)
            found = p;
    }
    return found;
}

static void title_fact(struct facts *to, const struct show *show, uint32_t place,
                       uint64_t both_ns)
{
    uint32_t weight = weight_of(show->model, place);
    struct figure params;

    fact_place(to, "place", show, place);
    fact_part(to, COLOUR_NONE);
    if (place > 0)
        fact_text(to, "class", class_short(place_class(show->model, place)));
    fact_part(to, COLOUR_NONE);
    params = fact_figure(to);
    figure_count(&params, counts_params(&show->session->places, place));
    fact_value(to, "params", &params);
    buf_text(&to->text, " params");
    fact_part(to, COLOUR_NONE);
    if (weight != NO_PLACE) {
        buf_text(&to->text, "Shape: ");
        fact_tensor_shape(to, "weight", show->model, weight);
        fact_part(to, COLOUR_NONE);
    }
    buf_text(&to->text, "Time: ");
    fact_time(to, "time", both_ns);
    fact_part(to, COLOUR_NONE);
    buf_text(&to->text, "Mem: ");
    fact_bytes(to, "memory", counts_bytes(&show->session->places, place));
    fact_end_as(to, "title", "", COLOUR_NONE)->target = NO_TARGET;
}

static double share_of(uint64_t ns, uint64_t both)
{
    return both > 0 ? (double)ns / (double)both : 0;
}

static void shape_part(struct facts *to, const struct show *show, uint32_t place,
                       enum run_io_kind kind)
{
    const struct activity *at = &show->activity->at[place];
    uint32_t value = activity_value(show->session->run, at->newest, kind);

    if (value == RUN_NONE)
        return;
    buf_text(&to->text, kind == RUN_IN ? "Input: " : "Output: ");
    fact_run_shape(to, kind == RUN_IN ? "input" : "output", show->session->run, value);
    if (at->flags & (kind == RUN_IN ? ACTIVITY_IN_VARIES : ACTIVITY_OUT_VARIES))
        buf_char(&to->text, '*');
    fact_part(to, COLOUR_NONE);
}

static bool has_gradient(const struct run *run, uint32_t call)
{
    const struct run_call *c = &run->calls[call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (run->ios[i].kind == RUN_GRAD_OUT || run->ios[i].kind == RUN_GRAD_IN)
            return true;
    return false;
}

static void backward_fact(struct facts *to, const struct show *show, uint32_t place,
                          uint64_t ns, uint64_t both_ns, bool least)
{
    uint32_t newest = show->activity->at[place].newest;
    bool computed = ns > 0 || has_gradient(show->session->run, newest);

    if (ns > 0)
        fact_time(to, "time", ns);
    else
        buf_text(&to->text, computed ? "not known" : "none");
    fact_part(to, COLOUR_NONE);
    if (computed)
        buf_text(&to->text, "Gradient: computed");
    fact_part(to, COLOUR_NONE);
    if (ns > 0 && least)
        buf_text(&to->text, "at least: not known for all parts");
    fact_end_as(to, "backward", "backward()", COLOUR_NONE)->share =
        share_of(ns, both_ns);
}

/* "36,864 × 4 bytes"; only the count if element sizes differ. */
static void parameters_part(struct facts *to, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    uint64_t size = 0, other = 0;
    bool mixed = false;

    for (uint32_t p = place; p < model->end[place]; p++) {
        if (model->kind[p] != PLACE_TENSOR ||
            place_tensor(model, p)->role != ROLE_PARAMETER)
            continue;
        if (!dtype_size(place_tensor(model, p)->dtype, 1, &other))
            mixed = true;
        mixed |= size > 0 && size != other;
        size = other;
    }
    if (counts_params(&show->session->places, place) == 0)
        return;
    buf_text(&to->text, "Parameters: ");
    fact_count(to, "params", counts_params(&show->session->places, place));
    if (!mixed && size > 0)
        buf_printf(&to->text, " × %u %s", (unsigned)size, size == 1 ? "byte" : "bytes");
    fact_part(to, COLOUR_NONE);
}

static void memory_fact(struct facts *to, const struct show *show, uint32_t place)
{
    fact_bytes(to, "bytes", counts_bytes(&show->session->places, place));
    fact_part(to, COLOUR_NONE);
    parameters_part(to, show, place);
    buf_text(&to->text, "Output: ");
    fact_bytes(
        to, "output",
        run_io_bytes(show->session->run, show->activity->at[place].newest, RUN_OUT));
    fact_end(to, "memory", COLOUR_NONE);
}

void performance_place(struct facts *to, const struct show *show, uint32_t place)
{
    const struct activity *at = &show->activity->at[place];
    uint64_t backward, both;
    bool least;

    if (at->calls == 0)
        return;
    backward = run_backward(show, place, &least);
    both = at->total_ns + backward;
    title_fact(to, show, place, both);
    fact_time(to, "time", at->total_ns);
    fact_part(to, COLOUR_NONE);
    shape_part(to, show, place, RUN_IN);
    shape_part(to, show, place, RUN_OUT);
    fact_end_as(to, "forward", "forward()", COLOUR_NONE)->share =
        share_of(at->total_ns, both);
    backward_fact(to, show, place, backward, both, least);
    memory_fact(to, show, place);
    memory_place(to, show, place);
}

/* "├─ forward()     1.52ms    ████▉             ": the measurement and its bar. */
static void row_head(struct buf *to, const struct facts *facts, const struct fact *fact,
                     bool last)
{
    buf_text(to, last ? "└─ " : "├─ ");
    text_pad(to, str_of(fact->label), NAME_CELLS);
    text_pad(to, fact_group_text(facts, fact, 0), VALUE_CELLS);
    glyph_bar(to, fact->share, BAR_CELLS, false);
}

/* A row; parts that do not fit after the bar go below it. */
static void row_lines(struct lines *to, const struct facts *facts, struct fact fact,
                      unsigned width, unsigned indent, bool last)
{
    struct buf head = BUF_INIT;
    uint32_t behind;
    size_t cells;

    row_head(&head, facts, &fact, last);
    behind = fact_group_length(facts, &fact, 0);
    fact.first += behind;
    fact.n -= behind;
    cells = indent + text_width(buf_span(&head)) + 2 + fact_cells(facts, &fact);
    lines_pad(to, indent);
    if (fact.n == 0) {
        lines_add(to, COLOUR_NONE, 0, str_trim(buf_span(&head)));
        lines_end(to);
    } else if (width == 0 || cells <= width) {
        buf_text(&head, "  ");
        lines_add(to, COLOUR_NONE, 0, buf_span(&head));
        fact_pack(to, facts, &fact, 0, 0);
        lines_end(to);
    } else {
        lines_add(to, COLOUR_NONE, 0, str_trim(buf_span(&head)));
        lines_end(to);
        lines_pad(to, indent);
        lines_text(to, COLOUR_NONE, last ? "   " : "│  ");
        fact_pack(to, facts, &fact, width, indent + 3);
        lines_end(to);
    }
    buf_release(&head);
}

void performance_lines(struct lines *to, const struct facts *facts, unsigned width,
                       unsigned indent)
{
    for (uint32_t i = 0; i < facts->n; i++) {
        if (i == 0) {
            lines_pad(to, indent);
            fact_pack(to, facts, &facts->at[i], width, indent + 2);
            lines_end(to);
        } else {
            row_lines(to, facts, facts->at[i], width, indent, i + 1 == facts->n);
        }
    }
}

/* ---- the run ---- */

/* " 8.19ms, 9% of run"; after the first of a list only the share. */
static void add_own_time(struct facts *to, const struct show *show, uint64_t ns,
                         bool first)
{
    buf_char(&to->text, ' ');
    fact_time(to, "self", ns);
    if (show->activity->total_ns == 0)
        return;
    buf_text(&to->text, ", ");
    fact_share(to, "share", ns, show->activity->total_ns);
    buf_text(&to->text, first ? " of run" : "");
}

/* One fact, or with `listed` one per entry. */
static void slow_facts(struct facts *to, const struct show *show,
                       const struct slow_list *list, bool classes, uint32_t most,
                       bool listed)
{
    const char *id = classes ? "by_class" : "slowest";
    const char *label = classes ? "by class" : "slowest";

    for (uint32_t i = 0; i < list->n && i < most; i++) {
        const struct slow *slow = &list->at[i];
        struct str name = class_short(place_class(show->model, slow->place));

        if (classes) {
            fact_count(to, "modules", slow->places);
            buf_text(&to->text, " × ");
            fact_text(to, "class", name.len > 0 ? name : STR("(class not known)"));
        } else {
            fact_place(to, "place", show, slow->place);
        }
        add_own_time(to, show, slow->self_ns, i == 0);
        fact_part(to, COLOUR_NONE);
        if (listed)
            fact_end_as(to, id, i == 0 ? label : "", COLOUR_NONE);
    }
    fact_end_as(to, id, classes ? "by class (self)" : "slowest (self)", COLOUR_NONE);
}

int performance_slowest(struct facts *to, const struct show *show, uint32_t most,
                        bool listed, struct err *err)
{
    struct slow_list places, classes;
    struct arena arena;
    int status;

    arena_init(&arena, 0);
    status = slowest_of(&places, &classes, show->activity, show->model, &arena, err);
    if (status == 0) {
        slow_facts(to, show, &places, false, most, listed);
        slow_facts(to, show, &classes, true, most, listed);
    }
    arena_release(&arena);
    return status;
}

void performance_measured(struct facts *to, const struct show *show)
{
    const struct run *run = show->session->run;
    uint64_t threads = run_fact(run, "threads", NULL);
    bool device = false;

    for (uint32_t i = 0; i < run->n_devices; i++) {
        struct str name = run_string(run, run->devices[i]);

        device |= name.len > 0 && !str_is(name, "cpu") && !str_is(name, "meta");
    }
    buf_text(&to->text, "CPU clock");
    if (threads > 0) {
        buf_text(&to->text, ", ");
        fact_plural(to, "threads", threads, "thread", "threads");
    }
    buf_text(&to->text, "; torchoscope's own cost is taken out; ");
    buf_text(&to->text, device ? "host times: work queued on a device is not waited for"
                               : "no device queue to wait for");
    fact_end(to, "measured", COLOUR_NONE);
}
