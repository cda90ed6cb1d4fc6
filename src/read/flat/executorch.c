/* executorch.c - ExecuTorch (.pte): a flatbuffer with the identifier ET12, then segments.
 * Constants become tensors, the instructions of the first plan a program. */
#include "base/base.h"
#include "base/bytes.h"
#include "read/file/file_source_in.h"
#include "read/flat/executorch_in.h"

#define NAME_MOST  4096
#define NAMES_MOST 1000 /* operators in the facts */

static int executorch_knows(const struct input *input)
{
    return input->blob && input->head.len >= 8 &&
                   memcmp(input->head.at + 4, "ET12", 4) == 0
               ? SURE_MAGIC
               : 0;
}

enum dtype executorch_dtype(int64_t type)
{
    static const enum dtype dtypes[30] = {
        [0] = DTYPE_UINT8,     [1] = DTYPE_INT8,         [2] = DTYPE_INT16,
        [3] = DTYPE_INT32,     [4] = DTYPE_INT64,        [5] = DTYPE_FLOAT16,
        [6] = DTYPE_FLOAT32,   [7] = DTYPE_FLOAT64,      [11] = DTYPE_BOOL,
        [12] = DTYPE_QINT8,    [13] = DTYPE_QUINT8,      [14] = DTYPE_QINT32,
        [15] = DTYPE_BFLOAT16, [23] = DTYPE_FLOAT8_E5M2, [24] = DTYPE_FLOAT8_E4M3FN,
        [27] = DTYPE_UINT16,   [28] = DTYPE_UINT32,      [29] = DTYPE_UINT64};

    return type >= 0 && (size_t)type < COUNT_OF(dtypes) ? dtypes[type] : DTYPE_UNKNOWN;
}

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

/* Find the segment with the constants. */
static void find_constants(struct executorch *self, struct flat_table program)
{
    struct flat *flat = &self->flat;
    struct flat_vector segments = flat_vector(flat, program, 4, 4);
    struct flat_table constants = flat_table(flat, program, 5), segment;
    uint64_t index = (uint64_t)flat_int(flat, constants, 0, 4, 0), at, size;

    self->segments = segments;
    self->inlined = flat_vector(flat, program, 3, 4);
    self->offsets = flat_vector(flat, constants, 1, 8);
    if (index >= segments.n) {
        self->offsets.n = 0;
        return;
    }
    segment = flat_table_at(flat, segments.at + 4 * index);
    at = (uint64_t)flat_int(flat, segment, 0, 8, 0);
    size = (uint64_t)flat_int(flat, segment, 1, 8, 0);
    if (__builtin_add_overflow(at, segments_at(self->input), &self->constants) ||
        __builtin_add_overflow(self->constants, size, &self->end))
        self->offsets.n = 0;
}

/* The bytes of constant `index`; false: it is not a constant. */
static bool constant_at(struct executorch *self, uint64_t index, uint64_t *ret_at,
                        uint64_t *ret_size)
{
    uint64_t at, end = self->end;

    if (index == 0 || index >= self->offsets.n)
        return false;
    at = flat_number(&self->flat, self->offsets.at + 8 * index, 8);
    if (__builtin_add_overflow(at, self->constants, &at) || at > end)
        return false;
    *ret_at = at;
    *ret_size = end - at;
    return true;
}

static int add_tensor(struct executorch *self, struct flat_table table, uint32_t parent,
                      uint32_t number, struct err *err)
{
    struct flat *flat = &self->flat;
    struct build *build = self->build;
    struct flat_vector sizes = flat_vector(flat, table, 2, 4);
    struct flat_table more = flat_table(flat, table, 9);
    struct storage storage = {0};
    struct tensor tensor = {.class_id = NO_CLASS};
    int64_t shape[EXECUTORCH_RANK];
    uint64_t bytes, n = 1, have;
    struct str name, last;
    uint32_t node;
    bool again;

    if (sizes.n > EXECUTORCH_RANK ||
        !constant_at(self, (uint64_t)flat_int(flat, table, 5, 4, 0), &storage.at,
                     &have))
        return 0;
    for (uint32_t i = 0; i < sizes.n; i++) {
        shape[i] = (int32_t)flat_number(flat, sizes.at + 4 * (uint64_t)i, 4);
        if (shape[i] < 0 || __builtin_mul_overflow(n, (uint64_t)shape[i], &n))
            n = UINT64_MAX / 16;
    }
    tensor.dtype = storage.dtype =
        (uint8_t)executorch_dtype(flat_int(flat, table, 0, 1, 0));
    if (!dtype_size((enum dtype)tensor.dtype, n, &bytes))
        bytes = 0;
    storage.bytes = bytes;
    if (dtype_info((enum dtype)tensor.dtype)->kind == DTYPE_KIND_FLOAT) {
        tensor.role = ROLE_PARAMETER;
        tensor.flags = TENSOR_ROLE_GUESSED;
    } else {
        tensor.role = ROLE_PLAIN;
    }
    name = flat_text(flat, more, 1, NAME_MOST, &build->scratch);
    if (name.len == 0)
        name = str_of(arena_printf(&build->scratch, "constant_%u", number));
    if (name.len == 0)
        return arena_err(&build->scratch, self->input->path, err);
    parent = build_dotted(build, parent, name, &last);
    node = parent == NO_PLACE ? NO_PLACE
                              : build_leaf(build, parent, PLACE_VALUE, last, &again);
    if (node == NO_PLACE || build_storage_name(build, &storage, name) < 0)
        return arena_err(&build->model->arena, self->input->path, err);
    if (bytes > have)
        build_finding(build, FINDING_BAD_TENSOR, SEVERITY_ALARM, node,
                      "%.*s is longer than the segment of constants", STR_ARG(name));
    tensor.storage = file_source_plain(build, self->input->blob, &storage);
    if (tensor.storage != NO_STORAGE)
        self->values[number].tensor =
            build_tensor(build, node, &tensor, shape, NULL, (int)sizes.n);
    self->values[number].node = node;
    if (self->values[number].tensor == NO_OBJECT)
        return arena_err(&build->model->arena, self->input->path, err);
    return 0;
}

