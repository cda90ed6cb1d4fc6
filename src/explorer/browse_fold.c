/* Folding. A fold key acts on places, visible or not; the selected row decides whether
 * it folds or unfolds. */
#include "explorer/browse_in.h"

/* Are runs of equal siblings collapsed? */
static bool has_runs(const struct browse *browse)
{
    return browse->of.repeats.next && !browse->view.no_runs &&
           !browse_filtering(browse);
}

/* Is this place hidden by a collapsed run? */
static bool in_run(const struct browse *browse, uint32_t place)
{
    return has_runs(browse) && bit_get(browse->in_run, place) &&
           !bit_get(browse->single, place);
}

static void set_open(struct browse *b, uint32_t place, bool open)
{
    bit_set(b->open, place, open);
    bit_set(b->shown, place, open);
}

/* Open or fold a place by a key for many rows: modules, not runs or tensors. */
static void set_one(struct browse *b, uint32_t place, bool open)
{
    if (!open || (!in_run(b, place) && bit_get(b->of.inner, place)))
        set_open(b, place, open);
}

/* Which of these eight places keys for many rows open. */
static uint8_t openable(const struct browse *b, uint32_t byte)
{
    uint8_t bits = b->of.inner[byte];

    if (has_runs(b))
        bits &= (uint8_t)(~b->in_run[byte] | b->single[byte]);
    return bits;
}

static void set_range(struct browse *b, uint32_t from, uint32_t to, bool open)
{
    for (; from < to && from % 8 != 0; from++)
        set_one(b, from, open);
    for (; from + 8 <= to; from += 8) {
        uint8_t bits = open ? openable(b, from / 8) : 0;

        b->open[from / 8] = open ? b->open[from / 8] | bits : 0;
        b->shown[from / 8] = open ? b->shown[from / 8] | bits : 0;
    }
    for (; from < to; from++)
        set_one(b, from, open);
}

/* Expand the run that `place` belongs to. */
static void open_run(struct browse *b, uint32_t place)
{
    const struct model *model = b->show->model;
    uint32_t c = model->parent[place] + 1;

    while (c <= place) {
        uint32_t period, first = c, n = 1;

        if (in_run(b, c))
            n = repeats_run(&b->of.repeats, model, false, c, &period);
        for (uint32_t i = 0; i < n; i++)
            c = model->end[c];
        if (n > 1 && place < c)
            for (uint32_t i = 0; i < n; i++, first = model->end[first])
                bit_set(b->single, first, true);
    }
}

void browse_reveal(struct browse *browse, uint32_t place)
{
    const uint32_t *parent = browse->of.outline.parent;

    for (; parent[place] != NO_PLACE; place = parent[place]) {
        if (in_run(browse, place))
            open_run(browse, place);
        bit_set(browse->shown, parent[place], true);
        if (!browse_filtering(browse))
            bit_set(browse->open, parent[place], true);
    }
}

/* Is this the root, or in the chain of single children below it? */
static bool in_chain(const struct browse *b, uint32_t place)
{
    return place <= b->chain && b->chain < b->of.outline.end[place];
}

static void clear_all(struct browse *b)
{
    memset(b->open, 0, bit_bytes(b->of.outline.n));
    memset(b->shown, 0, bit_bytes(b->of.outline.n));
}

static void fold_all(struct browse *b)
{
    bool open = false;

    for (uint32_t i = 0; i < b->rows.n && !open; i++)
        open =
            b->rows.cells[i].flags & ROW_OPEN && !in_chain(b, b->rows.cells[i].place);
    if (!open) {
        set_range(b, 0, b->of.outline.n, true);
        return;
    }
    clear_all(b);
    for (uint32_t p = b->chain; p != NO_PLACE; p = b->of.outline.parent[p])
        set_open(b, p, true);
}

static void fold_siblings(struct browse *b, bool open, bool below)
{
    const struct outline *outline = &b->of.outline;
    uint32_t parent = outline->parent[b->place];
    uint32_t from = parent == NO_PLACE ? 0 : parent + 1;
    uint32_t to = parent == NO_PLACE ? outline->n : outline->end[parent];

    for (uint32_t p = from; p < to; p = outline->end[p])
        set_range(b, p, below ? outline->end[p] : p + 1, open);
}

static void fold_class(struct browse *b, bool open, bool below)
{
    const struct outline *outline = &b->of.outline;
    uint32_t class_id = browse_class(b, b->place);
    bool tensors = !bit_get(b->of.inner, b->place);

    for (uint32_t p = 0; p < outline->n; p++) {
        if (browse_class(b, p) != class_id)
            continue;
        if (tensors && !in_run(b, p) && bit_get(b->of.below, p))
            set_open(b, p, open);
        set_range(b, p, below ? outline->end[p] : p + 1, open);
    }
}

static bool fold_row(struct browse *b, unsigned flags)
{
    if (flags & ROW_RUN)
        open_run(b, b->place);
    else if (flags & (ROW_OPEN | ROW_CLOSED))
        set_open(b, b->place, !(flags & ROW_OPEN));
    else
        return false;
    return true;
}

/* Is one of the siblings open? Then a row that cannot be opened folds them. */
static bool sibling_open(const struct browse *b)
{
    const struct row_cell *cells = b->rows.cells;
    uint32_t above = cells[b->cursor].above;

    for (uint32_t i = above == NO_ROW ? 0 : above; i < b->rows.n; i++) {
        if (cells[i].above == above && cells[i].flags & ROW_OPEN)
            return true;
        if (above != NO_ROW && i > above && cells[i].depth <= cells[above].depth)
            break;
    }
    return false;
}

