/* The writing side: the shortest options that give a view again. What a first opening
 * would show is left out; whether options are enough is found out by applying them to
 * such a first opening and comparing. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "compare/diff_text.h"
#include "explorer/browse_in.h"
#include "explorer/link.h"
#include "text/escape.h"

struct writing {
    struct buf *to;
    struct explorer *explorer; /* the view */
    struct explorer plain;     /* a first opening */
    const struct link_screen *screen;
    struct buf at, open, labels, panel, number;
};

/* ---- words ---- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_./:,+@%-", c)) || (unsigned char)c >= 0x80;
}

/* In $'...' all can be written without what ends a line, or hides in one. */
static void add_ansi(struct buf *to, struct str word)
{
    buf_text(to, "$'");
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.at[i];

        if (c == '\'' || c == '\\')
            buf_printf(to, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            buf_printf(to, "\\x%02x", c);
        else
            buf_char(to, (char)c);
    }
    buf_char(to, '\'');
}

static void add_word(struct buf *to, struct str word)
{
    struct buf shown = BUF_INIT;
    bool plain = word.len > 0, odd;

    escape_terminal(&shown, word);
    odd = !str_eq(buf_span(&shown), word); /* it holds what cannot be shown */
    buf_release(&shown);
    for (size_t i = 0; i < word.len && plain; i++)
        plain = is_plain(word.at[i]);
    if (odd) {
        add_ansi(to, word);
    } else if (plain) {
        buf_str(to, word);
    } else {
        buf_char(to, '\'');
        for (size_t i = 0; i < word.len; i++)
            buf_text(to, word.at[i] == '\'' ? "'\\''" : (char[2]){word.at[i], 0});
        buf_char(to, '\'');
    }
}

static void add_option(struct writing *w, const char *name, struct str value)
{
    buf_printf(w->to, " --%s", name);
    /* A value that looks like an option is tied to its name. */
    buf_char(w->to, value.len > 0 && value.at[0] == '-' ? '=' : ' ');
    add_word(w->to, value);
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

static void list_name(struct writing *w, uint32_t place, bool seen)
{
    struct buf name = BUF_INIT;

    add_path(w->explorer, place, &name);
    buf_text(&w->open, w->open.len > 0 ? "," : "");
    buf_text(&w->open, seen ? "+" : "");
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] == ',')
            buf_char(&w->open, '\\');
        buf_char(&w->open, name.at[i]);
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

/* The names of rows that are open while none below them is: what leads to them is
 * opened anyway. And the first of each run that is shown one by one. */
