/* read_json_in.h - for tests in this directory: a document as a tree, to compare its
 * numbers with those of other views. */
#ifndef EXPORT_READ_JSON_IN_H
#define EXPORT_READ_JSON_IN_H

#include "export/check_json_in.h"

struct json_tree {
    enum json_token kind; /* JSON_OBJECT, JSON_ARRAY, JSON_STRING, ... */
    struct str key, text; /* of a string or a number */
    struct json_tree **items;
    uint32_t n, room;
};

static inline struct json_tree *json_tree_read(struct json_read *json,
                                               enum json_token token, struct str key)
{
    struct json_tree *tree = arena_alloc(json->arena, sizeof *tree);

    CHECK(tree && token != JSON_ERROR);
    *tree = (struct json_tree){.kind = token, .key = key, .text = json->text};
    if (token != JSON_OBJECT && token != JSON_ARRAY)
        return tree;
    for (;;) {
        struct str name = {NULL, 0};
        struct json_tree *item;

        token = json_next(json);
        if (token == JSON_OBJECT_END || token == JSON_ARRAY_END)
            return tree;
        if (token == JSON_KEY) {
            name = arena_str(json->arena, json->text);
            token = json_next(json);
        }
        item = json_tree_read(json, token, name);
        CHECK_INT(
            arena_room(json->arena, &tree->items, tree->n, &tree->room, sizeof item),
            0);
        tree->items[tree->n++] = item;
    }
}

/* The whole document; `text` must outlive it. */
static inline const struct json_tree *json_tree_of(const struct buf *text,
                                                   struct arena *arena)
{
    struct json_read json;

    json_read_init(&json, buf_span(text), arena);
    return json_tree_read(&json, json_next(&json), (struct str){NULL, 0});
}

/* A member, or NULL. */
static inline const struct json_tree *json_find(const struct json_tree *tree,
                                                const char *key)
{
    for (uint32_t i = 0; i < tree->n; i++)
        if (str_is(tree->items[i]->key, key))
            return tree->items[i];
    return NULL;
}

static inline const struct json_tree *json_get(const struct json_tree *tree,
                                               const char *key)
{
    const struct json_tree *found = json_find(tree, key);

    if (!found)
        test_fail(__FILE__, __LINE__, "the document has no \"%s\"", key);
    return found;
}

static inline const struct json_tree *json_at(const struct json_tree *tree, uint32_t i)
{
    CHECK(tree->kind == JSON_ARRAY && i < tree->n);
    return tree->items[i];
}

/* A member, or with a NULL key an item, as an integer, a real or a text. */
static inline int64_t json_int(const struct json_tree *tree)
{
    int64_t value = 0;

    CHECK(tree->kind == JSON_NUMBER && str_to_i64(tree->text, &value));
    return value;
}

static inline double json_number(const struct json_tree *tree)
{
    double value = 0;

    CHECK(tree->kind == JSON_NUMBER && str_to_double(tree->text, &value));
    return value;
}

static inline bool json_says(const struct json_tree *tree, const char *text)
{
    return tree->kind == JSON_STRING && str_is(tree->text, text);
}

#endif
