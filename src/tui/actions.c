/* Implements the actions. */
#include <string.h>

#include "base/base.h"
#include "tui/draw_in.h"
#include "tui/tui_in.h"

#define SHARE_STEP  5
#define HEIGHT_STEP 2

/* --- The current place */

unsigned tui_where(const struct tui *tui)
{
    if (tui->files)
        return IN_FILES;
    if (tui->view.focus == FOCUS_LABELS)
        return IN_LABELS;
    if (tui->view.focus == PANEL_FLOW)
        return IN_PANEL | IN_FLOW;
    if (tui->view.focus != FOCUS_TREE)
        return IN_PANEL;
    return tui->exploring && tui->explorer.pair ? IN_TREE | IN_DIFF : IN_TREE;
}

struct row tui_row(const struct tui *tui)
{
    const struct rows *rows = browse_rows(tui->explorer.browse);
    uint32_t cursor = browse_cursor(tui->explorer.browse);

    return cursor < rows->n ? rows_at(rows, cursor) : (struct row){.count = 1};
}

static struct panel_state *state_of(struct tui *tui, unsigned panel)
{
    return &tui->explorer.panels[panel];
}

static bool is_panel(unsigned focus)
{
    return focus > FOCUS_TREE && focus < PANEL_COUNT;
}

/* --- Panels: open, closed, focused */

static void end_visit(struct tui *tui)
{
    tui->visiting = tui->visit_closes = false;
}

void tui_focus(struct tui *tui, unsigned focus)
{
    if (focus != FOCUS_TREE && focus != FOCUS_LABELS && !is_panel(focus))
        return;
    if (is_panel(focus)) {
        state_of(tui, focus)->open = true;
        tui->opened[focus] = ++tui->clock;
        tui->view.labels = false;
        if (tui->frame.small)
            tui->view.zoom = true; /* there is no other space for it */
    }
    if (focus == FOCUS_TREE && tui->view.focus != FOCUS_TREE)
        tui->view.zoom = false;
    tui->view.focus = focus;
    tui_changed(tui);
}

static void close_panel(struct tui *tui, enum panel_number panel)
{
    state_of(tui, panel)->open = false;
    if (tui->view.focus == (unsigned)panel)
        tui_focus(tui, FOCUS_TREE);
    end_visit(tui);
    tui_changed(tui);
}

static void panel_key(struct tui *tui, unsigned panel)
{
    if (tui->view.focus == panel)
        close_panel(tui, panel);
    else
        tui_focus(tui, panel);
    /* The user asked, so measure tensors of any size. */
    if (panel == PANEL_STATISTICS && tui->view.focus == panel)
        explorer_measure_row(&tui->explorer);
}

/* c and a: toggle a panel without moving the focus. */
static void toggle_panel(struct tui *tui, enum panel_number panel)
{
    if (state_of(tui, panel)->open) {
        close_panel(tui, panel);
        return;
    }
    state_of(tui, panel)->open = true;
    tui->opened[panel] = ++tui->clock;
    if (tui->frame.small)
        tui_focus(tui, panel);
    tui_changed(tui);
}

/* Cycle the focus through the parts of the last frame, the tree first. */
static void next_part(struct tui *tui, int by)
{
    unsigned parts[STACK_MOST + 1] = {FOCUS_TREE}, n = 1, at = 0;

    for (unsigned i = 0; i < tui->frame.n_panels; i++) {
        if (tui->frame.panels[i].panel == tui->view.focus)
            at = n;
        parts[n++] = tui->frame.panels[i].panel;
    }
    if (n == 1)
        explorer_say(&tui->explorer, "no panel is open; 1 to 6 open one");
    else
        tui_focus(tui, parts[(at + (by > 0 ? 1 : n - 1)) % n]);
}

static void grow(struct tui *tui, int by)
{
    struct frame_wanted *view = &tui->view;
    unsigned most = tui->frame.body.rows > 4 ? tui->frame.body.rows - 4 : 3;

    if (tui->frame.n_panels == 0 || view->zoom) {
        explorer_say(&tui->explorer, "there is no panel beside the tree");
    } else if (tui->frame.right) {
        if (by > 0 && view->share + SHARE_STEP <= 80)
            view->share += SHARE_STEP;
        else if (by < 0 && view->share >= 20 + SHARE_STEP)
            view->share -= SHARE_STEP;
        else
            explorer_say(&tui->explorer, "panels have %u%% of the screen already",
                         view->share);
    } else {
        if (by > 0 && view->height + HEIGHT_STEP <= most)
            view->height += HEIGHT_STEP;
        else if (by < 0 && view->height >= 3 + HEIGHT_STEP)
            view->height -= HEIGHT_STEP;
        else
            explorer_say(&tui->explorer, "the panel has %u rows already", view->height);
    }
}

