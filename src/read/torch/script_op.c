/* One operation: its constant arguments become attributes, the others inputs. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "read/torch/script_machine_in.h"

#define RESULTS_MOST 1000
#define NAME_MOST    300

/* ---- arguments ---- */

static bool is_list(const struct script_machine *m, uint32_t arg)
{
    return arg < m->n_args && m->args[arg].datum.kind == DATUM_LIST;
}

/* The name of the next argument: its keyword, from the table (*names), or its position.
 */
static struct str next_name(const struct script_arg *arg, struct str *names, uint32_t i,
                            char text[16])
{
    struct str name = STR("");

    str_split(names, ' ', &name);
    if (arg->name.len > 0)
        return arg->name;
    if (name.len > 0)
        return name;
    snprintf(text, 16, "%u", i);
    return str_of(text);
}

static bool is_constant(const struct datum *datum)
{
    bool container = datum->kind >= DATUM_TUPLE && datum->kind <= DATUM_DICT;

    if (container)
        return datum->plain || datum->n == 0;
    return datum->kind == DATUM_PLAIN || datum->kind == DATUM_CODE;
}

/* Appends inputs to m->ios and returns the attributes; VALUE_ID_FAILED: stop. */
static uint32_t take_args(struct script_machine *m, struct str space, struct str op,
                          uint32_t from)
{
    struct values *values = build_values(m->build);
    uint32_t n = m->n_args - from, n_items = 0;
    uint32_t *items = arena_array(&m->arena, 2 * (size_t)n + 1, sizeof *items);
    struct str names =
        str_of(str_is(space, "aten") ? script_arg_names(op, is_list(m, from + 2)) : "");
    char text[16];

    for (uint32_t i = 0; items && i < n && script_step(m); i++) {
        const struct datum *datum = &m->args[from + i].datum;
        struct str name = next_name(&m->args[from + i], &names, i, text);
        uint32_t id = build_string(m->build, name);

        if (id == INTERN_NONE)
            return VALUE_ID_FAILED;
        script_collect(m, datum, id, PROGRAM_NONE);
        if (!is_constant(datum))
            continue;
        items[n_items] = value_str(values, name);
        items[n_items + 1] = script_describe(m, datum);
        if (items[n_items] == VALUE_ID_FAILED || items[n_items + 1] == VALUE_ID_FAILED)
            return VALUE_ID_FAILED;
        n_items += 2;
    }
    if (!items || m->stop)
        return VALUE_ID_FAILED;
    return n_items ? value_make(values, VALUE_DICT, STR(""), items, n_items)
                   : VALUE_ID_NONE;
}

/* ---- results that are known from the file ---- */

/* Is it None? -1: unknown. Tensors of the file and results of operations are not None,
 * except for some operations on dicts. */
static int is_none(const struct script_machine *m, const struct datum *datum)
{
    const struct program_value *value;
    struct str name;

    if (datum->kind == DATUM_PLAIN)
        return datum->id == VALUE_ID_NONE;
    if (datum->kind != DATUM_VALUE)
        return datum->kind == DATUM_NOTHING ? -1 : 0;
    value = &m->program->values[datum->id];
    if (value->kind != PROGRAM_RESULT)
        return value->kind == PROGRAM_TENSOR ? 0 : -1;
    name = model_string(m->build->model, m->program->ops[value->producer].name);
    return str_starts(name, STR("aten::")) && !str_is(name, "aten::get") &&
                   !str_is(name, "aten::__getitem__")
               ? 0
               : -1;
}

/* The numbers of two constants, integers or real. */
static bool numbers(const struct script_machine *m, const struct datum *a,
                    const struct datum *b, double ret[2])
{
    const struct datum *data[] = {a, b};

    for (int i = 0; i < 2; i++) {
        uint32_t known = script_known(m, data[i]);
        const struct value *value;

        if (known == PROGRAM_NONE)
            return false;
        value = value_at(build_values(m->build), known);
        if (value->kind != VALUE_INT && value->kind != VALUE_REAL &&
            value->kind != VALUE_BOOL)
            return false;
        ret[i] = value->kind == VALUE_REAL ? value->real : (double)value->integer;
    }
    return true;
}

static int compare(struct str op, const double x[2])
{
    if (str_is(op, "eq") || str_is(op, "ne"))
        return (x[0] == x[1]) == str_is(op, "eq");
    if (str_is(op, "lt"))
        return x[0] < x[1];
    if (str_is(op, "gt"))
        return x[0] > x[1];
    if (str_is(op, "le"))
        return x[0] <= x[1];
    return str_is(op, "ge") ? x[0] >= x[1] : -1;
}

