#include "study/op_graph.h"

#include "base/test.h"
#include "run/sample_block.h"
#include "run/sample_run.h"

struct drawn {
    struct run *run;
    struct op_graph graph;
    struct arena arena;
};

static struct drawn draw(struct run *run, enum op_graph_level level, unsigned phases)
{
    struct drawn drawn = {.run = run};
    struct op_graph_wanted wanted = {.level = level, .phases = phases};
    struct err err = {0};

    arena_init(&drawn.arena, 0);
    CHECK_INT(op_graph_make(&drawn.graph, run, wanted, &drawn.arena, &err), 0);
    return drawn;
}

static void drop(struct drawn *drawn)
{
    arena_release(&drawn->arena);
    run_free(drawn->run);
}

static bool has_edge(const struct op_graph *graph, uint32_t source, uint32_t target)
{
    for (uint32_t i = 0; i < graph->n_edges; i++)
        if (graph->edges[i].source == source && graph->edges[i].target == target)
            return true;
    return false;
}

static uint32_t count_edges_to(const struct op_graph *graph, uint32_t target)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < graph->n_edges; i++)
        n += graph->edges[i].target == target;
    return n;
}

static uint32_t count_kind(const struct op_graph *graph, enum op_graph_kind kind)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        n += graph->nodes[i].kind == kind;
    return n;
}

TEST(every_operation_is_a_node_with_an_edge_for_each_value_that_it_reads)
{
    struct drawn drawn = draw(sample_ops(), OP_GRAPH_OPS, 0);
    const struct op_graph *graph = &drawn.graph;

    CHECK(graph->exact);
    for (uint32_t i = 0; i < 9; i++)
        CHECK(graph->nodes[i].kind == OP_GRAPH_OP && graph->nodes[i].op == i);
    CHECK(has_edge(graph, 0, 1)); /* the weight, transposed */
    CHECK(has_edge(graph, 1, 2) && has_edge(graph, 2, 3));
    CHECK(has_edge(graph, 1, 3));                           /* the residual */
    CHECK(!has_edge(graph, 2, 4) && has_edge(graph, 3, 4)); /* after the write */
    CHECK(has_edge(graph, 6, 7) && has_edge(graph, 7, 8));
    CHECK_INT(count_kind(graph, OP_GRAPH_PARAMETER), 2);
    CHECK_INT(count_kind(graph, OP_GRAPH_OUTSIDE), 1); /* x */
    drop(&drawn);
}

TEST(excluded_phases_have_no_nodes)
{
    struct drawn drawn = draw(sample_ops(), OP_GRAPH_OPS, 1 << OP_BACKWARD);
    const struct op_graph *graph = &drawn.graph;

    CHECK_INT(count_kind(graph, OP_GRAPH_OP), 2);
    CHECK_INT(graph->nodes[0].op, 6);
    CHECK(has_edge(graph, 0, 1));
    /* The loss and r were made by operations that are not in the graph, x by none. */
    CHECK_INT(count_kind(graph, OP_GRAPH_OUTSIDE), 3);
    drop(&drawn);
}

TEST(operations_of_a_call_are_one_node_and_those_between_calls_are_their_own)
{
    struct drawn drawn = draw(sample_ops(), OP_GRAPH_MODULES, 0);
    const struct op_graph *graph = &drawn.graph;

    /* a; act; add_ in the root, sum outside of it. Nothing reads the detach. */
    CHECK_INT(count_kind(graph, OP_GRAPH_CALL), 2);
    CHECK_INT(count_kind(graph, OP_GRAPH_OP), 2);
    CHECK(graph->nodes[2].op == 3 && graph->nodes[3].op == 5);
    CHECK_INT(graph->nodes[0].n_ops, 2);
    CHECK(graph->nodes[0].has_flops && graph->nodes[0].flops == 24);
    CHECK_INT(graph->nodes[1].op, 2);
    CHECK(has_edge(graph, 0, 1) && has_edge(graph, 1, 2) && has_edge(graph, 0, 2));
    CHECK_INT(count_edges_to(graph, 2), 2);
    CHECK(has_edge(graph, 2, 3));
    CHECK_INT(count_kind(graph, OP_GRAPH_PARAMETER), 0);
    drop(&drawn);
}

