/* Panel 1: facts about the selected row. */
#include <string.h>

#include "compare/diff_view.h"
#include "compare/divergence_text.h"
#include "compare/parting_text.h"
#include "explorer/details_in.h"
#include "explorer/panels_in.h"
#include "facts/calls_text.h"
#include "facts/details.h"
#include "facts/facts.h"
#include "facts/notes.h"
#include "facts/run_text.h"
#include "rows/value_text.h"
#include "text/text.h"

#define MOST_CHILDREN 100
#define MOST_CALLS    3
#define MOST_FINDINGS 50
#define MOST_LATER    20
#define ROOMY         12 /* lines */

/* Draw the facts so far. */
static void flush(struct details *d)
{
    struct facts_look look = {.width = d->width, .indent = d->indent, .panel = true};

    facts_lines(d->to, &d->facts, &look);
    facts_clear(&d->facts);
}

/* --- A module or group */

static void children_lines(struct details *d, uint32_t place)
{
    flush(d);
    details_children(d->to, d->show, place, MOST_CHILDREN, 3,
                     d->width > 3 ? d->width - 3 : 0);
}

static void module_facts(struct details *d, uint32_t place)
{
    const struct model *model = d->show->model;
    struct measured measured;

    notes_place(&d->facts, d->show, place);
    measured_below(&measured, d->explorer, place);
    /* The root of a file shows this line elsewhere. */
    if (place > 0 ? measured.spoilt > 0 : model->live && !d->show->session->run)
        details_measured(d, &measured);
    details_module(&d->facts, d->show, place, DETAILS_KIND);
    if (d->show->activity && model->kind[place] == PLACE_MODULE)
        calls_facts(&d->facts, d->show, place, MOST_CALLS);
    children_lines(d, place);
}

/* --- A tensor */

static void shape_facts(struct details *d, uint32_t place, const struct tensor *tensor)
{
    struct buf *text = &d->facts.text;

    text_shape(text, tensor_shape(d->show->model, tensor), tensor->rank);
    buf_text(text, "   ");
    text_plural(text, tensor->numel * dtype_info(tensor->dtype)->values, "value",
                "values");
    buf_text(text, "   ");
    text_bytes(text, tensor->layout == LAYOUT_STRIDED
                         ? tensor_own_bytes(tensor)
                         : counts_bytes(&d->show->session->places, place));
    fact_end(&d->facts, "shape", COLOUR_NONE);
    buf_text(text, dtype_name(tensor->dtype));
    fact_end(&d->facts, "dtype", COLOUR_NONE);
}

static void tensor_facts(struct details *d, uint32_t place)
{
    const struct model *model = d->show->model;

    notes_no_gradient_at(&d->facts, d->show, place);
    shape_facts(d, place, place_tensor(model, place));
    details_tensor_values(d, model->object[place]);
    details_tensor(&d->facts, d->show, place, true);
}

/* --- A value */

/* A call that loading would make and that is not known to be safe. */
static bool is_odd_call(const struct show *show, uint32_t place)
{
    const struct value *value;

    if (show->model->kind[place] != PLACE_VALUE)
        return false;
    value = value_at(&show->model->values, show->model->object[place]);
    return (value->kind == VALUE_CALL || value->kind == VALUE_OBJECT ||
            value->kind == VALUE_GLOBAL) &&
           show_trust(show, value->text) != TRUST_KNOWN;
}

static void value_facts(struct details *d, uint32_t place)
{
    if (is_odd_call(d->show, place)) {
        d->indent = DETAILS_INDENT;
        details_safety(d); /* explains it */
    } else {
        details_value(&d->facts, d->show, place);
    }
}

/* --- The panel */

static void details_subject(struct buf *to, struct explorer *explorer)
{
    uint32_t place = explorer_place(explorer);

    if (explorer->pair || place == NO_PLACE)
        return;
    if (is_odd_call(&explorer->show, place))
        buf_text(to, "safety of ");
    if (place == 0 || is_odd_call(&explorer->show, place))
        escape_terminal(to, explorer->show.file_name);
    else
        run_place(to, &explorer->show, place);
}

