#include <string.h>

#include "model/build.h"

#define RANK_LIMIT 64

/* The index of these sizes and strides in model->dims, added if new; UINT32_MAX:
 * spent. */
static uint32_t add_dims(struct build *build, const int64_t *shape,
                         const int64_t *strides, int rank)
{
    size_t size = (size_t)rank * sizeof *shape;
    struct model *model = build->model;
    uint64_t hash = hash_u64((uint64_t)rank);
    uint32_t at;

    if (rank == 0)
        return 0;
    for (int i = 0; i < rank; i++)
        hash = hash_mix(hash_mix(hash, (uint64_t)shape[i]), (uint64_t)strides[i]);
    for (; map_find(&build->by_dims, hash, &at); hash++)
        if (at + 2 * (uint32_t)rank <= model->n_dims &&
            memcmp(model->dims + at, shape, size) == 0 &&
            memcmp(model->dims + at + rank, strides, size) == 0)
            return at;
    at = model->n_dims;
    for (int i = 0; i < 2 * rank; i++) {
        if (arena_room(&model->arena, &model->dims, model->n_dims, &model->dims_room,
                       sizeof *model->dims) < 0)
            return UINT32_MAX;
        model->dims[model->n_dims++] = i < rank ? shape[i] : strides[i - rank];
    }
    return map_put(&build->by_dims, hash, at) < 0 ? UINT32_MAX : at;
}

uint32_t build_dims(struct build *build, const int64_t *shape, int rank)
{
    static const int64_t no_strides[RANK_LIMIT];

    return rank > RANK_LIMIT ? UINT32_MAX : add_dims(build, shape, no_strides, rank);
}

/* The number of elements; false if a size is negative or the product too large. */
static bool count_elements(const int64_t *shape, int rank, uint64_t *ret_numel)
{
    uint64_t numel = 1;
    bool fits = true, empty = false;

    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return false;
        empty |= shape[i] == 0;
        fits &= !__builtin_mul_overflow(numel, (uint64_t)shape[i], &numel);
    }
    *ret_numel = empty ? 0 : numel;
    return empty || (fits && numel <= INT64_MAX);
}

/* The strides of a dense tensor in C order, as torch gives them (a size of 0 counts as
 * 1). False if they overflow. */
static bool dense_strides(const int64_t *shape, int rank, int64_t *strides)
{
    int64_t step = 1;
    bool fits = true;

    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = step;
        fits &= !__builtin_mul_overflow(step, shape[i] > 0 ? shape[i] : 1, &step);
    }
    return fits;
}

