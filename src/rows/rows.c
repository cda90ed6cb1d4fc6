#include "rows/rows.h"

#include "rows/rows_parts.h"

/* A printed tree closes groups without tensors that have more members than this: ten
 * thousand losses between two modules are not useful. */
#define LONG_GROUP 24
#define DEEPEST    0xffffffu /* maximum depth of a packed row */

/* The siblings being listed. In the model's order they are found one by one; otherwise
 * they are in maker.units, sorted. */
struct rows_frame {
    uint32_t above;     /* their parent's row */
    uint32_t next, end; /* places; or indices in maker.units, from `first` on */
    uint32_t first;
    uint32_t shown; /* listed so far */
    uint32_t last;  /* the row of the latest sibling */
    bool pair;      /* the repeated pair of a run of pairs */
    bool leaf;      /* their parent has no module below it */
};

struct maker {
    const struct rows_of *of;
    const struct outline *outline;
    const struct model *model;
    const struct view *view;
    struct arena *arena, *scratch;
    struct rows *rows;
    bool runs;          /* are equal siblings one row? */
    bool listed;        /* are siblings sorted? */
    bool *inner;        /* flat lists: has a module or group as a child */
    bool *called_below; /* flat lists of a recording: something below it was called */
    struct order order;
    struct unit *units;
    uint32_t n_units, units_room;
    struct rows_frame *frames;
    uint32_t n_frames, frames_room;
};

struct row rows_at(const struct rows *rows, uint32_t row)
{
    const struct row_cell *cell = &rows->cells[row];
    struct row ret = {cell->place, 1, cell->above, cell->depth, cell->flags};
    uint32_t low = 0, high = rows->n_counts;

