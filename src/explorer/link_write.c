/* Writes a view as the fewest settings that restore it. Defaults are omitted;
 * candidates are tested by applying them to an initial view and comparing. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "compare/diff_text.h"
#include "explorer/browse_in.h"
#include "explorer/link.h"
#include "text/shell_word.h"

struct writing {
    uint64_t first_step;       /* of the initial view */
    struct explorer *explorer; /* the view */
    struct explorer plain;     /* the initial view */
    const struct link_screen *screen;
    struct settings settings; /* the result; its texts are in `texts` */
    struct arena texts;
};

/* Copy a text into the settings' arena. */
static const char *keep(struct writing *w, struct buf *text)
{
    const char *kept = arena_printf(&w->texts, "%s", buf_cstr(text));

    buf_release(text);
    return kept;
}

static void add_path(const struct explorer *explorer, uint32_t place, struct buf *to)
{
    if (explorer->pair)
        diff_node_name(&explorer->pair->diff, place, to);
    else
        place_path(explorer->show.model, place, to);
}

/* ---- the tree ---- */

static bool same_rows(const struct browse *a, const struct browse *b)
{
    const struct rows *left = browse_rows(a), *right = browse_rows(b);

    if (left->n != right->n || browse_place(a) != browse_place(b))
        return false;
    for (uint32_t i = 0; i < left->n; i++) {
        const struct row_cell *l = &left->cells[i], *r = &right->cells[i];

        if (l->place != r->place || l->depth != r->depth || l->flags != r->flags)
            return false;
    }
    return true;
}

static void list_name(const struct explorer *explorer, uint32_t place, bool seen,
                      struct buf *to)
{
    struct buf name = BUF_INIT;

    add_path(explorer, place, &name);
    buf_text(to, to->len > 0 ? "," : "");
    buf_text(to, seen ? "+" : "");
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] == ',')
            buf_char(to, '\\');
        buf_char(to, name.at[i]);
    }
    buf_release(&name);
}

static bool open_below(const struct rows *rows, uint32_t row)
{
    for (uint32_t i = row + 1;
         i < rows->n && rows->cells[i].depth > rows->cells[row].depth; i++)
        if (rows->cells[i].flags & ROW_OPEN)
            return true;
    return false;
}

/* The names of open rows without an open row below them (parents are opened
 * implicitly), and the first row of each expanded run. */
static void list_open(const struct explorer *explorer, struct buf *to)
{
    const struct browse *browse = explorer->browse;
    const struct rows *rows = browse_rows(browse);
    uint32_t of = NO_ROW; /* the parent of the current run */

    for (uint32_t i = 0; i < rows->n; i++) {
        const struct row_cell *row = &rows->cells[i];
        bool single = !browse->view.no_runs && bit_get(browse->single, row->place);

        if (row->flags & ROW_OPEN && row->place != 0 && !open_below(rows, i))
            list_name(explorer, row->place, false, to);
        else if (single && of != row->above && !(row->flags & ROW_OPEN))
            list_name(explorer, row->place, true, to);
        if (single)
            of = row->above;
    }
}

static uint32_t deepest_open(const struct browse *browse)
{
    const struct rows *rows = browse_rows(browse);
    uint32_t depth = 0;

    for (uint32_t i = 0; i < rows->n; i++)
        if (rows->cells[i].flags & ROW_OPEN && rows->cells[i].depth + 1u > depth)
            depth = rows->cells[i].depth + 1u;
    return depth;
}

/* Do these folds and this selection turn the initial view into this one? Order and
 * filter are applied already. */
static bool is_enough(struct writing *w, const struct settings *folds)
{
    struct link_screen screen;

    return link_apply(folds, &w->plain, &screen, NULL) == 0 &&
           same_rows(w->explorer->browse, w->plain.browse);
}

/* Omit `at` if that row is selected anyway; use `depth` if it is enough, else the names
 * of open rows. */
