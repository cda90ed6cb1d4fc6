#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"
#include "read/file/test_zip_in.h"
#include "read/read.h"

/* A program: y = relu(linear(x, fc.weight)), in a module fc of a class; x has a dynamic
 * size. */
#define META(sizes, strides)                                                           \
    "{\"dtype\": 7, \"sizes\": [" sizes "], \"requires_grad\": true, \"device\": "     \
    "{\"type\": \"cpu\", \"index\": null}, \"strides\": [" strides                     \
    "], \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}"
#define OPEN                                                                           \
    "{\"as_expr\": {\"expr_str\": \"Symbol('s7', integer=True)\", \"hint\": null}}"
#define T(name)        "{\"as_tensor\": {\"name\": \"" name "\"}}"
#define ARG(name, arg) "{\"name\": \"" name "\", \"arg\": " arg ", \"kind\": 1}"
#define NODE(target, inputs, outputs, stack)                                           \
    "{\"target\": \"" target "\", \"inputs\": [" inputs "], \"outputs\": [" outputs    \
    "], \"metadata\": {\"stack_trace\": \"File \\\"/a/net.py\\\", line 7, in "         \
    "forward\\n    f(x)\", \"nn_module_stack\": \"" stack "\"}}"
#define PROGRAM(nodes, outputs)                                                                                                                                        \
    "{\"graph_module\": {\"graph\": {\"inputs\": [" T("p_w") ", " T(                                                                                                   \
        "x") "], \"outputs\": [" outputs "], \"nodes\": [" nodes                                                                                                       \
             "], \"tensor_values\": "                                                                                                                                  \
             "{\"x\": " META(                                                                                                                                          \
                 OPEN ", {\"as_int\": 2}",                                                                                                                             \
                 "{\"as_int\": 2}, {\"as_int\": 1}") ", \"y\": " META(OPEN                                                                                             \
                                                                      ", "                                                                                             \
                                                                      "{\"as_int\": "                                                                                  \
                                                                      "3}",                                                                                            \
                                                                      "{\"as_int\": "                                                                                  \
                                                                      "3}, "                                                                                           \
                                                                      "{\"as_int\": "                                                                                  \
                                                                      "1}") "}}, "                                                                                     \
                                                                            "\"signat"                                                                                 \
                                                                            "ure\": "                                                                                  \
                                                                            "{\"input"                                                                                 \
                                                                            "_specs\""                                                                                 \
                                                                            ": "                                                                                       \
                                                                            "[{"                                                                                       \
                                                                            "\"parame"                                                                                 \
                                                                            "ter\": "                                                                                  \
                                                                            "{\"arg\""                                                                                 \
                                                                            ": "                                                                                       \
                                                                            "{\"name"                                                                                  \
                                                                            "\": "                                                                                     \
                                                                            "\"p_w\"}"                                                                                 \
                                                                            ", "                                                                                       \
                                                                            "\"parame"                                                                                 \
                                                                            "ter_"                                                                                     \
                                                                            "name\": "                                                                                 \
                                                                            "\"fc."                                                                                    \
                                                                            "weight\""                                                                                 \
                                                                            "}}, "                                                                                     \
                                                                            "{\"user_"                                                                                 \
                                                                            "input\":"                                                                                 \
                                                                            " {"                                                                                       \
                                                                            "\"arg\":"                                                                                 \
                                                                            " " T(                                                                                     \
                                                                                "x") "}}], \"output_specs\": []}, \"module_call_graph\": [{\"fqn\": \"\"}, "           \
                                                                                     "{\"fqn\": \"fc\"}]}, \"opset_version\": {\"aten\": 10}, \"range_constraints\": " \
                                                                                     "{\"s7\": {\"min_val\": 2, \"max_val\": 9}}, \"schema_version\": {\"major\": 8, " \
                                                                                     "\"minor\": 2}, \"torch_version\": \"2.9\"}"
