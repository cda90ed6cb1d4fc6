/* Operations as they happen: kinds, types, storages and values.
 *
 * A value is looked up by (storage, number of writes to it, type, offset). If no
 * operation made exactly that value, it consists of earlier writes to the storage: they
 * are searched, newest first, until they cover the whole value. */
#include "run/trace_ops_in.h"

#include <stdlib.h>
#include <string.h>

#include "model/dtype.h"

bool trace_ops_begin(struct trace *trace, uint32_t most)
{
    struct trace_ops *ops = calloc(1, sizeof *ops);

    if (!ops)
        return false;
    /* Separate, so that operations leave room for calls and values. */
    arena_init(&ops->arena, trace->arena.limit);
    map_init(&ops->types_by_hash, &ops->arena);
    map_init(&ops->values_by_key, &ops->arena);
    map_init(&ops->totals_by_key, &ops->arena);
    map_init(&ops->flops_by_key, &ops->arena);
    ops->most = most ? most : TRACE_OPS_MOST;
    trace->ops = ops;
    return true;
}

/* Room for one more item of an array of the operations. */
#define ROOM(ops, list)                                                                \
    (arena_room(&(ops)->arena, &(ops)->list, (ops)->n_##list, &(ops)->list##_room,     \
                sizeof *(ops)->list) == 0)

/* ---- kinds and types ---- */

uint32_t trace_op_kind(struct trace *trace, const char *name, const char *overload,
                       const char *const *args, uint32_t n_args, uint8_t flags)
{
    struct trace_ops *ops = trace->ops;
    struct run_op_kind kind = {.flags = flags, .args = ops->n_args};

    kind.name = trace_string(trace, name, strlen(name));
    kind.overload = trace_string(trace, overload, strlen(overload));
    kind.family = (uint8_t)op_family_of(str_of(name));
    if (op_has_flops(str_of(name)))
        kind.flags |= OP_COUNTED;
    for (; kind.n_args < n_args && ROOM(ops, args); kind.n_args++)
        ops->args[ops->n_args++] =
            trace_string(trace, args[kind.n_args], strlen(args[kind.n_args]));
    if (!ROOM(ops, kinds))
        return RUN_NONE;
    ops->kinds[ops->n_kinds] = kind;
    return ops->n_kinds++;
}

/* Bytes of n elements; 0: unknown. */
static uint64_t bytes_of(uint8_t dtype, uint64_t n)
{
    uint64_t bytes;

    return dtype_size(dtype, n, &bytes) ? bytes : 0;
}

/* The smallest stride above `above`, and what its dimensions span; 0: none. */
static uint64_t next_stride(const struct run_op_type *type, const int64_t *sizes,
                            const int64_t *strides, uint64_t above, uint64_t *ret_span)
{
    uint64_t least = 0;

    *ret_span = 0;
    for (int i = 0; i < type->rank; i++) {
        uint64_t stride = strides[i] > 0 ? (uint64_t)strides[i] : 0;

        if (sizes[i] < 2 || stride <= above || (least && stride > least))
            continue;
        *ret_span =
            (stride == least ? *ret_span : 0) + (uint64_t)(sizes[i] - 1) * stride;
        least = stride;
    }
    return least;
}

static void find_rows(struct op_extent *extent, const struct run_op_type *type,
                      const int64_t *sizes, const int64_t *strides)
{
    uint64_t stride = 0, span, row = 0;

    extent->inner = 1;
    while ((stride = next_stride(type, sizes, strides, stride, &span)) != 0) {
        if (!row && stride > extent->inner)
            row = stride;
        if (row && stride % row != 0)
            return;
        if (!row)
            extent->inner += span;
    }
    extent->row = row;
}

static struct op_extent extent_of(const struct run_op_type *type, const int64_t *sizes,
                                  const int64_t *strides)
{
    struct op_extent extent = {.element = (uint8_t)bytes_of(type->dtype, 1)};
    uint64_t last = 0;

    if (type->numel == 0)
        return (struct op_extent){.dense = true, .element = extent.element};
    if (!strides)
        return (struct op_extent){.bytes = type->bytes,
                                  .dense = true,
                                  .element = extent.element,
                                  .inner = type->numel};
    for (int i = 0; i < type->rank; i++)
        if (sizes[i] > 1 && strides[i] > 0)
            last += (uint64_t)(sizes[i] - 1) * (uint64_t)strides[i];
    extent.bytes = (last + 1) * extent.element;
    extent.dense = last + 1 == type->numel;
    find_rows(&extent, type, sizes, strides);
    return extent;
}

