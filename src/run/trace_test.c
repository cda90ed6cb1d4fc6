#include "run/trace.h"

#include <string.h>

#include "base/test.h"
#include "run/sample_run.h"
#include "run/trace_in.h"

static struct trace *new_trace(const struct model *model)
{
    struct trace *trace = trace_new(model, &(struct trace_wanted){0});

    CHECK(trace);
    return trace;
}

TEST(exclusive_times_add_up_to_the_inclusive_one)
{
    struct run *run = sample_run(1);
    uint64_t sum = 0;

    for (uint32_t i = 0; i < run->n_calls; i++)
        if (run->calls[i].thread == 0)
            sum += run_exclusive(&run->calls[i]);
    CHECK_INT(run->calls[0].object, SAMPLE_NET);
    /* Reads the clock seven times after its start; each adds 90 ns of the user's
     * time. */
    CHECK_INT(run_inclusive(&run->calls[0]), 7 * 90);
    CHECK_INT(sum, run_inclusive(&run->calls[0]));
    CHECK_INT(run->own_ns, 8 * 10);
    run_free(run);
}

TEST(calls_have_parents_numbers_steps_and_lines)
{
    struct run *run = sample_run(2);

    CHECK_INT(run->n_calls, 9);
    CHECK_INT(run->calls[0].parent, RUN_NONE);
    CHECK_INT(run->calls[1].parent, 0);
    CHECK_INT(run->calls[3].object, SAMPLE_ACT);
    CHECK_INT(run->calls[3].parent, 2);
    CHECK_INT(run->calls[4].step, 1);
    CHECK_INT(run->calls[5].number, 1);
    CHECK_STR(run_string(run, run->calls[1].line).at, "net.py:12");
    CHECK_STR(run_string(run, run->calls[8].error).at, "ValueError: no");
    CHECK_INT(run->calls[8].thread, 1);
    CHECK_INT(run_first_call(run, SAMPLE_A), 1);
    CHECK_INT(run_next_call(run, 1), 5);
    CHECK_INT(run_next_call(run, 5), 8);
    CHECK_INT(run_next_call(run, 8), RUN_NONE);
    CHECK_INT(run_count_calls(run, SAMPLE_A), 3);
    run_free(run);
}

TEST(ios_are_in_the_order_of_calls_although_gradients_come_late)
{
    struct run *run = sample_run(2);
    const struct run_call *a = &run->calls[1];

    CHECK_INT(a->n_ios, 3);
    CHECK_INT(run->ios[a->ios].kind, RUN_IN);
    CHECK_INT(run->ios[a->ios + 2].kind, RUN_GRAD_OUT);
    CHECK_INT(run->ios[a->ios + 2].call, 1);
    CHECK_STR(run_string(run, run->ios[a->ios].path).at, "[0]");
    CHECK_INT(a->backward_ns, 50);
    CHECK_INT(a->out_bytes, 32);
    CHECK_INT(a->new_bytes, 32);
    /* The block returns the result of act: no storage of its own. */
    CHECK_INT(run->calls[2].out_bytes, 32);
    CHECK_INT(run->calls[2].new_bytes, 0);
    run_free(run);
}

TEST(a_call_is_placed_below_its_parent_call)
{
    struct trace *trace = new_trace(sample_model());
    const struct model *model = trace->model;
    uint32_t net = trace_begin(trace, 0, SAMPLE_NET, 0, 0, 1);
    uint32_t block = trace_begin(trace, 0, SAMPLE_BLOCK, 0, 0, 2);

    CHECK_INT(trace->calls[block].place, place_find(model, STR("list.0")));
    trace_end(trace, 0, net, 0, 3);
    CHECK_INT(trace->calls[net].place, 0);
    /* Without a surrounding call, its first place. */
    block = trace_begin(trace, 0, SAMPLE_BLOCK, 0, 0, 4);
    CHECK_INT(trace->calls[block].place, place_find(model, STR("list.0")));
    /* A frame at the repeated place: the modules inside have their first place. */
    trace->stacks[0].frames[0].place = place_find(model, STR("list.1"));
    block = trace_begin(trace, 0, SAMPLE_ACT, 0, 0, 5);
    CHECK_INT(trace->calls[block].place, place_find(model, STR("list.0.act")));
    trace_free(trace);
}

