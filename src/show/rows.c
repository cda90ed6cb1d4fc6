#include "show/rows.h"

#include "show/labels.h"
#include "show/repeats.h"
#include "show/sort.h"

/* A group without tensors that has more than this many members is closed in a printed
 * tree: nobody wants ten thousand losses between two modules. */
#define LONG_GROUP 24

struct maker {
    const struct show *show;
    const struct model *model;
    const struct view *view;
    struct arena *arena;
    struct rows *rows;
    bool *inner;                  /* flat lists: has a module or group right below it */
    bool *called_below;           /* likewise, of a recording */
    uint64_t *shapes;             /* of repeats.h, or NULL: runs are not looked for */
    uint32_t *children, *scratch; /* of one place; room for the longest list */
    struct row *stack;            /* rows yet to come, the next one last */
    uint32_t n_stack, stack_room;
};

/* --- Which places have rows */

/* A module of which only the name is known, and that has nothing: an activation that a
 * state_dict's _metadata mentions. A printed tree does without. */
static bool is_bare(const struct model *model, uint32_t place)
{
    return model->end[place] == place + 1 && !(model->flags[place] & PLACE_AGAIN) &&
           place_class(model, place).len == 0;
}

/* Is a child of `parent` a row of its own? `leaf`: the parent has no module below it,
 * so that its tensors are part of its own row. */
static bool has_row(const struct maker *m, uint32_t parent, uint32_t child, bool leaf)
{
    const struct model *model = m->model;
    bool in_module = model->kind[parent] == PLACE_MODULE;

    if (m->view->keep && !m->view->keep[child])
        return false;
    if (m->view->all)
        return true;
    if (model->flags[child] & PLACE_EMPTY)
        return false;
    switch (model->kind[child]) {
    case PLACE_MODULE:
        return m->view->open || !is_bare(model, child);
    case PLACE_GROUP:
        return !in_module || counts_tensors(&m->show->session->places, child) > 0;
    case PLACE_TENSOR:
        return model->kind[parent] == PLACE_GROUP || (in_module && !leaf);
    default:
        return !in_module && model->kind[parent] != PLACE_TENSOR;
    }
}

/* In a printed tree: is what stands below this place worth its rows? */
static bool open_in_print(const struct maker *m, uint32_t place)
{
    const struct model *model = m->model;
    uint32_t members = 0;

    if (m->view->all || m->view->keep || model->kind[place] == PLACE_MODULE ||
        place == 0)
        return true;
    if (model->flags[place] & PLACE_OPTIMIZER)
        return false;
    if (counts_tensors(&m->show->session->places, place) > 0)
        return true;
    for (uint32_t c = place_first(model, place); c != NO_PLACE;
         c = place_next(model, c)) {
        if (model->kind[c] == PLACE_MODULE)
            return true;
        members++;
    }
    return members <= LONG_GROUP;
}

static bool is_open(const struct maker *m, const struct row *row)
{
    if (row->flags & ROW_MORE || row->depth >= m->view->depth)
        return false;
    if (m->view->open)
        return bit_get(m->view->open, row->place);
    return open_in_print(m, row->place);
}

/* --- Order */

static uint64_t sort_key(const struct maker *m, uint32_t place)
{
    const struct place_counts *counts = &m->show->session->places;
    struct row row = {.place = place, .count = 1};

    switch (m->view->sort) {
    case SORT_TIME:
        return row_run(m->show, &row, RUN_TOTAL);
    case SORT_SELF:
        return row_run(m->show, &row, RUN_SELF);
    case SORT_CALLS:
        return row_run(m->show, &row, RUN_CALLS);
    case SORT_BYTES:
        return counts_bytes(counts, place);
    default:
        return counts_params(counts, place);
    }
}

static int compare_places(const void *about, uint32_t a, uint32_t b)
{
    const struct maker *m = about;
    int order;

    if (m->view->sort == SORT_NAME) {
        order = sort_names(place_name(m->model, a), place_name(m->model, b));
    } else {
        uint64_t x = sort_key(m, a), y = sort_key(m, b);

        order = x > y ? -1 : x < y; /* the biggest first */
    }
    return m->view->reverse ? -order : order;
}

