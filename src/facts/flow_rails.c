/* The rails of a flow. A row whose result is used below has a rail from there to its
 * last user. A row takes over the leftmost rail that ends at it; if none ends there, it
 * starts a new rail. */
#include "facts/flow_in.h"

#include <string.h>

#include "text/glyph.h"

#define NO_RAIL UINT32_MAX

struct rails {
    struct flow *flow;
    uint32_t owner[FLOW_RAILS]; /* the row whose rail it is, or NO_RAIL */
    uint32_t ended[FLOW_RAILS]; /* the row at which the column was last freed */
    uint32_t others;            /* number of rails without a column */
};

/* The effect of one row on the rails. */
struct crossing {
    unsigned ends, stays;   /* bits: rails of its producers that end here, that
                               continue */
    uint32_t other_makers;  /* producers among the rails not drawn */
    uint32_t other_endings; /* of those, the number that end here */
};

/* The last user of a row's result; NO_FLOW: none. Users are in order. */
static uint32_t last_use(const struct flow *flow, uint32_t row)
{
    const struct flow_row *r = &flow->rows[row];

    return r->n_to > 0 ? flow->to[r->to + r->n_to - 1] : NO_FLOW;
}

static struct crossing look(const struct rails *rails, uint32_t row, uint32_t *newest)
{
    const struct flow *flow = rails->flow;
    struct crossing c = {0};

    for (uint32_t i = 0; i < flow->rows[row].n_from; i++) {
        uint32_t maker = flow->from[flow->rows[row].from + i].row;
        unsigned column;
        bool ends;

        if (maker == NO_FLOW || newest[maker] == row)
            continue;
        newest[maker] = row;
        ends = last_use(flow, maker) == row;
        column = flow->rows[maker].column;
        if (column == FLOW_RAILS) {
            c.other_makers++;
            c.other_endings += ends;
        } else if (ends) {
            c.ends |= 1u << column;
        } else {
            c.stays |= 1u << column;
        }
    }
    return c;
}

/* A free column, right of its producers. A row without producers does not go below a
 * rail that has just ended: it would look like a continuation. */
static unsigned free_column(const struct rails *rails, const struct crossing *c,
                            uint32_t row, bool dot)
{
    unsigned first = 0;

    while (c->stays && !(c->stays >> first & 1))
        first++;
    for (unsigned i = first; i < FLOW_RAILS; i++)
        if (rails->owner[i] == NO_RAIL &&
            !(dot && row > 0 && rails->ended[i] == row - 1))
            return i;
    return FLOW_RAILS;
}

static unsigned own_column(const struct rails *rails, const struct crossing *c,
                           uint32_t row)
{
    bool begins = last_use(rails->flow, row) != NO_FLOW;

    for (unsigned i = 0; i < FLOW_RAILS; i++)
        if (c->ends >> i & 1)
            return i;
    return free_column(rails, c, row, !begins || !c->stays);
}

/* Draw the horizontal line from the leftmost to the rightmost rail that meets in this
 * row. Other rails are not touched. */
static void draw_across(uint8_t *ways, unsigned parts)
{
    unsigned left = 0, right = FLOW_RAILS;

    while (!(parts >> left & 1))
        left++;
    while (!(parts >> right & 1))
        right--;
    for (unsigned i = left; i <= right; i++) {
        bool bare = !(ways[i] & (WAY_UP | WAY_DOWN));

        if (!(parts >> i & 1) && !bare)
            continue;
        ways[i] |= (uint8_t)((i > left ? WAY_LEFT : 0) | (i < right ? WAY_RIGHT : 0));
    }
}

static void draw(const struct rails *rails, struct flow_row *row,
                 const struct crossing *c, bool begins)
{
    unsigned own = row->column;
    unsigned parts = 1u << own | c->ends | c->stays;
    uint8_t *ways = row->ways;

    if (c->other_makers > 0)
        parts |= 1u << FLOW_RAILS;
    for (unsigned i = 0; i < FLOW_RAILS; i++)
        if (rails->owner[i] != NO_RAIL)
            ways[i] = WAY_UP | (c->ends >> i & 1 ? 0 : WAY_DOWN);
    ways[own] |= begins ? WAY_DOWN : 0;
    draw_across(ways, parts);
    if (own == FLOW_RAILS)
        return;
    /* Draw a point if nothing else distinguishes the row from a rail. */
    if (!(ways[own] & (WAY_LEFT | WAY_RIGHT)) || !begins ||
        (ways[own] & WAY_UP && c->stays))
        ways[own] |= WAY_NODE;
}

