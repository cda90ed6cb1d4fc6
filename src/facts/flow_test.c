#include "facts/flow.h"

#include <string.h>
#include <time.h>

#include "base/test.h"
#include "run/sample_run.h"

/* A pass of a chain, written down call by call. */
struct scene {
    struct trace *trace;
    uint64_t clock;
    uint32_t root, open;
    struct run *run;
    struct arena arena;
    struct flow flow;
    struct buf text;
};

static void begin(struct scene *s, uint32_t modules)
{
    struct trace_wanted wanted = {.keep_limit = 1 << 20};

    *s = (struct scene){.trace = trace_new(sample_chain(modules), &wanted)};
    CHECK(s->trace);
    s->root = trace_begin(s->trace, 0, 0, 0, 0, s->clock += 10);
}

static void end(struct scene *s)
{
    buf_release(&s->text);
    arena_release(&s->arena);
    run_free(s->run);
}

static uint32_t value(struct scene *s, uint32_t storage, uint64_t bytes)
{
    const int64_t shape[] = {(int64_t)bytes / 4};
    struct run_value v = {.dtype = DTYPE_FLOAT32,
                          .rank = 1,
                          .storage = storage,
                          .numel = bytes / 4,
                          .bytes = bytes};

    v.device = trace_device(s->trace, "cpu");
    return trace_value(s->trace, &v, shape, NULL, NULL);
}

static void io(struct scene *s, uint32_t call, enum run_io_kind kind, uint32_t v,
               uint8_t flags)
{
    trace_io(s->trace, call, kind, trace_string(s->trace, "", 0), v, flags);
}

/* Module `m` (from 1) reads some values and returns one; RUN_NONE ends a list. */
static void call(struct scene *s, uint32_t m, const uint32_t *in, uint32_t out,
                 uint8_t flags)
{
    uint32_t c = trace_begin(s->trace, 0, m, 0, 0, s->clock += 10);

    for (; *in != RUN_NONE; in++)
        io(s, c, RUN_IN, *in, flags);
    io(s, c, RUN_OUT, out, 0);
    trace_end(s->trace, 0, c, 0, s->clock += 10);
}

#define CALL(s, m, out, ...)                                                           \
    call(s, m, (const uint32_t[]){__VA_ARGS__, RUN_NONE}, out, 0)

static void finish(struct scene *s)
{
    trace_end(s->trace, 0, s->root, 0, s->clock += 10);
    s->run = trace_finish(s->trace, s->clock, 0);
    CHECK(s->run);
    arena_init(&s->arena, 0);
    CHECK(flow_make(&s->flow, s->run, 0, &s->arena, NULL) == 0);
}

/* All rails, a line for each row. */
static const char *drawn(struct scene *s)
{
    buf_clear(&s->text);
    for (uint32_t r = 0; r < s->flow.n; r++) {
        flow_rails(&s->text, &s->flow, r);
        while (s->text.len > 0 && s->text.at[s->text.len - 1] == ' ')
            s->text.len--;
        buf_char(&s->text, '\n');
    }
    return s->text.at;
}

TEST(a_chain_of_calls_is_one_rail)
{
    struct scene s;
    uint32_t v[4];

    begin(&s, 3);
    for (int i = 0; i < 4; i++)
        v[i] = value(&s, (uint32_t)i, 16);
    io(&s, s.root, RUN_IN, v[0], 0);
    for (uint32_t i = 0; i < 3; i++)
        CALL(&s, i + 1, v[i + 1], v[i]);
    io(&s, s.root, RUN_OUT, v[3], 0);
    finish(&s);
    CHECK_STR(drawn(&s), "●\n●\n●\n●\n●\n");
    CHECK_INT(s.flow.rows[0].kind, FLOW_INPUT);
    CHECK_INT(s.flow.rows[4].kind, FLOW_RESULT);
    CHECK_INT(s.flow.from[s.flow.rows[4].from].row, 3);
    CHECK_INT(s.flow.next_kind, NEXT_CALLER);
    CHECK_INT(s.flow.missing_ns, 0);
    end(&s);
}

