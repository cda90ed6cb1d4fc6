#include "study/activity.h"

#include <string.h>

#include "base/test.h"
#include "model/build.h"
#include "run/trace.h"
#include "study/slowest.h"

/* (root) Net
 *    a      with weight (tensor 0)
 *    list   a container
 *       0   Block: act
 *       1   the same Block
 *    tail
 */
enum { NET, A, LIST, BLOCK, ACT, TAIL };

static uint32_t module(struct build *build, uint32_t parent, const char *name)
{
    uint32_t node = build_node(build, parent, PLACE_MODULE, str_of(name));

    CHECK(build_object(build, node));
    return node;
}

static const struct model *net(void)
{
    static const int64_t shape[] = {2};
    struct storage storage = {.bytes = 8};
    struct tensor tensor = {
        .dtype = DTYPE_FLOAT32, .role = ROLE_PARAMETER, .class_id = NO_CLASS};
    struct build build;
    const struct model *model;
    uint32_t a, list, block, again;

    CHECK(build_init(&build, "Net", 0, NULL, NULL) == 0);
    build_set_kind(&build, 0, PLACE_MODULE);
    CHECK(build_object(&build, 0));
    a = module(&build, 0, "a");
    tensor.storage = build_storage(&build, &storage);
    build_tensor(&build, build_node(&build, a, PLACE_TENSOR, STR("weight")), &tensor,
                 shape, NULL, 1);
    list = module(&build, 0, "list");
    block = module(&build, list, "0");
    module(&build, block, "act");
    again = build_node(&build, list, PLACE_MODULE, STR("1"));
    CHECK(build_same(&build, again, block) == 0);
    module(&build, 0, "tail");
    model = build_finish(&build, NULL);
    CHECK(model);
    build_release(&build);
    return model;
}

struct scene {
    struct trace *trace;
    struct run *run;
    struct activities all;
    struct arena arena;
    uint64_t clock;
};

static void scene_begin(struct scene *s)
{
    struct trace_wanted wanted = {0};

    memset(s, 0, sizeof *s);
    s->trace = trace_new(net(), &wanted);
    CHECK(s->trace);
}

static void scene_end(struct scene *s)
{
    s->run = trace_finish(s->trace, s->clock, 0);
    CHECK(s->run);
    arena_init(&s->arena, 0);
    CHECK(activity_of(&s->all, s->run, &s->arena, NULL) == 0);
}

static void scene_free(struct scene *s)
{
    arena_release(&s->arena);
    run_free(s->run);
}

static uint32_t value(struct scene *s, int64_t size, uint64_t nan)
{
    struct run_value v = {.dtype = DTYPE_FLOAT32, .rank = 1, .numel = (uint64_t)size};
    struct stats stats;

    stats_init(&stats, DTYPE_FLOAT32);
    stats.count = (uint64_t)size;
    stats.nan = nan;
    v.bytes = v.numel * 4;
    return trace_value(s->trace, &v, &size, NULL, &stats);
}

/* A call begins: an element of its input is NaN or not. Each look at the clock is 10
 * ns. */
static uint32_t enter(struct scene *s, uint32_t object, int64_t size, uint64_t nan)
{
    uint32_t call = trace_begin(s->trace, 0, object, 0, 0, s->clock += 10);

    trace_io(s->trace, call, RUN_IN, 0, value(s, size, nan), 0);
    return call;
}

static void leave(struct scene *s, uint32_t call, int64_t size, uint64_t nan)
{
    trace_io(s->trace, call, RUN_OUT, 0, value(s, size, nan), 0);
    trace_end(s->trace, 0, call, 0, s->clock += 10);
}

static void leave_raised(struct scene *s, uint32_t call)
{
    trace_end(s->trace, 0, call, RUN_RAISED, s->clock += 10);
}

static const struct activity *at(const struct scene *s, const char *name)
{
    return &s->all.at[place_find(s->run->model, str_of(name))];
}

