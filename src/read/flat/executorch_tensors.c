/* Constants of ExecuTorch: in a segment behind the program, or in old files inside of
 * it; the initial values of state in segments of their own. */
#include "base/base.h"
#include "base/bytes.h"
#include "read/file/file_source_in.h"
#include "read/flat/executorch_in.h"

enum dtype executorch_dtype(int64_t type)
{
    static const enum dtype dtypes[30] = {
        [0] = DTYPE_UINT8,     [1] = DTYPE_INT8,         [2] = DTYPE_INT16,
        [3] = DTYPE_INT32,     [4] = DTYPE_INT64,        [5] = DTYPE_FLOAT16,
        [6] = DTYPE_FLOAT32,   [7] = DTYPE_FLOAT64,      [8] = DTYPE_COMPLEX32,
        [9] = DTYPE_COMPLEX64, [10] = DTYPE_COMPLEX128,  [11] = DTYPE_BOOL,
        [12] = DTYPE_QINT8,    [13] = DTYPE_QUINT8,      [14] = DTYPE_QINT32,
        [15] = DTYPE_BFLOAT16, [23] = DTYPE_FLOAT8_E5M2, [24] = DTYPE_FLOAT8_E4M3FN,
        [27] = DTYPE_UINT16,   [28] = DTYPE_UINT32,      [29] = DTYPE_UINT64};

    return type >= 0 && (size_t)type < COUNT_OF(dtypes) ? dtypes[type] : DTYPE_UNKNOWN;
}

/* ---- where constants are ---- */

/* Behind the identifier: "eh00", length, size of the program, where segments begin. */
static uint64_t segments_at(const struct input *input)
{
    struct bytes in = bytes_of(input->head.at, input->head.len);

    bytes_skip(&in, 8);
    if (!str_is(bytes_take(&in, 4), "eh00"))
        return 0;
    bytes_skip(&in, 12);
    return bytes_u64(&in);
}

/* The bytes of a segment; false: it does not exist. */
static bool segment_at(struct executorch *self, uint64_t index, uint64_t *ret_at,
                       uint64_t *ret_end)
{
    struct flat *flat = &self->flat;
    struct flat_table segment;
    uint64_t at, size;

    if (index >= self->segments.n)
        return false;
    segment = flat_table_at(flat, self->segments.at + 4 * index);
    at = (uint64_t)flat_int(flat, segment, 0, 8, 0);
    size = (uint64_t)flat_int(flat, segment, 1, 8, 0);
    return !__builtin_add_overflow(at, self->base, ret_at) &&
           !__builtin_add_overflow(*ret_at, size, ret_end);
}

void executorch_find_constants(struct executorch *self)
{
    struct flat *flat = &self->flat;
    struct flat_table constants = flat_table(flat, self->program, 5);

    self->base = segments_at(self->input);
    self->segments = flat_vector(flat, self->program, 4, 4);
    self->inlined = flat_vector(flat, self->program, 3, 4);
    self->in_program = flat_vector(flat, self->program, 2, 4);
    self->offsets = flat_vector(flat, constants, 1, 8);
    if (!segment_at(self, (uint64_t)flat_int(flat, constants, 0, 4, 0),
                    &self->constants, &self->end))
        self->offsets.n = 0;
}

/* The bytes from an offset in a segment up to its end. */
static bool part_at(struct executorch *self, struct flat_vector offsets, uint64_t index,
                    uint64_t segment, uint64_t end, uint64_t *ret_at,
                    uint64_t *ret_size)
{
    uint64_t at;

    if (index >= offsets.n)
        return false;
    at = flat_number(&self->flat, offsets.at + 8 * index, 8);
    if (__builtin_add_overflow(at, segment, &at) || at > end)
        return false;
    *ret_at = at;
    *ret_size = end - at;
    return true;
}