static uint64_t type_hash(const struct run_op_type *type, const int64_t *sizes,
                          const int64_t *strides)
{
    uint64_t hash = (uint64_t)type->dtype | (uint64_t)type->layout << 8 |
                    (uint64_t)type->rank << 16 | (uint64_t)type->device << 24 |
                    (uint64_t)(strides != NULL) << 40;

    hash = hash_mix(hash, type->class_name);
    for (int i = 0; i < type->rank; i++)
        hash = hash_mix(hash + (uint64_t)sizes[i], strides ? (uint64_t)strides[i] : 0);
    return hash;
}

static bool same_dims(const struct trace *trace, uint32_t at, const int64_t *dims,
                      int rank)
{
    if (!dims || at == RUN_NONE)
        return !dims && at == RUN_NONE;
    for (int i = 0; i < rank; i++) /* few: cheaper than memcmp() */
        if (trace->dims[at + (uint32_t)i] != dims[i])
            return false;
    return true;
}

static bool same_type(const struct trace *trace, const struct run_op_type *one,
                      const struct run_op_type *like, const int64_t *sizes,
                      const int64_t *strides)
{
    return one->dtype == like->dtype && one->layout == like->layout &&
           one->rank == like->rank && one->device == like->device &&
           one->class_name == like->class_name &&
           same_dims(trace, one->shape, sizes, like->rank) &&
           same_dims(trace, one->strides, strides, like->rank);
}

static uint32_t add_type(struct trace *trace, const struct run_op_type *like,
                         const int64_t *sizes, const int64_t *strides)
{
    struct trace_ops *ops = trace->ops;
    struct run_op_type type = *like;

    type.shape = trace_dims(trace, sizes, like->rank);
    type.strides = strides ? trace_dims(trace, strides, like->rank) : RUN_NONE;
    type.numel = 1;
    for (int i = 0; i < like->rank; i++)
        type.numel *= sizes[i] > 0 ? (uint64_t)sizes[i] : 0;
    type.bytes = bytes_of(like->dtype, type.numel);
    if (type.shape == RUN_NONE || (strides && type.strides == RUN_NONE) ||
        !ROOM(ops, types) ||
        arena_room(&ops->arena, &ops->extents, ops->n_types, &ops->extents_room,
                   sizeof *ops->extents) < 0)
        return RUN_NONE;
    ops->types[ops->n_types] = type;
    ops->extents[ops->n_types] = extent_of(&type, sizes, strides);
    return ops->n_types++;
}

uint32_t trace_op_type(struct trace *trace, const struct run_op_type *like,
                       const int64_t *sizes, const int64_t *strides)
{
    struct trace_ops *ops = trace->ops;
    uint32_t *recent = &ops->recent[like->rank % 4];
    uint32_t id;
    uint64_t hash;

    if (*recent < ops->n_types &&
        same_type(trace, &ops->types[*recent], like, sizes, strides))
        return *recent;
    hash = type_hash(like, sizes, strides);
    for (; map_find(&ops->types_by_hash, hash, &id); hash++)
        if (same_type(trace, &ops->types[id], like, sizes, strides))
            return *recent = id;
    id = add_type(trace, like, sizes, strides);
    if (id != RUN_NONE)
        map_put(&ops->types_by_hash, hash, id);
    return *recent = id;
}

/* ---- storages ---- */

uint32_t trace_op_storage(struct trace *trace, uint64_t bytes, uint16_t device,
                          uint32_t tensor, enum op_storage_role role)
{
    struct trace_ops *ops = trace->ops;

    if (!ROOM(ops, storages))
        return RUN_NONE;
    ops->storages[ops->n_storages] =
        (struct op_memory){.storage = {.bytes = bytes,
                                       .born = RUN_NONE,
                                       .seen = ops->n_ops,
                                       .died = RUN_NONE,
                                       .tensor = tensor,
                                       .device = device,
                                       .role = (uint8_t)role},
                           .newest = RUN_NONE,
                           .fresh = true};
    return ops->n_storages++;
}