/* The selected row in one of the two models. */
static void side_fact(struct details *d, bool right)
{
    struct explorer *side = explorer_side(d->explorer, right);
    struct buf *text = &d->facts.text;
    uint32_t place;

    if (!side) {
        buf_text(text, "not there");
    } else {
        const struct model *model = side->show.model;

        place = explorer_place(side);
        if (model->kind[place] == PLACE_TENSOR) {
            const struct tensor *tensor = place_tensor(model, place);

            text_shape(text, tensor_shape(model, tensor), tensor->rank);
            buf_printf(text, " %s   ", dtype_name(tensor->dtype));
        } else {
            text_plural(text, counts_params(&side->session->places, place), "parameter",
                        "parameters");
            buf_text(text, "   ");
        }
        text_bytes(text, counts_bytes(&side->session->places, place));
        buf_text(text, "   ");
        run_place(text, &side->show, place);
    }
    fact_end(&d->facts, right ? "right" : "left", side ? COLOUR_NONE : COLOUR_DIM);
}

/* Two recordings: where their results begin to differ. */
static void results_lines(struct details *d, const struct pair *pair, uint32_t node)
{
    const struct divergence_words words = {
        .divergence = pair->divergence, .most = MOST_LATER, .diff = &pair->diff};

    if (node == 0 && pair->parting)
        parting_facts(&d->facts, pair->parting);
    if (node != 0)
        divergence_node(&d->facts, &words, node);
    else if (!(pair->parting && pair->parting->common > 0) &&
             divergence_facts(&d->facts, &words, NULL) < 0)
        facts_clear(&d->facts);
    flush(d);
    lines_end(d->to);
}

/* Pair: a summary of what changed, computed once; below it the selected row in both. */
static void pair_lines(struct details *d)
{
    struct buf *text = &d->explorer->in_short;
    uint32_t node = browse_place(d->explorer->browse);

    if (d->explorer->pair->divergence)
        results_lines(d, d->explorer->pair, node);
    if (text->len == 0)
        diff_short(text, &d->explorer->pair->diff);
    diff_short_lines(d->to, buf_span(text), d->width > 2 ? d->width - 2 : 1);
    if (node == 0)
        return;
    lines_end(d->to);
    diff_facts(&d->facts.text, d->show, node);
    fact_end(&d->facts, "this row", COLOUR_NONE);
    side_fact(d, false);
    side_fact(d, true);
}

static void place_lines(struct details *d, uint32_t place)
{
    const struct model *model = d->show->model;
    bool is_file = place == 0 && (!model->live || d->show->session->run);

    if (is_file)
        details_file(d);
    flush(d);
    d->indent = DETAILS_INDENT + 1; /* "saved from" is longer */
    if (is_file && model->kind[0] == PLACE_MODULE) {
        module_facts(d, 0);
    } else if (is_file) {
        ;
    } else if (model->kind[place] == PLACE_TENSOR) {
        tensor_facts(d, place);
    } else if (model->kind[place] == PLACE_VALUE) {
        value_facts(d, place);
    } else {
        module_facts(d, place);
    }
    notes_findings(&d->facts, model, place, MOST_FINDINGS);
}

static void details_lines(struct lines *to, struct explorer *explorer,
                          struct panel_state *state, const struct panel_room *room)
{
    struct details d = {.to = to,
                        .explorer = explorer,
                        .show = &explorer->show,
                        .width = room->width,
                        .indent = DETAILS_INDENT,
                        .roomy = room->height >= ROOMY || room->zoomed};

    if (explorer->pair)
        pair_lines(&d);
    else
        place_lines(&d, explorer_place(explorer));
    flush(&d);
    facts_release(&d.facts);
    panel_keep_targets(state, to);
}

static bool details_act(struct explorer *explorer, struct panel_state *state,
                        enum panel_act act)
{
    uint32_t target = act == ACT_ENTER ? panel_target(state) : NO_TARGET;

    if (act == ACT_PREVIOUS || act == ACT_NEXT)
        return explorer_step(explorer, act == ACT_NEXT ? 1 : -1);
    if (target == NO_TARGET)
        return panel_cannot(explorer, act);
    return browse_go(explorer->browse, target);
}

static const struct panel_hint details_hints[] = {
    {"enter", NULL, "go there"},
    {NULL, NULL, NULL},
};

const struct panel details_panel = {
    .number = PANEL_DETAILS,
    .id = "details",
    .title = "Details",
    .cursor = true,
    .hints = details_hints,
    .subject = details_subject,
    .lines = details_lines,
    .act = details_act,
    .release = panel_drop_targets,
};