TEST(a_value_that_is_used_twice_has_a_rail_until_its_last_use)
{
    struct scene s;
    uint32_t x, a, b, sum;

    begin(&s, 4);
    x = value(&s, 0, 16);
    a = value(&s, 1, 16);
    b = value(&s, 2, 16);
    sum = value(&s, 3, 16);
    io(&s, s.root, RUN_IN, x, 0);
    CALL(&s, 1, a, x);
    CALL(&s, 2, b, a);
    CALL(&s, 3, sum, x, b);
    CALL(&s, 4, sum, sum);
    io(&s, s.root, RUN_OUT, sum, 0);
    finish(&s);
    CHECK_STR(drawn(&s), "●\n"
                         "├─╮\n"
                         "│ ●\n"
                         "├─╯\n"
                         "●\n"
                         "●\n");
    CHECK_INT(s.flow.rows[0].n_to, 2);
    /* the row that passes its input on was the last to return it */
    CHECK_INT(s.flow.from[s.flow.rows[5].from].row, 4);
    end(&s);
}

TEST(three_rails_meet_while_others_pass)
{
    struct scene s;
    uint32_t x, y, v[3], out, last;

    begin(&s, 5);
    x = value(&s, 0, 16);
    y = value(&s, 1, 16);
    for (int i = 0; i < 3; i++)
        v[i] = value(&s, 2 + (uint32_t)i, 16);
    out = value(&s, 8, 16);
    last = value(&s, 9, 16);
    io(&s, s.root, RUN_IN, x, 0);
    io(&s, s.root, RUN_IN, y, 0);
    for (uint32_t i = 0; i < 3; i++)
        CALL(&s, 1 + i, v[i], x);
    CALL(&s, 4, out, v[0], v[1], v[2]);
    CALL(&s, 5, last, out, y);
    io(&s, s.root, RUN_OUT, last, 0);
    io(&s, s.root, RUN_OUT, y, 0);
    finish(&s);
    CHECK_STR(drawn(&s), "●\n"
                         "│ ●\n"
                         "├─│─╮\n"
                         "├─│─│─╮\n"
                         "● │ │ │\n"
                         "├─│─┴─╯\n"
                         "●─┤\n"
                         "●─╯\n");
    end(&s);
}

TEST(a_residual_added_in_place_is_not_drawn_as_a_chain)
{
    struct scene s;
    uint32_t x, a, sum, b;

    begin(&s, 2);
    x = value(&s, 0, 16);
    a = value(&s, 1, 16);
    sum = value(&s, 1, 16); /* a += x: a new value in the storage of a */
    b = value(&s, 3, 16);
    io(&s, s.root, RUN_IN, x, 0);
    CALL(&s, 1, a, x);
    CALL(&s, 2, b, sum);
    io(&s, s.root, RUN_OUT, b, 0);
    finish(&s);
    CHECK_STR(drawn(&s), "●\n●\n?\n●\n");
    CHECK_INT(s.flow.from[s.flow.rows[2].from].source, FROM_STORAGE);
    CHECK_INT(s.flow.from[s.flow.rows[2].from].row, 1);
    CHECK(flow_loose(&s.flow, 2) && !flow_loose(&s.flow, 1));
    end(&s);
}

TEST(values_from_an_operation_are_not_joined)
{
    struct scene s;
    uint32_t x, a, sum, b;

    begin(&s, 2);
    x = value(&s, 0, 16);
    a = value(&s, 1, 16);
    sum = value(&s, 2, 16);
    b = value(&s, 3, 16);
    io(&s, s.root, RUN_IN, x, 0);
    CALL(&s, 1, a, x);
    CALL(&s, 2, b, sum); /* x + a, of the same shape: not recorded */
    io(&s, s.root, RUN_OUT, b, 0);
    finish(&s);
    /* not below the rail that ended: it would look like its continuation */
    CHECK_STR(drawn(&s), "●\n"
                         "●\n"
                         "  ?\n"
                         "  ●\n");
    CHECK_INT(s.flow.from[s.flow.rows[2].from].source, FROM_OPERATION);
    CHECK_INT(s.flow.from[s.flow.rows[2].from].row, NO_FLOW);
    CHECK_INT(s.flow.rows[1].n_to, 0);
    end(&s);
}