TEST(calls_that_do_not_end_are_aborted_with_their_parent)
{
    struct trace *trace = new_trace(sample_model());
    uint32_t net = trace_begin(trace, 0, SAMPLE_NET, 0, 0, 1000);
    struct run *run;

    trace_begin(trace, 0, SAMPLE_A, 0, 0, 1100);
    trace_begin(trace, 0, SAMPLE_ACT, 0, 0, 1200);
    trace_end(trace, 0, net, RUN_RAISED, 1500);
    trace_begin(trace, 0, SAMPLE_NET, 0, 0, 1600);
    trace_abort(trace, 0, RUN_NONE, 1700);
    trace_begin(trace, 0, SAMPLE_NET, 0, 0, 1800);
    run = trace_finish(trace, 0, 0);
    CHECK_INT(run->n_calls, 5);
    CHECK(!(run->calls[0].flags & RUN_ABORTED) && (run->calls[0].flags & RUN_RAISED));
    CHECK(run->calls[1].flags & RUN_ABORTED);
    CHECK_INT(run_inclusive(&run->calls[2]), 300);
    CHECK_INT(run_exclusive(&run->calls[1]), 100);
    CHECK(run->calls[3].flags & RUN_ABORTED);
    CHECK_INT(run->calls[3].parent, RUN_NONE);
    CHECK(run->calls[4].flags & RUN_ABORTED);
    run_free(run);
}

TEST(a_recomputation_belongs_to_the_step_before_it)
{
    struct trace *trace = new_trace(sample_model());
    uint32_t call = trace_begin(trace, 0, SAMPLE_NET, 0, 0, 1);

    trace_end(trace, 0, call, 0, 2);
    call = trace_begin(trace, 0, SAMPLE_A, RUN_RECOMPUTED, 0, 3);
    CHECK_INT(trace->calls[call].step, 0);
    trace_end(trace, 0, call, 0, 4);
    call = trace_begin(trace, 0, SAMPLE_NET, 0, 0, 5);
    CHECK_INT(trace->calls[call].step, 1);
    trace_free(trace);
}

/* ---- steps ---- */

static void pass(struct trace *trace)
{
    uint32_t call = trace_begin(trace, 0, SAMPLE_NET, 0, 0, 1);

    trace_end(trace, 0, call, 0, 2);
}

/* The steps of all passes as digits. "f" is a pass, "A" and "B" are steps of two
 * optimizers; "a" means that A was freed. */
static const char *steps_of(const char *events)
{
    static char text[64];
    struct trace *trace = new_trace(sample_model());
    struct run *run;

    for (const char *at = events; *at; at++) {
        if (*at == 'f')
            pass(trace);
        else if (*at == 'a')
            trace_optimizer_gone(trace, 'A');
        else
            trace_stepped(trace, (uint32_t)*at);
    }
    run = trace_finish(trace, 0, 0);
    CHECK(run->n_calls < sizeof text);
    CHECK_INT(run->passes, run->n_calls);
    for (uint32_t i = 0; i < run->n_calls; i++)
        text[i] = (char)('0' + run->calls[i].step);
    text[run->n_calls] = '\0';
    run_free(run);
    return text;
}

TEST(without_an_optimizer_every_pass_is_a_step)
{
    CHECK_STR(steps_of("ffff"), "0123");
}

TEST(micro_batches_are_passes_of_one_step)
{
    CHECK_STR(steps_of("ffffA"), "0000");
    CHECK_STR(steps_of("ffffAffffAf"), "000011112");
}

TEST(the_slowest_of_several_optimizers_counts)
{
    CHECK_STR(steps_of("fAfBfAfBf"), "00112");
    CHECK_STR(steps_of("fABfABf"), "012");
    CHECK_STR(steps_of("fAfAfAfBfAfAfAfBf"), "000011112");
}

TEST(steps_do_not_wait_for_a_freed_optimizer)
{
    CHECK_STR(steps_of("fABfABafBfBf"), "01234");
    CHECK_STR(steps_of("fAfAafBfBf"), "01234");
}

