#include "export/export_in.h"

#include "base/test.h"
#include "model/build.h"

/* The values of a model that is not frozen. */
static struct values *begin(struct build *build)
{
    CHECK(build_init(build, "values", 0, NULL, NULL) == 0);
    return build_values(build);
}

static void check_value(const struct build *build, uint32_t value, const char *expected)
{
    struct buf text = BUF_INIT;
    struct document doc = {.model = build->model};
    struct json json;
    struct out out;

    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    doc.json = &json;
    json_array(&json, NULL); /* each element has a line of its own */
    document_value(&doc, NULL, value);
    json_array_end(&json);
    CHECK(out_release(&out) == 0);
    CHECK(str_find(buf_span(&text), str_of(expected)) >= 0);
    buf_release(&text);
    buf_release(&doc.path);
}

TEST(values_are_json_if_json_can_represent_them)
{
    struct build build;
    struct values *values = begin(&build);
    uint32_t items[4] = {value_int(values, INT64_MIN), value_real(values, 0.5),
                         value_bool(values, true), VALUE_ID_NONE};

    check_value(&build, value_make(values, VALUE_TUPLE, STR(""), items, 4),
                "[-9223372036854775808, 0.5, true, null]");
    items[0] = value_str(values, STR("lr"));
    check_value(&build, value_make(values, VALUE_DICT, STR(""), items, 2),
                "{\"lr\": 0.5}");
    build_release(&build);
}

TEST(values_that_json_cannot_represent_are_objects)
{
    struct build build;
    struct values *values = begin(&build);
    uint32_t items[2] = {value_int(values, 1), value_str(values, STR("ls"))};

    check_value(&build, value_make(values, VALUE_DICT, STR(""), items, 2),
                "{\"$dict\": [[1, \"ls\"]]}");
    check_value(&build,
                value_make(values, VALUE_CALL, STR("posix.system"), items + 1, 1),
                "{\"$call\": \"posix.system\", \"args\": [\"ls\"]}");
    check_value(&build, value_bytes(values, STR("\x01\xff"), 900),
                "{\"$bytes\": 900, \"head_hex\": \"01ff\"}");
    items[0] = value_str(values, STR("$global"));
    check_value(&build, value_make(values, VALUE_DICT, STR(""), items, 2),
                "{\"$dict\": [[\"$global\", \"ls\"]]}");
    build_release(&build);
}

/* The size of the output for a list of lists, 60 deep, with this leaf twice in each. */
static size_t written(struct build *build, uint32_t leaf)
{
    struct values *values = build_values(build);
    struct document doc = {.model = build->model};
    struct buf text = BUF_INIT;
    uint32_t pair[2] = {leaf, leaf};
    struct json json;
    struct out out;
    size_t len;

    for (int i = 0; i < 60; i++)
        pair[0] = pair[1] = value_make(values, VALUE_LIST, STR(""), pair, 2);
    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    doc.json = &json;
    json_array(&json, NULL);
    document_value(&doc, NULL, pair[0]);
    json_array_end(&json);
    CHECK(out_release(&out) == 0);
    CHECK(str_find(buf_span(&text), STR("\"$cut\": \"too long\"")) >= 0);
    len = text.len;
    buf_release(&text);
    return len;
}

/* 2^60 leaves if they were written out. */
TEST(shared_parts_and_long_texts_are_limited)
{
    struct build build;
    struct values *values = begin(&build);
    struct buf text = BUF_INIT;

    buf_fill(&text, 'x', 2000);
    CHECK(written(&build, value_int(values, 1)) < 4 << 20);
    CHECK(written(&build, value_str(values, buf_span(&text))) < 16 << 20);
    buf_release(&text);
    build_release(&build);
}

/* A value at many places is written at each, up to a limit. */
TEST(the_values_of_a_document_have_a_total_limit)
{
    struct build build;
    struct values *values = begin(&build);
    struct document doc = {.model = build.model};
    struct buf text = BUF_INIT;
    uint32_t items[1000], list;
    struct json json;
    struct out out;

    for (int i = 0; i < 1000; i++)
        items[i] = value_int(values, i);
    list = value_make(values, VALUE_LIST, STR(""), items, 1000);
    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    doc.json = &json;
    json_array(&json, NULL);
    for (int i = 0; i < 10000; i++)
        document_value(&doc, NULL, list);
    json_array_end(&json);
    CHECK(out_release(&out) == 0);
    CHECK(text.len > 4 << 20 && text.len < 8 << 20);
    CHECK(str_find(buf_span(&text), STR("\"$cut\": \"too long\"")) >= 0);
    buf_release(&text);
    build_release(&build);
}