static void order(struct maker *m, uint32_t *places, uint32_t n)
{
    if (m->view->sort != SORT_MODEL) {
        sort_ids(places, n, m->scratch, compare_places, m);
    } else if (m->view->reverse) {
        for (uint32_t a = 0, b = n; a + 1 < b; a++) {
            uint32_t swap = places[a];

            places[a] = places[--b];
            places[b] = swap;
        }
    }
}

/* --- Making rows */

static int push(struct maker *m, struct row row)
{
    if (arena_room(m->arena, &m->stack, m->n_stack, &m->stack_room, sizeof *m->stack) <
        0)
        return -1;
    m->stack[m->n_stack++] = row;
    return 0;
}

static int add(struct maker *m, struct row row)
{
    struct rows *rows = m->rows;

    if (arena_room(m->arena, &rows->at, rows->n, &rows->room, sizeof *rows->at) < 0)
        return -1;
    if (m->view->match && !(row.flags & ROW_MORE) && m->view->match[row.place])
        row.flags |= ROW_MATCH;
    rows->at[rows->n++] = row;
    return 0;
}

/* The children of a place that have rows, in order, into m->children. */
static uint32_t gather(struct maker *m, uint32_t place)
{
    const struct model *model = m->model;
    bool leaf = show_is_leaf(model, place);
    uint32_t n = 0;

    for (uint32_t c = place_first(model, place); c != NO_PLACE;
         c = place_next(model, c))
        if (has_row(m, place, c, leaf))
            m->children[n++] = c;
    order(m, m->children, n);
    return n;
}

/* The row for what begins at children[i]: one place, or a run of equal ones. */
static struct row next_row(const struct maker *m, const uint32_t *children, uint32_t n)
{
    struct row row = {.place = children[0], .count = 1};
    uint32_t period = 1;

    if (!m->shapes || (m->view->single && bit_get(m->view->single, children[0])))
        return row;
    row.count = repeats_run(m->model, m->shapes, m->view->blocks, children, n, &period);
    if (row.count > 1)
        row.flags = period == 2 ? ROW_RUN | ROW_PAIRS : ROW_RUN;
    return row;
}

/* Put the rows of the children on the stack, so that the first comes off first. */
static int push_children(struct maker *m, uint32_t n, uint32_t above, uint32_t depth)
{
    uint32_t first = m->n_stack, shown = 0;

    for (uint32_t i = 0; i < n;) {
        struct row row = next_row(m, m->children + i, n - i);

        if (shown++ == m->view->top)
            row = (struct row){
                .place = m->children[i], .count = n - i, .flags = ROW_MORE};
        row.above = above;
        row.depth = depth;
        if (push(m, row) < 0)
            return -1;
        i += row.count;
    }
    for (uint32_t a = first, b = m->n_stack; a + 1 < b; a++) {
        struct row swap = m->stack[a];

        m->stack[a] = m->stack[--b];
        m->stack[b] = swap;
    }
    return 0;
}

/* What stands below a row. Below a run stand the rows of its first member; below a run
 * of pairs the first pair. */
static int unfold(struct maker *m, uint32_t at)
{
    struct row row = m->rows->at[at];
    uint32_t n;

    if (row.flags & ROW_MORE)
        return 0;
    if (row.flags & ROW_PAIRS) {
        n = 2;
        m->children[0] = row.place;
        m->children[1] = m->model->end[row.place];
    } else {
        n = gather(m, row.place);
    }
    if (n == 0)
        return 0;
    if (!is_open(m, &row)) {
        m->rows->at[at].flags |= ROW_CLOSED;
        return 0;
    }
    m->rows->at[at].flags |= ROW_OPEN;
    return push_children(m, n, at, row.depth + 1);
}

