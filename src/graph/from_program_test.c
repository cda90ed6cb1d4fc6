#include "base/test.h"
#include "graph/drawn_in.h"
#include "study/sample_program.h"

static struct graph_wanted at_level(enum graph_level level)
{
    struct graph_wanted wanted = GRAPH_WANTED;

    wanted.level = level;
    return wanted;
}

/* x goes through conv n times, then through `a` or `b`. */
static const struct model *loop_and_branch(void)
{
    struct sample_program s;
    uint32_t conv, x, n, flag, turn, y, a, b, either;

    sample_program_begin(&s);
    conv = sample_program_module(&s, "conv", "torch.nn.Conv2d");
    sample_program_code(&s);
    x = sample_program_input(&s, "x", false);
    n = sample_program_input(&s, "n", true);
    flag = sample_program_input(&s, "flag", true);
    turn = sample_program_merge(&s, true);
    sample_program_region(&s, PROGRAM_LOOP, -1, n);
    sample_program_enter(&s, conv, turn);
    y = sample_program_op(&s, "aten::conv2d", turn, PROGRAM_NONE);
    sample_program_leave(&s, y);
    y = sample_program_op(&s, "aten::relu", y, PROGRAM_NONE);
    sample_program_region_end(&s);
    CHECK(build_program_sources(&s.build, turn, (uint32_t[]){x, y}, 2) == 0);
    sample_program_region(&s, PROGRAM_IF, -1, flag);
    a = sample_program_op(&s, "aten::exp", turn, PROGRAM_NONE);
    sample_program_region_end(&s);
    sample_program_region(&s, PROGRAM_ELSE, -1, flag);
    b = sample_program_op(&s, "aten::sin", turn, PROGRAM_NONE);
    sample_program_region_end(&s);
    either = sample_program_merge(&s, false);
    CHECK(build_program_sources(&s.build, either, (uint32_t[]){a, b}, 2) == 0);
    return sample_program_end(&s, x, either);
}

TEST(loops_and_branches_of_a_program_are_frames)
{
    struct drawn_graph drawn = drawn_model(loop_and_branch(), at_level(GRAPH_MODULES));
    const struct diagram *diagram = &drawn.diagram;
    uint32_t loop = drawn_box(&drawn, "code:0"), a = drawn_box(&drawn, "op:2");

    CHECK(loop != PLAN_NONE && a != PLAN_NONE);
    CHECK_INT(diagram->boxes[loop].kind, DIAGRAM_CONTROL);
    CHECK_STR(drawn_words(&drawn, "code:0"), "loop: n");
    CHECK_STR(drawn_words(&drawn, "code:1"), "if: flag");
    CHECK_STR(drawn_words(&drawn, "code:2"), "else: flag is false");
    CHECK_INT(diagram->plan.boxes[drawn_box(&drawn, "conv")].parent, loop);
    CHECK_INT(diagram->plan.boxes[a].parent, drawn_box(&drawn, "code:1"));
    CHECK(drawn_wire(&drawn, "in:x", "conv"));
    CHECK(drawn_wire(&drawn, "op:1", "conv"));
    CHECK(drawn_wire(&drawn, "op:1", "op:2"));
    CHECK(drawn_wire(&drawn, "op:3", "out:0"));
    CHECK(!drawn_wire(&drawn, "op:2", "op:3"));
    /* Numbers are not drawn as data. */
    CHECK_INT(drawn_box(&drawn, "in:n"), PLAN_NONE);
    drawn_drop(&drawn);
}

TEST(the_note_of_a_program_states_that_nothing_was_run)
{
    struct drawn_graph drawn = drawn_model(loop_and_branch(), at_level(GRAPH_OPS));

    CHECK(strstr(drawn.diagram.note.at, "forward in the file, which was not run"));
    CHECK(!drawn.diagram.has[DIAGRAM_TIME]);
    CHECK_STR(drawn_words(&drawn, "conv"), "conv: conv2d");
    drawn_drop(&drawn);
}

