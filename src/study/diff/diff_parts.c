/* Finds what happened to which part of the model: the fate of every node, then as few
 * nodes as possible that show all fates. */
#include "study/diff/diff_in.h"

/* Runs of siblings with the same fate count as one. The root may have more. */
#define MOST_PARTS 8
#define MOST_FIRST 24

/* Fates of single tensors: QUIET and NOISY are equal and different buffers, whose module
 * is decided by its parameters. VAGUE parameters changed but are too small to decide
 * between trained and unrelated; they follow those around them. */
enum { QUIET = FATE_UNRELATED + 1, NOISY, VAGUE };

static int changed_fate(const struct diff_pair *pair)
{
    if (diff_unrelated(pair))
        return FATE_UNRELATED;
    return pair->by.finite < COMPARED_FEW ? VAGUE : FATE_TRAINED;
}

static int pair_fate(const struct diff *diff, const struct diff_pair *pair)
{
    bool buffer = pair->flags & DIFF_BUFFER;

    if (pair->flags & DIFF_BESIDE)
        return QUIET;
    switch ((enum diff_state)pair->state) {
    case DIFF_LEFT:
        return FATE_REMOVED;
    case DIFF_RIGHT:
        return FATE_ADDED;
    case DIFF_JOINED:
        return FATE_JOINED;
    case DIFF_RESHAPED:
        return pair->edit.kind == EDIT_TRANSPOSED && pair->by.different == 0
                   ? FATE_RENAMED /* found as the transpose */
                   : FATE_REPLACED;
    default:
        break;
    }
    if (pair->state == DIFF_UNREAD && pair->why)
        return FATE_MIXED; /* unknown */
    if (pair->flags & DIFF_RENAMED)
        return FATE_RENAMED;
    if (pair->state == DIFF_CHANGED)
        return buffer ? NOISY : changed_fate(pair);
    if (pair->state == DIFF_RETYPED) {
        bool rounded = pair->by.rounding || pair->by.different == 0;

        return rounded                                       ? FATE_RETYPED
               : buffer                                      ? NOISY
               : diff_unrelated(pair)                        ? FATE_UNRELATED
               : diff_quantised(diff, pair) != DTYPE_UNKNOWN ? FATE_RETYPED
                                                             : FATE_MIXED;
    }
    return buffer ? QUIET : FATE_SAME;
}

/* How close two nodes are: anywhere in the model, in one part, or tensors of one module.
 * Within a module, equal tensors do not make it less trained, and another shape beside
 * new values is a replaced layer. A part with renamed or fused tensors and few other
 * changes counts as renamed or joined. */
enum near { APART, PART, CLOSE };

static int fate_of_plain(int a, int b, enum near near)
{
    bool close = near == CLOSE;
    int low = a < b ? a : b, high = a < b ? b : a;

    if (low == high || low == QUIET || high == QUIET)
        return low == QUIET ? high : low;
    if (high == NOISY && (low == FATE_ADDED || low == FATE_REMOVED))
        return FATE_MIXED;
    if (high == NOISY)
        return low == FATE_SAME ? FATE_BUFFERS : low;
    if (high == FATE_BUFFERS) /* low is FATE_SAME */
        return FATE_BUFFERS;
    if (low >= FATE_REPLACED && high <= FATE_REMOVED)
        return FATE_REPLACED;
    if (close && low <= FATE_BUFFERS && high == FATE_TRAINED)
        return FATE_TRAINED;
    if (close && low == FATE_TRAINED && high == FATE_REPLACED)
        return FATE_REPLACED;
    if (near != APART && high == FATE_RENAMED && low <= FATE_TRAINED)
        return FATE_RENAMED;
    if (near != APART && high == FATE_JOINED &&
        (low <= FATE_BUFFERS || low == FATE_RENAMED))
        return FATE_JOINED;
    return FATE_MIXED;
}

static bool is_changed(int fate)
{
    return fate == FATE_TRAINED || fate == FATE_UNRELATED || fate == VAGUE;
}

/* Combine two fates. The kind of change matters only if both changed. */
static int fate_of_two(int a, int b, enum near near)
{
    int fate, how = is_changed(a) ? a : b;

    if (is_changed(a) && is_changed(b))
        return a == b || b == VAGUE ? a : a == VAGUE ? b : FATE_MIXED;
    fate = fate_of_plain(is_changed(a) ? FATE_TRAINED : a,
                         is_changed(b) ? FATE_TRAINED : b, near);
    return fate == FATE_TRAINED ? how : fate;
}

