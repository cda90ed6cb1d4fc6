/* check_json_in.h - for tests in this directory: writes a document to a buffer and
 * checks that it is valid JSON. */
#ifndef EXPORT_CHECK_JSON_IN_H
#define EXPORT_CHECK_JSON_IN_H

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/test.h"

static inline void check_json(const struct buf *text)
{
    struct json_read json;
    struct arena arena;
    enum json_token token;

    arena_init(&arena, 0);
    json_read_init(&json, buf_span(text), &arena);
    do
        token = json_next(&json);
    while (token != JSON_END && token != JSON_ERROR);
    CHECK(token == JSON_END);
    arena_release(&arena);
}

static inline bool has(const struct buf *text, const char *part)
{
    return str_find(buf_span(text), str_of(part)) >= 0;
}

/* Write a document with `call`, which writes to `json`, and parse it. */
#define DOCUMENT(text, call)                                                           \
    do {                                                                               \
        struct json json;                                                              \
        struct out out_;                                                               \
                                                                                       \
        out_init_buf(&out_, &(text));                                                  \
        json_init_text(&json, &out_);                                                  \
        call;                                                                          \
        CHECK(out_release(&out_) == 0);                                                \
        check_json(&(text));                                                           \
    } while (0)

#endif