TEST(a_module_of_a_program_can_be_drawn_alone)
{
    const struct model *model = loop_and_branch();
    struct graph_wanted wanted = at_level(GRAPH_OPS);
    struct drawn_graph drawn;

    wanted.root = 1;
    drawn = drawn_model(model, wanted);
    CHECK_STR(drawn_words(&drawn, "conv"), "conv: Conv2d");
    CHECK(drawn_box(&drawn, "op:0") != PLAN_NONE);
    CHECK_INT(drawn_box(&drawn, "op:1"), PLAN_NONE);
    CHECK(drawn_box(&drawn, "out:0") != PLAN_NONE);
    drawn_drop(&drawn);
}

TEST(focus_and_paths_work_with_backward_lines)
{
    struct graph_wanted wanted = at_level(GRAPH_MODULES);
    struct drawn_graph drawn;

    wanted.focus = wanted.to = 1;
    drawn = drawn_model(loop_and_branch(), wanted);
    CHECK(drawn_box(&drawn, "conv") != PLAN_NONE);
    CHECK(drawn_box(&drawn, "op:1") != PLAN_NONE);
    CHECK_INT(drawn_box(&drawn, "op:2"), PLAN_NONE);
    drawn_drop(&drawn);
}

TEST(code_that_was_not_understood_is_a_box)
{
    struct sample_program s;
    struct drawn_graph drawn;
    uint32_t x, y, region;

    sample_program_begin(&s);
    sample_program_code(&s);
    x = sample_program_input(&s, "x", false);
    region = sample_program_region(&s, PROGRAM_UNCLEAR, -1, PROGRAM_NONE);
    s.build.program->regions[region].text = build_string(&s.build, STR("x @ y"));
    sample_program_region_end(&s);
    y = sample_program_op(&s, "aten::exp", x, PROGRAM_NONE);
    drawn = drawn_model(sample_program_end(&s, x, y), at_level(GRAPH_OPS));
    CHECK_STR(drawn_words(&drawn, "code:0"), "not understood: x @ y");
    CHECK(drawn.diagram.boxes[drawn_box(&drawn, "code:0")].flags & DIAGRAM_REGION);
    CHECK(strstr(drawn.diagram.note.at, "1 part of the code was not understood."));
    drawn_drop(&drawn);
}

enum { MODULE = 1, BYTECODE = 2 };

/* Check the error for a model of this format without a program. */
static void check_refused(const char *format, unsigned has, const char *wanted)
{
    struct graph_wanted question = GRAPH_WANTED;
    struct session *session;
    struct diagram diagram;
    struct err err = {0};
    struct arena arena;
    struct build build;

    CHECK(build_init(&build, "m.pt", 0, NULL, NULL) == 0);
    build.model->format = format;
    if (has & BYTECODE)
        build_fact(&build, "bytecode version", value_int(build_values(&build), 7));
    if (has & MODULE) {
        build_set_kind(&build, 0, PLACE_MODULE);
        build_object(&build, 0)->class_id = build_class(&build, STR("net.Net"));
    }
    session = session_of(build_finish(&build, NULL), NULL);
    build_release(&build);
    arena_init(&arena, 0);
    CHECK_INT(diagram_make(&diagram, session, &question, &arena, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK(strstr(err.text, wanted));
    CHECK(strstr(err.text, "torchoscope graph model.py::make"));
    arena_release(&arena);
    session_close(session);
}

TEST(a_file_without_code_is_refused_by_its_kind)
{
    check_refused("torch zip", 0, "a state_dict has no graph");
    check_refused("torch zip", MODULE, "a pickled module has no graph");
    check_refused("safetensors", 0, "a safetensors file has no graph");
    check_refused("safetensors shards", 0, "a safetensors file has no graph");
    check_refused("TorchScript", MODULE, "no code of a method that can be followed");
    check_refused("TorchScript", MODULE | BYTECODE, "has only bytecode");
}