TEST(calls_are_summed_at_the_place_where_they_were_made)
{
    struct scene s;
    uint32_t root, call;

    scene_begin(&s);
    for (int64_t i = 0; i < 2; i++) {
        root = enter(&s, NET, 4, 0);
        call = enter(&s, A, 4 + i, 0);
        leave(&s, call, 2, 0);
        trace_backward(s.trace, call, trace_serial(s.trace, call), 7, 0);
        leave(&s, root, 2, 0);
        trace_backward(s.trace, root, trace_serial(s.trace, root), 9, 0);
    }
    scene_end(&s);
    CHECK_INT(s.all.passes, 2);
    CHECK_INT(s.all.total_ns, 60);
    CHECK_INT(s.all.backward_ns, 18);
    CHECK_INT(s.all.at[0].calls, 2);
    CHECK_INT(s.all.at[0].self_ns, 40);
    CHECK_INT(at(&s, "a")->calls, 2);
    CHECK_INT(at(&s, "a")->total_ns, 20);
    CHECK_INT(at(&s, "a")->backward_ns, 14);
    CHECK_INT(at(&s, "a")->out_bytes, 8);
    CHECK_INT(at(&s, "a")->flags, ACTIVITY_IN_VARIES);
    CHECK_INT(at(&s, "a.weight")->calls, 0);
    CHECK_INT(at(&s, "a.weight")->gap, RUN_NONE);
    CHECK_INT(at(&s, "tail")->calls, 0);
    CHECK_INT(s.run->gaps[at(&s, "tail")->gap].kind, RUN_GAP_NOT_CALLED);
    CHECK_INT(s.run->values[activity_value(s.run, at(&s, "a")->newest, RUN_IN)].numel,
              5);
    CHECK_INT(activity_value(s.run, RUN_NONE, RUN_IN), RUN_NONE);
    CHECK_INT(s.all.first_producer, NO_PLACE);
    CHECK_INT(s.all.spoilt_call, RUN_NONE);
    CHECK_INT(s.all.raised, NO_PLACE);
    scene_free(&s);
}

TEST(slowest_modules_are_sorted_by_exclusive_time)
{
    struct slow_list places, classes;
    struct scene s;
    uint32_t root;

    scene_begin(&s);
    root = enter(&s, NET, 4, 0);
    for (int i = 0; i < 3; i++)
        leave(&s, enter(&s, TAIL, 4, 0), 4, 0);
    leave(&s, enter(&s, A, 4, 0), 4, 0);
    leave(&s, root, 4, 0);
    scene_end(&s);
    CHECK(slowest_of(&places, &classes, &s.all, s.run->model, &s.arena, NULL) == 0);
    CHECK_INT(places.n, 3);
    CHECK_INT(places.at[0].place, 0); /* 5 looks at the clock between its calls */
    CHECK_INT(places.at[0].self_ns, 50);
    CHECK_INT(places.at[1].place, place_find(s.run->model, STR("tail")));
    CHECK_INT(places.at[1].self_ns, 30);
    CHECK_INT(classes.n, 1); /* no class is known */
    CHECK_INT(classes.at[0].places, 3);
    CHECK_INT(classes.at[0].calls, 5);
    CHECK_INT(classes.at[0].self_ns, 90);
    scene_free(&s);
}

