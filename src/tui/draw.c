/* Draws a frame: title, tree, panels, status, hints, and overlays. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "text/glyph.h"
#include "text/number.h"
#include "text/width.h"
#include "tui/draw_in.h"
#include "tui/tui_in.h"

/* --- Shared parts */

static bool is_mono(const struct tui *tui)
{
    return tui->term ? term_colours(tui->term) == TERM_MONO : true;
}

void draw_rule(struct tui *tui, const struct area *area, const char *title,
               struct str subject, bool focused)
{
    struct cell_grid *cells = &tui->cells;
    bool strong = focused && is_mono(tui) && tui->term;
    const char *rule = glyph(strong ? GLYPH_FOCUS : GLYPH_RULE, false);
    enum colour colour = focused ? COLOUR_FOCUS : COLOUR_DIM;
    enum colour name = focused ? COLOUR_FOCUS : COLOUR_NONE;
    struct buf cut = BUF_INIT;
    unsigned at = 0;

    for (unsigned i = 0; i < area->columns; i++)
        cells_text(cells, area, i, 0, colour, 0, str_of(rule));
    at = cells_text(cells, area, 2, 0, name, focused ? SPAN_BOLD : 0, STR(" "));
    at = cells_text(cells, area, at, 0, name, focused ? SPAN_BOLD : 0, str_of(title));
    at = cells_text(cells, area, at, 0, colour, 0, STR(" "));
    if (subject.len && at + 8 < area->columns) {
        text_cut_front(&cut, subject, area->columns - at - 5, "…");
        cells_text(cells, area, at + 2, 0, name, 0, STR(" "));
        at = cells_text(cells, area, at + 3, 0, name, 0, buf_span(&cut));
        cells_text(cells, area, at, 0, colour, 0, STR(" "));
        buf_release(&cut);
    }
}

void draw_scroll(struct tui *tui, const struct area *area, uint32_t top, uint32_t all)
{
    uint32_t rows = area->rows, thumb, begin;

    if (all <= rows || rows == 0)
        return;
    thumb = (uint32_t)((uint64_t)rows * rows / all);
    thumb = thumb ? thumb : 1;
    if (top > all - rows)
        top = all - rows;
    begin = (uint32_t)((uint64_t)top * (rows - thumb) / (all - rows));
    for (uint32_t i = 0; i < rows; i++) {
        bool on = i >= begin && i < begin + thumb;

        cells_text(&tui->cells, area, 0, i, on ? COLOUR_NONE : COLOUR_DIM, 0,
                   str_of(glyph(on ? GLYPH_SCROLL : GLYPH_LINE, false)));
    }
}

/* A single line, written by a function of show/. */
void draw_line(struct tui *tui, const struct area *area, unsigned row,
               const struct lines *lines, uint32_t line)
{
    cells_line(&tui->cells, area, row, lines, line);
}

/* --- The tree */

/* Does the tree have its own scroll bar? A divider doubles as one. */
static bool tree_scrolls(const struct tui *tui)
{
    return !tui->frame.right && tui->frame.tree.columns > 8 &&
           browse_rows(tui->explorer.browse)->n > tui->frame.tree.rows - 1;
}

struct tree_room draw_tree_room(const struct tui *tui)
{
    struct area area = tui->frame.tree;

    return (struct tree_room){.width = area.columns - (tree_scrolls(tui) ? 2 : 0),
                              .height = area.rows,
                              .no_colour = is_mono(tui),
                              .narrow = tui->cells.columns < 100,
                              .small = tui->frame.small};
}

