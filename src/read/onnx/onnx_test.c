#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "model/source.h"
#include "read/onnx/test_onnx_in.h"
#include "read/read.h"

/* NULL: refused. */
static const struct model *pb_read(const struct buf *file)
{
    struct err err = {0};

    return read_model_memory(file->at, file->len, "m.onnx", NULL, &err);
}

static bool has(const struct model *model, enum finding_code code, const char *text)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == code && strstr(model->findings[i].text, text))
            return true;
    return false;
}

/* The elements of the tensor at a path, as floats. */
static void check_floats(const struct model *model, const char *path,
                         const float *wanted, unsigned n)
{
    uint32_t place = place_find(model, str_of(path));
    const struct tensor *tensor;
    float got[16];

    CHECK(place != NO_PLACE);
    tensor = place_tensor(model, place);
    CHECK(tensor && tensor->numel == n && n <= COUNT_OF(got));
    CHECK(source_bytes(model->source, tensor->storage, 0, got, n * sizeof *got, NULL) ==
          0);
    CHECK_MEM(got, wanted, n * sizeof *got);
}

/* "Add(x layer.w) Relu(h)": the operations, with their inputs; calls before them. */
static void program_text(struct buf *to, const struct model *model)
{
    const struct program *program = model->program;

    for (uint32_t i = 0; program && i < program->n_ops; i++) {
        const struct program_op *op = &program->ops[i];

        buf_text(to, i > 0 ? " " : "");
        if (op->call > 0) {
            place_path(model, program->calls[op->call].place, to);
            buf_char(to, '#');
        }
        buf_str(to, str_from(model_string(model, op->name), 6));
        buf_char(to, '(');
        for (uint32_t k = 0; k < op->n_in; k++) {
            buf_text(to, k > 0 ? " " : "");
            buf_str(to,
                    model_string(model,
                                 program->values[program->ios[op->io + k].value].name));
        }
        buf_char(to, ')');
    }
}

static void check_program(const struct model *model, const char *wanted)
{
    struct buf text = BUF_INIT;

    program_text(&text, model);
    CHECK_STR(buf_cstr(&text), wanted);
    buf_release(&text);
}

TEST(a_graph_is_a_tree_of_modules_and_a_program)
{
    static const float wanted[] = {1, 2, 3, 4};
    struct buf file = BUF_INIT;
    const struct model *model;

    pb_small(&file);
    model = pb_read(&file);
    CHECK(model && model->n_findings == 0);
    CHECK_STR(model->format, "ONNX");
    check_floats(model, "layer.w", wanted, 4);
    CHECK(str_is(place_class(model, place_find(model, STR("layer.act"))), "Relu"));
    CHECK(place_object(model, place_find(model, STR("layer.act")))->guessed);
    check_program(model, "layer#Add(x layer.w) layer.act#Relu(h)");
    model_free(model);
    buf_release(&file);
}

TEST(a_truncated_file_gives_a_partial_model_or_an_error)
{
    struct buf file = BUF_INIT;

    pb_small(&file);
    for (size_t n = 0; n < file.len; n++) {
        struct buf cut = BUF_INIT;
        const struct model *model;

        buf_add(&cut, file.at, n); /* a copy, so that ASan sees its end */
        model = pb_read(&cut);
        /* Only a file that ends after its graph is complete. */
        if (model && !has(model, FINDING_TRUNCATED, "truncated at byte"))
            CHECK(n >= file.len - 4);
        model_free(model);
        buf_release(&cut);
    }
    buf_release(&file);
}

/* A tensor of type `type` with `n` elements, whose numbers are `fields`. */
static const struct model *read_typed(uint64_t type, unsigned n, struct buf *fields)
{
    struct buf file = BUF_INIT, graph = BUF_INIT, tensor = BUF_INIT;
    const struct model *model;

    pb_number(&tensor, 1, n);
    pb_number(&tensor, 2, type);
    pb_text(&tensor, 8, "t");
    buf_add(&tensor, fields->at, fields->len);
    buf_release(fields);
    pb_message(&graph, 5, &tensor);
    pb_model(&file, &graph);
    model = pb_read(&file);
    buf_release(&file); /* the decoded numbers are in the model */
    CHECK(model != NULL);
    return model;
}

