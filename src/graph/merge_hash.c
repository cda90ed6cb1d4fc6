/* Hashes of parts that are equal in both networks. They are made from texts, because
 * numbers of classes and values are valid in one session only. */
#include "graph/merge_in.h"

#define RESULTS_MOST 16 /* number of results compared */

/* Links by source, in their order. */
static int index_links(struct merge_side *side, struct arena *scratch)
{
    const struct parts *parts = side->parts;
    uint32_t *at;

    side->first_out =
        arena_array(scratch, (size_t)parts->n + 2, sizeof *side->first_out);
    at = arena_array(scratch, (size_t)parts->n + 2, sizeof *at);
    side->out = arena_array(scratch, (size_t)parts->n_links + 1, sizeof *side->out);
    if (!side->first_out || !at || !side->out)
        return -1;
    for (uint32_t i = 0; i < parts->n_links; i++)
        side->first_out[parts->links[i].source + 1]++;
    for (uint32_t i = 0; i < parts->n; i++) {
        side->first_out[i + 1] += side->first_out[i];
        at[i] = side->first_out[i];
    }
    for (uint32_t i = 0; i < parts->n_links; i++)
        side->out[at[parts->links[i].source]++] = i;
    return 0;
}

/* The value of the k-th link from a part; NULL: it has fewer. */
static const struct part_value *result_of(const struct merge_side *side, uint32_t part,
                                          uint32_t k)
{
    uint32_t at = side->first_out[part] + k;

    if (at >= side->first_out[part + 1])
        return NULL;
    return &side->parts->values[side->parts->links[side->out[at]].value];
}

static bool same_value(const struct part_value *a, const struct part_value *b)
{
    return str_eq(a->shape, b->shape) && str_eq(a->dtype, b->dtype);
}

/* Which of several results are read is not a property of the part, so one equal result
 * is enough. */
bool merge_other_results(const struct merge *merge, uint32_t old, uint32_t new)
{
    const struct part_value *a, *b;

    if (!result_of(&merge->side[MERGE_OLD], old, 0) ||
        !result_of(&merge->side[MERGE_NEW], new, 0))
        return false;
    for (uint32_t i = 0; i < RESULTS_MOST; i++) {
        a = result_of(&merge->side[MERGE_OLD], old, i);
        for (uint32_t k = 0; a && k < RESULTS_MOST; k++) {
            b = result_of(&merge->side[MERGE_NEW], new, k);
            if (b && same_value(a, b))
                return false;
        }
    }
    return true;
}

/* Without the name (of a module) and the content. */
static uint64_t own_hash(const struct merge_side *side, uint32_t part)
{
    const struct parts *parts = side->parts;
    const struct diagram_box *box = &parts->at[part].box;
    const struct part_value *result = result_of(side, part, 0);
    uint64_t hash = hash_mix(box->kind, merge_is_leaf(side, part));

    if (box->kind == DIAGRAM_OP || box->kind == DIAGRAM_VIEW)
        hash = hash_mix(hash, str_hash(box->name));
    for (uint32_t i = 0; i < box->n_words; i++)
        hash = hash_mix(hash, str_hash(parts->words[box->words + i]));
    if (result && merge_is_leaf(side, part))
        hash =
            hash_mix(hash_mix(hash, str_hash(result->shape)), str_hash(result->dtype));
    return hash;
}

static int make_hashes(struct merge_side *side, struct arena *scratch)
{
    const struct parts *parts = side->parts;

    side->hash = arena_array(scratch, (size_t)parts->n + 1, sizeof *side->hash);
    if (!side->hash)
        return -1;
    /* Parts come after those around them, so this mixes in the content first. */
    for (uint32_t i = parts->n; i-- > 0;) {
        const struct graph_part *part = &parts->at[i];

        side->hash[i] = hash_mix(side->hash[i], own_hash(side, i));
        if (i > 0)
            side->hash[part->parent] =
                hash_mix(side->hash[part->parent],
                         hash_mix(side->hash[i], str_hash(part->box.name)));
    }
    return 0;
}

int merge_prepare(struct merge *merge)
{
    for (int s = 0; s < MERGE_SIDES; s++) {
        struct merge_side *side = &merge->side[s];
        size_t n = (size_t)side->parts->n + 1;

        side->match = arena_array(merge->scratch, n, sizeof *side->match);
        side->merged = arena_array(merge->scratch, n, sizeof *side->merged);
        if (!side->match || !side->merged || index_links(side, merge->scratch) < 0 ||
            make_hashes(side, merge->scratch) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            side->match[i] = side->merged[i] = PART_NONE;
    }
    return 0;
}