static void draw_tree(struct tui *tui)
{
    struct browse *browse = tui->explorer.browse;
    struct area area = tui->frame.tree, bar;
    struct tree_room room;

    if (area.rows < 2)
        return;
    browse_resize(browse, area.rows - 1);
    room = draw_tree_room(tui);
    lines_clear(&tui->tree);
    tree_lines(&tui->tree, &tui->explorer, &room);
    for (unsigned i = 0; i < area.rows && i < tui->tree.n; i++) {
        draw_line(tui, &area, i, &tui->tree, i);
        if (i > 0 && tui->tree.at[i].target == browse_cursor(browse)) {
            cells_back(&tui->cells, &area, i, COLOUR_CURSOR, 0);
            tui->cells.cursor_column = area.column;
            tui->cells.cursor_row = area.row + i;
            tui->cells.cursor_shown = tui->config.plain;
        }
    }
    for (unsigned i = 0; i < tui->frame.divider.rows; i++)
        cells_text(&tui->cells, &tui->frame.divider, 0, i, COLOUR_DIM, 0,
                   str_of(glyph(GLYPH_LINE, false)));
    bar = (struct area){area.column + area.columns - 1, area.row + 1, 1, area.rows - 1};
    if (tui->frame.right)
        bar.column = tui->frame.divider.column;
    draw_scroll(tui, &bar, browse_top(browse), browse_rows(browse)->n);
}

/* --- Panels */

/* Lines are one cell narrower beside a scroll bar. */
static void make_content(struct tui *tui, const struct panel *panel)
{
    struct panel_lines *kept = &tui->panels[panel->number];
    struct panel_room room = kept->room;

    room.width -= kept->scrolls;
    lines_clear(&kept->lines);
    panel_lines(panel, &kept->lines, &tui->explorer,
                &tui->explorer.panels[panel->number], &room);
}

/* The panel's lines, rebuilt after a change. Whether they need a scroll bar is known
 * only afterwards, so assume no change and rebuild if that was wrong; rebuild once more
 * if the data they wait for arrived meanwhile. */
static struct lines *panel_content(struct tui *tui, const struct panel *panel,
                                   struct panel_room room)
{
    struct panel_lines *kept = &tui->panels[panel->number];
    bool scrolls;

    if (kept->made == tui->changes && kept->room.width == room.width &&
        kept->room.height == room.height && kept->room.zoomed == room.zoomed)
        return &kept->lines;
    kept->room = room;
    kept->made = tui->changes;
    make_content(tui, panel);
    for (int i = 0; i < 2; i++) {
        scrolls = kept->lines.n > room.height && room.width > 8;
        if (scrolls == kept->scrolls)
            break;
        kept->scrolls = scrolls;
        make_content(tui, panel);
    }
    return &kept->lines;
}

void draw_keep_in_sight(uint32_t *top, uint32_t *cursor, uint32_t n, uint32_t rows)
{
    if (cursor && *cursor >= n)
        *cursor = n ? n - 1 : 0;
    if (cursor && *cursor < *top)
        *top = *cursor;
    if (cursor && rows && *cursor >= *top + rows)
        *top = *cursor - rows + 1;
    if (*top + rows > n)
        *top = n > rows ? n - rows : 0;
}

/* The panel's first visible line. The stored position changes only if the cursor would
 * be hidden, so a screen that grows and shrinks again shows the same lines. */
static uint32_t panel_top(struct tui *tui, const struct panel *panel, uint32_t n,
                          uint32_t rows)
{
    struct panel_state *state = &tui->explorer.panels[panel->number];
    uint32_t top = state->top, fits = n > rows ? n - rows : 0;
    bool cursor = panel_has_cursor(panel, state);

    if (cursor && state->cursor >= n)
        state->cursor = n ? n - 1 : 0;
    if (top > fits)
        top = fits;
    if (cursor && (state->cursor < top || state->cursor >= top + rows)) {
        top = state->cursor < top ? state->cursor : state->cursor - rows + 1;
        state->top = top;
    }
    tui->panels[panel->number].top = top;
    return top;
}

