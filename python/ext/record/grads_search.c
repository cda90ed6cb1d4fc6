/* When a backward begins: finds the nodes that will send gradients across the borders
 * of calls.
 *
 * The gradient of a result, as defined by torch's full backward hooks, is the sum of
 * what its users after the call send; what the call itself computes from it is
 * excluded. The gradient of an argument is the sum of what the nodes of the call send
 * to it. Each thread numbers its nodes in order of creation, and a call knows the range
 * of its own numbers, so the numbers show which nodes are inside.
 *
 * The search walks the whole graph of the backward once. If all gradients of a
 * result come from outside, one hook before its node sees the sum; otherwise hooks
 * after the senders see the parts. Hooks stay until the next search visits their
 * node. Nodes are held only during the search. */
#include "ext/record/grads_in.h"

#include <stdlib.h>

#include "ext/torch/torch.h"

#define SEARCH_MOST (1u << 20) /* nodes */
#define ROOT        UINT32_MAX /* as a sender: the backward begins with this edge */

/* A visited node. */
struct met {
    PyObject *node; /* held */
    struct hook *hook;
    uint64_t number;
    bool trivial; /* too cheap to be worth a hook for its time */
    bool writes;  /* writes in place, through a view */
};

/* An edge on which gradients cross the border of a call. */
struct grads_search_crossing {
    uint32_t from, slot; /* the sender, and the index of its edge */
    struct hook *hook;
    uint32_t mark;
    bool inside; /* the sender is a node of the call */
};

struct grads_search {
    struct grads *grads;
    PyObject *gradients; /* gradients of the roots: a tuple, borrowed */
    uint32_t walk;
    struct met *nodes;
    uint32_t n, room;
    uint32_t *table; /* index + 1 by the node's address */
    uint32_t mask;
    struct grads_search_crossing *crossings;
    uint32_t n_crossings, crossings_room;
    uint32_t *order; /* non-trivial nodes, sorted by number */
    uint32_t n_order;
    bool views; /* a view returned by a call was written after it */
};

/* --- nodes */

static uint32_t *slot_of(const struct grads_search *search, const void *node)
{
    uint64_t hash = (uintptr_t)node * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> 32) & search->mask;

    while (search->table[at] && search->nodes[search->table[at] - 1].node != node)
        at = (at + 1) & search->mask;
    return &search->table[at];
}

static bool grow_table(struct grads_search *search)
{
    uint32_t size = search->mask ? 2 * (search->mask + 1) : 1024;
    uint32_t *table = calloc(size, sizeof *table);

    if (!table)
        return false;
    free(search->table);
    search->table = table;
    search->mask = size - 1;
    for (uint32_t i = 0; i < search->n; i++)
        *slot_of(search, search->nodes[i].node) = i + 1;
    return true;
}

/* A t() node that leads to a leaf: every Linear transposes its weight. */
static bool is_trivial(PyObject *node)
{
    return (PyObject *)Py_TYPE(node) == torch_find()->transpose;
}

/* The index of a node, added if new; false if out of memory. */
static bool meet(struct grads_search *search, PyObject *node, uint32_t *ret_index)
{
    uint32_t *slot = slot_of(search, node);
    bool leaf = (PyObject *)Py_TYPE(node) == torch_find()->accumulate;
    struct met *met;

    if (*slot) {
        *ret_index = *slot - 1;
        return true;
    }
    if (search->n == SEARCH_MOST ||
        !buf_grow_array(&search->nodes, search->n, &search->room,
                        sizeof *search->nodes))
        return false;
    met = &search->nodes[search->n];
    *met =
        (struct met){.node = Py_NewRef(node),
                     .trivial = leaf || is_trivial(node),
                     .writes = (PyObject *)Py_TYPE(node) == torch_find()->copy_slices};
    if (!leaf)
        met->number = number_of(node);
    if (!leaf || search->grads->leaves)
        met->hook = hook_find(search->grads, node);
    if (met->hook)
        hook_clear(met->hook);
    *ret_index = search->n++;
    *slot = search->n;
    return search->n <= search->mask / 2 || grow_table(search);
}

/* --- edges */

/* How an edge relates to a mark at its end. */
enum crossing_kind { CROSSES, OTHER, DOUBT };

static const struct mark *result_of(const struct hook *hook, uint32_t nr,
                                    const struct passage *passage)
{
    for (uint32_t i = 0; i < hook->n_marks; i++)
        if (hook->marks[i].passage == passage && hook->marks[i].nr == nr &&
            hook->marks[i].kind == RUN_GRAD_OUT && !hook->marks[i].base)
            return &hook->marks[i];
    return NULL;
}

/* A node created after the call uses the tensor. Decides whether it does so through
 * the result: the code of the enclosing call has the result, the calls further out
 * only if it is returned to them. */
