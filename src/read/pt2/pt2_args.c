#include "read/pt2/pt2_program_in.h"

#include "base/base.h"
#include "base/buf.h"

/* One argument of an operation while it is parsed. */
struct pt2_taking {
    struct pt2_making *m;
    struct pt2_scope *scope;
    uint32_t arg;  /* string id */
    bool list;     /* it is a list, whose items have positions */
    uint32_t next; /* the next position; lists in the list are flattened */
};

static struct values *values_of(const struct pt2_taking *t)
{
    return build_values(t->m->build);
}

static void add_input(struct pt2_taking *t, struct str name)
{
    struct pt2_making *m = t->m;
    uint32_t value = pt2_named(m, t->scope, name);

    if (m->stop ||
        arena_room(m->arena, &m->ios, m->n_ios, &m->ios_room, sizeof *m->ios) < 0) {
        m->stop = true;
        return;
    }
    m->ios[m->n_ios++] = (struct program_io){
        .value = value, .arg = t->arg, .item = t->list ? t->next : PROGRAM_NONE};
}

struct str pt2_value_name(const struct json_doc *doc, struct str kind, uint32_t value)
{
    if (str_is(kind, "as_tensor") || str_is(kind, "as_custom_obj") ||
        str_is(kind, "as_token"))
        return json_doc_text(doc, json_doc_get(doc, value, "name"));
    if (str_is(kind, "as_name"))
        return json_doc_text(doc, value);
    if (str_is(kind, "as_sym_int") || str_is(kind, "as_sym_bool") ||
        str_is(kind, "as_sym_float"))
        return json_doc_text(doc, json_doc_get(doc, value, "as_name"));
    return STR("");
}

/* ---- constants ---- */

static uint32_t integer_of(struct pt2_taking *t, uint32_t at)
{
    struct str text = json_doc_text(t->m->doc, at);
    int64_t number;

    if (json_doc_int(t->m->doc, at, &number))
        return value_int(values_of(t), number);
    return value_make(values_of(t), VALUE_BIGINT, str_head(text, 1000), NULL, 0);
}

static uint32_t real_of(struct pt2_taking *t, uint32_t at)
{
    double real = 0;

    json_doc_real(t->m->doc, at, &real);
    return value_real(values_of(t), real);
}

static uint32_t global_of(struct pt2_taking *t, struct str name)
{
    return value_make(values_of(t), VALUE_GLOBAL, name, NULL, 0);
}

static uint32_t device_of(struct pt2_taking *t, uint32_t at)
{
    struct buf text = BUF_INIT;
    uint32_t value;

    pt2_device(&text, t->m->doc, at);
    value = value_str(values_of(t), buf_span(&text));
    buf_release(&text);
    return value;
}

static uint32_t complex_of(struct pt2_taking *t, uint32_t at)
{
    uint32_t parts[2] = {real_of(t, json_doc_get(t->m->doc, at, "real")),
                         real_of(t, json_doc_get(t->m->doc, at, "imag"))};

    return value_make(values_of(t), VALUE_CALL, STR("complex"), parts, 2);
}

/* A constant of an unknown kind. */
static uint32_t unknown_of(struct pt2_taking *t, struct str kind)
{
    return value_make(values_of(t), VALUE_CUT, str_head(kind, 100), NULL, 0);
}

/* A JSON value without a type of its own, in a list. */
static uint32_t plain_of(struct pt2_taking *t, uint32_t at)
{
    const struct json_doc *doc = t->m->doc;

    switch (json_doc_kind(doc, at)) {
    case JSON_NUMBER:
        if (str_find_char(json_doc_text(doc, at), '.') >= 0 ||
            str_find_char(json_doc_text(doc, at), 'e') >= 0 ||
            str_find_char(json_doc_text(doc, at), 'N') >= 0 ||
            str_find_char(json_doc_text(doc, at), 'I') >= 0)
            return real_of(t, at);
        return integer_of(t, at);
    case JSON_STRING:
        return value_str(values_of(t), json_doc_text(doc, at));
    case JSON_TRUE:
    case JSON_FALSE:
        return value_bool(values_of(t), json_doc_true(doc, at));
    default:
        return VALUE_ID_NONE;
    }
}

/* ---- lists ---- */

static uint32_t constant_of(struct pt2_taking *t, struct str kind, uint32_t at);

/* An item of a list: a value of the graph (a GLOBAL with its name), or a constant. */
static uint32_t item_of(struct pt2_taking *t, struct str list, uint32_t at)
{
    const struct json_doc *doc = t->m->doc;
    struct str kind, name;
    uint32_t value;

    if (str_is(list, "as_tensors"))
        name = json_doc_text(doc, json_doc_get(doc, at, "name"));
    else if (str_is(list, "as_floats"))
        return real_of(t, at);
    else if (json_doc_kind(doc, at) != JSON_OBJECT)
        return plain_of(t, at);
    else {
        value = pt2_union(doc, at, &kind);
        name = pt2_value_name(doc, kind, value);
        if (name.len == 0)
            return constant_of(t, kind, value);
    }
    add_input(t, name);
    return global_of(t, name);
}

