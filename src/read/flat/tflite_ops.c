#include <stdio.h>

#include "base/base.h"
#include "read/file/program_facts_in.h"
#include "read/flat/tflite_in.h"

#define IOS_MOST 4096 /* of one operator */

struct program_io_list {
    struct program_io *at;
    uint32_t n, room;
};

static uint32_t new_value(struct tflite *tflite, uint32_t index,
                          enum program_value_kind kind)
{
    struct tflite_tensor *tensor = &tflite->tensors[index];
    uint32_t name = build_string(tflite->build, tensor->name);
    struct program_value value = {.kind = (uint8_t)kind,
                                  .dtype = tensor->dtype,
                                  .rank = tensor->rank,
                                  .name = name == INTERN_NONE ? 0 : name,
                                  .shape = tensor->shape,
                                  .producer = PROGRAM_NONE,
                                  .tensor = PROGRAM_NONE,
                                  .place = PROGRAM_NONE,
                                  .plain = PROGRAM_NONE};

    if (kind == PROGRAM_TENSOR) {
        value.tensor = tensor->tensor;
        value.place = tensor->node;
    }
    return build_program_value(tflite->build, &value);
}

/* The value of a tensor that is read: a constant, or what an operator made. */
static uint32_t value_of(struct tflite *tflite, uint32_t index)
{
    struct tflite_tensor *tensor = &tflite->tensors[index];

    if (tensor->value == PROGRAM_NONE)
        tensor->value =
            new_value(tflite, index,
                      tensor->tensor != NO_OBJECT ? PROGRAM_TENSOR : PROGRAM_OPAQUE);
    return tensor->value;
}

static int add_io(struct tflite *tflite, struct program_io_list *list, uint32_t value,
                  uint32_t arg, struct err *err)
{
    struct arena *arena = &tflite->build->scratch;

    if (arena_room(arena, &list->at, list->n, &list->room, sizeof *list->at) < 0)
        return arena_err(arena, tflite->input->path, err);
    list->at[list->n++] =
        (struct program_io){.value = value, .arg = arg, .item = PROGRAM_NONE};
    return 0;
}

/* The position of an argument as text. */
static uint32_t position(struct tflite *tflite, uint32_t i)
{
    char text[16];
    uint32_t id;

    snprintf(text, sizeof text, "%u", i);
    id = build_string(tflite->build, str_of(text));
    return id == INTERN_NONE ? 0 : id;
}

/* The i-th tensor of a list of them; UINT32_MAX: left out, or wrong. */
static uint32_t tensor_at(struct tflite *tflite, struct flat_vector vector, uint32_t i)
{
    uint64_t index = flat_number(&tflite->flat, vector.at + 4 * (uint64_t)i, 4);

    return index < tflite->n_tensors ? (uint32_t)index : UINT32_MAX;
}

static int add_inputs(struct tflite *tflite, struct flat_vector inputs,
                      struct program_io_list *list, struct err *err)
{
    for (uint32_t i = 0; i < inputs.n && i < IOS_MOST; i++) {
        uint32_t index = tensor_at(tflite, inputs, i);

        if (index != UINT32_MAX &&
            add_io(tflite, list, value_of(tflite, index), position(tflite, i), err) < 0)
            return -1;
    }
    return 0;
}

/* The tensors that go into or out of the program, by their names. */
static int add_ends(struct tflite *tflite, struct flat_vector ends,
                    struct program_io_list *list, struct err *err)
{
    for (uint32_t i = 0; i < ends.n && i < IOS_MOST; i++) {
        uint32_t index = tensor_at(tflite, ends, i), value;

        if (index == UINT32_MAX)
            continue;
        value = value_of(tflite, index);
        if (value != PROGRAM_NONE &&
            add_io(tflite, list, value, tflite->build->program->values[value].name,
                   err) < 0)
            return -1;
    }
    return 0;
}

/* Each result is a new value of its tensor. */
static int add_results(struct tflite *tflite, struct flat_vector outputs, uint32_t op,
                       struct program_io_list *list, struct err *err)
{
    struct program *program = tflite->build->program;

    for (uint32_t i = 0; i < outputs.n && i < IOS_MOST; i++) {
        uint32_t index = tensor_at(tflite, outputs, i), value;

        if (index == UINT32_MAX)
            continue;
        value = new_value(tflite, index, PROGRAM_RESULT);
        if (value == PROGRAM_NONE)
            return 0;
        program->values[value].producer = op;
        program->values[value].output = (uint16_t)i;
        tflite->tensors[index].value = value;
        if (add_io(tflite, list, value, 0, err) < 0)
            return -1;
    }
    return 0;
}

