#include "explorer/browse.h"

#include <stdlib.h>

#include "explorer/browse_in.h"
#include "rows/search.h"

/* --- Setup */

/* Open the root and, as long as there is a single child, that child; but never a
 * module's tensors. */
static void open_first(struct browse *b)
{
    const struct outline *outline = &b->of.outline;
    uint32_t at = 0;

    for (;;) {
        uint32_t only = NO_PLACE, n = 0;

        b->chain = at;
        bit_set(b->open, at, true);
        for (uint32_t c = at + 1; c < outline->end[at] && n < 2; c = outline->end[c])
            if (bit_get(b->of.has, c)) {
                only = c;
                n++;
            }
        if (n != 1 || outline_kind(outline, only) == PLACE_TENSOR ||
            !bit_get(b->of.below, only) ||
            (outline_kind(outline, only) == PLACE_MODULE &&
             !bit_get(b->of.inner, only)))
            return;
        at = only;
    }
}

/* Mark the places that belong to runs, parent by parent: where a run begins depends on
 * where the previous one ended. */
static void find_runs(struct browse *b)
{
    const struct model *model = b->show->model;

    for (uint32_t p = 0; p < model->n_places; p++)
        for (uint32_t c = p + 1; c < model->end[p];) {
            uint32_t period, n = 1;

            if (model->kind[c] == PLACE_MODULE)
                n = repeats_run(&b->of.repeats, model, false, c, &period);
            for (uint32_t i = 0; i < n; i++, c = model->end[c])
                bit_set(b->in_run, c, n > 1);
        }
}

uint32_t browse_class(const struct browse *browse, uint32_t place)
{
    const struct model *model = browse->show->model;
    const struct object *object;

    /* In a pair, the right model's: each model numbers its own classes. */
    if (browse->of.outline.diff &&
        (outline_place(&browse->of.outline, place, &place) != model ||
         place == NO_PLACE))
        return NO_CLASS;
    if (model->kind[place] != PLACE_MODULE && model->kind[place] != PLACE_GROUP)
        return NO_CLASS;
    object = place_object(model, place);
    return object ? object->class_id : NO_CLASS;
}

/* Count the places of each class. */
static void count_classes(struct browse *b)
{
    for (uint32_t p = 0; p < b->of.outline.n; p++) {
        uint32_t class_id = browse_class(b, p);

        if (class_id != NO_CLASS)
            b->memo->of[class_id]++;
    }
}

