/* Matches the parts of two networks: merge_in.h lists the steps. */
#include "graph/merge_in.h"
#include "study/diverge/sequence.h"

enum match_step { STEP_EQUAL, STEP_CLASS, STEP_NAME, STEP_RENAMED, STEP_NUMBER, STEPS };

struct part_matching {
    struct merge_side *side[2]; /* in an order that is independent of which is old */
    uint32_t *queue;            /* parts of side 0 whose content is still to be
                                   matched */
    uint32_t n_queue;
    uint32_t *list[2]; /* the parts inside the current pair */
    uint32_t n[2];
    uint64_t *signature[2]; /* by item of the list; 0: not in this step */
    uint32_t *found[2];     /* by item of the list */
    uint32_t *position;     /* by part of side 1: its item, if it is in the list */
    uint32_t *next;         /* private: items with the same signature */
    struct arena arena;     /* of one step */
};

/* ---- signatures ---- */

static const struct diagram_box *box_of(const struct part_matching *m, int s,
                                        uint32_t part)
{
    return &m->side[s]->parts->at[part].box;
}

/* Does it have a name of its own? Operations only have an order. */
static bool is_named(const struct diagram_box *box)
{
    return box->kind != DIAGRAM_OP && box->kind != DIAGRAM_VIEW;
}

/* "3", "layers.3": the number may have shifted if something was inserted before it. */
static bool has_number(const struct diagram_box *box)
{
    char last = box->name.len > 0 ? box->name.at[box->name.len - 1] : 'x';

    return last >= '0' && last <= '9' &&
           (box->name.len == 1 || str_find_last_char(box->name, '.') >= 0 ||
            (box->name.at[0] >= '0' && box->name.at[0] <= '9'));
}

static uint64_t signature(const struct part_matching *m, int s, uint32_t part,
                          enum match_step step)
{
    const struct merge_side *side = m->side[s];
    const struct diagram_box *box = box_of(m, s, part);
    uint64_t kind = hash_mix(box->kind, merge_is_leaf(side, part));
    uint64_t name = hash_mix(kind, str_hash(box->name));

    switch (step) {
    case STEP_EQUAL:
        return is_named(box) ? hash_mix(name, side->hash[part]) : side->hash[part];
    case STEP_CLASS:
        if (box->kind == DIAGRAM_MODULE)
            name = hash_mix(name, str_hash(parts_words_at(side->parts, part, 0)));
        return name;
    case STEP_NAME:
        return is_named(box) && !has_number(box) ? name : 0;
    case STEP_RENAMED:
        return is_named(box) ? hash_mix(kind, side->hash[part]) : 0;
    default:
        return is_named(box) && has_number(box) ? name : 0;
    }
}

static bool is_free(const struct part_matching *m, int s, uint32_t item)
{
    return m->side[s]->match[m->list[s][item]] == PART_NONE;
}

/* Returns true if both sides have some. */
static bool sign(struct part_matching *m, enum match_step step)
{
    bool some[2] = {false, false};

    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < m->n[s]; i++) {
            m->signature[s][i] =
                is_free(m, s, i) ? signature(m, s, m->list[s][i], step) : 0;
            some[s] |= m->signature[s][i] != 0;
        }
    return some[0] && some[1];
}

/* Keep only signatures with equal counts on both sides: a renaming must not be a
 * guess. */
static int keep_balanced(struct part_matching *m)
{
    uint32_t n = 0, at;
    struct map map;
    int32_t *count;

    map_init(&map, &m->arena);
    count = arena_array(&m->arena, (size_t)m->n[0] + m->n[1] + 1, sizeof *count);
    if (!count)
        return -1;
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < m->n[s]; i++) {
            if (m->signature[s][i] == 0)
                continue;
            if (!map_find(&map, m->signature[s][i], &at)) {
                at = n++;
                if (map_put(&map, m->signature[s][i], at) < 0)
                    return -1;
            }
            count[at] += s == 0 ? 1 : -1;
        }
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < m->n[s]; i++)
            if (map_find(&map, m->signature[s][i], &at) && count[at] != 0)
                m->signature[s][i] = 0;
    return 0;
}

