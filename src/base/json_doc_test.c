#include "base/json_doc.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"

static struct json_doc read_text(struct arena *arena, const char *text)
{
    struct json_doc tree;

    arena_init(arena, 0);
    CHECK(json_doc_read(&tree, str_of(text), "x", arena, NULL) == 0);
    return tree;
}

TEST(a_tree_gives_members_and_items_in_any_order)
{
    struct arena arena;
    struct json_doc tree = read_text(
        &arena, "{\"a\": [1, {\"b\": null}, \"x\\ny\", []], \"c\": true, \"a2\": {}, "
                "\"d\": -3.5, \"c\": false}");
    uint32_t list = json_doc_get(&tree, JSON_DOC_ROOT, "a"), at;
    int64_t number = 0;
    double real = 0;

    at = json_doc_first(&tree, list);
    CHECK(json_doc_int(&tree, at, &number) && number == 1);
    at = json_doc_next(&tree, at);
    CHECK(json_doc_kind(&tree, json_doc_get(&tree, at, "b")) == JSON_NULL);
    at = json_doc_next(&tree, at);
    CHECK(str_is(json_doc_text(&tree, at), "x\ny"));
    at = json_doc_next(&tree, at);
    CHECK(json_doc_kind(&tree, at) == JSON_ARRAY && !json_doc_first(&tree, at));
    CHECK_INT(json_doc_next(&tree, at), 0);
    /* The last of two equal keys counts. */
    at = json_doc_get(&tree, JSON_DOC_ROOT, "c");
    CHECK(json_doc_kind(&tree, at) == JSON_FALSE && !json_doc_true(&tree, at));
    at = json_doc_get(&tree, JSON_DOC_ROOT, "d");
    CHECK(json_doc_real(&tree, at, &real) && real == -3.5);
    CHECK(!json_doc_int(&tree, at, &number));
    arena_release(&arena);
}

TEST(non_finite_numbers_are_words_or_strings)
{
    struct arena arena;
    struct json_doc tree =
        read_text(&arena, "[NaN, \"NaN\", Infinity, \"-Infinity\", \"x\", []]");
    uint32_t at = json_doc_first(&tree, JSON_DOC_ROOT);
    double real = 0;

    for (int i = 0; i < 2; i++, at = json_doc_next(&tree, at))
        CHECK(json_doc_real(&tree, at, &real) && isnan(real));
    CHECK(json_doc_real(&tree, at, &real) && real == INFINITY);
    at = json_doc_next(&tree, at);
    CHECK(json_doc_real(&tree, at, &real) && real == -INFINITY);
    for (; at && (at = json_doc_next(&tree, at));)
        CHECK(!json_doc_real(&tree, at, &real));
    arena_release(&arena);
}

TEST(missing_members_are_no_node)
{
    struct arena arena;
    struct json_doc tree = read_text(&arena, "[3]");
    int64_t number;

    CHECK_INT(json_doc_get(&tree, JSON_DOC_ROOT, "a"), 0);
    CHECK_INT(json_doc_first(&tree, 0) + json_doc_next(&tree, 0), 0);
    CHECK_INT(json_doc_value(&tree, 2), 0);
    CHECK(json_doc_kind(&tree, 77) == JSON_END);
    CHECK_INT(json_doc_text(&tree, 0).len, 0);
    CHECK(!json_doc_int(&tree, 0, &number));
    arena_release(&arena);
}

TEST(a_malformed_document_names_the_byte)
{
    static const char whole[] = "{\"a\": [1, {\"b\\n\": [NaN]}], \"c\": \"d\"}";
    struct json_doc tree;
    struct arena arena;

    for (size_t n = 0; n + 1 < sizeof whole; n++) {
        struct err err = {0};

        arena_init(&arena, 0);
        CHECK(json_doc_read(&tree, str_span(whole, n), "m", &arena, &err) < 0);
        CHECK(err.code == ERR_FORMAT && strstr(err.text, "m: not valid JSON at byte"));
        arena_release(&arena);
    }
}

TEST(a_tree_respects_the_limit_of_its_arena)
{
    struct buf text = BUF_INIT;
    struct json_doc tree;
    struct err err = {0};
    struct arena arena;

    buf_char(&text, '[');
    for (int i = 0; i < 100000; i++)
        buf_text(&text, "0,");
    buf_text(&text, "0]");
    arena_init(&arena, 1 * MIB);
    CHECK(json_doc_read(&tree, buf_span(&text), "m", &arena, &err) < 0);
    CHECK_INT(err.code, ERR_LIMIT);
    arena_release(&arena);
    buf_release(&text);
}
