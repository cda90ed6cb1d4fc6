#include "read/pickle/pickle_machine_in.h"

/* A truncated pickle leaves unfinished containers on the stack: for a state_dict, the
 * dict, a mark, and the names and tensors that SETITEMS was about to add. Closes them,
 * innermost first, as the missing opcodes would have done. Only the innermost container
 * is a guess. */

static enum node_kind kind_at(const struct machine *m, uint32_t from_top)
{
    return node_at(m, m->stack[m->n_stack - 1 - from_top])->kind;
}

static bool is_made(enum node_kind kind)
{
    return kind == NODE_CALL || kind == NODE_NEW;
}

static bool is_key(enum node_kind kind)
{
    return kind == NODE_STR || kind == NODE_INT;
}

/* Are the values above a mark keys and values for this node? */
static bool takes_pairs(const struct machine *m, node_id id, const node_id *items,
                        uint32_t n)
{
    const struct node *node = node_at(m, id);
    const struct node *callee;

    if (node->kind == NODE_DICT)
        return n == 0 || is_key(node_at(m, items[0])->kind) || n % 2 == 0;
    if (!is_made(node->kind))
        return false;
    callee = node_at(m, node->call.callee);
    if (callee->kind == NODE_GLOBAL && callee->flags & GLOBAL_DICT)
        return true;
    return node->kind == NODE_NEW && n > 1 && node_at(m, items[0])->kind == NODE_STR;
}

/* An object whose state was about to be set, or a dict whose item was about to be. */
static void settle_top(struct machine *m, bool pairs)
{
    for (;;) {
        uint32_t n = m->n_stack - m->floor;
        node_id *top = m->stack + m->n_stack, id;

        if (n >= 2 && (!pairs || n % 2 == 1) && is_made(kind_at(m, 1)) &&
            (kind_at(m, 0) == NODE_DICT || kind_at(m, 0) == NODE_TUPLE)) {
            id = machine_own(m, 1);
            if (id == NO_NODE || machine_set_state(m, id, top[-1]) < 0)
                return;
            m->n_stack--;
        } else if (n >= 3 && !pairs && kind_at(m, 2) == NODE_DICT &&
                   is_key(kind_at(m, 1))) {
            id = machine_own(m, 2);
            if (id == NO_NODE || machine_add_items(m, id, top - 2, 2) < 0)
                return;
            m->n_stack -= 2;
        } else if (n >= 2 && !pairs && kind_at(m, 1) == NODE_DICT &&
                   is_key(kind_at(m, 0))) {
            m->n_stack--;
        } else {
            return;
        }
    }
}

/* Give the values above a popped mark to the node below it. */
static int close_frame(struct machine *m, const node_id *items, uint32_t n)
{
    node_id below = m->n_stack > m->floor ? machine_own(m, 0) : NO_NODE;
    enum node_kind kind = below == NO_NODE ? NODE_NONE : node_at(m, below)->kind;

    if (below != NO_NODE && takes_pairs(m, below, items, n)) {
        if (kind != NODE_DICT)
            below = machine_extra(m, below, NODE_DICT);
        return below == NO_NODE ? -1 : machine_add_items(m, below, items, n & ~1u);
    }
    if (kind == NODE_LIST || kind == NODE_SET)
        return machine_add_items(m, below, items, n);
    if (kind == NODE_GLOBAL) {
        /* Arguments of a call that was not made. */
        m->n_stack--;
        return 0;
    }
    return n > 0 ? machine_push(m, machine_tuple(m, items, n)) : 0;
}

static int close_innermost(struct machine *m)
{
    uint32_t mark = m->marks[m->n_marks - 1];
    uint32_t below_floor = m->n_marks > 1 ? m->marks[m->n_marks - 2] : 0;
    const node_id *items;
    uint32_t n;
    bool pairs = mark > below_floor &&
                 takes_pairs(m, m->stack[mark - 1], m->stack + mark, m->n_stack - mark);

    settle_top(m, pairs);
    if (machine_pop_mark(m, &items, &n) < 0)
        return -1;
    return close_frame(m, items, n);
}

/* The lowest value that can hold others; else the lowest of all. */
static node_id choose(const struct machine *m)
{
    for (uint32_t i = 0; i < m->n_stack; i++) {
        enum node_kind kind = node_at(m, m->stack[i])->kind;

        if (is_made(kind) || (kind >= NODE_LIST && kind <= NODE_SET))
            return m->stack[i];
    }
    return m->n_stack > 0 ? m->stack[0] : NO_NODE;
}

node_id machine_salvage(struct machine *m)
{
    node_id chosen;

    while (m->n_marks > 0)
        if (close_innermost(m) < 0)
            break;
    m->floor = 0;
    if (m->n_marks == 0)
        settle_top(m, false);
    chosen = choose(m);
    /* Everything was popped, but the log has names: show an empty result. */
    if (chosen == NO_NODE && m->globals.n > 0)
        return m->none;
    return chosen;
}