static void draw_panel_lines(struct tui *tui, struct area area,
                             const struct panel *panel, const struct lines *lines,
                             bool focused)
{
    struct panel_state *state = &tui->explorer.panels[panel->number];
    uint32_t foot = state->foot < lines->n ? state->foot : 0, n, rows, top;
    struct area bar = {area.column + area.columns - 1, area.row, 1, 0};

    if (foot + 2 > area.rows)
        foot = 0;
    n = lines->n - foot;
    rows = area.rows - foot;
    top = panel_top(tui, panel, n, rows);
    bar.rows = rows;
    area.columns -= n > rows && area.columns > 8; /* the scroll bar's column */
    for (uint32_t i = 0; i < rows && top + i < n; i++) {
        draw_line(tui, &area, i, lines, top + i);
        if (!panel_has_cursor(panel, state) || !focused || top + i != state->cursor)
            continue;
        cells_back(&tui->cells, &area, i, COLOUR_CURSOR, 0);
        cells_text(&tui->cells, &area, 0, i, COLOUR_NONE, 0,
                   str_of(glyph(GLYPH_CURSOR, false)));
    }
    /* If all lines fit, the foot follows directly. */
    for (uint32_t i = 0, at = n < rows ? n : rows; i < foot; i++)
        draw_line(tui, &area, at + i, lines, n + i);
    draw_scroll(tui, &bar, top, n);
}

/* The second title of a two-part panel, above its second part. */
static void draw_aside(struct tui *tui, const struct area *area,
                       const struct panel *panel, bool focused)
{
    struct buf title = BUF_INIT;
    unsigned column = 0;
    struct area rest = *area;

    if (panel->aside)
        column = panel->aside(&title, &tui->explorer.panels[panel->number]);
    if (column >= 2 && column + 8 < area->columns) {
        cells_text(&tui->cells, area, column - 2, 0, COLOUR_NONE, 0, STR("  "));
        rest.column += column;
        rest.columns -= column;
        draw_rule(tui, &rest, buf_cstr(&title), STR(""), focused);
    }
    buf_release(&title);
}

static void draw_panel(struct tui *tui, const struct frame_panel *where)
{
    const struct panel *panel = panels[where->panel];
    struct area area = where->area;
    bool focused = tui->view.focus == where->panel;
    struct buf subject = BUF_INIT, title = BUF_INIT;
    struct lines *lines;

    area.row++;
    area.rows--;
    lines = panel_content(tui, panel,
                          (struct panel_room){.width = area.columns,
                                              .height = area.rows,
                                              .zoomed = tui->view.zoom});
    if (tui->explorer.pair && where->panel == PANEL_DETAILS)
        buf_text(&title, "in short");
    else
        buf_printf(&title, "%u %s", where->panel, panel->title);
    panel_subject(panel, &subject, &tui->explorer);
    draw_rule(tui, &where->area, buf_cstr(&title), buf_span(&subject), focused);
    draw_aside(tui, &where->area, panel, focused);
    draw_panel_lines(tui, area, panel, lines, focused);
    buf_release(&subject);
    buf_release(&title);
}

/* The number of labels to show of n; if some do not fit, the last line says so. */
static unsigned fit_labels(struct tui *tui, uint32_t n, unsigned rows)
{
    unsigned fit = n > rows && rows > 1 ? rows - 1 : rows;

    draw_keep_in_sight(&tui->label_top, &tui->label_cursor, n, fit);
    if (n - tui->label_top > rows)
        return fit;
    draw_keep_in_sight(&tui->label_top, &tui->label_cursor, n, rows);
    return rows;
}

static void draw_labels(struct tui *tui, const struct frame_panel *where)
{
    struct explorer *explorer = &tui->explorer;
    struct area area = where->area, bar;
    struct row row = tui_row(tui);
    struct lines lines = {0}, more = {0};
    unsigned rows;

    draw_rule(tui, &area, "L Labels", STR(""), tui->view.focus == FOCUS_LABELS);
    area.row++;
    area.rows--;
    label_set_lines(&lines, &explorer->labels, &explorer->show, &row, area.columns);
    rows = fit_labels(tui, lines.n, area.rows);
    if (rows < area.rows && tui->label_top + rows < lines.n) {
        label_set_more(&more, &explorer->labels, tui->label_top + rows,
                       area.columns - 1);
        draw_line(tui, &area, rows, &more, 0);
    }
    for (unsigned i = 0; i < rows && tui->label_top + i < lines.n; i++) {
        draw_line(tui, &area, i, &lines, tui->label_top + i);
        if (tui->label_top + i != tui->label_cursor)
            continue;
        cells_back(&tui->cells, &area, i, COLOUR_CURSOR, 0);
        cells_text(&tui->cells, &area, 0, i, COLOUR_NONE, 0,
                   str_of(glyph(GLYPH_CURSOR, false)));
    }
    bar = (struct area){area.column + area.columns - 1, area.row, 1, area.rows};
    draw_scroll(tui, &bar, tui->label_top, lines.n);
    tui->n_labels = lines.n;
    lines_release(&lines);
    lines_release(&more);
}