static void toggle_labels(struct tui *tui)
{
    tui->view.labels = !tui->view.labels;
    tui->view.focus = tui->view.labels ? FOCUS_LABELS : FOCUS_TREE;
    tui->view.zoom = false;
    tui_changed(tui);
}

static void toggle_below(struct tui *tui)
{
    tui->view.below = !tui->view.below;
    if (tui->view.columns < 100)
        explorer_say(&tui->explorer,
                     "below 100 columns, panels are always below the tree");
    tui_changed(tui);
}

/* --- Moving in the focused part */

/* The panel's visible rows. */
static uint32_t panel_rows(const struct tui *tui, unsigned panel)
{
    for (unsigned i = 0; i < tui->frame.n_panels; i++)
        if (tui->frame.panels[i].panel == panel && tui->frame.panels[i].area.rows > 1)
            return tui->frame.panels[i].area.rows - 1;
    return 1;
}

static uint32_t page_rows(const struct tui *tui)
{
    if (tui->view.focus != FOCUS_TREE)
        return panel_rows(tui, tui->view.focus);
    return tui->frame.tree.rows > 1 ? tui->frame.tree.rows - 1 : 1;
}

static uint32_t moved(uint32_t at, int64_t by, uint32_t n)
{
    int64_t to = (int64_t)at + by;

    return to < 0 || n == 0 ? 0 : to >= (int64_t)n ? n - 1 : (uint32_t)to;
}

void tui_scroll_panel(struct tui *tui, unsigned panel, int64_t by, bool cursor)
{
    struct panel_state *state = state_of(tui, panel);
    uint32_t n = tui->panels[panel].lines.n;

    n -= state->foot < n ? state->foot : 0;
    if (cursor && panel_has_cursor(panels[panel], state)) {
        state->cursor = moved(state->cursor, by, n);
        tui_changed(tui); /* the text may depend on the selected line */
    } else {
        uint32_t rows = panel_rows(tui, panel), top = tui->panels[panel].top;

        rows -= state->foot < rows ? state->foot : 0;
        state->top = moved(top, by, n > rows ? n - rows + 1 : 1);
        if (!panel_has_cursor(panels[panel], state))
            return;
        if (state->cursor < state->top) /* keep the cursor visible */
            state->cursor = state->top;
        else if (state->cursor >= state->top + rows)
            state->cursor = state->top + rows - 1;
    }
}

static void move_in_panel(struct tui *tui, unsigned panel, int64_t by)
{
    const struct panel_state *state = state_of(tui, panel);
    uint32_t top = tui->panels[panel].top, cursor = state->cursor;

    tui_scroll_panel(tui, panel, by, true);
    if (panel_has_cursor(panels[panel], state) ? state->cursor == cursor
                                               : state->top == top)
        explorer_say(&tui->explorer,
                     by > 0 ? "this is the last line" : "this is the first line");
}

static void move_in_labels(struct tui *tui, int64_t by)
{
    uint32_t to = moved(tui->label_cursor, by, tui->n_labels);

    if (to == tui->label_cursor)
        explorer_say(&tui->explorer,
                     by > 0 ? "this is the last label" : "this is the first label");
    tui->label_cursor = to;
}

/* A drawing moves its own selection. */
static bool is_drawn(const struct tui *tui, unsigned focus)
{
    return is_panel(focus) && panels[focus]->drawn &&
           panels[focus]->drawn(&tui->explorer.panels[focus]);
}

static void act_drawn(struct tui *tui, enum panel_act act)
{
    panel_act(panels[tui->view.focus], &tui->explorer, state_of(tui, tui->view.focus),
              act);
    tui_changed(tui);
}

