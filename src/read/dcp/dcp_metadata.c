#include <string.h>

#include "base/base.h"
#include "read/dcp/dcp_in.h"
#include "read/pickle/pickle_value_in.h"

static const char metadata_class[] = "torch.distributed.checkpoint.metadata.Metadata";

/* The attribute of an object of a dataclass, or NO_NODE. */
static node_id member(const struct pickle *pickle, node_id object, const char *name)
{
    const struct node *node = pickle_node(pickle, object);

    if (!node || !node_is_made(node))
        return NO_NODE;
    return pickle_dict_get(pickle, node_state(pickle, node), name);
}

/* The last part of the name of an object's class. */
static bool has_class(const struct pickle *pickle, node_id object, const char *name)
{
    struct str full =
        pickle_text(pickle, pickle_class(pickle, pickle_callee(pickle, object)));
    ptrdiff_t dot = str_find_last_char(full, '.');

    return str_is(str_from(full, (size_t)(dot + 1)), name);
}

bool dcp_is_metadata(struct dcp *dcp)
{
    const struct pickle *pickle = &dcp->pickle;
    node_id class = pickle_class(pickle, pickle_callee(pickle, pickle->result));

    if (!str_is(pickle_text(pickle, class), metadata_class))
        return false;
    dcp->items = member(pickle, pickle->result, "state_dict_metadata");
    dcp->path_of = member(pickle, pickle->result, "planner_data");
    return pickle_is_dict(pickle, dcp->items);
}

/* The numbers of a torch.Size, tuple or list; -1: another node, or too many numbers. */
static int numbers(const struct pickle *pickle, node_id node, int64_t *numbers,
                   int room)
{
    uint32_t n;

    if (has_class(pickle, node, "Size"))
        node = pickle_arg(pickle, node, 0);
    if (!pickle_is_list(pickle, node))
        return -1;
    n = pickle_list_n(pickle, node);
    if (n > (uint32_t)room)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (!pickle_int(pickle, pickle_list_at(pickle, node, i), &numbers[i]))
            return -1;
    return (int)n;
}

/* ---- locations of items ---- */

static uint64_t key_hash(struct str fqn, const int64_t *offsets, int rank)
{
    uint64_t hash = hash_mix(str_hash(fqn), offsets ? (uint64_t)rank + 1 : 0);

    for (int i = 0; offsets && i < rank; i++)
        hash = hash_mix(hash, (uint64_t)offsets[i]);
    return hash;
}

static bool is_key(const struct dcp *dcp, const struct dcp_place *place, struct str fqn,
                   const int64_t *offsets, int rank)
{
    int64_t own[DCP_RANK];
    int n = numbers(&dcp->pickle, place->offset, own, DCP_RANK);

    if (!str_eq(pickle_text(&dcp->pickle, place->fqn), fqn))
        return false;
    if (!offsets || n < 0)
        return !offsets && n < 0;
    return n == rank && memcmp(own, offsets, (size_t)n * sizeof *own) == 0;
}

const struct dcp_place *dcp_find(const struct dcp *dcp, struct str fqn,
                                 const int64_t *offsets, int rank)
{
    uint64_t hash = key_hash(fqn, offsets, rank);
    uint32_t index;

    for (; map_find(&dcp->by_key, hash, &index); hash++)
        if (is_key(dcp, &dcp->places[index], fqn, offsets, rank))
            return &dcp->places[index];
    return NULL;
}

static void read_transform(const struct pickle *pickle, node_id list,
                           struct dcp_place *place)
{
    if (!pickle_is_list(pickle, list) || pickle_list_n(pickle, list) == 0)
        return;
    place->transformed = true;
    place->transform = pickle_text(pickle, pickle_list_at(pickle, list, 0));
}

/* One pair of storage_data; false: it is malformed. */
static bool read_place(const struct pickle *pickle, node_id key, node_id info,
                       struct dcp_place *ret_place)
{
    int64_t at, size;
    struct dcp_place place = {
        .fqn = member(pickle, key, "fqn"),
        .offset = member(pickle, key, "offset"),
        .file = pickle_text(pickle, member(pickle, info, "relative_path"))};

    if (place.fqn == NO_NODE || place.file.len == 0 ||
        !pickle_int(pickle, member(pickle, info, "offset"), &at) ||
        !pickle_int(pickle, member(pickle, info, "length"), &size) || at < 0 ||
        size < 0)
        return false;
    place.at = (uint64_t)at;
    place.size = (uint64_t)size;
    read_transform(pickle, member(pickle, info, "transform_descriptors"), &place);
    *ret_place = place;
    return true;
}

static int add_place(struct dcp *dcp, const struct dcp_place *place)
{
    struct arena *arena = &dcp->build->scratch;
    int64_t offsets[DCP_RANK];
    int rank = numbers(&dcp->pickle, place->offset, offsets, DCP_RANK);
    const int64_t *at = rank < 0 ? NULL : offsets;
    struct str fqn = pickle_text(&dcp->pickle, place->fqn);
    uint64_t hash = key_hash(fqn, at, rank);
    uint32_t index;

    for (; map_find(&dcp->by_key, hash, &index); hash++)
        if (is_key(dcp, &dcp->places[index], fqn, at, rank))
            return 0;
    if (arena_room(arena, &dcp->places, dcp->n_places, &dcp->places_room,
                   sizeof *dcp->places) < 0 ||
        map_put(&dcp->by_key, hash, dcp->n_places) < 0)
        return -1;
    dcp->places[dcp->n_places++] = *place;
    return 0;
}

