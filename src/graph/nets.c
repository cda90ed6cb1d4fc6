/* Links become nets. A value is followed from its source up to the group that it shares
 * with a reader, and from the reader up to the same group; each group on the way gets
 * one net for it. Stamps mark the groups that the value has already reached, so the
 * work is linear in links and nets. */
#include <stdlib.h>

#include "graph/nets_in.h"

#define NETS_MOST (1u << 24) /* malicious nesting could multiply them */

/* ---- signals ---- */

static int by_source(const void *a, const void *b)
{
    const struct box_link *x = a, *y = b;

    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return x->change < y->change ? -1 : x->change > y->change;
}

static bool same_link(const struct box_link *x, const struct box_link *y)
{
    return x->source == y->source && x->value == y->value && x->target == y->target;
}

static bool same_targets(const struct nets *nets, const struct signal *signal,
                         uint32_t links, uint32_t n)
{
    if (signal->n_targets != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (nets->links[signal->links + i].target != nets->links[links + i].target)
            return false;
    return true;
}

static int add_signal(struct nets *nets, uint32_t links, uint32_t n)
{
    struct signal signal = {.source = nets->links[links].source,
                            .links = links,
                            .n_targets = n,
                            .n_values = 0};

    if (arena_room(nets->parts->scratch, &nets->signals, nets->n_signals,
                   &nets->signals_room, sizeof *nets->signals) < 0)
        return -1;
    nets->signals[nets->n_signals++] = signal;
    return 0;
}

/* Values of one source with the same readers are one signal. `run_signal` maps the
 * first link of each value to its signal. */
static int find_signals(struct nets *nets, uint32_t *run_signal)
{
    struct map seen;

    map_init(&seen, nets->parts->scratch);
    for (uint32_t i = 0, n; i < nets->n_links; i += n) {
        const struct box_link *link = &nets->links[i];
        uint64_t key = hash_u64(link->source);
        uint32_t found = PART_NONE;

        for (n = 0; i + n < nets->n_links && link[n].source == link->source &&
                    link[n].value == link->value;
             n++)
            key = hash_mix(key, link[n].target);
        for (; map_find(&seen, key, &found); key++)
            if (nets->signals[found].source == link->source &&
                same_targets(nets, &nets->signals[found], i, n))
                break;
        if (!map_find(&seen, key, &found)) {
            found = nets->n_signals;
            if (add_signal(nets, i, n) < 0 || map_put(&seen, key, found) < 0)
                return -1;
        }
        run_signal[i] = found;
        nets->signals[found].n_values++;
    }
    return 0;
}

/* Lists the values of each signal. */
static int list_values(struct nets *nets, const uint32_t *run_signal)
{
    uint32_t at = 0;

    nets->signal_values = arena_array(nets->parts->scratch, (size_t)nets->n_links + 1,
                                      sizeof *nets->signal_values);
    if (!nets->signal_values)
        return -1;
    for (uint32_t i = 0; i < nets->n_signals; i++) {
        nets->signals[i].values = at;
        at += nets->signals[i].n_values;
        nets->signals[i].n_values = 0;
    }
    for (uint32_t i = 0; i < nets->n_links; i++) {
        const struct box_link *link = &nets->links[i];
        struct signal *signal;

        if (i > 0 && link[-1].source == link->source && link[-1].value == link->value)
            continue;
        signal = &nets->signals[run_signal[i]];
        nets->signal_values[signal->values + signal->n_values++] = link->value;
    }
    return 0;
}

/* Drop duplicate links, after sorting. */
static void drop_doubles(struct nets *nets)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < nets->n_links; i++)
        if (n == 0 || !same_link(&nets->links[n - 1], &nets->links[i]))
            nets->links[n++] = nets->links[i];
    nets->n_links = n;
}