static enum crossing_kind kind_after(const struct hook *hook, const struct mark *mark,
                                     uint64_t number)
{
    const struct passage *around = mark->passage->parent;
    uint8_t handed = mark->handed;

    if (handed == HANDED_NOT && !mark->kept)
        return CROSSES;
    while (handed == HANDED_NOT || handed == HANDED_ALONE) {
        if (!around || !around->end || number < around->end)
            return CROSSES;
        mark = result_of(hook, mark->nr, around);
        if (!mark)
            return OTHER;
        handed = mark->handed;
        around = around->parent;
    }
    return handed == HANDED_DROPPED ? OTHER : DOUBT;
}

/* Likewise, for an argument that the call does not return. A hook on the module gets
 * the argument itself. */
static enum crossing_kind argument_after(const struct mark *mark, uint64_t number)
{
    const struct passage *around = mark->passage->parent;

    if (!mark->kept || (around && (!around->end || number < around->end)))
        return OTHER;
    return DOUBT;
}

/* An edge to the base of a view that the call returned. Nodes that write in place
 * through a view send the gradient of the base before the write. */
static enum crossing_kind kind_at_base(struct grads_search *search,
                                       const struct mark *mark, uint64_t number,
                                       bool writes)
{
    if (number == mark->own) {
        mark->window->own = search->walk;
        return CROSSES;
    }
    if (number < mark->passage->end || !writes)
        return OTHER;
    mark->window->written = search->walk;
    search->views = true;
    return mark->shared || mark->kept || mark->handed != HANDED_NOT ? DOUBT : CROSSES;
}

static enum crossing_kind kind_of(const struct hook *hook, const struct mark *mark,
                                  uint64_t number, bool *ret_inside)
{
    const struct passage *passage = mark->passage;
    bool is_result = mark->kind == RUN_GRAD_OUT;

    *ret_inside = number >= passage->begin && number < passage->end;
    if (*ret_inside && mark->window && is_result)
        return number == mark->own ? CROSSES : DOUBT;
    if (*ret_inside)
        return is_result ? OTHER : CROSSES;
    if (number < passage->end)
        return OTHER;
    if (!is_result && mark->handed == HANDED_NOT)
        return argument_after(mark, number);
    return kind_after(hook, mark, number);
}

static bool add_crossing(struct grads_search *search,
                         const struct grads_search_crossing *crossing)
{
    if (!buf_grow_array(&search->crossings, search->n_crossings,
                        &search->crossings_room, sizeof *search->crossings))
        return false;
    search->crossings[search->n_crossings++] = *crossing;
    return true;
}

/* Handles an edge from a node (or from the start of the backward) to output `nr` of
 * another. */
static bool see_edge(struct grads_search *search, uint32_t from, uint32_t slot,
                     uint32_t to, uint32_t nr)
{
    uint64_t number = from == ROOT ? UINT64_MAX : search->nodes[from].number;
    struct hook *hook = search->nodes[to].hook;
    struct grads_search_crossing crossing = {.from = from, .slot = slot, .hook = hook};

    for (uint32_t i = 0; hook && i < hook->n_marks; i++) {
        struct mark *mark = &hook->marks[i];
        enum crossing_kind kind;

        if (mark->nr != nr)
            continue;
        if (mark->walk != search->walk) {
            mark->walk = search->walk;
            mark->crossings = mark->others = mark->doubts = 0;
        }
        if (mark->base)
            kind = kind_at_base(search, mark, number,
                                from != ROOT && search->nodes[from].writes);
        else
            kind = kind_of(hook, mark, number, &crossing.inside);
        mark->crossings += kind == CROSSES;
        mark->others += kind == OTHER;
        mark->doubts += kind == DOUBT;
        crossing.mark = i;
        if (kind == CROSSES && !add_crossing(search, &crossing))
            return false;
        if (kind == CROSSES && mark->kind == RUN_GRAD_OUT &&
            !(mark->base && number == mark->own))
            passage_meet(search->grads, mark->passage, search->walk);
    }
    return true;
}

static bool see_node(struct grads_search *search, uint32_t index)
{
    PyObject *node = search->nodes[index].node;
    PyObject *next = PyObject_GetAttr(node, torch_find()->names[NAME_next_functions]);
    Py_ssize_t n = next && PyTuple_Check(next) ? PyTuple_Size(next) : 0;
    bool ok = true;

    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *pair = PyTuple_GetItem(next, i), *target; /* borrowed */
        uint32_t to;

        if (!pair || !PyTuple_Check(pair) || PyTuple_Size(pair) != 2)
            continue;
        target = PyTuple_GetItem(pair, 0);
        if (target == Py_None)
            continue;
        ok = meet(search, target, &to) &&
             see_edge(search, index, (uint32_t)i, to,
                      (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(pair, 1)));
    }
    ext_swallow();
    Py_XDECREF(next);
    return ok;
}

