/* json_read.h - a strict pull reader of JSON text in memory.
 * Strict: UTF-8 checked, depth limited, no trailing commas, no duplicate-key check (the
 * caller knows which objects are maps). Numbers stay text, so that no digit is lost.
 *
 *     json_read_init(&json, text, &arena);
 *     while (json_next(&json) == JSON_KEY) ...
 * After JSON_ERROR every further call gives JSON_ERROR, and `error` and `offset` say
 * what was wrong and where. */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum json_token {
    JSON_END, /* the document is complete and nothing but blanks follows */
    JSON_ERROR,
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,    /* text */
    JSON_STRING, /* text */
    JSON_NUMBER, /* text: the digits as written */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

#define JSON_DEPTH 128

struct json_read {
    struct str all;  /* the whole document, borrowed */
    size_t offset;   /* the next byte; after an error, its position */
    struct str text; /* the current token: part of `all` or, unescaped, in the arena */
    const char *error;    /* "expected a comma or }" */
    bool allow_nonfinite; /* accept NaN, Infinity, -Infinity as numbers */
    struct arena *arena;
    uint32_t depth;
    uint8_t state; /* what the parser accepts next */
    uint8_t stack[JSON_DEPTH];
};

void json_read_init(struct json_read *json, struct str text, struct arena *arena);
enum json_token json_next(struct json_read *json);

/* After `token`, skip the rest of the value it begins. 0, or -1 on error. */
int json_skip(struct json_read *json, enum json_token token);

/* The number just read. False if it is not an integer in range ("1e3" and "1.0" are
 * not). */
bool json_to_u64(const struct json_read *json, uint64_t *ret_value);
bool json_to_i64(const struct json_read *json, int64_t *ret_value);

#endif