void trace_op_died(struct trace *trace, uint32_t storage)
{
    if (storage < trace->ops->n_storages)
        trace->ops->storages[storage].storage.died = trace->ops->n_ops;
}

void trace_op_role(struct trace *trace, uint32_t storage, enum op_storage_role role,
                   uint32_t tensor)
{
    struct run_op_storage *of;

    if (storage >= trace->ops->n_storages)
        return;
    of = &trace->ops->storages[storage].storage;
    of->role = (uint8_t)role;
    of->tensor = tensor;
}

bool trace_op_detached(const struct trace *trace, uint32_t storage)
{
    return storage < trace->ops->n_storages && trace->ops->storages[storage].detached;
}

void trace_op_touched(struct trace *trace, uint32_t storage)
{
    struct op_memory *memory;

    if (storage >= trace->ops->n_storages)
        return;
    memory = &trace->ops->storages[storage];
    memory->base = ++memory->writes;
    memory->newest = RUN_NONE;
}

/* ---- values ---- */

static uint64_t value_key(uint32_t storage, uint32_t write, uint32_t type,
                          uint64_t offset)
{
    return hash_mix(hash_mix((uint64_t)storage << 32 | write, type), offset);
}

static bool is_value(const struct run_op_value *value, uint32_t storage, uint32_t write,
                     uint32_t type, uint64_t offset)
{
    return value->storage == storage && value->write == write && value->type == type &&
           value->offset == offset;
}

/* Finds a value; if there is none, sets *ret_key to its key for insertion. */
static uint32_t find_value(const struct trace_ops *ops, uint32_t storage,
                           uint32_t write, uint32_t type, uint64_t offset,
                           uint64_t *ret_key)
{
    uint64_t key = value_key(storage, write, type, offset);
    uint32_t id;

    if (!ops->storages[storage].valued) {
        *ret_key = key;
        return RUN_NONE;
    }
    for (; map_find(&ops->values_by_key, key, &id); key++)
        if (is_value(&ops->values[id], storage, write, type, offset))
            return id;
    *ret_key = key;
    return RUN_NONE;
}

static uint32_t add_value(struct trace_ops *ops, uint32_t storage, uint32_t write,
                          uint32_t type, uint64_t offset)
{
    if (!ROOM(ops, values))
        return RUN_NONE;
    if (storage < ops->n_storages)
        ops->storages[storage].valued = true;
    ops->values[ops->n_values] = (struct run_op_value){
        .type = type,
        .storage = storage,
        .write = write,
        .offset = offset,
        .producer = RUN_NONE,
        .stats = RUN_NONE,
        .tensor = storage < ops->n_storages ? ops->storages[storage].storage.tensor
                                            : RUN_NONE};
    return ops->n_values++;
}

/* The value with this key, found or added; sets *ret_new if added. */
static uint32_t value_of(struct trace_ops *ops, uint32_t storage, uint32_t write,
                         uint32_t type, uint64_t offset, bool *ret_new)
{
    uint64_t key;
    uint32_t id = find_value(ops, storage, write, type, offset, &key);

    *ret_new = id == RUN_NONE;
    if (id == RUN_NONE) {
        id = add_value(ops, storage, write, type, offset);
        if (id != RUN_NONE)
            map_put(&ops->values_by_key, key, id);
    }
    return id;
}

/* The first byte of a value in its storage, and one past its last. */
struct op_span {
    uint64_t from, to;
    bool dense;
};

static struct op_span span_of(const struct trace_ops *ops, uint32_t type,
                              uint64_t offset)
{
    const struct op_extent *extent = &ops->extents[type];
    uint64_t from = offset * extent->element;

    return (struct op_span){from, from + extent->bytes, extent->dense};
}

static bool is_within(struct op_span inner, struct op_span outer)
{
    return outer.from <= inner.from && inner.to <= outer.to;
}

/* Its position in rows of this length: `inner` elements from *ret_from. False: it
 * crosses the end of a row. */
