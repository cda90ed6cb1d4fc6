#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"
#include "model/source.h"
#include "read/file/test_zip_in.h"
#include "read/flat/flat_in.h"
#include "read/read.h"

/* ---- flatbuffers, written from the front: offsets are patched later ---- */

static void patch(struct buf *to, size_t at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to->at[at + (size_t)i] = (char)(value >> 8 * i);
}

/* Let the offset at `at` lead to the end of the buffer. */
static void lead_here(struct buf *to, size_t at)
{
    while (to->len % 4 != 0)
        buf_char(to, 0);
    patch(to, at, (uint32_t)(to->len - at));
}

/* A table of n fields of four bytes, all present. Returns the offset of field 0. */
static size_t put_table(struct buf *to, size_t from, uint16_t n)
{
    size_t vtable;

    while (to->len % 4 != 0)
        buf_char(to, 0);
    vtable = to->len;
    put16(to, (uint16_t)(4 + 2 * n));
    put16(to, (uint16_t)(4 + 4 * n));
    for (uint16_t i = 0; i < n; i++)
        put16(to, (uint16_t)(4 + 4 * i));
    lead_here(to, from);
    put32(to, (uint32_t)(to->len - vtable));
    buf_fill(to, 0, 4u * n);
    return to->len - 4u * n;
}

/* A vector of n numbers; returns where they are. */
static size_t put_vector(struct buf *to, size_t from, uint32_t n,
                         const uint32_t *numbers)
{
    lead_here(to, from);
    put32(to, n);
    for (uint32_t i = 0; i < n; i++)
        put32(to, numbers ? numbers[i] : 0);
    return to->len - 4 * (size_t)n;
}

static void put_text(struct buf *to, size_t from, const char *text)
{
    lead_here(to, from);
    put32(to, (uint32_t)strlen(text));
    buf_text(to, text);
    buf_char(to, 0);
}

static const float weights[4] = {1, 2, -3, 4.5f};

/* One operator, FULLY_CONNECTED, of an input and a constant of 2 x 2. */
static void make_tflite(struct buf *to)
{
    static const uint32_t shapes[] = {2, 2}, in[] = {0, 1}, first[] = {0}, last[] = {2};
    static const char *const names[] = {"input", "block/dense/kernel", "block/out"};
    size_t model, codes, code, graphs, graph, tensors, ops, op, buffers, data;

    put32(to, 0);
    buf_text(to, "TFL3");
    model = put_table(to, 0, 5);
    patch(to, model, 3);
    codes = put_vector(to, model + 4, 1, NULL);
    code = put_table(to, codes, 1);
    patch(to, code, 9);
    graphs = put_vector(to, model + 8, 1, NULL);
    graph = put_table(to, graphs, 4);
    tensors = put_vector(to, graph, 3, NULL);
    put_vector(to, graph + 4, 1, first);
    put_vector(to, graph + 8, 1, last);
    ops = put_vector(to, graph + 12, 1, NULL);
    op = put_table(to, ops, 3);
    put_vector(to, op + 4, 2, in);
    put_vector(to, op + 8, 1, last);
    for (size_t i = 0; i < 3; i++) {
        size_t tensor = put_table(to, tensors + 4 * i, 4);

        put_vector(to, tensor, 2, shapes);
        patch(to, tensor + 8, i == 1);
        put_text(to, tensor + 12, names[i]);
    }
    buffers = put_vector(to, model + 16, 2, NULL);
    put_table(to, buffers, 0);
    data = put_table(to, buffers + 4, 1);
    lead_here(to, data);
    put32(to, sizeof weights);
    buf_add(to, weights, sizeof weights);
    put_text(to, model + 12, "a test");
}

/* One value of an ExecuTorch plan: its kind, and a table of n fields in it. */
static size_t put_value(struct buf *to, size_t from, uint32_t kind, uint16_t n)
{
    size_t value = put_table(to, from, 2);

    patch(to, value, kind);
    return put_table(to, value + 4, n);
}

/* One instruction: its kind, and a table of two fields in it. */
static size_t put_instruction(struct buf *to, size_t from, uint32_t kind,
                              uint32_t first)
{
    size_t table = put_value(to, from, kind, 2);

    patch(to, table, first);
    return table;
}

enum { KERNEL = 1, DELEGATE, MOVE, JUMP };

/*  0  gt(x) -> c             4  if False, go to 7
 *  1  if not c, go to 5      5  neg(x) -> b
 *  2  relu(x) -> a           6  out = b
 *  3  out = a                7  a delegate: out -> y
 * The values are x, c, a, b, out, y, False. */