static void move(struct tui *tui, int64_t by)
{
    if (tui->view.focus == FOCUS_TREE) {
        browse_move(tui->explorer.browse, by);
        tui_changed(tui);
    } else if (tui->view.focus == FOCUS_LABELS) {
        move_in_labels(tui, by);
    } else if (is_drawn(tui, tui->view.focus) && (by == 1 || by == -1)) {
        act_drawn(tui, by > 0 ? ACT_DOWN : ACT_UP);
    } else {
        move_in_panel(tui, tui->view.focus, by);
    }
}

static void move_end(struct tui *tui, bool last)
{
    int64_t far = last ? INT32_MAX : -(int64_t)INT32_MAX;

    if (tui->view.focus == FOCUS_LABELS)
        tui->label_cursor = moved(tui->label_cursor, far, tui->n_labels);
    else if (is_drawn(tui, tui->view.focus))
        act_drawn(tui, last ? ACT_LAST : ACT_FIRST);
    else if (tui->view.focus != FOCUS_TREE)
        tui_scroll_panel(tui, tui->view.focus, far, true);
    else if (last)
        browse_last(tui->explorer.browse);
    else
        browse_first(tui->explorer.browse);
    tui_changed(tui);
}

/* --- Keys of panels */

static bool act_in(struct tui *tui, unsigned panel, enum panel_act act)
{
    if (!is_panel(panel) || !panels[panel]->act)
        return false;
    panel_act(panels[panel], &tui->explorer, state_of(tui, panel), act);
    tui_changed(tui);
    return true;
}

/* In the tree, panel keys go to a visible panel that handles them. */
static void act(struct tui *tui, enum panel_act what, const char *why_not)
{
    static const uint8_t order[] = {PANEL_STATISTICS,  PANEL_FLOW, PANEL_TRAINING,
                                    PANEL_PERFORMANCE, PANEL_CODE, PANEL_DETAILS,
                                    PANEL_ATTRIBUTES};

    if (is_panel(tui->view.focus)) {
        if (!act_in(tui, tui->view.focus, what))
            explorer_say(&tui->explorer, "%s", why_not);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(order); i++)
        for (unsigned k = 0; k < tui->frame.n_panels; k++)
            if (tui->frame.panels[k].panel == order[i] && act_in(tui, order[i], what))
                return;
    explorer_say(&tui->explorer, "%s", why_not);
}

static const char *no_call(const struct tui *tui)
{
    return tui->explorer.show.activity ? "no panel that shows calls is open"
                                       : "nothing was recorded";
}

/* --- The tree */

bool tui_go(struct tui *tui, uint32_t place)
{
    bool went = browse_go(tui->explorer.browse, place);

    tui_changed(tui);
    return went;
}

static void left(struct tui *tui)
{
    struct browse *browse = tui->explorer.browse;

    if (tui->view.focus == FOCUS_TREE) {
        if (!(tui_row(tui).flags & ROW_OPEN && browse_close(browse)))
            browse_parent(browse);
        tui_changed(tui);
    } else if (tui->view.focus != FOCUS_LABELS) {
        act(tui, ACT_LEFT, "nothing to the left");
    }
}

/* "View selected module": focus the first visible panel, else Details. */
static void focus_some_panel(struct tui *tui)
{
    for (unsigned i = 0; i < tui->frame.n_panels; i++)
        if (is_panel(tui->frame.panels[i].panel)) {
            tui_focus(tui, tui->frame.panels[i].panel);
            return;
        }
    tui_focus(tui, PANEL_DETAILS);
}

static void right(struct tui *tui)
{
    struct browse *browse = tui->explorer.browse;
    unsigned flags = tui_row(tui).flags;

    if (tui->view.focus != FOCUS_TREE) {
        if (tui->view.focus != FOCUS_LABELS)
            act(tui, ACT_RIGHT, "nothing to the right");
        return;
    }
    if (flags & ROW_OPEN)
        browse_child(browse);
    else if (flags & ROW_CLOSED)
        browse_open(browse);
    else
        focus_some_panel(tui);
    tui_changed(tui);
}

/* Another place of a shared tensor or module; NO_PLACE if it has only one. */
static uint32_t other_place(const struct model *model, uint32_t place)
{
    const struct tensor *tensor;
    uint32_t next;

    if (model->kind[place] == PLACE_TENSOR) {
        tensor = place_tensor(model, place);
        if (tensor->places < 2)
            return NO_PLACE;
        next = tensor_next_place(model, place);
        return next != NO_PLACE ? next : tensor->place;
    }
    if (model->flags[place] & PLACE_AGAIN && place_object(model, place))
        return place_object(model, place)->place;
    return NO_PLACE;
}

