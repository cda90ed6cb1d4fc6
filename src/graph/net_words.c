/* Labels of nets and ends: the shapes they carry; in a diff, what was added or
 * removed. */
#include <math.h>

#include "base/buf.h"
#include "graph/nets_in.h"

#define MORE_MOST 12 /* number of shapes listed */

/* The shapes of several values: "1×8, 3 × 1×64". */
static struct str list_shapes(struct nets *nets, const uint32_t *values, uint32_t n)
{
    struct buf text = BUF_INIT;
    struct str copy;
    uint32_t same, listed = 0;

    for (uint32_t i = 0; i < n; i += same) {
        struct str shape = nets->parts->values[values[i]].shape;

        for (same = 1;
             i + same < n && str_eq(shape, nets->parts->values[values[i + same]].shape);
             same++)
            ;
        buf_text(&text, listed > 0 ? ", " : "");
        if (listed++ == MORE_MOST) {
            buf_printf(&text, "and %u more", n - i);
            break;
        }
        if (same > 1)
            buf_printf(&text, "%u × ", same);
        buf_str(&text, shape);
    }
    copy = arena_str(nets->parts->arena, buf_span(&text));
    buf_release(&text);
    return copy.at ? copy : STR("");
}

static struct str signal_label(struct nets *nets, const struct signal *signal)
{
    char *text;

    if (signal->n_values == 1)
        return nets->parts->values[nets->signal_values[signal->values]].shape;
    text = arena_printf(nets->parts->arena, "%u tensors", signal->n_values);
    return str_of(text ? text : "");
}

/* The values of a net: those of its signal, or of all signals of its source, which are
 * consecutive. */
static const uint32_t *net_values(const struct nets *nets, const struct new_net *net,
                                  uint32_t *ret_n)
{
    const struct signal *signal = &nets->signals[net->source_signals];
    uint32_t last = net->source_signals;

    *ret_n = signal->n_values;
    if (net->signal == PLAN_NONE)
        while (last + 1 < nets->n_signals &&
               nets->signals[last + 1].source == signal->source)
            *ret_n += nets->signals[++last].n_values;
    return &nets->signal_values[signal->values];
}

static uint8_t kind_of(const struct nets *nets, uint32_t box)
{
    return nets->parts->at[nets->parts->part_of[box]].box.kind;
}

/* Inputs and outputs have no labels, and neither do lines inside a group that the value
 * only enters or leaves: they are labelled outside. */
static bool is_silent(const struct nets *nets, const struct new_net *net)
{
    if (net->source == net->group || kind_of(nets, net->source) == DIAGRAM_INPUT)
        return true;
    for (uint32_t e = net->first; e != PLAN_NONE; e = nets->ends[e].next) {
        uint32_t target = nets->ends[e].target;

        if (target != net->group && kind_of(nets, target) != DIAGRAM_OUTPUT)
            return false;
    }
    return true;
}

static void say_net(struct nets *nets, const struct new_net *net,
                    struct diagram_net *to)
{
    const struct part_value *values = nets->parts->values;
    uint32_t n, first = nets->first_value[net->source];
    const uint32_t *list = net_values(nets, net, &n);

    to->n_tensors = n;
    to->gradient = NAN;
    to->dtype = values[list[0]].dtype;
    for (uint32_t i = 0; i < n; i++) {
        to->bytes += values[list[i]].bytes;
        to->not_finite |= values[list[i]].not_finite;
        if (!str_eq(values[list[i]].dtype, to->dtype))
            to->dtype = STR("");
    }
    to->changed = net->source != net->group && first != PART_NONE &&
                  !str_eq(values[first].shape, values[list[0]].shape);
    if (n > 1 && values[list[0]].shape.len > 0)
        to->more = list_shapes(nets, list, n);
    if (net->signal != PLAN_NONE && !is_silent(nets, net))
        to->label = signal_label(nets, &nets->signals[net->signal]);
}

/* One of several results shows its shape, unless it leaves the group. */
static void say_end(struct nets *nets, const struct new_end *end,
                    struct diagram_end *to)
{
    const struct new_net *net = &nets->nets[end->net];

    to->share = to->gradient = NAN;
    to->value = RUN_NONE;
    to->change = end->change;
    if (end->signal != PLAN_NONE) {
        const struct signal *signal = &nets->signals[end->signal];
        const struct part_value *value =
            &nets->parts->values[nets->signal_values[signal->values]];

        to->detached = value->detached;
        if (signal->n_values == 1)
            to->value = value->recorded;
    }
    if (net->signal != PLAN_NONE || end->target == net->group || is_silent(nets, net))
        return;
    if (end->signal != PLAN_NONE) {
        to->label = signal_label(nets, &nets->signals[end->signal]);
    } else {
        char *text = arena_printf(nets->parts->arena, "%u tensors", end->n_signals);

        to->label = str_of(text ? text : "");
    }
}

int nets_words(struct nets *nets, const uint32_t *new_of, const uint32_t *new_end_of)
{
    for (uint32_t i = 0; i < nets->n_nets; i++)
        say_net(nets, &nets->nets[new_of[i]], &nets->diagram->nets[i]);
    for (uint32_t i = 0; i < nets->n_ends; i++)
        say_end(nets, &nets->ends[new_end_of[i]], &nets->diagram->ends[i]);
    return nets->parts->arena->spent ? -1 : 0;
}

/* ---- changes ---- */

/* An end at a group represents the lines that continue inside or outside of it: it is
 * added if all of them are. */

/* The change that all ends of a net share. */
static uint8_t joined(struct nets *nets, const struct new_net *net)
{
    uint8_t change = DIAGRAM_SAME;

    for (uint32_t e = net->first; e != PLAN_NONE; e = nets->ends[e].next) {
        struct new_end *end = &nets->ends[e];

        if (end->inner != PLAN_NONE)
            end->change = nets->nets[end->inner].change;
        else if (end->outer != PLAN_NONE)
            end->change = nets->nets[end->outer].change;
        if (e == net->first)
            change = end->change;
        else if (change != end->change)
            change = DIAGRAM_SAME;
    }
    return change;
}

void nets_changes(struct nets *nets, const uint32_t *new_of)
{
    /* Nets that enter a group continue in nested groups, which come later. */
    for (uint32_t i = nets->n_nets; i-- > 0;) {
        struct new_net *net = &nets->nets[new_of[i]];

        if (net->source == net->group)
            net->change = joined(nets, net);
    }
    /* Nets of inner boxes may continue in surrounding groups, which come earlier. */
    for (uint32_t i = 0; i < nets->n_nets; i++) {
        struct new_net *net = &nets->nets[new_of[i]];

        if (net->source != net->group)
            net->change = joined(nets, net);
    }
}