static bool lies_in_rows(const struct op_extent *extent, uint64_t offset, uint64_t row,
                         uint64_t *ret_from)
{
    *ret_from = offset % row;
    if ((!extent->dense && extent->row != row) || extent->inner > row)
        return false;
    return *ret_from + extent->inner <= row;
}

/* Are two values disjoint although their spans overlap? The column chunks of a matrix
 * interleave. */
static bool is_between(const struct trace_ops *ops, const struct run_op_value *a,
                       uint32_t type, uint64_t offset)
{
    const struct op_extent *one = &ops->extents[a->type], *other = &ops->extents[type];
    uint64_t row = one->dense ? other->row : one->row, from, other_from;

    if (row == 0 || one->element != other->element ||
        !lies_in_rows(one, a->offset, row, &from) ||
        !lies_in_rows(other, offset, row, &other_from))
        return false;
    return from + one->inner <= other_from || other_from + other->inner <= from;
}

/* Does a write contribute to a value with this span, of which `known` is already
 * explained? A write that is itself a value with sources (see joined_value) counts only
 * if it lies inside: some of its sources may lie outside. */
static bool matters(const struct run_op_value *write, struct op_span span,
                    struct op_span own, struct op_span known)
{
    if (span.to <= own.from || own.to <= span.from || is_within(span, known))
        return false;
    return write->n_sources == 0 || is_within(span, own);
}

/* Extends the explained span by a write, if they form one piece. */
static struct op_span widen(struct op_span known, struct op_span span)
{
    if (!span.dense)
        return known;
    if (span.to < known.from || known.to < span.from)
        return span.to - span.from > known.to - known.from ? span : known;
    return (struct op_span){known.from < span.from ? known.from : span.from,
                            known.to > span.to ? known.to : span.to, true};
}

/* Finds the writes that make up a value, newest first, in ops->found. False: they do
 * not cover it, so part of it is older than all of them. */
static bool find_writes(struct trace_ops *ops, uint32_t newest, uint32_t type,
                        uint64_t offset)
{
    struct op_span own = span_of(ops, type, offset), known = {0};

    ops->n_found = 0;
    for (uint32_t at = newest; at != RUN_NONE; at = ops->writes[at].before) {
        const struct run_op_value *value = &ops->values[ops->writes[at].value];
        struct op_span span = span_of(ops, value->type, value->offset);

        if (!matters(value, span, own, known) || is_between(ops, value, type, offset))
            continue;
        if (!ROOM(ops, found))
            return false;
        ops->found[ops->n_found++] = ops->writes[at].value;
        known = ops->n_found == 1 && span.dense ? span : widen(known, span);
        if ((value->type == type && value->offset == offset) || is_within(own, known))
            return true;
    }
    return false;
}

static void add_write(struct trace_ops *ops, uint32_t storage, uint32_t value)
{
    struct op_memory *memory = &ops->storages[storage];

    if (!ROOM(ops, writes))
        return;
    ops->writes[ops->n_writes] =
        (struct op_write){.value = value, .before = memory->newest};
    memory->newest = ops->n_writes++;
}

/* Sets the sources of a new value from ops->found, newest first. */
static void add_sources(struct trace_ops *ops, uint32_t value)
{
    ops->values[value].sources = ops->n_sources;
    for (uint32_t i = ops->n_found; i > 0 && ROOM(ops, sources); i--) {
        ops->sources[ops->n_sources++] = ops->found[i - 1];
        ops->values[value].n_sources++;
    }
}

/* A value that consists of several writes; `covered`: and nothing else. */
static uint32_t joined_value(struct trace_ops *ops, uint32_t type, uint32_t storage,
                             uint64_t offset, bool covered)
{
    const struct op_memory *memory = &ops->storages[storage];
    bool is_new;
    uint32_t value;

    if (!covered && memory->storage.born == RUN_NONE) {
        value = value_of(ops, storage, memory->base, type, offset, &is_new);
        if (value != RUN_NONE && ROOM(ops, found))
            ops->found[ops->n_found++] = value;
    }
    value = value_of(ops, storage, memory->writes, type, offset, &is_new);
    if (value == RUN_NONE || !is_new)
        return value;
    add_sources(ops, value);
    /* Cache it for the next reader of this value or a larger one. */
    if (ops->values[value].n_sources > 1)
        add_write(ops, storage, value);
    return value;
}