TEST(steps_do_not_wait_for_an_optimizer_that_stopped)
{
    struct trace *trace = new_trace(sample_model());
    struct run *run;

    trace_stepped(trace, 'A');
    trace_stepped(trace, 'B');
    for (int i = 0; i < 300; i++)
        trace_stepped(trace, 'A');
    pass(trace);
    run = trace_finish(trace, 0, 0);
    CHECK_INT(run->calls[0].step, 1 + 300 - 256);
    run_free(run);
}

TEST(parameters_have_the_step_that_they_were_used_in)
{
    struct trace *trace = new_trace(sample_model());
    struct run *run;

    for (int i = 0; i < 3; i++) {
        pass(trace);
        pass(trace);
        trace_param(trace, 0, false, sample_value(trace, 1, 1, 0));
        trace_stepped(trace, 'A');
    }
    run = trace_finish(trace, 0, 0);
    CHECK_INT(run->n_params, 3);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_INT(run->params[i].step, i);
    run_free(run);
}

TEST(later_calls_are_merged_and_the_newest_is_kept)
{
    struct run *run = sample_run(200);
    const struct run_merged *merged = &run->merged[0];
    const struct run_merged_io *io;
    const struct run_call *newest;

    CHECK_INT(run->n_merged, 4);
    CHECK_INT(run_count_calls(run, SAMPLE_NET), 200);
    CHECK_INT(run_count_calls(run, SAMPLE_A), 201);
    CHECK_INT(merged->object, SAMPLE_NET);
    CHECK_INT(merged->calls, 200 - RUN_KEEP_CALLS);
    CHECK_INT(merged->inclusive_ns, (uint64_t)merged->calls * 7 * 90);
    CHECK_INT(merged->least_ns, 7 * 90);
    CHECK_INT(merged->n_ios, 2);
    io = &run->merged_ios[merged->ios];
    CHECK_INT(io->kind, RUN_IN);
    CHECK_INT(io->n_shapes, 1);
    CHECK_INT(run->dims[io->shapes], 2);
    CHECK_INT(run->dims[io->shapes + 1], 4);
    CHECK_INT(run->stats[io->stats].count, (uint64_t)merged->calls * 12);
    newest = &run->calls[merged->newest];
    CHECK_INT(newest->number, 199);
    CHECK(newest->flags & RUN_LIGHT);
    CHECK_INT(newest->n_ios, 2);
    CHECK_INT(run->stats[run->values[run->ios[newest->ios].value].stats].mean, 1);
    /* Its children of the same step are the newest of their objects. */
    CHECK_INT(run->calls[run->merged[2].newest].parent, merged->newest);
    run_free(run);
}

TEST(a_light_call_has_its_gradients_and_backward_time)
{
    struct run *run = sample_run(100);
    /* The newest call of A is the one that raised; the Block's newest has none. */
    const struct run_merged *merged = &run->merged[1];

    CHECK_INT(merged->object, SAMPLE_A);
    CHECK_INT(merged->backward_ns, (100 - RUN_KEEP_CALLS) * 50);
    CHECK_INT(run->merged_ios[merged->ios + 2].kind, RUN_GRAD_OUT);
    CHECK(run->calls[merged->newest].flags & RUN_RAISED);
    run_free(run);
}

TEST(device_times_arrive_after_the_end_of_calls)
{
    struct trace *trace = new_trace(sample_model());
    uint64_t serials[RUN_KEEP_CALLS + 3];
    const struct run_call *newest;
    const int64_t less = -64;
    struct run *run;
    uint32_t call;

    for (int i = 0; i < RUN_KEEP_CALLS + 3; i++) {
        call = trace_begin(trace, 0, SAMPLE_A, 0, 0, 1);
        serials[i] = trace_serial(trace, call);
        trace_end(trace, 0, call, 0, 2);
        if (i < 2)
            trace_device_call(trace, call, serials[i], 10, i ? &less : NULL);
    }
    for (int i = RUN_KEEP_CALLS; i < RUN_KEEP_CALLS + 3; i++)
        trace_device_call(trace, call, serials[i], 100 + (uint64_t)i, &less);
    run = trace_finish(trace, 0, 0);
    CHECK_INT(run->calls[0].device_ns, 10);
    CHECK(!(run->calls[0].flags & RUN_DEVICE_BYTES));
    CHECK_INT(run->calls[1].device_bytes, -64);
    CHECK(run->calls[1].flags & RUN_DEVICE_BYTES);
    CHECK_INT(run->calls[2].device_ns, 0);
    CHECK_INT(run->merged[0].device_ns, 3 * (101 + RUN_KEEP_CALLS));
    newest = &run->calls[run->merged[0].newest];
    CHECK_INT(newest->device_ns, 102 + RUN_KEEP_CALLS);
    run_free(run);
}