static void find_folds(struct writing *w, struct settings *folds)
{
    struct browse *browse = w->explorer->browse;
    struct buf text = BUF_INIT;
    const char *at;

    if (same_rows(browse, w->plain.browse))
        return;
    add_path(w->explorer, browse_place(browse), &text);
    at = keep(w, &text);
    if (browse_place(w->plain.browse) != browse_place(browse))
        folds->at = at;
    if (folds->at && is_enough(w, folds))
        return;
    folds->tree.depth = deepest_open(browse);
    if (is_enough(w, folds))
        return;
    folds->tree.depth = ALL_ROWS;
    list_open(w->explorer, &text);
    folds->open = text.len > 0 ? keep(w, &text) : NULL;
    if (!is_enough(w, folds) && !folds->at)
        folds->at = at;
}

static void find_tree(struct writing *w)
{
    const struct view *view = browse_view(w->explorer->browse);
    struct settings folds = SETTINGS_INIT, *settings = &w->settings;
    struct printed_wanted *tree = &settings->tree;
    struct buf filter = BUF_INIT;
    struct link_screen screen;

    buf_str(&filter, browse_filter(w->explorer->browse));
    tree->expand = view->no_runs;
    settings->hide_equal = view->changed;
    tree->flat = view->flat == FLAT_TENSORS ? "tensors" : view->flat ? "" : NULL;
    tree->sort = view->sort != SORT_MODEL ? rows_orders[view->sort].word : NULL;
    tree->reverse = view->reverse;
    settings->mark = filter.len > 0 && !browse_filtering(w->explorer->browse);
    tree->filter = filter.len > 0 ? keep(w, &filter) : NULL;
    buf_release(&filter);
    if (link_apply(settings, &w->plain, &screen, NULL) == 0)
        find_folds(w, &folds);
    settings->at = folds.at;
    settings->open = folds.open;
    tree->depth = folds.tree.depth;
}

/* ---- the step of a training run ---- */

static void find_step(struct writing *w)
{
    uint64_t step = w->explorer->step;
    struct buf text = BUF_INIT;

    if (step == (w->settings.at ? STEP_NEWEST : w->first_step))
        return;
    if (step == STEP_NEWEST)
        buf_text(&text, "newest");
    else
        buf_printf(&text, "%" PRIu64, step);
    w->settings.tree.step = keep(w, &text);
}

/* ---- labels and panels ---- */

static void find_labels(struct writing *w)
{
    struct buf usual = BUF_INIT, labels = BUF_INIT;

    label_set_text(&w->explorer->labels, &labels);
    label_set_text(&w->plain.labels, &usual);
    if (!str_eq(buf_span(&labels), buf_span(&usual)))
        w->settings.labels = keep(w, &labels);
    buf_release(&labels);
    buf_release(&usual);
}

/* The view of Flow has a separate setting. */
static uint32_t view_of(const struct panel_state *states, int panel)
{
    return panel == PANEL_FLOW ? 0 : states[panel].view;
}

static bool has_state(const struct panel_state *states, int panel)
{
    const struct panel_state *state = &states[panel];

    return view_of(states, panel) || state->log || state->left || state->slice[0];
}

/* The panel whose state is written: the focused one, else one with a state. */
static enum panel_number last_panel(const struct writing *w)
{
    const struct panel_state *states = w->explorer->panels;

    if (w->screen->focus > PANEL_NONE && w->screen->focus < PANEL_COUNT)
        return (enum panel_number)w->screen->focus;
    for (int i = PANEL_DETAILS; i < PANEL_COUNT; i++)
        if (states[i].open && has_state(states, i))
            return (enum panel_number)i;
    return PANEL_NONE;
}

static void list_panels(const struct writing *w, enum panel_number last, struct buf *to)
{
    for (int i = PANEL_DETAILS; i < PANEL_COUNT; i++)
        if (w->explorer->panels[i].open && i != (int)last)
            buf_printf(to, "%s%d", to->len ? "," : "", i);
    if (last != PANEL_NONE)
        buf_printf(to, "%s%d", to->len ? "," : "", (int)last);
    if (w->screen->labels)
        buf_printf(to, "%sL", to->len ? "," : "");
    if (w->screen->focus == PANEL_NONE)
        buf_printf(to, "%s0", to->len ? "," : "");
}

