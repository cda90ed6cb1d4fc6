#include "tui/keymap.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "text/nearest.h"
#include "tui/keys.h"

#define IN_TREES (IN_TREE | IN_DIFF)
#define ALL      (EVERYWHERE | IN_FILES)

/* If several bindings share a key, the first that works at the current focus wins. */
/* clang-format off */
const struct binding bindings[] = {
    {ACTION_UP, ALL, "up", {KEY_UP, 'k'},
     "one row up; in boxes of Flow: to what this one reads", NULL},
    {ACTION_DOWN, ALL, "down", {KEY_DOWN, 'j'},
     "one row down; in boxes of Flow: to what reads this one", NULL},
    {ACTION_LEFT, ALL, "left", {KEY_LEFT, 'h'},
     "fold; on a folded row go to the parent; in boxes of Flow: to the left", NULL},
    {ACTION_RIGHT, ALL, "right", {KEY_RIGHT, 'l'},
     "unfold; on an open row go to the first child; on a leaf focus the panel; in boxes of "
     "Flow: to the right", NULL},
    {ACTION_LABEL_TOGGLE, IN_LABELS, "label-toggle", {' ', '\r'},
     "in Labels: show or hide the label", "on/off"},
    {ACTION_ENTER, ALL, "enter", {'\r'},
     "module: fold or unfold; tensor: Statistics, zoomed; finding: the panel that "
     "explains it; tied weight: its other place; flat list: its place in the tree", NULL},
    {ACTION_LABEL_DOWN, IN_LABELS, "label-down", {'J'},
     "in Labels: move the label down", "move"},
    {ACTION_LABEL_UP, IN_LABELS, "label-up", {'K'},
     "in Labels: move the label up", NULL},
    {ACTION_LABEL_TOP, IN_LABELS, "label-top", {'T'},
     "in Labels: move it to the top", "ends"},
    {ACTION_LABEL_BOTTOM, IN_LABELS, "label-bottom", {'B'},
     "in Labels: move it to the bottom", NULL},
    {ACTION_NEXT_SIBLING, IN_TREES, "next-sibling", {'J'}, "next sibling", NULL},
    {ACTION_PREVIOUS_SIBLING, IN_TREES, "previous-sibling", {'K'}, "previous sibling",
     NULL},
    {ACTION_PAGE_UP, ALL, "page-up", {KEY_PAGE_UP, KEY_CTRL('B')}, "a page up", NULL},
    {ACTION_PAGE_DOWN, ALL, "page-down", {KEY_PAGE_DOWN, KEY_CTRL('F')}, "a page down",
     NULL},
    {ACTION_HALF_UP, ALL, "half-page-up", {KEY_CTRL('U')}, "half a page up", NULL},
    {ACTION_HALF_DOWN, ALL, "half-page-down", {KEY_CTRL('D')}, "half a page down", NULL},
    {ACTION_FIRST, ALL, "first", {'g', KEY_HOME}, "first row", "first"},
    {ACTION_LAST, ALL, "last", {'G', KEY_END}, "last row", "last"},
    {ACTION_BACK, ALL, "back", {KEY_BACKSPACE},
     "go back to the row before the last jump, search, g or G", "back"},

    {ACTION_FOLD, IN_TREES, "fold", {' '}, "fold or unfold this row", "fold"},
    {ACTION_FOLD_SUBTREE, IN_TREES, "fold-subtree", {'z'},
     "fold or unfold the subtree", NULL},
    {ACTION_FOLD_ALL, IN_TREES, "fold-all", {'Z'}, "fold or unfold everything", NULL},
    {ACTION_FOLD_SIBLINGS, IN_TREES, "fold-siblings", {'s'},
     "fold or unfold the siblings", NULL},
    {ACTION_FOLD_SIBLINGS_BELOW, IN_TREES, "fold-siblings-below", {'S'},
     "fold or unfold the siblings and all below them", NULL},
    {ACTION_FOLD_CLASS, IN_TREES, "fold-class", {'o'}, "fold or unfold all rows of this class", NULL},
    {ACTION_FOLD_CLASS_BELOW, IN_TREES, "fold-class-below", {'O'},
     "fold or unfold all rows of this class and all below them", NULL},
    {ACTION_RUNS, IN_TREES, "repeats", {'X'},
     "fold repeated blocks into one row, or show them one by one", NULL},
    {ACTION_FLAT, IN_TREES, "flat", {'F'},
     "flat list: of leaves, of tensors, back to the tree", "flat list"},

    {ACTION_SHAPES, IN_TREES, "label-shapes", {'t'}, "labels: shapes", NULL},
    {ACTION_MEMORY, IN_TREES, "label-memory", {'b', 'm'}, "labels: memory", NULL},
    {ACTION_COUNTS, IN_TREES, "label-counts", {'p'}, "labels: counts and trainable",
     NULL},
    {ACTION_DEVICE, IN_TREES, "label-device", {'d'}, "labels: device and dtypes", NULL},
    {ACTION_FORWARD, IN_TREES, "label-forward", {'f'}, "labels: in, out, calls",
     "in/out"},
    {ACTION_TIMES, IN_TREES, "label-times", {'r'}, "labels: times", "times"},
    {ACTION_ALIGN, IN_TREES | IN_LABELS, "align", {'A'},
     "aligned columns or flowing labels", NULL},
    {ACTION_LABELS, EVERYWHERE, "labels", {'L'}, "open or close the Labels panel", "labels"},

    {ACTION_CODE, EVERYWHERE, "code", {'c'},
     "open or close Code; the focus stays in the tree", NULL},
    {ACTION_ATTRIBUTES, EVERYWHERE, "attributes", {'a'},
     "open or close Attributes; the focus stays in the tree", NULL},
    {ACTION_PANEL_1, EVERYWHERE, "panel-1", {'1'},
     "open and focus Details; if it has the focus, close it", "panel"},
    {ACTION_PANEL_1 + 1, EVERYWHERE, "panel-2", {'2'}, "the same for Code", NULL},
    {ACTION_PANEL_1 + 2, EVERYWHERE, "panel-3", {'3'}, "the same for Attributes", NULL},
    {ACTION_PANEL_1 + 3, EVERYWHERE, "panel-4", {'4'}, "the same for Statistics", NULL},
    {ACTION_PANEL_1 + 4, EVERYWHERE, "panel-5", {'5'}, "the same for Performance", NULL},
    {ACTION_PANEL_1 + 5, EVERYWHERE, "panel-6", {'6'}, "the same for Flow", NULL},
    {ACTION_PANEL_7, EVERYWHERE, "panel-7", {'7'}, "the same for Training", NULL},
    {ACTION_NEXT_PANEL, EVERYWHERE, "next-panel", {'\t'}, "focus the next panel", NULL},
    {ACTION_PREVIOUS_PANEL, EVERYWHERE, "previous-panel", {KEY_BACK_TAB},
     "focus the previous panel", NULL},
    {ACTION_LARGER, EVERYWHERE, "panels-larger", {'<'}, "panels larger", NULL},
    {ACTION_SMALLER, EVERYWHERE, "panels-smaller", {'>'}, "panels smaller", NULL},
    {ACTION_BELOW, EVERYWHERE, "panels-below", {'\\'}, "move panels to the right, or below",
     "right/below"},
    {ACTION_ZOOM, EVERYWHERE, "zoom", {'+'}, "zoom the focused part, or back",
     "zoom"},
    {ACTION_PREVIOUS_CALL, EVERYWHERE, "previous-call", {'('},
     "previous call; in Flow: go to the producer; in Training: an earlier step", "call"},
    {ACTION_NEXT_CALL, EVERYWHERE, "next-call", {')'},
     "next call; in Flow: go to the consumer; in Training: a later step", NULL},
    {ACTION_VIEW, EVERYWHERE, "view", {'v'},
     "next view of this panel; in Flow: rows or boxes; in Training: gradients or values",
     "view"},
    {ACTION_LOG, EVERYWHERE, "log", {'x'}, "linear or logarithmic scale", "linear/log"},
    {ACTION_SLICE, EVERYWHERE, "slice", {'['}, "type a slice: which values to show", "slice"},
    {ACTION_OUT, IN_PANEL | IN_FLOW, "out", {'-'}, "Flow: go out of this block", "out"},

    {ACTION_SEARCH, ALL, "search", {'/'}, "search", "search"},
    {ACTION_NEXT_MATCH, ALL, "next-match", {'n'}, "next match; in a diff: next difference",
     "next"},
    {ACTION_PREVIOUS_MATCH, ALL, "previous-match", {'N'},
     "previous match; in a diff: previous difference", NULL},
    {ACTION_ONLY_MATCHES, EVERYWHERE, "only-matches", {'&'},
     "show only matches, or all rows with matches marked", NULL},
    {ACTION_SEARCH_CLASS, EVERYWHERE, "search-class", {'*'}, "search for this row's class",
     NULL},
    {ACTION_ALARM, EVERYWHERE, "alarm", {'!'},
     "go to the next alarm or finding, then to warnings", "next alarm"},
    {ACTION_SORT, ALL, "sort", {'i'},
     "sort; then n p m r s c f o g u w z ! d x; in a list of files n m p v x; the same key "
     "again reverses", "sort"},
    {ACTION_FILTER, IN_FILES, "filter", {'f'},
     "in a list of files: show only one verdict; then u c i s d n x: unsafe, needs code, "
     "inconclusive, safe, damaged, not a model, all", "filter"},
    {ACTION_MARK, IN_FILES, "mark", {' '},
     "in a list of files: mark or unmark this row; D compares two", "mark"},
    {ACTION_HIDE_EQUAL, IN_DIFF, "hide-equal", {'='}, "in a diff: hide equal rows",
     "hide equal"},

    {ACTION_COPY, EVERYWHERE, "copy", {'y'},
     "copy; then n p k t j c: name, path, key, text, JSON, command", "copy"},
    {ACTION_EXPORT, EVERYWHERE, "export", {'e'}, "export this view", "export"},
    {ACTION_EDIT, EVERYWHERE, "edit", {'E'}, "open the source in $EDITOR", "editor"},
    {ACTION_DIFF, ALL, "diff", {'D'},
     "compare with another file; in a list of files: two marked files, or a marked "
     "file and this one", "diff"},
    {ACTION_RELOAD, EVERYWHERE, "reload", {'R'}, "reload the file", NULL},

    {ACTION_COMMAND, ALL, "command", {':'},
     "type a command; Tab and the arrows choose a completion, Enter takes it", NULL},
    {ACTION_HELP, ALL, "help", {'?'}, "help for the focused part", "help"},
    {ACTION_ESCAPE, ALL, "escape", {KEY_ESCAPE},
     "close menu, prompt, zoom, help, filter; then focus the tree; then stop computing",
     "close"},
    {ACTION_QUIT, ALL, "quit", {'q'}, "close help or zoom, else quit", "quit"},
    {ACTION_QUIT_NOW, ALL, "quit-now", {KEY_CTRL('C')}, "quit at once", NULL},
    {ACTION_REDRAW, ALL, "redraw", {KEY_CTRL('L')}, "redraw the screen", NULL},
    {ACTION_SUSPEND, ALL, "suspend", {KEY_CTRL('Z')}, "suspend", NULL},
};
/* clang-format on */
const size_t n_bindings = COUNT_OF(bindings);

