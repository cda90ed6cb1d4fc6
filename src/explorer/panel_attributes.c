/* Panel 3: the attributes of the selected object, as a tree. */
#include <stdlib.h>
#include <string.h>

#include "explorer/copy.h"
#include "explorer/panels_in.h"
#include "facts/objects/attribute_tree.h"
#include "text/text.h"

struct panel_attributes_own {
    struct attribute_tree tree;
    bool made;
    char why[256];                /* why it could not be read */
    struct attribute_node **rows; /* by line; NULL: an "… 19 more" line */
    struct attribute_node **more; /* by line: the node that has more, or NULL */
    uint32_t n_rows, room;
};

static struct panel_attributes_own *own_of(struct explorer *explorer,
                                           struct panel_state *state)
{
    uint32_t place = explorer_place(explorer);
    struct panel_attributes_own *own = state->own;
    struct err err = {0};

    if (!own) {
        own = state->own = calloc(1, sizeof *own);
        if (!own)
            return NULL;
        own->tree.place = NO_PLACE;
    }
    if (place == NO_PLACE)
        return own;
    if (own->tree.place != place || own->tree.model != explorer->show.model) {
        own->made = attribute_tree_begin(&own->tree, &explorer->show, place, &err) == 0;
        memcpy(own->why, err.text, sizeof own->why - 1);
        state->cursor = state->top = 0;
    }
    return own;
}

/* ---- lines ---- */

static bool add_row(struct panel_attributes_own *own, struct attribute_node *node,
                    struct attribute_node *more)
{
    if (own->n_rows == own->room) {
        uint32_t room = own->room ? 2 * own->room : 64;
        struct attribute_node **rows = realloc(own->rows, room * sizeof *rows);
        struct attribute_node **rest;

        if (!rows)
            return false;
        own->rows = rows;
        rest = realloc(own->more, room * sizeof *rest);
        if (!rest)
            return false;
        own->more = rest;
        own->room = room;
    }
    own->rows[own->n_rows] = node;
    own->more[own->n_rows++] = more;
    return true;
}

/* Tree guides: "│ └ ▾ ". `last` has one element for each level, the root's first. */
static void guides(struct lines *to, unsigned depth, const bool *last)
{
    lines_text(to, COLOUR_NONE, " ");
    for (unsigned i = 1; i < depth; i++)
        lines_text(to, COLOUR_DIM, last[i] ? "  " : "│ ");
    if (depth > 0)
        lines_text(to, COLOUR_DIM, last[depth] ? "└ " : "├ ");
}

static enum colour text_colour(const struct attribute_node *node)
{
    if (node->flags & ATTRIBUTE_RAISED)
        return COLOUR_ALARM;
    if (node->flags & (ATTRIBUTE_REST | ATTRIBUTE_PROPERTY))
        return COLOUR_DIM;
    return node->folds ? COLOUR_TYPE : COLOUR_NONE;
}

static void node_line(struct lines *to, const struct attribute_node *node,
                      unsigned depth, const bool *last, unsigned width)
{
    struct buf cut = BUF_INIT;
    size_t used, room;

    guides(to, depth, last);
    lines_text(to, COLOUR_NONE, !node->folds ? "  " : node->open ? "▾ " : "▸ ");
    if (node->name.len > 0) {
        lines_add(to, COLOUR_NONE, 0, node->name);
        lines_text(to, COLOUR_NONE, ": ");
    }
    used = lines_width(to);
    room = width > used ? width - used : 0;
    if (node->flags & ATTRIBUTE_CLASS)
        room = room > 9 ? room - 9 : 0;
    text_cut(&cut, node->text, room, "…");
    lines_add(to, depth == 0 ? COLOUR_TYPE : text_colour(node), 0, buf_span(&cut));
    if (node->flags & ATTRIBUTE_CLASS && width > 8) {
        lines_pad(to, width - 7);
        lines_text(to, COLOUR_DIM, "(class)");
    }
    lines_end(to);
    buf_release(&cut);
}

#define DEEPEST 64

static void below(struct lines *to, struct panel_attributes_own *own,
                  struct attribute_node *node, unsigned depth, bool *last,
                  unsigned width);

static void branch(struct lines *to, struct panel_attributes_own *own,
                   struct attribute_node *node, unsigned depth, bool *last,
                   unsigned width)
{
    if (!add_row(own, node, NULL))
        return;
    node_line(to, node, depth, last, width);
    if (node->open && depth + 1 < DEEPEST)
        below(to, own, node, depth + 1, last, width);
}

/* All lines below a node; only the first items of a long list. Depth is limited. */
static void below(struct lines *to, struct panel_attributes_own *own,
                  struct attribute_node *node, unsigned depth, bool *last,
                  unsigned width)
{
    struct attribute_node *child = node->first;
    uint32_t n = 0, rest = 0;

    for (; child && n < node->most; child = child->next, n++) {
        last[depth] = !child->next;
        branch(to, own, child, depth, last, width);
    }
    for (; child; child = child->next)
        rest++;
    if (rest == 0 || !add_row(own, NULL, node))
        return;
    last[depth] = true;
    guides(to, depth, last);
    lines_printf(to, COLOUR_DIM, "  … %u more", rest);
    lines_end(to);
}

