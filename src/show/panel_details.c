/* Panel 1: what the selected row is. */
#include <string.h>

#include "show/calls_text.h"
#include "show/details.h"
#include "show/details_in.h"
#include "show/diff_view.h"
#include "show/facts.h"
#include "show/panels_in.h"
#include "show/run_text.h"
#include "show/value_text.h"
#include "text/text.h"

#define MOST_CHILDREN 100
#define MOST_CALLS    3
#define ROOMY         12 /* lines */

/* --- Lines */

void details_line(struct details *d, const char *label, enum colour role,
                  struct str text, uint32_t target)
{
    uint32_t first = d->to->n;

    lines_text(d->to, COLOUR_NONE, " ");
    lines_text(d->to, role == COLOUR_NONE || role == COLOUR_GOOD ? COLOUR_DIM : role,
               label);
    lines_pad(d->to, d->indent);
    if (text.len == 0)
        lines_end(d->to);
    lines_wrap(d->to, role, text, d->width, d->indent);
    for (uint32_t i = first; i < d->to->n; i++)
        d->to->at[i].target = target;
}

void details_text(struct details *d, struct str text, uint32_t target)
{
    struct str line;

    while (text.len > 0 && str_split(&text, '\n', &line)) {
        uint32_t first = d->to->n;
        bool alarm = str_find(line, STR("✗")) >= 0 || str_find(line, STR("NaN ")) >= 0;

        lines_text(d->to, COLOUR_NONE, " ");
        lines_wrap(d->to, alarm ? COLOUR_ALARM : COLOUR_NONE, line, d->width, 5);
        for (uint32_t i = first; i < d->to->n; i++)
            d->to->at[i].target = target;
    }
}

static void place_line(struct details *d, const char *label, const char *before,
                       uint32_t place)
{
    struct buf text = BUF_INIT;

    buf_text(&text, before);
    run_place(&text, d->show, place);
    details_line(d, label, COLOUR_NONE, buf_span(&text), place);
    buf_release(&text);
}

#define LABEL 11 /* cells of a label in the texts of details.h */

/* The lines of a text of labels and what they say, but those with one of these labels,
 * which get lines of their own that lead somewhere. */
static void labelled(struct details *d, struct str text, const char *const *without)
{
    struct str line;

    while (text.len > 0 && str_split(&text, '\n', &line)) {
        bool skip = line.len <= LABEL;
        char label[LABEL + 1] = "";

        for (int i = 0; without[i]; i++)
            skip |= str_starts(line, str_of(without[i]));
        if (skip)
            continue;
        memcpy(label, line.at, LABEL);
        for (size_t end = LABEL; end > 0 && label[end - 1] == ' ';)
            label[--end] = '\0';
        details_line(d, label, COLOUR_NONE, str_from(line, LABEL), NO_TARGET);
    }
}

/* "~batchnorm 64  128 params  1.0KB": its name is in the rule above. */
static void head_line(struct details *d, struct str line)
{
    ptrdiff_t gap = str_find(line, STR("  "));

    lines_text(d->to, COLOUR_NONE, " ");
    lines_wrap(d->to, COLOUR_NONE, gap < 0 ? line : str_from(line, (size_t)gap + 2),
               d->width, 3);
}

/* --- A module or group */

static void bases_line(struct details *d, const struct object *object)
{
    const struct model *model = d->show->model;
    struct buf text = BUF_INIT;
    const uint32_t *items;
    uint32_t bases;

    if (!object || object->class_id == NO_CLASS || object->guessed)
        return;
    bases = model->classes[object->class_id].bases;
    if (value_at(&model->values, bases)->kind != VALUE_LIST)
        return;
    items = value_items(&model->values, bases);
    for (uint32_t i = 0; i < value_at(&model->values, bases)->n; i++) {
        buf_text(&text, i > 0 ? ", " : "");
        escape_terminal(&text, value_text(&model->values, items[i]));
    }
    if (text.len > 0)
        details_line(d, "bases", COLOUR_NONE, buf_span(&text), NO_TARGET);
    buf_release(&text);
}