static void list_open(struct writing *w)
{
    const struct browse *browse = w->explorer->browse;
    const struct rows *rows = browse_rows(browse);
    uint32_t of = NO_ROW; /* whose children are such a run */

    for (uint32_t i = 0; i < rows->n; i++) {
        const struct row_cell *row = &rows->cells[i];
        bool single = !browse->view.no_runs && bit_get(browse->single, row->place);

        if (row->flags & ROW_OPEN && row->place != 0 && !open_below(rows, i))
            list_name(w, row->place, false);
        else if (single && of != row->above && !(row->flags & ROW_OPEN))
            list_name(w, row->place, true);
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

/* Does a first opening look like the view, once these folds and this cursor are taken
 * over? Orders and filters are applied already, and both can be said anew. */
static bool is_enough(struct writing *w, const struct link *folds)
{
    struct link_screen screen;

    return link_apply(folds, &w->plain, &screen, NULL) == 0 &&
           same_rows(w->explorer->browse, w->plain.browse);
}

static void write_folds(struct writing *w, const struct link *link)
{
    if (link->open)
        add_option(w, "open", str_of(link->open));
    if (link->depth != ALL_ROWS) {
        buf_clear(&w->number);
        buf_printf(&w->number, "%u", (unsigned)link->depth);
        add_option(w, "depth", buf_span(&w->number));
    }
}

/* Without --at if the cursor is there anyway; by --depth if that says it all, else by
 * the names of what is open. */
static void find_folds(struct writing *w, struct link *folds)
{
    struct browse *browse = w->explorer->browse;

    add_path(w->explorer, browse_place(browse), &w->at);
    if (same_rows(browse, w->plain.browse))
        return;
    if (browse_place(w->plain.browse) != browse_place(browse))
        folds->at = buf_cstr(&w->at);
    if (folds->at && is_enough(w, folds))
        return;
    folds->depth = deepest_open(browse);
    if (is_enough(w, folds))
        return;
    folds->depth = ALL_ROWS;
    list_open(w);
    folds->open = w->open.len > 0 ? buf_cstr(&w->open) : NULL;
    if (is_enough(w, folds) || folds->at)
        return; /* as near as names can tell */
    folds->at = buf_cstr(&w->at);
}

static void write_tree(struct writing *w)
{
    const struct view *view = browse_view(w->explorer->browse);
    struct str filter = browse_filter(w->explorer->browse);
    struct buf pattern = BUF_INIT;
    struct link link = LINK_INIT, folds = LINK_INIT;
    struct link_screen screen;

    buf_str(&pattern, filter);
    link.expand = view->no_runs;
    link.hide_equal = view->changed;
    link.flat = view->flat == FLAT_TENSORS ? "tensors" : view->flat ? "" : NULL;
    link.sort = view->sort != SORT_MODEL ? rows_orders[view->sort].word : NULL;
    link.reverse = view->reverse;
    link.filter = filter.len > 0 ? buf_cstr(&pattern) : NULL;
    link.mark = filter.len > 0 && !browse_filtering(w->explorer->browse);
    if (link_apply(&link, &w->plain, &screen, NULL) == 0)
        find_folds(w, &folds);
    if (folds.at)
        add_option(w, "at", str_of(folds.at));
    write_folds(w, &folds);
    if (link.flat)
        buf_printf(w->to, " --flat%s%s", *link.flat ? "=" : "", link.flat);
    if (link.sort)
        add_option(w, "sort", str_of(link.sort));
    buf_text(w->to, link.reverse ? " --reverse" : "");
    buf_text(w->to, link.expand ? " --expand" : "");
    buf_text(w->to, link.hide_equal ? " --hide-equal" : "");
    if (link.filter)
        add_option(w, "filter", str_of(link.filter));
    buf_text(w->to, link.mark ? " --mark" : "");
    buf_release(&pattern);
}

/* ---- labels and panels ---- */

static void write_labels(struct writing *w)
{
    struct buf usual = BUF_INIT;

    label_set_text(&w->explorer->labels, &w->labels);
    label_set_text(&w->plain.labels, &usual);
    if (!str_eq(buf_span(&w->labels), buf_span(&usual)))
        add_option(w, "labels", buf_span(&w->labels));
    buf_release(&usual);
}

static bool has_state(const struct panel_state *state)
{
    return state->view || state->log || state->left || state->slice[0];
}

/* The panel whose state is told: the focused one, else one that has something to tell.
 */
static enum panel_number told_panel(const struct writing *w)
{
    const struct panel_state *states = w->explorer->panels;

    if (w->screen->focus > PANEL_NONE && w->screen->focus < PANEL_COUNT)
        return (enum panel_number)w->screen->focus;
    for (int i = PANEL_DETAILS; i < PANEL_COUNT; i++)
        if (states[i].open && has_state(&states[i]))
            return (enum panel_number)i;
    return PANEL_NONE;
}

static void write_panels(struct writing *w)
{
    const struct panel_state *states = w->explorer->panels;
    enum panel_number told = told_panel(w);
    bool usual =
        w->screen->focus == PANEL_NONE && told == PANEL_NONE && !w->screen->labels;

    for (int i = PANEL_DETAILS; i < PANEL_COUNT; i++) {
        usual = usual && states[i].open == w->plain.panels[i].open;
        if (states[i].open && i != (int)told)
            buf_printf(&w->panel, "%s%d", w->panel.len ? "," : "", i);
    }
    if (told != PANEL_NONE)
        buf_printf(&w->panel, "%s%d", w->panel.len ? "," : "", (int)told);
    if (w->screen->labels)
        buf_printf(&w->panel, "%sL", w->panel.len ? "," : "");
    if (w->screen->focus == PANEL_NONE)
        buf_printf(&w->panel, "%s0", w->panel.len ? "," : "");
    if (!usual)
        add_option(w, "panel", buf_span(&w->panel));
    if (told == PANEL_NONE)
        return;
    if (states[told].view)
        buf_printf(w->to, " --view %u", (unsigned)states[told].view + 1);
    buf_text(w->to, states[told].log ? " --log" : "");
    buf_text(w->to, states[told].left ? " --left" : "");
    if (states[told].slice[0])
        add_option(w, "slice", str_of(states[told].slice));
}

/* Where panels are and how large, if that is not as usual. */
static void write_screen(struct buf *to, const struct explorer *explorer,
                         const struct link_screen *screen)
{
    bool share, height;
    struct link_screen usual;

    link_screen_init(&usual, explorer);
    share = screen->share != usual.share;
    height = screen->height != usual.height;
    if (screen->zoom)
        buf_text(to, " --zoom");
    if (screen->below != usual.below)
        buf_printf(to, " --layout %s", screen->below ? "below" : "right");
    if (share || height)
        buf_text(to, " --size ");
    if (share)
        buf_printf(to, "%u%%%s", screen->share, height ? "," : "");
    if (height)
        buf_printf(to, "%u", screen->height);
}

void link_options(struct buf *to, struct explorer *explorer,
                  const struct link_screen *screen)
{
    struct writing w = {.to = to, .explorer = explorer, .screen = screen};

    if (explorer_again(&w.plain, explorer, NULL) == 0) {
        write_tree(&w);
        write_labels(&w);
        write_panels(&w);
        explorer_end(&w.plain);
    }
    if (explorer->call != RUN_NONE)
        buf_printf(to, " --call %u", (unsigned)explorer->call + 1);
    if (explorer->bins)
        buf_printf(to, " --hist %u", (unsigned)explorer->bins);
    write_screen(to, explorer, screen);
    buf_release(&w.at);
    buf_release(&w.open);
    buf_release(&w.labels);
    buf_release(&w.panel);
    buf_release(&w.number);
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
    add_word(to, buf_span(&word));
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

/* ---- words again ---- */

/* The inside of $'...', or of '...'; *end grows by what it means. */
static char *take_quoted(char *at, bool ansi, char **end)
{
    unsigned code;

    for (; *at && *at != '\''; at++) {
        if (ansi && at[0] == '\\' && at[1] == 'x' &&
            sscanf(at + 2, "%2x", &code) == 1) {
            *(*end)++ = (char)code;
            at += 3;
        } else {
            at += ansi && at[0] == '\\' && at[1];
            *(*end)++ = *at;
        }
    }
    return at + (*at == '\'');
}

/* One word of a line as add_word() wrote it, in place; NULL at the end. */
static char *next_word(char **rest)
{
    char *at = *rest, *word, *end;

    while (*at == ' ')
        at++;
    if (*at == '\0')
        return NULL;
    word = end = at;
    while (*at && *at != ' ') {
        bool ansi = at[0] == '$' && at[1] == '\'';

        if (ansi || *at == '\'') {
            at = take_quoted(at + 1 + ansi, ansi, &end);
        } else {
            at += at[0] == '\\' && at[1];
            *end++ = *at++;
        }
    }
    *rest = *at ? at + 1 : at;
    *end = '\0';
    return word;
}

void link_words(struct link *link, char *words)
{
    const struct {
        const char *name;
        const char **text;
        bool *flag;
    } options[] = {
        {"at", &link->at, NULL},         {"open", &link->open, NULL},
        {"labels", &link->labels, NULL}, {"sort", &link->sort, NULL},
        {"filter", &link->filter, NULL}, {"panel", &link->panel, NULL},
        {"view", &link->view, NULL},     {"slice", &link->slice, NULL},
        {"call", &link->call, NULL},     {"reverse", NULL, &link->reverse},
        {"expand", NULL, &link->expand}, {"hide-equal", NULL, &link->hide_equal},
        {"log", NULL, &link->log},       {"zoom", NULL, &link->zoom},
        {"mark", NULL, &link->mark},     {"left", NULL, &link->left},
        {"hist", &link->hist, NULL},     {"layout", &link->layout, NULL},
        {"size", &link->size, NULL},
    };
    uint64_t depth;
    char *word, *value;

    while ((word = next_word(&words)) != NULL) {
        if (strncmp(word, "--", 2) != 0)
            continue;
        word += 2;
        value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        if (strcmp(word, "flat") == 0)
            link->flat = value ? value : "";
        if (strcmp(word, "depth") == 0 && (value || (value = next_word(&words))) &&
            str_to_u64(str_of(value), &depth) && depth < ALL_ROWS)
            link->depth = (uint32_t)depth;
        for (size_t i = 0; i < COUNT_OF(options); i++) {
            if (strcmp(word, options[i].name) != 0)
                continue;
            if (options[i].flag)
                *options[i].flag = true;
            else
                *options[i].text = value ? value : next_word(&words);
        }
    }
}
