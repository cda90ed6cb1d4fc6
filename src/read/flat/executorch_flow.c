/* Turns jumps into regions: a forward jump is a branch, a backward jump a loop. Any
 * other jump becomes a region that is not understood. */
#include "base/base.h"
#include "read/flat/executorch_program_in.h"

#define DEPTH_MOST 32 /* branches and loops within one another */

static uint32_t open_region(struct executorch_making *m, enum program_region_kind kind,
                            uint32_t condition, uint32_t text)
{
    struct program_region region = {.kind = (uint8_t)kind,
                                    .taken = -1,
                                    .parent = m->region,
                                    .call = m->call_id,
                                    .condition = condition,
                                    .text = text,
                                    .ops = m->build->program->n_ops,
                                    .end = m->build->program->n_ops};

    return build_program_region(m->build, &region);
}

/* Adds the instructions [begin, end) of a region. */
static void walk_region(struct executorch_making *m, uint32_t region, uint32_t begin,
                        uint32_t end)
{
    uint32_t before = m->region;

    m->region = region;
    m->depth++;
    executorch_walk(m, begin, end);
    m->depth--;
    m->region = before;
    if (region < m->build->program->n_regions)
        m->build->program->regions[region].end = m->build->program->n_ops;
}

/* A merge of two values; the known one if the other is unknown. */
static uint32_t merge(struct executorch_making *m, uint32_t index, uint32_t a,
                      uint32_t b)
{
    uint32_t both[2] = {a, b}, value;

    if (a == b || a == PROGRAM_NONE || b == PROGRAM_NONE)
        return a == PROGRAM_NONE ? b : a;
    value = executorch_new_value(m->self, index, PROGRAM_MERGE);
    if (value != PROGRAM_NONE)
        build_program_sources(m->build, value, both, 2);
    return value;
}

/* Lists the values that changed since `first`, each once, with their old and new
 * content, and restores the old content. */
struct executorch_was {
    uint32_t index, before, now;
};

static uint32_t undo(struct executorch_making *m, uint32_t first,
                     struct executorch_was **ret_was)
{
    uint32_t n = 0;
    struct executorch_was *was =
        arena_array(m->arena, (size_t)(m->n_changes - first) + 1, sizeof *was);

    *ret_was = was;
    if (!was) {
        m->spent = true;
        return 0;
    }
    m->search++;
    for (uint32_t i = first; i < m->n_changes; i++) {
        const struct executorch_change *at = &m->changes[i];

        if (m->seen[at->index] == m->search)
            continue;
        m->seen[at->index] = m->search;
        was[n++] = (struct executorch_was){.index = at->index,
                                           .before = at->before,
                                           .now = m->self->values[at->index].value};
    }
    for (uint32_t i = 0; i < n; i++)
        m->self->values[was[i].index].value = was[i].before;
    m->n_changes = first;
    return n;
}

static uint32_t condition_of(struct executorch_making *m, uint32_t i)
{
    int64_t kind, index;
    struct flat_table table = executorch_instruction(m, i, &kind);

    index = flat_int(&m->self->flat, table, 0, 4, 0);
    return executorch_value(m->self, index)
               ? executorch_now(m->self, &m->memory, (uint32_t)index)
               : PROGRAM_NONE;
}

/* Reads a jump; *ret_always: its condition is the constant False, so it is always
 * taken. */
bool executorch_jump(struct executorch_making *m, uint32_t i, uint32_t *ret_target,
                     bool *ret_always)
{
    struct flat *flat = &m->self->flat;
    int64_t kind, target;
    struct flat_table table = executorch_instruction(m, i, &kind);
    const struct executorch_value *condition;

    if (kind != CALL_JUMP)
        return false;
    target = flat_int(flat, table, 1, 4, 0);
    condition = executorch_value(m->self, flat_int(flat, table, 0, 4, 0));
    *ret_target = target < 0 ? PROGRAM_NONE : (uint32_t)target;
    *ret_always = condition && !condition->written &&
                  condition->kind == EXECUTORCH_BOOL &&
                  flat_int(flat, condition->table, 0, 1, 0) == 0;
    return true;
}

/* Merges the changes `a` and `b` of two branches, which undo() has taken back. */
static void join(struct executorch_making *m, const struct executorch_was *a,
                 uint32_t n_a, const struct executorch_was *b, uint32_t n_b)
{
    m->search++;
    for (uint32_t i = 0; i < n_b; i++) {
        m->seen[b[i].index] = m->search;
        m->other[b[i].index] = i;
    }
    for (uint32_t i = 0; i < n_a; i++) {
        uint32_t index = a[i].index, other = a[i].before;

        if (m->seen[index] == m->search)
            other = b[m->other[index]].now;
        m->seen[index] = 0;
        executorch_change_value(m, index, merge(m, index, a[i].now, other));
    }
    for (uint32_t i = 0; i < n_b; i++)
        if (m->seen[b[i].index] == m->search)
            executorch_change_value(m, b[i].index,
                                    merge(m, b[i].index, b[i].before, b[i].now));
}

/* A forward jump at i to `otherwise`: the instructions between are the branch that is
 * taken if the condition holds. If they end with a jump over what follows, that is the
 * other branch. Returns the first instruction after both. */
