/* order_check.c - checks that a plan is consistent, so that the other files can use its
 * indices unchecked. */
#include "layout/order_in.h"

static int bad(struct err *err, const char *what, uint32_t index)
{
    return err_set(err, ERR_USAGE, "layout: %s %u is inconsistent", what, index);
}

static int check_boxes(const struct plan *plan, struct err *err)
{
    const struct plan_box *boxes = plan->boxes;

    if (plan->n_boxes == 0 || plan->n_boxes > 1 << 24 || boxes[0].parent != PLAN_NONE ||
        boxes[0].end != plan->n_boxes)
        return bad(err, "box", 0);
    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        const struct plan_box *box = &boxes[i];

        if (box->parent >= i || box->end <= i || box->end > boxes[box->parent].end)
            return bad(err, "box", i);
    }
    return 0;
}

/* Every box directly inside a group is reached by jumping from end to end, so a wrong
 * parent shows as a box that is never reached. */
static int check_parents(const struct plan *plan, struct err *err)
{
    const struct plan_box *boxes = plan->boxes;
    uint64_t reached = 1;

    for (uint32_t i = 0; i < plan->n_boxes; i++)
        for (uint32_t c = i + 1; c < boxes[i].end; c = boxes[c].end) {
            if (boxes[c].parent != i)
                return bad(err, "box", c);
            reached++;
        }
    return reached == plan->n_boxes ? 0 : bad(err, "box", 0);
}

static int check_sizes(const struct plan *plan, struct err *err)
{
    const int32_t most = 1 << 20;

    for (uint32_t i = 0; i < plan->n_boxes; i++) {
        const struct plan_box *box = &plan->boxes[i];

        if (box->width < 0 || box->width > most || box->height < 0 ||
            box->height > most || box->least_width < 0 || box->least_width > most ||
            box->least_height < 0 || box->least_height > most || box->gap < 0 ||
            box->gap > most)
            return err_set(err, ERR_USAGE, "layout: box %u has an impossible size", i);
    }
    return 0;
}

static bool label_ok(int32_t width, int32_t height)
{
    return width >= 0 && width <= 1 << 20 && height >= 0 && height <= 1 << 20;
}

static bool net_ok(const struct plan *plan, uint32_t index)
{
    const struct plan_net *net = &plan->nets[index];
    const struct plan_box *boxes = plan->boxes;

    if (net->group >= plan->n_boxes || boxes[net->group].end <= net->group + 1 ||
        (index > 0 && plan->nets[index - 1].group > net->group))
        return false;
    if (net->source >= plan->n_boxes ||
        (net->source != net->group && boxes[net->source].parent != net->group))
        return false;
    if (net->ends > plan->n_ends || net->n_ends > plan->n_ends - net->ends)
        return false;
    if (net->outer != PLAN_NONE &&
        (net->source != net->group || net->outer >= plan->n_ends ||
         plan->ends[net->outer].inner != index))
        return false;
    if (net->inner != PLAN_NONE &&
        (net->source == net->group || net->inner >= plan->n_ends ||
         plan->ends[net->inner].outer != index))
        return false;
    return label_ok(net->label_width, net->label_height);
}

static bool end_ok(const struct plan *plan, uint32_t index)
{
    const struct plan_end *end = &plan->ends[index];
    const struct plan_net *net;

    if (end->net >= plan->n_nets || end->target >= plan->n_boxes)
        return false;
    net = &plan->nets[end->net];
    if (index < net->ends || index - net->ends >= net->n_ends)
        return false;
    if (end->target != net->group && plan->boxes[end->target].parent != net->group)
        return false;
    if (end->inner != PLAN_NONE &&
        (end->target == net->group || end->inner >= plan->n_nets ||
         plan->nets[end->inner].outer != index ||
         plan->nets[end->inner].group != end->target))
        return false;
    if (end->outer != PLAN_NONE &&
        (end->target != net->group || end->outer >= plan->n_nets ||
         plan->nets[end->outer].inner != index ||
         plan->nets[end->outer].source != net->group))
        return false;
    return label_ok(end->label_width, end->label_height);
}

int order_check(const struct plan *plan, struct err *err)
{
    uint64_t ends = 0;

    if (check_boxes(plan, err) < 0 || check_parents(plan, err) < 0 ||
        check_sizes(plan, err) < 0)
        return -1;
    if (plan->n_nets > 1 << 24 || plan->n_ends > 1 << 24)
        return err_set(err, ERR_LIMIT, "layout: too many lines");
    for (uint32_t i = 0; i < plan->n_nets; i++) {
        if (!net_ok(plan, i))
            return bad(err, "net", i);
        ends += plan->nets[i].n_ends;
    }
    for (uint32_t i = 0; i < plan->n_ends; i++)
        if (!end_ok(plan, i))
            return bad(err, "end", i);
    return ends == plan->n_ends ? 0 : bad(err, "end", 0);
}