/* ---- matching ---- */

static void match(struct part_matching *m, uint32_t x, uint32_t y)
{
    m->side[0]->match[x] = y;
    m->side[1]->match[y] = x;
    if (!merge_is_leaf(m->side[0], x))
        m->queue[m->n_queue++] = x;
}

/* In the order of both lists; earlier matches separate the rest. */
static int match_in_order(struct part_matching *m)
{
    struct sequence_side sides[2];

    for (int s = 0; s < 2; s++) {
        sides[s] = (struct sequence_side){m->signature[s], m->found[s], m->n[s]};
        for (uint32_t i = 0; i < m->n[s]; i++)
            m->found[s][i] = SEQUENCE_NONE;
    }
    for (uint32_t i = 0; i < m->n[0]; i++) {
        uint32_t y = m->side[0]->match[m->list[0][i]];

        if (y == PART_NONE)
            continue;
        m->found[0][i] = m->position[y];
        m->found[1][m->position[y]] = i;
    }
    if (sequence_align(&sides[0], &sides[1], &m->arena) < 0)
        return -1;
    for (uint32_t i = 0; i < m->n[0]; i++)
        if (m->found[0][i] != SEQUENCE_NONE && is_free(m, 0, i))
            match(m, m->list[0][i], m->list[1][m->found[0][i]]);
    return 0;
}

/* Match named parts out of order; those with equal signatures in their order. */
static int match_anywhere(struct part_matching *m)
{
    struct map first;
    uint32_t at;

    map_init(&first, &m->arena);
    for (uint32_t i = m->n[0]; i-- > 0;) {
        if (!is_free(m, 0, i) || m->signature[0][i] == 0 ||
            !is_named(box_of(m, 0, m->list[0][i])))
            continue;
        m->next[i] = map_find(&first, m->signature[0][i], &at) ? at : PART_NONE;
        if (map_put(&first, m->signature[0][i], i) < 0)
            return -1;
    }
    for (uint32_t i = 0; i < m->n[1]; i++) {
        if (!is_free(m, 1, i) || m->signature[1][i] == 0 ||
            !map_find(&first, m->signature[1][i], &at) || at == PART_NONE)
            continue;
        match(m, m->list[0][at], m->list[1][i]);
        if (map_put(&first, m->signature[1][i], m->next[at]) < 0)
            return -1;
    }
    return 0;
}

/* One operation that replaced another between the same neighbours. */
static void match_replaced(struct part_matching *m)
{
    const struct graph_part *a = m->side[0]->parts->at, *b = m->side[1]->parts->at;

    for (uint32_t i = 0; i < m->n[0]; i++) {
        uint32_t x = m->list[0][i], y, after;

        if (!is_free(m, 0, i) || is_named(&a[x].box))
            continue;
        if (i > 0 && is_free(m, 0, i - 1))
            continue;
        y = i > 0 ? b[m->side[0]->match[m->list[0][i - 1]]].next : m->list[1][0];
        after = a[x].next == PART_NONE ? PART_NONE : m->side[0]->match[a[x].next];
        if (y == PART_NONE || m->side[1]->match[y] != PART_NONE ||
            b[y].box.kind != a[x].box.kind || b[y].next != after ||
            (a[x].next != PART_NONE && after == PART_NONE))
            continue;
        match(m, x, y);
    }
}

/* ---- one pair of groups ---- */

static void list_inside(struct part_matching *m, int s, uint32_t group)
{
    const struct graph_part *at = m->side[s]->parts->at;

    m->n[s] = 0;
    for (uint32_t i = at[group].first; i != PART_NONE; i = at[i].next) {
        if (s == 1)
            m->position[i] = m->n[s];
        m->list[s][m->n[s]++] = i;
    }
}