TEST(merged_calls_are_counted_once)
{
    struct scene s;

    scene_begin(&s);
    for (int i = 0; i < RUN_KEEP_CALLS + 10; i++)
        leave(&s, enter(&s, A, 4, 0), i == RUN_KEEP_CALLS + 3 ? 3 : 2, i > 70 ? 2 : 0);
    scene_end(&s);
    CHECK_INT(at(&s, "a")->calls, RUN_KEEP_CALLS + 10);
    CHECK_INT(at(&s, "a")->total_ns, 10 * (RUN_KEEP_CALLS + 10));
    CHECK_INT(at(&s, "a")->self_ns, 10 * (RUN_KEEP_CALLS + 10));
    CHECK_INT(at(&s, "a")->nan, 2 * (RUN_KEEP_CALLS + 10 - 71));
    CHECK(at(&s, "a")->flags & ACTIVITY_OUT_VARIES);
    CHECK(!(at(&s, "a")->flags & ACTIVITY_IN_VARIES));
    CHECK_INT(s.all.passes, RUN_KEEP_CALLS + 10);
    CHECK_INT(s.all.total_ns, 10 * (RUN_KEEP_CALLS + 10));
    scene_free(&s);
}

TEST(a_separate_last_call_does_not_turn_merged_calls_into_passes)
{
    struct scene s;
    uint32_t root;

    scene_begin(&s);
    for (int i = 0; i < RUN_KEEP_CALLS + 10; i++) {
        root = enter(&s, NET, 4, 0);
        leave(&s, enter(&s, A, 4, 0), 4, 0);
        leave(&s, root, 4, 0);
    }
    leave(&s, enter(&s, A, 4, 0), 4, 0);
    scene_end(&s);
    CHECK_INT(s.all.passes, RUN_KEEP_CALLS + 11);
    CHECK_INT(s.all.total_ns, 30 * (RUN_KEEP_CALLS + 10) + 10);
    CHECK_INT(at(&s, "a")->calls, RUN_KEEP_CALLS + 11);
    scene_free(&s);
}

TEST(a_module_called_inside_itself_counts_its_outer_call)
{
    struct scene s;
    uint32_t outer, middle, inner;

    scene_begin(&s);
    outer = enter(&s, A, 4, 0);
    middle = enter(&s, TAIL, 4, 0);
    inner = enter(&s, A, 4, 0);
    leave(&s, inner, 4, 0);
    leave(&s, middle, 4, 0);
    leave(&s, outer, 4, 0);
    leave(&s, enter(&s, A, 4, 0), 4, 0);
    scene_end(&s);
    CHECK_INT(at(&s, "a")->calls, 3);
    CHECK_INT(at(&s, "a")->total_ns, 60);
    CHECK_INT(at(&s, "a")->self_ns, 40);
    CHECK_INT(at(&s, "tail")->total_ns, 30);
    CHECK_INT(s.all.passes, 2);
    scene_free(&s);
}

TEST(the_innermost_call_that_made_nan_is_the_producer)
{
    struct scene s;
    uint32_t root, block;

    scene_begin(&s);
    root = enter(&s, NET, 4, 0);
    leave(&s, enter(&s, A, 4, 0), 4, 0);
    block = enter(&s, BLOCK, 4, 0);
    leave(&s, enter(&s, ACT, 4, 0), 4, 3);
    leave(&s, block, 4, 3);
    leave(&s, enter(&s, TAIL, 4, 3), 4, 4);
    leave(&s, root, 4, 4);
    scene_end(&s);
    CHECK_INT(s.all.first_producer, place_find(s.run->model, STR("list.0.act")));
    CHECK_INT(s.run->calls[s.all.producing_call].object, ACT);
    CHECK_INT(at(&s, "list.0.act")->flags, ACTIVITY_PRODUCER);
    CHECK_INT(at(&s, "list.0.act")->nan, 3);
    CHECK_INT(at(&s, "list.0")->flags, ACTIVITY_BELOW);
    CHECK_INT(s.all.at[0].flags, ACTIVITY_BELOW);
    CHECK_INT(at(&s, "tail")->flags, 0);
    CHECK_INT(at(&s, "tail")->nan, 4);
    scene_free(&s);
}

