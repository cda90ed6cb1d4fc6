#include "model/value_json.h"

#include "base/buf.h"
#include "base/test.h"

static struct arena arena;
static struct intern strings;
static struct values values;

static void begin(void)
{
    arena_init(&arena, 0);
    intern_init(&strings, &arena);
    values_init(&values, &arena, &strings);
}

static uint32_t parse(const char *text)
{
    return value_json_text(&values, str_of(text), &arena);
}

TEST(json_becomes_plain_values)
{
    uint32_t dict, list;

    begin();
    dict = parse("{\"a\": [1, 2.5, true, null, \"x\"], \"b\": {}}");
    CHECK(value_json_get(&values, dict, "a", &list));
    CHECK_INT(value_at(&values, list)->n, 5);
    CHECK_INT(value_at(&values, value_items(&values, list)[0])->integer, 1);
    CHECK(value_at(&values, value_items(&values, list)[1])->real == 2.5);
    CHECK(value_items(&values, list)[3] == VALUE_ID_NONE);
    CHECK(value_json_get(&values, dict, "b", &list));
    CHECK_INT(value_at(&values, list)->kind, VALUE_DICT);
    CHECK(!value_json_get(&values, dict, "c", &list));
    CHECK(parse("[NaN, -Infinity]") != VALUE_ID_FAILED);
    arena_release(&arena);
}

TEST(an_empty_document_is_an_empty_dict_or_list)
{
    uint32_t dict, list;

    begin();
    dict = parse("{}");
    list = parse("[]");
    CHECK_INT(value_at(&values, dict)->kind, VALUE_DICT);
    CHECK_INT(value_at(&values, list)->kind, VALUE_LIST);
    CHECK_INT(value_at(&values, dict)->n + value_at(&values, list)->n, 0);
    arena_release(&arena);
}

TEST(the_last_of_equal_keys_wins_as_in_python)
{
    uint32_t value;

    begin();
    CHECK(value_json_get(&values, parse("{\"k\": 1, \"k\": 2}"), "k", &value));
    CHECK_INT(value_at(&values, value)->integer, 2);
    arena_release(&arena);
}

TEST(malformed_and_too_deep_json_fails)
{
    struct buf deep = BUF_INIT;
    const char *whole = "{\"a\": [1, {\"b\": 2}]}";

    begin();
    for (size_t n = 0; n < strlen(whole); n++)
        CHECK(value_json_text(&values, str_span(whole, n), &arena) == VALUE_ID_FAILED);
    CHECK(parse("[1] 2") == VALUE_ID_FAILED);
    buf_fill(&deep, '[', 100000);
    CHECK(value_json_text(&values, buf_span(&deep), &arena) == VALUE_ID_FAILED);
    buf_release(&deep);
    arena_release(&arena);
}