/* Three light calls, then their gradients from the last to the first, as in the
 * backward of an unrolled cell; the first call gets two. */
TEST(gradients_that_come_late_are_merged_and_only_the_newest_has_its_own)
{
    struct trace *trace = new_trace(sample_model());
    const struct run_call *newest;
    const struct stats *stats;
    uint64_t serials[3];
    uint32_t call = 0, n = 0;
    struct run *run;

    for (int i = 0; i < RUN_KEEP_CALLS + 3; i++) {
        call = trace_begin(trace, 0, SAMPLE_A, 0, 0, 1);
        if (i >= RUN_KEEP_CALLS)
            serials[n++] = trace_serial(trace, call);
        trace_end(trace, 0, call, 0, 2);
    }
    for (uint32_t i = 4; i > 0; i--) {
        uint64_t serial = serials[i == 4 ? 2 : i - 1];

        trace_gradient(trace, call, serial, RUN_GRAD_OUT, 0,
                       sample_value(trace, 2, 5, i), 0);
        trace_backward(trace, call, serial, 100 * i, i == 1 ? RUN_BACKWARD_GAP : 0);
    }
    run = trace_finish(trace, 0, 0);
    CHECK_INT(run->n_merged, 1);
    CHECK_INT(run->merged[0].backward_ns, 1000);
    CHECK_INT(run->merged[0].n_ios, 1);
    stats = &run->stats[run->merged_ios[run->merged[0].ios].stats];
    CHECK_INT(stats->count, 40);
    CHECK(stats->min == 1 && stats->max == 4 && stats->mean == 2.5);
    newest = &run->calls[run->merged[0].newest];
    CHECK_INT(newest->number, RUN_KEEP_CALLS + 2);
    CHECK_INT(newest->n_ios, 2);
    CHECK(run->stats[run->values[run->ios[newest->ios].value].stats].mean == 4);
    CHECK(run->stats[run->values[run->ios[newest->ios + 1].value].stats].mean == 3);
    CHECK_INT(newest->backward_ns, 700);
    CHECK(!(newest->flags & RUN_BACKWARD_GAP));
    run_free(run);
}

TEST(a_module_inside_itself_has_several_light_calls_at_once)
{
    struct trace *trace = new_trace(sample_model());
    uint32_t outer, inner;

    for (int i = 0; i < RUN_KEEP_CALLS; i++)
        trace_end(trace, 0, trace_begin(trace, 0, SAMPLE_A, 0, 0, 1), 0, 2);
    outer = trace_begin(trace, 0, SAMPLE_A, 0, 0, 100);
    inner = trace_begin(trace, 0, SAMPLE_A, 0, 0, 200);
    CHECK((outer & TRACE_LIGHT) && (inner & TRACE_LIGHT) && outer != inner);
    CHECK_INT(trace_object(trace, outer), SAMPLE_A);
    trace_end(trace, 0, inner, 0, 300);
    trace_end(trace, 0, outer, 0, 500);
    CHECK_INT(trace->lights[0].merged.calls, 2);
    CHECK_INT(trace->lights[0].merged.inclusive_ns, 400);
    CHECK_INT(trace->lights[0].merged.exclusive_ns, 400);
    CHECK_INT(trace->lights[0].newest.call.start_ns, 100);
    trace_free(trace);
}