/* A row is the last of its siblings if no later one has the same parent. */
static void mark_last(struct rows *rows)
{
    enum { SEEN = 1 << 15 };

    for (uint32_t i = rows->n; i-- > 0;) {
        struct row *row = &rows->at[i];

        row->flags &= ~(unsigned)SEEN;
        if (row->above == NO_ROW) {
            row->flags |= ROW_LAST;
        } else if (!(rows->at[row->above].flags & SEEN)) {
            rows->at[row->above].flags |= SEEN;
            row->flags |= ROW_LAST;
        }
    }
}

static int make_tree(struct maker *m)
{
    if (push(m, (struct row){.count = 1, .above = NO_ROW}) < 0)
        return -1;
    while (m->n_stack > 0) {
        struct row row = m->stack[--m->n_stack];

        if (add(m, row) < 0 || unfold(m, m->rows->n - 1) < 0)
            return -1;
    }
    mark_last(m->rows);
    return 0;
}

/* --- Flat lists */

static bool in_flat(const struct maker *m, uint32_t place)
{
    const struct model *model = m->model;
    uint32_t parent = model->parent[place];

    if (m->view->keep && !m->view->keep[place])
        return false;
    if (m->view->flat == FLAT_TENSORS)
        return model->kind[place] == PLACE_TENSOR;
    if (model->kind[place] == PLACE_MODULE)
        return !m->inner[place] && (m->view->open || !is_bare(model, place));
    /* A tensor that is no leaf's own would be missed otherwise. */
    return model->kind[place] == PLACE_TENSOR &&
           (model->kind[parent] == PLACE_GROUP ||
            (model->kind[parent] == PLACE_MODULE && m->inner[parent]));
}

/* In a recording also that is a leaf which was called and nothing below it was: a fused
 * kernel, compiled code. From behind, what stands below is known. */
static void find_called(struct maker *m)
{
    const struct activities *all = m->show->activity;

    for (uint32_t p = all->n; p-- > 0;) {
        if (all->at[p].calls > 0 && !m->called_below[p])
            m->inner[p] = false;
        if (p > 0)
            m->called_below[m->model->parent[p]] |=
                m->called_below[p] || all->at[p].calls > 0;
    }
}

/* Which places have a module or group right below them. */
static int find_inner(struct maker *m)
{
    const struct model *model = m->model;

    m->inner = arena_array(m->arena, model->n_places, sizeof *m->inner);
    m->called_below = arena_array(m->arena, model->n_places, sizeof *m->called_below);
    if (!m->inner || !m->called_below)
        return -1;
    for (uint32_t p = 1; p < model->n_places; p++)
        if (model->kind[p] == PLACE_MODULE || model->kind[p] == PLACE_GROUP)
            m->inner[model->parent[p]] = true;
    if (m->show->activity)
        find_called(m);
    return 0;
}

static int make_flat(struct maker *m)
{
    uint32_t n = 0;

    if (find_inner(m) < 0)
        return -1;
    for (uint32_t p = 1; p < m->model->n_places; p++)
        if (in_flat(m, p))
            m->children[n++] = p;
    order(m, m->children, n);
    for (uint32_t i = 0; i < n; i++) {
        struct row row = {.place = m->children[i], .count = 1, .above = NO_ROW};

        if (i == m->view->top) {
            row.count = n - i;
            row.flags = ROW_MORE;
        }
        if (add(m, row) < 0)
            return -1;
        if (row.flags & ROW_MORE)
            break;
    }
    return 0;
}

int rows_make(struct rows *rows, const struct show *show, const struct view *view,
              struct arena *arena, struct err *err)
{
    struct maker m = {
        .show = show, .model = show->model, .view = view, .arena = arena, .rows = rows};
    uint32_t n = show->model->n_places;

    *rows = (struct rows){0};
    m.children = arena_array(arena, n < 2 ? 2 : n, sizeof *m.children);
    m.scratch = arena_array(arena, n, sizeof *m.scratch);
    if (!view->no_runs && !view->keep && view->flat == FLAT_NO)
        m.shapes = repeats_shapes(show, arena);
    if (!m.children || !m.scratch)
        return arena_err(arena, "the list of rows", err);
    if ((view->flat == FLAT_NO ? make_tree(&m) : make_flat(&m)) < 0)
        return arena_err(arena, "the list of rows", err);
    return 0;
}
