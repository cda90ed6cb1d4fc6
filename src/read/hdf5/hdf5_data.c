#include <inttypes.h>

#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/hdf5/hdf5_parts_in.h"

#define VALUE_BYTES (4 * MIB) /* of a dataset that is shown as a value */
/* Deflate packs at most 1,032 times: a larger dataset is a lie, or nearly empty. */
#define SPARSE_MOST 2048
#define CHUNK_FREE  (32 * MIB)
#define CHUNK_TIMES 4

enum layout_class { LAYOUT_COMPACT, LAYOUT_WHOLE, LAYOUT_CHUNKED, LAYOUT_VIRTUAL };

struct dataset {
    struct hdf5 *file;
    uint32_t item, node;
    struct hdf5_type type;
    struct hdf5_space space;
    uint8_t class;      /* enum layout_class */
    struct str compact; /* the elements */
    uint64_t at, size;  /* WHOLE */
    bool external;      /* its elements are in other files */
    struct hdf5_layout chunks;
    uint64_t bytes; /* of all elements; UINT64_MAX: too many */
};

/* ---- the layout ---- */

static void take_chunk_dims(struct dataset *set, struct bytes *in, int rank,
                            unsigned size)
{
    for (int i = 0; i < rank && i < HDF5_RANK; i++)
        set->chunks.chunk[i] = hdf5_number(in, size);
}

/* Versions 1 and 2 have the dimensions first. */
static void take_old_layout(struct dataset *set, struct bytes *in)
{
    int rank = bytes_u8(in);

    set->class = bytes_u8(in);
    bytes_skip(in, 5);
    if (set->class != LAYOUT_COMPACT)
        set->at = set->chunks.at = hdf5_offset(set->file, in);
    take_chunk_dims(set, in, rank, 4);
    set->chunks.rank = set->class == LAYOUT_CHUNKED ? rank - 1 : rank;
    set->size = set->bytes;
    if (set->class == LAYOUT_CHUNKED)
        bytes_u32(in); /* size of an element */
    if (set->class == LAYOUT_COMPACT)
        set->compact = bytes_take(in, bytes_u32(in));
}

/* Flags, rank, size of the numbers, dimensions, kind of index and its parameters. */
static void take_new_chunks(struct dataset *set, struct bytes *in)
{
    struct hdf5_layout *chunks = &set->chunks;
    uint8_t flags = bytes_u8(in);
    unsigned size;

    chunks->rank = bytes_u8(in) - 1;
    size = bytes_u8(in);
    take_chunk_dims(set, in, chunks->rank, size < 8 ? size : 8);
    hdf5_number(in, size < 8 ? size : 8); /* size of an element */
    chunks->index = bytes_u8(in);
    if (chunks->index == INDEX_SINGLE && (flags & 2)) {
        chunks->single_size = hdf5_length(set->file, in);
        chunks->single_mask = bytes_u32(in);
    } else if (chunks->index == INDEX_FIXED) {
        bytes_skip(in, 1);
    } else if (chunks->index == INDEX_EXTENSIBLE) {
        bytes_skip(in, 5);
    } else if (chunks->index == INDEX_BTREE2) {
        bytes_skip(in, 6);
    }
    chunks->at = hdf5_offset(set->file, in);
}

