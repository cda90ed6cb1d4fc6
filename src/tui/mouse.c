/* Mouse input, mapped to the same actions as keys. */
#include "base/clock.h"
#include "tui/draw_in.h"
#include "tui/tui_in.h"

#define WHEEL_ROWS   3
#define DOUBLE_CLICK 400000000u /* ns */

enum drag { DRAG_NONE, DRAG_DIVIDER, DRAG_RULE, DRAG_TREE_BAR, DRAG_PANEL_BAR };

static bool inside(const struct area *area, const struct key *key)
{
    return key->column >= area->column && key->column < area->column + area->columns &&
           key->row >= area->row && key->row < area->row + area->rows;
}

static const struct frame_panel *panel_at(const struct tui *tui, const struct key *key)
{
    for (unsigned i = 0; i < tui->frame.n_panels; i++)
        if (inside(&tui->frame.panels[i].area, key))
            return &tui->frame.panels[i];
    return NULL;
}

/* --- The wheel scrolls the part under the pointer */

static void wheel(struct tui *tui, const struct key *key, int64_t by)
{
    const struct frame_panel *panel = panel_at(tui, key);

    if (tui->files) {
        files_act(tui, by < 0 ? ACTION_UP : ACTION_DOWN);
    } else if (panel && panel->panel == FOCUS_LABELS) {
        tui_act(tui, by < 0 ? ACTION_UP : ACTION_DOWN);
    } else if (panel) {
        tui_scroll_panel(tui, panel->panel, by, false);
    } else if (inside(&tui->frame.tree, key)) {
        browse_scroll(tui->explorer.browse, by);
        tui_changed(tui);
    }
}

/* --- Scroll bars: the thumb follows the pointer */

static uint32_t bar_top(const struct area *bar, unsigned row, uint32_t all)
{
    uint32_t at = row > bar->row ? row - bar->row : 0;

    if (all <= bar->rows || bar->rows < 2)
        return 0;
    if (at >= bar->rows)
        at = bar->rows - 1;
    return (uint32_t)((uint64_t)at * (all - bar->rows) / (bar->rows - 1));
}

static void drag_tree_bar(struct tui *tui, const struct key *key)
{
    struct browse *browse = tui->explorer.browse;
    struct area bar = tui->frame.tree;

    bar.row++;
    bar.rows--;
    browse_scroll(browse, (int64_t)bar_top(&bar, key->row, browse_rows(browse)->n) -
                              (int64_t)browse_top(browse));
    tui_changed(tui);
}

static void drag_panel_bar(struct tui *tui, const struct key *key)
{
    for (unsigned i = 0; i < tui->frame.n_panels; i++) {
        struct area bar = tui->frame.panels[i].area;
        unsigned panel = tui->frame.panels[i].panel;

        if (panel != tui->view.focus || panel == FOCUS_LABELS)
            continue;
        bar.row++;
        bar.rows--;
        tui_scroll_panel(tui, panel,
                         (int64_t)bar_top(&bar, key->row, tui->panels[panel].lines.n) -
                             (int64_t)tui->panels[panel].top,
                         false);
    }
}

/* --- The divider between tree and panels */

static void drag_divider(struct tui *tui, const struct key *key)
{
    unsigned width = tui->frame.body.columns;
    unsigned share = (width - key->column) * 100 / width;

    if (share < LINK_SHARE_LEAST)
        share = LINK_SHARE_LEAST;
    tui->view.share = share > LINK_SHARE_MOST ? LINK_SHARE_MOST : share;
}

static void drag_rule(struct tui *tui, const struct key *key)
{
    unsigned end = tui->frame.status.row;

    if (key->row + 3 <= end && key->row > tui->frame.body.row + 3)
        tui->view.height = end - key->row;
}

static void drag(struct tui *tui, const struct key *key)
{
    switch ((enum drag)tui->drag) {
    case DRAG_DIVIDER:
        drag_divider(tui, key);
        break;
    case DRAG_RULE:
        drag_rule(tui, key);
        break;
    case DRAG_TREE_BAR:
        drag_tree_bar(tui, key);
        break;
    case DRAG_PANEL_BAR:
        drag_panel_bar(tui, key);
        break;
    case DRAG_NONE:
        break;
    }
}

/* --- Clicks */

/* The same row twice within DOUBLE_CLICK. */
static bool is_double(struct tui *tui, uint32_t row)
{
    uint64_t now = clock_ns();
    bool twice = tui->click_row == row && now - tui->click_ns < DOUBLE_CLICK;

    tui->click_row = row;
    tui->click_ns = twice ? 0 : now;
    return twice;
}

