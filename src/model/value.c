#include "model/value.h"

#include <string.h>

int values_init(struct values *values, struct arena *arena, struct intern *strings)
{
    memset(values, 0, sizeof *values);
    values->arena = arena;
    values->strings = strings;
    map_init(&values->by_hash, arena);
    /* None is made first, so that its id is 0. */
    return value_make(values, VALUE_NONE, STR(""), NULL, 0) == VALUE_ID_NONE ? 0 : -1;
}

const struct value *value_at(const struct values *values, uint32_t id)
{
    return &values->at[id < values->n ? id : VALUE_ID_NONE];
}

struct str value_text(const struct values *values, uint32_t id)
{
    return intern_str(values->strings, value_at(values, id)->text);
}

/* The `n` of BYTES and CUT does not count items. */
static uint32_t item_count(const struct value *value)
{
    return value->kind == VALUE_BYTES || value->kind == VALUE_CUT ? 0 : value->n;
}

const uint32_t *value_items(const struct values *values, uint32_t id)
{
    const struct value *value = value_at(values, id);

    return item_count(value) ? values->items + value->items : NULL;
}

static uint64_t value_hash(const struct value *value, const uint32_t *items)
{
    uint64_t hash = hash_mix(value->kind, value->text);

    hash = hash_mix(hash, value->n);
    hash = hash_mix(hash, (uint64_t)value->integer);
    for (uint32_t i = 0; i < item_count(value); i++)
        hash = hash_mix(hash, items[i]);
    return hash;
}

static bool value_same(const struct values *values, const struct value *old,
                       const struct value *value, const uint32_t *items)
{
    /* The union is compared by its bits: a NaN equals itself, -0.0 is not 0.0. */
    if (old->kind != value->kind || old->text != value->text || old->n != value->n ||
        old->integer != value->integer)
        return false;
    return item_count(value) == 0 ||
           memcmp(values->items + old->items, items, value->n * sizeof *items) == 0;
}

static int add_items(struct values *values, const uint32_t *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (arena_room(values->arena, &values->items, values->n_items,
                       &values->items_room, sizeof *values->items) < 0)
            return -1;
        values->items[values->n_items++] = items[i];
    }
    return 0;
}

/* The id of this value, added if new. */
static uint32_t add(struct values *values, struct value *value, const uint32_t *items)
{
    uint64_t hash = value_hash(value, items);
    uint32_t id;

    for (; map_find(&values->by_hash, hash, &id); hash++)
        if (value_same(values, &values->at[id], value, items))
            return id;
    value->items = values->n_items;
    if (add_items(values, items, item_count(value)) < 0 ||
        arena_room(values->arena, &values->at, values->n, &values->room,
                   sizeof *values->at) < 0)
        return VALUE_ID_FAILED;
    values->at[values->n] = *value;
    if (map_put(&values->by_hash, hash, values->n) < 0)
        return VALUE_ID_FAILED;
    return values->n++;
}

uint32_t value_bool(struct values *values, bool flag)
{
    struct value value = {.kind = VALUE_BOOL, .integer = flag};

    return add(values, &value, NULL);
}

uint32_t value_int(struct values *values, int64_t integer)
{
    struct value value = {.kind = VALUE_INT, .integer = integer};

    return add(values, &value, NULL);
}

uint32_t value_real(struct values *values, double real)
{
    struct value value = {.kind = VALUE_REAL, .real = real};

    return add(values, &value, NULL);
}

uint32_t value_str(struct values *values, struct str text)
{
    return value_make(values, VALUE_STR, text, NULL, 0);
}

uint32_t value_bytes(struct values *values, struct str head, uint64_t total)
{
    return value_make(values, VALUE_BYTES, head, NULL,
                      total < UINT32_MAX ? (uint32_t)total : UINT32_MAX);
}

uint32_t value_tensor(struct values *values, uint32_t tensor)
{
    struct value value = {.kind = VALUE_TENSOR, .integer = tensor};

    return add(values, &value, NULL);
}

uint32_t value_make(struct values *values, enum value_kind kind, struct str text,
                    const uint32_t *items, uint32_t n)
{
    struct value value = {.kind = (uint8_t)kind, .n = n};

    value.text = intern_add(values->strings, text);
    if (value.text == INTERN_NONE)
        return VALUE_ID_FAILED;
    return add(values, &value, items);
}

bool value_get(const struct values *values, uint32_t id, const char *key,
               uint32_t *ret_value)
{
    const struct value *value = value_at(values, id);
    const uint32_t *items = value_items(values, id);

    if (value->kind != VALUE_DICT && value->kind != VALUE_OBJECT)
        return false;
    for (uint32_t i = 0; i + 1 < value->n; i += 2)
        if (value_at(values, items[i])->kind == VALUE_STR &&
            str_is(value_text(values, items[i]), key)) {
            *ret_value = items[i + 1];
            return true;
        }
    return false;
}