static int take_layout(struct dataset *set, struct str message, struct err *err)
{
    struct bytes in = bytes_of(message.at, message.len);
    uint8_t version = bytes_u8(&in);

    if (version < 3)
        take_old_layout(set, &in);
    else
        set->class = bytes_u8(&in);
    if (version >= 3 && set->class == LAYOUT_COMPACT) {
        set->compact = bytes_take(&in, bytes_u16(&in));
    } else if (version >= 3 && set->class == LAYOUT_WHOLE) {
        set->at = hdf5_offset(set->file, &in);
        set->size = hdf5_length(set->file, &in);
    } else if (version == 3 && set->class == LAYOUT_CHUNKED) {
        set->chunks.rank = bytes_u8(&in) - 1;
        set->chunks.at = hdf5_offset(set->file, &in);
        take_chunk_dims(set, &in, set->chunks.rank, 4);
    } else if (version > 3 && set->class == LAYOUT_CHUNKED) {
        take_new_chunks(set, &in);
    }
    if (version < 1 || version > 5 || set->class > LAYOUT_CHUNKED)
        return err_set_about(err, ERR_UNSUPPORTED, set->file->path,
                             set->class == LAYOUT_VIRTUAL
                                 ? ": a virtual dataset, whose values are in others"
                                 : ": a layout of an unknown version");
    if (in.bad)
        return err_set_about(err, ERR_FORMAT, set->file->path, ": a truncated layout");
    return 0;
}

/* The element that is read where nothing was written. */
static void take_fill(struct dataset *set, const struct hdf5_object *object)
{
    const struct hdf5_message *message = hdf5_message(object, MESSAGE_FILL);
    uint8_t version, flags;
    struct bytes in;
    struct str fill = {0};

    if (message) {
        in = bytes_of(message->data.at, message->data.len);
        version = bytes_u8(&in);
        flags = bytes_u8(&in);
        if (version >= 3 ? (flags & 0x20)
                         : (bytes_u8(&in), bytes_u8(&in)) || version == 1)
            fill = bytes_take(&in, bytes_u32(&in));
    } else {
        message = hdf5_message(object, MESSAGE_OLD_FILL);
        if (!message)
            return;
        in = bytes_of(message->data.at, message->data.len);
        fill = bytes_take(&in, bytes_u32(&in));
    }
    if (!in.bad && fill.len > 0 && fill.len == set->type.size &&
        fill.len <= sizeof set->chunks.fill)
        memcpy(set->chunks.fill, fill.at, fill.len);
}

static const struct hdf5_message *need(struct dataset *set,
                                       const struct hdf5_object *object,
                                       enum hdf5_message_type type, struct err *err)
{
    const struct hdf5_message *message = hdf5_message(object, type);

    if (!message)
        err_set_about(err, ERR_FORMAT, set->file->path,
                      ": a dataset without a type, a shape or a layout");
    return message;
}

static int describe(struct dataset *set, const struct hdf5_object *object,
                    struct err *err)
{
    struct hdf5 *file = set->file;
    const struct hdf5_message *type = need(set, object, MESSAGE_TYPE, err);
    const struct hdf5_message *space = need(set, object, MESSAGE_SPACE, err);
    const struct hdf5_message *layout = need(set, object, MESSAGE_LAYOUT, err);
    const struct hdf5_message *filters = hdf5_message(object, MESSAGE_FILTERS);

    if (!type || !space || !layout ||
        hdf5_type(file, type->data, type->flags & MESSAGE_SHARED, &set->type, err) <
            0 ||
        hdf5_space(file, space->data, &set->space, err) < 0)
        return -1;
    if (set->space.n == UINT64_MAX ||
        __builtin_mul_overflow(set->space.n, (uint64_t)set->type.size, &set->bytes))
        set->bytes = UINT64_MAX;
    set->external = hdf5_message(object, MESSAGE_EXTERNAL);
    if (take_layout(set, layout->data, err) < 0)
        return -1;
    take_fill(set, object);
    return filters ? hdf5_filters(file, filters->data, &set->chunks.filters, err) : 0;
}

/* ---- chunks ---- */

