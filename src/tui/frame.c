#include "tui/frame_in.h"

#define LEAST_COLUMNS 40
#define LEAST_ROWS    8
#define SMALL_COLUMNS 80
#define SMALL_ROWS    24
#define WIDE_COLUMNS  100 /* from this width on, panels are beside the tree */
#define TALL_ROWS     60  /* from this height on, up to five of them */
#define PANEL_ROWS    3   /* a rule and two lines: the useful minimum */
#define TREE_ROWS     4   /* the header and three rows */

static unsigned clamp(unsigned value, unsigned low, unsigned high)
{
    return value < low ? low : value > high ? high : value;
}

/* Choose the panels to show, at most `most`: the focused one, then the latest; in the
 * order of their numbers. */
static unsigned choose(const struct frame_wanted *wanted, unsigned most,
                       unsigned chosen[STACK_MOST])
{
    bool shown[PANEL_COUNT] = {false};
    unsigned n = 0, found = 0;

    if (wanted->focus > FOCUS_TREE && wanted->focus < PANEL_COUNT) {
        shown[wanted->focus] = true;
        found = 1;
    }
    for (unsigned i = wanted->n_open; i-- > 0 && found < most;) {
        if (!shown[wanted->open[i]])
            found++;
        shown[wanted->open[i]] = true;
    }
    for (unsigned i = 0; i < PANEL_COUNT && n < STACK_MOST; i++)
        if (shown[i])
            chosen[n++] = i;
    return n;
}

/* Code gets twice the height of the others. */
static unsigned weight(unsigned panel)
{
    return panel == PANEL_CODE ? 2 : 1;
}

static void stack(struct frame *frame, struct area area,
                  const unsigned chosen[STACK_MOST], unsigned n)
{
    unsigned weights = 0, row = area.row, rows_left = area.rows;

    for (unsigned i = 0; i < n; i++)
        weights += weight(chosen[i]);
    for (unsigned i = 0; i < n; i++) {
        unsigned rows = i + 1 == n
                            ? rows_left
                            : (rows_left * weight(chosen[i]) + weights / 2) / weights;

        weights -= weight(chosen[i]);
        frame->panels[i] =
            (struct frame_panel){chosen[i], {area.column, row, area.columns, rows}};
        row += rows;
        rows_left -= rows;
    }
    frame->n_panels = n;
}

static void beside(struct frame *frame, const struct frame_wanted *wanted,
                   const unsigned chosen[STACK_MOST], unsigned n)
{
    struct area body = frame->body;
    unsigned columns = body.columns * clamp(wanted->share, 20, 80) / 100;

    frame->right = true;
    frame->tree.columns = body.columns - columns - 1;
    frame->divider = (struct area){frame->tree.columns, body.row, 1, body.rows};
    stack(frame, (struct area){frame->tree.columns + 1, body.row, columns, body.rows},
          chosen, n);
}

static void below(struct frame *frame, const struct frame_wanted *wanted,
                  const unsigned chosen[STACK_MOST])
{
    struct area body = frame->body;
    unsigned rows = clamp(wanted->height, PANEL_ROWS, body.rows - TREE_ROWS);

    frame->tree.rows = body.rows - rows;
    stack(frame,
          (struct area){body.column, body.row + frame->tree.rows, body.columns, rows},
          chosen, 1);
}

static void bars(struct frame *frame, unsigned columns, unsigned rows)
{
    unsigned hints = frame->small ? 0 : 1;

    frame->title = (struct area){0, 0, columns, 1};
    frame->status = (struct area){0, rows - 1 - hints, columns, 1};
    frame->hints = (struct area){0, rows - 1, columns, hints};
    frame->body = (struct area){0, 1, columns, rows - 2 - hints};
}

void frame_make(struct frame *frame, const struct frame_wanted *wanted)
{
    unsigned chosen[STACK_MOST], n, most;
    bool right;

    *frame = (struct frame){0};
    if (wanted->columns < LEAST_COLUMNS || wanted->rows < LEAST_ROWS) {
        frame->too_small = true;
        return;
    }
    frame->small = wanted->columns < SMALL_COLUMNS || wanted->rows < SMALL_ROWS;
    bars(frame, wanted->columns, wanted->rows);
    frame->tree = frame->body;
    if (wanted->files)
        return;
    right = wanted->columns >= WIDE_COLUMNS && !wanted->below;
    most = wanted->rows >= TALL_ROWS ? STACK_MOST : 3;
    if (!right || wanted->zoom || wanted->labels)
        most = 1;
    n = choose(wanted, most, chosen);
    if (wanted->labels) {
        chosen[0] = FOCUS_LABELS;
        n = 1;
    }
    if (wanted->zoom && wanted->focus == FOCUS_TREE)
        n = 0;
    if (n == 0)
        return;
    if (wanted->zoom || (frame->small && wanted->labels)) {
        frame->tree.rows = 0;
        stack(frame, frame->body, chosen, 1);
    } else if (right && !frame->small) {
        beside(frame, wanted, chosen, n);
    } else if (!frame->small) {
        below(frame, wanted, chosen);
    }
}