    if (!(cell->flags & (ROW_RUN | ROW_MORE)))
        return ret;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (rows->counts[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
    ret.count = rows->counts[low].count;
    return ret;
}

/* --- Which places have rows */

/* A module with a known name and no contents: an activation that a state_dict's
 * _metadata mentions. Printed trees omit it. */
static bool is_bare(const struct model *model, uint32_t place)
{
    return model->end[place] == place + 1 && !(model->flags[place] & PLACE_AGAIN) &&
           place_class(model, place).len == 0;
}

/* Does a group in a module, or something in such a group, get a row? Only if it has
 * tensors. */
static bool group_in_module(const struct show *show, uint32_t place)
{
    return counts_tensors(&show->session->places, place) > 0;
}

/* In a printed tree: does a child of `parent` get its own row? `leaf`: the parent has
 * no module below it, so its row includes its tensors. */
static bool printed_has(const struct maker *m, uint32_t parent, uint32_t child,
                        bool leaf)
{
    const struct model *model = m->model;
    bool in_module = model->kind[parent] == PLACE_MODULE;

    if (m->view->all)
        return true;
    if (model->flags[child] & PLACE_EMPTY)
        return false;
    switch (model->kind[child]) {
    case PLACE_MODULE:
        return m->view->open || !is_bare(model, child);
    case PLACE_GROUP:
        return !in_module || group_in_module(m->outline->show, child);
    case PLACE_TENSOR:
        return model->kind[parent] == PLACE_GROUP || (in_module && !leaf);
    default:
        return !in_module && model->kind[parent] != PLACE_TENSOR;
    }
}

static bool may_have_row(const struct outline *outline, uint32_t at)
{
    const struct model *model = outline->show->model;
    uint32_t parent = outline->parent[at];

    if (parent == NO_PLACE || outline->diff)
        return true;
    if (model->flags[at] & (PLACE_EMPTY | PLACE_ATTRIBUTE))
        return false;
    switch (model->kind[at]) {
    case PLACE_GROUP:
        return model->kind[parent] != PLACE_MODULE ||
               group_in_module(outline->show, at);
    case PLACE_VALUE:
        return model->kind[parent] == PLACE_GROUP;
    default:
        return true;
    }
}

/* Set the bits of all places, in reverse order so that children come before parents. */
static void find_rows(const struct outline *outline, uint8_t *has, uint8_t *below,
                      uint8_t *inner)
{
    for (uint32_t p = outline->n; p-- > 0;) {
        uint32_t parent = outline->parent[p];

        /* For a pair: a module with only identical tensors has nothing to show. */
        if (outline->diff && p > 0 && !bit_get(inner, p) &&
            !outline_differs(outline, p))
            bit_set(below, p, false);
        if (!may_have_row(outline, p))
            continue;
        bit_set(has, p, true);
        if (parent == NO_PLACE)
            continue;
        bit_set(below, parent, true);
        if (outline_kind(outline, p) != PLACE_TENSOR)
            bit_set(inner, parent, true);
    }
}

int rows_prepare(struct rows_of *of, const struct show *show, struct arena *arena,
                 struct err *err)
{
    uint8_t *has, *below, *inner;

    *of = (struct rows_of){0};
    if (outline_init(&of->outline, show, arena, err) < 0)
        return -1;
    has = arena_alloc(arena, bit_bytes(of->outline.n));
    below = arena_alloc(arena, bit_bytes(of->outline.n));
    inner = arena_alloc(arena, bit_bytes(of->outline.n));
    if (!has || !below || !inner ||
        (!show->pair && repeats_find(&of->repeats, show, arena) < 0))
        return arena_err(arena, "the tree", err);
    find_rows(&of->outline, has, below, inner);
    of->has = has;
    of->below = below;
    of->inner = inner;
    return 0;
}

static bool has_row(const struct maker *m, uint32_t child, bool leaf)
{
    if (m->view->keep && !bit_get(m->view->keep, child))
        return false;
    if (m->view->changed && !outline_differs(m->outline, child))
        return false;
    if (m->view->fold)
        return bit_get(m->of->has, child);
    if (m->outline->diff)
        return true;
    return printed_has(m, m->model->parent[child], child, leaf);
}

/* In a printed tree: show the rows below this place? */
static bool open_in_print(const struct maker *m, uint32_t place)
{
    const struct model *model = m->model;
    uint32_t members = 0;

    if (m->view->all || m->view->keep || m->outline->diff ||
        model->kind[place] == PLACE_MODULE || place == 0)
        return true;
    if (model->flags[place] & PLACE_OPTIMIZER)
        return false;
    if (counts_tensors(&m->outline->show->session->places, place) > 0)
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
    if (row->depth >= m->view->depth)
        return false;
    if (m->view->open)
        return !(m->view->fold && row->flags & ROW_RUN) &&
               bit_get(m->view->open, row->place);
    return open_in_print(m, row->place);
}

/* --- Siblings */

/* The row that starts at a place: the place alone, or a run of equal ones. */
static struct unit unit_at(const struct maker *m, const struct rows_frame *frame,
                           uint32_t place)
{
    struct unit unit = {.place = place, .count = 1};
    uint32_t period = 1;

    if (!m->runs || frame->pair ||
        (m->view->single && bit_get(m->view->single, place)) ||
        m->model->kind[place] != PLACE_MODULE)
        return unit;
    unit.count =
        repeats_run(&m->of->repeats, m->model, m->view->blocks, place, &period);
    unit.pairs = period == 2;
    /* The second member of a pair may have no row. */
    if (unit.pairs && !has_row(m, m->model->end[place], frame->leaf))
        return (struct unit){.place = place, .count = 1};
    return unit;
}

/* Find the next sibling, in tree order. */
static bool find_unit(const struct maker *m, struct rows_frame *frame,
                      struct unit *ret_unit)
{
    const uint32_t *end = m->outline->end;

    while (frame->next < frame->end) {
        uint32_t place = frame->next;

        frame->next = end[place];
        if (!has_row(m, place, frame->leaf))
            continue;
        *ret_unit = unit_at(m, frame, place);
        for (uint32_t i = 1; i < ret_unit->count; i++)
            frame->next = end[frame->next];
        return true;
    }
    return false;
}

static int add_unit(struct maker *m, struct unit unit)
{
    if (m->n_units == m->units_room && arena_room(m->scratch, &m->units, m->n_units,
                                                  &m->units_room, sizeof *m->units) < 0)
        return -1;
    m->units[m->n_units++] = unit;
    return 0;
}

/* List the siblings of `frame`, in order. */
static int list_units(struct maker *m, struct rows_frame *frame)
{
    struct unit unit;

    frame->first = m->n_units;
    while (find_unit(m, frame, &unit))
        if (add_unit(m, unit) < 0)
            return -1;
    frame->next = frame->first;
    frame->end = m->n_units;
    return units_order(&m->order, m->units + frame->first, m->n_units - frame->first);
}

static bool next_unit(struct maker *m, struct rows_frame *frame, struct unit *ret_unit)
{
    if (!m->listed || frame->pair)
        return find_unit(m, frame, ret_unit);
    if (frame->next == frame->end)
        return false;
    *ret_unit = m->units[frame->next++];
    return true;
}

/* All remaining siblings, from `unit` on, as one row. */
static struct row rest_row(struct maker *m, struct rows_frame *frame, struct unit unit)
{
    struct row row = {.place = unit.place, .count = unit.count, .flags = ROW_MORE};

    while (next_unit(m, frame, &unit))
        row.count += unit.count;
    return row;
}

/* --- Making rows */

static int add(struct maker *m, const struct row *row)
{
    struct rows *rows = m->rows;

    if (rows->n == rows->room && arena_room(m->arena, &rows->cells, rows->n,
                                            &rows->room, sizeof *rows->cells) < 0)
        return -1;
    if (row->flags & (ROW_RUN | ROW_MORE)) {
        if (arena_room(m->arena, &rows->counts, rows->n_counts, &rows->counts_room,
                       sizeof *rows->counts) < 0)
            return -1;
        rows->counts[rows->n_counts++] = (struct row_count){rows->n, row->count};
    }
    rows->cells[rows->n] = (struct row_cell){
        row->place, row->above, row->depth < DEEPEST ? row->depth : DEEPEST,
        row->flags & 0xff};
    if (m->view->match && !(row->flags & ROW_MORE) &&
        bit_get(m->view->match, row->place))
        rows->cells[rows->n].flags |= ROW_MATCH;
    rows->n++;
    return 0;
}

static bool any_below(const struct maker *m, const struct row *row, bool leaf)
{
    if (row->flags & ROW_PAIRS)
        return true;
    if (m->view->fold && !m->view->keep && !m->view->changed)
        return bit_get(m->of->below, row->place);
    for (uint32_t c = row->place + 1; c < m->outline->end[row->place];
         c = m->outline->end[c])
        if (has_row(m, c, leaf))
            return true;
    return false;
}

/* Begin the rows below a row. Below a run, these are the rows of its first member;
 * below a run of pairs, the first pair. */
static int unfold(struct maker *m, uint32_t at, const struct row *row)
{
    const uint32_t *end = m->outline->end;
    struct rows_frame frame;

    if (row->flags & ROW_MORE ||
        (end[row->place] == row->place + 1 && !(row->flags & ROW_PAIRS)))
        return 0;
    frame = (struct rows_frame){.above = at,
                                .next = row->place + 1,
                                .end = end[row->place],
                                .pair = row->flags & ROW_PAIRS};
    frame.leaf =
        !m->view->fold && !m->outline->diff && show_is_leaf(m->model, row->place);
    if (!any_below(m, row, frame.leaf))
        return 0;
    if (!is_open(m, row)) {
        m->rows->cells[at].flags |= ROW_CLOSED;
        return 0;
    }
    m->rows->cells[at].flags |= ROW_OPEN;
    if (frame.pair) {
        frame.next = row->place;
        frame.end = end[end[row->place]];
    } else if (m->listed && list_units(m, &frame) < 0) {
        return -1;
    }
    if (arena_room(m->scratch, &m->frames, m->n_frames, &m->frames_room,
                   sizeof *m->frames) < 0)
        return -1;
    m->frames[m->n_frames++] = frame;
    return 0;
}

static int add_sibling(struct maker *m, struct rows_frame *frame, struct unit unit)
{
    struct row row = {.place = unit.place, .count = unit.count};

    if (unit.count > 1)
        row.flags = unit.pairs ? ROW_RUN | ROW_PAIRS : ROW_RUN;
    if (frame->shown++ == m->view->top)
        row = rest_row(m, frame, unit);
    row.above = frame->above;
    row.depth = m->n_frames;
    frame->last = m->rows->n;
    if (add(m, &row) < 0)
        return -1;
    return unfold(m, m->rows->n - 1, &row);
}

static int make_tree(struct maker *m)
{
    struct row root = {.count = 1, .above = NO_ROW, .flags = ROW_LAST};

    if (add(m, &root) < 0 || unfold(m, 0, &root) < 0)
        return -1;
    while (m->n_frames > 0) {
        struct rows_frame *frame = &m->frames[m->n_frames - 1];
        struct unit unit;

        if (next_unit(m, frame, &unit)) {
            if (add_sibling(m, frame, unit) < 0)
                return -1;
        } else {
            m->rows->cells[frame->last].flags |= ROW_LAST;
            if (m->listed && !frame->pair)
                m->n_units = frame->first;
            m->n_frames--;
        }
    }
    return 0;
}

/* --- Flat lists */

static bool in_flat(const struct maker *m, uint32_t at)
{
    enum place_kind kind = outline_kind(m->outline, at);
    uint32_t parent = m->outline->parent[at];

    if (m->view->keep && !bit_get(m->view->keep, at))
        return false;
    if (m->view->changed && !outline_differs(m->outline, at))
        return false;
    if (m->view->flat == FLAT_TENSORS)
        return kind == PLACE_TENSOR;
    if (kind == PLACE_MODULE)
        return !m->inner[at] &&
               (m->view->open || m->outline->diff || !is_bare(m->model, at));
    /* Tensors that do not belong to a leaf would be lost otherwise. */
    return kind == PLACE_TENSOR &&
           (outline_kind(m->outline, parent) == PLACE_GROUP ||
            (outline_kind(m->outline, parent) == PLACE_MODULE && m->inner[parent]));
}

/* In a recording, a module is also a leaf if it was called and nothing below it was: a
 * fused kernel, compiled code. Scans in reverse, children before parents. */
static void find_called(struct maker *m)
{
    const struct activities *all = m->outline->show->activity;

    for (uint32_t p = all->n; p-- > 0;) {
        if (all->at[p].calls > 0 && !m->called_below[p])
            m->inner[p] = false;
        if (p > 0)
            m->called_below[m->model->parent[p]] |=
                m->called_below[p] || all->at[p].calls > 0;
    }
}

/* Find the places that have a module or group as a child. */
static int find_inner(struct maker *m)
{
    const struct outline *outline = m->outline;

    m->inner = arena_array(m->scratch, outline->n, sizeof *m->inner);
    m->called_below = arena_array(m->scratch, outline->n, sizeof *m->called_below);
    if (!m->inner || !m->called_below)
        return -1;
    for (uint32_t p = 1; p < outline->n; p++) {
        enum place_kind kind = outline_kind(outline, p);

        if (kind == PLACE_MODULE || kind == PLACE_GROUP)
            m->inner[outline->parent[p]] = true;
    }
    if (outline->show->activity && !outline->diff)
        find_called(m);
    return 0;
}

static int make_flat(struct maker *m)
{
    if (find_inner(m) < 0)
        return -1;
    for (uint32_t p = 1; p < m->outline->n; p++)
        if (in_flat(m, p) && add_unit(m, (struct unit){.place = p, .count = 1}) < 0)
            return -1;
    if (units_order(&m->order, m->units, m->n_units) < 0)
        return -1;
    for (uint32_t i = 0; i < m->n_units; i++) {
        struct row row = {.place = m->units[i].place, .count = 1, .above = NO_ROW};

        if (i == m->view->top) {
            row.count = m->n_units - i;
            row.flags = ROW_MORE;
        }
        if (add(m, &row) < 0)
            return -1;
        if (row.flags & ROW_MORE)
            break;
    }
    return 0;
}

int rows_fill(struct rows *rows, const struct rows_of *of, const struct view *view,
              struct arena *arena, struct arena *scratch, struct err *err)
{
    struct maker m = {.of = of,
                      .outline = &of->outline,
                      .model = of->outline.show->model,
                      .view = view,
                      .arena = arena,
                      .scratch = scratch,
                      .rows = rows,
                      .runs = of->repeats.next && !view->no_runs && !view->keep,
                      .listed = view->sort != SORT_MODEL || view->reverse};

    rows->n = rows->n_counts = 0;
    if (order_begin(&m.order, &of->outline, view, scratch) < 0 ||
        (view->flat == FLAT_NO ? make_tree(&m) : make_flat(&m)) < 0)
        return arena_err(arena->spent ? arena : scratch, "the list of rows", err);
    return 0;
}

int rows_make(struct rows *rows, const struct show *show, const struct view *view,
              struct arena *arena, struct err *err)
{
    struct rows_of of = {0};
    struct arena scratch;
    int status;

    *rows = (struct rows){0};
    arena_init(&scratch, 0);
    if (view->fold) {
        status = rows_prepare(&of, show, &scratch, err);
    } else {
        status = outline_init(&of.outline, show, &scratch, err);
        if (status == 0 && !view->no_runs && !view->keep && view->flat == FLAT_NO &&
            !show->pair && repeats_find(&of.repeats, show, &scratch) < 0)
            status = arena_err(&scratch, "the list of rows", err);
    }
    if (status == 0)
        status = rows_fill(rows, &of, view, arena, &scratch, err);
    arena_release(&scratch);
    return status;
}