static int plan_chunks(struct dataset *set, struct err *err)
{
    struct hdf5_layout *chunks = &set->chunks;
    uint64_t most = CHUNK_FREE + CHUNK_TIMES * set->file->end;
    const char *unknown = hdf5_filters_unknown(&chunks->filters);

    if (unknown)
        return err_set_about(err, ERR_UNSUPPORTED, set->file->path,
                             ": its values are packed with %s, which is not supported; "
                             "`h5repack -f GZIP=1` packs them with gzip",
                             unknown);
    if (chunks->rank != set->space.rank || chunks->rank < 1)
        return err_set_about(err, ERR_FORMAT, set->file->path,
                             ": its chunks have another number of dimensions");
    chunks->element = set->type.size;
    chunks->chunk_bytes = set->type.size;
    chunks->n_grid = 1;
    chunks->growing = -1;
    for (int i = 0; i < chunks->rank; i++) {
        uint64_t chunk = chunks->chunk[i], limit = set->space.most[i];

        if (chunk == 0 || chunk > most ||
            __builtin_mul_overflow(chunks->chunk_bytes, chunk, &chunks->chunk_bytes) ||
            chunks->chunk_bytes > most)
            return err_set_about(
                err, ERR_LIMIT, set->file->path,
                ": chunks of more than %" PRIu64 " bytes are not supported", most);
        chunks->dims[i] = set->space.dims[i];
        chunks->grid[i] = (chunks->dims[i] - 1) / chunk + 1;
        chunks->n_grid *= chunks->grid[i]; /* at most the number of elements */
        if (limit == UINT64_MAX)
            chunks->growing = chunks->growing < 0 ? i : chunks->growing;
        chunks->most[i] = limit == 0 || limit == UINT64_MAX ? chunks->grid[i]
                                                            : (limit - 1) / chunk + 1;
    }
    if (chunks->index == INDEX_SINGLE && chunks->filters.n == 0)
        chunks->single_size = chunks->chunk_bytes;
    if (chunks->single_size > UINT32_MAX)
        return err_set_about(err, ERR_LIMIT, set->file->path,
                             ": a chunk of more than 4 GiB is not supported");
    return hdf5_find_chunks(set->file, chunks, err);
}

/* Does the file hold any element? */
static bool is_written(const struct dataset *set)
{
    if (set->class == LAYOUT_WHOLE)
        return set->at != HDF5_NOWHERE;
    return set->class == LAYOUT_COMPACT || set->chunks.n_chunks > 0;
}

/* More elements than the file can have; only a lie needs memory or time for them. */
static bool is_too_large(const struct dataset *set)
{
    return set->bytes > 64 * MIB && set->bytes / SPARSE_MOST > set->file->end;
}

/* ---- tensors ---- */

static uint32_t chunked_storage(struct dataset *set, struct storage *storage,
                                const char *name, struct err *err)
{
    struct hdf5 *file = set->file;
    struct blob *blob = hdf5_chunks_open(file, &set->chunks, set->bytes, name, err);

    if (!blob || file_source_keep(file->build, blob, err) < 0)
        return NO_STORAGE;
    storage->at = 0;
    return file_source_plain(file->build, blob, storage);
}

/* One element for all: nothing was written. */
static uint32_t default_storage(struct dataset *set, struct storage *storage)
{
    storage->bytes = set->type.size;
    return file_source_bytes(set->file->build,
                             str_span(set->chunks.fill, set->type.size), storage);
}

static uint32_t add_storage(struct dataset *set, struct storage *storage,
                            const char *name, struct err *err)
{
    struct build *build = set->file->build;

    if (set->external) {
        build_finding(build, FINDING_UNSAFE_PATH, SEVERITY_WARNING, set->node,
                      "the values of /%s are in another file, which is not read", name);
        return file_source_missing(build, storage);
    }
    if (set->bytes == 0)
        return file_source_bytes(build, STR(""), storage);
    if (!is_written(set))
        return default_storage(set, storage);
    if (set->class == LAYOUT_COMPACT)
        return file_source_bytes(build,
                                 str_head(set->compact, set->bytes < set->compact.len
                                                            ? (size_t)set->bytes
                                                            : set->compact.len),
                                 storage);
    if (set->class == LAYOUT_CHUNKED)
        return chunked_storage(set, storage, name, err);
    if (__builtin_add_overflow(set->file->base, set->at, &storage->at))
        storage->at = UINT64_MAX;
    if (set->size < set->bytes)
        build_finding(build, FINDING_SIZE_MISMATCH, SEVERITY_ALARM, set->node,
                      "/%s has %" PRIu64 " bytes, but its shape needs %" PRIu64, name,
                      set->size, set->bytes);
    return file_source_plain(build, set->file->blob, storage);
}