/* How much of what is below is trained. */
static void trained_line(struct details *d, uint32_t place)
{
    const struct model *model = d->show->model;
    struct counts counts = {0};
    struct buf text = BUF_INIT;

    for (uint32_t p = place; p < model->end[place]; p++) {
        const struct tensor *tensor;

        if (model->kind[p] != PLACE_TENSOR || !counts_here(model, p))
            continue;
        tensor = place_tensor(model, p);
        if (tensor->role != ROLE_PARAMETER)
            continue;
        counts.params += counts_elements(model, p);
        if (!(tensor->flags & TENSOR_GRAD_KNOWN))
            continue;
        counts.grad_known++;
        *(tensor->flags & TENSOR_GRAD ? &counts.trainable : &counts.frozen) +=
            counts_elements(model, p);
    }
    if (counts.grad_known == 0)
        return;
    if (counts.trainable == counts.params || counts.frozen == counts.params) {
        buf_text(&text, counts.trainable == counts.params ? "all" : "nothing");
    } else {
        text_commas(&text, counts.trainable);
        buf_text(&text, " of ");
        text_commas(&text, counts.params);
    }
    buf_text(&text, counts.trainable == 0 ? ": frozen" : " trainable");
    details_line(d, "trained", COLOUR_NONE, buf_span(&text), NO_TARGET);
    buf_release(&text);
}

static void children_lines(struct details *d, uint32_t place)
{
    const struct model *model = d->show->model;
    uint32_t child = place_first(model, place);
    struct buf text = BUF_INIT;
    struct str rest, line;

    details_children(&text, d->show, place, MOST_CHILDREN,
                     d->width > 3 ? d->width - 3 : 0);
    rest = buf_span(&text);
    for (uint32_t n = 0; rest.len > 0 && str_split(&rest, '\n', &line); n++) {
        if (line.len == 0)
            break;
        lines_text(d->to, COLOUR_NONE, " ");
        lines_add(d->to, COLOUR_NONE, 0, line);
        lines_end_target(d->to, n < MOST_CHILDREN ? child : NO_TARGET);
        child = n < MOST_CHILDREN ? place_next(model, child) : NO_PLACE;
    }
    buf_release(&text);
}

static void module_lines(struct details *d, uint32_t place)
{
    static const char *const own[] = {"same as ", "arguments  {}", NULL};
    const struct model *model = d->show->model;
    const struct object *object = place_object(model, place);
    struct buf text = BUF_INIT;
    struct measured measured;
    struct str rest, line;

    details_alarms(d, place);
    measured_below(&measured, d->explorer, place);
    /* The root of a file has this line among its own. */
    if (place > 0 ? measured.spoilt > 0 : model->live && !d->show->session->run)
        details_measured(d, &measured);
    details_head(&text, d->show, place);
    rest = buf_span(&text);
    str_split(&rest, '\n', &line);
    head_line(d, line);
    labelled(d, rest, own);
    buf_clear(&text);
    if (object && model->flags[place] & PLACE_AGAIN)
        place_line(d, "same as", "", object->place);
    bases_line(d, object);
    trained_line(d, place);
    if (d->show->activity && model->kind[place] == PLACE_MODULE) {
        calls_text(&text, d->show, place, MOST_CALLS);
        details_text(d, buf_span(&text), NO_TARGET);
    }
    children_lines(d, place);
    buf_release(&text);
}

/* --- A tensor */

static void shape_lines(struct details *d, uint32_t place, const struct tensor *tensor)
{
    struct buf text = BUF_INIT;

    if (tensor->rank > 0)
        text_shape(&text, tensor_shape(d->show->model, tensor), tensor->rank);
    else
        buf_text(&text, "scalar");
    buf_text(&text, "   ");
    text_plural(&text, tensor->numel * dtype_info(tensor->dtype)->values, "value",
                "values");
    buf_text(&text, "   ");
    text_bytes(&text, tensor->layout == LAYOUT_STRIDED
                          ? tensor_bytes(tensor)
                          : counts_bytes(&d->show->session->places, place));
    details_line(d, "shape", COLOUR_NONE, buf_span(&text), NO_TARGET);
    details_line(d, "dtype", COLOUR_NONE, str_of(dtype_name(tensor->dtype)), NO_TARGET);
    buf_release(&text);
}

static void tied_lines(struct details *d, uint32_t place)
{
    const struct model *model = d->show->model;
    const struct tensor *tensor = place_tensor(model, place);
    uint32_t p = tensor->place, told = 1; /* the place itself */
    struct buf text = BUF_INIT;

    for (; p != NO_PLACE && told <= MOST_TIES; p = tensor_next_place(model, p))
        if (p != place) {
            place_line(d, "tied", p == tensor->place ? "to " : "also ", p);
            told++;
        }
    if (p == NO_PLACE || tensor->places <= told)
        return;
    buf_text(&text, "… ");
    text_commas(&text, tensor->places - told);
    buf_text(&text, " more");
    details_line(d, "tied", COLOUR_NONE, buf_span(&text), NO_TARGET);
    buf_release(&text);
}