/* NaN from the code between two calls is produced by the module that calls both. */
TEST(code_between_calls_makes_its_module_the_producer)
{
    struct scene s;
    uint32_t root;

    scene_begin(&s);
    root = enter(&s, NET, 4, 0);
    leave(&s, enter(&s, A, 4, 0), 4, 0);
    leave(&s, enter(&s, TAIL, 4, 1), 4, 1);
    leave(&s, root, 4, 1);
    scene_end(&s);
    CHECK_INT(s.all.first_producer, 0);
    CHECK_INT(s.all.at[0].flags, ACTIVITY_PRODUCER);
    scene_free(&s);
}

TEST(a_module_whose_parameters_hold_nan_is_not_a_producer)
{
    struct scene s;
    uint32_t root;

    scene_begin(&s);
    root = enter(&s, NET, 4, 0);
    leave(&s, enter(&s, A, 4, 0), 4, 1);
    leave(&s, root, 4, 1);
    trace_param(s.trace, 0, false, value(&s, 2, 1));
    scene_end(&s);
    CHECK_INT(s.all.first_producer, NO_PLACE);
    CHECK_INT(s.all.at[0].flags, 0);
    CHECK_INT(at(&s, "a")->nan, 1);
    CHECK_INT(s.run->calls[s.all.spoilt_call].object, A);
    scene_free(&s);
}

TEST(after_an_exception_later_modules_were_not_reached)
{
    struct scene s;
    uint32_t root, block;

    scene_begin(&s);
    trace_gap(s.trace, RUN_GAP_CONTAINER, LIST, "defines no forward");
    root = enter(&s, NET, 4, 0);
    leave(&s, enter(&s, A, 4, 0), 4, 0);
    block = enter(&s, BLOCK, 4, 0);
    leave_raised(&s, block);
    leave_raised(&s, root);
    scene_end(&s);
    CHECK_INT(s.all.raised, place_find(s.run->model, STR("list.0")));
    CHECK_INT(s.run->calls[s.all.raising_call].object, BLOCK);
    CHECK_INT(at(&s, "list.0")->flags, ACTIVITY_RAISED);
    CHECK_INT(s.all.at[0].flags, ACTIVITY_BELOW);
    CHECK_INT(at(&s, "list")->flags, ACTIVITY_BELOW | ACTIVITY_CONTAINER);
    CHECK_INT(at(&s, "tail")->flags, ACTIVITY_NOT_REACHED);
    CHECK_INT(at(&s, "list.0.act")->flags, ACTIVITY_NOT_REACHED);
    CHECK_INT(at(&s, "list.1")->flags, 0); /* it is list.0 */
    scene_free(&s);
}

TEST(modules_inside_compiled_code_are_gaps)
{
    struct scene s;
    uint32_t root;

    scene_begin(&s);
    trace_gap(s.trace, RUN_GAP_CONTAINER, LIST, "defines no forward");
    trace_gap(s.trace, RUN_GAP_COMPILED, BLOCK, "it is compiled");
    root = enter(&s, NET, 4, 0);
    leave(&s, enter(&s, A, 4, 0), 4, 0);
    leave(&s, root, 4, 0);
    scene_end(&s);
    CHECK_INT(at(&s, "list")->gap, RUN_NONE);
    CHECK_INT(at(&s, "list")->flags, ACTIVITY_CONTAINER);
    CHECK_INT(s.run->gaps[at(&s, "list.0.act")->gap].kind, RUN_GAP_COMPILED);
    CHECK_INT(s.run->gaps[at(&s, "tail")->gap].kind, RUN_GAP_NOT_CALLED);
    CHECK_INT(at(&s, "a")->gap, RUN_NONE);
    scene_free(&s);
}

TEST(a_module_that_raised_once_and_then_worked_is_not_an_alarm)
{
    struct scene s;

    scene_begin(&s);
    leave_raised(&s, enter(&s, A, 4, 0));
    leave(&s, enter(&s, A, 4, 0), 4, 0);
    scene_end(&s);
    CHECK_INT(s.all.raised, NO_PLACE);
    CHECK_INT(at(&s, "tail")->flags, 0);
    scene_free(&s);
}