static int make_signals(struct nets *nets)
{
    uint32_t *run_signal;

    qsort(nets->links, nets->n_links, sizeof *nets->links, by_source);
    drop_doubles(nets);
    run_signal = arena_array(nets->parts->scratch, (size_t)nets->n_links + 1,
                             sizeof *run_signal);
    if (!run_signal || find_signals(nets, run_signal) < 0)
        return -1;
    return list_values(nets, run_signal);
}

/* ---- nets and ends ---- */

static uint32_t add_net(struct nets *nets, uint32_t group, uint32_t source,
                        uint32_t signal)
{
    struct new_net net = {.group = group,
                          .source = source,
                          .inner = PLAN_NONE,
                          .outer = PLAN_NONE,
                          .first = PLAN_NONE,
                          .signal = signal,
                          .source_signals = signal};

    if (nets->n_nets >= NETS_MOST ||
        arena_room(nets->parts->scratch, &nets->nets, nets->n_nets, &nets->nets_room,
                   sizeof *nets->nets) < 0)
        return PLAN_NONE;
    nets->nets[nets->n_nets] = net;
    return nets->n_nets++;
}

static uint32_t add_end(struct nets *nets, uint32_t net, uint32_t target,
                        uint32_t signal)
{
    struct new_end end = {.net = net,
                          .target = target,
                          .inner = PLAN_NONE,
                          .outer = PLAN_NONE,
                          .next = PLAN_NONE,
                          .signal = signal,
                          .n_signals = 1};
    struct new_net *of = &nets->nets[net];

    if (arena_room(nets->parts->scratch, &nets->ends, nets->n_ends, &nets->ends_room,
                   sizeof *nets->ends) < 0)
        return PLAN_NONE;
    nets->ends[nets->n_ends] = end;
    if (of->first == PLAN_NONE)
        of->first = nets->n_ends;
    else
        nets->ends[of->last].next = nets->n_ends;
    of->last = nets->n_ends;
    of->n_ends++;
    return nets->n_ends++;
}

/* The end of a net at a leaf box. Several signals of one source that reach the same box
 * share it. */
static int end_at_leaf(struct nets *nets, uint32_t net, uint32_t box, uint32_t signal,
                       uint8_t change)
{
    uint32_t end = nets->leaf_end[box];

    if (end != PLAN_NONE && nets->ends[end].net == net) {
        nets->ends[end].signal = PLAN_NONE;
        nets->ends[end].n_signals++;
        if (nets->ends[end].change != change)
            nets->ends[end].change = DIAGRAM_SAME;
        return 0;
    }
    end = add_end(nets, net, box, signal);
    nets->leaf_end[box] = end;
    if (end == PLAN_NONE)
        return -1;
    nets->ends[end].change = change;
    return 0;
}

/* An end at a box; if the box is a group, the net `inside` continues it. */
static int end_at(struct nets *nets, uint32_t net, uint32_t box, uint32_t inside,
                  uint32_t signal, uint8_t change)
{
    uint32_t end;

    if (inside == PLAN_NONE)
        return end_at_leaf(nets, net, box, signal, change);
    end = add_end(nets, net, box, signal);
    if (end == PLAN_NONE)
        return -1;
    nets->ends[end].inner = inside;
    nets->nets[inside].outer = end;
    return 0;
}

/* The net that carries the signal inside `group`, which surrounds its source. */
static uint32_t net_up(struct nets *nets, uint32_t leaf_net, uint32_t group,
                       uint32_t signal)
{
    const uint32_t *parent = nets->parts->up;
    uint32_t net = leaf_net, at = nets->nets[leaf_net].group;

    while (at != group) {
        uint32_t above = parent[at], end, next;

        if (nets->up_for[above] != signal + 1) {
            end = add_end(nets, net, at, signal);
            next = add_net(nets, above, at, signal);
            if (end == PLAN_NONE || next == PLAN_NONE)
                return PLAN_NONE;
            nets->ends[end].outer = next;
            nets->nets[next].inner = end;
            nets->up[above] = next;
            nets->up_for[above] = signal + 1;
        }
        net = nets->up[above];
        at = above;
    }
    return net;
}