static void tensor_lines(struct details *d, uint32_t place)
{
    static const char *const own[] = {"tied ", "part ", NULL};
    const struct model *model = d->show->model;
    const struct tensor *tensor = place_tensor(model, place);
    struct buf text = BUF_INIT;

    shape_lines(d, place, tensor);
    details_tensor_values(d, model->object[place]);
    details_tensor(&text, d->show, place, true);
    labelled(d, buf_span(&text), own);
    tied_lines(d, place);
    for (uint32_t p = place_first(model, place); p != NO_PLACE;
         p = place_next(model, p))
        place_line(d, "part", "", p);
    buf_release(&text);
}

/* --- A value */

/* A call that a load would make, and that is not known to be harmless. */
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

static void value_lines(struct details *d, uint32_t place)
{
    struct buf text = BUF_INIT;

    if (is_odd_call(d->show, place)) {
        d->indent = DETAILS_INDENT;
        details_safety(d);
        return; /* what it is stands there */
    }
    details_value(&text, d->show, place);
    lines_text(d->to, COLOUR_NONE, " ");
    lines_wrap(d->to, COLOUR_NONE, str_trim(buf_span(&text)), d->width, 1);
    buf_release(&text);
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

/* What the selected row is in one of them. */
static void side_line(struct details *d, bool right)
{
    struct explorer *side = explorer_side(d->explorer, right);
    struct buf text = BUF_INIT;
    uint32_t place;

    if (!side) {
        buf_text(&text, "not there");
    } else {
        const struct model *model = side->show.model;

        place = explorer_place(side);
        if (model->kind[place] == PLACE_TENSOR) {
            const struct tensor *tensor = place_tensor(model, place);

            text_shape(&text, tensor_shape(model, tensor), tensor->rank);
            buf_printf(&text, "%s%s   ", tensor->rank ? " " : "scalar ",
                       dtype_name(tensor->dtype));
        } else {
            text_plural(&text, counts_params(&side->session->places, place),
                        "parameter", "parameters");
            buf_text(&text, "   ");
        }
        text_bytes(&text, counts_bytes(&side->session->places, place));
        buf_text(&text, "   ");
        run_place(&text, &side->show, place);
    }
    details_line(d, right ? "right" : "left", side ? COLOUR_NONE : COLOUR_DIM,
                 buf_span(&text), NO_TARGET);
    buf_release(&text);
}

/* Of two models: what happened to the one, in short, which is worked out once; below
 * it what the selected row is in both. */
static void pair_lines(struct details *d)
{
    struct buf *text = &d->explorer->in_short, facts = BUF_INIT;
    uint32_t node = browse_place(d->explorer->browse);

    if (text->len == 0)
        diff_short(text, &d->explorer->pair->diff);
    diff_short_lines(d->to, buf_span(text), d->width > 2 ? d->width - 2 : 1);
    if (node == 0)
        return;
    lines_end(d->to);
    diff_facts(&facts, d->show, node);
    details_line(d, "this row", COLOUR_NONE, buf_span(&facts), NO_TARGET);
    side_line(d, false);
    side_line(d, true);
    buf_release(&facts);
}

static void place_lines(struct details *d, uint32_t place)
{
    const struct model *model = d->show->model;
    bool is_file = place == 0 && (!model->live || d->show->session->run);

    if (is_file)
        details_file(d);
    d->indent = DETAILS_INDENT + 1; /* "saved from" is long */
    if (is_file && model->kind[0] == PLACE_MODULE) {
        module_lines(d, 0);
    } else if (is_file) {
        ;
    } else if (model->kind[place] == PLACE_TENSOR) {
        tensor_lines(d, place);
    } else if (model->kind[place] == PLACE_VALUE) {
        value_lines(d, place);
    } else {
        module_lines(d, place);
    }
    details_findings(d, place);
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
    panel_keep_targets(state, to);
}

static bool details_act(struct explorer *explorer, struct panel_state *state,
                        enum panel_act act)
{
    uint32_t target = act == ACT_ENTER ? panel_target(state) : NO_TARGET;

    if (act == ACT_PREVIOUS || act == ACT_NEXT)
        return explorer_step(explorer, act == ACT_NEXT ? 1 : -1);
    if (target == NO_TARGET || explorer->pair)
        return panel_cannot(explorer, act);
    return browse_go(explorer->browse, target);
}

const struct panel details_panel = {
    .number = PANEL_DETAILS,
    .id = "details",
    .title = "Details",
    .cursor = true,
    .hints = "Enter go there",
    .subject = details_subject,
    .lines = details_lines,
    .act = details_act,
    .release = panel_drop_targets,
};