TEST(packed_and_single_numbers_are_combined)
{
    static const uint16_t halves[] = {0x3c00, 0x4000, 0xbc00};
    struct buf fields = BUF_INIT, packed = BUF_INIT;
    const struct model *model;
    uint16_t got[3];

    pb_varint(&packed, halves[0]);
    pb_varint(&packed, halves[1]);
    pb_message(&fields, 5, &packed);
    pb_number(&fields, 5, halves[2]);
    model = read_typed(10, 3, &fields);
    CHECK(model->n_findings == 0);
    CHECK(source_bytes(model->source, 0, 0, got, sizeof got, NULL) == 0);
    CHECK_MEM(got, halves, sizeof got);
    model_free(model);
}

/* A Constant "w" of float32 whose `t` is these messages, each with `n` numbers. */
static const struct model *read_merged(const uint32_t *fields, unsigned messages,
                                       unsigned n)
{
    struct buf file = BUF_INIT, graph = BUF_INIT, attr = BUF_INIT;
    const struct model *model;
    float value = 0;

    pb_text(&attr, 1, "value");
    for (unsigned k = 0; k < messages; k++) {
        struct buf tensor = BUF_INIT, numbers = BUF_INIT;

        for (unsigned i = 0; i < n; i++, value++)
            buf_add(&numbers, &value, sizeof value);
        if (k == 0) {
            pb_number(&tensor, 1, n * messages);
            pb_number(&tensor, 2, 1);
        }
        pb_message(&tensor, fields[k], &numbers);
        pb_message(&attr, 5, &tensor);
    }
    pb_number(&attr, 20, 4);
    pb_node(&graph, 1, "Constant", "c", "", "w", &attr);
    pb_model(&file, &graph);
    model = pb_read(&file);
    buf_release(&file);
    CHECK(model != NULL);
    return model;
}

TEST(the_numbers_of_merged_messages_follow_each_other)
{
    static const uint32_t packed[] = {4, 4, 4}, raw_last[] = {4, 9},
                          raw_first[] = {9, 4};
    float got[24];
    const struct model *model = read_merged(packed, 3, 8);

    CHECK(model->n_findings == 0 && model->n_tensors == 1);
    CHECK(source_bytes(model->source, 0, 0, got, sizeof got, NULL) == 0);
    for (unsigned i = 0; i < COUNT_OF(got); i++)
        CHECK(got[i] == (float)i);
    model_free(model);
    model =
        read_merged(raw_last, 2, 10); /* raw_data is preferred, and has half of them */
    CHECK(has(model, FINDING_SIZE_MISMATCH, "need 80 bytes, its data has 40"));
    model_free(model);
    model = read_merged(raw_first, 2, 10);
    CHECK(has(model, FINDING_SIZE_MISMATCH, "need 80 bytes, its data has 40"));
    model_free(model);
}

TEST(floats_in_the_field_of_another_type_are_not_its_numbers)
{
    static const float two[] = {1, 2};
    struct buf fields = BUF_INIT;
    const struct model *model;

    pb_bytes(&fields, 4, two, sizeof two);
    model = read_typed(11, 1, &fields); /* float64: its numbers are in field 10 */
    CHECK(has(model, FINDING_SIZE_MISMATCH, "t: its typed fields"));
    model_free(model);
}

