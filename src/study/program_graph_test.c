#include "study/program_graph.h"

#include "base/buf.h"
#include "base/test.h"
#include "study/sample_program.h"

/* The nodes and their sources: "mul(x) out(mul)"; calls are their modules. */
static void name_node(struct buf *to, const struct model *model,
                      const struct op_graph_node *node)
{
    const struct program *program = model->program;

    if (node->kind == OP_GRAPH_OP)
        buf_str(to, str_from(model_string(model, program->ops[node->op].name), 6));
    else if (node->kind == OP_GRAPH_CALL)
        place_path(model, program->calls[node->call].place, to);
    else if (node->kind == OP_GRAPH_INPUT)
        buf_str(to, model_string(model, program->values[node->value].name));
    else
        buf_text(to, op_graph_kind_name((enum op_graph_kind)node->kind));
}

static void check_graph(const struct model *model, enum op_graph_level level,
                        const char *wanted)
{
    struct buf text = BUF_INIT;
    struct op_graph graph;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(program_graph_make(&graph, model, (struct program_graph_wanted){level, 0},
                             &arena, NULL) == 0);
    for (uint32_t i = 0; i < graph.n_nodes; i++) {
        if (graph.nodes[i].kind == OP_GRAPH_INPUT)
            continue;
        buf_text(&text, text.len > 0 ? " " : "");
        name_node(&text, model, &graph.nodes[i]);
        buf_char(&text, '(');
        for (uint32_t e = 0, n = 0; e < graph.n_edges; e++)
            if (graph.edges[e].target == i) {
                buf_text(&text, n++ > 0 ? " " : "");
                name_node(&text, model, &graph.nodes[graph.edges[e].source]);
            }
        buf_char(&text, ')');
    }
    CHECK_STR(buf_cstr(&text), wanted);
    buf_release(&text);
    arena_release(&arena);
    model_free(model);
}

TEST(numbers_are_not_nodes_but_tensors_made_from_them_are)
{
    struct sample_program s;
    uint32_t x, size, zeros, sum;

    sample_program_begin(&s);
    sample_program_code(&s);
    x = sample_program_input(&s, "x", false);
    size = sample_program_op(&s, "aten::size", x, PROGRAM_NONE);
    size = sample_program_op(&s, "aten::mul", size, size);
    zeros = sample_program_op(&s, "aten::zeros", size, PROGRAM_NONE);
    sum = sample_program_op(&s, "aten::add", x, zeros);
    check_graph(sample_program_end(&s, x, sum), OP_GRAPH_OPS,
                "zeros() add(x zeros) output(add)");
}

TEST(a_number_that_the_program_returns_is_data)
{
    struct sample_program s;
    uint32_t x, size;

    sample_program_begin(&s);
    sample_program_code(&s);
    x = sample_program_input(&s, "x", false);
    size = sample_program_op(&s, "aten::size", x, PROGRAM_NONE);
    sample_program_op(&s, "aten::dim", x, PROGRAM_NONE);
    size = sample_program_op(&s, "aten::neg", size, PROGRAM_NONE);
    check_graph(sample_program_end(&s, x, size), OP_GRAPH_OPS,
                "size(x) neg(size) output(neg)");
}

TEST(items_of_a_list_come_from_the_operation_that_made_it)
{
    struct sample_program s;
    uint32_t x, list, sum;

    sample_program_begin(&s);
    sample_program_code(&s);
    x = sample_program_input(&s, "x", false);
    list = sample_program_op(&s, "aten::unbind", x, PROGRAM_NONE);
    sum = sample_program_op(&s, "aten::add", sample_program_item(&s, list, 0),
                            sample_program_item(&s, list, 1));
    check_graph(sample_program_end(&s, x, sum), OP_GRAPH_OPS,
                "unbind(x) add(unbind unbind) output(add)");
}