static bool is_tensor_list(struct str kind)
{
    return str_is(kind, "as_tensors") || str_is(kind, "as_optional_tensors") ||
           str_is(kind, "as_nested_tensors");
}

/* A list in an argument. Lists in it are flattened for the inputs. */
static uint32_t list_of(struct pt2_taking *t, struct str kind, uint32_t list)
{
    const struct json_doc *doc = t->m->doc;
    struct str inner = str_is(kind, "as_nested_tensors") ? STR("as_tensors")
                       : str_is(kind, "as_float_lists")  ? STR("as_floats")
                                                         : STR("");
    uint32_t *items = NULL, n = 0, room = 0;

    t->list = true;
    for (uint32_t i = json_doc_first(doc, list); i && !t->m->stop;
         i = json_doc_next(doc, i), n++) {
        if (arena_room(t->m->arena, &items, n, &room, sizeof *items) < 0) {
            t->m->stop = true;
            return VALUE_ID_FAILED;
        }
        if (json_doc_kind(doc, i) == JSON_ARRAY) {
            items[n] = list_of(t, inner, i);
        } else {
            items[n] = item_of(t, kind, i);
            t->next++;
        }
        if (items[n] == VALUE_ID_FAILED)
            t->m->stop = true;
    }
    return value_make(values_of(t), VALUE_LIST, STR(""), items, n);
}

/* {"name": Argument}: each under its own name. */
static uint32_t dict_of(struct pt2_taking *t, uint32_t at)
{
    const struct json_doc *doc = t->m->doc;
    uint32_t *items = NULL, n = 0, room = 0;

    for (uint32_t k = json_doc_first(doc, at); k && !t->m->stop;
         k = json_doc_next(doc, k)) {
        uint32_t plain = 0;
        struct str name = json_doc_text(doc, k);

        if (!pt2_argument(t->m, t->scope, name, json_doc_value(doc, k), &plain))
            continue;
        for (int side = 0; side < 2; side++) {
            if (arena_room(t->m->arena, &items, n, &room, sizeof *items) < 0) {
                t->m->stop = true;
                return VALUE_ID_FAILED;
            }
            items[n++] = side ? plain : value_str(values_of(t), name);
        }
    }
    return value_make(values_of(t), VALUE_DICT, STR(""), items, n);
}

/* ---- one argument ---- */

static uint32_t constant_of(struct pt2_taking *t, struct str kind, uint32_t at)
{
    const struct json_doc *doc = t->m->doc;
    struct str word = STR(""), inner;

    if (str_is(kind, "as_int"))
        return integer_of(t, at);
    if (str_is(kind, "as_float"))
        return real_of(t, at);
    if (str_is(kind, "as_bool"))
        return value_bool(values_of(t), json_doc_true(doc, at));
    if (str_is(kind, "as_string"))
        return value_str(values_of(t), json_doc_text(doc, at));
    if (str_is(kind, "as_none") || kind.len == 0)
        return VALUE_ID_NONE;
    if (str_is(kind, "as_device"))
        return device_of(t, at);
    if (str_is(kind, "as_complex"))
        return complex_of(t, at);
    if (str_is(kind, "as_string_to_argument"))
        return dict_of(t, at);
    if (str_is(kind, "as_sym_int") || str_is(kind, "as_sym_bool") ||
        str_is(kind, "as_sym_float") || str_is(kind, "as_optional_tensor")) {
        uint32_t value = pt2_union(doc, at, &inner);

        return constant_of(t, inner, value);
    }
    if (str_is(kind, "as_scalar_type"))
        word = pt2_scalar_type(doc, at);
    else if (str_is(kind, "as_memory_format"))
        word = pt2_memory_format(doc, at);
    else if (str_is(kind, "as_layout"))
        word = pt2_layout(doc, at);
    else if (str_is(kind, "as_operator"))
        word = json_doc_text(doc, at);
    return word.len > 0 ? global_of(t, word) : unknown_of(t, kind);
}

bool pt2_argument(struct pt2_making *m, struct pt2_scope *scope, struct str name,
                  uint32_t argument, uint32_t *ret_plain)
{
    struct pt2_taking t = {.m = m, .scope = scope};
    struct str kind, made;
    uint32_t value = pt2_union(m->doc, argument, &kind), before = m->n_ios;

    t.arg = build_string(m->build, name);
    if (t.arg == INTERN_NONE) {
        m->stop = true;
        return false;
    }
    if (str_is(kind, "as_optional_tensor"))
        value = pt2_union(m->doc, value, &kind);
    made = pt2_value_name(m->doc, kind, value);
    if (made.len > 0) {
        add_input(&t, made);
        return false;
    }
    if (json_doc_kind(m->doc, value) == JSON_ARRAY) {
        *ret_plain = list_of(&t, kind, value);
        /* A list of tensors only is not an attribute. */
        if (is_tensor_list(kind) && m->n_ios > before)
            return false;
    } else {
        *ret_plain = constant_of(&t, kind, value);
    }
    if (*ret_plain == VALUE_ID_FAILED)
        m->stop = true;
    return !m->stop;
}
