/* Values by name. A subgraph sees the names of the graphs around it, a function only
 * its own. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/walk_in.h"

#define NUMBER_MOST 64 /* elements of a tensor of sizes or axes */

int walk_index_types(struct onnx_walk *w)
{
    const struct onnx_parsed *p = w->p;

    for (uint32_t g = 0; g < p->n_graphs; g++) {
        const struct onnx_graph *graph = &p->graphs[g];
        struct onnx_list lists[] = {graph->infos, graph->inputs, graph->outputs};

        for (int k = 0; k < 3; k++)
            for
                ONNX_EACH(i, p, types, lists[k])
        if (map_put(&w->types, (uint64_t)g << 32 | p->types[i].name, i) < 0)
            return -1;
    }
    return 0;
}

uint32_t walk_value(struct onnx_walk *w, const struct program_value *value,
                    const struct onnx_known *known, uint32_t call, bool plain)
{
    struct program_value made = *value;
    uint32_t i;

    made.dtype = known->dtype;
    made.rank = 0;
    made.shape = PROGRAM_NONE;
    if (known->rank >= 0) {
        made.rank = (uint8_t)known->rank;
        made.shape = build_dims(w->build, known->dims, known->rank);
        w->program->shapes = true;
    }
    i = build_program_value(w->build, &made);
    if (i == PROGRAM_NONE || arena_room(w->p->arena, &w->values, w->n_values,
                                        &w->values_room, sizeof *w->values) < 0) {
        w->stop = true;
        return PROGRAM_NONE;
    }
    w->values[w->n_values++] =
        (struct walk_value){*known, call, w->program->n_ops, plain};
    return i;
}

struct program_value walk_unknown(enum program_value_kind kind, uint32_t name)
{
    struct program_value value = build_program_blank(kind);

    value.name = name;
    return value;
}

uint32_t walk_simple(struct onnx_walk *w, enum program_value_kind kind, uint32_t name,
                     const struct onnx_known *known, uint32_t call)
{
    struct program_value value = walk_unknown(kind, name);

    return walk_value(w, &value, known, call, false);
}

void walk_bind(struct onnx_walk *w, uint32_t instance, uint32_t name, uint32_t value)
{
    if (value != PROGRAM_NONE && name != 0 &&
        map_put(&w->names, (uint64_t)instance << 32 | name, value) < 0)
        w->stop = true;
}

/* ---- tensors of the file ---- */

struct onnx_known walk_tensor_known(struct onnx_walk *w, uint32_t tensor)
{
    const struct onnx_tensor *t = &w->p->tensors[tensor];
    struct onnx_known known = {.rank = -1, .dtype = (uint8_t)onnx_dtype(t->type)};
    uint64_t count = onnx_tensor_count(w->p, t);
    int64_t *copy;

    if (count == UINT64_MAX)
        return known;
    copy = arena_array(w->p->arena, (size_t)t->rank + 1, sizeof *copy);
    if (!copy) {
        w->stop = true;
        return known;
    }
    if (t->rank > 0)
        memcpy(copy, w->p->dims + t->dims, t->rank * sizeof *copy);
    known.rank = (int32_t)t->rank;
    known.dims = copy;
    if (count <= INFER_NUMBERS && t->rank <= 1) {
        int64_t *numbers = arena_array(w->p->arena, (size_t)count + 1, sizeof *numbers);

        if (numbers && onnx_tensor_ints(w->m, tensor, numbers, (uint32_t)count)) {
            known.numbers = numbers;
            known.n_numbers = (uint32_t)count;
        }
    }
    return known;
}

/* Is it a tensor of sizes, axes or indices, not data of a layer? */
static bool is_number(const struct onnx_walk *w, const struct onnx_tensor *t)
{
    const struct tensor *tensor = &w->build->model->tensors[t->tensor];

    return tensor->role == ROLE_PLAIN && tensor->rank <= 1 &&
           tensor->numel <= NUMBER_MOST &&
           dtype_info((enum dtype)tensor->dtype)->kind != DTYPE_KIND_FLOAT;
}

uint32_t walk_tensor(struct onnx_walk *w, uint32_t tensor, uint32_t name, uint32_t call)
{
    const struct onnx_tensor *t = &w->p->tensors[tensor];
    struct onnx_known known = walk_tensor_known(w, tensor);
    struct program_value value = walk_unknown(PROGRAM_STORED, name);

    if (t->tensor != NO_OBJECT) {
        value.kind = PROGRAM_TENSOR;
        value.tensor = t->tensor;
        value.number = is_number(w, t);
    }
    if (t->place != NO_PLACE)
        value.place = t->place;
    return walk_value(w, &value, &known, call, true);
}

/* ---- names ---- */

uint32_t walk_find(struct onnx_walk *w, const struct onnx_frame *frame, uint32_t name)
{
    uint32_t value, tensor;

    for (uint32_t at = frame->instance; at != ONNX_NONE; at = w->outer[at])
        if (map_find(&w->names, (uint64_t)at << 32 | name, &value))
            return value;
    tensor = onnx_initialiser(w->m, frame->graph, name);
    if (tensor == ONNX_NONE)
        return PROGRAM_NONE;
    value = walk_tensor(w, tensor, name, 0);
    walk_bind(w, frame->instance, name, value);
    return value;
}

uint32_t walk_read(struct onnx_walk *w, const struct onnx_frame *frame, uint32_t name)
{
    static const struct onnx_known nothing = {.rank = -1};
    uint32_t value = walk_find(w, frame, name);

    if (value != PROGRAM_NONE || w->stop)
        return value;
    if (w->undefined++ == 0)
        w->first_undefined = name;
    value = walk_simple(w, PROGRAM_OPAQUE, name, &nothing, frame->call);
    walk_bind(w, frame->instance, name, value);
    return value;
}

/* ---- types in the file ---- */

struct onnx_known walk_known(struct onnx_walk *w, uint32_t graph, uint32_t name,
                             const struct onnx_known *inferred)
{
    struct onnx_known known = *inferred;
    const struct onnx_type *type;
    int64_t *dims;
    uint32_t i;

    if (!map_find(&w->types, (uint64_t)graph << 32 | name, &i))
        return known;
    type = &w->p->types[i];
    if (type->prefix)
        return (struct onnx_known){.rank = -1};
    if (onnx_dtype(type->type) != DTYPE_UNKNOWN)
        known.dtype = (uint8_t)onnx_dtype(type->type);
    if (type->rank < 0 || type->rank > ONNX_RANK)
        return known;
    dims = arena_array(w->p->arena, (size_t)type->rank + 1, sizeof *dims);
    if (!dims) {
        w->stop = true;
        return known;
    }
    for (int32_t k = 0; k < type->rank; k++) {
        dims[k] = w->p->dims[type->dims + (uint32_t)k];
        if (dims[k] == ONNX_ANY && inferred->rank == type->rank)
            dims[k] = inferred->dims[k];
    }
    known.rank = type->rank;
    known.dims = dims;
    return known;
}