int dcp_index(struct dcp *dcp, struct err *err)
{
    const struct pickle *pickle = &dcp->pickle;
    node_id all = member(pickle, pickle->result, "storage_data"), key, value;
    uint32_t n = pickle_dict_n(pickle, all), bad = 0;
    struct dcp_place place;

    map_init(&dcp->by_key, &dcp->build->scratch);
    for (uint32_t i = 0; i < n; i++) {
        if (!pickle_dict_at(pickle, all, i, &key, &value))
            break;
        if (!read_place(pickle, key, value, &place))
            bad++;
        else if (add_place(dcp, &place) < 0)
            return arena_err(&dcp->build->scratch, dcp->input->path, err);
    }
    if (bad > 0)
        build_finding(dcp->build, FINDING_DAMAGED, SEVERITY_ALARM, dcp->input->node,
                      "%u entries of storage_data in .metadata are malformed", bad);
    dcp->looks_left = 64 * (uint64_t)n + 100000;
    return 0;
}

/* ---- tensors ---- */

bool dcp_is_tensor(const struct dcp *dcp, node_id item)
{
    return has_class(&dcp->pickle, item, "TensorStorageMetadata");
}

/* The dtype is the first of the tuple that is the state of the properties. */
static enum dtype read_dtype(const struct pickle *pickle, node_id properties)
{
    const struct node *node = pickle_node(pickle, properties);
    node_id state;

    if (!node || !node_is_made(node))
        return DTYPE_UNKNOWN;
    state = node_state(pickle, node);
    return dtype_by_name(pickle_text(
        pickle, pickle_is_dict(pickle, state) ? pickle_dict_get(pickle, state, "dtype")
                                              : pickle_item(pickle, state, 0)));
}

/* The product of sizes; false: it overflows, or one is negative. */
static bool product(const int64_t *sizes, int rank, uint64_t *ret_n)
{
    uint64_t n = 1;

    for (int i = 0; i < rank; i++)
        if (sizes[i] < 0 || __builtin_mul_overflow(n, (uint64_t)sizes[i], &n))
            return false;
    *ret_n = n;
    return n <= INT64_MAX;
}

/* A box inside the tensor; false: it is malformed, or outside. */
static bool read_box(struct dcp *dcp, node_id chunk, const struct dcp_whole *whole,
                     struct dcp_box *ret_box, bool *spent)
{
    const struct pickle *pickle = &dcp->pickle;
    size_t rank = (size_t)whole->rank;
    int64_t *both = arena_array(&dcp->build->scratch, 2 * rank + 1, sizeof *both);
    struct dcp_box box = {.storage = NO_STORAGE};

    *spent = !both;
    if (!both)
        return false;
    if (numbers(pickle, member(pickle, chunk, "offsets"), both, whole->rank) !=
            whole->rank ||
        numbers(pickle, member(pickle, chunk, "sizes"), both + rank, whole->rank) !=
            whole->rank ||
        !product(both + rank, whole->rank, &box.numel))
        return false;
    for (size_t d = 0; d < rank; d++)
        if (both[d] < 0 || both[d] > whole->shape[d] ||
            both[rank + d] > whole->shape[d] - both[d])
            return false;
    box.offsets = both;
    box.sizes = both + rank;
    *ret_box = box;
    return true;
}

bool dcp_whole(struct dcp *dcp, node_id item, struct dcp_whole *ret_whole,
               const char **ret_why)
{
    const struct pickle *pickle = &dcp->pickle;
    node_id chunks = member(pickle, item, "chunks");
    struct dcp_whole *whole = ret_whole;
    bool spent = false;

    memset(whole, 0, sizeof *whole);
    whole->dtype = read_dtype(pickle, member(pickle, item, "properties"));
    whole->rank = numbers(pickle, member(pickle, item, "size"), whole->shape, DCP_RANK);
    *ret_why = "its size is malformed";
    if (whole->rank < 0 || !product(whole->shape, whole->rank, &whole->numel))
        return false;
    *ret_why = "its dtype is unknown";
    if (whole->dtype == DTYPE_UNKNOWN || dtype_info(whole->dtype)->block != 1)
        return false;
    *ret_why = "its list of parts is malformed";
    if (!pickle_is_list(pickle, chunks))
        return false;
    whole->n = pickle_list_n(pickle, chunks);
    whole->boxes =
        arena_array(&dcp->build->scratch, (size_t)whole->n + 1, sizeof *whole->boxes);
    *ret_why = "memory is spent";
    if (!whole->boxes)
        return false;
    *ret_why = "one of its parts lies outside it";
    for (uint32_t i = 0; i < whole->n; i++)
        if (!read_box(dcp, pickle_list_at(pickle, chunks, i), whole, &whole->boxes[i],
                      &spent)) {
            if (spent)
                *ret_why = "memory is spent";
            return false;
        }
    return true;
}
