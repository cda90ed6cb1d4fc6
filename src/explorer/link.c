/* Applies settings to a view. */
#include "explorer/link.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "compare/diff_text.h"
#include "explorer/browse_in.h"
#include "text/nearest.h"

/* ---- orders ---- */

int sort_by_word(struct str word, enum rows_sort *ret_sort, struct err *err)
{
    char text[32];
    const char *nearest;

    *ret_sort = rows_order_find(word);
    if (*ret_sort != SORT_COUNT)
        return 0;
    snprintf(text, sizeof text, "%.*s", STR_ARG(word));
    nearest =
        text_nearest(text, &rows_orders[0].word, SORT_COUNT, sizeof rows_orders[0]);
    return err_set(err, ERR_USAGE,
                   "unknown order \"%s\"%s%s%s use name, params, memory, time, "
                   "self, calls, grad, zeros, nan or model",
                   text, nearest ? "; did you mean " : "", nearest ? nearest : "",
                   nearest ? "?" : ";");
}

/* ---- names ---- */

static int find_node(const struct diff *diff, struct str name, uint32_t *ret_node,
                     struct err *err)
{
    struct buf path = BUF_INIT;
    uint32_t found = DIFF_NONE, ends = DIFF_NONE, n_ends = 0;

    for (uint32_t i = 0; i < diff->n_nodes && found == DIFF_NONE; i++) {
        buf_clear(&path);
        diff_node_name(diff, i, &path);
        if (str_eq(buf_span(&path), name)) {
            found = i;
        } else if (name.len > 0 && str_ends(buf_span(&path), name) &&
                   path.at[path.len - name.len - 1] == '.') {
            ends = i;
            n_ends++;
        }
    }
    buf_release(&path);
    if (found == DIFF_NONE && n_ends == 1)
        found = ends;
    if (found == DIFF_NONE)
        return err_set(err, ERR_NOT_FOUND, "neither model has \"%.*s\"",
                       STR_ARG(str_head(name, 80)));
    *ret_node = found;
    return 0;
}

int link_find(const struct explorer *explorer, struct str name, uint32_t *ret_place,
              struct err *err)
{
    if (explorer->pair)
        return find_node(&explorer->pair->diff, name, ret_place, err);
    return session_find(explorer->session, name, ret_place, err);
}

/* The next name of a list; "\\," is a comma inside a name. */
static bool next_name(const char **rest, struct buf *name)
{
    const char *at = *rest;

    buf_clear(name);
    if (*at == '\0')
        return false;
    for (; *at && *at != ','; at++) {
        if (at[0] == '\\' && at[1] == ',')
            at++;
        buf_char(name, *at);
    }
    *rest = *at ? at + 1 : at;
    return true;
}

/* Named places that are open, or only visible. */
struct named {
    uint32_t *at, n, room;
};

static int name_place(struct named *named, uint32_t place, struct arena *arena,
                      struct err *err)
{
    if (arena_room(arena, &named->at, named->n, &named->room, sizeof *named->at) < 0)
        return arena_err(arena, "the list of names", err);
    named->at[named->n++] = place;
    return 0;
}

static int apply_open(const char *names, struct explorer *explorer, struct err *err)
{
    struct named open = {0}, seen = {0};
    struct buf name = BUF_INIT;
    struct arena arena;
    int status = 0;

    arena_init(&arena, GIB);
    while (status == 0 && next_name(&names, &name)) {
        bool only = name.len > 1 && name.at[0] == '+';
        uint32_t place;

        status = link_find(explorer, str_from(buf_span(&name), only), &place, err);
        if (status == 0)
            status = name_place(only ? &seen : &open, place, &arena, err);
    }
    if (status == 0) {
        browse_set_open(explorer->browse, open.at, open.n);
        for (uint32_t i = 0; i < seen.n; i++)
            browse_reveal(explorer->browse, seen.at[i]);
        if (seen.n > 0)
            browse_remake(explorer->browse);
    }
    arena_release(&arena);
    buf_release(&name);
    return status;
}