const char *keymap_part(size_t binding)
{
    switch (bindings[binding].action) {
    case ACTION_UP:
        return "moving";
    case ACTION_FOLD:
        return "tree";
    case ACTION_SHAPES:
        return "labels";
    case ACTION_CODE:
        return "panels";
    case ACTION_SEARCH:
        return "searching";
    case ACTION_COPY:
        return "copying and files";
    case ACTION_COMMAND:
        return "other";
    default:
        return NULL;
    }
}

struct keymap {
    uint32_t keys[COUNT_OF(bindings)][KEYS_MOST];
};

struct keymap *keymap_new(void)
{
    struct keymap *map = malloc(sizeof *map);

    for (size_t i = 0; map && i < n_bindings; i++)
        memcpy(map->keys[i], bindings[i].keys, sizeof(map->keys[i]));
    return map;
}

void keymap_free(struct keymap *map)
{
    free(map);
}

/* --- User bindings */

static void drop_key(uint32_t keys[KEYS_MOST], uint32_t key)
{
    size_t n = 0;

    for (size_t i = 0; i < KEYS_MOST; i++)
        if (keys[i] != key)
            keys[n++] = keys[i];
    while (n < KEYS_MOST)
        keys[n++] = KEY_NONE;
}

static int parse_keys(struct str text, uint32_t keys[KEYS_MOST], struct err *err)
{
    struct str part;
    size_t n = 0;

    while (str_split(&text, ' ', &part)) {
        char name[16];

        if (part.len == 0)
            continue;
        if (n == KEYS_MOST)
            return err_set(err, ERR_USAGE, "an action has at most %d keys", KEYS_MOST);
        memset(name, 0, sizeof(name));
        memcpy(name, part.at, part.len < sizeof(name) ? part.len : sizeof(name) - 1);
        keys[n] = key_parse(name);
        if (keys[n] == KEY_NONE || part.len >= sizeof(name))
            return err_set(err, ERR_USAGE, "unknown key \"%.*s\"", STR_ARG(part));
        n++;
    }
    return 0;
}

