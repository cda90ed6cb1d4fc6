#include "read/file/program_facts_in.h"

#include "base/base.h"

#define LISTED_MOST 1000
#define RANK_MOST   64

/* Its sizes; None: unknown, or not fixed. */
static uint32_t shape_value(struct build *build, const struct program_value *value)
{
    struct values *values = build_values(build);
    uint32_t items[RANK_MOST];

    if (value->shape == PROGRAM_NONE || value->rank > RANK_MOST)
        return VALUE_ID_NONE;
    for (uint32_t i = 0; i < value->rank; i++) {
        int64_t size = build->model->dims[value->shape + i];

        items[i] = size < 0 ? VALUE_ID_NONE : value_int(values, size);
    }
    return value_make(values, VALUE_LIST, STR(""), items, value->rank);
}

static uint32_t end_value(struct build *build, const struct program_io *io)
{
    struct values *values = build_values(build);
    const struct program_value *value = &build->program->values[io->value];
    uint32_t items[6], n = 0, name = io->arg ? io->arg : value->name;

    items[n++] = value_str(values, STR("name"));
    items[n++] = value_str(values, model_string(build->model, name));
    items[n++] = value_str(values, STR("dtype"));
    items[n++] = value->dtype == DTYPE_UNKNOWN
                     ? VALUE_ID_NONE
                     : value_str(values, str_of(dtype_name((enum dtype)value->dtype)));
    items[n++] = value_str(values, STR("shape"));
    items[n++] = shape_value(build, value);
    return value_make(values, VALUE_DICT, STR(""), items, n);
}

static void add_ends(struct build *build, const char *key, uint32_t first, uint32_t n)
{
    uint32_t items[LISTED_MOST], list;

    n = n < LISTED_MOST ? n : LISTED_MOST;
    for (uint32_t i = 0; i < n; i++) {
        items[i] = end_value(build, &build->program->ios[first + i]);
        if (items[i] == VALUE_ID_FAILED)
            return;
    }
    list = value_make(build_values(build), VALUE_LIST, STR(""), items, n);
    if (n > 0 && list != VALUE_ID_FAILED)
        build_fact(build, key, list);
}

void program_facts(struct build *build)
{
    const struct program_call *call;

    if (build_program_full(build) || build->program->n_calls == 0)
        return;
    call = &build->program->calls[0];
    add_ends(build, "inputs", call->io, call->n_in);
    add_ends(build, "outputs", call->io + call->n_in, call->n_out);
}