TEST(too_few_and_too_many_numbers_are_findings)
{
    struct buf fields = BUF_INIT;
    const struct model *model;

    pb_number(&fields, 7, 5);
    model = read_typed(7, 2, &fields);
    CHECK(has(model, FINDING_SIZE_MISMATCH, "t: its typed fields"));
    model_free(model);
    pb_number(&fields, 7, 5);
    pb_number(&fields, 7, 6);
    model = read_typed(7, 1, &fields);
    CHECK(has(model, FINDING_SIZE_MISMATCH, "t: its typed fields"));
    model_free(model);
    pb_bytes(&fields, 9, "abcde", 5);
    model = read_typed(1, 2, &fields);
    CHECK(has(model, FINDING_SIZE_MISMATCH, "need 8 bytes, its data has 5"));
    model_free(model);
    pb_number(&fields, 1, UINT64_MAX); /* a second size: -1 */
    model = read_typed(1, 2, &fields);
    CHECK(has(model, FINDING_BAD_TENSOR, "a size is negative"));
    model_free(model);
    pb_number(&fields, 1, 1ULL << 62);
    pb_number(&fields, 1, 1ULL << 62);
    model = read_typed(1, 2, &fields);
    CHECK(has(model, FINDING_BAD_TENSOR, "too large"));
    model_free(model);
}

TEST(a_second_graph_is_merged_into_the_first)
{
    struct buf file = BUF_INIT, graph = BUF_INIT, more = BUF_INIT;
    const struct model *model;

    pb_small(&file);
    pb_text(&more, 2, "renamed");
    pb_node(&more, 1, "Neg", "last", "y", "z", NULL);
    pb_message(&file, 7, &more);
    buf_release(&graph);
    model = pb_read(&file);
    CHECK(model != NULL);
    check_program(model, "layer#Add(x layer.w) layer.act#Relu(h) Neg(y)");
    CHECK(str_is(model_string(model, model->program->method), "renamed"));
    model_free(model);
    buf_release(&file);
}

/* An If with itself in its branch, `depth` times. */
static void nest(struct buf *to, int depth)
{
    struct buf graph = BUF_INIT, attr = BUF_INIT;

    pb_node(&graph, 1, "Relu", "leaf", "x", "r", NULL);
    for (int i = 0; i < depth; i++) {
        struct buf outer = BUF_INIT;

        pb_text(&attr, 1, "then_branch");
        pb_value(&graph, 12, "r");
        pb_message(&attr, 6, &graph);
        pb_number(&attr, 20, 5);
        pb_node(&outer, 1, "If", "if", "c", "r", &attr);
        graph = outer;
    }
    pb_value(&graph, 11, "x");
    pb_value(&graph, 11, "c");
    pb_model(to, &graph);
}

TEST(graphs_in_graphs_are_regions_up_to_a_limit)
{
    struct buf file = BUF_INIT;
    const struct model *model;

    nest(&file, 60);
    model = pb_read(&file);
    CHECK(model && model->program->n_regions == 60 && model->program->n_ops == 1);
    CHECK(model->n_findings == 0);
    model_free(model);
    buf_clear(&file);
    nest(&file, 3000);
    model = pb_read(&file);
    CHECK(model && has(model, FINDING_LIMIT, "are nested more than 64 deep"));
    model_free(model);
    buf_release(&file);
}

/* A function `name` whose nodes call `calls`, in a domain of its own. */
static void add_function(struct buf *to, const char *name, const char *calls)
{
    struct buf function = BUF_INIT;
    struct str rest = str_of(calls), word;

    pb_text(&function, 1, name);
    pb_text(&function, 4, "a");
    pb_text(&function, 5, "b");
    while (rest.len > 0 && str_split(&rest, ' ', &word)) {
        struct buf node = BUF_INIT;

        pb_text(&node, 1, "a");
        pb_text(&node, 2, "b");
        pb_bytes(&node, 4, word.at, word.len);
        if (!str_is(word, "Relu"))
            pb_text(&node, 7, "f");
        pb_message(&function, 7, &node);
    }
    pb_text(&function, 10, "f");
    pb_message(to, 25, &function);
}

