#include <string.h>

#include "base/base.h"
#include "read/torch/script_machine_in.h"

const struct datum script_nothing = {.kind = DATUM_NOTHING};

struct datum script_plain(uint32_t value)
{
    if (value == VALUE_ID_FAILED)
        return script_nothing;
    return (struct datum){.kind = DATUM_PLAIN, .id = value};
}

struct datum script_text(struct script_machine *m, struct str text)
{
    return script_plain(
        value_make(build_values(m->build), VALUE_GLOBAL, text, NULL, 0));
}

struct datum script_value(uint32_t value)
{
    if (value == PROGRAM_NONE)
        return script_nothing;
    return (struct datum){.kind = DATUM_VALUE, .id = value};
}

uint32_t script_value_new(struct script_machine *m, const struct program_value *value)
{
    uint32_t id;

    if (arena_room(&m->arena, &m->versions, m->n_versions, &m->versions_room,
                   sizeof *m->versions) < 0 ||
        arena_room(&m->arena, &m->view_of, m->n_versions, &m->view_room,
                   sizeof *m->view_of) < 0) {
        m->stop = true;
        return PROGRAM_NONE;
    }
    id = build_program_value(m->build, value);
    if (id == PROGRAM_NONE) {
        m->stop = true;
        return id;
    }
    m->versions[id] = (struct script_cell){.datum = script_nothing};
    m->view_of[id] = PROGRAM_NONE;
    m->n_versions = id + 1;
    return id;
}

struct datum script_opaque(struct script_machine *m)
{
    struct program_value value = build_program_blank(PROGRAM_OPAQUE);

    return script_value(script_value_new(m, &value));
}

/* ---- containers ---- */

struct datum *script_items_new(struct script_machine *m, uint32_t n)
{
    struct datum *items = arena_array(&m->arena, (size_t)n + 1, sizeof *items);

    if (!items)
        m->stop = true;
    return items;
}

static bool is_container(const struct datum *datum)
{
    return datum->kind >= DATUM_TUPLE && datum->kind <= DATUM_DICT;
}

struct datum script_container(struct script_machine *m, enum datum_kind kind,
                              const struct datum *items, uint32_t n)
{
    struct datum datum = {.kind = (uint8_t)kind, .n = n, .items = items};
    uint64_t leaves = 0;

    for (uint32_t i = 0; items && i < n; i++) {
        const struct datum *item = &items[i];

        if (is_container(item)) {
            leaves += item->leaves;
            datum.plain = datum.plain || item->plain || item->n == 0;
            if (datum.depth <= item->depth)
                datum.depth = (uint8_t)(item->depth + 1);
        } else if (item->kind == DATUM_VALUE || item->kind == DATUM_INSTANCE) {
            leaves++;
        } else {
            datum.plain = datum.plain || kind != DATUM_DICT || i % 2 == 1;
        }
    }
    if (!items || leaves > DATUM_LEAVES || datum.depth > DATUM_DEPTH)
        return script_opaque(m);
    datum.leaves = (uint32_t)leaves;
    return datum;
}

struct datum script_item(const struct datum *datum, uint32_t i, uint32_t n)
{
    if (datum->kind == DATUM_TUPLE || datum->kind == DATUM_LIST)
        return datum->n == n ? datum->items[i] : script_nothing;
    return *datum;
}

/* ---- inputs of operations ---- */

static void add_io(struct script_machine *m, uint32_t value, uint32_t arg,
                   uint32_t item)
{
    if (value == PROGRAM_NONE)
        return;
    if (m->n_ios >= UINT16_MAX / 2 ||
        arena_room(&m->arena, &m->ios, m->n_ios, &m->ios_room, sizeof *m->ios) < 0) {
        m->stop = true;
        return;
    }
    m->ios[m->n_ios++] = (struct program_io){.value = value, .arg = arg, .item = item};
}

/* The depth of data is limited. */
void script_collect(struct script_machine *m, const struct datum *datum, uint32_t arg,
                    uint32_t item)
{
    if (!script_step(m))
        return;
    if (datum->kind == DATUM_VALUE)
        add_io(m, script_newest(m, datum->id), arg, item);
    else if (datum->kind == DATUM_INSTANCE)
        add_io(m, script_instance_value(m, datum->id), arg, item);
    if (!is_container(datum) || datum->leaves == 0)
        return;
    for (uint32_t i = 0; i < datum->n; i++) {
        uint32_t at = datum->kind == DATUM_DICT ? i / 2 : i;

        script_collect(m, &datum->items[i], arg, item == PROGRAM_NONE ? at : item);
    }
}

/* ---- constants ---- */

uint32_t script_known(const struct script_machine *m, const struct datum *datum)
{
    if (datum->kind == DATUM_PLAIN)
        return datum->id;
    if (datum->kind == DATUM_VALUE && datum->id < m->program->n_values)
        return m->program->values[datum->id].plain;
    return PROGRAM_NONE;
}

/* A value by its name in the code. */
static uint32_t describe_value(struct script_machine *m, uint32_t value)
{
    uint32_t name = m->program->values[value].name;

    return value_make(build_values(m->build), VALUE_GLOBAL,
                      name ? model_string(m->build->model, name) : STR("?"), NULL, 0);
}

static uint32_t describe_items(struct script_machine *m, const struct datum *datum)
{
    static const enum value_kind kinds[] = {[DATUM_TUPLE] = VALUE_TUPLE,
                                            [DATUM_LIST] = VALUE_LIST,
                                            [DATUM_DICT] = VALUE_DICT};
    uint32_t *items = arena_array(&m->arena, (size_t)datum->n + 1, sizeof *items);

    if (!items)
        return VALUE_ID_FAILED;
    for (uint32_t i = 0; i < datum->n; i++) {
        items[i] = script_describe(m, &datum->items[i]);
        if (items[i] == VALUE_ID_FAILED)
            return VALUE_ID_FAILED;
    }
    return value_make(build_values(m->build), kinds[datum->kind], STR(""), items,
                      datum->n);
}

uint32_t script_describe(struct script_machine *m, const struct datum *datum)
{
    struct values *values = build_values(m->build);

    if (!script_step(m) || build_program_full(m->build))
        return VALUE_ID_FAILED;
    switch ((enum datum_kind)datum->kind) {
    case DATUM_PLAIN:
        return datum->id;
    case DATUM_VALUE:
        return describe_value(m, datum->id);
    case DATUM_TUPLE:
    case DATUM_LIST:
    case DATUM_DICT:
        return describe_items(m, datum);
    case DATUM_CODE:
        return value_make(values, VALUE_GLOBAL, m->code->classes[datum->id].name, NULL,
                          0);
    case DATUM_NOTHING:
    case DATUM_INSTANCE:
    case DATUM_INNER:
        break;
    }
    return value_make(values, VALUE_GLOBAL, STR("?"), NULL, 0);
}

/* ---- versions ---- */

uint32_t script_newest(struct script_machine *m, uint32_t value)
{
    while (m->versions[value].datum.kind == DATUM_VALUE &&
           m->versions[value].datum.id != value && script_step(m))
        value = m->versions[value].datum.id;
    return value;
}

void script_written(struct script_machine *m, uint32_t value, uint32_t made)
{
    struct datum now = script_value(made);

    while (value != PROGRAM_NONE && value != made && script_step(m)) {
        uint32_t newest = script_newest(m, value);

        if (newest != value && newest != made)
            script_set(m, CELL_VERSION, newest, &now);
        script_set(m, CELL_VERSION, value, &now);
        value = m->view_of[value];
    }
}
