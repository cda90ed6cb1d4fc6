#include "study/timeline.h"

#include <string.h>

#include "base/test.h"
#include "run/sample_block.h"
#include "run/sample_run.h"
#include "study/activity.h"

static struct timeline made(const struct run *run, uint32_t pass, struct arena *arena)
{
    struct timeline timeline = {0};

    CHECK_INT(timeline_of(&timeline, run, pass, arena, NULL, NULL), 0);
    return timeline;
}

/* Parents come first and boxes are inside them; siblings are in order. */
static void check_order(const struct timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->n; i++) {
        const struct timeline_box *box = &timeline->boxes[i];

        CHECK(box->parent == RUN_NONE || box->parent < i);
        CHECK(box->start + box->ns <= timeline->ns);
        CHECK(box->own <= box->ns);
        if (box->parent != RUN_NONE)
            CHECK(box->start >= timeline->boxes[box->parent].start);
        for (uint32_t k = i + 1; k < timeline->n; k++)
            if (timeline->boxes[k].parent == box->parent) {
                CHECK(timeline->boxes[k].start >= box->start + box->ns);
                break;
            }
    }
}

static const struct timeline_box *call_box(const struct timeline *timeline,
                                           uint32_t call)
{
    for (uint32_t i = 0; i < timeline->n; i++)
        if (timeline->boxes[i].kind == TIMELINE_CALL &&
            timeline->boxes[i].index == call)
            return &timeline->boxes[i];
    return NULL;
}

TEST(calls_have_the_same_times_as_in_other_views)
{
    struct run *run = sample_block((struct sample_block_wanted){.backward = true});
    struct timeline timeline;
    struct arena arena;

    arena_init(&arena, 0);
    timeline = made(run, TIMELINE_NEWEST, &arena);
    check_order(&timeline);
    for (uint32_t i = 0; i < run->n_calls; i++) {
        const struct timeline_box *box = call_box(&timeline, i);

        CHECK(box && box->ns == run_inclusive(&run->calls[i]));
        CHECK_INT(box->own, run_exclusive(&run->calls[i]));
    }
    CHECK_INT(timeline.sums[TIMELINE_FORWARD].ns, run_forward_ns(run));
    arena_release(&arena);
    run_free(run);
}

TEST(backward_is_boxes_of_the_modules_that_caused_it)
{
    struct run *run = sample_block((struct sample_block_wanted){.backward = true});
    const struct timeline_box *op, *module, *block, *net, *phase;
    struct timeline timeline;
    struct arena arena;

    arena_init(&arena, 0);
    timeline = made(run, 0, &arena);
    CHECK_INT(timeline.end_op - timeline.first_op, run->ops->n_ops);
    op = &timeline.boxes[timeline.n - 1];
    CHECK(op->kind == TIMELINE_OP && op->phase == TIMELINE_BACK);
    CHECK_INT(op->ns, 400000);
    module = &timeline.boxes[op->parent];
    block = &timeline.boxes[module->parent];
    net = &timeline.boxes[block->parent];
    phase = &timeline.boxes[net->parent];
    CHECK(module->kind == TIMELINE_BACKWARD && net->kind == TIMELINE_BACKWARD);
    CHECK_INT(module->place, place_find(run->model, STR("block.conv1")));
    CHECK_INT(block->place, place_find(run->model, STR("block")));
    CHECK_INT(net->place, 0);
    CHECK(phase->kind == TIMELINE_PHASE && phase->phase == TIMELINE_BACK);
    CHECK_INT(phase->parent, RUN_NONE);
    CHECK(module->ns == 400000 && phase->ns == 400000);
    CHECK_INT(timeline.sums[TIMELINE_BACK].ops.flops, 294912);
    arena_release(&arena);
    run_free(run);
}

TEST(each_operation_of_a_step_is_in_its_phase)
{
    static const uint8_t phases[] = {
        TIMELINE_FORWARD, TIMELINE_FORWARD, TIMELINE_FORWARD,
        TIMELINE_FORWARD, TIMELINE_FORWARD, TIMELINE_LOSS,
        TIMELINE_BACK,    TIMELINE_BACK,    TIMELINE_OPTIMIZER};
    struct run *run = sample_ops();
    struct timeline timeline;
    struct arena arena;
    uint32_t n = 0;

    arena_init(&arena, 0);
    timeline = made(run, 0, &arena);
    check_order(&timeline);
    for (uint32_t i = 0; i < timeline.n; i++)
        if (timeline.boxes[i].kind == TIMELINE_OP) {
            CHECK_INT(timeline.boxes[i].index, n);
            CHECK_INT(timeline.boxes[i].phase, phases[n++]);
        }
    CHECK_INT(n, run->ops->n_ops);
    CHECK_INT(timeline.sums[TIMELINE_OPTIMIZER].boxes, 1);
    CHECK_INT(timeline.sums[TIMELINE_LOSS].ops.count, 1);
    CHECK_STR(timeline_phase_name(TIMELINE_LOSS), "loss");
    arena_release(&arena);
    run_free(run);
}