TEST(values_in_the_same_storage_are_joined_if_that_is_certain)
{
    struct scene s;
    uint32_t x, a, added, relu, view;

    begin(&s, 3);
    x = value(&s, 0, 16);
    a = value(&s, 1, 16);
    added = value(&s, 1, 16); /* a += x */
    relu = value(&s, 1, 16);
    view = value(&s, 1, 16);
    io(&s, s.root, RUN_IN, x, 0);
    CALL(&s, 1, a, x);
    call(&s, 2, (const uint32_t[]){added, RUN_NONE}, relu, RUN_IO_REPLACED);
    CALL(&s, 3, view, view); /* relu overwrote it: a view shows relu's result */
    io(&s, s.root, RUN_OUT, relu, 0);
    finish(&s);
    CHECK_INT(s.flow.from[s.flow.rows[2].from].row, 1);
    CHECK_INT(s.flow.from[s.flow.rows[2].from].source, FROM_STORAGE);
    CHECK_INT(s.flow.from[s.flow.rows[3].from].row, 2);
    CHECK_INT(s.flow.from[s.flow.rows[3].from].source, FROM_STORAGE);
    end(&s);
}

TEST(a_storage_returned_by_two_calls_joins_neither_with_a_third_view)
{
    struct scene s;
    uint32_t x, flat, other, b;

    begin(&s, 2);
    x = value(&s, 0, 16);
    flat = value(&s, 0, 16); /* nn.Flatten: another view */
    other = value(&s, 0, 16);
    b = value(&s, 1, 16);
    io(&s, s.root, RUN_IN, x, 0);
    CALL(&s, 1, flat, x);
    CALL(&s, 2, b, other); /* of x, or of flat? */
    io(&s, s.root, RUN_OUT, b, 0);
    finish(&s);
    CHECK_INT(s.flow.from[s.flow.rows[2].from].source, FROM_OPERATION);
    end(&s);
}

TEST(a_result_that_is_the_argument_itself_comes_from_the_call)
{
    struct scene s;
    uint32_t x, a, relu, b, c;

    begin(&s, 3);
    x = value(&s, 0, 16);
    a = value(&s, 1, 16);
    relu = value(&s, 1, 16);
    b = value(&s, 2, 16);
    io(&s, s.root, RUN_IN, x, 0);
    CALL(&s, 1, a, x);
    c = trace_begin(s.trace, 0, 2, 0, 0, s.clock += 10);
    io(&s, c, RUN_IN, a, RUN_IO_REPLACED);
    io(&s, c, RUN_OUT, relu, RUN_IO_SAME); /* ReLU(inplace=True) */
    trace_end(s.trace, 0, c, 0, s.clock += 10);
    CALL(&s, 3, b, relu);
    io(&s, s.root, RUN_OUT, b, 0);
    finish(&s);
    CHECK_STR(drawn(&s), "●\n●\n●\n●\n●\n");
    CHECK_INT(s.flow.from[s.flow.rows[3].from].row, 2);
    end(&s);
}

TEST(results_of_an_enclosing_call_are_not_made_before_its_end)
{
    struct scene s;
    uint32_t block, x, y, z;

    *(&s) = (struct scene){
        .trace = trace_new(sample_model(), &(struct trace_wanted){.keep_limit = 1})};
    x = value(&s, 0, 16);
    y = value(&s, 1, 16);
    z = value(&s, 2, 16);
    s.root = trace_begin(s.trace, 0, SAMPLE_NET, 0, 0, s.clock += 10);
    CALL(&s, SAMPLE_A, z, x);
    block = trace_begin(s.trace, 0, SAMPLE_BLOCK, 0, 0, s.clock += 10);
    CALL(&s, SAMPLE_ACT, RUN_NONE, y, z); /* y is Net's result too; z is a's */
    trace_end(s.trace, 0, block, 0, s.clock += 10);
    io(&s, s.root, RUN_OUT, y, 0);
    finish(&s);
    CHECK(flow_make(&s.flow, s.run, 2, &s.arena, NULL) == 0);
    CHECK_INT(s.flow.n, 2);
    CHECK_INT(s.flow.from[0].source, FROM_OPERATION);
    CHECK_INT(s.flow.from[1].source, FROM_OUTSIDE);
    CHECK_INT(s.flow.from[1].call, 1);
    end(&s);
}

