/* Metadata. Arrays may have hundreds of thousands of items (a vocabulary): short ones
 * become lists; long ones keep only the type, the count and the first items. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "read/gguf/gguf_in.h"

#define DEPTH      4    /* limit for nested arrays */
#define LIST_ITEMS 64   /* items of an array that is kept whole */
#define FIRST      8    /* items kept of a longer one */
#define ITEM_TEXT  200  /* bytes kept of a string in an array */
#define STEP       8192 /* items between two checks for cancellation */

enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_TEXT,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_TYPES
};

/* Bytes 0: not a number. */
static const struct {
    const char *name;
    uint8_t bytes;
    bool is_signed;
} types[GGUF_TYPES] = {
    [GGUF_U8] = {"uint8", 1, false},    [GGUF_I8] = {"int8", 1, true},
    [GGUF_U16] = {"uint16", 2, false},  [GGUF_I16] = {"int16", 2, true},
    [GGUF_U32] = {"uint32", 4, false},  [GGUF_I32] = {"int32", 4, true},
    [GGUF_F32] = {"float32", 4, false}, [GGUF_BOOL] = {"bool", 1, false},
    [GGUF_TEXT] = {"string", 0, false}, [GGUF_ARRAY] = {"array", 0, false},
    [GGUF_U64] = {"uint64", 8, false},  [GGUF_I64] = {"int64", 8, true},
    [GGUF_F64] = {"float64", 8, false},
};

/* A float32 becomes the shortest decimal that reads back as it: 1e-05, not
 * 9.999999747378752e-06. */
static uint32_t real_value(struct values *values, uint32_t type, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    double wide;
    float single;
    char text[24];

    if (type == GGUF_F64) {
        memcpy(&wide, &bits, sizeof wide);
        return value_real(values, wide);
    }
    memcpy(&single, &low, sizeof single);
    wide = (double)single;
    for (int digits = 6; digits <= 9 && isfinite(single); digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)single);
        if (str_to_double(str_of(text), &wide) && (float)wide == single)
            break;
    }
    return value_real(values, wide);
}

static uint32_t integer_value(struct values *values, uint32_t type, uint64_t bits)
{
    unsigned unused = 64 - 8u * types[type].bytes;
    char text[24];

    if (types[type].is_signed)
        return value_int(values, (int64_t)(bits << unused) >> unused);
    if (bits <= INT64_MAX)
        return value_int(values, (int64_t)bits);
    snprintf(text, sizeof text, "%" PRIu64, bits);
    return value_make(values, VALUE_BIGINT, str_of(text), NULL, 0);
}

/* A long string is cut, which the value shows. */
static uint32_t text_value(struct gguf_reading *r, struct str text, uint64_t len,
                           size_t most)
{
    struct values *values = build_values(r->build);
    struct buf cut = BUF_INIT;
    uint32_t id;

    if (len <= most)
        return value_str(values, text);
    buf_printf(&cut, "%.*s… (%" PRIu64 " bytes)", STR_ARG(str_head(text, most)), len);
    id = value_str(values, buf_span(&cut));
    buf_release(&cut);
    return id;
}

/* A number, boolean or string; of a string at most `most` bytes. */
static uint32_t read_scalar(struct gguf_reading *r, uint32_t type, size_t most)
{
    struct values *values = build_values(r->build);
    uint64_t bits, len;
    struct str text;

    if (type == GGUF_TEXT) {
        text = gguf_string(&r->in, &len);
        return text_value(r, text, len, most);
    }
    bits = gguf_number(&r->in, types[type].bytes);
    if (type == GGUF_BOOL)
        return value_bool(values, bits != 0);
    if (type == GGUF_F32 || type == GGUF_F64)
        return real_value(values, type, bits);
    return integer_value(values, type, bits);
}

/* The rest of the metadata cannot be read. */
static void refuse(struct gguf_reading *r, const char *why)
{
    if (!r->in.bad)
        err_set(&r->in.why, ERR_FORMAT, "%s", why);
    r->in.bad = true;
}

/* The rest of an array whose items were not kept. -1: stopped. */
static int skip_items(struct gguf_reading *r, uint32_t type, uint64_t n)
{
    uint64_t bytes, len;

    if (types[type].bytes) {
        if (__builtin_mul_overflow(n, (uint64_t)types[type].bytes, &bytes))
            bytes = UINT64_MAX;
        gguf_skip(&r->in, bytes);
        return 0;
    }
    for (uint64_t i = 0; i < n && !r->in.bad; i++) {
        len = gguf_count(&r->in);
        gguf_skip(&r->in, len);
        if (i % STEP == 0 && !work_step(r->build->work, 0))
            return -1;
    }
    return 0;
}

/* {type: "string", count: 32000, first: [...]}; short ones: the list. */
static uint32_t array_value(struct gguf_reading *r, uint32_t type, uint64_t n,
                            const uint32_t *items, uint32_t kept)
{
    struct values *values = build_values(r->build);
    uint32_t list = value_make(values, VALUE_LIST, STR(""), items, kept);
    uint32_t parts[6];

    if (kept == n)
        return list;
    parts[0] = value_str(values, STR("type"));
    parts[1] = value_str(values, str_of(types[type].name));
    parts[2] = value_str(values, STR("count"));
    parts[3] = integer_value(values, GGUF_U64, n);
    parts[4] = value_str(values, STR("first"));
    parts[5] = list;
    return value_make(values, VALUE_OBJECT, STR("array"), parts, 6);
}