static int match_step(struct part_matching *m, enum match_step step)
{
    if (!sign(m, step))
        return 0;
    if ((step == STEP_RENAMED && keep_balanced(m) < 0) || match_in_order(m) < 0)
        return -1;
    return step == STEP_RENAMED ? 0 : match_anywhere(m);
}

static int match_inside(struct part_matching *m, uint32_t x)
{
    uint32_t y = m->side[0]->match[x];
    int status = 0;

    list_inside(m, 0, x);
    list_inside(m, 1, y);
    if (m->n[0] == m->n[1] && m->side[0]->hash[x] == m->side[1]->hash[y]) {
        for (uint32_t i = 0; i < m->n[0]; i++)
            if (merge_is_leaf(m->side[0], m->list[0][i]) ==
                merge_is_leaf(m->side[1], m->list[1][i]))
                match(m, m->list[0][i], m->list[1][i]);
        return 0;
    }
    for (int step = 0; step < STEPS && status == 0; step++) {
        arena_init(&m->arena, 0);
        status = match_step(m, (enum match_step)step);
        arena_release(&m->arena);
    }
    if (status == 0 && m->n[0] > 0 && m->n[1] > 0)
        match_replaced(m);
    return status;
}

static int allocate(struct part_matching *m, struct arena *scratch)
{
    size_t most = 0;

    for (int s = 0; s < 2; s++) {
        size_t n = (size_t)m->side[s]->parts->n + 1;

        m->list[s] = arena_array(scratch, n, sizeof(uint32_t));
        m->found[s] = arena_array(scratch, n, sizeof(uint32_t));
        m->signature[s] = arena_array(scratch, n, sizeof(uint64_t));
        if (!m->list[s] || !m->found[s] || !m->signature[s])
            return -1;
        most = n > most ? n : most;
    }
    m->queue = arena_array(scratch, most, sizeof *m->queue);
    m->next = arena_array(scratch, most, sizeof *m->next);
    m->position = arena_array(scratch, most, sizeof *m->position);
    return m->queue && m->next && m->position ? 0 : -1;
}

/* ---- which side is first ---- */

static int compare_words(const struct merge_side *a, const struct merge_side *b,
                         uint32_t part)
{
    const struct diagram_box *x = &a->parts->at[part].box, *y = &b->parts->at[part].box;
    int order = str_cmp(x->name, y->name);

    if (order == 0 && x->n_words != y->n_words)
        order = x->n_words < y->n_words ? -1 : 1;
    for (uint32_t i = 0; order == 0 && i < x->n_words; i++)
        order = str_cmp(a->parts->words[x->words + i], b->parts->words[y->words + i]);
    return order;
}

/* Compare by content, because hashes differ between runs. */
static bool comes_after(const struct merge_side *a, const struct merge_side *b)
{
    if (a->parts->n != b->parts->n)
        return a->parts->n > b->parts->n;
    for (uint32_t i = 0; i < a->parts->n; i++) {
        int order = compare_words(a, b, i);

        if (order != 0)
            return order > 0;
        if (a->parts->at[i].parent != b->parts->at[i].parent)
            return a->parts->at[i].parent > b->parts->at[i].parent;
    }
    return false;
}

int merge_match(struct merge *merge)
{
    struct merge_side *old = &merge->side[MERGE_OLD], *new = &merge->side[MERGE_NEW];
    bool turn = comes_after(old, new);
    struct part_matching m = {.side = {turn ? new : old, turn ? old : new}};

    if (allocate(&m, merge->scratch) < 0)
        return -1;
    match(&m, PART_ROOT, PART_ROOT);
    for (uint32_t i = 0; i < m.n_queue; i++)
        if (match_inside(&m, m.queue[i]) < 0)
            return -1;
    return 0;
}
