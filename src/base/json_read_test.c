#include "base/json_read.h"

#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"

/* All tokens of a document on one line: "{ k:a 1 [ s:x true ] }", then how it ended. */
static const char *tokens_of(struct str text, bool allow_nonfinite)
{
    static const char *const names[] = {"end", "error", "{",   "}",    "[",     "]",
                                        "key", "str",   "num", "true", "false", "null"};
    static struct buf line;
    struct arena arena;
    struct json_read json;
    enum json_token token;

    buf_clear(&line);
    arena_init(&arena, MIB);
    json_read_init(&json, text, &arena);
    json.allow_nonfinite = allow_nonfinite;
    do {
        token = json_next(&json);
        buf_text(&line, names[token]);
        if (token >= JSON_KEY && token <= JSON_NUMBER)
            buf_printf(&line, ":%.*s", STR_ARG(json.text));
        if (token == JSON_ERROR) {
            CHECK(json_next(&json) == JSON_ERROR && json.offset <= text.len);
            buf_printf(&line, " at %zu: %s", json.offset, json.error);
        } else if (token != JSON_END) {
            buf_char(&line, ' ');
        }
    } while (token != JSON_END && token != JSON_ERROR);
    CHECK(json_next(&json) == token);
    arena_release(&arena);
    return buf_cstr(&line);
}

static void check_tokens(const char *text, const char *expected)
{
    CHECK_STR(tokens_of(str_of(text), false), expected);
}

TEST(a_document_is_read_token_by_token)
{
    check_tokens("{\"a\": [1, -2.5e+10, true], \"b\" : {} ,\n\t\"\": null}\r\n",
                 "{ key:a [ num:1 num:-2.5e+10 true ] key:b { } key: null } end");
    check_tokens("[]", "[ ] end");
    check_tokens(" \"x\" ", "str:x end");
    check_tokens("0", "num:0 end");
    check_tokens("-0.0E-0", "num:-0.0E-0 end");
    check_tokens("[false,[[]],\"\"]", "[ false [ [ ] ] str: ] end");
}

TEST(errors_have_a_position)
{
    static const char *const bad[][2] = {
        {"", "error at 0: expected a value"},
        {"  ", "error at 2: expected a value"},
        {"{", "{ error at 1: expected a key"},
        {"{\"a\"}", "{ error at 4: expected a colon"},
        {"{\"a\":}", "{ key:a error at 5: expected a value"},
        {"{\"a\":1,}", "{ key:a num:1 error at 7: expected a key"},
        {"{\"a\":1 \"b\"}", "{ key:a num:1 error at 7: expected a comma or }"},
        {"{1:2}", "{ error at 1: expected a key"},
        {"[1,]", "[ num:1 error at 3: expected a value"},
        {"[,]", "[ error at 1: expected a value"},
        {"[1}", "[ num:1 error at 2: expected a comma or ]"},
        {"{]", "{ error at 1: expected a key"},
        {"[1 2]", "[ num:1 error at 3: expected a comma or ]"},
        {"[01]", "[ num:0 error at 2: expected a comma or ]"},
        {"1 2", "num:1 error at 2: unexpected text after the document"},
        {"]", "error at 0: expected a value"},
        {"-", "error at 1: expected a digit"},
        {"+1", "error at 0: expected a value"},
        {".5", "error at 0: expected a value"},
        {"1.", "error at 2: expected a digit"},
        {"1.e5", "error at 2: expected a digit"},
        {"1e", "error at 2: expected a digit"},
        {"1e+", "error at 3: expected a digit"},
        {"tru", "error at 0: expected a value"},
        {"truee", "true error at 4: unexpected text after the document"},
        {"'a'", "error at 0: expected a value"},
        {"NaN", "error at 0: expected a value"},
        {"-Infinity", "error at 1: expected a digit"},
        {"// x\n1", "error at 0: expected a value"},
        {"\xef\xbb\xbf{}", "error at 0: expected a value"},
        {"\"abc", "error at 0: unterminated string"},
        {"[\"abc\\\"]", "[ error at 1: unterminated string"},
        {"\"a\nb\"", "error at 2: control character in a string"},
        {"\"a\\x\"", "error at 2: invalid escape"},
        {"\"\\u12g4\"", "error at 1: invalid escape"},
        {"\"\\u12", "error at 1: invalid escape"},
        {"\"\\", "error at 1: invalid escape"},
        {"\"abcdefgh\xff\"", "error at 9: invalid UTF-8"},
        {"\"\xc3\"", "error at 1: invalid UTF-8"},
        {"\"\xed\xa0\x80\"", "error at 1: invalid UTF-8"},
    };
    size_t i;

    for (i = 0; i < COUNT_OF(bad); i++)
        check_tokens(bad[i][0], bad[i][1]);
    CHECK_STR(tokens_of(str_span("\"\0\"", 3), false),
              "error at 1: control character in a string");
    CHECK_STR(tokens_of(str_span("\"\\\0\"", 4), false), "error at 1: invalid escape");
    CHECK_STR(tokens_of(str_of(NULL), false), "error at 0: expected a value");
}

