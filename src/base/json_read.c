#include "base/json_read.h"

#include <string.h>

#include "base/scan_in.h"
#include "base/utf8.h"

/* What the parser accepts next. */
enum {
    VALUE,
    VALUE_OR_END, /* just after [ */
    KEY_OR_END,   /* just after { */
    AFTER_VALUE,  /* a comma, a closing bracket, or the end of the document */
    FAILED,
};

void json_read_init(struct json_read *json, struct str text, struct arena *arena)
{
    memset(json, 0, sizeof *json);
    json->all = text.at ? text : STR("");
    json->arena = arena;
}

static enum json_token fail(struct json_read *json, size_t offset, const char *error)
{
    json->state = FAILED;
    json->offset = offset;
    json->error = error;
    json->text = (struct str){NULL, 0};
    return JSON_ERROR;
}

static struct str rest(const struct json_read *json)
{
    return str_span(json->all.at + json->offset, json->all.len - json->offset);
}

/* The next byte, or -1 at the end. */
static int peek(const struct json_read *json)
{
    if (json->offset >= json->all.len)
        return -1;
    return (unsigned char)json->all.at[json->offset];
}

static int peek_after_blanks(struct json_read *json)
{
    int c = peek(json);

    while (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
        json->offset++;
        c = peek(json);
    }
    return c;
}