/* Zoom into the statistics of a tensor; Esc goes back. */
static void visit_statistics(struct tui *tui)
{
    bool was_open = state_of(tui, PANEL_STATISTICS)->open;

    tui_focus(tui, PANEL_STATISTICS);
    tui->view.zoom = true;
    tui->visiting = true;
    tui->visit_closes = !was_open;
}

static bool has_finding(const struct tui *tui, uint32_t place)
{
    const struct model *model = tui->explorer.show.model;

    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].place == place)
            return true;
    return false;
}

static void enter_tree(struct tui *tui)
{
    struct browse *browse = tui->explorer.browse;
    const struct model *model = tui->explorer.show.model;
    struct row row = tui_row(tui);
    uint32_t other;

    if (browse_view(browse)->flat != FLAT_NO) {
        browse_flat(browse, FLAT_NO);
        tui_go(tui, row.place);
        return;
    }
    if (tui->explorer.pair || row.flags & ROW_RUN) {
        browse_fold(browse, FOLD_ROW);
        tui_changed(tui);
        return;
    }
    other = other_place(model, row.place);
    if (other != NO_PLACE) {
        tui_go(tui, other);
    } else if (model->kind[row.place] == PLACE_TENSOR &&
               !(row.flags & (ROW_OPEN | ROW_CLOSED))) {
        visit_statistics(tui);
    } else if (row.flags & (ROW_OPEN | ROW_CLOSED)) {
        browse_fold(browse, FOLD_ROW);
    } else if (has_finding(tui, row.place)) {
        tui_focus(tui, PANEL_DETAILS);
    } else {
        focus_some_panel(tui);
    }
    tui_changed(tui);
}

static void enter(struct tui *tui)
{
    if (tui->view.focus == FOCUS_TREE)
        enter_tree(tui);
    else
        act(tui, ACT_ENTER, "nothing to go to on this line");
}

static void fold(struct tui *tui, enum fold what)
{
    browse_fold(tui->explorer.browse, what);
    tui_changed(tui);
}

static void flat(struct tui *tui)
{
    enum rows_flat now = browse_view(tui->explorer.browse)->flat;

    browse_flat(tui->explorer.browse, now == FLAT_NO       ? FLAT_LEAVES
                                      : now == FLAT_LEAVES ? FLAT_TENSORS
                                                           : FLAT_NO);
    tui_changed(tui);
}

/* --- Labels */

static void label_group(struct tui *tui, char key)
{
    const char *why = label_group_why(&tui->explorer.show, key);

    if (why)
        explorer_say(&tui->explorer, "%s", why);
    else
        label_set_group(&tui->explorer.labels, key);
    tui_changed(tui);
}

static void label_move(struct tui *tui, int64_t by)
{
    struct label_set *set = &tui->explorer.labels;
    uint32_t to = moved(tui->label_cursor, by, set->n);

    if (tui->label_cursor >= set->n)
        return;
    if (to == tui->label_cursor)
        explorer_say(&tui->explorer,
                     by > 0 ? "it is the last already" : "it is the first already");
    label_set_move(set, tui->label_cursor, to);
    tui->label_cursor = to;
    tui_changed(tui);
}

static void label_toggle(struct tui *tui)
{
    label_set_toggle(&tui->explorer.labels, tui->label_cursor);
    tui_changed(tui);
}

/* --- Finding */

static void search_class(struct tui *tui)
{
    browse_search_class(tui->explorer.browse);
    tui_changed(tui);
}

static void alarm_key(struct tui *tui)
{
    explorer_next_alarm(&tui->explorer);
    for (unsigned i = 1; i < PANEL_COUNT; i++) /* may open a panel */
        if (tui->explorer.panels[i].open && tui->opened[i] == 0)
            tui->opened[i] = ++tui->clock;
    tui_changed(tui);
}

/* --- Going back and leaving */

static bool close_zoom(struct tui *tui)
{
    bool closes = tui->visit_closes;

    if (!tui->view.zoom)
        return false;
    tui->view.zoom = false;
    if (tui->visiting || tui->frame.small) {
        unsigned panel = tui->view.focus;

        tui_focus(tui, FOCUS_TREE);
        if (closes && is_panel(panel))
            state_of(tui, panel)->open = false;
    }
    end_visit(tui);
    tui_changed(tui);
    return true;
}