/* Act on many rows; false: none can be folded. */
static bool fold_many(struct browse *b, enum fold what, unsigned flags)
{
    const struct outline *outline = &b->of.outline;
    bool open = !(flags & ROW_OPEN);

    switch (what) {
    case FOLD_SUBTREE:
        if (open && (flags & ROW_RUN || !bit_get(b->of.inner, b->place)))
            return false;
        set_range(b, b->place, outline->end[b->place], open);
        return true;
    case FOLD_ALL:
        fold_all(b);
        return true;
    case FOLD_SIBLINGS:
    case FOLD_SIBLINGS_BELOW:
        if (open && !(flags & ROW_CLOSED && bit_get(b->of.inner, b->place)))
            open = !sibling_open(b);
        fold_siblings(b, open, what == FOLD_SIBLINGS_BELOW);
        return true;
    case FOLD_CLASS:
    case FOLD_CLASS_BELOW:
        if (browse_class(b, b->place) == NO_CLASS)
            return false;
        fold_class(b, open, what == FOLD_CLASS_BELOW);
        return true;
    default:
        return false;
    }
}

/* Report why a fold key did nothing. */
static void say_why(struct browse *b, enum fold what)
{
    unsigned flags = b->rows.cells[b->cursor].flags;

    if ((what == FOLD_CLASS || what == FOLD_CLASS_BELOW) &&
        browse_class(b, b->place) == NO_CLASS)
        browse_say(b, "its class is not known");
    else if (flags & ROW_RUN)
        browse_say(b, "equal ones: space shows them one by one, X all such");
    else if (what != FOLD_ROW && flags & ROW_CLOSED)
        browse_say(b, "only tensors below; space shows them");
    else
        browse_say(b, "nothing below");
}

/* Rebuild the rows; returns whether a visible row changed. */
static bool made_anew(struct browse *b)
{
    uint32_t n = b->rows.n, place = b->place;

    browse_remake(b);
    browse_settle(b);
    return b->rows.n != n || b->place != place;
}

/* Scroll to show what was unfolded below the cursor, as far as the cursor stays
 * visible. */
static void show_below(struct browse *b)
{
    const struct row_cell *cells = b->rows.cells;
    uint32_t last = b->cursor, top;

    while (last + 1 < b->rows.n && cells[last + 1].depth > cells[b->cursor].depth)
        last++;
    if (b->height == 0 || last < b->top + b->height)
        return;
    top = last + 1 - b->height;
    b->top = top < b->cursor ? top : b->cursor;
    b->line = b->cursor - b->top;
}

bool browse_fold(struct browse *browse, enum fold what)
{
    unsigned flags;
    bool done;

    buf_clear(&browse->message);
    if (browse->rows.n == 0)
        return false;
    if (browse->view.flat) {
        browse_say(browse, "a flat list has no folds; F returns to the tree");
        return false;
    }
    flags = browse->rows.cells[browse->cursor].flags;
    done = what == FOLD_ROW ? fold_row(browse, flags) : fold_many(browse, what, flags);
    if (done && made_anew(browse)) {
        if (what == FOLD_ROW || what == FOLD_SUBTREE)
            show_below(browse);
        return true;
    }
    say_why(browse, what);
    return false;
}

bool browse_open(struct browse *browse)
{
    return browse->rows.n > 0 && !browse->view.flat &&
           browse->rows.cells[browse->cursor].flags & ROW_CLOSED &&
           browse_fold(browse, FOLD_ROW);
}

bool browse_close(struct browse *browse)
{
    return browse->rows.n > 0 && !browse->view.flat &&
           browse->rows.cells[browse->cursor].flags & ROW_OPEN &&
           browse_fold(browse, FOLD_ROW);
}

bool browse_depth(struct browse *browse, uint32_t depth)
{
    const struct outline *outline = &browse->of.outline;
    uint32_t at = 0;

    buf_clear(&browse->message);
    clear_all(browse);
    for (uint32_t p = 0; p < outline->n; p++) {
        /* Walk from p - 1 up to the parent of p, one level per step. */
        if (p > 0) {
            uint32_t above = p - 1;

            for (; above != outline->parent[p]; above = outline->parent[above])
                at--;
            at++;
        }
        if (at < depth)
            set_one(browse, p, true);
        if (p == 0 && depth > 0)
            set_open(browse, 0, true);
    }
    return made_anew(browse);
}

bool browse_runs(struct browse *browse)
{
    buf_clear(&browse->message);
    if (!browse->of.repeats.next) {
        browse_say(browse, "two models have no repeated blocks");
        return false;
    }
    browse->view.no_runs = !browse->view.no_runs;
    if (!browse->view.no_runs)
        memset(browse->single, 0, bit_bytes(browse->of.outline.n));
    if (made_anew(browse))
        return true;
    browse_say(browse, "no runs of eight or more equal rows here");
    return false;
}

bool browse_set_open(struct browse *browse, const uint32_t *places, uint32_t n)
{
    buf_clear(&browse->message);
    clear_all(browse);
    for (uint32_t i = 0; i < n; i++)
        if (places[i] < browse->of.outline.n) {
            browse_reveal(browse, places[i]);
            set_open(browse, places[i], true);
        }
    return made_anew(browse);
}