/* ---- strings ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The value of the four hex digits at the front of `s`, or -1. */
static int32_t hex_four(struct str s)
{
    int32_t value = 0;
    int i;

    if (s.len < 4)
        return -1;
    for (i = 0; i < 4; i++) {
        int digit = hex_digit(s.at[i]);

        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* The length of the escape at the front of `s` (which starts with a backslash); 0 if
 * invalid. */
static size_t escape_len(struct str s)
{
    if (s.len < 2)
        return 0;
    if (s.at[1] == 'u')
        return hex_four(str_from(s, 2)) < 0 ? 0 : 6;
    return s.at[1] != '\0' && strchr("\"\\/bfnrt", s.at[1]) ? 2 : 0;
}

/* Decode the valid escape at the front of *s and skip it. */
static uint32_t undo_escape(struct str *s)
{
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    struct str from = *s;
    const char *letter;
    uint32_t code;
    int32_t low;

    if (from.at[1] != 'u') {
        *s = str_from(from, 2);
        letter = strchr(letters, from.at[1]);
        return (uint32_t)(letter ? meanings[letter - letters] : from.at[1]);
    }
    code = (uint32_t)hex_four(str_from(from, 2));
    *s = str_from(from, 6);
    /* Characters above U+FFFF are written as two surrogates. */
    if (code < 0xd800 || code > 0xdbff || !str_starts(*s, STR("\\u")))
        return code;
    low = hex_four(str_from(*s, 2));
    if (low < 0xdc00 || low > 0xdfff)
        return code;
    *s = str_from(*s, 6);
    return 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
}

/* Decode all escapes of a validated string. The result is never longer. */
static bool undo_escapes(struct json_read *json)
{
    struct str from = json->text;
    char *to = arena_alloc(json->arena, from.len + 1);
    size_t len = 0;

    if (!to)
        return false;
    while (from.len > 0) {
        ptrdiff_t slash = str_find_char(from, '\\');
        size_t plain = slash < 0 ? from.len : (size_t)slash;

        memcpy(to + len, from.at, plain);
        len += plain;
        from = str_from(from, plain);
        if (from.len > 0)
            len += (size_t)utf8_encode(undo_escape(&from), to + len);
    }
    json->text = str_span(to, len);
    return true;
}

/* Skip an escape or a non-ASCII character in a string. 0, or -1 after fail(). */
static int step_over(struct json_read *json, char c, bool *escaped)
{
    uint32_t code;
    size_t len;

    if (c == '\\') {
        len = escape_len(rest(json));
        *escaped = true;
    } else if ((unsigned char)c < 0x20) {
        fail(json, json->offset, "control character in a string");
        return -1;
    } else {
        len = (size_t)utf8_decode(rest(json), &code);
    }
    if (len == 0) {
        fail(json, json->offset, c == '\\' ? "invalid escape" : "invalid UTF-8");
        return -1;
    }
    json->offset += len;
    return 0;
}

/* Read the string whose opening quote is next. */
static enum json_token read_string(struct json_read *json, enum json_token token)
{
    size_t begin = json->offset + 1;
    bool escaped = false;

    json->offset = begin;
    for (;;) {
        int c;

        json->offset += scan_plain(rest(json));
        c = peek(json);
        if (c < 0)
            return fail(json, begin - 1, "unterminated string");
        if (c == '"')
            break;
        if (step_over(json, (char)c, &escaped) < 0)
            return JSON_ERROR;
    }
    json->text = str_span(json->all.at + begin, json->offset - begin);
    json->offset++;
    if (escaped && !undo_escapes(json))
        return fail(json, begin - 1, "the string needs more memory than allowed");
    return token;
}

/* ---- numbers and words ---- */

static size_t skip_digits(struct json_read *json)
{
    size_t begin = json->offset;

    while (json->offset < json->all.len && json->all.at[json->offset] >= '0' &&
           json->all.at[json->offset] <= '9')
        json->offset++;
    return json->offset - begin;
}

static bool skip_word(struct json_read *json, struct str word)
{
    if (!str_starts(rest(json), word))
        return false;
    json->offset += word.len;
    return true;
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
static bool skip_number(struct json_read *json)
{
    int c;

    if (peek(json) == '-')
        json->offset++;
    if (json->allow_nonfinite && skip_word(json, STR("Infinity")))
        return true;
    if (peek(json) == '0')
        json->offset++;
    else if (skip_digits(json) == 0)
        return false;
    if (peek(json) == '.') {
        json->offset++;
        if (skip_digits(json) == 0)
            return false;
    }
    c = peek(json);
    if (c != 'e' && c != 'E')
        return true;
    json->offset++;
    c = peek(json);
    if (c == '+' || c == '-')
        json->offset++;
    return skip_digits(json) > 0;
}

static enum json_token read_number(struct json_read *json)
{
    size_t begin = json->offset;

    if (!skip_number(json))
        return fail(json, json->offset, "expected a digit");
    json->text = str_span(json->all.at + begin, json->offset - begin);
    return JSON_NUMBER;
}

static enum json_token read_word(struct json_read *json)
{
    size_t begin = json->offset;

    if (skip_word(json, STR("true")))
        return JSON_TRUE;
    if (skip_word(json, STR("false")))
        return JSON_FALSE;
    if (skip_word(json, STR("null")))
        return JSON_NULL;
    if (json->allow_nonfinite &&
        (skip_word(json, STR("NaN")) || skip_word(json, STR("Infinity")))) {
        json->text = str_span(json->all.at + begin, json->offset - begin);
        return JSON_NUMBER;
    }
    return fail(json, begin, "expected a value");
}

/* ---- the grammar ---- */

static enum json_token open_bracket(struct json_read *json, char bracket)
{
    if (json->depth == JSON_DEPTH)
        return fail(json, json->offset, "nested too deeply");
    json->stack[json->depth++] = (uint8_t)bracket;
    json->offset++;
    json->state = bracket == '{' ? KEY_OR_END : VALUE_OR_END;
    return bracket == '{' ? JSON_OBJECT : JSON_ARRAY;
}

/* Close the innermost object or array, whose bracket is next. */
static enum json_token close_bracket(struct json_read *json)
{
    json->offset++;
    json->state = AFTER_VALUE;
    return json->stack[--json->depth] == '{' ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static enum json_token read_value(struct json_read *json, int c)
{
    json->state = AFTER_VALUE;
    if (c == '"')
        return read_string(json, JSON_STRING);
    if (c == '{' || c == '[')
        return open_bracket(json, (char)c);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(json);
    return read_word(json);
}

/* A key and its colon. */
static enum json_token read_key(struct json_read *json, int c)
{
    if (c != '"')
        return fail(json, json->offset, "expected a key");
    if (read_string(json, JSON_KEY) == JSON_ERROR)
        return JSON_ERROR;
    if (peek_after_blanks(json) != ':')
        return fail(json, json->offset, "expected a colon");
    json->offset++;
    json->state = VALUE;
    return JSON_KEY;
}

static enum json_token read_after_value(struct json_read *json, int c)
{
    bool in_object;

    if (json->depth == 0) {
        if (c >= 0)
            return fail(json, json->offset, "unexpected text after the document");
        return JSON_END;
    }
    in_object = json->stack[json->depth - 1] == '{';
    if (c == (in_object ? '}' : ']'))
        return close_bracket(json);
    if (c != ',')
        return fail(json, json->offset,
                    in_object ? "expected a comma or }" : "expected a comma or ]");
    json->offset++;
    c = peek_after_blanks(json);
    return in_object ? read_key(json, c) : read_value(json, c);
}

enum json_token json_next(struct json_read *json)
{
    int c;

    if (json->state == FAILED)
        return JSON_ERROR;
    json->text = (struct str){NULL, 0};
    c = peek_after_blanks(json);
    switch (json->state) {
    case AFTER_VALUE:
        return read_after_value(json, c);
    case KEY_OR_END:
        return c == '}' ? close_bracket(json) : read_key(json, c);
    case VALUE_OR_END:
        return c == ']' ? close_bracket(json) : read_value(json, c);
    default:
        return read_value(json, c);
    }
}

int json_skip(struct json_read *json, enum json_token token)
{
    uint32_t outside;

    if (token == JSON_KEY)
        token = json_next(json);
    if (token != JSON_OBJECT && token != JSON_ARRAY)
        return token == JSON_ERROR ? -1 : 0;
    outside = json->depth - 1;
    while (json->depth > outside)
        if (json_next(json) == JSON_ERROR)
            return -1;
    return 0;
}

bool json_to_u64(const struct json_read *json, uint64_t *ret_value)
{
    return str_to_u64(json->text, ret_value);
}

bool json_to_i64(const struct json_read *json, int64_t *ret_value)
{
    return str_to_i64(json->text, ret_value);
}