static void sentence(struct lines *to, const char *text, unsigned width)
{
    lines_text(to, COLOUR_NONE, "   ");
    lines_wrap(to, COLOUR_DIM, str_of(text), width, 3);
}

static void attributes_lines(struct lines *to, struct explorer *explorer,
                             struct panel_state *state, const struct panel_room *room)
{
    struct panel_attributes_own *own = own_of(explorer, state);
    bool last[DEEPEST] = {false};

    if (!own)
        return;
    own->n_rows = 0;
    if (explorer_place(explorer) == NO_PLACE) {
        sentence(to, "only in the left one", room->width);
        return;
    }
    if (!own->made) {
        sentence(to, own->why, room->width);
        return;
    }
    branch(to, own, own->tree.root, 0, last, room->width);
    if (!own->tree.root->first)
        sentence(to, attribute_why_none(explorer->show.model, own->tree.place),
                 room->width);
}

/* ---- keys ---- */

static bool unfold(struct explorer *explorer, struct panel_attributes_own *own,
                   struct attribute_node *node)
{
    struct err err = {0};

    if (attribute_open(&own->tree, node, &err) == 0)
        return true;
    explorer_say(explorer, "%s", err.text);
    return false;
}

static bool go_left(struct explorer *explorer, struct panel_attributes_own *own,
                    struct panel_state *state, struct attribute_node *node)
{
    if (node->open && node->parent) {
        attribute_close(&own->tree, node);
        return true;
    }
    for (uint32_t i = 0; i < own->n_rows && node->parent; i++)
        if (own->rows[i] == node->parent) {
            state->cursor = i;
            return true;
        }
    explorer_say(explorer, "nothing to fold");
    return false;
}

static bool go_right(struct explorer *explorer, struct panel_attributes_own *own,
                     struct panel_state *state, struct attribute_node *node)
{
    if (node->folds && !node->open)
        return unfold(explorer, own, node);
    if (node->open && node->first) {
        state->cursor++;
        return true;
    }
    explorer_say(explorer, "nothing below it");
    return false;
}

static bool enter(struct explorer *explorer, struct panel_attributes_own *own,
                  struct attribute_node *node)
{
    if (node->folds && node->open && node->parent)
        return attribute_close(&own->tree, node), true;
    if (node->folds && !node->open)
        return unfold(explorer, own, node);
    if (node->place != NO_PLACE)
        return browse_go(explorer->browse, node->place);
    explorer_say(explorer, "nothing below it");
    return false;
}

static bool attributes_act(struct explorer *explorer, struct panel_state *state,
                           enum panel_act act)
{
    struct panel_attributes_own *own = state->own;
    struct attribute_node *node;

    if (act == ACT_PREVIOUS || act == ACT_NEXT)
        return explorer_step(explorer, act == ACT_NEXT ? 1 : -1);
    if (!own || state->cursor >= own->n_rows)
        return panel_cannot(explorer, act);
    node = own->rows[state->cursor];
    if (!node) {
        if (act == ACT_VIEW || act == ACT_LOG || act == ACT_OUT)
            return panel_cannot(explorer, act);
        if (act == ACT_LEFT)
            return go_left(explorer, own, state, own->more[state->cursor]->first);
        own->more[state->cursor]->most += ATTRIBUTES_STEP;
        return true;
    }
    switch (act) {
    case ACT_ENTER:
        return enter(explorer, own, node);
    case ACT_LEFT:
        return go_left(explorer, own, state, node);
    case ACT_RIGHT:
        return go_right(explorer, own, state, node);
    default:
        return panel_cannot(explorer, act);
    }
}

/* ---- the panel ---- */

/* "model.layer1[0]": the Python expression. */
static void attributes_subject(struct buf *to, struct explorer *explorer)
{
    struct row row = {.count = 1, .above = NO_ROW};
    struct show one = explorer->show;

    row.place = explorer_place(explorer);
    one.pair = NULL;
    if (row.place != NO_PLACE)
        copy_python(to, &one, &row);
}

static void attributes_release(struct panel_state *state)
{
    struct panel_attributes_own *own = state->own;

    if (own) {
        attribute_tree_release(&own->tree);
        free(own->rows);
        free(own->more);
    }
    free(own);
    state->own = NULL;
}

static const struct panel_hint attributes_hints[] = {
    {"enter", NULL, "fold"},
    {NULL, NULL, NULL},
};

const struct panel attributes_panel = {
    .number = PANEL_ATTRIBUTES,
    .id = "attributes",
    .title = "Attributes",
    .cursor = true,
    .hints = attributes_hints,
    .subject = attributes_subject,
    .lines = attributes_lines,
    .act = attributes_act,
    .release = attributes_release,
};