static int begin(struct browse *b, struct err *err)
{
    uint8_t **bits[] = {&b->open, &b->shown, &b->single, &b->in_run,
                        &b->hits, &b->match, &b->spare,  &b->keep};

    if (rows_prepare(&b->of, b->show, &b->arena, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
        *bits[i] = arena_alloc(&b->arena, bit_bytes(b->of.outline.n));
        if (!*bits[i])
            return arena_err(&b->arena, "the tree", err);
    }
    b->memo = arena_alloc(&b->arena, sizeof *b->memo);
    if (!b->memo)
        return arena_err(&b->arena, "the tree", err);
    b->memo->class_id = NO_CLASS;
    b->memo->of = arena_array(&b->arena, b->show->model->n_classes, sizeof(uint32_t));
    if (b->show->model->n_classes > 0 && !b->memo->of)
        return arena_err(&b->arena, "the tree", err);
    if (b->of.repeats.next)
        find_runs(b);
    b->view = (struct view)VIEW_INIT;
    b->view.single = b->single;
    b->view.fold = true;
    count_classes(b);
    open_first(b);
    browse_remake(b);
    return 0;
}

struct browse *browse_new(const struct show *show, struct err *err)
{
    struct browse *browse = calloc(1, sizeof(*browse));

    if (!browse) {
        err_set(err, ERR_LIMIT, "no memory for a tree");
        return NULL;
    }
    browse->show = show;
    arena_init(&browse->arena, 0);
    if (begin(browse, err) < 0) {
        browse_free(browse);
        return NULL;
    }
    return browse;
}

void browse_free(struct browse *browse)
{
    if (!browse)
        return;
    search_free(browse->last);
    arena_release(&browse->arena);
    buf_release(&browse->pattern);
    buf_release(&browse->message);
    free(browse);
}

/* --- The current state */

const struct rows *browse_rows(const struct browse *browse)
{
    return &browse->rows;
}

uint32_t browse_cursor(const struct browse *browse)
{
    return browse->cursor;
}

uint32_t browse_place(const struct browse *browse)
{
    return browse->place;
}

uint32_t browse_top(const struct browse *browse)
{
    return browse->top;
}

const struct view *browse_view(const struct browse *browse)
{
    return &browse->view;
}

void browse_hush(struct browse *browse)
{
    buf_clear(&browse->message);
}

struct str browse_message(const struct browse *browse)
{
    return buf_span(&browse->message);
}

void browse_say(struct browse *browse, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    buf_clear(&browse->message);
    buf_vprintf(&browse->message, format, args);
    va_end(args);
}

/* --- The window */

static uint32_t height_of(const struct browse *b)
{
    return b->height > 0 ? b->height : b->rows.n;
}

/* Keep the cursor on its screen line, as far as there are rows around it. */
static void keep_line(struct browse *b)
{
    uint32_t height = height_of(b), line = b->line;
    uint32_t most = b->rows.n > height ? b->rows.n - height : 0;

    if (line >= height)
        line = height > 0 ? height - 1 : 0;
    b->top = b->cursor > line ? b->cursor - line : 0;
    if (b->top > most)
        b->top = most;
}

/* Scroll the minimum that makes the cursor visible. */
static void keep_in_sight(struct browse *b)
{
    uint32_t height = height_of(b);

    if (b->cursor < b->top)
        b->top = b->cursor;
    else if (b->cursor - b->top >= height)
        b->top = b->cursor - height + 1;
    b->line = b->cursor - b->top;
}

void browse_settle(struct browse *browse)
{
    browse->origin = browse->place;
    browse->origin_line = browse->line;
}

void browse_lift(struct browse *browse)
{
    uint32_t height = height_of(browse);

    browse->line = browse->cursor < height ? browse->cursor : height / 3;
    keep_line(browse);
}

/* One past the last place that a row covers. */
static uint32_t row_end(const struct browse *b, uint32_t row)
{
    struct row at = rows_at(&b->rows, row);
    uint32_t end = at.place;

    for (uint32_t i = 0; i < at.count; i++)
        end = b->of.outline.end[end];
    return end;
}

uint32_t browse_row_of(const struct browse *browse, uint32_t place, bool *ret_exact)
{
    const struct row_cell *cells = browse->rows.cells;
    const uint32_t *end = browse->of.outline.end;
    uint32_t best = 0;

    *ret_exact = false;
    for (uint32_t i = 0; i < browse->rows.n; i++) {
        if (cells[i].place == place) {
            *ret_exact = true;
            return i;
        }
        /* Ancestors come before it, the nearest last. */
        if (cells[i].place < place &&
            (place < end[cells[i].place] ||
             (cells[i].flags & ROW_RUN && place < row_end(browse, i))))
            best = i;
    }
    return best;
}

/* For a flat list that has neither the place nor an ancestor: the first row inside
 * it. */
static uint32_t first_inside(const struct browse *b, uint32_t place)
{
    for (uint32_t i = 0; i < b->rows.n; i++)
        if (b->rows.cells[i].place > place &&
            b->rows.cells[i].place < b->of.outline.end[place])
            return i;
    return 0;
}

void browse_remake(struct browse *browse)
{
    bool only = browse_filtering(browse), exact;
    struct arena scratch;
    struct err err = {0};

    browse->version++;
    browse->view.open = only ? browse->shown : browse->open;
    browse->view.keep = only ? browse->keep : NULL;
    browse->view.match = !browse->filtered   ? NULL
                         : browse->view.flat ? browse->keep
                                             : browse->match;
    arena_init(&scratch, 0);
    if (rows_fill(&browse->rows, &browse->of, &browse->view, &browse->arena, &scratch,
                  &err) < 0)
        browse_say(browse, "%s", err.text);
    arena_release(&scratch);
    browse->cursor = browse_row_of(browse, browse->place, &exact);
    if (browse->view.flat && browse->cursor == 0 && !exact)
        browse->cursor = first_inside(browse, browse->place);
    if (browse->rows.n > 0)
        browse->place = browse->rows.cells[browse->cursor].place;
    keep_line(browse);
}

void browse_resize(struct browse *browse, uint32_t rows)
{
    browse->height = rows;
    keep_line(browse);
}

/* --- Moving */

/* The user selected this row. */
static bool choose(struct browse *b, uint32_t row)
{
    bool other = row != b->cursor;

    buf_clear(&b->message);
    if (row >= b->rows.n)
        return false;
    b->cursor = row;
    b->place = b->rows.cells[row].place;
    keep_in_sight(b);
    browse_settle(b);
    b->moved = b->moved || other;
    return other;
}

bool browse_move(struct browse *browse, int64_t rows)
{
    int64_t last = (int64_t)browse->rows.n - 1, to = browse->cursor;
    bool down = rows > 0;

    if (rows > last)
        rows = last;
    if (rows < -last)
        rows = -last;
    to += rows;
    if (choose(browse, (uint32_t)(to < 0 ? 0 : to > last ? last : to)))
        return true;
    browse_say(browse, down ? "this is the last row" : "this is the first row");
    return false;
}

void browse_remember(struct browse *browse, uint32_t place)
{
    if (browse->n_jumps > 0 &&
        (browse->jumps[browse->n_jumps - 1] & ~BY_SEARCH) == (place & ~BY_SEARCH))
        return;
    if (browse->n_jumps == JUMPS) {
        memmove(browse->jumps, browse->jumps + 1, (JUMPS - 1) * sizeof(*browse->jumps));
        browse->n_jumps--;
    }
    browse->jumps[browse->n_jumps++] = place;
}

bool browse_jump(struct browse *browse, uint32_t row)
{
    uint32_t before = browse->place;

    if (!browse_select(browse, row))
        return false;
    browse_remember(browse, before);
    return true;
}

bool browse_first(struct browse *browse)
{
    return browse_jump(browse, 0);
}

bool browse_last(struct browse *browse)
{
    return browse_jump(browse, browse->rows.n - 1);
}

bool browse_select(struct browse *browse, uint32_t row)
{
    return row < browse->rows.n && choose(browse, row);
}

bool browse_scroll(struct browse *browse, int64_t rows)
{
    uint32_t height = height_of(browse), before = browse->top, row = browse->cursor;
    int64_t most = browse->rows.n > height ? browse->rows.n - height : 0;
    int64_t top = (int64_t)before;

    top = rows > most ? most : rows < -most ? 0 : top + rows;
    browse->top = (uint32_t)(top < 0 ? 0 : top > most ? most : top);
    if (browse->top == before || browse->rows.n == 0)
        return false;
    if (row < browse->top)
        row = browse->top;
    else if (row - browse->top >= height)
        row = browse->top + height - 1;
    if (row != browse->cursor)
        return choose(browse, row);
    browse->line = row - browse->top;
    return true;
}

bool browse_sibling(struct browse *browse, int by)
{
    const struct row_cell *cells = browse->rows.cells;
    uint32_t at = browse->cursor;
    struct row_cell own;

    if (browse->rows.n == 0)
        return false;
    own = cells[at];
    if (by > 0) {
        do
            at++;
        while (at < browse->rows.n && cells[at].depth > own.depth);
        if (at == browse->rows.n || cells[at].above != own.above)
            at = NO_ROW;
    } else {
        do
            at = at > 0 ? at - 1 : NO_ROW;
        while (at != NO_ROW && cells[at].depth > own.depth);
        if (at != NO_ROW && (cells[at].above != own.above || at == own.above))
            at = NO_ROW;
    }
    if (at != NO_ROW)
        return choose(browse, at);
    browse_say(browse, by > 0 ? "no sibling below" : "no sibling above");
    return false;
}

bool browse_parent(struct browse *browse)
{
    uint32_t above =
        browse->rows.n > 0 ? browse->rows.cells[browse->cursor].above : NO_ROW;

    if (above != NO_ROW)
        return choose(browse, above);
    browse_say(browse, browse->view.flat
                           ? "a flat list has no folds; F returns to the tree"
                           : "this is the top row");
    return false;
}

bool browse_child(struct browse *browse)
{
    return browse->rows.n > 0 && browse->rows.cells[browse->cursor].flags & ROW_OPEN &&
           choose(browse, browse->cursor + 1);
}

/* --- Jumping */

static void put_in_middle(struct browse *b, uint32_t row)
{
    uint32_t height = height_of(b);
    bool seen = row >= b->top && row - b->top < height;

    b->cursor = row;
    b->place = b->rows.cells[row].place;
    b->line = seen ? row - b->top : height / 3;
    keep_line(b);
}

/* Make a place visible and move the cursor there. */
static bool land_on(struct browse *b, uint32_t place)
{
    uint32_t row, before = b->place;
    bool exact;

    if (b->view.flat) {
        row = browse_row_of(b, place, &exact);
        if (exact)
            return choose(b, row);
        b->view.flat = FLAT_NO;
        browse_research(b);
    }
    if (browse_filtering(b) && !bit_get(b->keep, place))
        browse_unfilter(b);
    if (b->view.changed && !outline_differs(&b->of.outline, place))
        b->view.changed = false;
    browse_reveal(b, place);
    browse_remake(b);
    row = browse_row_of(b, place, &exact);
    if (!exact)
        browse_say(b, "it has no separate row; this row contains it");
    put_in_middle(b, row);
    browse_settle(b);
    b->moved = true;
    return b->place != before;
}

bool browse_go(struct browse *browse, uint32_t place)
{
    uint32_t before = browse->place;
    bool moved;

    buf_clear(&browse->message);
    if (place >= browse->of.outline.n)
        return false;
    moved = land_on(browse, place);
    if (moved)
        browse_remember(browse, before);
    return moved;
}

bool browse_back(struct browse *browse)
{
    buf_clear(&browse->message);
    while (browse->n_jumps > 0) {
        uint32_t to = browse->jumps[--browse->n_jumps];

        if (to & BY_SEARCH && browse->filtered) {
            browse_unfilter(browse);
            browse_remake(browse);
        }
        if (land_on(browse, to & ~BY_SEARCH))
            return true;
    }
    browse_say(browse, "no jump to go back from");
    return false;
}

/* --- Order and lists */

static bool any_measured(const struct session *session)
{
    for (uint32_t t = 0; t < session->model->n_tensors; t++)
        if (session_known(session, t))
            return true;
    return false;
}

/* Why the tree cannot be sorted like this, or NULL. */
static const char *no_order(const struct browse *b, enum rows_sort sort)
{
    const struct run *run = b->show->pair ? NULL : b->show->session->run;
    const struct activities *activity = b->show->activity;
    bool trained = !b->show->pair && b->show->session->history;

    switch (sort) {
    case SORT_TIME:
    case SORT_SELF:
        return run ? NULL : "nothing was recorded: no times";
    case SORT_CALLS:
        return run ? NULL : "nothing was recorded: no calls";
    case SORT_FLOPS:
    case SORT_OPS:
        return b->show->ops && run ? NULL : "no operations were recorded";
    case SORT_GRAD:
        return trained || (run && run->n_params > 0) ? NULL
                                                     : "no gradients were recorded";
    case SORT_UPDATE:
    case SORT_WEIGHT:
        return trained ? NULL : "no training was recorded";
    case SORT_NAN:
        if (run && activity && activity->spoilt_call == RUN_NONE &&
            !any_measured(b->show->session))
            return "nothing that was recorded is NaN or Inf";
        /* fall through */
    case SORT_ZEROS:
        return run || (!b->show->pair && any_measured(b->show->session))
                   ? NULL
                   : "no values were measured: :stats measures all";
    case SORT_DELTA:
        return b->show->pair ? NULL : "rel Δ is for two models";
    default:
        return NULL;
    }
}

bool browse_sort(struct browse *browse, enum rows_sort sort, bool reverse)
{
    const char *why = no_order(browse, sort);

    buf_clear(&browse->message);
    if (why) {
        browse_say(browse, "%s", why);
        return false;
    }
    if (browse->view.sort == sort && browse->view.reverse == reverse)
        return false;
    browse->view.sort = sort;
    browse->view.reverse = reverse;
    /* A list in which the user has not moved yet is shown from its top. */
    if (browse->view.flat && !browse->moved)
        browse->place = browse->before_flat;
    browse_remake(browse);
    return true;
}

void browse_renumber(struct browse *browse)
{
    enum rows_sort sort = browse->view.sort;

    if (sort >= SORT_GRAD && sort <= SORT_WEIGHT)
        browse_remake(browse);
}

bool browse_flat(struct browse *browse, enum rows_flat flat)
{
    enum rows_flat before = browse->view.flat;

    buf_clear(&browse->message);
    if (flat == before)
        return false;
    if (before == FLAT_NO) {
        browse->before_flat = browse->place;
        browse->moved = false;
    }
    browse->view.flat = flat;
    browse_research(browse);
    if (flat == FLAT_NO) {
        if (!browse->moved)
            browse->place = browse->before_flat;
        browse_reveal(browse, browse->place);
    }
    browse_remake(browse);
    return true;
}

bool browse_hide_equal(struct browse *browse)
{
    buf_clear(&browse->message);
    if (!browse->of.outline.diff) {
        browse_say(browse, "only a diff has equal rows; D compares two models");
        return false;
    }
    browse->view.changed = !browse->view.changed;
    browse_remake(browse);
    return true;
}

/* --- The selected row */

/* The index of the selected place within its class, counted from the last answer if
 * that was for the same class. */
static uint32_t which_of_class(const struct browse *b, uint32_t class_id)
{
    struct browse_memo *memo = b->memo;
    uint32_t from = memo->place + 1, to = b->place + 1, n = 0;
    bool known = memo->class_id == class_id, back = known && to < from;

    if (!known)
        from = 0;
    for (uint32_t p = back ? to : from; p < (back ? from : to); p++)
        n += browse_class(b, p) == class_id;
    memo->which = back ? memo->which - n : known ? memo->which + n : n;
    memo->place = b->place;
    memo->class_id = class_id;
    return memo->which;
}

bool browse_same(const struct browse *browse, uint32_t *ret_which, uint32_t *ret_of,
                 struct str *ret_class)
{
    uint32_t class_id = browse_class(browse, browse->place), place;
    const struct model *model =
        outline_place(&browse->of.outline, browse->place, &place);

    if (class_id == NO_CLASS)
        return false;
    *ret_which = which_of_class(browse, class_id);
    *ret_of = browse->memo->of[class_id];
    *ret_class = class_short(place_class(model, place));
    return true;
}

bool browse_is_same(const struct browse *browse, const struct row *row)
{
    uint32_t class_id = browse_class(browse, browse->place);

    return class_id != NO_CLASS && !(row->flags & ROW_MORE) &&
           browse_class(browse, row->place) == class_id;
}