/* Resolve QUIET, NOISY and VAGUE. */
static uint8_t final_fate(const struct diff_node *node, uint8_t fate)
{
    switch (fate) {
    case QUIET:
        return FATE_SAME;
    case NOISY:
        return FATE_BUFFERS;
    case VAGUE:
        return compared_unrelated(&node->sums.params_by) ? FATE_UNRELATED
                                                         : FATE_TRAINED;
    default:
        return fate;
    }
}

/* The deepest node that holds everything: the root, its only child, and so on. */
static uint32_t find_trunk(const struct diff *diff)
{
    uint32_t node = 0;

    while (node + 1 < diff->nodes[node].end &&
           diff->nodes[node + 1].end == diff->nodes[node].end)
        node++;
    return node;
}

/* By node: its fate, that of its own tensors, that of its modules. */
struct fates {
    const struct diff *diff;
    uint8_t *fate, *own, *below;
};

static bool is_leaf(const struct diff *diff, uint32_t node)
{
    return diff->nodes[node].pair != DIFF_NONE;
}

static void find_fates(struct fates *f)
{
    const struct diff *diff = f->diff;
    uint32_t i, trunk = find_trunk(diff);

    for (i = 0; i < diff->n_nodes; i++)
        f->own[i] = f->below[i] = QUIET;
    for (i = diff->n_nodes; i-- > 0;) {
        uint32_t parent = diff->nodes[i].parent;
        enum near near;
        uint8_t *to;

        if (is_leaf(diff, i))
            f->own[i] = (uint8_t)fate_of_two(
                f->own[i], pair_fate(diff, &diff->pairs[diff->nodes[i].pair]), CLOSE);
        f->fate[i] =
            (uint8_t)fate_of_two(f->own[i], f->below[i], i > trunk ? PART : APART);
        if (parent == DIFF_NONE)
            continue;
        to = is_leaf(diff, i) ? &f->own[parent] : &f->below[parent];
        near = is_leaf(diff, i) ? CLOSE : parent > trunk ? PART : APART;
        *to = (uint8_t)fate_of_two(*to, f->fate[i], near);
    }
    for (i = 0; i < diff->n_nodes; i++)
        f->fate[i] = final_fate(&diff->nodes[i], f->fate[i]);
}

/* The number of runs of children with the same fate. */
static uint32_t count_runs(const struct fates *f, uint32_t node)
{
    uint32_t child, runs = 0;
    int before = -1;

    for (child = node + 1; child < f->diff->nodes[node].end;
         child = f->diff->nodes[child].end) {
        runs += f->fate[child] != before || f->fate[child] == FATE_MIXED;
        before = f->fate[child];
    }
    return runs;
}

/* Open the nodes of mixed fate, level by level, while the list stays short. */
static int open_nodes(const struct fates *f, struct arena *scratch, uint8_t *open)
{
    const struct diff *diff = f->diff;
    uint32_t *queue = arena_array(scratch, diff->n_nodes, sizeof *queue);
    uint32_t first = 0, n = 0, runs = 1, child, more;

    if (!queue)
        return -1;
    queue[n++] = 0;
    for (; first < n; first++) {
        uint32_t node = queue[first];

        if (f->fate[node] != FATE_MIXED || is_leaf(diff, node))
            continue;
        more = count_runs(f, node);
        if (runs - 1 + more > (node == 0 ? MOST_FIRST : MOST_PARTS))
            continue;
        runs += more - 1;
        open[node] = 1;
        for (child = node + 1; child < diff->nodes[node].end;
             child = diff->nodes[child].end)
            queue[n++] = child;
    }
    return 0;
}

int diffing_make_parts(struct diffing *d)
{
    struct diff *diff = d->diff;
    struct fates f = {.diff = diff};
    uint8_t *open = arena_array(&d->scratch, diff->n_nodes, 1);
    uint32_t room = 0, node;

    f.fate = arena_array(&d->scratch, diff->n_nodes, 1);
    f.own = arena_array(&d->scratch, diff->n_nodes, 1);
    f.below = arena_array(&d->scratch, diff->n_nodes, 1);
    if (!open || !f.fate || !f.own || !f.below)
        return -1;
    find_fates(&f);
    if (open_nodes(&f, &d->scratch, open) < 0)
        return -1;
    for (node = 0; node < diff->n_nodes && diff->total.tensors > 0;
         node = open[node] ? node + 1 : diff->nodes[node].end) {
        if (open[node])
            continue;
        if (arena_room(d->arena, &diff->parts, diff->n_parts, &room,
                       sizeof *diff->parts) < 0)
            return -1;
        diff->parts[diff->n_parts++] = (struct diff_part){node, f.fate[node]};
    }
    return 0;
}