static int add_tensor(struct dataset *set, enum tensor_role role, const char *name,
                      struct err *err)
{
    struct build *build = set->file->build;
    struct storage storage = {.dtype = set->type.dtype, .bytes = set->bytes};
    struct tensor tensor = {
        .dtype = set->type.dtype, .role = (uint8_t)role, .class_id = NO_CLASS};
    int64_t shape[HDF5_RANK], none[HDF5_RANK] = {0};
    bool repeated = set->bytes > 0 && !set->external && !is_written(set);

    for (int i = 0; i < set->space.rank; i++)
        shape[i] = set->space.dims[i] > INT64_MAX ? -1 : (int64_t)set->space.dims[i];
    if (set->type.big_endian)
        storage.flags |= STORAGE_BIG_ENDIAN;
    if (role == ROLE_PARAMETER)
        tensor.flags = TENSOR_ROLE_GUESSED;
    if (build_storage_name(build, &storage, str_of(name)) < 0)
        return arena_err(&build->model->arena, set->file->path, err);
    tensor.storage = add_storage(set, &storage, name, err);
    if (tensor.storage == NO_STORAGE || /* its error is set, or memory is spent */
        build_tensor(build, set->node, &tensor, shape, repeated ? none : NULL,
                     set->space.rank) == NO_OBJECT)
        return build_spent(build)
                   ? arena_err(&build->model->arena, set->file->path, err)
                   : -1;
    return 0;
}

/* ---- values: texts, compounds, references ---- */

static struct str elements_of(struct dataset *set, struct err *err)
{
    struct str bytes = {0};

    if (set->class == LAYOUT_COMPACT)
        return set->compact;
    if (set->class == LAYOUT_WHOLE && !set->external && set->at != HDF5_NOWHERE &&
        set->bytes > 0 && set->bytes <= VALUE_BYTES)
        hdf5_load(set->file, set->at, set->bytes, &bytes, err);
    return bytes;
}

static int add_value(struct dataset *set, struct err *err)
{
    struct build *build = set->file->build;
    struct values *values = build_values(build);
    uint32_t shape[HDF5_RANK], items[6], n = 4, value;
    bool text = set->type.class == CLASS_TEXT || set->type.text;
    struct err why = {0};
    struct str bytes = text ? elements_of(set, &why) : STR("");

    for (int i = 0; i < set->space.rank; i++)
        shape[i] = value_int(values, (int64_t)set->space.dims[i]);
    items[0] = value_str(values, STR("shape"));
    items[1] =
        value_make(values, VALUE_TUPLE, STR(""), shape, (uint32_t)set->space.rank);
    items[2] = value_str(values, STR("type"));
    items[3] = value_str(
        values,
        text ? STR("text") : str_of(hdf5_class_name((enum hdf5_class)set->type.class)));
    if (bytes.len > 0) {
        items[4] = value_str(values, STR("values"));
        items[5] = hdf5_elements(set->file, &set->type, &set->space, bytes);
        n = 6;
    }
    value = value_make(values, VALUE_OBJECT, STR("dataset"), items, n);
    if (value == VALUE_ID_FAILED || build_spent(build))
        return arena_err(&build->model->arena, set->file->path, err);
    build_set_kind(build, set->node, PLACE_VALUE);
    build_set_object(build, set->node,
                     n == 6 && set->space.rank == 0 ? items[5] : value);
    return 0;
}