/* The current value of a tensor: the result of an operation, or a new value that
 * consists of the writes to its storage. */
static uint32_t current_value(struct trace_ops *ops, uint32_t type, uint32_t storage,
                              uint64_t offset)
{
    const struct op_memory *memory;
    const struct run_op_value *one;
    bool is_new, covered;
    uint64_t key;
    uint32_t value;

    if (storage >= ops->n_storages)
        return add_value(ops, RUN_NONE, 0, type, offset);
    memory = &ops->storages[storage];
    if (memory->newest != RUN_NONE) { /* usually it is the last write */
        value = ops->writes[memory->newest].value;
        if (is_value(&ops->values[value], storage, memory->writes, type, offset))
            return value;
    }
    value = find_value(ops, storage, memory->writes, type, offset, &key);
    if (value != RUN_NONE)
        return value;
    covered = find_writes(ops, memory->newest, type, offset);
    if (ops->n_found == 0)
        return value_of(ops, storage, memory->base, type, offset, &is_new);
    one = &ops->values[ops->found[0]];
    if (covered && one->type == type && one->offset == offset)
        return ops->found[0];
    return joined_value(ops, type, storage, offset, covered);
}

uint32_t trace_op_value(struct trace *trace, uint32_t type, uint32_t storage,
                        uint64_t offset)
{
    struct trace_ops *ops = trace->ops;

    if (!ops || type >= ops->n_types || storage >= ops->n_storages ||
        ops->n_ops >= ops->most)
        return RUN_NONE;
    return current_value(ops, type, storage, offset);
}

void trace_op_stats(struct trace *trace, uint32_t value, const struct stats *stats)
{
    struct trace_ops *ops = trace->ops;

    if (value >= ops->n_values || ops->values[value].stats != RUN_NONE ||
        !ROOM(ops, stats))
        return;
    ops->stats[ops->n_stats] = *stats;
    ops->values[value].stats = ops->n_stats++;
}

/* ---- operations ---- */

/* detach() returns a tensor with the same storage, type and offset, so a second value
 * is added beside the first one. Reads without a gradient refer to it. */
#define HAS_DETACHED 0x80 /* in flags of the first one */

/* The detached twin of this value; the value itself if it has none. */
static uint32_t detached_or(const struct trace_ops *ops, uint32_t id)
{
    const struct run_op_value *first = &ops->values[id];
    uint32_t detached;
    uint64_t key;

    if (!(first->flags & HAS_DETACHED))
        return id;
    detached = find_value(ops, first->storage, first->write | OP_DETACHED_WRITE,
                          first->type, first->offset, &key);
    return detached != RUN_NONE ? detached : id;
}

/* Was it made with gradients? Then it is not an autograd leaf. */
static bool has_graph(const struct trace_ops *ops, uint32_t id)
{
    uint32_t maker = ops->values[id].producer;
    const struct run_op *op = maker < ops->n_ops ? &ops->ops[maker] : NULL;

    for (uint32_t i = 0; op && op->flags & OP_GRAD_MODE && i < op->n_ios; i++) {
        const struct run_op_io *io = &ops->ios[op->ios + i];

        if (io->kind == OP_IN && io->flags & OP_VALUE_GRAD)
            return true;
    }
    return false;
}

/* A leaf that was made with gradients is the result of detach(). */
static uint32_t leaf_value(const struct trace_ops *ops, uint32_t id)
{
    return has_graph(ops, id) ? detached_or(ops, id) : id;
}

static uint32_t read_value(struct trace_ops *ops, const struct trace_op_tensor *tensor)
{
    uint32_t id = current_value(ops, tensor->type, tensor->storage, tensor->offset);

    if (id == RUN_NONE)
        return id;
    if (tensor->flags & OP_VALUE_NO_GRAD)
        id = detached_or(ops, id);
    else if (tensor->flags & TRACE_OP_LEAF)
        id = leaf_value(ops, id);
    ops->values[id].flags |= tensor->flags & OP_VALUE_FLAGS;
    if (tensor->storage < ops->n_storages)
        ops->storages[tensor->storage].fresh = false;
    if (ops->values[id].producer < ops->n_ops &&
        ops->kinds[ops->ops[ops->values[id].producer].kind].flags & OP_MAKES)
        ops->values[id].flags |= OP_VALUE_UNSEEN;
    return id;
}