#define LINEAR                                                                         \
    NODE("torch.ops.aten.linear.default",                                              \
         ARG("input", T("x")) ", " ARG("weight", T("p_w")) ", " ARG(                   \
             "bias", "{\"as_none\": true}"),                                           \
         T("y"), "L__self__,,net.Net;L__self__fc,fc,torch.nn.modules.linear.Linear")
#define RELU                                                                           \
    NODE("torch.ops.aten.relu_.default", ARG("self", T("y")), T("z"),                  \
         "L__self__,,net.Net")
#define CONFIG(path)                                                                   \
    "{\"config\": {\"fc.weight\": {\"path_name\": \"" path "\", \"is_param\": true, "  \
    "\"use_pickle\": false, \"tensor_meta\": " META(                                   \
        "{\"as_int\": 3}, {\"as_int\": 2}", "{\"as_int\": 2}, {\"as_int\": 1}") "}}}"

static void add(struct test_zip *zip, const char *name, struct str content)
{
    test_zip_add(zip, &(struct test_member){.name = name,
                                            .content = content.at,
                                            .content_len = content.len});
}

static void make_archive(struct test_zip *zip, struct str program, struct str config)
{
    static const float weight[6] = {1, 2, 3, 4, 5, 6};

    add(zip, "m/archive_format", STR("pt2"));
    add(zip, "m/models/model.json", program);
    add(zip, "m/data/weights/weight_0", str_span(weight, sizeof weight));
    add(zip, "m/data/weights/model_weights_config.json", config);
    test_zip_end(zip, &(struct test_end){0});
}

static const struct model *read_archive(struct test_zip *zip, struct str program,
                                        struct str config, struct err *err)
{
    make_archive(zip, program, config);
    return read_model_memory(zip->bytes.at, zip->bytes.len, "m.pt2", NULL, err);
}

static bool has_finding(const struct model *model, enum finding_code code)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == code)
            return true;
    return false;
}

TEST(a_program_has_modules_tensors_operations_and_calls)
{
    struct test_zip zip = {0};
    const struct model *model = read_archive(
        &zip, STR(PROGRAM(LINEAR ", " RELU, T("y"))), STR(CONFIG("weight_0")), NULL);
    const struct program *program = model->program;
    const struct program_value *x;
    float got[6];

    CHECK_STR(model->format, "torch.export");
    CHECK_INT(model->n_findings, 0);
    CHECK(str_is(place_class(model, 0), "net.Net"));
    CHECK(str_is(place_class(model, place_find(model, STR("fc"))),
                 "torch.nn.modules.linear.Linear"));
    CHECK_INT(model->n_tensors, 1);
    CHECK(model->tensors[0].role == ROLE_PARAMETER);
    CHECK(source_bytes(model->source, model->tensors[0].storage, 0, got, sizeof got,
                       NULL) == 0 &&
          got[5] == 6);
    CHECK_INT(program->n_ops, 2);
    CHECK(str_is(model_string(model, program->ops[0].name), "aten::linear"));
    CHECK(str_is(model_string(model, program->ops[0].file), "/a/net.py"));
    CHECK_INT(program->ops[0].line, 7);
    CHECK_INT(program->ops[0].n_in, 2);
    CHECK_INT(program->n_calls, 2);
    CHECK(program->calls[1].ops == 0 && program->calls[1].end == 1);
    CHECK(program->calls[1].n_in == 1 && program->calls[1].n_out == 1);
    x = &program->values[program->ios[program->ops[0].io].value];
    CHECK(x->kind == PROGRAM_INPUT && x->rank == 2);
    CHECK(model->dims[x->shape] == -1 && model->dims[x->shape + 1] == 2);
    /* relu_ writes to y: the output is its result. */
    CHECK_INT(program->ios[program->calls[0].io + 1].value,
              program->ios[program->ops[1].io + 1].value);
    model_free(model);
    test_zip_release(&zip);
}

