#include "study/program_data.h"

#include <stdlib.h>

#include "base/base.h"
#include "run/op_table.h"

/* ---- operations ---- */

/* Operations of aten that always return numbers, booleans or strings. Sorted. */
static const char *const number_ops[] = {
    "Bool",
    "Complex",
    "ComplexImplicit",
    "Float",
    "FloatImplicit",
    "Int",
    "IntImplicit",
    "ScalarImplicit",
    "__contains__",
    "__derive_index",
    "__is__",
    "__isnot__",
    "__not__",
    "__range_length",
    "allclose",
    "dense_dim",
    "device",
    "dim",
    "element_size",
    "equal",
    "format",
    "get_device",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "is_complex",
    "is_contiguous",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference",
    "is_leaf",
    "is_nonzero",
    "is_pinned",
    "is_same_size",
    "is_scripting",
    "is_signed",
    "item",
    "len",
    "ndimension",
    "numel",
    "ord",
    "percentFormat",
    "q_scale",
    "q_zero_point",
    "qscheme",
    "requires_grad",
    "requires_grad_",
    "result_type",
    "size",
    "sparse_dim",
    "storage_offset",
    "str",
    "stride",
    "sym_numel",
    "sym_size",
    "sym_storage_offset",
    "sym_stride",
    "warn",
};

/* The few operations of prim that pass tensors on. Sorted. */
static const char *const tensor_prims[] = {
    "NumToTensor", "data", "grad", "unchecked_cast", "unchecked_unwrap_optional",
};

static int by_name(const void *key, const void *item)
{
    return str_cmp(*(const struct str *)key, str_of(*(const char *const *)item));
}

static bool makes_numbers(struct str name)
{
    if (str_starts(name, STR("onnx::")))
        return str_is(name, "onnx::Shape") || str_is(name, "onnx::Size");
    if (str_starts(name, STR("tflite::")))
        return str_is(name, "tflite::SHAPE") || str_is(name, "tflite::RANK");
    if (str_starts(name, STR("prim::"))) {
        name = str_from(name, 6);
        return !bsearch(&name, tensor_prims, COUNT_OF(tensor_prims),
                        sizeof *tensor_prims, by_name);
    }
    if (!str_starts(name, STR("aten::")))
        return false;
    name = str_from(name, 6);
    return bsearch(&name, number_ops, COUNT_OF(number_ops), sizeof *number_ops,
                   by_name) != NULL;
}

/* Does it make a tensor from numbers only? Operations of other libraries may. */
static bool makes_tensors(struct str name)
{
    enum op_family family = op_family_of(name);

    if (str_starts(name, STR("prim::")))
        return false;
    if (str_starts(name, STR("onnx::")))
        return str_starts(name, STR("onnx::Random")) || str_is(name, "onnx::Range") ||
               str_is(name, "onnx::ConstantOfShape");
    if (str_starts(name, STR("tflite::")) || str_starts(name, STR("keras::")))
        return str_starts(name, STR("tflite::RANDOM")) ||
               str_is(name, "tflite::RANGE") || str_is(name, "tflite::FILL") ||
               str_is(name, "tflite::READ_VARIABLE");
    return !str_starts(name, STR("aten::")) || str_is(name, "aten::tensor") ||
           str_is(name, "aten::as_tensor") || family == OP_FAMILY_COPY ||
           family == OP_FAMILY_RANDOM;
}

/* ---- spreading ---- */

enum { OP_NUMBERS = 1, OP_TENSORS = 2 };

struct spreading {
    const struct program *program;
    struct program_data data;
    uint8_t *kinds;       /* by operation: OP_NUMBERS, OP_TENSORS */
    uint32_t *readers_at; /* by value + 1: its first reader; one more at the end */
    uint32_t *readers;    /* operations, and n_ops + merges and items of lists */
    uint32_t *stack, n;   /* values whose readers were not marked yet */
};

static void make_data(struct spreading *s, uint32_t value)
{
    if (s->data.value[value])
        return;
    s->data.value[value] = true;
    s->stack[s->n++] = value;
}

static void reach_op(struct spreading *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];

    if (s->data.op[i] || s->kinds[i] & OP_NUMBERS)
        return;
    s->data.op[i] = true;
    for (uint32_t k = 0; k < op->n_out; k++)
        make_data(s, s->program->ios[op->io + op->n_in + k].value);
}

/* Counts the readers of each value, or lists them. */
static void add_reader(struct spreading *s, uint32_t value, uint32_t reader)
{
    if (s->readers)
        s->readers[--s->readers_at[value + 1]] = reader;
    else
        s->readers_at[value + 1]++;
}