/* An array of numbers or strings. -1: stopped. */
static int read_array(struct gguf_reading *r, uint32_t type, uint64_t n,
                      uint32_t *ret_value)
{
    uint32_t items[LIST_ITEMS], kept = (uint32_t)(n <= LIST_ITEMS ? n : FIRST);

    for (uint32_t i = 0; i < kept && !r->in.bad; i++)
        items[i] = read_scalar(r, type, ITEM_TEXT);
    if (skip_items(r, type, n - kept) < 0)
        return -1;
    if (!r->in.bad)
        *ret_value = array_value(r, type, n, items, kept);
    return 0;
}

/* Arrays inside an array are only counted; llama.cpp does not read them. An explicit
 * stack: `left` are the items of each level that are still to come. -1: stopped. */
static int skip_arrays(struct gguf_reading *r, uint64_t n)
{
    uint64_t left[DEPTH] = {n}, steps = 0;
    int depth = 0;

    while (depth >= 0 && !r->in.bad) {
        uint32_t type;
        uint64_t count;

        if (left[depth] == 0) {
            depth--;
            continue;
        }
        left[depth]--;
        type = gguf_u32(&r->in);
        count = gguf_count(&r->in);
        if (type >= GGUF_TYPES || (type == GGUF_ARRAY && depth + 1 >= DEPTH))
            refuse(r, "arrays nested more than 4 levels deep, or of an unknown type");
        else if (type == GGUF_ARRAY)
            left[++depth] = count;
        else if (skip_items(r, type, count) < 0)
            return -1;
        if (steps++ % STEP == 0 && !work_step(r->build->work, 0))
            return -1;
    }
    return 0;
}

/* -1: stopped. *ret_value is VALUE_ID_NONE if the value is not kept. */
static int read_value(struct gguf_reading *r, uint32_t type, uint32_t *ret_value)
{
    uint32_t of;
    uint64_t n;

    if (type != GGUF_ARRAY) {
        *ret_value = read_scalar(r, type, GGUF_STRING);
        return 0;
    }
    of = gguf_u32(&r->in);
    n = gguf_count(&r->in);
    if (of >= GGUF_TYPES)
        refuse(r, "an array of an unknown type");
    if (r->in.bad)
        return 0;
    if (of != GGUF_ARRAY)
        return read_array(r, of, n, ret_value);
    if (skip_arrays(r, n) < 0)
        return -1;
    if (!r->in.bad)
        *ret_value = array_value(r, of, n, NULL, 0);
    return 0;
}

/* Keys that the reader itself uses. */
static void use_value(struct gguf_reading *r, struct str key, uint32_t value)
{
    const struct value *at = value_at(build_values(r->build), value);
    struct {
        const char *key;
        uint64_t *to;
    } wanted[] = {{"general.alignment", &r->alignment},
                  {"split.no", &r->part},
                  {"split.count", &r->parts}};

    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (str_is(key, wanted[i].key) && at->kind == VALUE_INT && at->integer >= 0)
            *wanted[i].to = (uint64_t)at->integer;
}

/* A copy of the key; NULL: memory is spent. */
static struct str keep_key(struct gguf_reading *r, struct str key)
{
    struct str copy = arena_str(&r->build->scratch, key);
    uint32_t index;
    int added = copy.at ? name_map_add(&r->keys, copy, &index) : -1;

    if (added < 0)
        return (struct str){0};
    if (added == 0)
        build_finding(r->build, FINDING_DUPLICATE, SEVERITY_WARNING, r->input->node,
                      "the metadata has the key %.*s twice; programs disagree on which "
                      "one counts",
                      STR_ARG(str_head(copy, 200)));
    return copy;
}

/* -1: stopped. */
static int read_entry(struct gguf_reading *r, struct err *err)
{
    uint32_t value = VALUE_ID_NONE, type;
    uint64_t len;
    struct str key = gguf_string(&r->in, &len);

    if (r->in.bad)
        return 0;
    key = keep_key(r, key);
    if (!key.at)
        return arena_err(&r->build->scratch, r->input->path, err);
    type = gguf_u32(&r->in);
    if (type >= GGUF_TYPES || len >= GGUF_STRING)
        refuse(r, "an entry of an unknown type, or with a key of over 64 KiB");
    if (r->in.bad)
        return 0;
    if (read_value(r, type, &value) < 0)
        return err_set_about(err, ERR_CANCELLED, r->input->path, ": stopped");
    if (value == VALUE_ID_FAILED)
        return arena_err(&r->build->model->arena, r->input->path, err);
    if (r->in.bad)
        return 0;
    build_metadata(r->build, key, value);
    use_value(r, key, value);
    return 0;
}

int gguf_read_entries(struct gguf_reading *r, struct err *err)
{
    for (uint64_t i = 0; i < r->n_entries && !r->in.bad; i++) {
        if (read_entry(r, err) < 0)
            return -1;
        if (build_spent(r->build))
            return arena_err(&r->build->model->arena, r->input->path, err);
        if (!work_step(r->build->work, 0))
            return err_set_about(err, ERR_CANCELLED, r->input->path, ": stopped");
    }
    return 0;
}