TEST(a_program_without_inputs_is_read)
{
    struct test_zip zip = {0};
    const struct model *model =
        read_archive(&zip, STR("{\"graph_module\": {\"graph\": {\"nodes\": []}}}"),
                     STR(CONFIG("weight_0")), NULL);

    CHECK(model && model->program && model->program->n_ops == 0);
    CHECK_INT(model->program->n_calls, 1);
    model_free(model);
    test_zip_release(&zip);
}

TEST(a_tensor_without_its_bytes_is_missing)
{
    struct test_zip zip = {0};
    const struct model *model = read_archive(&zip, STR(PROGRAM(LINEAR, T("y"))),
                                             STR(CONFIG("../weight_0")), NULL);

    CHECK(has_finding(model, FINDING_MISSING_RECORD));
    CHECK_INT(model->n_tensors, 1);
    CHECK(!tensor_readable(model, &model->tensors[0], NULL));
    model_free(model);
    test_zip_release(&zip);
}

TEST(json_cut_at_every_byte_is_an_error_or_a_finding)
{
    static const char program[] = PROGRAM(LINEAR ", " RELU, T("y"));
    static const char config[] = CONFIG("weight_0");

    for (size_t n = 1; n + 1 < sizeof program; n++) {
        struct test_zip zip = {0};
        struct err err = {0};
        const struct model *model =
            read_archive(&zip, str_span(program, n), STR(CONFIG("weight_0")), &err);

        CHECK(!model && err.code == ERR_FORMAT);
        test_zip_release(&zip);
    }
    for (size_t n = 1; n + 1 < sizeof config; n++) {
        struct test_zip zip = {0};
        const struct model *model =
            read_archive(&zip, STR(PROGRAM(LINEAR, T("y"))), str_span(config, n), NULL);

        CHECK(model && model->n_findings > 0);
        model_free(model);
        test_zip_release(&zip);
    }
}

TEST(an_archive_cut_at_every_byte_never_fails_otherwise)
{
    struct test_zip zip = {0};

    make_archive(&zip, STR(PROGRAM(LINEAR, T("y"))), STR(CONFIG("weight_0")));
    for (size_t n = 0; n < zip.bytes.len; n++) {
        struct err err = {0};
        const struct model *model =
            read_model_memory(zip.bytes.at, n, "m.pt2", NULL, &err);

        CHECK(model ? model->n_findings > 0 : err.code != ERR_NONE);
        model_free(model);
    }
    test_zip_release(&zip);
}

#define GRAPH(name, nodes)                                                             \
    "{\"as_graph\": {\"name\": \"" name "\", \"graph\": {\"inputs\": [" T(             \
        "a") "], \"outputs\": [" T("b") "], \"nodes\": [" nodes "]}}}"
#define INNER              NODE("torch.ops.aten.sin.default", ARG("self", T("a")), T("b"), "")
#define HIGHER(name, args) NODE("torch.ops.higher_order." name, args, T("z"), "")

static uint32_t count_regions(const char *nodes, enum program_region_kind kind,
                              uint32_t *ret_ops)
{
    struct buf text = BUF_INIT;
    struct test_zip zip = {0};
    const struct model *model;
    uint32_t n = 0;

    /* PROGRAM() takes a literal: put the nodes in place of one. */
    buf_text(&text, PROGRAM("@", T("z")));
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == '@') {
            struct buf whole = BUF_INIT;

            buf_add(&whole, text.at, i);
            buf_text(&whole, nodes);
            buf_add(&whole, text.at + i + 1, text.len - i - 1);
            buf_release(&text);
            text = whole;
            break;
        }
    model = read_archive(&zip, buf_span(&text), STR(CONFIG("weight_0")), NULL);
    CHECK(model && model->program && !model->program->cut);
    for (uint32_t i = 0; i < model->program->n_regions; i++)
        n += model->program->regions[i].kind == kind;
    *ret_ops = model->program->n_ops;
    model_free(model);
    test_zip_release(&zip);
    buf_release(&text);
    return n;
}