TEST(without_operations_calls_are_connected_by_the_values_that_they_share)
{
    struct drawn drawn = draw(sample_run(1), OP_GRAPH_MODULES, 0);
    const struct op_graph *graph = &drawn.graph;
    struct err err = {0};
    struct op_graph none;

    CHECK(!graph->exact);
    CHECK(count_kind(graph, OP_GRAPH_CALL) >= 2);
    CHECK(count_kind(graph, OP_GRAPH_OUTPUT) >= 1);
    CHECK(graph->n_edges > 0);
    for (uint32_t i = 0; i < graph->n_edges; i++)
        CHECK(graph->edges[i].source < graph->n_nodes &&
              graph->edges[i].target < graph->n_nodes);
    CHECK_INT(op_graph_make(&none, drawn.run,
                            (struct op_graph_wanted){.level = OP_GRAPH_OPS},
                            &drawn.arena, &err),
              -1);
    CHECK(err.code == ERR_UNSUPPORTED);
    drop(&drawn);
}

/* ---- chains and parts ---- */

static struct trace *begin(void)
{
    struct trace *trace = trace_new(sample_model(), &(struct trace_wanted){0});

    CHECK(trace && trace_ops_begin(trace, 0));
    return trace;
}

static uint32_t storage(struct trace *trace)
{
    return trace_op_storage(trace, 64, trace_device(trace, "cpu"), RUN_NONE,
                            OP_STORAGE_OTHER);
}

TEST(a_chain_of_a_hundred_thousand_operations_needs_no_stack)
{
    enum { LENGTH = 100000 };
    static const char *const self[] = {"self"};
    struct trace *trace = begin();
    uint32_t kind = trace_op_kind(trace, "aten::relu", "", self, 1, 0);
    uint32_t from = storage(trace);
    struct drawn drawn;

    for (uint32_t i = 0; i < LENGTH; i++) {
        uint32_t to = storage(trace);
        const struct sample_tensor tensors[] = {
            {.storage = from, .kind = OP_IN, .rows = 2, .columns = 2},
            {.storage = to, .kind = OP_OUT, .rows = 2, .columns = 2}};

        CHECK_INT(sample_op(trace, kind, tensors, 2, NULL), i);
        from = to;
    }
    drawn = draw(trace_finish(trace, 1, 0), OP_GRAPH_OPS, 0);
    CHECK_INT(drawn.graph.n_edges, LENGTH);
    CHECK_INT(drawn.graph.n_nodes, LENGTH + 1);
    for (uint32_t i = 1; i < LENGTH; i++)
        CHECK(drawn.graph.edges[i].source == i - 1 && drawn.graph.edges[i].target == i);
    drop(&drawn);
}

TEST(a_tensor_that_was_written_in_parts_has_an_edge_from_each_writer)
{
    static const char *const self[] = {"self"};
    struct trace *trace = begin();
    uint32_t empty = trace_op_kind(trace, "aten::empty", "", NULL, 0, OP_MAKES);
    uint32_t fill = trace_op_kind(trace, "aten::fill_", "", self, 1, OP_WRITES);
    uint32_t relu = trace_op_kind(trace, "aten::relu", "", self, 1, 0);
    uint32_t at = storage(trace), to = storage(trace);
    const struct sample_tensor make[] = {
        {.storage = at, .kind = OP_OUT, .rows = 2, .columns = 4}};
    const struct sample_tensor read[] = {
        {.storage = at, .kind = OP_IN, .rows = 2, .columns = 4},
        {.storage = to, .kind = OP_OUT, .rows = 2, .columns = 4}};
    struct drawn drawn;

    CHECK_INT(sample_op(trace, empty, make, 1, NULL), 0);
    for (uint32_t row = 0; row < 2; row++) {
        const struct sample_tensor part[] = {{.storage = at,
                                              .kind = OP_WRITTEN,
                                              .rows = 1,
                                              .columns = 4,
                                              .offset = (uint64_t)row * 4}};

        CHECK_INT(sample_op(trace, fill, part, 1, NULL), row + 1);
    }
    CHECK_INT(sample_op(trace, relu, read, 2, NULL), 3);
    drawn = draw(trace_finish(trace, 1, 0), OP_GRAPH_OPS, 0);
    CHECK(has_edge(&drawn.graph, 1, 3) && has_edge(&drawn.graph, 2, 3));
    CHECK(!has_edge(&drawn.graph, 0, 3));
    drop(&drawn);
}