/* The index of the last element in its storage; false if that overflows. */
static bool last_element(const struct tensor *tensor, const int64_t *shape,
                         const int64_t *strides, int rank, uint64_t *ret_last)
{
    uint64_t last = tensor->offset, reach;

    for (int i = 0; i < rank; i++)
        if (strides[i] < 0 ||
            __builtin_mul_overflow((uint64_t)(shape[i] - 1), (uint64_t)strides[i],
                                   &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return false;
    *ret_last = last;
    return last < INT64_MAX;
}

/* What is wrong with the tensor, in a few words; NULL if it is valid. */
static const char *tensor_fault(const struct build *build, struct tensor *tensor,
                                const int64_t *shape, const int64_t *strides, int rank)
{
    uint64_t last, bytes;

    if (!count_elements(shape, rank, &tensor->numel)) {
        tensor->numel = 0;
        return "a size is negative, or all sizes together are too large";
    }
    if (tensor->offset > INT64_MAX)
        return "its offset is negative or too large";
    if (tensor->layout != LAYOUT_STRIDED || tensor->numel == 0)
        return NULL;
    if (!last_element(tensor, shape, strides, rank, &last))
        return "a stride is negative, or its extent is too large";
    if (tensor->storage == NO_STORAGE || tensor->dtype == DTYPE_UNKNOWN)
        return NULL;
    if (!dtype_size(tensor->dtype, last + 1, &bytes) ||
        bytes > build->model->storages[tensor->storage].bytes)
        return "it reaches beyond its storage";
    return NULL;
}

/* The same elements of the same storage in the same shape are one tensor. */
static bool tensor_same(const struct tensor *a, const struct tensor *b)
{
    const unsigned view = TENSOR_CONJ | TENSOR_NEG;

    return a->storage == b->storage && a->offset == b->offset && a->shape == b->shape &&
           a->dtype == b->dtype && a->layout == b->layout && a->rank == b->rank &&
           (a->flags & view) == (b->flags & view);
}

static uint64_t tensor_hash(const struct tensor *tensor)
{
    uint64_t hash = hash_mix(tensor->storage, tensor->offset);

    return hash_mix(hash, tensor->shape);
}

/* Can it be tied to another tensor? Not without bytes to share. */
static bool can_be_tied(const struct tensor *tensor)
{
    return tensor->storage != NO_STORAGE && tensor->numel > 0 &&
           !(tensor->flags & TENSOR_INVALID);
}

/* The entry for the first tensor of a storage; NULL: the arena is spent. Most storages
 * hold one tensor, so most tensors need no hash lookup. */
static uint32_t *first_of_storage(struct build *build, uint32_t storage)
{
    while (build->n_firsts <= storage) {
        if (arena_room(&build->own, &build->firsts, build->n_firsts,
                       &build->firsts_room, sizeof *build->firsts) < 0)
            return NULL;
        build->firsts[build->n_firsts++] = NO_OBJECT;
    }
    return &build->firsts[storage];
}

/* The existing tensor that equals this one, or NO_OBJECT; *ret_hash is then its key in
 * the table. */
static uint32_t find_same(const struct build *build, const struct tensor *tensor,
                          uint32_t first, uint64_t *ret_hash)
{
    const struct tensor *tensors = build->model->tensors;
    uint64_t hash = tensor_hash(tensor);
    uint32_t id;

    if (tensor_same(&tensors[first], tensor))
        return first;
    for (; map_find(&build->by_tensor, hash, &id); hash++)
        if (tensor_same(&tensors[id], tensor))
            return id;
    *ret_hash = hash;
    return NO_OBJECT;
}

static uint32_t add_tensor(struct build *build, const struct tensor *tensor)
{
    struct model *model = build->model;
    uint32_t *first = NULL, id;
    uint64_t hash = 0;

    if (can_be_tied(tensor)) {
        first = first_of_storage(build, tensor->storage);
        if (!first)
            return NO_OBJECT;
        id = *first == NO_OBJECT ? NO_OBJECT : find_same(build, tensor, *first, &hash);
        if (id != NO_OBJECT) {
            if (tensor->role < model->tensors[id].role)
                model->tensors[id].role = tensor->role;
            return id;
        }
    }
    if (arena_room(&model->arena, &model->tensors, model->n_tensors,
                   &model->tensors_room, sizeof *model->tensors) < 0)
        return NO_OBJECT;
    if (first && *first == NO_OBJECT)
        *first = model->n_tensors;
    else if (first && map_put(&build->by_tensor, hash, model->n_tensors) < 0)
        return NO_OBJECT;
    model->tensors[model->n_tensors] = *tensor;
    return model->n_tensors++;
}

uint32_t build_tensor(struct build *build, uint32_t node, struct tensor *tensor,
                      const int64_t *shape, const int64_t *strides, int rank)
{
    int64_t dense[RANK_LIMIT];
    const char *fault = NULL;
    uint32_t id;

    if (rank < 0 || rank > RANK_LIMIT) {
        fault = "it has more than 64 dimensions";
        rank = 0;
    }
    if (!strides) {
        if (!dense_strides(shape, rank, dense))
            fault = "all sizes together are too large";
        strides = dense;
    }
    if (!fault)
        fault = tensor_fault(build, tensor, shape, strides, rank);
    if (fault) {
        tensor->flags |= TENSOR_INVALID;
        build_finding(build, FINDING_BAD_TENSOR, SEVERITY_ALARM, node,
                      "tensor not usable: %s", fault);
    }
    tensor->rank = (uint8_t)rank;
    tensor->shape = add_dims(build, shape, strides, rank);
    if (tensor->shape == UINT32_MAX)
        return NO_OBJECT;
    id = add_tensor(build, tensor);
    if (id != NO_OBJECT && node != NO_PLACE)
        build_tensor_again(build, node, id);
    return id;
}

bool build_tensor_undo(struct build *build, uint32_t node, uint32_t tensor)
{
    struct model *model = build->model;
    uint32_t storage;

    if (tensor + 1 != model->n_tensors || build_tensor_at(build, node) != tensor)
        return false;
    storage = model->tensors[tensor].storage;
    if (can_be_tied(&model->tensors[tensor])) {
        if (build->firsts[storage] != tensor)
            return false;
        build->firsts[storage] = NO_OBJECT;
    }
    build_set_kind(build, node, PLACE_VALUE);
    build_set_object(build, node, VALUE_ID_NONE);
    model->n_tensors--;
    return true;
}

void build_tensor_again(struct build *build, uint32_t node, uint32_t tensor)
{
    build_set_kind(build, node, PLACE_TENSOR);
    build_set_object(build, node, tensor);
}