static void call_function(struct buf *file, const char *name)
{
    struct buf graph = BUF_INIT, node = BUF_INIT;

    pb_text(&node, 1, "x");
    pb_text(&node, 2, "y");
    pb_text(&node, 4, name);
    pb_text(&node, 7, "f");
    pb_message(&graph, 1, &node);
    pb_value(&graph, 11, "x");
    pb_model(file, &graph);
}

TEST(functions_are_inlined_unless_they_are_recursive)
{
    struct buf file = BUF_INIT;
    const struct model *model;

    call_function(&file, "A");
    add_function(&file, "A", "B Relu");
    add_function(&file, "B", "Relu Relu");
    model = pb_read(&file);
    CHECK(model != NULL);
    check_program(model, "Relu(x) Relu(x) Relu(x)");
    model_free(model);
    buf_clear(&file);
    call_function(&file, "A");
    add_function(&file, "A", "B");
    add_function(&file, "B", "A Relu");
    model = pb_read(&file);
    CHECK(model && has(model, FINDING_DAMAGED, "functions in the file are recursive"));
    model_free(model);
    buf_release(&file);
}

TEST(exponential_inlining_stops_at_a_limit)
{
    struct buf file = BUF_INIT;
    const struct model *model;
    char name[3] = "A", calls[64];

    call_function(&file, "A");
    for (char c = 'A'; c < 'Z'; c++) {
        char next = (char)(c + 1);

        name[0] = c;
        snprintf(calls, sizeof calls, "%c %c %c %c", next, next, next, next);
        add_function(&file, name, calls);
    }
    add_function(&file, "Z", "Relu");
    model = pb_read(&file);
    CHECK(model && model->program->cut);
    CHECK(model->program->n_ops < 100000);
    model_free(model);
    buf_release(&file);
}

TEST(other_files_are_not_onnx)
{
    static const char *const others[] = {
        "\x08\x01\x12\x05\x0a\x03\x12\x01\x00 saved model",
        "\x08\x07plain text that begins so", "\x0a\x03\x61\x62\x63\x12\x04Conv",
        "\x08\xff\xff\xff\x0f\x12\x04test\x3a\x02\x0a\x00"};

    for (size_t i = 0; i < COUNT_OF(others); i++) {
        struct err err = {0};
        const struct model *model =
            read_model_memory(others[i], strlen(others[i]), "x", NULL, &err);

        CHECK(!model && !strstr(err.text, "an ONNX file"));
    }
}

TEST(truncated_subgraphs_and_functions_do_not_crash)
{
    struct buf file = BUF_INIT;

    nest(&file, 4);
    add_function(&file, "A", "B Relu");
    for (size_t n = 0; n < file.len; n++) {
        struct buf cut = BUF_INIT;

        buf_add(&cut, file.at, n);
        model_free(pb_read(&cut));
        buf_release(&cut);
    }
    buf_release(&file);
}

/* One attribute with a graph, a tensor and numbers, of every type. */
TEST(an_attribute_with_fields_of_several_types_does_not_crash)
{
    for (uint32_t type = 0; type < 15; type++) {
        struct buf file = BUF_INIT, graph = BUF_INIT, attr = BUF_INIT, inner = BUF_INIT;

        pb_text(&attr, 1, "value");
        for (int twice = 0; twice < 2; twice++) {
            pb_node(&inner, 1, "Relu", "in", "x", "i", NULL);
            pb_message(&attr, 6, &inner);
            pb_node(&inner, 1, "Relu", "in", "x", "i", NULL);
            pb_message(&attr, 11, &inner);
            pb_tensor(&attr, 5, "t", 3);
            pb_tensor(&attr, 10, "u", 20);
            pb_number(&attr, 8, 4);
        }
        if (type > 0)
            pb_number(&attr, 20, type);
        pb_node(&graph, 1, "Constant", "c", "", "w", &attr);
        pb_value(&graph, 11, "x");
        pb_model(&file, &graph);
        model_free(pb_read(&file));
        buf_release(&file);
    }
}
