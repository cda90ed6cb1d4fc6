#include "run/trace_ops.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "run/sample_run.h"

static struct trace *begin(uint32_t most)
{
    struct trace *trace = trace_new(sample_model(), &(struct trace_wanted){0});

    CHECK(trace && trace_ops_begin(trace, most));
    return trace;
}

static uint32_t storage(struct trace *trace, uint64_t bytes)
{
    return trace_op_storage(trace, bytes, 0, RUN_NONE, OP_STORAGE_OTHER);
}

static uint32_t plain_kind(struct trace *trace, const char *name, uint8_t flags)
{
    return trace_op_kind(trace, name, "", NULL, 0, flags);
}

#define ROWS(s, k, from, n)                                                            \
    {                                                                                  \
        .storage = (s), .kind = (k), .rows = (n), .columns = 4,                        \
        .offset = 4 * (uint64_t)(from)                                                 \
    }

/* The producers of a value as text: "0 2 ". */
static const char *made_by(const struct run *run, uint32_t value)
{
    static char text[64];
    uint32_t ops[8], n = op_producers(run->ops, value, ops, 8);
    struct op_walk walk;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(op_walk_init(&walk, run->ops, &arena) == 0);
    CHECK_INT(op_walk(&walk, value), n);
    CHECK_MEM(walk.found, ops, n * sizeof *ops);
    arena_release(&arena);
    *text = '\0';
    for (uint32_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u ", ops[i]);
    return text;
}

TEST(an_edge_goes_from_the_producer_of_a_value_to_its_readers)
{
    struct run *run = sample_ops();
    const struct run_op *ops = run->ops->ops;
    const struct run_op_io *io = run->ops->ios;

    CHECK_INT(run->ops->n_ops, 9);
    CHECK_STR(op_name(run, &ops[1]).at, "aten::addmm");
    CHECK_STR(made_by(run, io[ops[1].ios].value), "");       /* the bias */
    CHECK_STR(made_by(run, io[ops[1].ios + 2].value), "0 "); /* the view */
    CHECK_STR(made_by(run, io[ops[2].ios].value), "1 ");
    CHECK_STR(made_by(run, io[ops[3].ios].value), "2 ");
    CHECK_STR(made_by(run, io[ops[3].ios + 1].value), "1 ");
    CHECK_STR(made_by(run, io[ops[5].ios].value), "3 ");
    CHECK_STR(made_by(run, io[ops[8].ios + 1].value), "7 ");
    CHECK_INT(run->ops->values[io[ops[1].ios].value].tensor, 1);
    run_free(run);
}

TEST(an_operation_has_its_call_place_cause_and_step)
{
    struct run *run = sample_ops();
    const struct run_op *ops = run->ops->ops;

    CHECK_INT(run->calls[ops[1].call].object, SAMPLE_A);
    CHECK_INT(run->calls[ops[2].call].object, SAMPLE_ACT);
    CHECK_INT(run->calls[ops[3].call].object, SAMPLE_NET);
    CHECK_INT(ops[5].call, RUN_NONE);
    CHECK_INT(ops[5].place, NO_PLACE);
    CHECK_INT(ops[7].cause, 1);
    CHECK_INT(ops[7].gradient, 0);
    CHECK_INT(ops[1].new_bytes, 16);
    CHECK_INT(ops[3].new_bytes, 0);
    CHECK_INT(ops[1].flops, 24);
    CHECK_INT(run->ops->storages[3].born, 1);
    CHECK_INT(run->ops->storages[3].died, 8);
    CHECK_INT(run->ops->storages[0].born, RUN_NONE);
    run_free(run);
}

TEST(a_detached_value_has_its_own_producer)
{
    struct run *run = sample_ops();
    const struct run_op *ops = run->ops->ops;
    const struct run_op_io *io = run->ops->ios;

    CHECK_STR(made_by(run, io[ops[4].ios].value), "3 ");
    CHECK_STR(made_by(run, io[ops[4].ios + 1].value), "4 ");
    /* Read with a gradient: not the detached one. */
    CHECK_STR(made_by(run, io[ops[5].ios].value), "3 ");
    /* Read without: the detached one. */
    CHECK_STR(made_by(run, io[ops[6].ios + 1].value), "4 ");
    CHECK_INT(run->ops->values[io[ops[4].ios + 1].value].write, 1);
    run_free(run);
}

static uint32_t type_of_row(struct trace *trace)
{
    return trace_op_type(trace,
                         &(struct run_op_type){.dtype = DTYPE_FLOAT32, .rank = 1},
                         (const int64_t[]){4}, (const int64_t[]){1});
}

TEST(a_leaf_belongs_to_the_operation_that_made_it)
{
    struct trace *trace = begin(0);
    struct trace_op_tensor made = {.type = type_of_row(trace),
                                   .storage = storage(trace, 16),
                                   .item = OP_NO_ITEM,
                                   .kind = OP_OUT};
    struct trace_op_tensor input = made;
    struct trace_op_given op = {.kind = plain_kind(trace, "aten::mul", 0),
                                .call = RUN_NONE,
                                .place = 2,
                                .line = 7,
                                .cause = RUN_NONE,
                                .gradient = RUN_NONE,
                                .tensors = &made,
                                .n_tensors = 1};
    struct trace_op_given found = {.place = NO_PLACE, .cause = RUN_NONE};
    uint32_t value;

    input.storage = storage(trace, 16);
    CHECK_INT(trace_op(trace, &op, &value), 0);
    CHECK(!trace_op_made(trace, &input, &found));
    CHECK_INT(found.place, NO_PLACE);
    CHECK(trace_op_made(trace, &made, &found));
    CHECK_INT(found.place, 2);
    CHECK_INT(found.line, 7);
    CHECK_INT(found.call, RUN_NONE);
    CHECK_INT(found.cause, RUN_NONE);
    trace_free(trace);
}

/* An operation that reads a tensor and returns one; the value that it read. */
static uint32_t step(struct trace *trace, uint32_t kind, struct trace_op_tensor in,
                     uint8_t flags, struct trace_op_tensor out)
{
    struct trace_op_tensor tensors[2] = {in, out};
    struct trace_op_given op = {.kind = kind,
                                .flags = OP_GRAD_MODE,
                                .call = RUN_NONE,
                                .place = NO_PLACE,
                                .cause = RUN_NONE,
                                .gradient = RUN_NONE,
                                .tensors = tensors,
                                .n_tensors = 2};
    uint32_t values[2];

    tensors[0].kind = OP_IN;
    tensors[0].flags = flags;
    CHECK(trace_op(trace, &op, values) != RUN_NONE);
    return values[0];
}

TEST(a_leaf_that_was_made_with_gradients_is_what_detach_returned)
{
    struct trace *trace = begin(0);
    struct trace_op_tensor x = {.type = type_of_row(trace),
                                .storage = storage(trace, 16),
                                .item = OP_NO_ITEM,
                                .kind = OP_OUT};
    struct trace_op_tensor y = x, z = x;
    uint32_t mul = plain_kind(trace, "aten::mul", 0), as_leaf, plain;
    uint32_t detach = plain_kind(trace, "aten::detach", OP_VIEW | OP_DETACHES);
    struct run *run;

    y.storage = storage(trace, 16);
    z.storage = storage(trace, 16);
    step(trace, mul, x, OP_VALUE_GRAD, y);
    CHECK(!trace_op_detached(trace, y.storage));
    step(trace, detach, y, OP_VALUE_GRAD, y);
    CHECK(trace_op_detached(trace, y.storage));
    as_leaf = step(trace, mul, y, OP_VALUE_GRAD | TRACE_OP_LEAF, z);
    plain = step(trace, mul, y, OP_VALUE_GRAD, z);
    run = trace_finish(trace, 0, 0);
    CHECK_STR(made_by(run, as_leaf), "1 ");
    CHECK_STR(made_by(run, plain), "0 ");
    run_free(run);
}

TEST(a_partly_written_tensor_consists_of_several_results)
{
    struct trace *trace = begin(0);
    uint32_t s = storage(trace, 64), values[4];
    uint32_t make = plain_kind(trace, "aten::zeros", 0);
    uint32_t fill = plain_kind(trace, "aten::fill_", OP_WRITES);
    uint32_t look = plain_kind(trace, "aten::sum", 0);
    const struct sample_tensor whole[] = {ROWS(s, OP_OUT, 0, 4)};
    const struct sample_tensor first[] = {ROWS(s, OP_IN, 0, 1),
                                          ROWS(s, OP_WRITTEN, 0, 1)};
    const struct sample_tensor last[] = {ROWS(s, OP_IN, 3, 1),
                                         ROWS(s, OP_WRITTEN, 3, 1)};
    const struct sample_tensor all[] = {ROWS(s, OP_IN, 0, 4)};
    const struct sample_tensor middle[] = {ROWS(s, OP_IN, 1, 2)};
    const struct sample_tensor top[] = {ROWS(s, OP_IN, 0, 2)};
    uint32_t read[3];
    struct run *run;

    sample_op(trace, make, whole, 1, values);
    sample_op(trace, fill, first, 2, values);
    sample_op(trace, fill, last, 2, values);
    sample_op(trace, look, all, 1, &read[0]);
    sample_op(trace, look, middle, 1, &read[1]);
    sample_op(trace, look, top, 1, &read[2]);
    run = trace_finish(trace, 0, 0);
    CHECK_STR(made_by(run, read[0]), "0 1 2 ");
    CHECK_STR(made_by(run, read[1]), "0 ");
    CHECK_STR(made_by(run, read[2]), "0 1 ");
    CHECK_INT(run->ops->values[read[0]].n_sources, 3);
    run_free(run);
}

TEST(interleaved_columns_are_kept_apart)
{
    /* A 2x4 matrix: columns 0-1, 2 and 3 lie between one another in memory. */
    struct trace *trace = begin(0);
    uint32_t s = storage(trace, 32), values[4], read[3];
    uint32_t make = plain_kind(trace, "aten::zeros", 0);
    uint32_t fill = plain_kind(trace, "aten::fill_", OP_WRITES);
    uint32_t look = plain_kind(trace, "aten::sum", 0);
    const struct sample_tensor whole[] = {
        {.storage = s, .kind = OP_OUT, .rows = 2, .columns = 4}};
    const struct sample_tensor left[] = {
        {.storage = s, .kind = OP_WRITTEN, .rows = 2, .columns = 2, .stride = 4}};
    const struct sample_tensor right[] = {{.storage = s,
                                           .kind = OP_IN,
                                           .rows = 2,
                                           .columns = 2,
                                           .stride = 4,
                                           .offset = 2}};
    const struct sample_tensor middle[] = {{.storage = s,
                                            .kind = OP_IN,
                                            .rows = 2,
                                            .columns = 2,
                                            .stride = 4,
                                            .offset = 1}};
    const struct sample_tensor end[] = {
        {.storage = s, .kind = OP_IN, .rows = 1, .columns = 2, .offset = 6}};
    struct run *run;

    sample_op(trace, make, whole, 1, values);
    sample_op(trace, fill, left, 1, values);
    sample_op(trace, look, right, 1, &read[0]);
    sample_op(trace, look, middle, 1, &read[1]);
    sample_op(trace, look, end, 1, &read[2]);
    run = trace_finish(trace, 0, 0);
    CHECK_STR(made_by(run, read[0]), "0 ");
    CHECK_STR(made_by(run, read[1]), "0 1 ");
    CHECK_STR(made_by(run, read[2]), "0 "); /* in the last row, after the left half */
    run_free(run);
}

TEST(overwriting_a_whole_tensor_hides_earlier_values)
{
    struct trace *trace = begin(0);
    uint32_t s = storage(trace, 64), values[4];
    uint32_t fill = plain_kind(trace, "aten::fill_", OP_WRITES);
    uint32_t look = plain_kind(trace, "aten::sum", 0);
    const struct sample_tensor part[] = {ROWS(s, OP_IN, 0, 1),
                                         ROWS(s, OP_WRITTEN, 0, 1)};
    const struct sample_tensor whole[] = {ROWS(s, OP_IN, 0, 4),
                                          ROWS(s, OP_WRITTEN, 0, 4)};
    const struct sample_tensor top[] = {ROWS(s, OP_IN, 0, 2)};
    uint32_t before, after;
    struct run *run;

    sample_op(trace, fill, part, 2, values);
    sample_op(trace, look, top, 1, &before);
    sample_op(trace, fill, whole, 2, values);
    sample_op(trace, look, top, 1, &after);
    run = trace_finish(trace, 0, 0);
    CHECK_STR(made_by(run, before), "0 ");
    CHECK_INT(run->ops->values[before].n_sources, 2); /* and the previous content */
    CHECK_STR(made_by(run, after), "2 ");
    run_free(run);
}

TEST(values_written_without_a_recorded_operation_have_no_producer)
{
    struct trace *trace = begin(0);
    uint32_t s = storage(trace, 64), made[1], read[1];
    uint32_t make = plain_kind(trace, "aten::zeros", 0);
    const struct sample_tensor whole[] = {ROWS(s, OP_OUT, 0, 4)};
    const struct sample_tensor all[] = {ROWS(s, OP_IN, 0, 4)};
    struct run *run;

    sample_op(trace, make, whole, 1, made);
    trace_op_touched(trace, s);
    sample_op(trace, make, all, 1, read);
    run = trace_finish(trace, 0, 0);
    CHECK(read[0] != made[0]);
    CHECK_STR(made_by(run, read[0]), "");
    run_free(run);
}

TEST(an_empty_result_without_a_writer_has_no_producer)
{
    struct trace *trace = begin(0);
    uint32_t s = storage(trace, 64), made[1], read[1];
    uint32_t make = plain_kind(trace, "aten::empty", OP_MAKES);
    const struct sample_tensor whole[] = {ROWS(s, OP_OUT, 0, 4)};
    const struct sample_tensor all[] = {ROWS(s, OP_IN, 0, 4)};
    struct run *run;

    sample_op(trace, make, whole, 1, made);
    sample_op(trace, plain_kind(trace, "aten::sum", 0), all, 1, read);
    run = trace_finish(trace, 0, 0);
    CHECK(run->ops->values[read[0]].flags & OP_VALUE_UNSEEN);
    run_free(run);
}

TEST(operations_beyond_the_limit_are_only_counted)
{
    struct trace *trace = begin(2);
    uint32_t s = storage(trace, 64), values[1];
    uint32_t make = plain_kind(trace, "aten::zeros", 0);
    const struct sample_tensor whole[] = {ROWS(s, OP_OUT, 0, 4)};
    struct run *run;

    for (int i = 0; i < 5; i++)
        CHECK_INT(sample_op(trace, make, whole, 1, values),
                  i < 2 ? (uint32_t)i : RUN_NONE);
    run = trace_finish(trace, 0, 0);
    CHECK_INT(run->ops->n_ops, 2);
    CHECK_INT(run->ops->lost, 3);
    CHECK_INT(run->ops->n_totals, 1);
    CHECK_INT(run->ops->totals[0].count, 5);
    CHECK_INT(run->ops->totals[0].unknown, 5);
    CHECK_STR(run_string(run, run->gaps[run->n_gaps - 1].text).at,
              "only the first 2 operations are kept one by one; 3 more are in the "
              "totals");
    run_free(run);
}

TEST(a_tensor_filled_row_by_row_takes_linear_memory)
{
    enum { STEPS = 300 };
    struct trace *trace = begin(0);
    uint32_t s = storage(trace, 16 * STEPS), values[2], ops[STEPS];
    uint32_t fill = plain_kind(trace, "aten::fill_", OP_WRITES);
    uint32_t look = plain_kind(trace, "aten::sum", 0);
    struct run *run;

    for (uint32_t i = 0; i < STEPS; i++) {
        const struct sample_tensor row[] = {ROWS(s, OP_IN, i, 1),
                                            ROWS(s, OP_WRITTEN, i, 1)};
        const struct sample_tensor so_far[] = {ROWS(s, OP_IN, 0, i + 1)};

        sample_op(trace, fill, row, 2, values);
        sample_op(trace, look, so_far, 1, values);
    }
    run = trace_finish(trace, 0, 0);
    CHECK_INT(op_producers(run->ops, values[0], ops, STEPS), STEPS);
    CHECK(run->ops->n_sources < 4 * STEPS);
    run_free(run);
}
