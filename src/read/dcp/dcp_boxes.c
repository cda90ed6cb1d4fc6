/* Checks that the boxes of a tensor fill it: none overlap, and they have as many
 * elements as the tensor. Boxes are sorted along the dimension with most cuts, and each
 * is compared with those that begin before it ends: linear for shards of one
 * dimension. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/base.h"
#include "read/dcp/dcp_in.h"

static bool overlap(const struct dcp_box *a, const struct dcp_box *b, int rank)
{
    for (int d = 0; d < rank; d++)
        if (a->offsets[d] + a->sizes[d] <= b->offsets[d] ||
            b->offsets[d] + b->sizes[d] <= a->offsets[d])
            return false;
    return a->numel > 0 && b->numel > 0;
}

/* A box and its start along one dimension. */
struct dcp_edge {
    const struct dcp_box *box;
    int64_t begin;
};

static int by_begin(const void *a, const void *b)
{
    const struct dcp_edge *x = a, *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void sort_along(struct dcp_edge *edges, const struct dcp_whole *whole, int d)
{
    for (uint32_t i = 0; i < whole->n; i++)
        edges[i] = (struct dcp_edge){&whole->boxes[i],
                                     d < whole->rank ? whole->boxes[i].offsets[d] : 0};
    qsort(edges, whole->n, sizeof *edges, by_begin);
}

/* The dimension with most different starts. */
static int best_dimension(struct dcp_edge *edges, const struct dcp_whole *whole)
{
    uint32_t most = 0;
    int best = 0;

    for (int d = 0; d < whole->rank; d++) {
        uint32_t n = 1;

        sort_along(edges, whole, d);
        for (uint32_t i = 1; i < whole->n; i++)
            n += edges[i].begin != edges[i - 1].begin;
        if (n > most) {
            most = n;
            best = d;
        }
    }
    return best;
}

/* 1: some boxes overlap; -1: too many to compare. */
static int any_overlap(struct dcp *dcp, const struct dcp_whole *whole)
{
    struct dcp_edge *edges =
        arena_array(&dcp->build->scratch, (size_t)whole->n + 1, sizeof *edges);
    int d;

    if (!edges)
        return -1;
    d = best_dimension(edges, whole);
    sort_along(edges, whole, d);
    for (uint32_t i = 0; i < whole->n; i++) {
        const struct dcp_box *box = edges[i].box;
        int64_t end = whole->rank > 0 ? box->offsets[d] + box->sizes[d] : 1;

        for (uint32_t k = i + 1; k < whole->n && edges[k].begin < end; k++) {
            if (dcp->looks_left == 0)
                return -1;
            dcp->looks_left--;
            if (overlap(box, edges[k].box, whole->rank))
                return 1;
        }
    }
    return 0;
}

bool dcp_check_boxes(struct dcp *dcp, const struct dcp_whole *whole, uint32_t node,
                     struct str name)
{
    uint64_t sum = 0;
    int overlaps = whole->n > 1 ? any_overlap(dcp, whole) : 0;

    if (overlaps > 0)
        build_finding(dcp->build, FINDING_OVERLAP, SEVERITY_ALARM, node,
                      "parts of %.*s overlap: the values in the overlap are undefined",
                      STR_ARG(str_head(name, 200)));
    if (overlaps < 0 && !dcp->said_looks) {
        dcp->said_looks = true;
        build_finding(dcp->build, FINDING_LIMIT, SEVERITY_WARNING, node,
                      "this and later tensors have too many parts to check for "
                      "overlaps");
    }
    for (uint32_t i = 0; i < whole->n; i++)
        if (__builtin_add_overflow(sum, whole->boxes[i].numel, &sum))
            sum = UINT64_MAX;
    if (sum < whole->numel)
        build_finding(dcp->build, FINDING_MISSING_RECORD, SEVERITY_ALARM, node,
                      "the parts of %.*s have %" PRIu64 " of its %" PRIu64
                      " elements: the others were not saved",
                      STR_ARG(str_head(name, 200)), sum, whole->numel);
    return overlaps <= 0 && sum == whole->numel;
}
