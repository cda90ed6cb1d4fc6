/* Labels beside lines: shapes, several tensors, shares of gradients. look.md, section
 * 5. */
#include <math.h>

#include "export/picture/picture_in.h"
#include "text/escape.h"
#include "text/font.h"
#include "text/number.h"

#define TEXT_SIZE  11
#define SPARE      1.15
#define LINE       14  /* height of one line of a label */
#define MORE_MOST  220 /* a second line that is wider stays in the tooltip */
#define LABEL_MOST 260

const double picture_line_widths[4] = {1.25, 2, 2.75, 3.5};

uint32_t picture_width_class(uint64_t bytes)
{
    uint64_t mib = (uint64_t)1 << 20;

    return bytes < mib ? 0 : bytes <= 16 * mib ? 1 : bytes <= 256 * mib ? 2 : 3;
}

static int32_t label_width(struct str text)
{
    return (int32_t)ceil(SPARE * font_size_width(text, FONT_REGULAR, TEXT_SIZE));
}

static struct str label_text(struct picture *picture, struct str raw, double most,
                             struct buf *tmp)
{
    struct str shown = picture_text(picture, raw);

    font_cut_middle(tmp, shown, FONT_REGULAR,
                    (uint32_t)(most / SPARE * 1000 / TEXT_SIZE));
    return picture_keep(picture, tmp);
}

/* In a picture of gradients a line has the norm of its gradient instead of its shape. */
static bool has_gradient(const struct picture *picture, uint32_t n)
{
    return picture->wanted->color == DIAGRAM_GRADIENT && !picture->wanted->shapes &&
           !isnan(picture->diagram->nets[n].gradient);
}

/* Does the box at this end show the shape itself? */
static bool says_shape(const struct diagram *diagram, uint32_t box)
{
    const struct diagram_box *at = &diagram->boxes[box];

    return diagram_is_tensor(at->kind) || (at->kind == DIAGRAM_VIEW && at->n_words > 0);
}

/* Does a net end at a box inside its group? One that only leads out is labelled
 * outside. */
static bool ends_inside(const struct diagram *diagram, uint32_t n, bool at_output)
{
    const struct plan_net *net = &diagram->plan.nets[n];

    for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
        uint32_t target = diagram->plan.ends[e].target;

        if (target != net->group &&
            (at_output || diagram->boxes[target].kind != DIAGRAM_OUTPUT))
            return true;
    }
    return false;
}

/* The label of a line belongs to its outermost piece; a piece that only leads into or
 * out of a group has none. */
static bool has_label(const struct picture *picture, uint32_t n)
{
    const struct diagram *diagram = picture->diagram;
    const struct plan_net *net = &diagram->plan.nets[n];
    const struct diagram_net *what = &diagram->nets[n];

    if (net->source == net->group)
        return false;
    if (has_gradient(picture, n))
        return ends_inside(diagram, n, true);
    if (what->label.len == 0 || says_shape(diagram, net->source) ||
        !ends_inside(diagram, n, false))
        return false;
    return what->changed || what->n_tensors > 1 ||
           (diagram->wanted.level == GRAPH_MODULES && diagram->n_shown <= PICTURE_FEW);
}

static struct str gradient_text(struct picture *picture, double norm, struct buf *tmp)
{
    buf_text(tmp, "grad ");
    text_real(tmp, norm);
    return picture_keep(picture, tmp);
}

static void fit_label(struct picture *picture, uint32_t n, struct buf *tmp)
{
    const struct diagram_net *what = &picture->diagram->nets[n];
    struct plan_net *net = &picture->diagram->plan.nets[n];
    struct picture_label *label = &picture->labels[n];

    net->label_width = net->label_height = 0;
    if (!has_label(picture, n))
        return;
    if (has_gradient(picture, n)) {
        label->text = gradient_text(picture, what->gradient, tmp);
    } else {
        label->text = label_text(picture, what->label, LABEL_MOST, tmp);
        label->strong = what->changed || what->n_tensors > 1;
    }
    net->label_width = label_width(label->text);
    net->label_height = LINE;
    if (what->n_tensors > 1 && what->more.len > 0) {
        struct str more = picture_text(picture, what->more);

        if (label_width(more) > MORE_MOST)
            return;
        label->more = more;
        net->label_height = 2 * LINE;
        if (label_width(more) > net->label_width)
            net->label_width = label_width(more);
    }
}

int picture_fit_labels(struct picture *picture, struct err *err)
{
    struct plan *plan = &picture->diagram->plan;
    struct buf tmp = BUF_INIT;

    picture->labels_for = picture->diagram->n_shown;
    picture->labels =
        arena_array(&picture->arena, plan->n_nets, sizeof *picture->labels);
    picture->end_labels =
        arena_array(&picture->arena, plan->n_ends, sizeof *picture->end_labels);
    if ((plan->n_nets > 0 && !picture->labels) ||
        (plan->n_ends > 0 && !picture->end_labels))
        return arena_err(&picture->arena, "the picture", err);
    for (uint32_t n = 0; n < plan->n_nets; n++)
        fit_label(picture, n, &tmp);
    buf_release(&tmp);
    return picture->arena.spent ? arena_err(&picture->arena, "the picture", err) : 0;
}

/* "82%", "skip 82%", "detach"; or the name of one of several results. */
static void end_text(const struct diagram *diagram, uint32_t e, struct buf *to)
{
    const struct diagram_end *what = &diagram->ends[e];
    uint8_t way = diagram->plan.ends[e].way;

    if (!isnan(what->share)) {
        if (way == PLAN_LANE || way == PLAN_LANE_SIDE)
            buf_text(to, "skip ");
        buf_printf(to, "%.0f%%", 100 * what->share);
    } else if (what->detached) {
        buf_text(to, "detach");
    } else if (diagram->boxes[diagram->plan.ends[e].target].kind != DIAGRAM_OUTPUT) {
        escape_terminal(to, what->label); /* an output shows its shape itself */
    }
}

int picture_fit_end_labels(struct picture *picture, struct err *err)
{
    struct plan *plan = &picture->diagram->plan;
    struct buf text = BUF_INIT, tmp = BUF_INIT;

    for (uint32_t e = 0; e < plan->n_ends; e++) {
        struct plan_end *end = &plan->ends[e];

        end->label_width = end->label_height = 0;
        buf_clear(&text);
        if (end->target != plan->nets[end->net].group)
            end_text(picture->diagram, e, &text);
        if (text.len == 0)
            continue;
        picture->end_labels[e] = label_text(picture, buf_span(&text), LABEL_MOST, &tmp);
        end->label_width = label_width(picture->end_labels[e]);
        end->label_height = LINE;
    }
    if (text.bad || tmp.bad)
        picture->arena.spent = true;
    buf_release(&text);
    buf_release(&tmp);
    return picture->arena.spent ? arena_err(&picture->arena, "the picture", err) : 0;
}