TEST(nan_and_infinity_are_read_on_request)
{
    CHECK_STR(tokens_of(STR("[NaN,Infinity,-Infinity]"), true),
              "[ num:NaN num:Infinity num:-Infinity ] end");
    CHECK_STR(tokens_of(STR("[-NaN]"), true), "[ error at 2: expected a digit");
}

TEST(escapes_are_decoded)
{
    check_tokens("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t z\"", "str:a\"\\/\b\f\n\r\t z end");
    check_tokens("\"\\u0041\\u00e9\\u20AC\"", "str:A\xc3\xa9\xe2\x82\xac end");
    check_tokens("{\"\\u006b\":1}", "{ key:k num:1 } end");
    check_tokens("\"\\ud83d\\ude00!\"", "str:\xf0\x9f\x98\x80! end");
}

TEST(lone_surrogates_are_kept)
{
    check_tokens("\"\\ud83d\"", "str:\xed\xa0\xbd end");
    check_tokens("\"\\ud83dx\"", "str:\xed\xa0\xbdx end");
    check_tokens("\"\\ude00\\ud83d\"", "str:\xed\xb8\x80\xed\xa0\xbd end");
    check_tokens("\"\\ud83d\\u0041\"", "str:\xed\xa0\xbd"
                                       "A end");
    check_tokens("\"\\ud83d\\n\"", "str:\xed\xa0\xbd\n end");
    check_tokens("\"\\ud83d\\ud83d\\ude00\"", "str:\xed\xa0\xbd\xf0\x9f\x98\x80 end");
}

TEST(plain_strings_are_borrowed_and_others_are_not)
{
    static const char text[] = "[\"caf\xc3\xa9\",\"a\\nb\",\"\\u0000\"]";
    struct arena arena;
    struct json_read json;

    arena_init(&arena, 0);
    json_read_init(&json, str_of(text), &arena);
    CHECK(json_next(&json) == JSON_ARRAY);
    CHECK(json_next(&json) == JSON_STRING && json.text.at == text + 2);
    CHECK_INT(arena.used, 0);
    CHECK(json_next(&json) == JSON_STRING && str_is(json.text, "a\nb"));
    CHECK(json_next(&json) == JSON_STRING && json.text.len == 1);
    CHECK(json.text.at[0] == '\0');
    CHECK(json_next(&json) == JSON_ARRAY_END && json.text.len == 0);
    arena_release(&arena);
}

TEST(a_special_byte_is_found_anywhere_in_a_string)
{
    static const char *const special[] = {"\"", "\x1f", "\xff", "\\q"};
    static const char *const expected[] = {"unexpected text after the document",
                                           "control character", "invalid UTF-8",
                                           "invalid escape"};
    char text[64];
    size_t at, kind;

    for (kind = 0; kind < 4; kind++)
        for (at = 0; at < 40; at++) {
            memset(text, 'x', sizeof text);
            text[0] = text[50] = '"';
            memcpy(text + 1 + at, special[kind], strlen(special[kind]));
            CHECK(strstr(tokens_of(str_span(text, 51), false), expected[kind]));
        }
    memset(text, 0x7f, sizeof text); /* DEL is allowed, other controls are not */
    text[0] = text[50] = '"';
    CHECK(strstr(tokens_of(str_span(text, 51), false), " end"));
}