/* The same numbers as activity has for the run, if it has one pass. */
TEST(times_of_modules_are_those_of_the_run)
{
    struct run *run = sample_block((struct sample_block_wanted){.backward = true});
    struct timeline_places places;
    struct activities activities;
    struct timeline timeline;
    struct arena arena;
    uint64_t flops = 0;

    arena_init(&arena, 0);
    CHECK_INT(activity_of(&activities, run, &arena, NULL), 0);
    timeline = made(run, 0, &arena);
    CHECK_INT(timeline_places_of(&places, &timeline, run, &arena, NULL), 0);
    CHECK(places.n > 5);
    for (uint32_t i = 0; i < places.n; i++) {
        const struct timeline_place *at = &places.at[i];

        CHECK(i == 0 || at->forward + at->backward <=
                            places.at[i - 1].forward + places.at[i - 1].backward);
        if (at->place == NO_PLACE)
            continue;
        CHECK_INT(at->forward, activities.at[at->place].self_ns);
        CHECK(at->has_backward == (at->backward == 400000));
        flops += at->ops.flops;
    }
    CHECK_INT(flops, timeline.sums[TIMELINE_FORWARD].ops.flops);
    arena_release(&arena);
    run_free(run);
}

TEST(without_operations_backward_is_known_by_module_only)
{
    struct run *run = sample_run(2);
    struct timeline_places places;
    struct timeline timeline;
    struct arena arena;
    bool found = false;

    arena_init(&arena, 0);
    timeline = made(run, 1, &arena); /* the third pass raised */
    check_order(&timeline);
    CHECK_INT(timeline.passes, 3);
    CHECK_INT(timeline.n, 4); /* Net, a, Block, act */
    CHECK_INT(timeline_places_of(&places, &timeline, run, &arena, NULL), 0);
    for (uint32_t i = 0; i < places.n; i++)
        if (places.at[i].place == place_find(run->model, STR("a"))) {
            CHECK(places.at[i].has_backward && places.at[i].backward == 50);
            found = true;
        }
    CHECK(found);
    arena_release(&arena);
    run_free(run);
}

TEST(the_newest_pass_is_the_newest_complete_one)
{
    struct run *run = sample_run(2);
    struct timeline timeline;
    struct err err = {0};
    struct arena arena;

    arena_init(&arena, 0);
    timeline = made(run, TIMELINE_NEWEST, &arena);
    CHECK_INT(timeline.pass, 1); /* not the one that raised */
    CHECK_INT(timeline_of(&timeline, run, 3, &arena, NULL, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK(strstr(err.text, "no pass 3"));
    arena_release(&arena);
    run_free(run);
}

/* A checkpoint runs its block again during backward: its box is inside that of backward.
 */
TEST(recomputation_is_inside_backward)
{
    const struct timeline_box *again;
    struct run *run = sample_ops();
    struct timeline timeline;
    struct arena arena;
    uint32_t last = run->n_calls - 1;

    arena_init(&arena, 0);
    /* The call of act happens during backward. */
    run->calls[last].flags |= RUN_RECOMPUTED;
    run->calls[last].parent = RUN_NONE;
    run->calls[last].start_ns = run->ops->ops[6].start_ns - 2;
    run->calls[last].end_ns = run->ops->ops[6].start_ns - 1;
    timeline = made(run, 0, &arena);
    again = call_box(&timeline, last);
    CHECK(again && again->phase == TIMELINE_RECOMPUTE);
    CHECK(again->parent != RUN_NONE);
    CHECK(timeline.boxes[again->parent].kind == TIMELINE_BACKWARD ||
          timeline.boxes[again->parent].kind == TIMELINE_PHASE);
    arena_release(&arena);
    run_free(run);
}

TEST(making_a_timeline_can_be_cancelled)
{
    struct run *run = sample_ops();
    struct timeline timeline;
    struct err err = {0};
    struct arena arena;
    struct work work;

    arena_init(&arena, 0);
    work_init(&work);
    atomic_store(&work.cancel, 1);
    CHECK_INT(timeline_of(&timeline, run, 0, &arena, &work, &err), -1);
    CHECK_INT(err.code, ERR_CANCELLED);
    arena_release(&arena);
    run_free(run);
}