/* The first result of the operation that made a value: if the code unpacks a list, its
 * items are separate values. */
static uint32_t list_of(const struct program *program, uint32_t value)
{
    const struct program_value *of = &program->values[value];
    const struct program_op *op;

    if (of->kind != PROGRAM_RESULT || of->producer >= program->n_ops)
        return PROGRAM_NONE;
    op = &program->ops[of->producer];
    return op->n_out > 0 ? program->ios[op->io + op->n_in].value : PROGRAM_NONE;
}

static void add_readers(struct spreading *s)
{
    const struct program *program = s->program;

    for (uint32_t i = 0; i < program->n_ops; i++)
        for (uint32_t k = 0; k < program->ops[i].n_in; k++)
            add_reader(s, program->ios[program->ops[i].io + k].value, i);
    for (uint32_t i = 0; i < program->n_values; i++) {
        uint32_t list = list_of(program, i);

        for (uint32_t k = 0; k < program->values[i].n_sources; k++)
            add_reader(s, program->sources[program->values[i].sources + k],
                       program->n_ops + i);
        if (list != PROGRAM_NONE && list != i)
            add_reader(s, list, program->n_ops + i);
    }
}

static int index_readers(struct spreading *s, struct arena *arena)
{
    uint32_t n = s->program->n_values;

    s->readers_at = arena_array(arena, (size_t)n + 2, sizeof *s->readers_at);
    if (!s->readers_at)
        return -1;
    add_readers(s);
    for (uint32_t i = 0; i <= n; i++)
        s->readers_at[i + 1] += s->readers_at[i];
    s->readers = arena_array(arena, (size_t)s->readers_at[n] + 1, sizeof *s->readers);
    if (!s->readers)
        return -1;
    add_readers(s);
    return 0;
}

/* Values that are data without being computed from data. */
static void begin(struct spreading *s, const struct model *model)
{
    const struct program *program = s->program;

    for (uint32_t i = 0; i < program->n_ops; i++) {
        struct str name = model_string(model, program->ops[i].name);

        s->kinds[i] = makes_numbers(name)   ? OP_NUMBERS
                      : makes_tensors(name) ? OP_TENSORS
                                            : 0;
        if (s->kinds[i] & OP_TENSORS)
            reach_op(s, i);
    }
    for (uint32_t i = 0; i < program->n_values; i++) {
        const struct program_value *value = &program->values[i];

        if ((value->kind == PROGRAM_INPUT && !value->number) ||
            (value->kind == PROGRAM_TENSOR && !value->number) ||
            value->kind == PROGRAM_OPAQUE)
            make_data(s, i);
    }
}

int program_data_find(struct program_data *ret_data, const struct program *program,
                      const struct model *model, struct arena *arena)
{
    struct spreading s = {.program = program};
    size_t n_values = (size_t)program->n_values + 1, n_ops = (size_t)program->n_ops + 1;

    s.data.value = arena_array(arena, n_values, sizeof(bool));
    s.data.op = arena_array(arena, n_ops, sizeof(bool));
    s.kinds = arena_array(arena, n_ops, 1);
    s.stack = arena_array(arena, n_values, sizeof *s.stack);
    if (!s.data.value || !s.data.op || !s.kinds || !s.stack ||
        index_readers(&s, arena) < 0)
        return -1;
    begin(&s, model);
    while (s.n > 0) {
        uint32_t value = s.stack[--s.n];

        for (uint32_t i = s.readers_at[value + 1]; i < s.readers_at[value + 2]; i++) {
            if (s.readers[i] < program->n_ops)
                reach_op(&s, s.readers[i]);
            else
                make_data(&s, s.readers[i] - program->n_ops);
        }
    }
    *ret_data = s.data;
    return 0;
}

void program_data_add(struct program_data *data, const struct program *program,
                      uint32_t value, uint32_t *stack)
{
    uint32_t n = 0;

    if (!data->value[value])
        stack[n++] = value;
    data->value[value] = true;
    while (n > 0) {
        const struct program_value *of = &program->values[stack[--n]];
        const struct program_op *op = NULL;
        uint32_t n_in = of->n_sources;

        if (of->kind == PROGRAM_RESULT) {
            op = &program->ops[of->producer];
            n_in = data->op[of->producer] ? 0 : op->n_in;
            data->op[of->producer] = true;
        }
        for (uint32_t i = 0; i < n_in; i++) {
            uint32_t in =
                op ? program->ios[op->io + i].value : program->sources[of->sources + i];

            if (!data->value[in])
                stack[n++] = in;
            data->value[in] = true;
        }
    }
}