TEST(the_newest_call_is_the_outermost_that_ended_last)
{
    struct trace *trace = new_trace(sample_model());
    uint32_t outer = trace_begin(trace, 0, SAMPLE_A, 0, 0, 100), n = 0, *calls;
    struct arena arena;
    struct run *run;

    trace_end(trace, 0, trace_begin(trace, 0, SAMPLE_A, 0, 0, 200), 0, 300);
    trace_end(trace, 0, outer, 0, 300);
    trace_end(trace, 0, trace_begin(trace, 0, SAMPLE_A, RUN_RECOMPUTED, 0, 400), 0,
              500);
    run = trace_finish(trace, 0, 0);
    arena_init(&arena, 0);
    calls = run_calls_at(run, run->calls[0].place, false, &arena, &n);
    CHECK(calls);
    CHECK_INT(n, 2);
    CHECK_INT(calls[0], 1);
    CHECK_INT(calls[1], 0);
    CHECK(run_is_newer(run, 0, 1) && run_is_newer(run, 1, 2));
    CHECK_INT(run_count_calls(run, SAMPLE_A), 2);
    CHECK_INT(run_count_calls_at(run, run->calls[0].place), 2);
    CHECK_INT(run_forward_ns(run), 200);
    arena_release(&arena);
    run_free(run);
}

TEST(recomputations_are_numbered_and_merged_separately)
{
    struct trace *trace = new_trace(sample_model());
    uint64_t ns = 0;
    struct run *run;

    for (uint32_t i = 0; i < RUN_KEEP_CALLS + 10; i++) {
        uint32_t call = trace_begin(trace, 0, SAMPLE_A, RUN_GRAD_MODE, 0, ns);

        trace_end(trace, 0, call, 0, ns + 10);
        call = trace_begin(trace, 0, SAMPLE_A, RUN_RECOMPUTED, 0, ns + 100);
        trace_end(trace, 0, call, 0, ns + 900);
        ns += 1000;
    }
    run = trace_finish(trace, 0, 0);
    CHECK_INT(run_count_calls(run, SAMPLE_A), RUN_KEEP_CALLS + 10);
    CHECK_INT(run_forward_ns(run), (RUN_KEEP_CALLS + 10) * 10);
    CHECK_INT(run->n_merged, 2);
    CHECK_INT(run->merged[0].calls, 10);
    CHECK_INT(run->merged[1].calls, 10);
    CHECK_INT(run->calls[run->n_calls - 1].number, RUN_KEEP_CALLS + 9);
    CHECK_INT(run->calls[run->n_calls - 2].number, RUN_KEEP_CALLS + 9);
    run_free(run);
}

TEST(gradients_of_a_recomputation_belong_to_the_call_that_it_repeats)
{
    struct trace *trace = new_trace(sample_model());
    uint32_t pass, call, again, value;

    for (int times = 1; times <= 2; times++) {
        pass = trace_begin(trace, 0, SAMPLE_NET, RUN_GRAD_MODE, 0, 1);
        for (int i = 0; i < times; i++) {
            call = trace_begin(trace, 0, SAMPLE_A, 0, 0, 2);
            trace_end(trace, 0, call, 0, 3);
        }
        trace_end(trace, 0, pass, 0, 4);
        again = trace_begin(trace, 0, SAMPLE_A, RUN_RECOMPUTED | RUN_GRAD_MODE, 0, 5);
        trace_end(trace, 0, again, 0, 6);
        value = sample_value(trace, 1, 8, 1);
        trace_gradient(trace, again, trace_serial(trace, again), RUN_GRAD_OUT, 0, value,
                       0);
        trace_backward(trace, again, trace_serial(trace, again), 70, 0);
        /* With two calls it is unknown which one is repeated. */
        CHECK_INT(trace->ios[trace->n_ios - 1].call, times == 1 ? call : again);
        CHECK_INT(trace->calls[times == 1 ? call : again].backward_ns, 70);
    }
    trace_free(trace);
}