static uint32_t walk_if(struct executorch_making *m, uint32_t i, uint32_t otherwise,
                        uint32_t end)
{
    uint32_t condition = condition_of(m, i), then_end = otherwise, over = otherwise;
    uint32_t first = m->n_changes, target, n, n_other = 0;
    struct executorch_was *was, *other = NULL;
    bool always;

    if (otherwise - 1 > i && executorch_jump(m, otherwise - 1, &target, &always) &&
        always && target >= otherwise && target <= end) {
        then_end = otherwise - 1;
        over = target;
    }
    walk_region(m, open_region(m, PROGRAM_IF, condition, 0), i + 1, then_end);
    n = undo(m, first, &was);
    if (over > otherwise) {
        walk_region(m, open_region(m, PROGRAM_ELSE, condition, 0), otherwise, over);
        n_other = undo(m, first, &other);
    }
    if (!m->spent)
        join(m, was, n, other, n_other);
    return over;
}

/* A value that a loop writes; `merged` is its content when an iteration begins. */
struct executorch_carried {
    uint32_t index, before, merged;
};

static uint32_t find_carried(struct executorch_making *m, uint32_t begin, uint32_t end,
                             struct executorch_carried **ret_carried)
{
    struct executorch_call *call = m->call, *out = m->out;
    uint32_t n = 0, room = 0;

    *ret_carried = NULL;
    m->search++;
    for (uint32_t i = begin; i < end && !m->spent && !m->self->flat.bad; i++) {
        call->table = executorch_instruction(m, i, &call->kind);
        if (call->kind != CALL_KERNEL)
            continue;
        executorch_args(m, call);
        executorch_split(m, call, out);
        for (uint32_t k = 0; k < out->n && !m->spent; k++) {
            uint32_t index = out->args[k], before = m->self->values[index].value;

            if ((before == PROGRAM_NONE &&
                 m->self->values[index].kind == EXECUTORCH_TENSOR) ||
                m->seen[index] == m->search)
                continue;
            m->seen[index] = m->search;
            if (arena_room(m->arena, ret_carried, n, &room, sizeof **ret_carried) < 0)
                m->spent = true;
            else
                (*ret_carried)[n++] =
                    (struct executorch_carried){.index = index, .before = before};
        }
    }
    return n;
}

/* A backward jump from `last` to `begin`: the loop runs at least once. */
static void walk_loop(struct executorch_making *m, uint32_t begin, uint32_t last)
{
    struct executorch_carried *carried;
    uint32_t n = find_carried(m, begin, last, &carried), region;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t value = executorch_new_value(m->self, carried[i].index, PROGRAM_MERGE);

        carried[i].merged = value;
        if (value != PROGRAM_NONE)
            executorch_change_value(m, carried[i].index, value);
    }
    region = open_region(m, PROGRAM_LOOP, PROGRAM_NONE, 0);
    walk_region(m, region, begin, last);
    if (region < m->build->program->n_regions)
        m->build->program->regions[region].condition = condition_of(m, last);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t merged = carried[i].merged, sources[2], n_sources = 0;
        uint32_t now = m->self->values[carried[i].index].value;

        if (merged == PROGRAM_NONE || now == PROGRAM_NONE)
            continue;
        /* A number without a writer before the loop starts as a constant. */
        if (carried[i].before != PROGRAM_NONE)
            sources[n_sources++] = carried[i].before;
        m->build->program->values[merged].loop = true;
        m->build->program->values[merged].n_before = n_sources;
        if (now != merged)
            sources[n_sources++] = now;
        build_program_sources(m->build, merged, sources, n_sources);
    }
}

static void unclear(struct executorch_making *m, uint32_t i, uint32_t target)
{
    const char *text = arena_printf(m->arena, "instruction %u jumps to %u", i, target);

    if (text && !build_program_full(m->build))
        open_region(m, PROGRAM_UNCLEAR, PROGRAM_NONE,
                    executorch_string(m, str_of(text)));
}

/* Follows the jump at i; returns the instruction to continue with. */
static uint32_t walk_jump(struct executorch_making *m, uint32_t i, uint32_t target,
                          bool always, uint32_t end)
{
    if (target > i && target <= end && always)
        return target;
    if (target > i && target <= end && m->depth < DEPTH_MOST)
        return walk_if(m, i, target, end);
    unclear(m, i, target);
    return i + 1;
}

void executorch_walk(struct executorch_making *m, uint32_t begin, uint32_t end)
{
    struct executorch_call *call = arena_alloc(m->arena, sizeof *call);
    struct executorch_call *out = arena_alloc(m->arena, sizeof *out);

    m->spent |= !call || !out;
    for (uint32_t i = begin;
         i < end && !m->spent && !m->self->flat.bad && !build_program_full(m->build);) {
        uint32_t last = m->loop_end[i], target;
        bool always;

        if (last != PROGRAM_NONE && last < end && m->depth < DEPTH_MOST) {
            m->loop_end[i] = PROGRAM_NONE;
            walk_loop(m, i, last);
            i = last + 1;
            continue;
        }
        if (executorch_jump(m, i, &target, &always)) {
            i = walk_jump(m, i, target, always, end);
            continue;
        }
        call->table = executorch_instruction(m, i, &call->kind);
        if (call->kind == CALL_KERNEL || call->kind == CALL_DELEGATE)
            executorch_op(m, call, m->out);
        else if (call->kind == CALL_MOVE)
            executorch_move(m, call->table);
        i++;
        if (!work_step(m->build->work, 0))
            m->spent = true;
    }
}