static void find_panels(struct writing *w)
{
    enum panel_number last = last_panel(w);
    const struct panel_state *states = w->explorer->panels, *state = &states[last];
    struct settings *settings = &w->settings;
    struct buf list = BUF_INIT;
    bool usual =
        w->screen->focus == PANEL_NONE && last == PANEL_NONE && !w->screen->labels;

    for (int i = PANEL_DETAILS; i < PANEL_COUNT; i++)
        usual = usual && states[i].open == w->plain.panels[i].open;
    list_panels(w, last, &list);
    if (!usual)
        settings->panel = keep(w, &list);
    buf_release(&list);
    if (states[PANEL_FLOW].view)
        settings->flow = "boxes";
    if (last == PANEL_NONE)
        return;
    settings->view =
        view_of(states, (int)last) ? view_of(states, (int)last) + 1 : OPTION_UNSET;
    settings->log = state->log;
    settings->left = state->left;
    settings->slice = state->slice[0] ? state->slice : NULL;
}

static void find_screen(struct writing *w)
{
    const struct link_screen *screen = w->screen;
    struct settings *settings = &w->settings;
    struct buf size = BUF_INIT;
    struct link_screen usual;

    link_screen_init(&usual, w->explorer);
    if (w->explorer->call != RUN_NONE)
        settings->call = w->explorer->call + 1;
    if (w->explorer->bins)
        settings->hist = w->explorer->bins;
    settings->zoom = screen->zoom;
    if (screen->below != usual.below)
        settings->layout = screen->below ? "below" : "right";
    if (screen->share != usual.share)
        buf_printf(&size, "%u%%", screen->share);
    if (screen->height != usual.height)
        buf_printf(&size, "%s%u", size.len ? "," : "", screen->height);
    settings->size = size.len ? keep(w, &size) : NULL;
}

void link_options(struct buf *to, struct explorer *explorer,
                  const struct link_screen *screen)
{
    struct writing w = {
        .explorer = explorer, .screen = screen, .settings = SETTINGS_INIT};

    arena_init(&w.texts, 0);
    if (explorer_again(&w.plain, explorer, NULL) == 0) {
        w.first_step = w.plain.step;
        find_tree(&w);
        find_step(&w);
        find_labels(&w);
        find_panels(&w);
        explorer_end(&w.plain);
    }
    find_screen(&w);
    settings_write(&w.settings, to);
    arena_release(&w.texts);
}

/* ---- the line ---- */

bool link_is_live(const struct explorer *explorer)
{
    const struct session *session = explorer->session;

    return session->model->live && (!session->run || !session->own_run);
}

/* A name that could be a command or an option is written as a path. */
static void add_source(struct buf *to, const char *path)
{
    struct buf word = BUF_INIT;

    if (path[0] == '-' || (!strchr(path, '/') && !strchr(path, '.')))
        buf_text(&word, "./");
    buf_text(&word, path);
    shell_word_write(to, buf_span(&word));
    buf_release(&word);
}

void link_write(struct buf *to, struct explorer *explorer,
                const struct link_screen *screen)
{
    struct pair *pair = explorer->pair;

    if (link_is_live(explorer)) {
        size_t begin;

        buf_text(to, "torchoscope.explore(model)  #");
        begin = to->len;
        link_options(to, explorer, screen);
        if (to->len == begin) {
            to->len -= 3;
            to->at[to->len] = '\0';
        }
        return;
    }
    buf_text(to, "torchoscope ");
    add_source(to, pair ? pair->left->model->path : explorer->session->model->path);
    if (pair) {
        buf_text(to, " --diff ");
        add_source(to, pair->right->model->path);
        buf_text(to, pair->diff.values ? "" : " --structure");
    }
    link_options(to, explorer, screen);
}
