/* The local variables that a loop may change: those it assigns, and the lists and dicts
 * that it changes in place. */
#include <string.h>

#include "base/base.h"
#include "read/torch/script_parser_in.h"

bool script_changes(struct str name)
{
    static const char *const names[] = {"append", "extend", "insert",    "pop",
                                        "clear",  "remove", "reverse",   "sort",
                                        "update", "Delete", "_set_item", "setdefault"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

struct writes {
    struct arena *arena;
    uint32_t *slots;
    uint32_t n, room;
    uint32_t *seen; /* by slot: the number of the loop that lists it, from 1 */
    uint32_t loop;
    bool spent;
};

static void add_write(struct writes *writes, uint32_t slot)
{
    if (writes->seen[slot] == writes->loop)
        return;
    if (arena_room(writes->arena, &writes->slots, writes->n, &writes->room,
                   sizeof *writes->slots) < 0) {
        writes->spent = true;
        return;
    }
    writes->seen[slot] = writes->loop;
    writes->slots[writes->n++] = slot;
}

/* `torch.append(x, ...)` changes x. */
static void look_at_call(struct writes *writes, const struct script_node *node)
{
    const struct script_node *callee = node->first;

    if (callee->kind == SCRIPT_GLOBAL && str_starts(callee->text, STR("torch.")) &&
        callee->next && callee->next->kind == SCRIPT_LOCAL &&
        script_changes(str_from(callee->text, 6)))
        add_write(writes, callee->next->slot);
}

/* Everything below a node; the height of trees is limited. */
static void look(struct writes *writes, const struct script_node *node)
{
    if (node->kind == SCRIPT_CALL)
        look_at_call(writes, node);
    if (node->kind == SCRIPT_ASSIGN)
        for (const struct script_node *at = node->first->next; at; at = at->next)
            if (at->kind == SCRIPT_LOCAL)
                add_write(writes, at->slot);
    for (const struct script_node *at = node->first; at; at = at->next)
        look(writes, at);
}

static void find_loops(struct writes *writes, struct script_node *node)
{
    if (node->kind == SCRIPT_FOR || node->kind == SCRIPT_WHILE) {
        writes->loop++;
        writes->n = writes->room = 0;
        writes->slots = NULL;
        look(writes, node->last);
        node->writes = writes->slots;
        node->n_writes = writes->n;
    }
    for (struct script_node *at = node->first; at && !writes->spent; at = at->next)
        if (at->kind >= SCRIPT_IF)
            find_loops(writes, at);
}

int script_find_writes(struct script_function *function, struct arena *arena)
{
    struct writes writes = {.arena = arena};

    writes.seen =
        arena_array(arena, (size_t)function->n_slots + 1, sizeof *writes.seen);
    if (!writes.seen)
        return -1;
    find_loops(&writes, function->body);
    return writes.spent ? -1 : 0;
}