/* The initial values of a tensor with memory of its own. */
static bool state_at(struct executorch *self, struct flat_table more, uint64_t index,
                     uint64_t *ret_at, uint64_t *ret_size)
{
    struct flat *flat = &self->flat;
    struct flat_vector lists = flat_vector(flat, self->program, 6, 4);
    uint64_t list = (uint64_t)flat_int(flat, more, 0, 8, 0), at, end;
    struct flat_table table;

    if (list >= lists.n)
        return false;
    table = flat_table_at(flat, lists.at + 4 * list);
    return segment_at(self, (uint64_t)flat_int(flat, table, 0, 4, 0), &at, &end) &&
           part_at(self, flat_vector(flat, table, 1, 8), index, at, end, ret_at,
                   ret_size);
}

/* The bytes of a tensor; false: the file has none. */
static bool bytes_at(struct executorch *self, struct flat_table table,
                     struct flat_table more, uint64_t *ret_at, uint64_t *ret_size)
{
    struct flat *flat = &self->flat;
    uint64_t index = (uint64_t)flat_int(flat, table, 5, 4, 0);
    struct flat_vector data;

    if (index == 0)
        return false;
    if (flat_table(flat, table, 6).at != 0)
        return state_at(self, more, index, ret_at, ret_size);
    if (self->offsets.n > 0)
        return part_at(self, self->offsets, index, self->constants, self->end, ret_at,
                       ret_size);
    if (index >= self->in_program.n)
        return false;
    data =
        flat_vector(flat, flat_table_at(flat, self->in_program.at + 4 * index), 0, 1);
    *ret_at = data.at;
    *ret_size = data.n;
    return data.n > 0;
}

/* ---- tensors ---- */

/* The strides of a tensor whose dimensions have this order in memory; false: they are
 * in the usual order, or the order makes no sense. */
static bool read_strides(struct flat *flat, struct flat_vector order,
                         const int64_t *sizes, uint32_t rank, int64_t *strides)
{
    int64_t step = 1;
    uint64_t seen = 0;
    bool usual = true;

    if (order.n != rank)
        return false;
    for (uint32_t i = rank; i-- > 0;) {
        uint64_t dim = flat_number(flat, order.at + i, 1);

        if (dim >= rank || seen >> dim & 1)
            return false;
        seen |= (uint64_t)1 << dim;
        usual &= dim == i;
        strides[dim] = step;
        if (__builtin_mul_overflow(step, sizes[dim], &step) || step < 0)
            return false;
    }
    return !usual;
}

/* The shape of a tensor. False: it has too many dimensions. */
static bool read_shape(struct flat *flat, struct flat_table table, int64_t *sizes,
                       int *ret_rank)
{
    struct flat_vector list = flat_vector(flat, table, 2, 4);

    if (list.n > EXECUTORCH_RANK)
        return false;
    *ret_rank = (int)list.n;
    for (uint32_t i = 0; i < list.n; i++)
        sizes[i] = (int32_t)flat_number(flat, list.at + 4 * (uint64_t)i, 4);
    return true;
}

/* Tensors with the same bytes have one storage. */
static uint32_t storage_of(struct executorch *self, struct storage *storage, bool here)
{
    struct build *build = self->build;
    uint64_t key = hash_mix(hash_u64(storage->at), storage->bytes);
    uint32_t id;

    if (!here)
        return file_source_missing(build, storage);
    if (map_find(&self->storages, key, &id) &&
        build->model->storages[id].at == storage->at &&
        build->model->storages[id].bytes == storage->bytes &&
        build->model->storages[id].dtype == storage->dtype)
        return id;
    id = file_source_plain(build, self->input->blob, storage);
    if (id != NO_STORAGE && map_put(&self->storages, key, id) < 0)
        return NO_STORAGE;
    return id;
}

static uint32_t make_node(struct executorch *self, uint32_t parent, struct str name)
{
    struct str last;
    bool again;

    if (parent == NO_PLACE)
        return NO_PLACE;
    parent = build_dotted(self->build, parent, name, &last);
    return parent == NO_PLACE
               ? NO_PLACE
               : build_leaf(self->build, parent, PLACE_VALUE, last, &again);
}