/* Handles a root: a tensor, or a named tuple of a node and an output index. */
static bool see_root(struct grads_search *search, PyObject *root, uint32_t index)
{
    struct edge edge = {NULL, 0};
    uint32_t to;
    bool ok = true;

    if (tensor_is(root)) {
        edge = edge_of(root);
    } else if (PyTuple_Check(root) && PyTuple_Size(root) >= 2) {
        edge.node = Py_NewRef(PyTuple_GetItem(root, 0));
        edge.nr = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(root, 1));
        ext_swallow();
    }
    if (edge.node)
        ok = meet(search, edge.node, &to) && see_edge(search, ROOT, index, to, edge.nr);
    edge_drop(&edge);
    return ok;
}

static bool walk(struct grads_search *search, PyObject *roots)
{
    Py_ssize_t n = PyTuple_Size(roots);
    bool ok = grow_table(search);

    for (Py_ssize_t i = 0; ok && i < n; i++)
        ok = see_root(search, PyTuple_GetItem(roots, i), (uint32_t)i);
    for (uint32_t i = 0; ok && i < search->n; i++)
        ok = see_node(search, i);
    return ok;
}

/* --- views that were written in place after the call */

static bool is_written(const struct grads_search *search, const struct window *view)
{
    return view && view->written == search->walk;
}

/* A view may be used both before and after it was written. What its own node sends
 * to the base is then part of its gradient, if that contains nothing else. */
static void compare_view(const struct grads_search *search, const struct mark *mark)
{
    if (mark->walk != search->walk)
        return;
    if (is_written(search, mark->view) &&
        (!mark->crossings || mark->others || mark->doubts ||
         mark->view->own != search->walk))
        mark->view->unsure = mark->passage->unsure = search->walk;
    if (mark->base && mark->doubts && is_written(search, mark->window))
        mark->passage->unsure = search->walk;
}

static void compare_views(struct grads_search *search)
{
    for (uint32_t n = 0; search->views && n < search->n; n++) {
        const struct hook *hook = search->nodes[n].hook;

        for (uint32_t i = 0; hook && i < hook->n_marks; i++)
            compare_view(search, &hook->marks[i]);
    }
}

/* Only one of a view's two marks counts: that of its base if the view was written. */
static bool counts(const struct grads_search *search, const struct mark *mark)
{
    return mark->walk == search->walk && (mark->base ? is_written(search, mark->window)
                                                     : !is_written(search, mark->view));
}

static bool is_doubted(const struct grads_search *search, const struct mark *mark)
{
    return mark->doubts || (mark->base && mark->window->unsure == search->walk) ||
           (mark->kind == RUN_GRAD_IN && mark->passage->unsure == search->walk);
}

/* --- hooks */

static void put(struct grads_search *search, uint32_t index, struct part *part)
{
    struct recorder *recorder = search->grads->recorder;

    part->walk = search->walk;
    if (!hook_put(search->grads, search->nodes[index].node, part) && recorder)
        recorder_failed(recorder);
}

static bool is_total(const struct mark *mark)
{
    return mark->kind == RUN_GRAD_OUT && mark->others == 0;
}

static struct part part_of(const struct mark *mark, bool inside)
{
    struct part part = {.passage = mark->passage,
                        .window = mark->window,
                        .spot = {mark->path, mark->kind, mark->flags, mark->fired},
                        .nr = mark->nr};

    if (mark->kind == RUN_GRAD_OUT)
        part.kind = mark->handed == HANDED_NOT ? PART_RESULT : PART_PASSED;
    else
        part.kind = inside ? PART_ARGUMENT : PART_PASSED;
    return part;
}

/* Records the gradient that the backward begins with, as a part. */
static void enter_root(struct grads_search *search, uint32_t index,
                       const struct part *part)
{
    struct recorder *recorder = search->grads->recorder;
    PyObject *gradient = NULL, *cut = NULL;
    struct grads_spot spot = part->spot;

    if (search->gradients && (Py_ssize_t)index < PyTuple_Size(search->gradients))
        gradient = PyTuple_GetItem(search->gradients, (Py_ssize_t)index);
    if (!gradient || !tensor_is(gradient) || !recorder)
        return;
    if (part->window)
        gradient = cut = window_cut(part->window, gradient);
    if (gradient && part->sum)
        sum_begin(part->sum, gradient);
    else if (gradient)
        hook_enter(recorder, part->passage, &spot, gradient);
    Py_XDECREF(cut);
}