TEST(graphs_inside_operations_become_branches_loops_or_unknown_operations)
{
    uint32_t ops;

    CHECK_INT(
        count_regions(
            HIGHER("cond",
                   ARG("", T("x")) ", " ARG("", GRAPH("t", INNER)) ", " ARG(
                       "",
                       GRAPH("f",
                             INNER)) ", " ARG("",
                                              "{\"as_tensors\": [{\"name\": \"x\"}]}")),
            PROGRAM_IF, &ops),
        1);
    CHECK_INT(ops, 2);
    CHECK_INT(
        count_regions(
            HIGHER("while_loop",
                   ARG("", GRAPH("c", INNER)) ", " ARG("", GRAPH("b", INNER)) ", " ARG(
                       "", "{\"as_tensors\": [{\"name\": \"x\"}]}")),
            PROGRAM_LOOP, &ops),
        1);
    CHECK_INT(ops, 2);
    CHECK_INT(
        count_regions(
            HIGHER("scan", ARG("", GRAPH("b", INNER)) ", " ARG(
                               "", "{\"as_tensors\": [{\"name\": "
                                   "\"x\"}]}") ", " ARG("", "{\"as_tensors\": []}")),
            PROGRAM_LOOP, &ops),
        1);
    CHECK_INT(
        count_regions(HIGHER("wrap", ARG("", GRAPH("b", INNER)) ", " ARG("", T("x"))),
                      PROGRAM_LOOP, &ops),
        0);
    CHECK_INT(ops, 1);
    CHECK_INT(
        count_regions(HIGHER("flex", ARG("", T("x")) ", " ARG("", GRAPH("b", INNER))),
                      PROGRAM_UNCLEAR, &ops),
        1);
    CHECK_INT(ops, 1);
}

TEST(json_that_torch_never_writes_is_read_without_an_error)
{
    static const char *const nodes[] = {
        "",
        "3",
        "{}",
        "[[]]",
        NODE("", "", "", ",,,;;a"),
        NODE("torch.ops.aten.add_", ARG("self", T("nobody")), T("nobody"), "x"),
        NODE("torch.ops.a.b", ARG("x", "{\"as_new_kind\": {\"a\": 1}}"), "3", ""),
        NODE("t", ARG("x", "{\"as_ints\": [1, null, \"a\", {\"as_int\": 1e400}]}"), "",
             "k,a.b.c,C;k,,;k"),
        NODE("t", ARG("x", "{\"as_string_to_argument\": {\"a\": {\"as_int\": 1}}}"),
             T(""), ""),
        HIGHER("cond", ""),
        HIGHER("while_loop", ARG("", GRAPH("b", INNER)) ", " ARG("", GRAPH("b", ""))),
        HIGHER("scan", ARG("", GRAPH("b", INNER))),
    };
    uint32_t ops;

    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        CHECK_INT(count_regions(nodes[i], PROGRAM_ELSE, &ops), 0);
}

TEST(native_code_is_a_finding)
{
    struct test_zip zip = {0};
    const struct model *model;

    add(&zip, "m/archive_format", STR("pt2"));
    add(&zip, "m/data/aotinductor/net/a.wrapper.so",
        STR("\x7f"
            "ELF"));
    add(&zip, "m/data/aotinductor/net/a.cpp", STR("int x;"));
    test_zip_end(&zip, &(struct test_end){0});
    model = read_model_memory(zip.bytes.at, zip.bytes.len, "m.pt2", NULL, NULL);
    CHECK(model != NULL && has_finding(model, FINDING_NATIVE_CODE));
    CHECK(place_find(model, STR("aotinductor.net")) != NO_PLACE);
    model_free(model);
    test_zip_release(&zip);
}