int keymap_bind(struct keymap *map, struct str name, struct str text, struct err *err)
{
    uint32_t keys[KEYS_MOST] = {0};
    const char *nearest;
    char word[64] = "";
    size_t at = 0;

    while (at < n_bindings && !str_is(name, bindings[at].name))
        at++;
    if (at == n_bindings) {
        memcpy(word, name.at, name.len < sizeof(word) ? name.len : sizeof(word) - 1);
        nearest =
            text_nearest(word, &bindings[0].name, n_bindings, sizeof(bindings[0]));
        return err_set(err, ERR_USAGE, "unknown action \"%s\"%s%s%s", word,
                       nearest ? "; did you mean " : "", nearest ? nearest : "",
                       nearest ? "?" : "");
    }
    if (parse_keys(text, keys, err) < 0)
        return -1;
    for (size_t i = 0; i < n_bindings; i++)
        for (size_t k = 0; k < KEYS_MOST && keys[k]; k++)
            if (bindings[i].where & bindings[at].where)
                drop_key(map->keys[i], keys[k]);
    memcpy(map->keys[at], keys, sizeof(keys));
    return 0;
}

/* --- Queries */

const struct binding *keymap_find(const struct keymap *map, uint32_t key,
                                  unsigned where)
{
    for (size_t i = 0; i < n_bindings; i++)
        for (size_t k = 0; k < KEYS_MOST && map->keys[i][k]; k++)
            if (map->keys[i][k] == key && bindings[i].where & where)
                return &bindings[i];
    return NULL;
}

