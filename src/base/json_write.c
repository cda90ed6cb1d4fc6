#include "base/json_write.h"

#include <math.h>
#include <string.h>

#include "base/out_in.h"
#include "base/scan_in.h"
#include "base/utf8.h"

/* ---- the text sink ---- */

#define SHORT 256u /* plain text up to this many bytes is written in one piece */

/* \uXXXX; `code` is below 0x10000. */
static void write_code(struct out *out, uint32_t code)
{
    static const char hex[] = "0123456789abcdef";
    char escape[6] = {'\\',
                      'u',
                      hex[code >> 12 & 15],
                      hex[code >> 8 & 15],
                      hex[code >> 4 & 15],
                      hex[code & 15]};

    out_add(out, escape, sizeof escape);
}

static void write_control(struct out *out, unsigned char c)
{
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    const char *meaning = c ? strchr(meanings, c) : NULL;
    char escape[2] = {'\\'};

    if (!meaning) {
        write_code(out, c);
        return;
    }
    escape[1] = letters[meaning - meanings];
    out_add(out, escape, sizeof escape);
}

/* Characters that a terminal would act on or that are invisible: DEL, the Latin-1
 * controls, line and paragraph separators, direction marks. */
static bool is_unseen(uint32_t code)
{
    return (code >= 0x7f && code <= 0x9f) || code == 0xad || code == 0x61c ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

/* Write the special character at the front of `s`; returns its length. */
static size_t write_special(struct out *out, struct str s)
{
    char escape[2] = {'\\', s.at[0]};
    uint32_t code;
    int len;

    if (s.at[0] == '"' || s.at[0] == '\\') {
        out_add(out, escape, 2);
        return 1;
    }
    if ((unsigned char)s.at[0] < 0x20) {
        write_control(out, (unsigned char)s.at[0]);
        return 1;
    }
    len = utf8_decode(s, &code);
    if (len == 0) {
        out_str(out, STR("\xef\xbf\xbd")); /* U+FFFD */
        return 1;
    }
    if (is_unseen(code))
        write_code(out, code);
    else
        out_add(out, s.at, (size_t)len);
    return (size_t)len;
}

/* Any text: any length, any characters. */
static void write_any_string(struct out *out, struct str s)
{
    out_char(out, '"');
    while (s.len > 0) {
        size_t plain = scan_plain(s);

        out_add(out, s.at, plain);
        s = str_from(s, plain);
        if (s.len > 0)
            s = str_from(s, write_special(out, s));
    }
    out_char(out, '"');
}

static char *put(char *to, struct str s)
{
    memcpy(to, s.at, s.len);
    return to + s.len;
}

/* Nearly all text is short and plain; it is written in one piece together with what
 * follows the closing quote. */
static void write_string(struct out *out, struct str s, struct str after)
{
    bool easy = s.len > 0 && s.len < SHORT && scan_plain(s) == s.len;
    char *to = easy ? out_space(out, s.len + after.len + 2) : NULL;

    if (!to) {
        write_any_string(out, s);
        out_str(out, after);
        return;
    }
    *to++ = '"';
    to = put(to, s);
    *to++ = '"';
    out_used(out, put(to, after));
}

/* Write what precedes a value: a comma, indentation, its key. */
static void write_lead(struct json *json, const char *key)
{
    struct str name = json_take_key(json, key);

    if (json->packed > 0)
        out_str(json->out, json->first ? STR("") : STR(","));
    else if (json->depth > 0 && json->depth == json->lines_depth)
        out_str(json->out, json->first ? STR("\n  ") : STR(",\n  "));
    else if (json->depth > 0 && !json->first)
        out_str(json->out, STR(", "));
    json->first = false;
    if (name.at)
        write_string(json->out, name, json->packed > 0 ? STR(":") : STR(": "));
}

static void text_begin(struct json *json, const char *key, char kind)
{
    write_lead(json, key);
    out_char(json->out, kind);
    json->depth++;
    json->first = true;
    /* Elements of an array in the root object, or of a root array, get a line each. */
    if (kind == '[' && json->depth <= 2 && json->lines_depth == 0 && !json->packed)
        json->lines_depth = json->depth;
}

static void text_end(struct json *json, char kind)
{
    if (json->depth == json->lines_depth) {
        if (!json->first)
            out_char(json->out, '\n');
        json->lines_depth = 0;
    }
    if (json->depth == json->packed)
        json->packed = 0;
    out_char(json->out, kind);
    json->depth--;
    json->first = false;
    if (json->depth == 0)
        out_char(json->out, '\n');
}

static void write_word(struct json *json, const char *key, struct str word)
{
    write_lead(json, key);
    out_str(json->out, word);
}

static void text_null(struct json *json, const char *key)
{
    write_word(json, key, STR("null"));
}

static void text_boolean(struct json *json, const char *key, bool value)
{
    write_word(json, key, value ? STR("true") : STR("false"));
}

/* Write the digits of `value` so that they end at `end`. */
static struct str digits_before(char *end, uint64_t value)
{
    char *at = end;

    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    return str_span(at, (size_t)(end - at));
}

static void text_u64(struct json *json, const char *key, uint64_t value)
{
    char text[20];

    write_word(json, key, digits_before(text + sizeof text, value));
}

static void text_i64(struct json *json, const char *key, int64_t value)
{
    char text[21];
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    struct str digits = digits_before(text + sizeof text, size);

    if (value < 0) {
        text[sizeof text - digits.len - 1] = '-';
        digits = str_span(digits.at - 1, digits.len + 1);
    }
    write_word(json, key, digits);
}

static void text_real(struct json *json, const char *key, double value)
{
    char text[32];

    if (isnan(value))
        write_word(json, key, STR("\"NaN\""));
    else if (isinf(value))
        write_word(json, key, value > 0 ? STR("\"Infinity\"") : STR("\"-Infinity\""));
    else
        write_word(json, key, str_span(text, (size_t)real_text(value, text)));
}

static void text_str(struct json *json, const char *key, struct str value)
{
    write_lead(json, key);
    write_string(json->out, value, STR(""));
}

static const struct json_sink text_sink = {
    .begin = text_begin,
    .end = text_end,
    .null = text_null,
    .boolean = text_boolean,
    .i64 = text_i64,
    .u64 = text_u64,
    .real = text_real,
    .str = text_str,
};

void json_init_text(struct json *json, struct out *out)
{
    *json = (struct json){.sink = &text_sink, .out = out, .first = true};
}

/* ---- any sink ---- */

struct str json_take_key(struct json *json, const char *key)
{
    struct str taken = key ? str_of(key) : json->key;

    json->key = (struct str){NULL, 0};
    return taken;
}

void json_object(struct json *json, const char *key)
{
    json->sink->begin(json, key, '{');
}

void json_object_end(struct json *json)
{
    json->sink->end(json, '}');
}

void json_array(struct json *json, const char *key)
{
    json->sink->begin(json, key, '[');
}

void json_array_end(struct json *json)
{
    json->sink->end(json, ']');
}

void json_column(struct json *json, const char *key)
{
    uint32_t lines = json->lines_depth;

    json->sink->begin(json, key, '[');
    if (json->sink != &text_sink || json->packed > 0)
        return;
    json->lines_depth = lines; /* its elements have no lines */
    json->packed = json->depth;
}

void json_pack(struct json *json)
{
    if (json->sink == &text_sink && json->packed == 0)
        json->packed = json->depth;
}

/* The digits of a column go to the output in one piece. */
static void text_u32s(struct out *out, const uint32_t *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *to = out_space(out, 12), text[20];

        if (!to)
            return;
        if (i > 0)
            *to++ = ',';
        out_used(out, put(to, items[i] == JSON_NONE
                                  ? STR("null")
                                  : digits_before(text + sizeof text, items[i])));
    }
}

void json_u32s(struct json *json, const char *key, const uint32_t *items, size_t n)
{
    json_column(json, key);
    if (json->sink == &text_sink) {
        text_u32s(json->out, items, n);
    } else {
        for (size_t i = 0; i < n; i++)
            if (items[i] == JSON_NONE)
                json_null(json, NULL);
            else
                json_u64(json, NULL, items[i]);
    }
    json_array_end(json);
}

void json_null(struct json *json, const char *key)
{
    json->sink->null(json, key);
}

void json_bool(struct json *json, const char *key, bool value)
{
    json->sink->boolean(json, key, value);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
    json->sink->i64(json, key, value);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
    json->sink->u64(json, key, value);
}

void json_real(struct json *json, const char *key, double value)
{
    json->sink->real(json, key, value);
}

void json_str(struct json *json, const char *key, struct str value)
{
    json->sink->str(json, key, value);
}

void json_text(struct json *json, const char *key, const char *value)
{
    json->sink->str(json, key, str_of(value));
}

void json_key(struct json *json, struct str key)
{
    json->key = key.at ? key : STR("");
}