/* The boolean result of an operation with known arguments; else -1. */
static int fold(struct script_machine *m, struct str op, uint32_t from)
{
    uint32_t n = m->n_args - from;
    const struct datum *a = n > 0 ? &m->args[from].datum : NULL;
    const struct datum *b = n > 1 ? &m->args[from + 1].datum : NULL;
    double x[2];
    int none;

    if (n == 2 && (str_is(op, "__is__") || str_is(op, "__isnot__"))) {
        none = b->kind == DATUM_PLAIN && b->id == VALUE_ID_NONE ? is_none(m, a) : -1;
        return none < 0 ? -1 : none == str_is(op, "__is__");
    }
    if (n == 1 && (str_is(op, "__not__") || str_is(op, "Bool")) && numbers(m, a, a, x))
        return (x[0] != 0) == str_is(op, "Bool");
    if (n == 2 && op.len == 2 && numbers(m, a, b, x))
        return compare(op, x);
    return -1;
}

/* ---- results ---- */

static uint32_t add_result(struct script_machine *m, uint32_t output, int known)
{
    struct program_value value = build_program_blank(PROGRAM_RESULT);
    uint32_t id;

    value.output = (uint16_t)output;
    value.producer = m->program->n_ops;
    if (known >= 0)
        value.plain = value_bool(build_values(m->build), known != 0);
    id = script_value_new(m, &value);
    if (arena_room(&m->arena, &m->ios, m->n_ios, &m->ios_room, sizeof *m->ios) < 0) {
        m->stop = true;
        return PROGRAM_NONE;
    }
    m->ios[m->n_ios++] = (struct program_io){.value = id, .item = PROGRAM_NONE};
    return id;
}

static struct datum add_results(struct script_machine *m, uint32_t wanted, int known)
{
    struct datum *items;

    if (wanted < 2)
        return wanted == 0 ? script_plain(VALUE_ID_NONE)
                           : script_value(add_result(m, 0, known));
    items = script_items_new(m, wanted);
    for (uint32_t i = 0; items && i < wanted && !m->stop; i++)
        items[i] = script_value(add_result(m, i, -1));
    return script_container(m, DATUM_TUPLE, items, wanted);
}

/* "add_" writes to its first argument, "__and__" does not. */
static bool writes(struct str op)
{
    return str_ends(op, STR("_")) && !str_ends(op, STR("__"));
}

/* The first result is the new version of the first argument, or a view of it. */
static void link_first(struct script_machine *m, struct str op, uint32_t from,
                       const struct datum *result)
{
    const struct datum *first = m->n_args > from ? &m->args[from].datum : NULL;
    struct datum made = script_item(result, 0, result->n);

    if (!first || first->kind != DATUM_VALUE || made.kind != DATUM_VALUE || m->stop)
        return;
    if (writes(op))
        script_written(m, first->id, made.id);
    else if (script_is_view(op))
        m->view_of[made.id] = first->id;
}

struct datum script_op(struct script_machine *m, struct str space, struct str name,
                       uint32_t from, uint32_t wanted)
{
    struct program_op op = {.call = m->call,
                            .place = m->place,
                            .region = m->region,
                            .file = m->file,
                            .line = m->line};
    uint32_t first = m->n_ios, n_in;
    struct datum result;
    char full[NAME_MOST];
    int length = snprintf(full, sizeof full, "%.*s::%.*s",
                          STR_ARG(str_head(space, 100)), STR_ARG(str_head(name, 150)));

    if (wanted > RESULTS_MOST)
        wanted = RESULTS_MOST;
    if (wanted == 0 && writes(name))
        wanted = 1;
    op.name = build_string(m->build, str_span(full, (size_t)length));
    op.attributes = take_args(m, space, name, from);
    n_in = m->n_ios - first;
    result = add_results(m, wanted, wanted == 1 ? fold(m, name, from) : -1);
    if (op.name == INTERN_NONE || op.attributes == VALUE_ID_FAILED)
        m->stop = true;
    op.n_in = (uint16_t)n_in;
    op.n_out = (uint16_t)(m->n_ios - first - n_in);
    if (!m->stop && build_program_op(m->build, &op, m->ios + first) == PROGRAM_NONE)
        m->stop = true;
    m->n_ios = first;
    link_first(m, name, from, &result);
    return m->stop ? script_nothing : result;
}
