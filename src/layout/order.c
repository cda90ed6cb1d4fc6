/* order.c - plan_order(): arranges one group after the other, outer ones first, because
 * the slots at the border of a group are chosen outside. */
#include <stdlib.h>

#include "layout/order_in.h"

void *order_array(struct ordering *o, size_t n, size_t item)
{
    return arena_array(o->scratch, n > 0 ? n : 1, item);
}

/* Counts groups and assigns their parts of the plan's arrays. A leaf box is not a
 * group, except the root. */
static int make_groups(struct plan *plan, uint32_t *local, struct arena *arena)
{
    uint32_t n = 1, net = 0;

    for (uint32_t i = 1; i < plan->n_boxes; i++)
        n += plan->boxes[i].end > i + 1;
    plan->groups = arena_array(arena, n, sizeof(*plan->groups));
    plan->tracks = arena_array(arena, (size_t)plan->n_boxes + n, sizeof(uint32_t));
    plan->lanes = arena_array(arena, (size_t)plan->n_nets + 1, sizeof(uint32_t));
    if (!plan->groups || !plan->tracks || !plan->lanes)
        return -1;
    plan->n_groups = 0;
    for (uint32_t i = 0; i < plan->n_boxes; i++) {
        struct plan_group *group = &plan->groups[plan->n_groups];
        uint32_t nodes = 0;

        if (i > 0 && plan->boxes[i].end == i + 1)
            continue;
        plan->n_groups++;
        group->box = i;
        for (uint32_t c = i + 1; c < plan->boxes[i].end; c = plan->boxes[c].end)
            local[c] = nodes++;
        group->nets = group->lanes = net;
        while (net < plan->n_nets && plan->nets[net].group == i)
            net++;
        group->n_nets = net - group->nets;
    }
    return 0;
}

/* Lists, for every node, the nets that leave it and the ends that enter it. */
static int index_lines(struct ordering *o)
{
    const struct plan_group *group = o->group;
    struct plan *plan = o->plan;
    uint32_t nets = 0, ends = 0, total = 0;

    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
        const struct plan_net *net = &plan->nets[k];

        o->nodes[source_node(o, net)].n_nets++;
        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
            o->nodes[target_node(o, &plan->ends[e])].n_ends++;
        total += net->n_ends;
    }
    o->exits = order_array(o, group->n_nets, sizeof(*o->exits));
    o->entries = order_array(o, total, sizeof(*o->entries));
    if (!o->exits || !o->entries)
        return -1;
    for (uint32_t i = 0; i < o->n + 2; i++) {
        o->nodes[i].nets = nets;
        o->nodes[i].ends = ends;
        nets += o->nodes[i].n_nets;
        ends += o->nodes[i].n_ends;
        o->nodes[i].n_nets = o->nodes[i].n_ends = 0;
    }
    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
        const struct plan_net *net = &plan->nets[k];
        struct order_node *source = &o->nodes[source_node(o, net)];

        o->exits[source->nets + source->n_nets++] = k;
        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
            struct order_node *target = &o->nodes[target_node(o, &plan->ends[e])];

            o->entries[target->ends + target->n_ends++] = e;
        }
    }
    return 0;
}

static int make_nodes(struct ordering *o)
{
    const struct plan_box *boxes = o->plan->boxes;
    uint32_t group = o->group->box;

    for (uint32_t c = group + 1; c < boxes[group].end; c = boxes[c].end)
        o->n++;
    o->in = o->n;
    o->out = o->n + 1;
    o->nodes = order_array(o, (size_t)o->n + 2, sizeof(*o->nodes));
    if (!o->nodes)
        return -1;
    for (uint32_t c = group + 1, i = 0; c < boxes[group].end; c = boxes[c].end) {
        o->nodes[i].box = c;
        o->nodes[i++].sides = (boxes[c].flags & PLAN_SIDE) && boxes[c].end == c + 1;
    }
    o->nodes[o->in].box = o->nodes[o->out].box = group;
    return index_lines(o);
}

/* Slots at the border equal those of the same value outside. Values without an outside
 * (at the root, all of them) take new ones: the axis, then on both sides. */
static int32_t fresh_slot(int32_t *used, int32_t odd)
{
    int32_t n = (*used)++;

    return n == 0 ? 0 : (n + (n & 1) - odd) * (n & 1 ? 1 : -1);
}

static void slot_border(struct ordering *o)
{
    const struct order_node *in = &o->nodes[o->in], *out = &o->nodes[o->out];
    struct plan *plan = o->plan;
    int32_t used = 0;

    for (int pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < in->n_nets; k++) {
            struct plan_net *net = &plan->nets[o->exits[in->nets + k]];

            if ((net->outer != PLAN_NONE) != (pass == 0))
                continue;
            net->slot = pass ? fresh_slot(&used, 1) : plan->ends[net->outer].slot;
            if (!pass && 2 * (abs(net->slot) + 1) > used)
                used = 2 * (abs(net->slot) + 1);
        }
    used = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < out->n_ends; k++) {
            struct plan_end *end = &plan->ends[o->entries[out->ends + k]];

            if ((end->outer != PLAN_NONE) != (pass == 0))
                continue;
            end->slot = pass ? fresh_slot(&used, 0) : plan->nets[end->outer].slot;
            if (!pass && 2 * (abs(end->slot) + 1) > used)
                used = 2 * (abs(end->slot) + 1);
        }
}

static void note_nodes(const struct ordering *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        struct plan_box *box = &o->plan->boxes[o->nodes[i].box];

        box->rank = (uint32_t)o->nodes[i].rank;
        box->last = (uint32_t)o->nodes[i].last;
        box->column = o->nodes[i].column;
    }
}

static int order_group(struct ordering *o, uint32_t *n_tracks)
{
    if (make_nodes(o) < 0)
        return -1;
    slot_border(o);
    order_ranks(o);
    o->group->rows = (uint32_t)o->rows;
    o->group->channels = *n_tracks;
    *n_tracks += (uint32_t)o->rows + 1;
    o->group->n_columns = 1;
    if (o->n == 0)
        return 0;
    if (order_chains(o) < 0 || order_columns(o) < 0 || order_ways(o) < 0 ||
        order_slots(o) < 0 || order_tracks(o) < 0 || order_extend(o) < 0)
        return -1;
    note_nodes(o);
    return 0;
}

int plan_order(struct plan *plan, struct arena *arena, struct err *err)
{
    struct arena scratch;
    uint32_t *local, n_tracks = 0;
    struct order_flow flow;
    int ret = -1;

    if (order_check(plan, err) < 0)
        return -1;
    arena_init(&scratch, arena->limit);
    local = arena_array(&scratch, plan->n_boxes, sizeof(*local));
    if (!local || make_groups(plan, local, arena) < 0 ||
        order_flow(&flow, plan, &scratch) < 0)
        goto out;
    for (uint32_t g = 0; g < plan->n_groups; g++) {
        struct ordering o = {.plan = plan,
                             .group = &plan->groups[g],
                             .scratch = &scratch,
                             .local = local,
                             .flow = &flow};

        if (order_group(&o, &n_tracks) < 0)
            goto out;
    }
    ret = 0;

out:
    arena_release(&scratch);
    return ret < 0 ? arena_err(arena, "the layout of the graph", err) : 0;
}