TEST(more_than_eight_rails_become_one_sign)
{
    struct scene s;
    uint32_t v[12];

    begin(&s, 11);
    for (uint32_t i = 0; i < 12; i++)
        v[i] = value(&s, i, 16);
    io(&s, s.root, RUN_IN, v[0], 0);
    for (uint32_t i = 0; i < 11; i++)
        CALL(&s, i + 1, v[i + 1], v[0]);
    for (uint32_t i = 1; i < 12; i++)
        io(&s, s.root, RUN_OUT, v[i], 0);
    finish(&s);
    CHECK_INT(s.flow.columns, FLOW_RAILS + 1);
    CHECK(strstr(drawn(&s), "├─│─│─│─│─│─│─│─…\n"));
    CHECK(strstr(drawn(&s), "\n●─┴─┴─┴─┴─┴─┴─┴─…\n"));
    end(&s);
}

TEST(values_made_further_inside_come_from_the_enclosing_call)
{
    struct scene s;
    uint32_t block, act, x, y, z;

    *(&s) = (struct scene){
        .trace = trace_new(sample_model(), &(struct trace_wanted){.keep_limit = 1})};
    x = value(&s, 0, 16);
    y = value(&s, 1, 16);
    z = value(&s, 2, 16);
    s.root = trace_begin(s.trace, 0, SAMPLE_NET, 0, 0, s.clock += 10);
    io(&s, s.root, RUN_IN, x, 0);
    block = trace_begin(s.trace, 0, SAMPLE_BLOCK, 0, 0, s.clock += 10);
    io(&s, block, RUN_IN, x, 0);
    act = trace_begin(s.trace, 0, SAMPLE_ACT, 0, 0, s.clock += 10);
    io(&s, act, RUN_IN, x, 0);
    io(&s, act, RUN_OUT, y, 0);
    trace_end(s.trace, 0, act, 0, s.clock += 10);
    io(&s, block, RUN_OUT, RUN_NONE, 0); /* it does not return y */
    trace_end(s.trace, 0, block, 0, s.clock += 10);
    CALL(&s, SAMPLE_A, z, y);
    io(&s, s.root, RUN_OUT, z, 0);
    finish(&s);
    CHECK_INT(s.flow.n, 4);
    CHECK_INT(s.flow.from[s.flow.rows[2].from].row, 1);
    CHECK_INT(flow_block(s.run, 2, &act), 1); /* act calls nothing: the block */
    CHECK_INT(act, 2);
    CHECK_INT(flow_block(s.run, 1, &act), 1);
    CHECK_INT(act, RUN_NONE);
    /* Of the block: nothing uses its result; in a, y comes from outside. */
    CHECK(flow_make(&s.flow, s.run, 1, &s.arena, NULL) == 0);
    CHECK_INT(s.flow.next_kind, NEXT_UNKNOWN);
    CHECK(flow_make(&s.flow, s.run, 3, &s.arena, NULL) == 0);
    CHECK_INT(s.flow.next_kind, NEXT_RESULT);
    CHECK_INT(s.flow.next, 0);
    end(&s);
}

TEST(ten_thousand_calls_are_laid_out_at_once)
{
    uint32_t n = 10000, x, before = 0, took;
    struct scene s;
    clock_t began;

    begin(&s, n);
    x = value(&s, 0, 16);
    io(&s, s.root, RUN_IN, x, 0);
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t out = value(&s, i, 16);

        /* all of them use the input, every third also the previous one; all are
         * returned */
        CALL(&s, i, out, x, i % 3 ? x : before ? before : x);
        io(&s, s.root, RUN_OUT, out, 0);
        before = out;
    }
    finish(&s);
    CHECK_INT(s.flow.n, n + 2);
    began = clock();
    CHECK(flow_make(&s.flow, s.run, 0, &s.arena, NULL) == 0);
    took = (uint32_t)((clock() - began) * 1000 / CLOCKS_PER_SEC);
    CHECK(took < 500);
    end(&s);
}
