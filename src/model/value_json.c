#include "model/value_json.h"

/* The values of all open lists and objects, one after the other; a frame is the index
 * of the first item of one. */
struct json_values {
    struct values *values;
    struct arena *scratch;
    uint32_t *items;
    uint32_t n, room;
    struct json_frame {
        uint32_t begin;
        enum value_kind kind;
    } frames[JSON_DEPTH];
    uint32_t depth;
};

static uint32_t number(struct values *values, const struct json_read *json)
{
    int64_t integer;
    double real;

    if (json_to_i64(json, &integer))
        return value_int(values, integer);
    for (size_t i = 0; i < json->text.len; i++)
        if (strchr(".eENI", json->text.at[i]))
            return value_real(values, str_to_double(json->text, &real) ? real : 0);
    return value_make(values, VALUE_BIGINT, json->text, NULL, 0);
}

static uint32_t plain(struct json_values *self, const struct json_read *json,
                      enum json_token token)
{
    switch (token) {
    case JSON_KEY:
    case JSON_STRING:
        return value_str(self->values, json->text);
    case JSON_NUMBER:
        return number(self->values, json);
    case JSON_TRUE:
    case JSON_FALSE:
        return value_bool(self->values, token == JSON_TRUE);
    case JSON_NULL:
        return VALUE_ID_NONE;
    default:
        return VALUE_ID_FAILED;
    }
}

static int push(struct json_values *self, uint32_t value)
{
    if (value == VALUE_ID_FAILED || arena_room(self->scratch, &self->items, self->n,
                                               &self->room, sizeof *self->items) < 0)
        return -1;
    self->items[self->n++] = value;
    return 0;
}

/* Take one token. */
static int take(struct json_values *self, const struct json_read *json,
                enum json_token token)
{
    if (token == JSON_OBJECT || token == JSON_ARRAY) {
        if (self->depth == JSON_DEPTH)
            return -1;
        self->frames[self->depth++] = (struct json_frame){
            self->n, token == JSON_OBJECT ? VALUE_DICT : VALUE_LIST};
        return 0;
    }
    if (token == JSON_OBJECT_END || token == JSON_ARRAY_END) {
        struct json_frame frame = self->frames[--self->depth];
        const uint32_t *items = self->items ? self->items + frame.begin : NULL;
        uint32_t value =
            value_make(self->values, frame.kind, STR(""), items, self->n - frame.begin);

        self->n = frame.begin;
        return push(self, value);
    }
    return push(self, plain(self, json, token));
}

uint32_t value_json(struct values *values, struct json_read *json,
                    enum json_token token, struct arena *scratch)
{
    struct json_values self = {.values = values, .scratch = scratch};

    while (take(&self, json, token) == 0) {
        if (self.depth == 0)
            return self.items[0];
        token = json_next(json);
    }
    return VALUE_ID_FAILED;
}

uint32_t value_json_text(struct values *values, struct str text, struct arena *scratch)
{
    struct json_read json;
    uint32_t value;

    json_read_init(&json, text, scratch);
    json.allow_nonfinite = true;
    value = value_json(values, &json, json_next(&json), scratch);
    return value != VALUE_ID_FAILED && json_next(&json) == JSON_END ? value
                                                                    : VALUE_ID_FAILED;
}

bool value_json_get(const struct values *values, uint32_t dict, const char *key,
                    uint32_t *ret_value)
{
    const struct value *value = dict == VALUE_ID_FAILED ? NULL : value_at(values, dict);
    const uint32_t *items;

    if (!value || value->kind != VALUE_DICT)
        return false;
    items = value_items(values, dict);
    for (uint32_t i = value->n; i >= 2; i -= 2)
        if (str_is(value_text(values, items[i - 2]), key)) {
            *ret_value = items[i - 1];
            return true;
        }
    return false;
}