/* Keras writes bfloat16 as two opaque bytes with the attribute dtype. */
static void find_bfloat16(struct dataset *set)
{
    struct values *values = build_values(set->file->build);
    uint32_t attributes, dtype;
    struct err why = {0};

    if (set->type.class != CLASS_OPAQUE || set->type.size != 2 ||
        hdf5_attributes(set->file, set->item, &attributes, &why) < 0 ||
        attributes == VALUE_ID_NONE || !value_get(values, attributes, "dtype", &dtype))
        return;
    if (str_is(value_text(values, dtype), "bfloat16"))
        set->type.dtype = DTYPE_BFLOAT16;
}

static int add(struct dataset *set, enum tensor_role role, struct err *err)
{
    struct hdf5_object object;
    struct buf path = BUF_INIT;
    const char *name;

    hdf5_path(set->file, set->item, &path);
    name = arena_str(&set->file->build->scratch, buf_span(&path)).at;
    buf_release(&path);
    if (!name)
        return arena_err(&set->file->build->scratch, set->file->path, err);
    if (hdf5_object(set->file, set->file->items[set->item].at, &object, err) < 0 ||
        describe(set, &object, err) < 0)
        return -1;
    find_bfloat16(set);
    if (set->type.dtype == DTYPE_UNKNOWN || set->space.null)
        return add_value(set, err);
    if (set->bytes == UINT64_MAX || is_too_large(set))
        return err_set_about(
            err, ERR_LIMIT, set->file->path,
            ": its shape has far more elements than the file can hold");
    if (set->class == LAYOUT_CHUNKED && set->bytes > 0 && plan_chunks(set, err) < 0)
        return -1;
    return add_tensor(set, role, name, err);
}

/* A dataset that cannot be read keeps its place, without values. */
static int add_unreadable(struct dataset *set, struct err *err)
{
    struct build *build = set->file->build;
    struct storage storage = {.dtype = set->type.dtype, .bytes = set->bytes};
    struct tensor tensor = {.dtype = set->type.dtype, .class_id = NO_CLASS};
    int64_t shape[HDF5_RANK];

    build_set_kind(build, set->node, PLACE_VALUE);
    if (set->type.dtype == DTYPE_UNKNOWN || set->bytes == UINT64_MAX)
        return 0;
    for (int i = 0; i < set->space.rank; i++)
        shape[i] = (int64_t)set->space.dims[i];
    tensor.role = ROLE_PLAIN;
    tensor.storage = file_source_missing(build, &storage);
    if (tensor.storage == NO_STORAGE ||
        build_tensor(build, set->node, &tensor, shape, NULL, set->space.rank) ==
            NO_OBJECT)
        return arena_err(&build->model->arena, set->file->path, err);
    return 0;
}

int hdf5_add_dataset(struct hdf5 *file, uint32_t item, uint32_t node,
                     enum tensor_role role, struct err *err)
{
    struct dataset set = {
        .file = file, .item = item, .node = node, .bytes = UINT64_MAX};
    struct arena before = build_scratch_begin(file->build);
    struct err why = {0};
    int status = add(&set, role, &why);

    if (status < 0)
        status = hdf5_note(file, item, node, &why, err);
    if (status == 0 && why.code != ERR_NONE)
        status = add_unreadable(&set, err);
    build_scratch_end(file->build, before);
    file->heap_at = HDF5_NOWHERE;
    return status;
}

/* ---- everything below an item ---- */

static uint32_t make_node(struct hdf5 *file, uint32_t item, uint32_t parent)
{
    const struct hdf5_item *one = &file->items[item];
    bool again;

    /* The shards of a model have groups in common. */
    if (one->kind == HDF5_GROUP && one->same == item)
        return build_child(file->build, parent, PLACE_GROUP, one->name);
    return build_leaf(file->build, parent,
                      one->kind == HDF5_GROUP ? PLACE_GROUP : PLACE_VALUE, one->name,
                      &again);
}