const uint32_t *keymap_keys(const struct keymap *map, size_t binding)
{
    return map->keys[binding];
}

const struct binding *keymap_of(const struct keymap *map, enum action action,
                                unsigned where)
{
    for (size_t i = 0; i < n_bindings; i++)
        if (bindings[i].action == action && bindings[i].where & where &&
            map->keys[i][0])
            return &bindings[i];
    return NULL;
}

void keymap_names(const struct keymap *map, size_t binding, bool ascii, struct buf *to)
{
    for (size_t k = 0; k < KEYS_MOST && map->keys[binding][k]; k++) {
        char name[16];

        key_name(name, map->keys[binding][k], ascii);
        if (k > 0)
            buf_char(to, ' ');
        buf_text(to, name);
    }
}

/* --- The manual page, in mdoc */

/* Escape a word that mdoc would take for a macro or punctuation: prefix \&. */
static void mdoc_word(struct out *out, const char *word)
{
    out_text(out, "\\&");
    for (; *word; word++)
        if (*word == '\\')
            out_text(out, "\\e");
        else if (*word == '-')
            out_text(out, "\\-");
        else
            out_char(out, *word);
}

static void mdoc_item(struct out *out, const struct binding *binding)
{
    out_text(out, ".It");
    for (size_t k = 0; k < KEYS_MOST && binding->keys[k]; k++) {
        char name[16];

        key_name(name, binding->keys[k], true);
        out_text(out, k == 0 ? " Ic " : " , Ic ");
        mdoc_word(out, name);
    }
    out_printf(out, "\n%s\n.Pq %s\n", binding->about, binding->name);
}

void keymap_manual(struct out *out)
{
    for (size_t i = 0; i < n_bindings; i++) {
        if (keymap_part(i))
            out_printf(out, "%s.Ss Keys: %s\n.Bl -tag -width Ds\n",
                       i > 0 ? ".El\n" : "", keymap_part(i));
        mdoc_item(out, &bindings[i]);
    }
    out_text(out, ".El\n");
}