/* Walk outwards from the reader until the signal is found. */
static int reach(struct nets *nets, uint32_t leaf_net, const struct box_link *link,
                 uint32_t signal)
{
    const uint32_t *parent = nets->parts->up;
    uint32_t source = nets->signals[signal].source;
    uint32_t at = link->target, inside = PLAN_NONE, group, net;

    for (group = parent[at]; nets->around[group] != source + 1; group = parent[at]) {
        bool known = nets->in_for[group] == signal + 1;

        if (!known) {
            net = add_net(nets, group, group, signal);
            if (net == PLAN_NONE)
                return -1;
            nets->in[group] = net;
            nets->in_for[group] = signal + 1;
            if (nets->first_value[group] == PART_NONE)
                nets->first_value[group] =
                    nets->signal_values[nets->signals[signal].values];
        }
        if (end_at(nets, nets->in[group], at, inside, signal, link->change) < 0)
            return -1;
        if (known)
            return 0;
        inside = nets->in[group];
        at = group;
    }
    net = net_up(nets, leaf_net, group, signal);
    if (net == PLAN_NONE)
        return -1;
    return end_at(nets, net, at, inside, signal, link->change);
}

static int make_nets(struct nets *nets)
{
    const uint32_t *parent = nets->parts->up;
    uint32_t leaf_net = PLAN_NONE;

    for (uint32_t i = 0; i < nets->n_signals; i++) {
        const struct signal *signal = &nets->signals[i];

        if (i == 0 || nets->signals[i - 1].source != signal->source) {
            for (uint32_t g = parent[signal->source]; g != PART_NONE; g = parent[g])
                nets->around[g] = signal->source + 1;
            leaf_net = add_net(nets, parent[signal->source], signal->source, i);
            if (leaf_net == PLAN_NONE)
                return -1;
        } else {
            nets->nets[leaf_net].signal = PLAN_NONE;
        }
        for (uint32_t t = 0; t < signal->n_targets; t++)
            if (reach(nets, leaf_net, &nets->links[signal->links + t], i) < 0)
                return -1;
    }
    return 0;
}

/* ---- the plan ---- */

/* Nets by group, ends by net. */
static int sort_nets(struct nets *nets, uint32_t *new_of, uint32_t *place_of)
{
    uint32_t n = 0, *at = arena_array(nets->parts->scratch,
                                      (size_t)nets->parts->n_boxes + 2, sizeof *at);

    if (!at)
        return -1;
    for (uint32_t i = 0; i < nets->n_nets; i++)
        at[nets->nets[i].group + 1]++;
    for (uint32_t i = 0; i < nets->parts->n_boxes; i++)
        at[i + 1] += at[i];
    for (uint32_t i = 0; i < nets->n_nets; i++) {
        n = at[nets->nets[i].group]++;
        new_of[n] = i;
        place_of[i] = n;
    }
    return 0;
}

static uint32_t moved(const uint32_t *to, uint32_t index)
{
    return index == PLAN_NONE ? PLAN_NONE : to[index];
}

static void fill_plan(struct nets *nets, const uint32_t *new_of, uint32_t *new_end_of,
                      const uint32_t *net_place, uint32_t *end_place)
{
    struct plan *plan = &nets->diagram->plan;
    uint32_t n = 0;

    for (uint32_t i = 0; i < nets->n_nets; i++)
        for (uint32_t e = nets->nets[new_of[i]].first; e != PLAN_NONE;
             e = nets->ends[e].next) {
            new_end_of[n] = e;
            end_place[e] = n++;
        }
    n = 0;
    for (uint32_t i = 0; i < nets->n_nets; i++) {
        const struct new_net *net = &nets->nets[new_of[i]];

        plan->nets[i] = (struct plan_net){.group = net->group,
                                          .source = net->source,
                                          .inner = moved(end_place, net->inner),
                                          .outer = moved(end_place, net->outer),
                                          .ends = n,
                                          .n_ends = net->n_ends};
        n += net->n_ends;
    }
    for (uint32_t i = 0; i < nets->n_ends; i++) {
        const struct new_end *end = &nets->ends[new_end_of[i]];

        plan->ends[i] = (struct plan_end){.net = net_place[end->net],
                                          .target = end->target,
                                          .inner = moved(net_place, end->inner),
                                          .outer = moved(net_place, end->outer)};
    }
    plan->n_nets = nets->n_nets;
    plan->n_ends = nets->n_ends;
}