static void put_crossing(struct grads_search *search,
                         const struct grads_search_crossing *crossing)
{
    struct mark *mark = &crossing->hook->marks[crossing->mark];
    struct part part = part_of(mark, crossing->inside);

    if (is_total(mark) || is_doubted(search, mark) || !counts(search, mark) ||
        mark->passage->walk != search->walk)
        return;
    if (mark->crossings > 1 && !mark->sum)
        mark->sum = sum_new(mark->passage, &part.spot, mark->crossings);
    part.sum = mark->sum;
    part.after = true;
    part.nr = crossing->slot;
    if (mark->crossings > 1 && !mark->sum)
        return;
    if (crossing->from == ROOT)
        enter_root(search, crossing->slot, &part);
    else
        put(search, crossing->from, &part);
}

/* Hooks the node that the call created first, which is the last to run. */
static void put_last(struct grads_search *search, struct passage *passage)
{
    uint32_t low = 0, high = search->n_order;
    struct part part = {.passage = passage, .kind = PART_LAST, .after = true};

    if (passage->ended == search->walk)
        return;
    passage->ended = search->walk;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (search->nodes[search->order[middle]].number < passage->begin)
            low = middle + 1;
        else
            high = middle;
    }
    passage->timed = low < search->n_order &&
                     search->nodes[search->order[low]].number < passage->end;
    if (passage->timed)
        put(search, search->order[low], &part);
}

static void put_marks(struct grads_search *search, uint32_t index)
{
    struct hook *hook = search->nodes[index].hook;

    for (uint32_t i = 0; hook && i < hook->n_marks; i++) {
        struct mark mark = hook->marks[i];
        struct part part = part_of(&mark, false);

        if (!counts(search, &mark))
            continue;
        if (mark.doubts && !mark.base)
            grads_report_handed(search->grads, mark.passage->object);
        else if (is_doubted(search, &mark))
            grads_report_written(search->grads, mark.passage->object);
        if (is_doubted(search, &mark) || mark.passage->walk != search->walk ||
            !mark.crossings)
            continue;
        if (mark.fired < BACKWARDS_MOST)
            hook->marks[i].fired++;
        if (is_total(&mark))
            put(search, index, &part);
        if (mark.kind == RUN_GRAD_OUT)
            put_last(search, mark.passage);
    }
}

static int compare(const void *a, const void *b)
{
    const struct met *one = a, *other = b;

    return (one->number > other->number) - (one->number < other->number);
}

static bool sort_nodes(struct grads_search *search)
{
    struct met *sorted = malloc((search->n + 1) * sizeof *sorted);
    uint32_t n = 0;

    search->order = malloc((search->n + 1) * sizeof *search->order);
    if (!search->order || !sorted) {
        free(sorted);
        return false;
    }
    for (uint32_t i = 0; i < search->n; i++)
        if (!search->nodes[i].trivial) {
            sorted[n] = search->nodes[i];
            sorted[n++].node = (PyObject *)(uintptr_t)i; /* stores its index */
        }
    qsort(sorted, n, sizeof *sorted, compare);
    for (uint32_t i = 0; i < n; i++)
        search->order[i] = (uint32_t)(uintptr_t)sorted[i].node;
    search->n_order = n;
    free(sorted);
    return true;
}

static void release(struct grads_search *search)
{
    for (uint32_t i = 0; i < search->n_crossings; i++) {
        struct mark *mark =
            &search->crossings[i].hook->marks[search->crossings[i].mark];

        sum_drop(mark->sum);
        mark->sum = NULL;
    }
    for (uint32_t i = 0; i < search->n; i++)
        Py_DECREF(search->nodes[i].node);
    free(search->nodes);
    free(search->table);
    free(search->crossings);
    free(search->order);
}

static void put_all(struct grads_search *search)
{
    compare_views(search);
    for (uint32_t i = 0; i < search->n_crossings; i++)
        put_crossing(search, &search->crossings[i]);
    for (uint32_t i = 0; i < search->n; i++)
        put_marks(search, i);
}

void grads_begin(struct grads *grads, PyObject *roots, PyObject *gradients)
{
    struct grads_search search = {.grads = grads};
    PyObject *quiet;

    if (!torch_find() || !torch_find()->sequence_nr || !grads->recorder)
        return;
    quiet = quiet_begin(torch_find(), false);
    search.gradients = gradients && PyTuple_Check(gradients) ? gradients : NULL;
    search.walk = ++grads->walk;
    grads->users++;
    grads->searches++;
    if (PyTuple_Check(roots)) {
        if (walk(&search, roots) && sort_nodes(&search))
            put_all(&search);
        else if (grads->recorder && grads->recorder->trace)
            trace_gap(grads->recorder->trace, RUN_GAP_GRADIENT, NO_OBJECT,
                      "Gradients of a backward of more than %u operations are not "
                      "recorded.",
                      SEARCH_MOST);
    }
    release(&search);
    grads->searches--;
    grads_drop_user(grads);
    ext_swallow();
    quiet_end(quiet);
}
