#include "base/test.h"
#include "history/sinks/events_in.h"
#include "run/sample_run.h"

static bool has(const struct buf *graph, struct str bytes)
{
    return str_find(buf_span(graph), bytes) >= 0;
}

static uint32_t call_of(struct trace *trace, uint32_t object, uint32_t in, uint32_t out)
{
    uint32_t call = trace_begin(trace, 0, object, RUN_GRAD_MODE, 0, 200);

    trace_io(trace, call, RUN_IN, 0, in, 0);
    if (out != RUN_NONE) {
        trace_io(trace, call, RUN_OUT, 0, out, 0);
        trace_end(trace, 0, call, 0, 300);
    }
    return call;
}

/* Net calls a, then Block, which calls act. `seen`: Block returns what act did, and
 * takes what a returned; else operations that were not recorded are in between. */
static struct run *one_pass(bool seen)
{
    const struct trace_wanted wanted = {0};
    struct trace *trace = trace_new(sample_model(), &wanted);
    uint32_t root = trace_begin(trace, 0, SAMPLE_NET, RUN_GRAD_MODE, 0, 100);
    uint32_t path = trace_string(trace, "x", 1), block, a, act, result;
    uint32_t x = sample_value(trace, 2, 3, 1);

    trace_io(trace, root, RUN_IN, path, x, 0);
    a = sample_value(trace, 2, 5, 2);
    call_of(trace, SAMPLE_A, x, a);
    block =
        call_of(trace, SAMPLE_BLOCK, seen ? a : sample_value(trace, 2, 6, 3), RUN_NONE);
    act = sample_value(trace, 2, 7, 4);
    call_of(trace, SAMPLE_ACT, seen ? a : sample_value(trace, 2, 8, 5), act);
    result = seen ? act : sample_value(trace, 2, 9, 6);
    trace_io(trace, block, RUN_OUT, 0, result, 0);
    trace_end(trace, 0, block, 0, 400);
    trace_io(trace, root, RUN_OUT, 0, result, 0);
    trace_end(trace, 0, root, 0, 500);
    return trace_finish(trace, 600, 0);
}

TEST(modules_are_nodes_and_the_values_between_them_are_edges)
{
    struct run *run = one_pass(true);
    struct buf graph = BUF_INIT;

    CHECK(events_graph(run, &graph) == 0);
    CHECK(has(&graph, STR("\x0a\x08inputs/x\x12\x0bPlaceholder")));
    CHECK(has(&graph, STR("\x0a\x01"
                          "a\x12\x06Linear\x1a\x08inputs/x")));
    /* The shape of what it returns: 2 x 5. */
    CHECK(has(&graph, STR("_output_shapes\x12\x0c\x0a\x0a\x3a\x08"
                          "\x12\x02\x08\x02\x12\x02\x08\x05")));
    CHECK(has(&graph, STR("\x0a\x0alist/0/act\x12\x04ReLU\x1a\x01"
                          "a")));
    CHECK(has(&graph, STR("\x0a\x08(result)\x12\x03Net\x1a\x0alist/0/act")));
    CHECK(!has(&graph, STR("list/0/(result)"))); /* act made it */
    CHECK(!has(&graph, STR("^")));
    buf_release(&graph);
    run_free(run);
}

TEST(results_of_unrecorded_operations_have_control_edges)
{
    struct run *run = one_pass(false);
    struct buf graph = BUF_INIT;

    CHECK(events_graph(run, &graph) == 0);
    CHECK(has(&graph, STR("\x0a\x0alist/0/act\x12\x04ReLU\x1a\x02^a")));
    CHECK(has(&graph, STR("\x0a\x0flist/0/(result)\x12\x05"
                          "Block\x1a\x0b^list/0/act")));
    CHECK(has(&graph, STR("\x0a\x08(result)\x12\x03Net\x1a\x0flist/0/(result)")));
    buf_release(&graph);
    run_free(run);
}

TEST(parts_that_are_called_separately_are_in_one_graph_once)
{
    const struct trace_wanted wanted = {0};
    struct trace *trace = trace_new(sample_model(), &wanted);
    uint32_t path = trace_string(trace, "x", 1), call;
    uint32_t x = sample_value(trace, 2, 3, 1), y = sample_value(trace, 2, 5, 2);
    struct buf graph = BUF_INIT;
    struct run *run;

    for (int i = 0; i < 2; i++) {
        call = trace_begin(trace, 0, SAMPLE_A, RUN_GRAD_MODE, 0, 200);
        trace_io(trace, call, RUN_IN, path, x, 0);
        trace_io(trace, call, RUN_OUT, 0, y, 0);
        trace_end(trace, 0, call, 0, 300);
    }
    call_of(trace, SAMPLE_TAIL, y, sample_value(trace, 2, 7, 4));
    run = trace_finish(trace, 600, 0);
    CHECK(events_graph(run, &graph) == 0);
    CHECK(has(&graph, STR("\x0a\x0ainputs/a/x\x12\x0bPlaceholder")));
    CHECK(has(&graph, STR("\x0a\x01"
                          "a\x12\x06Linear\x1a\x0ainputs/a/x")));
    CHECK(has(&graph, STR("\x0a\x04tail\x12\x06Linear\x1a\x01"
                          "a")));
    CHECK(!has(&graph, STR("call_1")) && !has(&graph, STR("inputs/tail")));
    buf_release(&graph);
    run_free(run);
}

TEST(without_a_pass_there_is_no_graph)
{
    const struct trace_wanted wanted = {0};
    struct run *run = trace_finish(trace_new(sample_model(), &wanted), 0, 0);
    struct buf graph = BUF_INIT;

    CHECK(events_graph(run, &graph) == 0 && graph.len == 0);
    buf_release(&graph);
    run_free(run);
}