static void click_tree(struct tui *tui, const struct key *key)
{
    struct tree_room room = draw_tree_room(tui);
    unsigned line = key->row - tui->frame.tree.row;
    unsigned cell = key->column - tui->frame.tree.column;
    uint32_t row;

    if (line == 0) {
        const struct column *column = tree_column_at(&tui->explorer, &room, cell);

        if (column)
            sort_by_column(tui, column);
        return;
    }
    if (cell >= room.width) {
        tui->drag = DRAG_TREE_BAR;
        drag_tree_bar(tui, key);
        return;
    }
    row = line < tui->tree.n ? tui->tree.at[line].target : NO_TARGET;
    if (row == NO_TARGET || row >= browse_rows(tui->explorer.browse)->n)
        return;
    tui_focus(tui, FOCUS_TREE);
    browse_select(tui->explorer.browse, row);
    tui_changed(tui);
    if (tree_is_arrow(&tui->explorer, &room, row, cell))
        tui_act(tui, ACTION_FOLD);
    else if (is_double(tui, row))
        tui_act(tui, ACTION_ENTER);
}

static void click_labels(struct tui *tui, const struct frame_panel *panel,
                         const struct key *key)
{
    uint32_t line = tui->label_top + (key->row - panel->area.row - 1);

    if (line >= tui->n_labels)
        return;
    tui->label_cursor = line;
    if (key->column - panel->area.column < 3 || is_double(tui, line))
        tui_act(tui, ACTION_LABEL_TOGGLE);
}

/* A drawing selects the item at the cell. */
static void click_drawing(struct tui *tui, const struct frame_panel *panel,
                          const struct key *key)
{
    uint32_t line = tui->panels[panel->panel].top + (key->row - panel->area.row) - 1;

    if (!panel_click(panels[panel->panel], &tui->explorer,
                     &tui->explorer.panels[panel->panel], line,
                     key->column - panel->area.column))
        return;
    tui_changed(tui);
    if (is_double(tui, line))
        tui_act(tui, ACTION_ENTER);
}

static void click_panel(struct tui *tui, const struct frame_panel *panel,
                        const struct key *key)
{
    unsigned line = key->row - panel->area.row;
    bool last = key->column + 1 == panel->area.column + panel->area.columns;
    struct panel_state *state;

    if (tui->view.focus != panel->panel)
        tui_focus(tui, panel->panel);
    if (line == 0) {
        if (!tui->frame.right && !tui->view.zoom)
            tui->drag = DRAG_RULE;
        return;
    }
    if (panel->panel == FOCUS_LABELS) {
        click_labels(tui, panel, key);
        return;
    }
    state = &tui->explorer.panels[panel->panel];
    if (last && tui->panels[panel->panel].lines.n > panel->area.rows - 1) {
        tui->drag = DRAG_PANEL_BAR;
        drag_panel_bar(tui, key);
    } else if (panels[panel->panel]->drawn && panels[panel->panel]->drawn(state)) {
        click_drawing(tui, panel, key);
    } else if (panels[panel->panel]->cursor &&
               tui->panels[panel->panel].top + line - 1 <
                   tui->panels[panel->panel].lines.n) {
        state->cursor = tui->panels[panel->panel].top + line - 1;
        tui_changed(tui);
        if (is_double(tui, state->cursor))
            tui_act(tui, ACTION_ENTER);
    }
}

static void click_divider(struct tui *tui, const struct key *key)
{
    const struct cell *cell =
        &tui->cells.at[(size_t)key->row * tui->cells.columns + key->column];

    /* The thumb of the tree's scroll bar is thicker and not dim. */
    tui->drag = cell->colour == COLOUR_DIM ? DRAG_DIVIDER : DRAG_TREE_BAR;
}

static void click_files(struct tui *tui, const struct key *key)
{
    if (inside(&tui->frame.body, key))
        files_click(tui, key->row - tui->frame.body.row,
                    key->column - tui->frame.body.column, is_double(tui, key->row));
}

static void press(struct tui *tui, const struct key *key)
{
    const struct frame_panel *panel = panel_at(tui, key);

    tui->drag = DRAG_NONE;
    if (key->button != 0 || key->row >= tui->cells.rows ||
        key->column >= tui->cells.columns)
        return;
    if (tui->menu.title) {
        uint32_t choice = tui->menu.top + (key->row - tui->menu_row);

        if (key->row >= tui->menu_row && key->row < tui->frame.status.row &&
            choice < tui->menu.n)
            tui_choose(tui, choice);
        else
            menu_clear(&tui->menu);
    } else if (tui->prompt.kind) {
        return;
    } else if (inside(&tui->frame.hints, key)) {
        if (hint_at(tui, key->column) != ACTION_NONE)
            tui_act(tui, hint_at(tui, key->column));
    } else if (tui->files) {
        click_files(tui, key);
    } else if (inside(&tui->frame.divider, key)) {
        click_divider(tui, key);
    } else if (panel) {
        click_panel(tui, panel, key);
    } else if (inside(&tui->frame.tree, key)) {
        click_tree(tui, key);
    }
}

void mouse_key(struct tui *tui, const struct key *key)
{
    switch (key->mouse) {
    case MOUSE_PRESS:
        press(tui, key);
        break;
    case MOUSE_DRAG:
        drag(tui, key);
        break;
    case MOUSE_RELEASE:
        tui->drag = DRAG_NONE;
        break;
    case MOUSE_WHEEL_UP:
        wheel(tui, key, -WHEEL_ROWS);
        break;
    case MOUSE_WHEEL_DOWN:
        wheel(tui, key, WHEEL_ROWS);
        break;
    }
}