TEST(memory_stays_flat_over_ten_thousand_steps)
{
    struct trace *trace = new_trace(sample_chain(50));
    size_t early = 0;
    uint64_t serial;

    for (uint32_t step = 0; step < 10000; step++) {
        uint32_t root = trace_begin(trace, 0, 0, 0, 0, step * 1000);
        uint32_t x = sample_value(trace, 1, 8, step);

        for (uint32_t m = 1; m <= 50; m++) {
            uint32_t call = trace_begin(trace, 0, m, 0, 0, step * 1000 + m);

            trace_io(trace, call, RUN_IN, 0, x, 0);
            x = sample_value(trace, 1, 8 + step, m);
            trace_io(trace, call, RUN_OUT, 0, x, 0);
            serial = trace_serial(trace, call);
            trace_end(trace, 0, call, 0, step * 1000 + m);
            trace_gradient(trace, call, serial, RUN_GRAD_OUT, 0,
                           sample_value(trace, 1, 8, 0), 0);
        }
        trace_end(trace, 0, root, 0, step * 1000 + 60);
        if (step == 2 * RUN_KEEP_CALLS)
            early = trace->arena.used;
    }
    CHECK_INT(trace->arena.used, early);
    CHECK(early < 8u << 20);
    CHECK(trace_epoch(trace) > 0);
    trace_free(trace);
}

TEST(values_of_kept_calls_survive_the_sweep)
{
    struct run *run = sample_run(3000);
    const struct run_call *first = &run->calls[1];

    CHECK_INT(run->calls[1].object, SAMPLE_A);
    CHECK(run->stats[run->values[run->ios[first->ios].value].stats].mean == 1);
    CHECK(run->stats[run->values[run->ios[first->ios + 1].value].stats].mean == 2);
    CHECK(run->stats[run->values[run->ios[first->ios + 2].value].stats].mean == 0.5);
    CHECK(run->n_values < 8000);
    CHECK_INT(run->n_params, 2 * (RUN_KEEP_CALLS + 1) + 1);
    CHECK_INT(run->params[run->n_params - 2].step, 2999);
    CHECK_INT(run->dims[run->values[run->kept[0].value].shape + 1], 3);
    CHECK(run->values[run->kept[0].value].kept == 0);
    run_free(run);
}

TEST(all_calls_are_kept_on_request)
{
    struct trace *trace = trace_new(
        sample_model(), &(struct trace_wanted){.keep_calls = TRACE_ALL_CALLS});
    uint64_t clock = 0;
    struct run *run;

    for (int i = 0; i < 100; i++)
        sample_step(trace, &clock);
    run = trace_finish(trace, 0, 0);
    CHECK_INT(run->n_calls, 400);
    CHECK_INT(run->n_merged, 0);
    run_free(run);
}

TEST(the_requested_number_of_calls_is_kept)
{
    struct trace *trace =
        trace_new(sample_model(), &(struct trace_wanted){.keep_calls = 1});
    uint64_t clock = 0;
    struct run *run;

    for (int i = 0; i < 10; i++)
        sample_step(trace, &clock);
    run = trace_finish(trace, 0, 0);
    CHECK_INT(run->n_calls, 2 * run->n_merged);
    CHECK_INT(run_count_calls(run, SAMPLE_NET), 10);
    run_free(run);
}

TEST(calls_of_a_thread_are_inside_the_call_that_waits_for_it)
{
    struct trace *trace = new_trace(sample_model());
    uint32_t net = trace_begin(trace, 0, SAMPLE_NET, 0, 0, 100), inner, later;
    struct run *run;

    trace_under(trace, 1, 7); /* no such thread */
    trace_under(trace, 1, 0);
    inner = trace_begin(trace, 1, SAMPLE_A, 0, 0, 200);
    trace_end(trace, 1, inner, 0, 300);
    later = trace_begin(trace, 1, SAMPLE_A, 0, 0, 400);
    trace_end(trace, 1, later, 0, 500);
    trace_end(trace, 0, net, 0, 600);
    run = trace_finish(trace, 0, 0);
    CHECK_INT(run->calls[inner].parent, net);
    CHECK_INT(run->calls[inner].step, 0);
    CHECK_INT(run->calls[later].parent, RUN_NONE);
    run_free(run);
}

TEST(a_module_is_inside_another_by_any_of_its_places)
{
    struct trace *trace = new_trace(sample_model());

    CHECK(trace_is_inside(trace, SAMPLE_ACT, SAMPLE_BLOCK));
    CHECK(trace_is_inside(trace, SAMPLE_BLOCK, SAMPLE_NET));
    CHECK(!trace_is_inside(trace, SAMPLE_NET, SAMPLE_NET));
    CHECK(!trace_is_inside(trace, SAMPLE_TAIL, SAMPLE_BLOCK));
    CHECK(!trace_is_inside(trace, NO_OBJECT, SAMPLE_NET));
    trace_free(trace);
}

