/* Drops the content of some closed groups. These become boxes with a count of the
 * missing boxes; nets and ends that led into them end there. */
#include "base/base.h"
#include "graph/graph.h"

struct shorter {
    struct diagram *diagram;
    struct plan *plan;
    struct arena scratch;
    bool *whole;     /* by box: its direct children are kept */
    uint32_t *depth; /* by box */
    uint32_t *box;   /* by old box, net, end: the new index, or PLAN_NONE */
    uint32_t *net, *end;
    uint32_t n; /* number of boxes kept */
};

static bool is_asked(const struct diagram_box *box, const struct str *open, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_is(open[i], "*") || str_eq(open[i], box->id))
            return true;
    return false;
}

/* Find the groups that must be kept whole, and the groups around them. */
static void keep_open(struct shorter *s, const struct str *open, uint32_t n_open)
{
    const struct plan_box *boxes = s->plan->boxes;

    for (uint32_t i = 0; i < s->plan->n_boxes; i++) {
        s->depth[i] = i > 0 ? s->depth[boxes[i].parent] + 1 : 0;
        if (!(boxes[i].flags & PLAN_OPEN) &&
            !is_asked(&s->diagram->boxes[i], open, n_open))
            continue;
        for (uint32_t at = i; !s->whole[at]; at = boxes[at].parent) {
            s->whole[at] = true;
            if (at == 0)
                break;
        }
    }
}

static uint32_t count_inside(const struct plan *plan, uint32_t group)
{
    uint32_t n = 0;

    for (uint32_t i = group + 1; i < plan->boxes[group].end; i = plan->boxes[i].end)
        n++;
    return n;
}

/* Keep further groups, level by level, while they fit. */
static void keep_more(struct shorter *s, uint32_t most)
{
    const struct plan *plan = s->plan;
    bool more = true;

    s->n = 1;
    for (uint32_t i = 0; i < plan->n_boxes; i++)
        if (s->whole[i])
            s->n += count_inside(plan, i);
    for (uint32_t depth = 1; more && s->n < most; depth++) {
        more = false;
        for (uint32_t i = 1; i < plan->n_boxes; i++) {
            uint32_t n;

            more |= s->depth[i] > depth;
            if (s->depth[i] != depth || s->whole[i] || !s->whole[plan->boxes[i].parent])
                continue;
            n = count_inside(plan, i);
            if (n == 0 || s->n + n > most)
                continue;
            s->whole[i] = true;
            s->n += n;
        }
    }
}

static void number_boxes(struct shorter *s)
{
    uint32_t n = 1;

    for (uint32_t i = 1; i < s->plan->n_boxes; i++) {
        uint32_t up = s->plan->boxes[i].parent;

        s->box[i] = s->whole[up] && s->box[up] != PLAN_NONE ? n++ : PLAN_NONE;
    }
}

/* The group takes the weight of its heaviest box. */
static uint64_t heaviest(const struct plan *plan, uint32_t group)
{
    uint64_t most = 0;

    for (uint32_t i = group; i < plan->boxes[group].end; i++)
        if (plan->boxes[i].weight > most)
            most = plan->boxes[i].weight;
    return most;
}

static void move_boxes(struct shorter *s)
{
    struct plan *plan = s->plan;
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->n_boxes; i++) {
        struct diagram_box box = s->diagram->boxes[i];
        struct plan_box of = plan->boxes[i];

        if (s->box[i] == PLAN_NONE)
            continue;
        if (!s->whole[i] && of.end > i + 1) {
            box.n_hidden = of.end - i - 1;
            of.weight = heaviest(plan, i);
        }
        of.parent = i > 0 ? s->box[of.parent] : PLAN_NONE;
        of.end = n + 1;
        s->diagram->boxes[n] = box;
        plan->boxes[n++] = of;
    }
    plan->n_boxes = n;
    for (uint32_t i = n; i-- > 1;) {
        struct plan_box *up = &plan->boxes[plan->boxes[i].parent];

        if (up->end < plan->boxes[i].end)
            up->end = plan->boxes[i].end;
    }
}

/* Number the nets that are kept: those in whole groups. Old boxes still have their old
 * numbers. */
static void number_nets(struct shorter *s)
{
    const struct plan *plan = s->plan;
    uint32_t nets = 0, ends = 0;

    for (uint32_t n = 0; n < plan->n_nets; n++) {
        const struct plan_net *net = &plan->nets[n];
        bool stays = s->whole[net->group] && s->box[net->group] != PLAN_NONE;

        s->net[n] = stays ? nets++ : PLAN_NONE;
        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
            s->end[e] = stays ? ends++ : PLAN_NONE;
    }
}

static uint32_t now(const uint32_t *numbers, uint32_t old)
{
    return old == PLAN_NONE ? PLAN_NONE : numbers[old];
}

static void move_net(struct shorter *s, uint32_t old)
{
    uint32_t n = s->net[old], first;
    struct plan_net net = s->plan->nets[old];

    first = net.ends;
    net.group = s->box[net.group];
    net.source = s->box[net.source];
    net.inner = now(s->end, net.inner);
    net.outer = now(s->end, net.outer);
    net.ends = net.n_ends > 0 ? s->end[first] : 0;
    for (uint32_t e = first; e < first + net.n_ends; e++) {
        struct plan_end end = s->plan->ends[e];

        end.net = n;
        end.target = s->box[end.target];
        end.inner = now(s->net, end.inner);
        end.outer = now(s->net, end.outer);
        s->diagram->ends[s->end[e]] = s->diagram->ends[e];
        s->plan->ends[s->end[e]] = end;
    }
    s->diagram->nets[n] = s->diagram->nets[old];
    s->plan->nets[n] = net;
}

/* Ends of a net are consecutive and nets keep their order, so all move to the front. */
static void move_nets(struct shorter *s)
{
    uint32_t nets = 0, ends = 0;

    for (uint32_t n = 0; n < s->plan->n_nets; n++) {
        if (s->net[n] == PLAN_NONE)
            continue;
        nets++;
        ends += s->plan->nets[n].n_ends;
        move_net(s, n);
    }
    s->plan->n_nets = nets;
    s->plan->n_ends = ends;
}

int diagram_shorten(struct diagram *diagram, uint32_t most, const struct str *open,
                    uint32_t n_open, struct err *err)
{
    struct shorter s = {.diagram = diagram, .plan = &diagram->plan};
    const struct plan *plan = s.plan;
    int status = 0;

    if (plan->n_boxes <= most)
        return 0;
    arena_init(&s.scratch, 0);
    s.whole = arena_array(&s.scratch, plan->n_boxes, sizeof *s.whole);
    s.depth = arena_array(&s.scratch, plan->n_boxes, sizeof *s.depth);
    s.box = arena_array(&s.scratch, plan->n_boxes, sizeof *s.box);
    s.net = arena_array(&s.scratch, (size_t)plan->n_nets + 1, sizeof *s.net);
    s.end = arena_array(&s.scratch, (size_t)plan->n_ends + 1, sizeof *s.end);
    if (s.scratch.spent) {
        status = arena_err(&s.scratch, "the graph", err);
    } else {
        keep_open(&s, open, n_open);
        keep_more(&s, most);
        number_boxes(&s);
        number_nets(&s);
        move_nets(&s);
        move_boxes(&s);
    }
    arena_release(&s.scratch);
    return status;
}