/* The value of detach(), if its argument has a gradient. */
static uint32_t detached_value(struct trace_ops *ops, uint32_t first, bool *ret_new)
{
    const struct run_op_value value = ops->values[first];

    ops->values[first].flags |= HAS_DETACHED;
    ops->storages[value.storage].detached = true;
    return value_of(ops, value.storage, value.write | OP_DETACHED_WRITE, value.type,
                    value.offset, ret_new);
}

/* A result in new memory, or in that of an argument: a view. */
static uint32_t made_value(struct trace_ops *ops, uint32_t op, uint8_t kind_flags,
                           const struct trace_op_tensor *tensor, uint64_t *new_bytes)
{
    uint32_t write = 0, id;
    bool is_new = true, allocated = false;

    if (tensor->storage < ops->n_storages) {
        struct op_memory *memory = &ops->storages[tensor->storage];

        allocated = memory->fresh;
        if (allocated) {
            memory->storage.born = memory->storage.seen = op;
            *new_bytes += memory->storage.bytes;
        }
        memory->fresh = false;
        write = memory->writes;
        id = value_of(ops, tensor->storage, write, tensor->type, tensor->offset,
                      &is_new);
    } else {
        id = add_value(ops, RUN_NONE, 0, tensor->type, tensor->offset);
    }
    if (id != RUN_NONE && !is_new && kind_flags & OP_DETACHES &&
        ops->values[id].flags & OP_VALUE_GRAD)
        id = detached_value(ops, id, &is_new);
    if (id == RUN_NONE || !is_new)
        return id;
    ops->values[id].producer = op;
    ops->values[id].output = tensor->arg;
    if (allocated)
        add_write(ops, tensor->storage, id);
    return id;
}

/* An argument after the operation wrote to it. */
static uint32_t written_value(struct trace_ops *ops, uint32_t op,
                              const struct trace_op_tensor *tensor)
{
    struct op_memory *memory;
    uint32_t id;
    bool is_new;

    if (tensor->storage >= ops->n_storages) {
        id = add_value(ops, RUN_NONE, 0, tensor->type, tensor->offset);
    } else {
        memory = &ops->storages[tensor->storage];
        memory->writes++;
        memory->fresh = false;
        id = value_of(ops, tensor->storage, memory->writes, tensor->type,
                      tensor->offset, &is_new);
        if (id != RUN_NONE)
            add_write(ops, tensor->storage, id);
    }
    if (id != RUN_NONE) {
        ops->values[id].producer = op;
        ops->values[id].output = tensor->arg;
    }
    return id;
}

static void add_io(struct trace_ops *ops, struct run_op *op,
                   const struct trace_op_tensor *tensor, uint32_t value)
{
    if (value == RUN_NONE || op->n_ios == UINT16_MAX || !ROOM(ops, ios))
        return;
    ops->ios[ops->n_ios++] =
        (struct run_op_io){.value = value,
                           .arg = tensor->arg,
                           .item = tensor->item,
                           .kind = tensor->kind,
                           .flags = tensor->flags & OP_VALUE_FLAGS};
    op->n_ios++;
}

/* Reads come first, then writes, then results: a result that is a written argument is
 * the value after the write. Ios keep the caller's order. */
static void add_tensors(struct trace_ops *ops, struct run_op *op,
                        const struct trace_op_given *given, uint32_t *values)
{
    for (uint32_t i = 0; i < given->n_tensors; i++)
        if (given->tensors[i].kind == OP_IN)
            values[i] = read_value(ops, &given->tensors[i]);
    for (uint32_t i = 0; i < given->n_tensors; i++)
        if (given->tensors[i].kind == OP_WRITTEN)
            values[i] = written_value(ops, ops->n_ops, &given->tensors[i]);
    for (uint32_t i = 0; i < given->n_tensors; i++)
        if (given->tensors[i].kind == OP_OUT)
            values[i] = made_value(ops, ops->n_ops, ops->kinds[given->kind].flags,
                                   &given->tensors[i], &op->new_bytes);
    for (uint32_t i = 0; i < given->n_tensors; i++)
        add_io(ops, op, &given->tensors[i], values[i]);
}

