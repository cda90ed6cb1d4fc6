/* JSON text: read every token, including numbers; then skip the whole document. */
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_all(struct str text, struct arena *arena, bool nonfinite)
{
    struct json_read json;
    enum json_token token;
    size_t seen = 0;

    json_read_init(&json, text, arena);
    json.allow_nonfinite = nonfinite;
    do {
        uint64_t u;
        int64_t i;

        token = json_next(&json);
        if (token == JSON_KEY || token == JSON_STRING)
            for (size_t k = 0; k < json.text.len; k++)
                seen += (unsigned char)json.text.at[k];
        if (token == JSON_NUMBER)
            seen += json_to_u64(&json, &u) + json_to_i64(&json, &i);
        if (json.offset > text.len)
            abort();
    } while (token != JSON_END && token != JSON_ERROR);
    if (token == JSON_ERROR && !json.error)
        abort();
    return seen;
}

/* Reading and skipping must agree on whether the text is valid. */
static bool skips(struct str text, struct arena *arena)
{
    struct json_read json;
    enum json_token token;

    json_read_init(&json, text, arena);
    token = json_next(&json);
    return token != JSON_ERROR && json_skip(&json, token) == 0 &&
           json_next(&json) == JSON_END;
}

static bool reads(struct str text, struct arena *arena)
{
    struct json_read json;
    enum json_token token;
    bool any = false;

    json_read_init(&json, text, arena);
    for (token = json_next(&json); token != JSON_END; token = json_next(&json)) {
        if (token == JSON_ERROR)
            return false;
        any = true;
    }
    return any;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_span(data, size);
    struct arena arena;

    arena_init(&arena, (size_t)32 << 20);
    (void)read_all(text, &arena, false);
    (void)read_all(text, &arena, true);
    if (reads(text, &arena) != skips(text, &arena))
        abort();
    arena_release(&arena);
    return 0;
}
