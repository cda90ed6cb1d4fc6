/* Next match and next difference, in the order of rows. In the model's order, the bit
 * sets are enough; in any other order, all matches are listed, including those hidden
 * by folds. */
#include "explorer/browse_in.h"

static bool in_model_order(const struct browse *b)
{
    return b->view.sort == SORT_MODEL && !b->view.reverse;
}

/* --- All matches, in the order of the view */

/* The rows of the view, with the ancestors of matches open. */
static int list_matches(const struct browse *b, struct rows *rows, struct arena *arena)
{
    const struct outline *outline = &b->of.outline;
    uint8_t *open = arena_alloc(arena, bit_bytes(outline->n));
    struct view view = b->view;

    if (!open)
        return -1;
    for (uint32_t p = outline->n; p-- > 1;)
        if (bit_get(b->match, p) || bit_get(open, p))
            bit_set(open, outline->parent[p], true);
    for (uint32_t i = 0; i < bit_bytes(outline->n); i++)
        open[i] |= view.open[i];
    view.open = open;
    view.no_runs = true;
    return rows_fill(rows, &b->of, &view, arena, arena, NULL);
}

/* The next match after the cursor's place, or NO_PLACE; *ret_number: the index of the
 * match under the cursor. */
static uint32_t look_through(const struct browse *b, int by, uint32_t *ret_number)
{
    uint32_t at = 0, next = NO_PLACE, number = 0;
    struct rows rows = {0};
    struct arena arena;

    arena_init(&arena, 0);
    if (list_matches(b, &rows, &arena) == 0 && rows.n > 0) {
        for (; at + 1 < rows.n && rows.cells[at].place != b->place; at++)
            number += (rows.cells[at].flags & ROW_MATCH) != 0;
        number += (rows.cells[at].flags & ROW_MATCH) != 0;
        for (uint32_t i = 1; i < rows.n && next == NO_PLACE; i++) {
            at = by > 0 ? (at + 1 < rows.n ? at + 1 : 0) : (at > 0 ? at : rows.n) - 1;
            if (rows.cells[at].flags & ROW_MATCH)
                next = rows.cells[at].place;
        }
    }
    *ret_number = number;
    arena_release(&arena);
    return next;
}

/* --- The index of a match */

static uint32_t count_rows(const struct browse *b, uint32_t to)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < to; i++)
        n += (b->rows.cells[i].flags & ROW_MATCH) != 0;
    return n;
}

static uint32_t count_bits(const uint8_t *bits, uint32_t to)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < to / 8; i++)
        n += (uint32_t)__builtin_popcount(bits[i]);
    for (uint32_t i = to - to % 8; i < to; i++)
        n += bit_get(bits, i);
    return n;
}

uint32_t browse_matches(const struct browse *browse)
{
    return browse->filtered && browse->view.flat ? count_rows(browse, browse->rows.n)
                                                 : browse->matches;
}

uint32_t browse_match_number(const struct browse *browse)
{
    struct browse_memo *memo = browse->memo;

    if (!browse->filtered || browse->rows.n == 0 ||
        !(browse->rows.cells[browse->cursor].flags & ROW_MATCH))
        return 0;
    if (browse->view.flat)
        return count_rows(browse, browse->cursor + 1);
    if (in_model_order(browse))
        return count_bits(browse->match, browse->place + 1);
    if (memo->match_place != browse->place || memo->match_version != browse->version) {
        memo->match_place = browse->place;
        memo->match_version = browse->version;
        look_through(browse, 1, &memo->match_number);
    }
    return memo->match_number;
}

/* --- The next match */

/* The next row down (or up) for which this is true, wrapping around; NO_ROW: none but
 * the selected one. */
static uint32_t next_row(const struct browse *b, int by,
                         bool (*wanted)(const struct browse *b, uint32_t row))
{
    uint32_t n = b->rows.n, at = b->cursor;

    for (uint32_t i = 1; i < n; i++) {
        at = by > 0 ? (at + 1 < n ? at + 1 : 0) : (at > 0 ? at : n) - 1;
        if (wanted(b, at))
            return at;
    }
    return NO_ROW;
}

static bool is_match(const struct browse *b, uint32_t row)
{
    return b->rows.cells[row].flags & ROW_MATCH;
}

static bool is_difference(const struct browse *b, uint32_t row)
{
    return row > 0 && outline_differs(&b->of.outline, b->rows.cells[row].place);
}

static bool go_to_row(struct browse *b, uint32_t row, const char *why)
{
    if (row == NO_ROW) {
        browse_say(b, "%s", why);
        return false;
    }
    return browse_select(b, row);
}

/* The next match in the model's order. */
static uint32_t next_bit(const struct browse *b, int by)
{
    uint32_t n = b->of.outline.n, at = b->place;

    for (uint32_t i = 1; i < n; i++) {
        at = by > 0 ? (at + 1 < n ? at + 1 : 0) : (at > 0 ? at : n) - 1;
        if (bit_get(b->match, at))
            return at;
    }
    return NO_PLACE;
}

bool browse_next_match(struct browse *browse, int by)
{
    uint32_t place, row, number;
    bool exact;

    buf_clear(&browse->message);
    if (!browse->filtered && browse->of.outline.diff)
        return go_to_row(browse, next_row(browse, by, is_difference),
                         "no other row differs");
    if (!browse->filtered) {
        browse_say(browse, "no search; / starts one");
        return false;
    }
    if (browse->view.flat)
        return go_to_row(browse, next_row(browse, by, is_match), "no other match");
    place = in_model_order(browse) ? next_bit(browse, by)
                                   : look_through(browse, by, &number);
    if (place == NO_PLACE || place == browse->place)
        return go_to_row(browse, NO_ROW, "no other match");
    row = browse_row_of(browse, place, &exact);
    if (!exact || browse->rows.cells[row].flags & ROW_RUN) {
        browse_reveal(browse, place);
        browse_remake(browse);
        row = browse_row_of(browse, place, &exact);
    }
    return browse_select(browse, row);
}
