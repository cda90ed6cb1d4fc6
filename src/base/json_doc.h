/* json_doc.h - a JSON document as a tree, for documents whose parts are needed in
 * another order than they come in. 16 bytes a node, in an arena; depth is limited to
 * JSON_DEPTH, so that callers may recurse.
 *
 *     uint32_t graph = json_doc_get(tree, JSON_DOC_ROOT, "graph");
 *     for (uint32_t i = json_doc_first(tree, list); i; i = json_doc_next(tree, i)) ...
 *     for (uint32_t k = json_doc_first(tree, object); k; k = json_doc_next(tree, k))
 *         use(json_doc_text(tree, k), json_doc_value(tree, k));
 *
 * Nodes are numbers. 0 is no node: its functions return 0, false or an empty text, so
 * that wrong kinds and missing members need no extra check. */
#ifndef BASE_JSON_DOC_H
#define BASE_JSON_DOC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/str.h"

#define JSON_DOC_ROOT 1

struct json_doc {
    struct str all; /* borrowed; most texts are in it */
    struct json_doc_node *nodes;
    uint32_t n, room;
    struct str *texts; /* texts with escapes, in the arena */
    uint32_t n_texts, texts_room;
};

/* Read a document; NaN and Infinity are numbers. The tree and its texts live in the
 * arena, and in `text`. ERR_FORMAT: malformed, with the offset; ERR_LIMIT: the arena is
 * spent, or the text is too long. `name` is for the message. */
int json_doc_read(struct json_doc *tree, struct str text, const char *name,
                  struct arena *arena, struct err *err);

/* JSON_OBJECT, JSON_ARRAY, JSON_STRING, ...; JSON_KEY for a key; JSON_END for no node. */
enum json_token json_doc_kind(const struct json_doc *tree, uint32_t at);

/* The first item of an array or key of an object, and the next one; 0: no more. */
uint32_t json_doc_first(const struct json_doc *tree, uint32_t at);
uint32_t json_doc_next(const struct json_doc *tree, uint32_t at);
uint32_t json_doc_value(const struct json_doc *tree, uint32_t key);

/* The member with this key; of several, the last, as in Python. Takes time linear in the
 * members. */
uint32_t json_doc_get(const struct json_doc *tree, uint32_t at, const char *key);

/* The text of a string, a key or a number; else empty. */
struct str json_doc_text(const struct json_doc *tree, uint32_t at);
/* False: not an integer (that fits). */
bool json_doc_int(const struct json_doc *tree, uint32_t at, int64_t *ret_value);
/* False: neither a number nor a text like "Infinity" or "NaN". */
bool json_doc_real(const struct json_doc *tree, uint32_t at, double *ret_value);
bool json_doc_true(const struct json_doc *tree, uint32_t at);

#endif