static void escape(struct tui *tui)
{
    struct explorer *explorer = &tui->explorer;

    if (close_zoom(tui))
        return;
    if (tui->view.labels && tui->view.focus == FOCUS_LABELS) {
        toggle_labels(tui);
    } else if (browse_filter(explorer->browse).len) {
        browse_clear(explorer->browse);
    } else if (tui->view.focus != FOCUS_TREE) {
        tui_focus(tui, FOCUS_TREE);
    } else if (tui_job_runs(tui)) {
        explorer_stop(explorer);
        explorer_say(explorer, "stopped");
    } else {
        explorer_say(explorer, "nothing to close; q quits");
    }
    tui_changed(tui);
}

static void quit(struct tui *tui)
{
    if (!close_zoom(tui) && !tui_leave(tui))
        tui->quit = true;
}

static void zoom(struct tui *tui)
{
    if (!close_zoom(tui))
        tui->view.zoom = true;
    tui_changed(tui);
}

static void command(struct tui *tui, const char *line)
{
    struct err err = {0};

    if (tui_command(tui, str_of(line), &err) < 0)
        tui_trouble(tui, &err, NULL);
    tui_changed(tui);
}

/* --- Dispatch: one switch for each part of the table */

static bool act_moving(struct tui *tui, enum action action)
{
    struct browse *browse = tui->explorer.browse;
    int64_t page = page_rows(tui);

    switch (action) {
    case ACTION_UP:
        return move(tui, -1), true;
    case ACTION_DOWN:
        return move(tui, 1), true;
    case ACTION_PAGE_UP:
        return move(tui, -page), true;
    case ACTION_PAGE_DOWN:
        return move(tui, page), true;
    case ACTION_HALF_UP:
        return move(tui, -(page + 1) / 2), true;
    case ACTION_HALF_DOWN:
        return move(tui, (page + 1) / 2), true;
    case ACTION_FIRST:
        return move_end(tui, false), true;
    case ACTION_LAST:
        return move_end(tui, true), true;
    case ACTION_LEFT:
        return left(tui), true;
    case ACTION_RIGHT:
        return right(tui), true;
    case ACTION_ENTER:
        return enter(tui), true;
    case ACTION_NEXT_SIBLING:
        return browse_sibling(browse, 1), tui_changed(tui), true;
    case ACTION_PREVIOUS_SIBLING:
        return browse_sibling(browse, -1), tui_changed(tui), true;
    case ACTION_BACK:
        return browse_back(browse), tui_changed(tui), true;
    default:
        return false;
    }
}

static bool act_tree(struct tui *tui, enum action action)
{
    switch (action) {
    case ACTION_FOLD:
    case ACTION_FOLD_SUBTREE:
    case ACTION_FOLD_ALL:
    case ACTION_FOLD_SIBLINGS:
    case ACTION_FOLD_SIBLINGS_BELOW:
    case ACTION_FOLD_CLASS:
    case ACTION_FOLD_CLASS_BELOW: /* the actions are in the order of enum fold */
        return fold(tui, (enum fold)(FOLD_ROW + (action - ACTION_FOLD))), true;
    case ACTION_RUNS:
        return browse_runs(tui->explorer.browse), tui_changed(tui), true;
    case ACTION_FLAT:
        return flat(tui), true;
    case ACTION_SHAPES:
        return label_group(tui, 't'), true;
    case ACTION_MEMORY:
        return label_group(tui, 'b'), true;
    case ACTION_COUNTS:
        return label_group(tui, 'p'), true;
    case ACTION_DEVICE:
        return label_group(tui, 'd'), true;
    case ACTION_FORWARD:
        return label_group(tui, 'f'), true;
    case ACTION_TIMES:
        return label_group(tui, 'r'), true;
    case ACTION_ALIGN:
        tui->explorer.labels.flowing = !tui->explorer.labels.flowing;
        return tui_changed(tui), true;
    case ACTION_LABELS:
        return toggle_labels(tui), true;
    case ACTION_LABEL_DOWN:
        return label_move(tui, 1), true;
    case ACTION_LABEL_UP:
        return label_move(tui, -1), true;
    case ACTION_LABEL_TOP:
        return label_move(tui, -LABELS_MOST), true;
    case ACTION_LABEL_BOTTOM:
        return label_move(tui, LABELS_MOST), true;
    case ACTION_LABEL_TOGGLE:
        return label_toggle(tui), true;
    default:
        return false;
    }
}

