#include "show/repeats.h"

#include "base/base.h"

static uint64_t tensor_hash(const struct model *model, const struct tensor *tensor)
{
    const int64_t *shape = tensor_shape(model, tensor);
    uint64_t hash = tensor->rank;

    for (int i = 0; i < tensor->rank; i++)
        hash = hash_mix(hash, (uint64_t)shape[i]);
    hash = hash_mix(hash, tensor->dtype);
    hash = hash_mix(hash, tensor->role);
    hash = hash_mix(hash, tensor->layout);
    return hash_mix(hash, tensor->flags & TENSOR_GRAD);
}

/* Does the argument only say the how-manieth block this is? Those of transformers know
 * that, and are equal all the same. */
static bool is_own_number(const struct values *values, uint32_t key, uint32_t value)
{
    static const char *const names[] = {"layer_idx", "layer_id", "layer_index",
                                        "layer_number", "block_idx"};

    if (value_at(values, value)->kind != VALUE_INT)
        return false;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is(value_text(values, key), names[i]))
            return true;
    return false;
}

static uint64_t args_hash(const struct values *values, uint32_t args)
{
    const struct value *dict = value_at(values, args);
    const uint32_t *items = value_items(values, args);
    uint64_t hash = 0;

    if (dict->kind != VALUE_DICT)
        return args;
    for (uint32_t i = 0; i + 1 < dict->n; i += 2)
        if (!is_own_number(values, items[i], items[i + 1]))
            hash = hash_mix(hash_mix(hash, items[i]), items[i + 1]);
    return hash;
}

/* What stands at the place itself. */
static uint64_t own_hash(const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    uint64_t hash = hash_mix(model->kind[place], model->flags[place]);
    const struct object *object;

    if (model->kind[place] == PLACE_TENSOR)
        return hash_mix(hash, tensor_hash(model, place_tensor(model, place)));
    if (model->kind[place] == PLACE_VALUE)
        return hash; /* values may differ */
    /* Counts are part of it: of blocks that share weights, the first has them. */
    hash = hash_mix(hash, counts_params(&show->session->places, place));
    hash = hash_mix(hash, counts_bytes(&show->session->places, place));
    /* What was called otherwise, or went wrong, is not hidden among others. */
    if (show->activity) {
        const struct activity *at = &show->activity->at[place];

        hash = hash_mix(hash, at->calls);
        hash = hash_mix(hash, at->flags & (ACTIVITY_RAISED | ACTIVITY_PRODUCER |
                                           ACTIVITY_NOT_REACHED));
        if (at->gap != RUN_NONE)
            hash = hash_mix(hash, 1u + show->session->run->gaps[at->gap].kind);
    }
    object = place_object(model, place);
    if (!object)
        return hash;
    hash = hash_mix(hash, object->class_id);
    if (model->kind[place] != PLACE_MODULE)
        return hash;
    return hash_mix(hash, args_hash(&model->values, object->args));
}

uint64_t *repeats_shapes(const struct show *show, struct arena *arena)
{
    const struct model *model = show->model;
    uint64_t *shapes = arena_array(arena, model->n_places, sizeof *shapes);

    if (!shapes)
        return NULL;
    for (uint32_t p = model->n_places; p-- > 0;) {
        uint32_t parent = model->parent[p];

        shapes[p] = hash_mix(own_hash(show, p), shapes[p]);
        if (parent != NO_PLACE)
            shapes[parent] =
                hash_mix(hash_mix(shapes[parent], model->name[p]), shapes[p]);
    }
    return shapes;
}

/* Only modules repeat: the values in groups differ, and people want to see them. */
static bool may_repeat(const struct model *model, uint32_t place)
{
    return model->kind[place] == PLACE_MODULE;
}

/* How many of `places` follow each other with the given period. */
static uint32_t run_length(const struct model *model, const uint64_t *shapes,
                           const uint32_t *places, uint32_t n, uint32_t period)
{
    uint32_t length = 1;

    while (
        length < n && model->end[places[length - 1]] == places[length] &&
        may_repeat(model, places[length]) &&
        (length < period || shapes[places[length]] == shapes[places[length - period]]))
        length++;
    return length - length % period;
}

uint32_t repeats_run(const struct model *model, const uint64_t *shapes, bool blocks,
                     const uint32_t *places, uint32_t n, uint32_t *ret_period)
{
    uint32_t least = REPEATS_LEAST, length;

    if (!may_repeat(model, places[0]))
        return 1;
    if (blocks && !show_is_leaf(model, places[0]))
        least = 2;
    for (uint32_t period = 1; period <= 2; period++) {
        length = run_length(model, shapes, places, n, period);
        if (length / period >= (period == 1 ? least : REPEATS_LEAST)) {
            *ret_period = period;
            return length;
        }
    }
    return 1;
}
