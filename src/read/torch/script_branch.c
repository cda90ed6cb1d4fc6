/* Branches and loops. The first change of a cell in a branch saves its old content, so
 * that the branch can be undone and compared with the other one. */
#include <string.h>

#include "base/base.h"
#include "read/torch/script_machine_in.h"

struct script_cell *script_cell(struct script_machine *m, enum script_cell_kind kind,
                                uint32_t index)
{
    if (kind == CELL_SLOT)
        return &m->slots[index];
    return kind == CELL_ATTR ? &m->attrs[index] : &m->versions[index];
}

void script_set(struct script_machine *m, enum script_cell_kind kind, uint32_t index,
                const struct datum *datum)
{
    struct script_cell *cell = script_cell(m, kind, index);

    if (m->branch != cell->stamp) {
        if (arena_room(&m->arena, &m->changes, m->n_changes, &m->changes_room,
                       sizeof *m->changes) < 0) {
            m->stop = true;
            return;
        }
        m->changes[m->n_changes++] = (struct cell_change){.kind = (uint8_t)kind,
                                                          .index = index,
                                                          .stamp = cell->stamp,
                                                          .datum = cell->datum};
        cell->stamp = m->branch;
    }
    cell->datum = *datum;
}

/* ---- one of several values ---- */

static bool is_same(const struct datum *a, const struct datum *b)
{
    return a->kind == b->kind && a->id == b->id && a->n == b->n && a->items == b->items;
}

static struct program_value merge_value(bool loop)
{
    return (struct program_value){.kind = PROGRAM_MERGE,
                                  .dtype = DTYPE_UNKNOWN,
                                  .loop = loop,
                                  .shape = PROGRAM_NONE,
                                  .producer = PROGRAM_NONE,
                                  .tensor = PROGRAM_NONE,
                                  .place = PROGRAM_NONE,
                                  .plain = PROGRAM_NONE};
}

/* Sets the sources of `value` to the values in a and b, without adjacent duplicates.
 * Returns how many come from a. */
static uint32_t set_sources(struct script_machine *m, uint32_t value,
                            const struct datum *a, const struct datum *b)
{
    uint32_t from = m->n_ios, n = 0, n_a = 0, end_a, *sources;

    script_collect(m, a, 0, 0);
    end_a = m->n_ios;
    script_collect(m, b, 0, 0);
    sources = arena_array(&m->arena, m->n_ios - from + 1, sizeof *sources);
    if (!sources) {
        m->stop = true;
        return 0;
    }
    for (uint32_t i = from; i < m->n_ios; i++) {
        uint32_t source = m->ios[i].value;

        if (source != value && (n == 0 || sources[n - 1] != source))
            sources[n++] = source;
        if (i < end_a)
            n_a = n;
    }
    m->n_ios = from;
    if (build_program_sources(m->build, value, sources, n) < 0)
        m->stop = true;
    return n_a;
}

static struct datum merge_all(struct script_machine *m, const struct datum *a,
                              const struct datum *b)
{
    struct program_value merged = merge_value(false);
    uint32_t value = script_value_new(m, &merged);

    if (value != PROGRAM_NONE)
        set_sources(m, value, a, b);
    return script_value(value);
}

static struct datum merge_items(struct script_machine *m, const struct datum *a,
                                const struct datum *b)
{
    struct datum *items = script_items_new(m, a->n);

    for (uint32_t i = 0; items && i < a->n; i++)
        items[i] = script_merge(m, &a->items[i], &b->items[i]);
    return script_container(m, (enum datum_kind)a->kind, items, a->n);
}

/* The depth of data is limited. */
struct datum script_merge(struct script_machine *m, const struct datum *a,
                          const struct datum *b)
{
    if (!script_step(m) || is_same(a, b) || b->kind == DATUM_NOTHING)
        return *a;
    if (a->kind == DATUM_NOTHING)
        return *b;
    if ((a->kind == DATUM_TUPLE || a->kind == DATUM_LIST) && a->kind == b->kind &&
        a->n == b->n)
        return merge_items(m, a, b);
    /* None or an unknown value: use the other one, whose parts are known. */
    if (a->kind == DATUM_PLAIN && a->id == VALUE_ID_NONE &&
        script_known(m, b) == PROGRAM_NONE)
        return *b;
    if (b->kind == DATUM_PLAIN && b->id == VALUE_ID_NONE &&
        script_known(m, a) == PROGRAM_NONE)
        return *a;
    return merge_all(m, a, b);
}

/* The same for versions of a value. NOTHING means the value itself. */
static struct datum merge_versions(struct script_machine *m, uint32_t value,
                                   const struct datum *a, const struct datum *b)
{
    struct program_value merged = merge_value(false);
    uint32_t sources[2] = {a->kind == DATUM_VALUE ? a->id : value,
                           b->kind == DATUM_VALUE ? b->id : value};
    uint32_t made;

    if (sources[0] == sources[1])
        return *a;
    made = script_value_new(m, &merged);
    if (made != PROGRAM_NONE && build_program_sources(m->build, made, sources, 2) < 0)
        m->stop = true;
    return script_value(made);
}

