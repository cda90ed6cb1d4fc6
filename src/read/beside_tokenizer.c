#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "read/beside_in.h"

#define TOKENIZER_LIMIT (64 * MIB)
#define SETTINGS_LIMIT  (8 * MIB)

/* What tokenizer.json says. Texts are in the arena of the file. */
struct tokens {
    struct beside *self;
    struct json_read json;
    struct str type;
    uint64_t tokens, merges; /* in its vocabulary */
    uint64_t highest;        /* one more than the highest number of a token there */
    uint64_t *added;         /* numbers of added tokens */
    uint32_t n_added, added_room;
};

/* Count the items of an array, or the keys of an object. After "{" or "[". */
static uint64_t count_items(struct json_read *json, enum json_token end)
{
    uint64_t n = 0;
    enum json_token token;

    while ((token = json_next(json)) != end && token != JSON_ERROR) {
        n++;
        if (token == JSON_KEY)
            token = json_next(json);
        if (json_skip(json, token) < 0)
            break;
    }
    return n;
}

/* {"the": 0, "a": 1}, or [["the", -1.5], ["a", -2.0]]: there, the place is the number. */
static void read_vocabulary(struct tokens *t, enum json_token token)
{
    uint64_t id;

    if (token == JSON_ARRAY) {
        t->tokens = t->highest = count_items(&t->json, JSON_ARRAY_END);
        return;
    }
    if (token != JSON_OBJECT) {
        json_skip(&t->json, token);
        return;
    }
    while (json_next(&t->json) == JSON_KEY) {
        token = json_next(&t->json);
        t->tokens++;
        if (token == JSON_NUMBER && json_to_u64(&t->json, &id) && id < UINT64_MAX &&
            id + 1 > t->highest)
            t->highest = id + 1;
        if (json_skip(&t->json, token) < 0)
            return;
    }
}

static void read_model_part(struct tokens *t)
{
    struct json_read *json = &t->json;

    while (json_next(json) == JSON_KEY) {
        struct str key = json->text;
        enum json_token token = json_next(json);

        if (str_is(key, "type") && token == JSON_STRING)
            t->type = json->text;
        else if (str_is(key, "vocab"))
            read_vocabulary(t, token);
        else if (str_is(key, "merges") && token == JSON_ARRAY)
            t->merges = count_items(json, JSON_ARRAY_END);
        else if (json_skip(json, token) < 0)
            return;
    }
}

/* The members of one added token. */
static void read_added_token(struct tokens *t)
{
    struct json_read *json = &t->json;
    uint64_t id;

    while (json_next(json) == JSON_KEY) {
        bool is_id = str_is(json->text, "id");
        enum json_token token = json_next(json);

        if (is_id && token == JSON_NUMBER && json_to_u64(json, &id) &&
            arena_room(&t->self->arena, &t->added, t->n_added, &t->added_room,
                       sizeof *t->added) == 0)
            t->added[t->n_added++] = id;
        if (json_skip(json, token) < 0)
            return;
    }
}

static void read_added(struct tokens *t)
{
    enum json_token token;

    while ((token = json_next(&t->json)) != JSON_ARRAY_END && token != JSON_ERROR)
        if (token == JSON_OBJECT)
            read_added_token(t);
        else if (json_skip(&t->json, token) < 0)
            return;
}

static void read_parts(struct tokens *t)
{
    struct json_read *json = &t->json;

    if (json_next(json) != JSON_OBJECT)
        return;
    while (json_next(json) == JSON_KEY) {
        struct str key = json->text;
        enum json_token token = json_next(json);

        if (str_is(key, "model") && token == JSON_OBJECT)
            read_model_part(t);
        else if (str_is(key, "added_tokens") && token == JSON_ARRAY)
            read_added(t);
        else if (json_skip(json, token) < 0)
            return;
    }
}

/* Added tokens that are not in the vocabulary: they are numbered after it. */
static uint64_t count_added(const struct tokens *t)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < t->n_added; i++)
        n += t->added[i] >= t->highest;
    return n;
}

static void note_damage(struct beside *self, const char *name,
                        const struct json_read *json)
{
    char words[160];

    snprintf(words, sizeof words, "%s at byte %zu",
             json->error ? json->error : "it is not a JSON object", json->offset);
    beside_note(self, name, words);
}

static void add_tokens(struct beside *self, struct beside_dict *dict)
{
    static const char name[] = "tokenizer.json";
    struct tokens t = {.self = self};
    struct str text;

    if (!beside_load(self, name, TOKENIZER_LIMIT, &text))
        return;
    json_read_init(&t.json, text, &self->arena);
    read_parts(&t);
    if (json_next(&t.json) != JSON_END) {
        note_damage(self, name, &t.json);
        return;
    }
    if (t.type.len == 0 && t.tokens == 0)
        return; /* of something else */
    beside_add_text(dict, "kind", t.type);
    beside_add(dict, "tokens", value_int(dict->values, (int64_t)t.tokens));
    if (count_added(&t) > 0)
        beside_add(dict, "added", value_int(dict->values, (int64_t)count_added(&t)));
    if (t.merges > 0)
        beside_add(dict, "merges", value_int(dict->values, (int64_t)t.merges));
}

/* The class and the chat template of tokenizer_config.json. */
static void add_settings(struct beside *self, struct beside_dict *dict,
                         bool *ret_template)
{
    static const char name[] = "tokenizer_config.json";
    struct str text, class_name = STR("");
    struct json_read json;

    if (!beside_load(self, name, SETTINGS_LIMIT, &text))
        return;
    json_read_init(&json, text, &self->arena);
    json.allow_nonfinite = true;
    if (json_next(&json) == JSON_OBJECT)
        while (json_next(&json) == JSON_KEY) {
            struct str key = json.text;
            enum json_token token = json_next(&json);

            if (str_is(key, "tokenizer_class") && token == JSON_STRING)
                class_name = json.text;
            if (str_is(key, "chat_template") &&
                (token == JSON_STRING || token == JSON_ARRAY))
                *ret_template = true;
            if (json_skip(&json, token) < 0)
                break;
        }
    if (json_next(&json) != JSON_END)
        note_damage(self, name, &json);
    else
        beside_add_text(dict, "class", class_name);
}

void beside_tokenizer(struct beside *self)
{
    struct beside_dict dict = {.values = build_values(self->build)};
    bool template = beside_has(self, "chat_template.jinja");

    add_tokens(self, &dict);
    add_settings(self, &dict, &template);
    if (dict.n == 0 && beside_has(self, "tokenizer.model"))
        beside_add_text(&dict, "kind", STR("SentencePiece"));
    if (dict.n > 0 && template)
        beside_add(&dict, "chat_template", value_bool(dict.values, true));
    beside_keep(self, "tokenizer", &dict);
}