/* ---- the tree ---- */

static int apply_order(const struct settings *settings, struct explorer *explorer,
                       struct err *err)
{
    const struct printed_wanted *tree = &settings->tree;
    struct browse *browse = explorer->browse;
    enum rows_sort sort = browse_view(browse)->sort;

    if (tree->sort && sort_by_word(str_of(tree->sort), &sort, err) < 0)
        return -1;
    if (tree->expand && !browse_view(browse)->no_runs)
        browse_runs(browse);
    if (settings->hide_equal && !browse_view(browse)->changed)
        browse_hide_equal(browse);
    if (tree->flat)
        browse_flat(browse,
                    strcmp(tree->flat, "tensors") == 0 ? FLAT_TENSORS : FLAT_LEAVES);
    if ((tree->sort || tree->reverse) && !browse_sort(browse, sort, tree->reverse) &&
        browse_message(browse).len > 0)
        return err_set(err, ERR_USAGE, "%.*s", STR_ARG(browse_message(browse)));
    return 0;
}

static int apply_tree(const struct settings *settings, struct explorer *explorer,
                      struct err *err)
{
    const struct printed_wanted *tree = &settings->tree;
    struct browse *browse = explorer->browse;
    uint32_t place;

    if (apply_order(settings, explorer, err) < 0)
        return -1;
    if (tree->depth != ALL_ROWS)
        browse_depth(browse, tree->depth);
    if (settings->open && apply_open(settings->open, explorer, err) < 0)
        return -1;
    if (tree->filter && browse_search(browse, str_of(tree->filter), err) < 0)
        return -1;
    if (settings->mark && browse_filtering(browse))
        browse_only_matches(browse);
    if (!settings->at)
        return 0;
    if (link_find(explorer, str_of(settings->at), &place, err) < 0)
        return -1;
    browse_go(browse, place);
    return 0;
}

/* ---- the panels ---- */

/* *ret_last is the last panel named; it has the focus, unless the tree follows it. */
static int apply_panels(const char *list, struct explorer *explorer,
                        enum panel_number *ret_last, struct link_screen *screen,
                        struct err *err)
{
    struct str rest = str_of(list), word;

    for (int i = 0; i < PANEL_COUNT; i++)
        explorer->panels[i].open = false;
    while (rest.len > 0 && str_split(&rest, ',', &word)) {
        const struct panel *panel = panel_find(str_trim(word));

        if (panel) {
            explorer->panels[panel->number].open = true;
            *ret_last = (enum panel_number)panel->number;
            screen->focus = panel->number;
        } else if (str_is(str_trim(word), "L")) {
            screen->labels = true;
            screen->focus = PANEL_COUNT;
        } else if (str_is(str_trim(word), "0")) {
            screen->focus = PANEL_NONE;
        } else {
            return err_set(err, ERR_USAGE, "unknown panel \"%.*s\"; use 1 to 7",
                           STR_ARG(str_head(word, 40)));
        }
    }
    return 0;
}

static int apply_state(const struct settings *settings, struct panel_state *state,
                       struct err *err)
{
    const char *slice = settings->slice;

    if (settings->view == 0)
        return err_set(err, ERR_USAGE, "--view takes a number from 1");
    if (settings->view != OPTION_UNSET)
        state->view = settings->view - 1;
    state->log |= settings->log;
    state->left |= settings->left;
    if (slice && strlen(slice) >= sizeof state->slice)
        return err_set(err, ERR_USAGE, "--slice: \"%.40s…\" is too long", slice);
    if (slice)
        memcpy(state->slice, slice, strlen(slice) + 1);
    return 0;
}

/* ---- the screen ---- */

void link_screen_init(struct link_screen *screen, const struct explorer *explorer)
{
    /* For pairs, panels are below the tree, because its columns are wide. */
    bool pair = explorer->pair != NULL;

    *screen = (struct link_screen){.share = 45, .height = pair ? 6 : 8, .below = pair};
}