static struct datum merge_cell(struct script_machine *m,
                               const struct cell_change *change, const struct datum *a,
                               const struct datum *b)
{
    if (change->kind == CELL_VERSION)
        return merge_versions(m, change->index, a, b);
    return script_merge(m, a, b);
}

/* ---- branches ---- */

struct script_mark script_branch_begin(struct script_machine *m)
{
    struct script_mark mark = {.changes = m->n_changes, .branch = m->branch};

    m->branch = ++m->last_branch;
    return mark;
}

/* Skip slots of functions that have returned. */
static bool is_gone(const struct script_machine *m, const struct cell_change *change)
{
    return change->kind == CELL_SLOT && change->index >= m->n_slots;
}

struct script_changes script_branch_undo(struct script_machine *m,
                                         struct script_mark mark)
{
    struct script_changes done = {.n = 0};

    done.at = arena_array(&m->arena, m->n_changes - mark.changes + 1, sizeof *done.at);
    if (!done.at)
        m->stop = true;
    for (uint32_t i = mark.changes; i < m->n_changes; i++) {
        struct cell_change change = m->changes[i];
        struct script_cell *cell =
            script_cell(m, (enum script_cell_kind)change.kind, change.index);
        struct datum now = cell->datum;

        if (is_gone(m, &change))
            continue;
        cell->datum = change.datum;
        cell->stamp = change.stamp;
        change.datum = now;
        if (done.at)
            done.at[done.n++] = change;
    }
    m->n_changes = mark.changes;
    m->branch = mark.branch;
    return done;
}

static void apply(struct script_machine *m, const struct script_changes *changes)
{
    for (uint32_t i = 0; i < changes->n && !m->stop; i++)
        script_set(m, (enum script_cell_kind)changes->at[i].kind, changes->at[i].index,
                   &changes->at[i].datum);
}

/* Merges the changes of the first branch with the state after the second. Cells that
 * both changed get the stamp `both`. */
static void merge_first(struct script_machine *m, const struct script_changes *first,
                        uint32_t both)
{
    for (uint32_t i = 0; i < first->n && !m->stop; i++) {
        struct cell_change *change = &first->at[i];
        struct script_cell *cell =
            script_cell(m, (enum script_cell_kind)change->kind, change->index);
        struct datum now = cell->datum;

        if (cell->stamp == m->branch)
            cell->stamp = both;
        change->datum = merge_cell(m, change, &change->datum, &now);
    }
}

/* Merges the cells that only the second branch changed with their old content. */
static void merge_second(struct script_machine *m, uint32_t from, uint32_t both)
{
    for (uint32_t i = from; i < m->n_changes && !m->stop; i++) {
        struct cell_change change = m->changes[i];
        enum script_cell_kind kind = (enum script_cell_kind)change.kind;
        struct datum now, merged;

        if (is_gone(m, &change) || script_cell(m, kind, change.index)->stamp == both)
            continue;
        now = script_cell(m, kind, change.index)->datum;
        merged = merge_cell(m, &change, &change.datum, &now);
        script_cell(m, kind, change.index)->datum = merged;
    }
}

void script_branch_join(struct script_machine *m, const struct script_changes *first,
                        struct script_mark mark, int taken)
{
    uint32_t both = ++m->last_branch;
    struct script_changes second;

    if (taken < 0) {
        merge_first(m, first, both);
        merge_second(m, mark.changes, both);
    }
    second = script_branch_undo(m, mark);
    if (taken <= 0)
        apply(m, &second);
    if (taken != 0)
        apply(m, first); /* last: cells that both changed are already merged */
}

/* ---- loops ---- */

struct datum script_loop_begin(struct script_machine *m, const struct datum *before)
{
    struct program_value merged = merge_value(true);
    struct datum *items;

    if (!script_step(m) || before->kind == DATUM_NOTHING ||
        before->kind >= DATUM_INSTANCE)
        return *before;
    if (before->kind != DATUM_TUPLE)
        return script_value(script_value_new(m, &merged));
    items = script_items_new(m, before->n);
    for (uint32_t i = 0; items && i < before->n; i++)
        items[i] = script_loop_begin(m, &before->items[i]);
    return script_container(m, DATUM_TUPLE, items, before->n);
}

void script_loop_end(struct script_machine *m, const struct datum *loop,
                     const struct datum *before, const struct datum *end)
{
    bool alike = end->kind == DATUM_TUPLE && end->n == loop->n;
    uint32_t n;

    if (!script_step(m))
        return;
    if (loop->kind == DATUM_VALUE && m->program->values[loop->id].loop &&
        m->program->values[loop->id].n_sources == 0) {
        n = set_sources(m, loop->id, before, end);
        m->program->values[loop->id].n_before = n;
    }
    if (loop->kind != DATUM_TUPLE || before->kind != DATUM_TUPLE ||
        before->n != loop->n)
        return;
    for (uint32_t i = 0; i < loop->n; i++)
        script_loop_end(m, &loop->items[i], &before->items[i],
                        alike ? &end->items[i] : end);
}