static int add_values(struct executorch *self, struct flat_table plan, uint32_t node,
                      struct err *err)
{
    struct flat *flat = &self->flat;
    struct flat_vector values = flat_vector(flat, plan, 2, 4);

    self->n_values = 0;
    self->values =
        arena_array(&self->build->scratch, (size_t)values.n + 1, sizeof *self->values);
    if (!self->values)
        return arena_err(&self->build->scratch, self->input->path, err);
    for (uint32_t i = 0; i < values.n && !flat->bad; i++) {
        struct arena before = build_scratch_begin(self->build);
        struct flat_table value = flat_table_at(flat, values.at + 4 * (uint64_t)i);
        struct executorch_value *to = &self->values[i];
        int status = 0;

        *to = (struct executorch_value){.kind = (uint8_t)flat_int(flat, value, 0, 1, 0),
                                        .table = flat_table(flat, value, 1),
                                        .node = NO_PLACE,
                                        .tensor = NO_OBJECT,
                                        .value = PROGRAM_NONE};
        self->n_values = i + 1;
        if (to->kind == EXECUTORCH_TENSOR)
            status = add_tensor(self, to->table, node, i, err);
        build_scratch_end(self->build, before);
        if (status < 0)
            return -1;
        if (!work_step(self->build->work, 0))
            return err_set_about(err, ERR_CANCELLED, self->input->path, ": stopped");
    }
    return 0;
}

/* The texts in field 0 of the tables in a vector, as a LIST: with `more`, the text of
 * field 1 follows after a dot. */
static uint32_t names_of(struct executorch *self, struct flat_vector tables, bool more)
{
    struct flat *flat = &self->flat;
    struct values *values = build_values(self->build);
    struct arena *arena = &self->build->scratch;
    uint32_t n = tables.n < NAMES_MOST ? tables.n : NAMES_MOST;
    uint32_t *items = arena_array(arena, n + 1, sizeof *items);

    for (uint32_t i = 0; items && i < n; i++) {
        struct flat_table table = flat_table_at(flat, tables.at + 4 * (uint64_t)i);
        struct str name = flat_text(flat, table, 0, NAME_MOST, arena), overload = {0};
        const char *text;

        if (more)
            overload = flat_text(flat, table, 1, NAME_MOST, arena);
        text = arena_printf(arena, "%.*s%s%.*s", STR_ARG(name),
                            overload.len > 0 ? "." : "", STR_ARG(overload));
        items[i] = value_str(values, str_of(text));
    }
    return items ? value_make(values, VALUE_LIST, STR(""), items, n) : VALUE_ID_FAILED;
}

static int add_plan(struct executorch *self, struct flat_table plan, uint32_t index,
                    struct err *err)
{
    struct flat *flat = &self->flat;
    struct build *build = self->build;
    struct str name = flat_text(flat, plan, 0, NAME_MOST, &build->scratch);
    struct flat_vector operators = flat_vector(flat, plan, 6, 4);
    struct flat_vector delegates = flat_vector(flat, plan, 7, 4);
    uint32_t node = self->input->node, list;

    if (index > 0)
        node = build_child(build, node, PLACE_MODULE, name.len ? name : STR("plan"));
    if (node == NO_PLACE)
        return arena_err(&build->model->arena, self->input->path, err);
    if (self->input->node == 0) {
        build_metadata(build, STR("method"), value_str(build_values(build), name));
        list = names_of(self, operators, true);
        if (list != VALUE_ID_FAILED && operators.n > 0)
            build_metadata(build, STR("operators"), list);
        list = names_of(self, delegates, false);
        if (list != VALUE_ID_FAILED && delegates.n > 0)
            build_metadata(build, STR("backends"), list);
    }
    if (delegates.n > 0)
        build_finding(build, FINDING_UNSUPPORTED, SEVERITY_NOTE, node,
                      "parts of the program are compiled for other backends: their "
                      "weights cannot be shown");
    if (add_values(self, plan, node, err) < 0)
        return -1;
    return index == 0 ? executorch_program(self, plan, err) : 0;
}

static int executorch_read(struct input *input, struct build *build, struct err *err)
{
    struct executorch *self = arena_alloc(&build->scratch, sizeof *self);
    struct flat_table program;
    struct flat_vector plans;

    if (!self)
        return arena_err(&build->scratch, input->path, err);
    self->input = input;
    self->build = build;
    flat_init(&self->flat, input->blob);
    program = flat_root(&self->flat);
    plans = flat_vector(&self->flat, program, 1, 4);
    find_constants(self, program);
    if (self->flat.bad || plans.n == 0)
        return err_set_about(err, ERR_FORMAT, input->path,
                             " is a damaged ExecuTorch file. Download it again");
    if (input->node == 0)
        build_fact(
            build, "version",
            value_int(build_values(build), flat_int(&self->flat, program, 0, 4, 0)));
    for (uint32_t i = 0; i < plans.n && !self->flat.bad; i++)
        if (add_plan(self, flat_table_at(&self->flat, plans.at + 4 * (uint64_t)i), i,
                     err) < 0)
            return -1;
    if (self->flat.bad)
        build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "an offset leads outside of the file: the rest is left out. "
                      "Download it again");
    return 0;
}

const struct reader executorch_reader = {
    .name = "ExecuTorch", .knows = executorch_knows, .read = executorch_read};