static bool act_panels(struct tui *tui, enum action action)
{
    switch (action) {
    case ACTION_CODE:
        return toggle_panel(tui, PANEL_CODE), true;
    case ACTION_ATTRIBUTES:
        return toggle_panel(tui, PANEL_ATTRIBUTES), true;
    case ACTION_NEXT_PANEL:
        return next_part(tui, 1), true;
    case ACTION_PREVIOUS_PANEL:
        return next_part(tui, -1), true;
    case ACTION_LARGER:
        return grow(tui, 1), true;
    case ACTION_SMALLER:
        return grow(tui, -1), true;
    case ACTION_BELOW:
        return toggle_below(tui), true;
    case ACTION_ZOOM:
        return zoom(tui), true;
    case ACTION_PREVIOUS_CALL:
        return act(tui, ACT_PREVIOUS, no_call(tui)), true;
    case ACTION_NEXT_CALL:
        return act(tui, ACT_NEXT, no_call(tui)), true;
    case ACTION_VIEW:
        return act(tui, ACT_VIEW, "no panel that is open has further views"), true;
    case ACTION_LOG:
        return act(tui, ACT_LOG, "no panel that is open has a scale"), true;
    case ACTION_SLICE:
        return tui_prompt(tui, PROMPT_SLICE, STR("")), true;
    case ACTION_OUT:
        return act(tui, ACT_OUT, "nothing to go out of"), true;
    default:
        if (action < ACTION_PANEL_1 || action > ACTION_PANEL_7)
            return false;
        return panel_key(tui, action - ACTION_PANEL_1 + 1), true;
    }
}

static bool act_finding(struct tui *tui, enum action action)
{
    struct browse *browse = tui->explorer.browse;

    switch (action) {
    case ACTION_SEARCH:
        return tui_prompt(tui, PROMPT_SEARCH, STR("")), true;
    case ACTION_NEXT_MATCH:
        return browse_next_match(browse, 1), tui_changed(tui), true;
    case ACTION_PREVIOUS_MATCH:
        return browse_next_match(browse, -1), tui_changed(tui), true;
    case ACTION_ONLY_MATCHES:
        return browse_only_matches(browse), tui_changed(tui), true;
    case ACTION_SEARCH_CLASS:
        return search_class(tui), true;
    case ACTION_ALARM:
        return alarm_key(tui), true;
    case ACTION_SORT:
        return sort_menu(tui), true;
    case ACTION_HIDE_EQUAL:
        return browse_hide_equal(browse), tui_changed(tui), true;
    case ACTION_COPY:
        return copy_menu(tui), true;
    case ACTION_EXPORT:
        return tui_prompt(tui, PROMPT_COMMAND, STR("export ")), true;
    case ACTION_DIFF:
        return tui_prompt(tui, PROMPT_COMMAND, STR("diff ")), true;
    case ACTION_EDIT:
        return edit_source(tui), true;
    case ACTION_RELOAD:
        return command(tui, "reload"), true;
    default:
        return false;
    }
}

static bool act_anywhere(struct tui *tui, enum action action)
{
    switch (action) {
    case ACTION_COMMAND:
        return tui_prompt(tui, PROMPT_COMMAND, STR("")), true;
    case ACTION_HELP:
        buf_clear(&tui->help.filter);
        tui->help.top = 0;
        return tui->help.open = true;
    case ACTION_QUIT_NOW:
        return tui->quit = true;
    case ACTION_REDRAW:
        if (tui->term)
            term_redraw(tui->term);
        return tui_changed(tui), true;
    case ACTION_SUSPEND:
        if (tui->term)
            term_suspend(tui->term);
        return true;
    default:
        return false;
    }
}

void tui_act(struct tui *tui, enum action action)
{
    if (act_anywhere(tui, action))
        return;
    if (tui->files) {
        files_act(tui, action);
        return;
    }
    if (action == ACTION_ESCAPE)
        escape(tui);
    else if (action == ACTION_QUIT)
        quit(tui);
    else if (!act_moving(tui, action) && !act_tree(tui, action) &&
             !act_panels(tui, action))
        act_finding(tui, action);
}