/* An operation in the open call, of float32 matrices. */
static void op_in_call(struct trace *trace, uint32_t kind, uint32_t from, uint32_t to,
                       int64_t rows)
{
    const struct run_op_type like = {.dtype = DTYPE_FLOAT32, .rank = 2};
    const int64_t before[] = {rows, 8 / rows}, after[] = {4, 2};
    struct trace_op_tensor tensors[] = {
        {.type = trace_op_type(trace, &like, before, NULL),
         .storage = from,
         .item = OP_NO_ITEM,
         .kind = OP_IN},
        {.type = trace_op_type(trace, &like, after, NULL),
         .storage = to,
         .item = OP_NO_ITEM,
         .kind = OP_OUT}};
    struct trace_op_given given = {.kind = kind,
                                   .cause = RUN_NONE,
                                   .gradient = RUN_NONE,
                                   .flops = OP_NO_FLOPS,
                                   .tensors = tensors,
                                   .n_tensors = 2};
    uint32_t values[2];

    given.call = trace_open_call(trace, 0, &given.serial, &given.place);
    CHECK(trace_op(trace, &given, values) != RUN_NONE);
}

TEST(in_one_call_a_view_taken_twice_comes_from_the_last_operation)
{
    struct trace *trace = begin();
    uint32_t view = trace_op_kind(trace, "aten::t", "", NULL, 0, OP_VIEW);
    uint32_t relu = trace_op_kind(trace, "aten::relu", "", NULL, 0, 0);
    uint32_t at = storage(trace), call = trace_begin(trace, 0, SAMPLE_NET, 0, 0, 1);
    struct op_graph_wanted wanted = {.level = OP_GRAPH_OPS, .within = call + 1};
    struct drawn drawn;

    for (uint32_t i = 0; i < 2; i++) {
        op_in_call(trace, view, at, at, 2);
        op_in_call(trace, relu, at, storage(trace), 4);
    }
    trace_end(trace, 0, call, 0, 9);
    drawn.run = trace_finish(trace, 1, 0);
    arena_init(&drawn.arena, 0);
    CHECK_INT(op_graph_make(&drawn.graph, drawn.run, wanted, &drawn.arena, NULL), 0);
    CHECK(has_edge(&drawn.graph, 0, 1) && has_edge(&drawn.graph, 2, 3));
    CHECK(!has_edge(&drawn.graph, 0, 3));
    drop(&drawn);
}

TEST(the_graph_of_one_call_has_its_own_inputs_and_outputs)
{
    struct drawn drawn = {.run = sample_block((struct sample_block_wanted){0})};
    const struct run *run = drawn.run;
    struct op_graph_wanted wanted = {.level = OP_GRAPH_MODULES};
    struct err err = {0};
    uint32_t block = run_first_call(run, BLOCK_BLOCK);

    arena_init(&drawn.arena, 0);
    wanted.within = block + 1;
    CHECK_INT(op_graph_make(&drawn.graph, run, wanted, &drawn.arena, &err), 0);
    CHECK_INT(count_kind(&drawn.graph, OP_GRAPH_INPUT), 1);
    CHECK_INT(count_kind(&drawn.graph, OP_GRAPH_OUTPUT), 1);
    CHECK_INT(count_kind(&drawn.graph, OP_GRAPH_CALL), 5);
    CHECK_INT(count_kind(&drawn.graph, OP_GRAPH_OP), 1);
    for (uint32_t i = 0; i < drawn.graph.n_nodes; i++)
        if (drawn.graph.nodes[i].kind == OP_GRAPH_CALL)
            CHECK(run->calls[drawn.graph.nodes[i].call].parent == block);
    wanted.within = run->n_calls + 1;
    CHECK_INT(op_graph_make(&drawn.graph, run, wanted, &drawn.arena, &err), -1);
    drop(&drawn);
}