TEST(nesting_has_a_limit)
{
    char text[2 * JSON_DEPTH + 2];
    struct arena arena;
    struct json_read json;

    memset(text, '[', JSON_DEPTH + 1);
    memset(text + JSON_DEPTH, ']', JSON_DEPTH);
    arena_init(&arena, 0);
    json_read_init(&json, str_span(text, 2 * JSON_DEPTH), &arena);
    CHECK(json_skip(&json, json_next(&json)) == 0);
    CHECK(json_next(&json) == JSON_END);
    memset(text, '[', sizeof text);
    json_read_init(&json, str_span(text, sizeof text), &arena);
    CHECK(json_skip(&json, json_next(&json)) == -1);
    CHECK_INT(json.offset, JSON_DEPTH);
    CHECK_STR(json.error, "nested too deeply");
    arena_release(&arena);
}

TEST(values_can_be_skipped)
{
    struct arena arena;
    struct json_read json;

    arena_init(&arena, 0);
    json_read_init(&json, STR("{\"a\":{\"b\":[1,{}]},\"c\":2,\"d\":[]}"), &arena);
    CHECK(json_next(&json) == JSON_OBJECT);
    CHECK(json_next(&json) == JSON_KEY && json_skip(&json, JSON_KEY) == 0);
    CHECK(json_next(&json) == JSON_KEY && str_is(json.text, "c"));
    CHECK(json_skip(&json, json_next(&json)) == 0);
    CHECK(json_next(&json) == JSON_KEY && str_is(json.text, "d"));
    CHECK(json_skip(&json, json_next(&json)) == 0);
    CHECK(json_next(&json) == JSON_OBJECT_END && json_next(&json) == JSON_END);
    json_read_init(&json, STR("[[1,2"), &arena);
    CHECK(json_skip(&json, json_next(&json)) == -1);
    arena_release(&arena);
}

TEST(a_document_cut_anywhere_is_an_error)
{
    static const char text[] = "{\"__metadata__\":{\"f\\u00e9\":\"p\xc3\xa9t\\n\"},"
                               "\"w\":{\"shape\":[2,-3.5e1],"
                               "\"ok\":[true,false,null]}}";
    size_t len;

    for (len = 0; len < sizeof text - 1; len++) {
        /* A copy of exactly this size lets the sanitizer detect a read past the end. */
        struct buf copy = BUF_INIT;

        buf_add(&copy, text, len);
        CHECK(strstr(tokens_of(buf_span(&copy), false), "error at"));
        buf_release(&copy);
    }
    CHECK(!strstr(tokens_of(str_of(text), false), "error"));
}

TEST(a_spent_arena_ends_the_reading)
{
    struct arena arena;
    struct json_read json;

    arena_init(&arena, 8);
    json_read_init(&json, STR("\"a\\nb\""), &arena);
    CHECK(json_next(&json) == JSON_ERROR && arena.spent);
    CHECK_STR(json.error, "the string needs more memory than allowed");
    arena_release(&arena);
}

TEST(integers_are_exact_and_fractions_are_not_integers)
{
    static const char *const others[] = {"-1", "1.0", "1e3", "18446744073709551616"};
    struct json_read json;
    uint64_t u = 7;
    int64_t i = 7;
    size_t k;

    for (k = 0; k < COUNT_OF(others); k++) {
        json_read_init(&json, str_of(others[k]), NULL);
        CHECK(json_next(&json) == JSON_NUMBER && !json_to_u64(&json, &u) && u == 7);
    }
    json_read_init(&json, STR("18446744073709551615"), NULL);
    CHECK(json_next(&json) == JSON_NUMBER && json_to_u64(&json, &u));
    CHECK(u == UINT64_MAX && !json_to_i64(&json, &i) && i == 7);
    json_read_init(&json, STR("-9223372036854775808"), NULL);
    CHECK(json_next(&json) == JSON_NUMBER && json_to_i64(&json, &i));
    CHECK(i == INT64_MIN);
}