static int make_plan(struct nets *nets)
{
    struct diagram *diagram = nets->diagram;
    struct arena *arena = nets->parts->arena, *scratch = nets->parts->scratch;
    size_t n_nets = (size_t)nets->n_nets + 1, n_ends = (size_t)nets->n_ends + 1;
    uint32_t *new_of = arena_array(scratch, n_nets, sizeof *new_of);
    uint32_t *net_place = arena_array(scratch, n_nets, sizeof *net_place);
    uint32_t *new_end_of = arena_array(scratch, n_ends, sizeof *new_end_of);
    uint32_t *end_place = arena_array(scratch, n_ends, sizeof *end_place);

    diagram->plan.nets = arena_array(arena, n_nets, sizeof *diagram->plan.nets);
    diagram->plan.ends = arena_array(arena, n_ends, sizeof *diagram->plan.ends);
    diagram->nets = arena_array(arena, n_nets, sizeof *diagram->nets);
    diagram->ends = arena_array(arena, n_ends, sizeof *diagram->ends);
    if (!new_of || !net_place || !new_end_of || !end_place || !diagram->plan.nets ||
        !diagram->plan.ends || !diagram->nets || !diagram->ends)
        return -1;
    if (sort_nets(nets, new_of, net_place) < 0)
        return -1;
    fill_plan(nets, new_of, new_end_of, net_place, end_place);
    nets_changes(nets, new_of);
    return nets_words(nets, new_of, new_end_of);
}

/* ---- all of it ---- */

static int allocate(struct nets *nets)
{
    struct arena *scratch = nets->parts->scratch;
    size_t n = (size_t)nets->parts->n_boxes + 1;

    nets->around = arena_array(scratch, n, sizeof(uint32_t));
    nets->up = arena_array(scratch, n, sizeof(uint32_t));
    nets->up_for = arena_array(scratch, n, sizeof(uint32_t));
    nets->in = arena_array(scratch, n, sizeof(uint32_t));
    nets->in_for = arena_array(scratch, n, sizeof(uint32_t));
    nets->leaf_end = arena_array(scratch, n, sizeof(uint32_t));
    nets->first_value = arena_array(scratch, n, sizeof(uint32_t));
    if (!nets->around || !nets->up || !nets->up_for || !nets->in || !nets->in_for ||
        !nets->leaf_end || !nets->first_value)
        return -1;
    for (size_t i = 0; i < n; i++)
        nets->leaf_end[i] = nets->first_value[i] = PART_NONE;
    return 0;
}

int nets_make(struct diagram *diagram, const struct parts *parts)
{
    struct nets nets = {.parts = parts, .diagram = diagram};

    nets.links = parts_box_links(parts, &nets.n_links);
    if (!nets.links || allocate(&nets) < 0)
        return -1;
    /* The first value that a box reads is known only while links are in the order of
     * reading. */
    for (uint32_t i = 0; i < nets.n_links; i++)
        if (nets.first_value[nets.links[i].target] == PART_NONE)
            nets.first_value[nets.links[i].target] = nets.links[i].value;
    if (make_signals(&nets) < 0 || make_nets(&nets) < 0)
        return -1;
    return make_plan(&nets);
}
