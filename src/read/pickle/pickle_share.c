#include "read/pickle/pickle_machine_in.h"

/* One node for many equal containers. A pickled module has a dozen empty dicts for
 * hooks: twelve million empty OrderedDicts in a million modules. Empty ones share a
 * node, which is copied when something is added.
 *
 * This is exact because a shared container has only one reference: its place on the
 * stack, or the container that it was put into. A second one could come from the memo
 * or DUP, or from a call that returns one of its arguments: then a copy is made at
 * once. */

int machine_init_shared(struct machine *m)
{
    m->empty_list = machine_node(m, NODE_LIST);
    m->empty_dict = machine_node(m, NODE_DICT);
    m->empty_set = machine_node(m, NODE_SET);
    if (m->empty_set == NO_NODE)
        return -1;
    node_at(m, m->empty_list)->sharing = SHARED_NODE;
    node_at(m, m->empty_dict)->sharing = SHARED_NODE;
    node_at(m, m->empty_set)->sharing = SHARED_NODE;
    memset(m->calls, 0xff, sizeof m->calls);
    memset(m->dicts, 0xff, sizeof m->dicts);
    return 0;
}

static node_id *kept_call(struct machine *m, node_id callee, node_id args)
{
    return &m->calls[(callee * 0x9e3779b1u ^ args * 0x85ebca6bu) >> 26];
}

node_id machine_empty_call(struct machine *m, node_id callee, node_id args)
{
    node_id *kept = kept_call(m, callee, args);
    const struct node *node = *kept == NO_NODE ? NULL : node_at(m, *kept);
    node_id id;

    if (node && node->kind == NODE_CALL && node->call.callee == callee &&
        node->call.args == args)
        return *kept;
    id = machine_call(m, NODE_CALL, callee, args);
    if (id == NO_NODE)
        return NO_NODE;
    node_at(m, id)->sharing = SHARED_NODE;
    *kept = id;
    return id;
}

/* A tuple does not change, but its item may. */
node_id machine_single(struct machine *m, node_id item)
{
    node_id *kept = kept_call(m, item, NO_NODE);
    const struct node *node = *kept == NO_NODE ? NULL : node_at(m, *kept);
    node_id id;

    if (node && node->kind == NODE_TUPLE && m->pickle->items[node->items.first] == item)
        return *kept;
    id = machine_new_tuple(m, &item, 1);
    if (id == NO_NODE)
        return NO_NODE;
    node_at(m, id)->sharing = SHARED_NODE;
    *kept = id;
    return id;
}

/* A copy of a shared node. All of them are empty, except for the tuple of one. */
static node_id copy_shared(struct machine *m, node_id id)
{
    node_id item, copy;

    if (node_at(m, id)->kind == NODE_TUPLE) {
        item = copy_shared(m, m->pickle->items[node_at(m, id)->items.first]);
        return item == NO_NODE ? NO_NODE : machine_new_tuple(m, &item, 1);
    }
    copy = machine_node(m, (enum node_kind)node_at(m, id)->kind);
    if (copy != NO_NODE && node_at(m, id)->kind == NODE_CALL)
        node_at(m, copy)->call = node_at(m, id)->call;
    return copy;
}

node_id machine_own(struct machine *m, uint32_t from_top)
{
    node_id *slot = &m->stack[m->n_stack - 1 - from_top];
    node_id copy;

    if (!machine_is_shared(m, *slot))
        return *slot;
    copy = copy_shared(m, *slot);
    if (copy != NO_NODE)
        *slot = copy;
    return copy;
}

/* A shared tuple is not updated: it is not used again. */
node_id machine_own_item(struct machine *m, node_id tuple, uint32_t i)
{
    node_id item = pickle_item(m->pickle, tuple, i), copy;

    if (item == NO_NODE || !machine_is_shared(m, item))
        return item;
    copy = copy_shared(m, item);
    if (copy != NO_NODE && !machine_is_shared(m, tuple))
        m->pickle->items[node_at(m, tuple)->items.first + i] = copy;
    return copy;
}

/* Items of the pool never change: more are added after them, or all of them move. So
 * equal dicts may share their items, as in modules without tensors: ReLU, Dropout,
 * Identity. */
bool machine_share_items(struct machine *m, node_id id, const node_id *items,
                         uint32_t n)
{
    const struct pickle *p = m->pickle;
    uint32_t hash = n;
    node_id *kept;
    struct node *node;

    for (uint32_t i = 0; i < n; i++)
        hash = hash * 0x9e3779b1u + items[i];
    kept = &m->dicts[(hash ^ hash >> 16) % DICTS_KEPT];
    node = *kept == NO_NODE ? NULL : node_at(m, *kept);
    if (!node || node->items.n != n ||
        memcmp(p->items + node->items.first, items, n * sizeof *items) != 0) {
        *kept = id;
        return false;
    }
    node->sharing |= SHARED_ITEMS;
    node_at(m, id)->sharing |= SHARED_ITEMS;
    node_at(m, id)->items = node->items;
    return true;
}