/* "60%,12": either or both. */
static int apply_size(const char *text, struct link_screen *screen, struct err *err)
{
    struct str rest = str_of(text), word;
    uint64_t n;

    while (rest.len > 0 && str_split(&rest, ',', &word)) {
        bool share = str_ends(word, STR("%"));

        if (!str_to_u64(str_head(word, word.len - share), &n) ||
            n < (share ? LINK_SHARE_LEAST : 3) || n > (share ? LINK_SHARE_MOST : 1000))
            return err_set(err, ERR_USAGE,
                           "--size %.40s: percent beside the tree, 20%% to 80%%, or "
                           "rows below it, from 3",
                           text);
        *(share ? &screen->share : &screen->height) = (unsigned)n;
    }
    return 0;
}

int link_go_to_step(struct explorer *explorer, struct str step, struct err *err)
{
    if (!explorer_follows(explorer))
        return err_set(err, ERR_USAGE,
                       "a step is for training runs; this file has no history");
    return at_step_parse(step, &explorer->step, err);
}

/* The first view may be that of an alarm; a chosen row has the newest step. */
static int apply_step(const struct settings *settings, struct explorer *explorer,
                      struct err *err)
{
    if (settings->tree.step)
        return link_go_to_step(explorer, str_of(settings->tree.step), err);
    if (settings->at) {
        explorer->step = STEP_NEWEST;
        explorer->went_to = HISTORY_NONE;
    }
    return 0;
}

static int apply_screen(const struct settings *settings, struct explorer *explorer,
                        struct link_screen *screen, struct err *err)
{
    if (settings->call == 0)
        return err_set(err, ERR_USAGE, "--call takes a number from 1");
    if (settings->call != OPTION_UNSET)
        explorer->call = settings->call - 1;
    if (apply_step(settings, explorer, err) < 0)
        return -1;
    if (settings->layout)
        screen->below = strcmp(settings->layout, "below") == 0;
    if (settings->size && apply_size(settings->size, screen, err) < 0)
        return -1;
    screen->zoom |= settings->zoom;
    if (settings->hist == OPTION_UNSET)
        return 0;
    if (settings->hist == 0 || settings->hist > EXPLORER_BINS)
        return err_set(err, ERR_USAGE, "--hist takes a number of bins, 1 to %d",
                       EXPLORER_BINS);
    explorer_set_bins(explorer, settings->hist);
    return 0;
}

/* Without --panel, a slice applies to Statistics, other settings to the last open
 * panel. */
static int apply_panel(const struct settings *settings, struct explorer *explorer,
                       struct link_screen *screen, struct err *err)
{
    enum panel_number last = PANEL_NONE;

    if (settings->panel &&
        apply_panels(settings->panel, explorer, &last, screen, err) < 0)
        return -1;
    for (int i = 0; i < PANEL_COUNT && last == PANEL_NONE; i++)
        if (explorer->panels[i].open)
            last = (enum panel_number)i;
    if (!settings->panel && settings->slice) {
        last = PANEL_STATISTICS;
        explorer->panels[last].open = true;
        screen->focus = last;
    }
    if (settings->flow)
        explorer->panels[PANEL_FLOW].view = strcmp(settings->flow, "boxes") == 0;
    return apply_state(settings, &explorer->panels[last], err);
}

int link_apply(const struct settings *settings, struct explorer *explorer,
               struct link_screen *ret_screen, struct err *err)
{
    struct link_screen screen;

    link_screen_init(&screen, explorer);
    if (settings_check(settings, err) < 0 || apply_tree(settings, explorer, err) < 0)
        return -1;
    if (settings->labels &&
        label_set_parse(&explorer->labels, str_of(settings->labels), err) < 0)
        return -1;
    if (apply_panel(settings, explorer, &screen, err) < 0 ||
        apply_screen(settings, explorer, &screen, err) < 0)
        return -1;
    *ret_screen = screen;
    return 0;
}
