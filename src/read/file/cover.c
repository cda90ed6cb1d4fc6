#include "read/file/cover_in.h"

#include <stdlib.h>

#include "base/base.h"

/* The bytes of a tensor, from the beginning of the data. */
struct extent {
    uint64_t begin, end;
    uint32_t node;
};

void cover_begin(struct cover *cover, const struct build *build, uint64_t data_at,
                 uint64_t alignment)
{
    *cover = (struct cover){
        .data_at = data_at, .alignment = alignment, .first_node = build->n_nodes};
}

static uint64_t end_of(uint64_t at, uint64_t bytes)
{
    uint64_t end;

    return __builtin_add_overflow(at, bytes, &end) ? UINT64_MAX : end;
}

static int compare(uint64_t begin, uint64_t end, uint64_t other, uint64_t other_end)
{
    if (begin != other)
        return begin < other ? -1 : 1;
    return end < other_end ? -1 : end > other_end;
}

static int by_begin(const void *left, const void *right)
{
    const struct extent *a = left, *b = right;

    return compare(a->begin, a->end, b->begin, b->end);
}

void cover_note(struct cover *cover, uint64_t at, uint64_t bytes)
{
    uint64_t end = end_of(at, bytes);

    cover->unsorted |=
        cover->n > 0 && compare(cover->last, cover->last_end, at, end) > 0;
    cover->last = at;
    cover->last_end = end;
    cover->n++;
}

/* The extent of the tensor at a node; false: none. */
static bool extent_at(const struct cover *cover, const struct build *build,
                      uint32_t node, struct extent *ret_extent)
{
    const struct model *model = build->model;
    uint32_t tensor = build_tensor_at(build, node);
    const struct storage *storage;

    if (tensor == NO_OBJECT)
        return false;
    storage = &model->storages[model->tensors[tensor].storage];
    ret_extent->begin = storage->at - cover->data_at;
    ret_extent->end = end_of(ret_extent->begin, storage->bytes);
    ret_extent->node = node;
    return true;
}

/* Check the next tensor in the order of the data against those before it, which end at
 * *reached. */
static void check_extent(const struct cover *cover, struct build *build,
                         const struct extent *at, uint64_t *reached)
{
    if (at->begin > *reached && at->begin - *reached >= cover->alignment)
        build_finding(build, FINDING_HOLE, SEVERITY_WARNING, at->node,
                      "%llu unused bytes before byte %llu of the data",
                      (unsigned long long)(at->begin - *reached),
                      (unsigned long long)at->begin);
    else if (at->begin < *reached && at->end > at->begin)
        build_finding(build, FINDING_OVERLAP, SEVERITY_ALARM, at->node,
                      "shares bytes %llu to %llu of the data with another tensor",
                      (unsigned long long)at->begin,
                      (unsigned long long)(at->end < *reached ? at->end : *reached));
    if (at->end > *reached)
        *reached = at->end;
}

int cover_check(const struct cover *cover, struct build *build, uint64_t *ret_reached)
{
    struct extent *sorted = NULL, extent;
    uint64_t reached = 0;
    uint32_t n = 0;

    if (cover->unsorted) {
        sorted = arena_array(&build->scratch, cover->n, sizeof *sorted);
        if (!sorted)
            return -1;
    }
    for (uint32_t node = cover->first_node; node < build->n_nodes; node++) {
        if (!extent_at(cover, build, node, &extent))
            continue;
        if (!sorted)
            check_extent(cover, build, &extent, &reached);
        else if (n < cover->n)
            sorted[n++] = extent;
    }
    if (sorted)
        qsort(sorted, n, sizeof *sorted, by_begin);
    for (uint32_t i = 0; i < n; i++)
        check_extent(cover, build, &sorted[i], &reached);
    *ret_reached = reached;
    return 0;
}
