#include "base/json_write.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/json_read.h"
#include "base/test.h"

/* A test's writer and its output. */
struct sheet {
    struct buf buf;
    struct out out;
    struct json json;
};

static struct json *sheet_begin(struct sheet *sheet)
{
    *sheet = (struct sheet){.buf = BUF_INIT};
    out_init_buf(&sheet->out, &sheet->buf);
    json_init_text(&sheet->json, &sheet->out);
    return &sheet->json;
}

static void sheet_end(struct sheet *sheet, const char *expected)
{
    CHECK(out_release(&sheet->out) == 0);
    CHECK_STR(buf_cstr(&sheet->buf), expected);
    buf_release(&sheet->buf);
}

TEST(a_column_is_one_line_without_blanks)
{
    static const uint32_t items[] = {0, 7, JSON_NONE, 4294967294};
    struct sheet sheet;
    struct json *json = sheet_begin(&sheet);

    json_object(json, NULL);
    json_u32s(json, "parent", items, COUNT_OF(items));
    json_u32s(json, "none", items, 0);
    json_column(json, "number");
    json_real(json, NULL, 0.5);
    json_array(json, NULL);
    json_null(json, NULL);
    json_object(json, NULL);
    json_u64(json, "a", 1);
    json_u64(json, "b", 2);
    json_object_end(json);
    json_array_end(json);
    json_array_end(json);
    json_array(json, "texts");
    json_text(json, NULL, "a");
    json_u32s(json, NULL, items, 2);
    json_array_end(json);
    json_object_end(json);
    sheet_end(&sheet, "{\"parent\": [0,7,null,4294967294], \"none\": [], \"number\": "
                      "[0.5,[null,{\"a\":1,\"b\":2}]], \"texts\": [\n"
                      "  \"a\",\n"
                      "  [0,7]\n"
                      "]}\n");
}

TEST(lists_of_the_root_have_one_line_per_element)
{
    struct sheet sheet;
    struct json *json = sheet_begin(&sheet);

    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_array(json, "empty");
    json_array_end(json);
    json_array(json, "tensors");
    json_object(json, NULL);
    json_text(json, "name", "a");
    json_array(json, "shape");
    json_u64(json, NULL, 2);
    json_u64(json, NULL, 3);
    json_array_end(json);
    json_object_end(json);
    json_null(json, NULL);
    json_array_end(json);
    json_object(json, "more");
    json_array(json, "list");
    json_bool(json, NULL, true);
    json_bool(json, NULL, false);
    json_array_end(json);
    json_object_end(json);
    json_object_end(json);
    sheet_end(&sheet, "{\"torchoscope\": 1, \"empty\": [], \"tensors\": [\n"
                      "  {\"name\": \"a\", \"shape\": [2, 3]},\n"
                      "  null\n"
                      "], \"more\": {\"list\": [true, false]}}\n");
}

TEST(a_list_as_root_has_one_line_per_element)
{
    struct sheet sheet;
    struct json *json = sheet_begin(&sheet);

    json_array(json, NULL);
    json_array(json, NULL);
    json_u64(json, NULL, 1);
    json_u64(json, NULL, 2);
    json_array_end(json);
    json_object(json, NULL);
    json_object_end(json);
    json_array_end(json);
    sheet_end(&sheet, "[\n  [1, 2],\n  {}\n]\n");
}

TEST(integers_are_exact)
{
    struct sheet sheet;
    struct json *json = sheet_begin(&sheet);

    json_object(json, NULL);
    json_u64(json, "a", UINT64_MAX);
    json_u64(json, "b", 0);
    json_i64(json, "c", INT64_MIN);
    json_i64(json, "d", INT64_MAX);
    json_i64(json, "e", -7);
    json_object_end(json);
    sheet_end(&sheet, "{\"a\": 18446744073709551615, \"b\": 0, "
                      "\"c\": -9223372036854775808, \"d\": 9223372036854775807, "
                      "\"e\": -7}\n");
}

TEST(non_finite_reals_become_strings)
{
    struct sheet sheet;
    struct json *json = sheet_begin(&sheet);

    json_object(json, NULL);
    json_real(json, "a", (double)NAN);
    json_real(json, "b", (double)INFINITY);
    json_real(json, "c", -(double)INFINITY);
    json_real(json, "d", 0.1);
    json_object_end(json);
    sheet_end(&sheet, "{\"a\": \"NaN\", \"b\": \"Infinity\", \"c\": \"-Infinity\", "
                      "\"d\": 0.1}\n");
}

TEST(text_is_escaped_and_invalid_utf8_replaced)
{
    struct sheet sheet;
    struct json *json = sheet_begin(&sheet);

    json_object(json, NULL);
    json_text(json, "a", "\"\\\b\f\n\r\t\x01\x1f\x7f/");
    json_str(json, "b", str_span("x\0y", 3));
    json_text(json, "c", "caf\xc3\xa9\xff\xc3 \xed\xa0\x80.");
    json_text(json, "d", NULL);
    json_object_end(json);
    sheet_end(&sheet,
              "{\"a\": \"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f/\", "
              "\"b\": \"x\\u0000y\", \"c\": \"caf\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd "
              "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd.\", \"d\": \"\"}\n");
}

TEST(control_and_invisible_characters_are_escaped)
{
    struct sheet sheet;
    struct json *json = sheet_begin(&sheet);

    json_object(json, NULL);
    json_str(json, "del", STR("eight and\x7f more, \x7f"));
    json_str(json, "c1", STR("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"));
    json_str(json, "bidi", STR("a\xe2\x80\xaegpj.exe\xe2\x81\xa6"));
    json_str(json, "unseen", STR("\xe2\x80\x8b\xef\xbb\xbf\xe2\x80\xa8"));
    json_str(json, "plain", STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
    json_object_end(json);
    sheet_end(&sheet, "{\"del\": \"eight and\\u007f more, \\u007f\", "
                      "\"c1\": \"\\u0080\\u009b\\u009f\xc2\xa0\", "
                      "\"bidi\": \"a\\u202egpj.exe\\u2066\", "
                      "\"unseen\": \"\\u200b\\ufeff\\u2028\", "
                      "\"plain\": \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}\n");
}

TEST(a_key_may_hold_anything)
{
    struct sheet sheet;
    struct json *json = sheet_begin(&sheet);

    json_object(json, NULL);
    json_key(json, STR("a\nb"));
    json_u64(json, NULL, 1);
    json_key(json, str_of(NULL));
    json_array(json, NULL);
    json_u64(json, NULL, 2);
    json_array_end(json);
    json_object_end(json);
    sheet_end(&sheet, "{\"a\\nb\": 1, \"\": [\n  2\n]}\n");
}

TEST(text_of_every_length_reads_back)
{
    static char text[70000];
    struct arena arena;
    size_t len;

    memset(text, 'x', sizeof text);
    text[3] = '"';
    arena_init(&arena, 0);
    for (len = 1; len < sizeof text; len = len * 5 / 4 + 1) {
        struct sheet sheet;
        struct json *json = sheet_begin(&sheet);
        struct json_read back;

        json_array(json, NULL);
        json_str(json, NULL, str_span(text, len));
        json_array_end(json);
        json_read_init(&back, buf_span(&sheet.buf), &arena);
        CHECK(json_next(&back) == JSON_ARRAY && json_next(&back) == JSON_STRING);
        CHECK(str_eq(back.text, str_span(text, len)));
        CHECK(json_next(&back) == JSON_ARRAY_END && json_next(&back) == JSON_END);
        out_release(&sheet.out);
        buf_release(&sheet.buf);
    }
    arena_release(&arena);
}