/* "tflite::CONV_2D", or the name of a custom operator. */
static uint32_t name_of(struct tflite *tflite, struct flat_table op)
{
    uint64_t index = (uint64_t)flat_int(&tflite->flat, op, 0, 4, 0) & UINT32_MAX;
    struct flat_table code;
    int64_t number, old;
    struct str custom;
    const char *text;
    uint32_t id;

    if (index >= tflite->codes.n)
        return 0;
    code = flat_table_at(&tflite->flat, tflite->codes.at + 4 * index);
    old = flat_int(&tflite->flat, code, 0, 1, 0);
    number = flat_int(&tflite->flat, code, 3, 4, 0);
    number =
        number > old ? number : old; /* codes above 127 are in the new field only */
    custom = flat_text(&tflite->flat, code, 1, 200, &tflite->build->scratch);
    if (number == 32 && custom.len > 0)
        text = arena_printf(&tflite->build->scratch, "tflite::CUSTOM:%.*s",
                            STR_ARG(custom));
    else if (tflite_op_name(number))
        text =
            arena_printf(&tflite->build->scratch, "tflite::%s", tflite_op_name(number));
    else
        text = arena_printf(&tflite->build->scratch, "tflite::OPERATOR_%lld",
                            (long long)number);
    id = text ? build_string(tflite->build, str_of(text)) : INTERN_NONE;
    return id == INTERN_NONE ? 0 : id;
}

static int add_op(struct tflite *tflite, struct flat_table table, struct err *err)
{
    struct build *build = tflite->build;
    struct program_io_list list = {0};
    struct program_op op = {.name = name_of(tflite, table),
                            .call = 0,
                            .place = tflite->input->node,
                            .region = PROGRAM_NONE};
    uint32_t n_in;

    if (build_program_full(build))
        return 0;
    op.attributes = tflite_options(tflite, table);
    if (op.attributes == VALUE_ID_FAILED)
        op.attributes = VALUE_ID_NONE;
    if (add_inputs(tflite, flat_vector(&tflite->flat, table, 1, 4), &list, err) < 0)
        return -1;
    n_in = list.n;
    if (add_results(tflite, flat_vector(&tflite->flat, table, 2, 4),
                    build->program->n_ops, &list, err) < 0)
        return -1;
    op.n_in = (uint16_t)n_in;
    op.n_out = (uint16_t)(list.n - n_in);
    build_program_op(build, &op, list.at);
    return 0;
}

static int add_ops(struct tflite *tflite, struct flat_vector ops, struct err *err)
{
    for (uint32_t i = 0; i < ops.n && !tflite->flat.bad; i++) {
        struct arena before = build_scratch_begin(tflite->build);
        int status =
            add_op(tflite, flat_table_at(&tflite->flat, ops.at + 4 * (uint64_t)i), err);

        build_scratch_end(tflite->build, before);
        if (status < 0)
            return -1;
        if (!work_step(tflite->build->work, 0))
            return err_set_about(err, ERR_CANCELLED, tflite->input->path, ": stopped");
    }
    return 0;
}

int tflite_program(struct tflite *tflite, struct flat_table graph, struct err *err)
{
    struct flat *flat = &tflite->flat;
    struct build *build = tflite->build;
    struct flat_vector inputs = flat_vector(flat, graph, 1, 4);
    struct flat_vector outputs = flat_vector(flat, graph, 2, 4);
    struct flat_vector ops = flat_vector(flat, graph, 3, 4);
    struct program_call call = {
        .place = tflite->input->node, .parent = PROGRAM_NONE, .region = PROGRAM_NONE};
    struct program_io_list list = {0};
    uint32_t n_in;

    if (ops.n == 0 || !build_program(build))
        return 0;
    call.method = build_string(build, STR("forward"));
    if (call.method == INTERN_NONE ||
        build_program_call(build, &call) == PROGRAM_NONE) {
        build_program_drop(build);
        return 0;
    }
    build->program->method = call.method;
    for (uint32_t i = 0; i < inputs.n && i < IOS_MOST; i++) {
        uint32_t index = tensor_at(tflite, inputs, i);

        if (index != UINT32_MAX && tflite->tensors[index].value == PROGRAM_NONE)
            tflite->tensors[index].value = new_value(tflite, index, PROGRAM_INPUT);
    }
    if (add_ends(tflite, inputs, &list, err) < 0)
        return -1;
    n_in = list.n;
    if (add_ops(tflite, ops, err) < 0 || add_ends(tflite, outputs, &list, err) < 0)
        return -1;
    build_program_call_ios(build, 0, list.at, n_in, list.n - n_in);
    build->program->calls[0].end = build->program->n_ops;
    program_facts(build);
    return 0;
}