static void make_executorch(struct buf *to)
{
    static const uint32_t shape[] = {2, 3}, gt[] = {0, 1}, relu[] = {0, 2, 2},
                          neg[] = {0, 3, 3}, last[] = {4, 5}, in[] = {0}, out[] = {5};
    static const char *const names[] = {"aten::gt", "aten::relu", "aten::neg"};
    static const uint32_t *const args[] = {gt, relu, neg};
    size_t program, plans, plan, values, code, chain, ops, at;

    put32(to, 0);
    buf_text(to, "ET12");
    program = put_table(to, 0, 2);
    plans = put_vector(to, program + 4, 1, NULL);
    plan = put_table(to, plans, 8);
    put_text(to, plan, "forward");
    values = put_vector(to, plan + 8, 7, NULL);
    for (size_t i = 0; i < 7; i++) {
        bool tensor = i != 1 && i != 6;
        size_t table = put_value(to, values + 4 * i, tensor ? 5 : 3, tensor ? 3 : 1);

        if (!tensor)
            continue;
        patch(to, table, 6);
        put_vector(to, table + 8, 2, shape);
    }
    put_vector(to, plan + 12, 1, in);
    put_vector(to, plan + 16, 1, out);
    chain = put_table(to, put_vector(to, plan + 20, 1, NULL), 3);
    code = put_vector(to, chain + 8, 8, NULL);
    for (size_t i = 0; i < 3; i++) {
        static const size_t places[] = {0, 2, 5};

        at = put_instruction(to, code + 4 * places[i], KERNEL, (uint32_t)i);
        put_vector(to, at + 4, i == 0 ? 2 : 3, args[i]);
    }
    patch(to, put_instruction(to, code + 4, JUMP, 1) + 4, 5);
    patch(to, put_instruction(to, code + 12, MOVE, 2) + 4, 4);
    patch(to, put_instruction(to, code + 16, JUMP, 6) + 4, 7);
    patch(to, put_instruction(to, code + 24, MOVE, 3) + 4, 4);
    at = put_instruction(to, code + 28, DELEGATE, 0);
    put_vector(to, at + 4, 2, last);
    ops = put_vector(to, plan + 24, 3, NULL);
    for (size_t i = 0; i < 3; i++) {
        at = put_table(to, ops + 4 * i, 2);
        put_text(to, at, names[i]);
        put_text(to, at + 4, i == 0 ? "Scalar" : "out");
    }
    at = put_table(to, put_vector(to, plan + 28, 1, NULL), 2);
    put_text(to, at, "TestBackend");
}

static const struct model *read_bytes(const struct buf *file, size_t n, struct err *err)
{
    return read_model_memory(file->at, n, "x.tflite", NULL, err);
}

static bool has_fact(const struct model *model, const char *key)
{
    for (uint32_t i = 0; i < model->n_facts; i++)
        if (str_is(model_string(model, model->facts[i].key), key))
            return true;
    return false;
}

TEST(tflite_has_tensors_and_operators)
{
    struct buf file = BUF_INIT;
    const struct model *model;
    const struct program *program;
    const struct tensor *tensor;
    float got[4];

    make_tflite(&file);
    model = read_bytes(&file, file.len, NULL);
    CHECK(model);
    CHECK_INT(model->n_findings, 0);
    CHECK_STR(model->format, "TFLite");
    tensor = place_tensor(model, place_find(model, STR("block.dense.kernel")));
    CHECK(tensor && tensor->numel == 4);
    CHECK(source_bytes(model->source, tensor->storage, 0, got, sizeof got, NULL) == 0);
    CHECK(memcmp(got, weights, sizeof got) == 0);
    program = model->program;
    CHECK(program);
    CHECK_INT(program->n_ops, 1);
    CHECK(str_is(model_string(model, program->ops[0].name), "tflite::FULLY_CONNECTED"));
    CHECK_INT(program->ops[0].n_in, 2);
    CHECK_INT(program->values[program->ios[program->ops[0].io].value].kind,
              PROGRAM_INPUT);
    CHECK_INT(program->values[program->ios[program->ops[0].io + 1].value].kind,
              PROGRAM_TENSOR);
    CHECK(str_is(model_string(model, program->ios[program->calls[0].io].arg), "input"));
    CHECK(str_is(model_string(model, program->ios[program->calls[0].io + 1].arg),
                 "block/out"));
    CHECK(has_fact(model, "inputs") && has_fact(model, "outputs"));
    model_free(model);
    buf_release(&file);
}

/* The kind of the first input of an operation. */
static int input_kind(const struct program *program, uint32_t op)
{
    return program->values[program->ios[program->ops[op].io].value].kind;
}

