#include "rows/repeats.h"

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

/* Is the argument just the index of the block? Blocks of transformers have one but are
 * otherwise equal. */
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

/* A hash of the place itself, without its children. */
static uint64_t own_hash(const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    uint64_t hash = hash_mix(model->kind[place], model->flags[place]);
    const struct object *object;

    /* Blocks may share weights; only the first one owns them. */
    if (model->kind[place] == PLACE_TENSOR)
        return hash_mix(hash_mix(hash, tensor_hash(model, place_tensor(model, place))),
                        counts_here(model, place));
    if (model->kind[place] == PLACE_VALUE)
        return hash; /* values may differ */
    /* Keep modules visible that were called differently or failed. */
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

/* Only modules repeat. */
static bool may_repeat(const struct model *model, uint32_t place)
{
    return model->kind[place] == PLACE_MODULE;
}

/* Is `place` equal to the sibling `steps` further on? */
static bool equal_to(const struct model *model, const uint64_t *shapes, uint32_t place,
                     int steps)
{
    uint32_t other = place, parent = model->parent[place];

    for (int i = 0; i < steps; i++) {
        other = model->end[other];
        if (parent == NO_PLACE || other >= model->end[parent] ||
            !may_repeat(model, other))
            return false;
    }
    return may_repeat(model, place) && shapes[place] == shapes[other];
}

/* Is the order below a place only the order of the file? True for modules known only by
 * name: at a shard boundary, a layer may list its parts in a different order than its
 * equals. */
static bool is_unordered(const struct model *model, uint32_t place)
{
    const struct object *object;

    if (model->kind[place] != PLACE_MODULE)
        return false;
    object = place_object(model, place);
    return !object || object->class_id == NO_CLASS || object->guessed;
}

/* Compute a hash for each place; equal subtrees have equal hashes. */
static void find_shapes(const struct show *show, uint64_t *shapes)
{
    const struct model *model = show->model;

    for (uint32_t p = model->n_places; p-- > 0;) {
        uint32_t parent = model->parent[p];

        shapes[p] = hash_mix(own_hash(show, p), shapes[p]);
        if (parent == NO_PLACE)
            continue;
        if (is_unordered(model, parent))
            shapes[parent] += hash_mix(hash_mix(1, model->name[p]), shapes[p]);
        else
            shapes[parent] =
                hash_mix(hash_mix(shapes[parent], model->name[p]), shapes[p]);
    }
}

int repeats_find(struct repeats *repeats, const struct show *show, struct arena *arena)
{
    const struct model *model = show->model;
    uint8_t *next = arena_alloc(arena, bit_bytes(model->n_places));
    uint8_t *second = arena_alloc(arena, bit_bytes(model->n_places));
    struct arena scratch;
    uint64_t *shapes;

    if (!next || !second)
        return -1;
    arena_init(&scratch, 0);
    shapes = arena_array(&scratch, model->n_places, sizeof *shapes);
    if (shapes) {
        find_shapes(show, shapes);
        for (uint32_t p = 0; p < model->n_places; p++) {
            bit_set(next, p, equal_to(model, shapes, p, 1));
            bit_set(second, p, equal_to(model, shapes, p, 2));
        }
        *repeats = (struct repeats){next, second};
    }
    arena_release(&scratch);
    return shapes ? 0 : -1;
}

/* The number of siblings that repeat with the given period. */
static uint32_t run_length(const struct repeats *repeats, const struct model *model,
                           uint32_t place, uint32_t period)
{
    const uint8_t *bits = period == 1 ? repeats->next : repeats->second;
    uint32_t length = period;

    while (bit_get(bits, place)) {
        length++;
        place = model->end[place];
    }
    return length - length % period;
}

uint32_t repeats_run(const struct repeats *repeats, const struct model *model,
                     bool blocks, uint32_t place, uint32_t *ret_period)
{
    uint32_t least = REPEATS_LEAST, length;

    if (blocks && bit_get(repeats->next, place) && !show_is_leaf(model, place))
        least = 2;
    for (uint32_t period = 1; period <= 2; period++) {
        length = run_length(repeats, model, place, period);
        if (length / period >= (period == 1 ? least : REPEATS_LEAST)) {
            *ret_period = period;
            return length;
        }
    }
    return 1;
}