TEST(reasons_are_given_only_for_modules_that_were_not_called)
{
    struct trace *trace = new_trace(sample_model());
    uint64_t clock = 0;
    struct run *run;
    int found = 0;

    trace_direct(trace, SAMPLE_A, "past all hooks");
    trace_direct(trace, SAMPLE_TAIL, "past all hooks");
    sample_step(trace, &clock);
    run = trace_finish(trace, 0, 0);
    for (uint32_t i = 0; i < run->n_gaps; i++)
        if (run->gaps[i].kind == RUN_GAP_DIRECT) {
            found++;
            CHECK_INT(run->gaps[i].object, SAMPLE_TAIL);
            CHECK_STR(run_string(run, run->gaps[i].text).at, "past all hooks");
        }
    CHECK_INT(found, 1);
    run_free(run);
}

TEST(passes_take_their_forward_and_the_backward_that_is_known)
{
    static const uint32_t steps[] = {1, 5, RUN_KEEP_CALLS + 9};

    for (int i = 0; i < 3; i++) {
        struct trace *trace = new_trace(sample_model());
        uint64_t clock = 0;
        struct run *run;

        for (uint32_t k = 0; k < steps[i]; k++)
            sample_step(trace, &clock);
        run = trace_finish(trace, 1 << 30, 0);
        /* The model's is unknown, that of the module in it is 50. */
        CHECK_INT(run_passes_ns(run), steps[i] * (run_inclusive(&run->calls[0]) + 50));
        CHECK(run_inclusive(&run->calls[0]) > 0);
        run_free(run);
    }
}

TEST(modules_that_were_not_called_are_reported)
{
    struct run *run = sample_run(1);
    bool tail = false;

    for (uint32_t i = 0; i < run->n_gaps; i++) {
        CHECK(run->gaps[i].object != SAMPLE_BLOCK && run->gaps[i].object != SAMPLE_A);
        tail |= run->gaps[i].object == SAMPLE_TAIL &&
                run->gaps[i].kind == RUN_GAP_NOT_CALLED;
    }
    CHECK(tail);
    CHECK_INT(run->n_gaps, 3);
    CHECK_STR(run_gap_name(RUN_GAP_CONTAINER), "container");
    run_free(run);
}

TEST(a_spent_limit_is_reported_without_failing)
{
    struct trace *trace =
        trace_new(sample_model(), &(struct trace_wanted){.limit = 40000});
    uint64_t clock = 0;
    struct run *run;
    char big[64] = {0};

    CHECK(trace);
    for (int i = 0; i < 500; i++)
        sample_step(trace, &clock);
    CHECK(!trace_keep(trace, 0, big, sizeof big));
    run = trace_finish(trace, 0, 0);
    CHECK(run && run->n_gaps > 0);
    CHECK_INT(run->gaps[run->n_gaps - 1].kind, RUN_GAP_LIMIT);
    run_free(run);
}

TEST(a_snapshot_shares_nothing_with_the_recording)
{
    struct trace *trace = new_trace(sample_model());
    uint64_t clock = 0;
    struct run *early, *late;
    uint32_t net;

    for (int i = 0; i < 70; i++)
        sample_step(trace, &clock);
    net = trace_begin(trace, 0, SAMPLE_NET, 0, 0, clock);
    trace_begin(trace, 0, SAMPLE_A, 0, 0, clock + 100);
    early = trace_snapshot(trace);
    trace_end(trace, 0, net, 0, clock + 500);
    late = trace_finish(trace, 0, 0);
    CHECK(early && late && early->model != late->model);
    CHECK_INT(run_count_calls(early, SAMPLE_BLOCK), 70);
    CHECK_INT(run_count_calls(late, SAMPLE_NET), 71);
    run_free(late);
    CHECK_INT(early->model->n_places, 11);
    CHECK_STR(place_name(early->model, 1).at, "a");
    CHECK_INT(early->calls[0].n_ios, 2);
    run_free(early);
}