/* A constant, of which `have` bytes are in the file. */
static int add_constant(struct executorch *self, struct executorch_value *value,
                        uint32_t parent, struct str name, struct storage *storage,
                        uint64_t have, bool here, struct err *err)
{
    struct build *build = self->build;
    struct tensor tensor = {.role = ROLE_PLAIN, .class_id = NO_CLASS};
    int64_t sizes[EXECUTORCH_RANK], strides[EXECUTORCH_RANK];
    bool strided;
    int rank;

    if (!read_shape(&self->flat, value->table, sizes, &rank))
        return 0;
    strided = read_strides(&self->flat, flat_vector(&self->flat, value->table, 3, 1),
                           sizes, (uint32_t)rank, strides);
    tensor.dtype = storage->dtype =
        (uint8_t)executorch_dtype(flat_int(&self->flat, value->table, 0, 1, 0));
    storage->bytes = flat_dense_bytes((enum dtype)tensor.dtype, sizes, rank);
    if (dtype_info((enum dtype)tensor.dtype)->kind == DTYPE_KIND_FLOAT) {
        tensor.role = ROLE_PARAMETER;
        tensor.flags = TENSOR_ROLE_GUESSED;
    }
    value->node = make_node(self, parent, name);
    if (value->node == NO_PLACE || build_storage_name(build, storage, name) < 0)
        return arena_err(&build->model->arena, self->input->path, err);
    if (here && storage->bytes > have)
        build_finding(build, FINDING_BAD_TENSOR, SEVERITY_ALARM, value->node,
                      "%.*s is longer than its segment", STR_ARG(name));
    tensor.storage = storage_of(self, storage, here);
    if (tensor.storage != NO_STORAGE)
        value->tensor = build_tensor(build, value->node, &tensor, sizes,
                                     strided ? strides : NULL, rank);
    return value->tensor == NO_OBJECT
               ? arena_err(&build->model->arena, self->input->path, err)
               : 0;
}

/* The node of a method. Without instructions it gets its module with the first
 * tensor. */
static uint32_t node_of(struct executorch *self, struct executorch_plan *plan)
{
    if (plan->node == NO_PLACE)
        plan->node =
            build_child(self->build, self->input->node, PLACE_MODULE, plan->name);
    return plan->node;
}

static int add_tensor(struct executorch *self, struct executorch_plan *plan,
                      struct executorch_value *value, uint32_t number, struct err *err)
{
    struct flat *flat = &self->flat;
    struct arena *arena = &self->build->scratch;
    struct flat_table more = flat_table(flat, value->table, 9);
    struct storage storage = {0};
    struct str name;
    uint64_t have = 0;
    bool elsewhere = flat_int(flat, more, 2, 1, 0) != 0;

    if (!elsewhere && !bytes_at(self, value->table, more, &storage.at, &have))
        return 0;
    self->n_other_file += elsewhere;
    name = flat_text(flat, more, 1, EXECUTORCH_NAME_MOST, arena);
    if (name.len == 0)
        name = str_of(arena_printf(arena, "constant_%u", number));
    if (name.len == 0)
        return arena_err(arena, self->input->path, err);
    return add_constant(self, value, node_of(self, plan), name, &storage, have,
                        !elsewhere, err);
}

int executorch_read_values(struct executorch *self, struct executorch_plan *plan,
                           struct err *err)
{
    struct flat *flat = &self->flat;
    struct arena *arena = &self->build->scratch;
    struct flat_vector values = flat_vector(flat, plan->table, 2, 4);

    for (uint32_t i = 0; i < values.n && !flat->bad; i++) {
        struct flat_table value = flat_table_at(flat, values.at + 4 * (uint64_t)i);
        struct executorch_value *to;

        if (arena_room(arena, &plan->values, i, &plan->values_room,
                       sizeof *plan->values) < 0)
            return arena_err(arena, self->input->path, err);
        to = &plan->values[i];
        *to = (struct executorch_value){.kind = (uint8_t)flat_int(flat, value, 0, 1, 0),
                                        .table = flat_table(flat, value, 1),
                                        .node = NO_PLACE,
                                        .tensor = NO_OBJECT,
                                        .value = PROGRAM_NONE};
        plan->n_values = i + 1;
        if (to->kind == EXECUTORCH_TENSOR && add_tensor(self, plan, to, i, err) < 0)
            return -1;
        if (!work_step(self->build->work, 0))
            return err_set_about(err, ERR_CANCELLED, self->input->path, ": stopped");
    }
    return 0;
}