TEST(executorch_has_its_instructions_with_branches_and_delegates)
{
    struct buf file = BUF_INIT;
    const struct model *model;
    const struct program *program;
    const struct program_value *value;

    make_executorch(&file);
    model = read_bytes(&file, file.len, NULL);
    CHECK(model);
    CHECK_STR(model->format, "ExecuTorch");
    program = model->program;
    CHECK(program && !program->cut);
    CHECK_INT(program->n_ops, 4);
    CHECK(str_is(model_string(model, program->ops[1].name), "aten::relu"));
    CHECK(str_is(model_string(model, program->ops[1].overload), "out"));
    CHECK(str_is(model_string(model, program->ops[3].name), "delegate::TestBackend"));
    CHECK_INT(program->n_regions, 2);
    CHECK_INT(program->regions[0].kind, PROGRAM_IF);
    CHECK_INT(program->regions[1].kind, PROGRAM_ELSE);
    CHECK_INT(program->regions[1].ops, 2);
    CHECK_INT(program->regions[1].end, 3);
    CHECK_INT(program->values[program->regions[0].condition].producer, 0);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_INT(program->ops[i].n_in, 1);
        CHECK_INT(program->ops[i].n_out, 1);
        CHECK_INT(input_kind(program, i), PROGRAM_INPUT);
    }
    CHECK_INT(input_kind(program, 3), PROGRAM_MERGE);
    value = &program->values[program->ios[program->ops[3].io].value];
    CHECK_INT(value->n_sources, 2);
    CHECK_INT(program->values[program->sources[value->sources]].producer, 1);
    CHECK_INT(program->values[program->sources[value->sources + 1]].producer, 2);
    CHECK_INT(value->rank, 2);
    CHECK_INT(model->dims[value->shape + 1], 3);
    CHECK(has_fact(model, "inputs") && has_fact(model, "outputs"));
    model_free(model);
    buf_release(&file);
}

/* Where the target of the jump at instruction 1 is in the file: behind its condition.
 * The list of outputs comes before it, and looks the same. */
static size_t jump_target(const struct buf *file)
{
    size_t found = 0;

    for (size_t i = 0; i + 8 <= file->len; i += 4)
        if (memcmp(file->at + i, "\1\0\0\0\5\0\0\0", 8) == 0)
            found = i + 4;
    return found;
}

TEST(executorch_jumps_back_are_loops_and_other_jumps_are_named)
{
    struct buf file = BUF_INIT;
    const struct model *model;

    make_executorch(&file);
    CHECK(jump_target(&file) > 0);
    patch(&file, jump_target(&file), 0);
    model = read_bytes(&file, file.len, NULL);
    CHECK(model && model->program);
    CHECK_INT(model->program->regions[0].kind, PROGRAM_LOOP);
    CHECK_INT(model->program->regions[0].end, 1);
    model_free(model);
    buf_clear(&file);
    make_executorch(&file);
    patch(&file, jump_target(&file), 99);
    model = read_bytes(&file, file.len, NULL);
    CHECK(model && model->program);
    CHECK_INT(model->program->regions[0].kind, PROGRAM_UNCLEAR);
    CHECK(str_is(model_string(model, model->program->regions[0].text),
                 "instruction 1 jumps to 99"));
    CHECK_INT(model->program->n_ops, 3); /* the other branch is never reached */
    model_free(model);
    buf_release(&file);
}

static void (*const makers[])(struct buf *to) = {make_tflite, make_executorch};

static void check_cut(void (*make)(struct buf *to))
{
    struct buf file = BUF_INIT;

    make(&file);
    for (size_t n = 0; n < file.len; n++) {
        struct err err = {0};
        char *copy = malloc(n + 1);
        const struct model *model;

        CHECK(copy);
        memcpy(copy, file.at, n);
        model = read_model_memory(copy, n, "x.tflite", NULL, &err);
        CHECK(model || err.code != ERR_NONE);
        model_free(model);
        free(copy);
    }
    buf_release(&file);
}

TEST(a_flatbuffer_cut_at_any_byte_is_read_as_far_as_it_goes)
{
    for (size_t i = 0; i < COUNT_OF(makers); i++)
        check_cut(makers[i]);
}

static void check_changed(void (*make)(struct buf *to))
{
    static const uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xff};
    struct buf file = BUF_INIT;

    make(&file);
    for (size_t i = 0; i < file.len; i++) {
        char before = file.at[i];

        for (size_t k = 0; k < sizeof bytes; k++) {
            file.at[i] = (char)bytes[k];
            model_free(read_bytes(&file, file.len, NULL));
        }
        file.at[i] = before;
    }
    buf_release(&file);
}

TEST(any_changed_byte_of_a_flatbuffer_is_survived)
{
    for (size_t i = 0; i < COUNT_OF(makers); i++)
        check_changed(makers[i]);
}

TEST(reads_outside_of_the_file_give_zero_and_stay_bad)
{
    struct blob *blob = blob_open_memory("\4\0\0\0\xff\xff\xff\x7f....", 12, "x", NULL);
    struct flat *flat = malloc(sizeof *flat);

    CHECK(blob && flat);
    flat_init(flat, blob);
    CHECK_INT(flat_number(flat, 4, 2), 0xffff);
    CHECK_INT(flat_root(flat).at, 0);
    CHECK(flat->bad);
    CHECK_INT(flat_number(flat, 0, 4), 0);
    free(flat);
    blob_close(blob);
}

TEST(tables_that_share_their_parts_cost_no_more_than_the_budget)
{
    struct blob *blob = blob_open_memory("\4\0\0\0....", 8, "x", NULL);
    struct flat *flat = malloc(sizeof *flat);
    uint64_t n = 0;

    CHECK(blob && flat);
    flat_init(flat, blob);
    while (!flat->bad) {
        flat_number(flat, 0, 4);
        n++;
    }
    CHECK(flat->limit && n <= 2 * 8 + MIB + 1);
    free(flat);
    blob_close(blob);
}