static void add_total(struct trace_ops *ops, const struct trace_op_given *given,
                      const struct run_op *op, uint32_t number)
{
    uint64_t key = hash_mix(hash_mix((uint64_t)given->kind << 8 | given->phase,
                                     (uint64_t)given->place << 32 | given->line),
                            1);
    struct run_op_total *total;
    uint32_t id;

    for (; map_find(&ops->totals_by_key, key, &id); key++) {
        total = &ops->totals[id];
        if (total->kind == given->kind && total->phase == given->phase &&
            total->place == given->place && total->line == given->line)
            goto found;
    }
    if (!ROOM(ops, totals))
        return;
    id = ops->n_totals++;
    map_put(&ops->totals_by_key, key, id);
    total = &ops->totals[id];
    *total = (struct run_op_total){.kind = given->kind,
                                   .place = given->place,
                                   .line = given->line,
                                   .phase = given->phase,
                                   .first = number};
found:
    total->count++;
    total->ns += given->ns;
    total->new_bytes += op->new_bytes;
    if (op->flops == OP_NO_FLOPS)
        total->unknown++;
    else
        total->flops += (uint64_t)op->flops;
}

/* Beyond the limit values are no longer tracked; new storages still count as
 * allocated. */
static void count_new_bytes(struct trace_ops *ops, struct run_op *op,
                            const struct trace_op_given *given)
{
    for (uint32_t i = 0; i < given->n_tensors; i++) {
        const struct trace_op_tensor *tensor = &given->tensors[i];

        if (tensor->storage >= ops->n_storages)
            continue;
        if (tensor->kind == OP_OUT && ops->storages[tensor->storage].fresh)
            op->new_bytes += ops->storages[tensor->storage].storage.bytes;
        ops->storages[tensor->storage].fresh = false;
    }
}

bool trace_op_made(struct trace *trace, const struct trace_op_tensor *leaf,
                   struct trace_op_given *to)
{
    struct trace_ops *ops = trace->ops;
    uint32_t id = trace_op_value(trace, leaf->type, leaf->storage, leaf->offset);
    uint32_t maker;

    if (id == RUN_NONE)
        return false;
    maker = ops->values[leaf_value(ops, id)].producer;
    if (maker >= ops->n_ops)
        return false;
    to->call = ops->ops[maker].call;
    to->serial = ops->serials[maker];
    to->place = ops->ops[maker].place;
    to->line = ops->ops[maker].line;
    return true;
}

uint32_t trace_op_next(const struct trace *trace)
{
    return trace->ops->n_ops;
}

uint32_t trace_op(struct trace *trace, const struct trace_op_given *given,
                  uint32_t *values)
{
    struct trace_ops *ops = trace->ops;
    struct run_op op = {.kind = given->kind,
                        .attributes = given->attributes,
                        .phase = given->phase,
                        .flags = given->flags,
                        .ios = ops->n_ios,
                        .call = given->call,
                        .place = given->place,
                        .step = trace->steps.now,
                        .thread = given->thread,
                        .line = given->line,
                        .cause = given->cause,
                        .gradient = given->gradient,
                        .start_ns = given->start_ns,
                        .ns = given->ns};
    bool kept = ops->n_ops < ops->most && !ops->arena.spent && ROOM(ops, ops) &&
                arena_room(&ops->arena, &ops->serials, ops->n_ops, &ops->serials_room,
                           sizeof *ops->serials) == 0;

    if (given->kind >= ops->n_kinds)
        return RUN_NONE;
    op.flops = given->flops;
    if (op.flops == OP_NO_FLOPS)
        op.flops = trace_op_flops(trace, given);
    if (!kept) {
        count_new_bytes(ops, &op, given);
        ops->lost++;
        add_total(ops, given, &op, RUN_NONE);
        return RUN_NONE;
    }
    add_tensors(ops, &op, given, values);
    add_total(ops, given, &op, ops->n_ops);
    ops->serials[ops->n_ops] = given->call == RUN_NONE ? NO_SERIAL : given->serial;
    ops->ops[ops->n_ops] = op;
    return ops->n_ops++;
}