/* --- The frame */

/* The screen is too small: show the required size and the selected row. */
static void draw_too_small(struct tui *tui)
{
    struct area all = {0, 0, tui->cells.columns, tui->cells.rows};
    struct lines lines = {0};

    lines_printf(&lines, COLOUR_NONE, "needs 40×8; this is %u×%u", tui->cells.columns,
                 tui->cells.rows);
    lines_end(&lines);
    draw_line(tui, &all, 0, &lines, 0);
    lines_clear(&lines);
    if (tui->exploring && !tui->files && tui->cells.rows > 1) {
        struct buf name = BUF_INIT, cut = BUF_INIT;
        struct row row = tui_row(tui);

        copy_name(&name, &tui->explorer.show, &row);
        text_cut_front(&cut, buf_span(&name), tui->cells.columns, "…");
        lines_add(&lines, COLOUR_NONE, SPAN_BOLD, buf_span(&cut));
        lines_end(&lines);
        draw_line(tui, &all, 1, &lines, 0);
        buf_release(&name);
        buf_release(&cut);
    }
    lines_release(&lines);
}

/* List the open panels for the layout, the latest last. */
static void list_open(struct tui *tui)
{
    struct frame_wanted *view = &tui->view;

    view->n_open = 0;
    for (unsigned i = 1; tui->exploring && i < PANEL_COUNT; i++) {
        unsigned at = view->n_open;

        if (!tui->explorer.panels[i].open || !panels[i])
            continue;
        while (at > 0 && tui->opened[view->open[at - 1]] > tui->opened[i]) {
            view->open[at] = view->open[at - 1];
            at--;
        }
        view->open[at] = (uint8_t)i;
        view->n_open++;
    }
}

static void draw_body(struct tui *tui)
{
    if (tui->files) {
        files_draw(tui, &tui->frame.body);
        return;
    }
    draw_tree(tui);
    for (unsigned i = 0; i < tui->frame.n_panels; i++)
        if (tui->frame.panels[i].panel == FOCUS_LABELS)
            draw_labels(tui, &tui->frame.panels[i]);
        else
            draw_panel(tui, &tui->frame.panels[i]);
}

static enum heat_style heat_style(const struct tui *tui)
{
    return tui->term && term_colours(tui->term) == TERM_TRUE && !tui->config.ascii &&
                   !tui->config.plain
               ? HEAT_HALVES
               : HEAT_SHADES;
}

void tui_frame(struct tui *tui)
{
    struct lines title = {0};

    cells_clear(&tui->cells);
    tui->cells.ascii = tui->config.ascii;
    tui->explorer.heat = heat_style(tui);
    tui->view.columns = tui->cells.columns;
    tui->view.rows = tui->cells.rows;
    tui->view.files = tui->files != NULL;
    list_open(tui);
    frame_make(&tui->frame, &tui->view);
    if (tui->frame.too_small) {
        draw_too_small(tui);
        return;
    }
    if (tui->exploring && !tui->files) {
        explorer_refresh_training(&tui->explorer);
        explorer_refresh_step(&tui->explorer);
        title_line(&title, &tui->explorer, tui->frame.title.columns);
        draw_line(tui, &tui->frame.title, 0, &title, 0);
    }
    lines_release(&title);
    draw_body(tui);
    if (tui->help.open)
        help_draw(tui, &tui->frame.body);
    draw_status(tui);
}