static int add_link(struct hdf5 *file, struct str path, uint32_t node, struct err *err)
{
    struct values *values = build_values(file->build);
    uint32_t target = value_str(values, path);
    uint32_t value = value_make(values, VALUE_CALL, STR("link"), &target, 1);

    if (value == VALUE_ID_FAILED)
        return arena_err(&file->build->model->arena, file->path, err);
    build_set_object(file->build, node, value);
    return 0;
}

static int add_group(struct hdf5 *file, uint32_t item, uint32_t node, struct err *err)
{
    uint32_t attributes;
    struct object *object;

    if (hdf5_attributes(file, item, &attributes, err) < 0)
        return -1;
    if (attributes == VALUE_ID_NONE)
        return 0;
    object = build_object(file->build, node);
    if (!object)
        return arena_err(&file->build->model->arena, file->path, err);
    object->args = attributes;
    return 0;
}

/* A group that contains this item again is a link to it: a tree has no loops. */
static bool is_around(const struct hdf5 *file, uint32_t item, uint32_t group)
{
    while (item > group)
        item = file->items[item].parent;
    return item == group;
}

static int add_loop(struct hdf5 *file, uint32_t group, uint32_t node, struct err *err)
{
    struct buf path = BUF_INIT;
    int status;

    build_set_kind(file->build, node, PLACE_VALUE);
    buf_char(&path, '/');
    hdf5_path(file, group, &path);
    status = add_link(file, buf_span(&path), node, err);
    buf_release(&path);
    return status;
}

/* One item, at its node; the first of several names has the content. */
static int add_one(struct hdf5 *file, uint32_t item, uint32_t node, uint32_t *nodes,
                   enum tensor_role role, struct err *err)
{
    const struct hdf5_item *one = &file->items[item];
    uint32_t first = one->same == item ? NO_PLACE : nodes[one->same];

    if (one->kind == HDF5_LINK)
        return add_link(file, one->target, node, err);
    if (first != NO_PLACE && one->kind == HDF5_GROUP &&
        is_around(file, item, one->same))
        return add_loop(file, one->same, node, err);
    if (first != NO_PLACE && one->kind == HDF5_GROUP) {
        if (!build_object(file->build, first) ||
            build_same(file->build, node, first) < 0)
            return arena_err(&file->build->model->arena, file->path, err);
        return 0;
    }
    if (first != NO_PLACE && one->kind == HDF5_DATASET &&
        build_tensor_at(file->build, first) != NO_OBJECT) {
        build_tensor_again(file->build, node, build_tensor_at(file->build, first));
        return 0;
    }
    if (one->kind == HDF5_DATASET)
        return hdf5_add_dataset(file, item, node, role, err);
    if (one->kind == HDF5_TYPE)
        build_set_object(
            file->build, node,
            value_make(build_values(file->build), VALUE_OBJECT, STR("type"), NULL, 0));
    return one->kind == HDF5_GROUP ? add_group(file, item, node, err) : 0;
}

int hdf5_add_all(struct hdf5 *file, uint32_t item, uint32_t node, enum tensor_role role,
                 struct err *err)
{
    uint32_t *nodes = arena_array(&file->build->scratch, file->n_items, sizeof *nodes);

    if (!nodes)
        return arena_err(&file->build->scratch, file->path, err);
    for (uint32_t i = 0; i < file->n_items; i++)
        nodes[i] = NO_PLACE;
    nodes[item] = node;
    if (add_one(file, item, node, nodes, role, err) < 0)
        return -1;
    /* Parents come before their children. */
    for (uint32_t i = item + 1; i < file->n_items; i++) {
        uint32_t parent = nodes[file->items[i].parent];

        if (parent == NO_PLACE)
            continue;
        nodes[i] = make_node(file, i, parent);
        if (nodes[i] == NO_PLACE)
            return arena_err(&file->build->model->arena, file->path, err);
        if (add_one(file, i, nodes[i], nodes, role, err) < 0)
            return -1;
    }
    return 0;
}