static void lay_row(struct rails *rails, uint32_t row, uint32_t *newest)
{
    struct flow *flow = rails->flow;
    struct flow_row *r = &flow->rows[row];
    struct crossing c = look(rails, row, newest);
    bool begins = last_use(flow, row) != NO_FLOW;

    r->column = (uint8_t)own_column(rails, &c, row);
    draw(rails, r, &c, begins);
    for (unsigned i = 0; i < FLOW_RAILS; i++)
        if (c.ends >> i & 1 || i == r->column) {
            rails->owner[i] = NO_RAIL;
            rails->ended[i] = row;
        }
    rails->others -= c.other_endings;
    if (!begins)
        ;
    else if (r->column == FLOW_RAILS)
        rails->others++;
    else
        rails->owner[r->column] = row;
    if (rails->others > 0)
        r->ways[FLOW_RAILS] |= WAY_DOWN;
}

int flow_lay(struct flow *flow, struct arena *arena, struct err *err)
{
    struct rails rails = {.flow = flow};
    uint32_t *newest = arena_array(arena, flow->n + 1, sizeof *newest);

    if (!newest)
        return arena_err(arena, "the flow", err);
    for (uint32_t r = 0; r < flow->n; r++)
        newest[r] = NO_FLOW;
    for (unsigned i = 0; i < FLOW_RAILS; i++)
        rails.owner[i] = rails.ended[i] = NO_RAIL;
    for (uint32_t r = 0; r < flow->n; r++)
        lay_row(&rails, r, newest);
    for (uint32_t r = 0; r < flow->n; r++)
        for (unsigned i = 0; i <= FLOW_RAILS; i++)
            if (flow->rows[r].ways[i] && i + 1 > flow->columns)
                flow->columns = i + 1;
    return 0;
}

static const char *const signs[16] = {
    [0] = " ",
    [WAY_UP] = "●",
    [WAY_DOWN] = "●",
    [WAY_UP | WAY_DOWN] = "│",
    [WAY_LEFT] = "●",
    [WAY_RIGHT] = "●",
    [WAY_LEFT | WAY_RIGHT] = "─",
    [WAY_UP | WAY_LEFT] = "╯",
    [WAY_UP | WAY_RIGHT] = "╰",
    [WAY_DOWN | WAY_LEFT] = "╮",
    [WAY_DOWN | WAY_RIGHT] = "╭",
    [WAY_UP | WAY_DOWN | WAY_LEFT] = "┤",
    [WAY_UP | WAY_DOWN | WAY_RIGHT] = "├",
    [WAY_UP | WAY_LEFT | WAY_RIGHT] = "┴",
    [WAY_DOWN | WAY_LEFT | WAY_RIGHT] = "┬",
    [WAY_UP | WAY_DOWN | WAY_LEFT | WAY_RIGHT] = "┼",
};

bool flow_loose(const struct flow *flow, uint32_t row)
{
    const struct flow_row *r = &flow->rows[row];

    for (uint32_t i = r->from; i < r->from + r->n_from; i++)
        if (flow->from[i].source == FROM_STORAGE ||
            flow->from[i].source == FROM_OPERATION)
            return true;
    return false;
}

void flow_rails(struct buf *to, const struct flow *flow, uint32_t row)
{
    const uint8_t *ways = flow->rows[row].ways;
    bool across = false, loose = flow_loose(flow, row);

    for (unsigned i = 0; i < flow->columns; i++) {
        if (i > 0)
            buf_text(to, across ? "─" : " ");
        if (i == FLOW_RAILS)
            buf_text(to, ways[i] ? "…" : " ");
        else if (loose && i == flow->rows[row].column)
            buf_char(to, '?');
        else
            buf_text(to, ways[i] & WAY_NODE ? "●" : signs[ways[i] & 15]);
        /* The line passes behind this rail without connecting. */
        if (ways[i] & (WAY_LEFT | WAY_RIGHT) || !across)
            across = ways[i] & WAY_RIGHT;
    }
    buf_char(to, ' ');
}
