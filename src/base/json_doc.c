#include "base/json_doc.h"

#include <math.h>

#include "base/base.h"

/* The children of a container follow it, each with its descendants; the value of a key
 * is the node after it. */
struct json_doc_node {
    uint8_t kind;     /* enum json_token */
    bool listed;      /* its text is texts[at] */
    uint32_t next;    /* sibling; of a key: the next key; 0: the last */
    uint32_t at, len; /* text: its offset in `all`, its length; containers: `len`
                         children */
};

/* An open container while reading. */
struct level {
    uint32_t container, last; /* last: its last child so far, or 0 */
};

struct reading_doc {
    struct json_doc *tree;
    struct json_read json;
    struct arena *arena;
    struct level levels[JSON_DEPTH + 1];
    uint32_t depth;
    bool in_value; /* a key was read: its value is no sibling */
};

/* Stores the location of the token's text; false: the arena is spent. */
static bool set_text(struct reading_doc *r, struct json_doc_node *node)
{
    struct json_doc *tree = r->tree;
    struct str text = r->json.text;
    uintptr_t at = (uintptr_t)text.at, all = (uintptr_t)tree->all.at;

    node->len = (uint32_t)text.len;
    if (text.len == 0)
        return true;
    if (at >= all && at - all < tree->all.len) {
        node->at = (uint32_t)(at - all);
        return true;
    }
    if (arena_room(r->arena, &tree->texts, tree->n_texts, &tree->texts_room,
                   sizeof *tree->texts) < 0)
        return false;
    node->listed = true;
    node->at = tree->n_texts;
    tree->texts[tree->n_texts++] = text;
    return true;
}

/* Add the token to the innermost container. */
static bool add_token(struct reading_doc *r, enum json_token token)
{
    struct json_doc *tree = r->tree;
    struct level *level = &r->levels[r->depth];
    struct json_doc_node node = {.kind = (uint8_t)token};
    uint32_t id = tree->n;

    if ((token == JSON_KEY || token == JSON_STRING || token == JSON_NUMBER) &&
        !set_text(r, &node))
        return false;
    if (id == UINT32_MAX ||
        arena_room(r->arena, &tree->nodes, id, &tree->room, sizeof *tree->nodes) < 0)
        return false;
    tree->nodes[tree->n++] = node;
    if (!r->in_value && level->container) {
        if (level->last)
            tree->nodes[level->last].next = id;
        level->last = id;
        tree->nodes[level->container].len++;
    }
    r->in_value = token == JSON_KEY;
    if (token == JSON_OBJECT || token == JSON_ARRAY)
        r->levels[++r->depth] = (struct level){.container = id};
    return true;
}

int json_doc_read(struct json_doc *tree, struct str text, const char *name,
                  struct arena *arena, struct err *err)
{
    struct reading_doc r = {.tree = tree, .arena = arena};
    enum json_token token;

    *tree = (struct json_doc){.all = text};
    if (text.len >= UINT32_MAX)
        return err_set_about(err, ERR_LIMIT, name, " is too long");
    json_read_init(&r.json, text, arena);
    r.json.allow_nonfinite = true;
    if (!add_token(&r, JSON_END)) /* node 0 */
        return arena_err(arena, name, err);
    while ((token = json_next(&r.json)) > JSON_ERROR) {
        if (token == JSON_OBJECT_END || token == JSON_ARRAY_END)
            r.depth--;
        else if (!add_token(&r, token))
            return arena_err(arena, name, err);
    }
    if (token == JSON_ERROR && arena->spent)
        return arena_err(arena, name, err);
    if (token == JSON_ERROR)
        return err_set_about(err, ERR_FORMAT, name, ": not valid JSON at byte %zu: %s",
                             r.json.offset, r.json.error);
    return 0;
}

static const struct json_doc_node *node_of(const struct json_doc *tree, uint32_t at)
{
    static const struct json_doc_node none = {.kind = JSON_END};

    return at > 0 && at < tree->n ? &tree->nodes[at] : &none;
}

enum json_token json_doc_kind(const struct json_doc *tree, uint32_t at)
{
    return (enum json_token)node_of(tree, at)->kind;
}

uint32_t json_doc_first(const struct json_doc *tree, uint32_t at)
{
    const struct json_doc_node *node = node_of(tree, at);

    if (node->kind != JSON_OBJECT && node->kind != JSON_ARRAY)
        return 0;
    return node->len > 0 ? at + 1 : 0;
}

uint32_t json_doc_next(const struct json_doc *tree, uint32_t at)
{
    return node_of(tree, at)->next;
}

uint32_t json_doc_value(const struct json_doc *tree, uint32_t key)
{
    return node_of(tree, key)->kind == JSON_KEY ? key + 1 : 0;
}

uint32_t json_doc_get(const struct json_doc *tree, uint32_t at, const char *key)
{
    uint32_t found = 0;

    if (json_doc_kind(tree, at) != JSON_OBJECT)
        return 0;
    for (uint32_t k = json_doc_first(tree, at); k; k = json_doc_next(tree, k))
        if (str_is(json_doc_text(tree, k), key))
            found = k + 1;
    return found;
}

struct str json_doc_text(const struct json_doc *tree, uint32_t at)
{
    const struct json_doc_node *node = node_of(tree, at);

    if ((node->kind != JSON_STRING && node->kind != JSON_KEY &&
         node->kind != JSON_NUMBER) ||
        node->len == 0)
        return STR("");
    return node->listed ? tree->texts[node->at]
                        : str_span(tree->all.at + node->at, node->len);
}

bool json_doc_int(const struct json_doc *tree, uint32_t at, int64_t *ret_value)
{
    return json_doc_kind(tree, at) == JSON_NUMBER &&
           str_to_i64(json_doc_text(tree, at), ret_value);
}

bool json_doc_real(const struct json_doc *tree, uint32_t at, double *ret_value)
{
    struct str text = json_doc_text(tree, at);

    if (json_doc_kind(tree, at) != JSON_NUMBER &&
        json_doc_kind(tree, at) != JSON_STRING)
        return false;
    if (str_is(text, "NaN"))
        *ret_value = (double)NAN;
    else if (str_is(text, "Infinity"))
        *ret_value = (double)INFINITY;
    else if (str_is(text, "-Infinity"))
        *ret_value = -(double)INFINITY;
    else
        return str_to_double(text, ret_value);
    return true;
}

bool json_doc_true(const struct json_doc *tree, uint32_t at)
{
    return json_doc_kind(tree, at) == JSON_TRUE;
}