/* conv(x), then an Identity, then relu and add outside of modules. */
static const struct model *calls(void)
{
    struct sample_program s;
    uint32_t conv, skip, x, y;

    sample_program_begin(&s);
    conv = sample_program_module(&s, "conv", "torch.nn.Conv2d");
    skip = sample_program_module(&s, "skip", "torch.nn.Identity");
    sample_program_code(&s);
    x = sample_program_input(&s, "x", false);
    sample_program_enter(&s, conv, x);
    y = sample_program_op(&s, "aten::conv2d", x, PROGRAM_NONE);
    y = sample_program_op(&s, "aten::neg", y, PROGRAM_NONE);
    sample_program_leave(&s, y);
    sample_program_enter(&s, skip, y);
    sample_program_leave(&s, y);
    y = sample_program_op(&s, "aten::relu", y, PROGRAM_NONE);
    y = sample_program_op(&s, "aten::add", y, x);
    return sample_program_end(&s, x, y);
}

TEST(a_call_is_one_node_at_the_level_of_modules)
{
    check_graph(calls(), OP_GRAPH_MODULES,
                "conv(x) skip(conv) relu(skip) add(relu x) output(add)");
}

TEST(a_call_without_operations_passes_its_input_on)
{
    check_graph(calls(), OP_GRAPH_OPS,
                "conv2d(x) neg(conv2d) skip(neg) relu(skip) add(relu x) output(add)");
}

TEST(a_loop_makes_a_cycle_and_a_branch_never_taken_is_omitted)
{
    struct sample_program s;
    uint32_t x, turn, y, dead, after;

    sample_program_begin(&s);
    sample_program_code(&s);
    x = sample_program_input(&s, "x", false);
    turn = sample_program_merge(&s, true);
    sample_program_region(&s, PROGRAM_LOOP, -1, PROGRAM_NONE);
    y = sample_program_op(&s, "aten::relu", turn, PROGRAM_NONE);
    y = sample_program_op(&s, "aten::neg", y, PROGRAM_NONE);
    sample_program_region_end(&s);
    CHECK(build_program_sources(&s.build, turn, (uint32_t[]){x, y}, 2) == 0);
    sample_program_region(&s, PROGRAM_IF, 0, PROGRAM_NONE);
    dead = sample_program_op(&s, "aten::exp", turn, PROGRAM_NONE);
    sample_program_region_end(&s);
    after = sample_program_merge(&s, false);
    CHECK(build_program_sources(&s.build, after, (uint32_t[]){dead, turn}, 2) == 0);
    check_graph(sample_program_end(&s, x, after), OP_GRAPH_OPS,
                "relu(x neg) neg(relu) output(x neg)");
}

TEST(unsupported_code_is_a_node)
{
    struct sample_program s;
    struct program_value made = {.kind = PROGRAM_OPAQUE,
                                 .shape = PROGRAM_NONE,
                                 .tensor = PROGRAM_NONE,
                                 .place = PROGRAM_NONE,
                                 .plain = PROGRAM_NONE};
    uint32_t x, y;

    sample_program_begin(&s);
    sample_program_code(&s);
    x = sample_program_input(&s, "x", false);
    made.producer = sample_program_region(&s, PROGRAM_UNCLEAR, -1, PROGRAM_NONE);
    sample_program_region_end(&s);
    y = sample_program_op(&s, "aten::add", x, build_program_value(&s.build, &made));
    check_graph(sample_program_end(&s, x, y), OP_GRAPH_OPS,
                "unclear() add(x unclear) output(add)");
}

TEST(consecutive_conditions_do_not_multiply_edges)
{
    enum { STEPS = 2000 };
    struct sample_program s;
    struct op_graph graph;
    const struct model *model;
    struct arena arena;
    uint32_t x, now;

    sample_program_begin(&s);
    sample_program_code(&s);
    x = now = sample_program_input(&s, "x", false);
    for (int i = 0; i < STEPS; i++) {
        uint32_t made, either = sample_program_merge(&s, false);

        sample_program_region(&s, PROGRAM_IF, -1, PROGRAM_NONE);
        made = sample_program_op(&s, "aten::neg", now, PROGRAM_NONE);
        sample_program_region_end(&s);
        CHECK(build_program_sources(&s.build, either, (uint32_t[]){made, now}, 2) == 0);
        now = either;
    }
    model = sample_program_end(&s, x, now);
    arena_init(&arena, 0);
    CHECK(program_graph_make(&graph, model,
                             (struct program_graph_wanted){OP_GRAPH_OPS, 0}, &arena,
                             NULL) == 0);
    CHECK(graph.cut);
    CHECK(graph.n_edges > STEPS && graph.n_edges < 50 * STEPS);
    arena_release(&arena);
    model_free(model);
}
